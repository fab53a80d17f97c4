import { expect, test } from "vitest";
import { overrideDialog, questionDialog, reachable, rollBackTo } from "../../src/views/dialog";
import { marksOf } from "../../src/views/marks";
import { nextNodes, stepOf, stepSaid } from "../../src/views/next";
import { recentNodes, recordSaid } from "../../src/views/recent";
import { insideRun, runNodes } from "../../src/views/runs";
import { status } from "../../src/views/status";
import { waitingNodes } from "../../src/views/waiting";
import { reduce, NOTHING } from "../../src/store";
import { evaluation, gate, known, question, ROOT, suggestion, summary, task } from "./made";
import { dialogLines, outline } from "./shape";

const whole = () => Promise.resolve(null);

test("runs that go on come first, those that are over are in one row", async () => {
  const runs = [
    summary({ run: "a", title: "Done", status: "complete" }),
    summary({ run: "b", title: "Going", progress: { done: 2, total: 6 } }),
  ];
  expect(await outline(runNodes(known(runs), whole))).toEqual([
    "Going | planning · 2/6 · artifact-pipeline",
    "Finished | 1",
    "  Done | complete · artifact-pipeline",
  ]);
});

test("several roots get a row each", async () => {
  const runs = [summary({ root: "/x/one" }), summary({ root: "/x/two" })];
  expect((await outline(runNodes(known(runs), whole))).filter((line) => !line.startsWith(" "))).toEqual(["one | 1 run", "two | 1 run"]);
});

test("a run has its plan, its phases with artifacts, gates and criteria, and the limits in use", async () => {
  const run = evaluation({
    progress: { done: 1, total: 3 },
    phases: [
      { id: "test", title: "Test", agents: ["tester"], order: 0, state: "current", produces: [{ artifact: "t", path: "tasks/x/report.json", state: "valid" }] },
      { id: "accept", title: "accept", agents: [], order: 1, state: "ahead", produces: [] },
    ],
    gates: [
      gate({
        criteria: [
          { text: "everything passed", met: false, evidence: [{ path: "tasks/x/report.json", line: 3, column: 5, expression: "failed", value: 2 }] },
          { text: "something was tested", met: null, evidence: [] },
        ],
      }),
    ],
    limits: [
      { id: "fixes", count: 1, max: 3, reached: false },
      { id: "unused", count: 0, max: 3, reached: false },
    ],
    plan: {
      path: "tasks/x/PLAN.md",
      stages: [
        {
          id: "1",
          title: "Model",
          done: 1,
          total: 3,
          line: 10,
          tasks: [
            task({ id: "x-01", title: "One", state: "done" }),
            task({ id: "x-02", title: "Two", state: "claimed", claimedBy: "coder-7" }),
            task({ id: "x-03", title: "Three", state: "blocked", blockedBy: ["x-02", "stage 2"] }),
          ],
        },
      ],
    },
  });
  expect(await outline(insideRun(run))).toEqual([
    "Plan | 1 of 3 tasks done",
    "  1. Model | 1/3",
    "    One | done",
    "    Two | claimed by coder-7",
    "    Three | blocked by x-02, stage 2",
    "test | Test · now",
    "  report.json | valid",
    "  Gate: The tests pass | failed",
    "    everything passed | not met",
    "      failed = 2 | report.json:3",
    "    something was tested | no evidence yet",
    "accept |",
    "fixes | 1 of 3",
  ]);
});

test("ids of rows are unique", () => {
  const run = evaluation({ phases: [{ id: "test", title: "", agents: [], order: 0, state: "current", produces: [] }], gates: [gate(), gate({ id: "more" })] });
  const ids: string[] = [];
  const collect = (nodes: ReturnType<typeof insideRun>): void => {
    for (const node of nodes) {
      ids.push(node.id);
      if (Array.isArray(node.children)) collect(node.children as ReturnType<typeof insideRun>);
    }
  };
  collect(insideRun(run));
  expect(new Set(ids).size).toBe(ids.length);
});

test("the next step says what, why, on what evidence, what to write and what not to do", async () => {
  const run = summary({
    suggestion: suggestion({
      evidence: [{ path: "tasks/x/plan-review.json", line: 3, column: 9, expression: "plan_review.ok", value: true }],
      forbidden: [
        { action: "test", because: "phases are not skipped" },
        { action: "accept", because: "phases are not skipped" },
      ],
      produce: [{ path: "tasks/x/code/diff.patch", schema: null, example: null }],
      tasks: ["01", "02", "03"],
      parallel: [["01", "02"], ["03"]],
    }),
  });
  expect(await outline(nextNodes(known([run, summary({ run: "over", status: "complete" })])))).toEqual([
    "Go on to codegen | Charge a fee",
    "  the plan review is ok |",
    "    plan_review.ok = true | plan-review.json:3",
    "  coder | who",
    "  01 | task, batch 1, side by side",
    "  02 | task, batch 1, side by side",
    "  03 | task, batch 2, alone",
    "  diff.patch | to be written",
    "  Not now: test, accept | phases are not skipped",
  ]);
});

test("a click on a next step opens the line of its first evidence", () => {
  const evidence = [{ path: "p.json", line: 3, column: 9, expression: "x", value: 1 }];
  const [node] = nextNodes(known([summary({ suggestion: suggestion({ evidence }) })]));
  expect(node).toMatchObject({ click: "openPlace", subject: { place: { root: ROOT, path: "p.json", line: 3, column: 9 } } });
  expect(nextNodes(known([summary()]))[0]).not.toHaveProperty("click", "openPlace");
});

test.each([
  [{ kind: "advance", suggestedNext: "F2" }, "Go on to F2"],
  [{ kind: "regress", suggestedNext: "codegen" }, "Go back to codegen"],
  [{ kind: "stay", suggestedNext: "quality" }, "Stay in quality"],
  [{ kind: "act", action: "verify" }, "Do verify"],
  [{ kind: "wait", waitingFor: "job: sessions are running" }, "Wait: sessions are running"],
  [{ kind: "wait", waitingFor: "person: approval" }, "Wait for a person: approval"],
  [{ kind: "escalate" }, "A person decides"],
  [{ kind: "stop" }, "Nothing more to do"],
  [{ kind: "none" }, "Nothing can be said"],
] as const)("%o is said as %s", (over, said) => {
  expect(stepSaid(suggestion(over))).toBe(said);
});

test("a report is about the action, the phase that goes on, or the next one", () => {
  expect(stepOf(summary({ suggestion: suggestion({ kind: "act", action: "verify" }) }))).toBe("verify");
  expect(stepOf(summary({ suggestion: suggestion({ kind: "stay", suggestedNext: "planning" }) }))).toBe("planning");
  expect(stepOf(summary())).toBe("codegen");
});

test("what waits shows the question, its options and what led to it; options decide by a click", async () => {
  const asked = question({ kind: "escalation", tasks: ["x-01"], history: [{ phase: "4b", iteration: 2, outcome: "fail", message: "still 401" }, { round: 1, note: "" }] });
  const nodes = waitingNodes(known([summary({ questions: [asked] })]));
  expect(await outline(nodes)).toEqual([
    "Is the plan good? | Charge a fee · escalation",
    "  start the work | approve",
    "  plan again | nothing is lost, but it takes its time",
    "  x-01 | tasks",
    "  What led to it | 2",
    "    4b (2): fail · still 401 |",
    "    round: 1 |",
  ]);
  expect((nodes[0]!.children as typeof nodes)[0]).toMatchObject({ click: "answerQuestion", subject: { question: "approval", option: "approve" } });
});

test("a question without options is answered by a click on itself", () => {
  expect(waitingNodes(known([summary({ questions: [question({ options: [] })] })]))[0]!.click).toBe("answerQuestion");
});

test("recent records of all runs stand newest first", () => {
  const run = summary();
  const nodes = recentNodes([
    { run, events: [{ kind: "report", phase: "4b", outcome: "fail", at: "2026-01-02T10:00:00Z", line: 1 }] },
    { run: summary({ run: "other" }), events: [{ kind: "answer", question: "approval", option: "approve", at: "2026-01-03T10:00:00Z", line: 1 }] },
  ]);
  expect(nodes.map((node) => node.label)).toEqual(["approval: approve", "4b: fail"]);
});

test.each([
  [{ kind: "start", workflow: "master-plan" }, "Started as master-plan"],
  [{ kind: "claim", task: "x-01", actor: "me" }, "x-01 claimed by me"],
  [{ kind: "override", next: "done" }, "Overridden: now in done"],
  [{ kind: "transition", next: "planning" }, "To be done again: planning"],
  [{ kind: "something-new", phase: "p" }, "something-new p"],
])("the record %o reads %s", (record, said) => {
  expect(recordSaid(record)).toBe(said);
});

test("the status bar shows the run of the active file, and turns to warning when a person is awaited", () => {
  const runs = [summary({ run: "a", title: "First" }), summary({ run: "b", title: "Second", progress: { done: 1, total: 2 }, questions: [question()] })];
  expect(status(known(runs), undefined)).toMatchObject({ text: "$(checklist) Second: planning 1/2  $(bell-dot) 1", colour: "warning", click: "answerQuestion" });
  expect(status(known(runs), `${ROOT}/a/plan.md`).text).toContain("First: planning");
  expect(status(known([summary()]), undefined)).toMatchObject({ colour: "plain", click: "showNextStep" });
});

test("the status bar says when there is no server, and what to do", () => {
  const of = (server: Parameters<typeof reduce>[1]) => status(reduce(NOTHING, server), undefined);
  expect(of({ kind: "server", server: { state: "missing" } })).toMatchObject({ click: "installServer", colour: "warning" });
  expect(of({ kind: "server", server: { state: "failed", why: "x" } })).toMatchObject({ click: "restartServer", colour: "error" });
});

test("the dialog of a question holds the run, what led to it and every option", () => {
  const dialog = questionDialog(evaluation(), question({ history: [{ round: 1 }], tasks: ["x-01"] }));
  expect(dialog.message).toBe("Is the plan good?");
  expect(dialogLines(dialog)).toEqual(expect.arrayContaining(["Charge a fee (artifact-pipeline)", "x-01", "• round: 1", "• approve: start the work", "• revise: plan again: nothing is lost, but it takes its time"]));
});

test("the dialog of an override names every gate and error that it goes past", () => {
  const finding = { code: "phase-ahead", severity: "error" as const, path: "p", line: 1, column: 1, message: "the phase is ahead", fixes: [], overridden: false };
  const lines = dialogLines(overrideDialog(evaluation({ gates: [gate(), gate({ id: "ok", status: "passed" })], findings: [finding] }), "accept"));
  expect(lines).toEqual(expect.arrayContaining(["• The tests pass: failed", "• the phase is ahead"]));
  expect(lines.join()).not.toContain("ok: passed");
});

test("phases that rules lead to are found nearest first, and a circle ends", () => {
  const edge = (from: string, to: string) => ({ from, to, because: "" });
  expect(reachable([edge("a", "b"), edge("b", "c"), edge("a", "d"), edge("c", "a")], "a")).toEqual(["b", "d", "c"]);
});

test("a roll back is what a finding offers, unless a person overrode it", () => {
  const finding = (overridden: boolean) => ({
    code: "inconsistent-state", severity: "error" as const, path: "p", line: 1, column: 1, message: "no evidence", overridden,
    fixes: [{ title: "run test again", command: ["redo", "r", "test"] }, { title: "roll back to planning", command: ["redo", "r", "planning"] }],
  });
  expect(rollBackTo(evaluation({ findings: [finding(false)] }))).toEqual({ phase: "planning", because: "no evidence" });
  expect(rollBackTo(evaluation({ findings: [finding(true)] }))).toBeUndefined();
});

test("marks of a plan are zero-based lines, and skipped tasks have none", () => {
  const stages = [{ id: "1", title: "", done: 0, total: 2, line: 3, tasks: [task({ line: 5 }), task({ state: "skipped", line: 6 })] }];
  expect(marksOf({ path: "p", stages })).toEqual([{ line: 4, kind: "ready", said: "x-01: ready" }]);
});
