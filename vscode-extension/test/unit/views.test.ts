import { expect, test } from "vitest";
import { overrideDialog, questionDialog, reachable, rollBackTo } from "../../src/views/dialog";
import { marksOf } from "../../src/views/plan";
import { nextNodes, stepOf, stepSaid } from "../../src/views/next";
import { recentNodes, recordSaid } from "../../src/views/recent";
import { insideRun, runNodes } from "../../src/views/runs";
import { restricted, stage } from "../../src/views/readiness";
import type { Node } from "../../src/views/row";
import { status as statusOf } from "../../src/views/status";
import { waitingNodes } from "../../src/views/waiting";
import { reduce, NOTHING, type Known, type Server } from "../../src/store";
import { evaluation, gate, known, question, ROOT, suggestion, summary, task } from "./fixtures";
import { dialogLines, outline } from "./outline";

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

test("a run with errors says so in its row", async () => {
  const rows = await outline(
    runNodes(known([summary({ findingCounts: { error: 2, warning: 1, information: 0 } })]), whole),
  );
  expect(rows).toEqual(["Charge a fee | planning · 2 errors · artifact-pipeline"]);
});

test("questions are open while they are few", () => {
  const asking = (count: number) =>
    known(Array.from({ length: count }, (_, at) => summary({ run: `t${at}`, questions: [question()] })));
  expect(waitingNodes(asking(3), true).every((node) => node.open)).toBe(true);
  expect(waitingNodes(asking(4), true).some((node) => node.open)).toBe(false);
});

test("where several roots have runs, their names stand beside the titles", () => {
  const runs = [summary({ root: "/x/one", questions: [question()] }), summary({ root: "/x/two" })];
  expect(nextNodes(known(runs)).map((node) => node.description)).toEqual(["Charge a fee · one", "Charge a fee · two"]);
  expect(waitingNodes(known(runs), true)[0]!.description).toBe("Charge a fee · one · approval");
  expect(
    recentNodes(known(runs), [{ root: "/x/two", run: runs[1]!.run, kind: "start", line: 1 }])[0]!.description,
  ).toBe("Charge a fee · two");
});

test("several roots get a row each", async () => {
  const runs = [summary({ root: "/x/one" }), summary({ root: "/x/two" })];
  expect((await outline(runNodes(known(runs), whole))).filter((line) => !line.startsWith(" "))).toEqual([
    "one | 1 run",
    "two | 1 run",
  ]);
});

test("a run has its plan, its phases with artifacts, gates and criteria, and the limits in use", async () => {
  const run = evaluation({
    progress: { done: 1, total: 3 },
    phases: [
      {
        id: "test",
        title: "Test",
        agents: ["tester"],
        order: 0,
        state: "current",
        produces: [{ artifact: "t", path: "tasks/x/report.json", state: "valid" }],
      },
      { id: "accept", title: "accept", agents: [], order: 1, state: "ahead", produces: [] },
    ],
    gates: [
      gate({
        criteria: [
          {
            text: "everything passed",
            met: false,
            evidence: [{ path: "tasks/x/report.json", line: 3, column: 5, expression: "failed", value: 2 }],
          },
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
  const run = evaluation({
    phases: [{ id: "test", title: "", agents: [], order: 0, state: "current", produces: [] }],
    gates: [gate(), gate({ id: "more" })],
  });
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
  expect(node).toMatchObject({
    click: "openPlace",
    subject: { place: { root: ROOT, path: "p.json", line: 3, column: 9 } },
  });
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
  const asked = question({
    kind: "escalation",
    tasks: ["x-01"],
    history: [
      { phase: "4b", iteration: 2, outcome: "fail", message: "still 401" },
      { round: 1, note: "" },
    ],
  });
  const nodes = waitingNodes(known([summary({ questions: [asked] })]), true);
  expect(await outline(nodes)).toEqual([
    "Is the plan good? | Charge a fee · escalation",
    "  start the work | approve",
    "  plan again | nothing is lost, but it takes its time",
    "  x-01 | tasks",
    "  What led to it | 2",
    "    4b (2): fail · still 401 |",
    "    round: 1 |",
  ]);
  expect((nodes[0]!.children as typeof nodes)[0]).toMatchObject({
    click: "answerQuestion",
    subject: { question: "approval", option: "approve" },
  });
});

test("a question without options is answered by a click on itself", () => {
  expect(waitingNodes(known([summary({ questions: [question({ options: [] })] })]), true)[0]!.click).toBe(
    "answerQuestion",
  );
});

test("recent records stand in the order they come in, each with the run that it is of", () => {
  const nodes = recentNodes(known([summary()]), [
    { root: ROOT, run: "tasks/gone", kind: "answer", question: "approval", option: "approve", line: 1 },
    { root: ROOT, run: "tasks/late-fees", kind: "report", phase: "4b", outcome: "fail", line: 1 },
  ]);
  expect(nodes.map((node) => [node.label, node.description])).toEqual([
    ["approval: approve", "gone"],
    ["4b: fail", "Charge a fee"],
  ]);
  expect(new Set(nodes.map((node) => node.id)).size).toBe(2);
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
  const runs = [
    summary({ run: "a", title: "First" }),
    summary({ run: "b", title: "Second", progress: { done: 1, total: 2 }, questions: [question()] }),
  ];
  const status = (now: Known, file: string | undefined) => statusOf(now, file, 1, true);
  expect(status(known(runs), undefined)).toMatchObject({
    text: "$(checklist) Second: planning 1/2  $(bell-dot) 1",
    colour: "warning",
    click: "answerQuestion",
  });
  expect(status(known(runs), `${ROOT}/a/plan.md`).text).toContain("First: planning");
  expect(status(known([summary()]), undefined)).toMatchObject({ colour: "plain", click: "showNextStep" });
});

test.each<[Server, string, string]>([
  [{ state: "starting" }, "showOutput", "plain"],
  [{ state: "starting", why: "it was killed" }, "showOutput", "plain"],
  [{ state: "slow" }, "restartServer", "warning"],
  [{ state: "ready", said: "Using it." }, "showOutput", "plain"],
  [{ state: "missing" }, "installServer", "warning"],
  [{ state: "missing", why: "it is no program" }, "choosePython", "error"],
  [{ state: "failed", why: "it ended by itself" }, "restartServer", "error"],
])("while the server is %o a click on the status bar does %s", (server, click, colour) => {
  const said = statusOf(reduce(NOTHING, { kind: "server", server }), undefined, 1, true);
  expect(said).toMatchObject({ click, colour });
  if ("why" in server) expect(said.tooltip).toContain(server.why);
});

test("folders that were not looked at yet are not said to be without runs", () => {
  const ready = reduce(NOTHING, { kind: "server", server: { state: "ready", said: "Using it." } });
  expect(stage(ready, 1)).toBe("looking");
  expect(stage(ready, 0)).toBe("ready");
  const empty = reduce(ready, { kind: "board", board: { version: 1, roots: [{ root: ROOT, version: 1, runs: [] }] } });
  expect(stage(empty, 1)).toBe("ready");
  expect(statusOf(empty, undefined, 1, true)).toMatchObject({
    click: "startRun",
    tooltip: ["No run goes on; click to start one", "Using it."],
  });
});

test("without trust it is said that nothing can be answered", () => {
  const asking = known([summary({ questions: [question()] })]);
  expect(restricted(asking, false)).toContain("Restricted Mode");
  expect(restricted(asking, true)).toBeUndefined();
  expect(restricted(known([summary()]), false)).toBeUndefined();
  expect(statusOf(asking, undefined, 1, false).tooltip.at(-1)).toBe("1 thing waits for you; not in Restricted Mode");
  const options = (trusted: boolean) =>
    (waitingNodes(asking, trusted)[0]!.children as readonly Node[])[0]!.tooltip!.at(-1);
  expect([options(true), options(false)]).toEqual(["Click to decide; a reason is asked for", "Not in Restricted Mode"]);
});

test("what only an icon shows is in what a screen reader says", () => {
  const phases = (["done", "current", "ahead", "skipped", "detour"] as const).map((state) => ({
    id: state,
    title: state,
    agents: [],
    order: 0,
    state,
    produces: [],
  }));
  const limits = [{ id: "fixes", count: 3, max: 3, reached: true }];
  expect(insideRun(evaluation({ phases, limits })).map((node) => node.spoken)).toEqual([
    "done",
    undefined,
    "to come",
    "skipped",
    "only when needed",
    "reached",
  ]);
  expect(runNodes(known([summary({ status: "waiting_human" })]), whole)[0]!.spoken).toBe("waits for you");
});

test("the dialog of a question holds the run, what led to it and every option", () => {
  const dialog = questionDialog(evaluation(), question({ history: [{ round: 1 }], tasks: ["x-01"] }));
  expect(dialog.message).toBe("Is the plan good?");
  expect(dialogLines(dialog)).toEqual(
    expect.arrayContaining([
      "Charge a fee (artifact-pipeline)",
      "x-01",
      "• round: 1",
      "• approve: start the work",
      "• revise: plan again: nothing is lost, but it takes its time",
    ]),
  );
});

test("the dialog of an override names every gate and error that it goes past", () => {
  const finding = {
    code: "phase-ahead",
    severity: "error" as const,
    path: "p",
    line: 1,
    column: 1,
    message: "the phase is ahead",
    fixes: [],
    overridden: false,
  };
  const lines = dialogLines(
    overrideDialog(
      evaluation({ gates: [gate(), gate({ id: "ok", status: "passed" })], findings: [finding] }),
      "accept",
    ),
  );
  expect(lines).toEqual(expect.arrayContaining(["• The tests pass: failed", "• the phase is ahead"]));
  expect(lines.join()).not.toContain("ok: passed");
});

test("the dialog of an override names the phases that it leaves undone, with their gates, and none on a way back", () => {
  const phases = (["done", "current", "detour", "ahead", "ahead"] as const).map((state, order) => ({
    id: "abcde"[order]!,
    title: `Do ${"abcde"[order]}`,
    agents: [],
    order,
    state,
    produces: [],
  }));
  const gates = [
    gate({ id: "after-a", after: "a", title: "", status: "passed" }),
    gate({ id: "after-d", after: "d", title: "", status: "not-reached", inForce: false }),
  ];
  const run = evaluation({ currentPhase: "b", phases, gates });
  const onward = dialogLines(overrideDialog(run, "e"));
  expect(onward).toEqual(
    expect.arrayContaining([
      "Phases that this leaves undone:",
      "• b: Do b",
      "• d: Do d",
      "Gates that this goes past:",
      "• after-d: not reached",
    ]),
  );
  expect(onward.join()).not.toMatch(/Do c|Do e|after-a/);
  expect(dialogLines(overrideDialog(run, "a")).join()).not.toMatch(/undone|goes past/);
});

test("phases that rules lead to are found nearest first, and a circle ends", () => {
  const edge = (from: string, to: string) => ({ from, to, because: "" });
  expect(reachable([edge("a", "b"), edge("b", "c"), edge("a", "d"), edge("c", "a")], "a")).toEqual(["b", "d", "c"]);
});

test("a roll back is what a finding offers, unless a person overrode it", () => {
  const finding = (overridden: boolean) => ({
    code: "inconsistent-state",
    severity: "error" as const,
    path: "p",
    line: 1,
    column: 1,
    message: "no evidence",
    overridden,
    fixes: [
      { title: "run test again", command: ["redo", "r", "test"] },
      { title: "roll back to planning", command: ["redo", "r", "planning"] },
    ],
  });
  expect(rollBackTo(evaluation({ findings: [finding(false)] }))).toEqual({ phase: "planning", because: "no evidence" });
  expect(rollBackTo(evaluation({ findings: [finding(true)] }))).toBeUndefined();
});

test("marks of a plan are zero-based lines, and skipped tasks have none", () => {
  const stages = [
    { id: "1", title: "", done: 0, total: 2, line: 3, tasks: [task({ line: 5 }), task({ state: "skipped", line: 6 })] },
  ];
  expect(marksOf({ path: "p", stages })).toEqual([{ line: 4, kind: "ready", said: "x-01: ready" }]);
});
