import { expect, test } from "vitest";
import type { Counts, Recorded, Summary } from "../../src/protocol";
import { INITIAL, reduce, type ServerState, type State } from "../../src/store";
import { stepLabel } from "../../src/step";
import { nextRows, stepOf } from "../../src/views/next";
import { planMarks } from "../../src/views/plan";
import { recentRows, recordLabel } from "../../src/views/recent";
import type { Row } from "../../src/views/row";
import { byUrgency, fitsFilter, PLAIN_LIST, runDetails, runRows } from "../../src/views/runs";
import { readiness, status as statusOf } from "../../src/views/status";
import { optionLabels, restrictedMessage, waitingRows } from "../../src/views/waiting";
import manifest from "../../package.json";
import { evaluation, gate, phase, question, reportable, ROOT, stateWith, suggestion, summary, task } from "./fixtures";
import { outline } from "./outline";

const fetch = () => Promise.resolve(null);

test("runs that go on come first, those that are over are in one row", async () => {
  const runs = [
    summary({ run: "a", title: "Done", status: "complete" }),
    summary({ run: "b", title: "Going", progress: { done: 2, total: 6 } }),
  ];
  expect(await outline(runRows(stateWith(runs), fetch))).toEqual([
    "Going | 2/6 · Plan the change",
    "Finished | 1",
    "  Done | complete",
  ]);
});

/** The state of a root of which these runs are held, of more. */
function stateOfPage(runs: Summary[], counts: Counts, next: string | null): State {
  const root = { root: ROOT, version: 1, runs, counts, next };
  return reduce(stateWith([]), { kind: "board", board: { version: 1, roots: [root] } });
}

test("runs that are not held are a row that brings the next page, in each view", async () => {
  const asking = summary({
    run: "a",
    title: "Asks",
    status: "waiting_human",
    questions: [question()],
  });
  const now = stateOfPage([asking], { runs: 9, going: 6, questions: 3 }, "0 a");
  const rows = runRows(now, fetch);
  expect(await outline(rows)).toEqual(["Asks | Plan the change", "… 5 more |", "Finished | 3", "  … 3 more |"]);
  expect(rows[1]).toMatchObject({ click: "loadMore", subject: { root: ROOT, page: "going" } });
  expect((rows[2]!.children as Row[])[0]).toMatchObject({ click: "loadMore", subject: { root: ROOT, page: "over" } });
  expect(nextRows(now).at(-1)).toMatchObject({ label: "… 5 more", click: "loadMore" });
  expect(waitingRows(now, true).at(-1)).toMatchObject({ label: "… 2 more", click: "loadMore" });
  expect(new Set([...rows, ...nextRows(now), ...waitingRows(now, true)].map(({ id }) => id)).size).toBe(7);
});

test("a run with errors says so in its row", async () => {
  const rows = await outline(
    runRows(stateWith([summary({ findingCounts: { error: 2, warning: 1, information: 0 } })]), fetch),
  );
  expect(rows).toEqual(["Charge a fee | 2 errors · Plan the change"]);
});

test("a run with marks that nobody knows says so beside its progress", async () => {
  const run = summary({ progress: { done: 0, total: 4 }, unknownMarks: 3 });
  expect(await outline(runRows(stateWith([run]), fetch))).toEqual([
    "Charge a fee | 0/4 · Plan the change · 3 marks unknown",
  ]);
});

test("questions are open while they are few", () => {
  const asking = (count: number) =>
    stateWith(Array.from({ length: count }, (_, at) => summary({ run: `t${at}`, questions: [question()] })));
  expect(waitingRows(asking(3), true).every((node) => node.open)).toBe(true);
  expect(waitingRows(asking(4), true).some((node) => node.open)).toBe(false);
});

test("where several roots have runs, their names stand beside the titles", () => {
  const runs = [summary({ root: "/x/one", questions: [question()] }), summary({ root: "/x/two" })];
  expect(nextRows(stateWith(runs)).map((node) => node.description)).toEqual([
    "Charge a fee · one · the plan review is ok",
    "Charge a fee · two · the plan review is ok",
  ]);
  expect(waitingRows(stateWith(runs), true)[0]!.label).toBe("Charge a fee · one");
  expect(
    recentRows(stateWith(runs), [{ root: "/x/two", run: runs[1]!.run, kind: "start", line: 1 }])[0]!.description,
  ).toBe("Charge a fee · two");
});

test("several roots get a row each", async () => {
  const runs = [summary({ root: "/x/one" }), summary({ root: "/x/two" })];
  expect((await outline(runRows(stateWith(runs), fetch))).filter((line) => !line.startsWith(" "))).toEqual([
    "one | 1 run",
    "two | 1 run",
  ]);
});

test("a run has its plan, its phases with artifacts, gates and criteria, and the limits in use", async () => {
  const run = evaluation({
    progress: { done: 1, total: 3 },
    phases: [
      phase({
        title: "Test",
        agents: ["tester"],
        produces: [{ artifact: "t", path: "tasks/x/report.json", state: "valid" }],
      }),
      phase({ id: "accept", title: "accept", order: 1, state: "ahead" }),
    ],
    gates: [
      gate({
        criteria: [
          {
            text: "everything passed",
            met: false,
            basis: "recorded",
            evidence: [{ path: "tasks/x/report.json", line: 3, column: 5, expression: "failed", value: 2 }],
          },
          { text: "something was tested", met: null, basis: null, evidence: [] },
        ],
      }),
    ],
    limits: [
      { id: "fixes", count: 1, max: 3, reached: false },
      { id: "unused", count: 0, max: 3, reached: false },
    ],
    plan: {
      path: "tasks/x/PLAN.md",
      whole: true,
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
  expect(await outline(runDetails(run))).toEqual([
    "Plan | 1 of 3 tasks done",
    "  1. Model | 1/3",
    "    One | done",
    "    Two | claimed by coder-7",
    "    Three | blocked by “Two” and stage 2",
    "Test | now",
    "  report.json | valid",
    "  Gate: The tests pass | failed",
    "    everything passed | not met",
    "      failed = 2 | report.json:3",
    "    something was tested | no evidence yet",
    "accept |",
    "Fixes | 1 of at most 3",
  ]);
});

test("a gate says on what its verdict rests", async () => {
  const restsOn = "as codex reported; no file shows it";
  const run = evaluation({
    phases: [phase({ title: "Test", state: "done", basis: "reported", restsOn })],
    gates: [gate({ status: "passed", basis: "reported", restsOn })],
  });
  const [row] = runDetails(run);
  expect(row!.tooltip![0]).toBe(`Test: done, ${restsOn}`);
  expect(await outline(runDetails(run))).toContain(`  Gate: The tests pass | passed, ${restsOn}`);
});

test("ids of rows are unique", () => {
  const run = evaluation({
    phases: [phase()],
    gates: [gate(), gate({ id: "more" })],
  });
  const ids: string[] = [];
  const collect = (nodes: ReturnType<typeof runDetails>): void => {
    for (const node of nodes) {
      ids.push(node.id);
      if (Array.isArray(node.children)) collect(node.children as ReturnType<typeof runDetails>);
    }
  };
  collect(runDetails(run));
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
      produce: [{ path: "tasks/x/code/diff.patch", schema: null, example: null, revise: false }],
      tasks: ["01", "02", "03"],
      parallel: [["01", "02"], ["03"]],
    }),
    taskTitles: { "01": "A queue" },
  });
  expect(await outline(nextRows(stateWith([run, summary({ run: "over", status: "complete" })])))).toEqual([
    "Write the code: 01, 02, 03 | Charge a fee · the plan review is ok",
    "  Evidence |",
    "    plan_review.ok = true | plan-review.json:3",
    "  coder | who",
    "  A queue | 01 · task, batch 1, side by side",
    "  02 | task, batch 1, side by side",
    "  03 | task, batch 2, alone",
    "  diff.patch | to be written",
    "  Not now: test, accept | phases are not skipped",
  ]);
});

test("a click on a file that is to be written opens it or an editor for it, and one that is there is to be revised", () => {
  const produce = [
    { path: "tasks/x/code/diff.patch", schema: null, example: "--- a", revise: false },
    { path: "tasks/x/plan.json", schema: null, example: null, revise: true },
    { path: "tasks/x/reports/*.md", schema: null, example: null, revise: false },
  ];
  const run = evaluation({ suggestion: suggestion({ produce }) });
  const rows = (nextRows(stateWith([{ ...summary(), ...run }]))[0]!.children as Row[]).filter(({ id }) =>
    id.includes("/produce/"),
  );
  expect(rows.map(({ description, click, subject }) => [description, click, subject!.example])).toEqual([
    ["to be written", "openPlace", "--- a"],
    ["to be revised", "openPlace", ""],
    ["to be written", undefined, ""],
  ]);
  const produces = produce.map(({ path }) => ({ artifact: "a", path, state: "missing" as const }));
  const artifacts = (status: Summary["status"]) =>
    runDetails({ ...run, status, phases: [phase({ produces })] })[0]!.children as Row[];
  expect(artifacts("active").map(({ click, subject }) => [click, subject!.example])).toEqual([
    ["openPlace", "--- a"],
    ["openPlace", ""],
    [undefined, ""],
  ]);
  expect(artifacts("complete")[0]!.subject).not.toHaveProperty("example");
});

test("a reason that says no more than the step is left out", () => {
  const reasons = ["Execute is to be done", "execute is next", "Execute: the queue has three entries", ""];
  expect(
    reasons.map(
      (reason) =>
        nextRows(
          stateWith([summary({ nextTitle: "Execute", suggestion: suggestion({ suggestedNext: "execute", reason }) })]),
        )[0]!.description,
    ),
  ).toEqual(["Charge a fee", "Charge a fee", "Charge a fee · Execute: the queue has three entries", "Charge a fee"]);
  const act = suggestion({ kind: "act", phrase: "Do classify", reason: "Classify the task is to be done" });
  const run = summary({ phaseTitle: "Classify the task", nextTitle: "", suggestion: act });
  expect(nextRows(stateWith([run]))[0]).toMatchObject({ label: "Do classify", description: "Charge a fee" });
});

test("an id stands beside a title where the title does not say it", async () => {
  const phases = [
    phase({ id: "4b", title: "Quality gate", state: "done" }),
    phase({ id: "test", title: "Run the tests", state: "done" }),
    phase({ id: "code_review", title: "Code review", state: "ahead" }),
  ];
  expect(await outline(runDetails(evaluation({ phases })))).toEqual([
    "Quality gate | 4b",
    "Run the tests |",
    "Code review |",
  ]);
});

test("the tooltip of a question is words and a time to read", () => {
  const asked = question({ id: "severe:4:WQ-002", since: "2026-11-30T20:53:18.988+00:00" });
  const [row] = waitingRows(stateWith([summary({ questions: [asked] })]), true);
  expect(row!.tooltip!.at(-1)).toMatch(/^Approval, asked 2026-1[12]-\d\d \d\d:53$/);
  expect(row!.tooltip!.join()).not.toContain("WQ-002");
});

test("what a report still needs is a row of the next step", async () => {
  const need = (kind: "report" | "files" | "changed", phrase: string, met: boolean | null) => ({
    ...{ kind, text: phrase, phrase, paths: [], met, outcomes: ["complete"] },
  });
  const brings = [
    need("report", "its text in the form of a report", null),
    need("files", "these files exist: src/a.py", false),
    need("files", "these files exist: src/b.py", true),
    need("changed", "a file was changed since 4b fail: src/b.py", null),
  ];
  const reports = [reportable("F2", { outcomes: ["complete", "partial"], brings })];
  const rows = await outline(nextRows(stateWith([summary({ suggestion: suggestion({ reports }) })])));
  expect(rows.filter((row) => row.endsWith("needs it"))).toEqual([
    "  these files exist: src/a.py | complete needs it",
    "  a file was changed since 4b fail: src/b.py | complete needs it",
  ]);
});

test("a row of what a report still needs leads to what meets it", () => {
  const need = (kind: "files" | "absent" | "changed" | "checks" | "holds", paths: string[]) => ({
    ...{ kind, text: kind, phrase: kind, paths, met: false, outcomes: ["ok"] },
  });
  const brings = [
    need("files", ["gates/pass-3.md"]),
    need("absent", ["old.py"]),
    need("changed", ["a.py", "src/b.py"]),
    need("checks", []),
    need("holds", []),
    need("files", ["docs/*.md"]),
  ];
  const reports = [reportable("quality", { brings, instructions: "Write what was run." })];
  const [step] = nextRows(stateWith([summary({ suggestion: suggestion({ reports }) })]));
  const all = step!.children as readonly Row[];
  const rows = all.filter(({ description }) => description === "ok needs it");
  expect(rows.map(({ click, subject }) => [click, subject?.place?.path, subject?.example])).toEqual([
    ["openPlace", "gates/pass-3.md", ""],
    ["openPlace", "old.py", undefined],
    [undefined, undefined, undefined],
    ["runCheck", undefined, undefined],
    ["reportOutcome", undefined, undefined],
    ["reportOutcome", undefined, undefined],
  ]);
  expect(rows[4]!.subject).toEqual({ root: ROOT, run: "tasks/late-fees", step: "quality" });
  const files = rows[2]!.children as readonly Row[];
  expect(files.map(({ label, click }) => [label, click])).toEqual([
    ["a.py", "openPlace"],
    ["b.py", "openPlace"],
  ]);
  for (const row of [step!, rows[0]!]) expect(row.tooltip).toContain("Write what was run.");
});

test("a click takes up again what a person stopped, and the reason names what is done here", () => {
  const reason = "the plan was rejected; `phasekeeper override tasks/T1 --to 3` takes it up again";
  const stopped = suggestion({ kind: "stop", phrase: "Stop", suggestedNext: null, reason, overrideTo: "3" });
  const [row] = nextRows(stateWith([summary({ status: "blocked", suggestion: stopped })]));
  expect(row).toMatchObject({ click: "overrideGate", subject: { to: "3" } });
  expect(row!.description).toContain("the plan was rejected; “Override with Reason…” takes it up again");
});

test("a click on a next step opens the line of its first evidence", () => {
  const evidence = [{ path: "p.json", line: 3, column: 9, expression: "x", value: 1 }];
  const [node] = nextRows(stateWith([summary({ suggestion: suggestion({ evidence }) })]));
  expect(node).toMatchObject({
    click: "openPlace",
    subject: { place: { root: ROOT, path: "p.json", line: 3, column: 9 } },
  });
  expect(nextRows(stateWith([summary()]))[0]).not.toHaveProperty("click", "openPlace");
});

test("a step that begins with an action is named as the server says it, with nothing in it that draws", () => {
  const phrase = "Do F1, then go on to\u202e review";
  const [row] = nextRows(stateWith([summary({ suggestion: suggestion({ action: "F1", phrase }) })]));
  expect(row!.label).toBe("Do F1, then go on to\\u{202e} review");
});

test("a report is about the suggested step, else the present phase", () => {
  const reports = ["verify", "planning"].map((step) => reportable(step));
  expect(stepOf(summary({ suggestion: suggestion({ reports }) }))).toBe("verify");
  expect(stepOf(summary({ suggestion: suggestion({ kind: "wait", reports: [] }) }))).toBe("planning");
});

test("what waits shows the question, its options and what led to it; options decide by a click", async () => {
  const escalation = question({
    kind: "escalation",
    tasks: ["x-01"],
    history: [
      { phase: "4b", iteration: 2, outcome: "fail", message: "still 401" },
      { round: 1, note: "" },
    ],
  });
  const nodes = waitingRows(stateWith([summary({ questions: [escalation] })]), true);
  expect(await outline(nodes)).toEqual([
    "Charge a fee | Is the plan good?",
    "  start the work |",
    "  plan again | nothing is lost, but it takes its time",
    "  x-01 | task",
    "  History | 2",
    "    4b (2): fail · still 401 |",
    "    round: 1 |",
  ]);
  expect((nodes[0]!.children as typeof nodes)[0]).toMatchObject({
    click: "answerQuestion",
    subject: { question: "approval", option: "approve" },
  });
});

test("what became of a run that is over stands in its row", async () => {
  const row = async (statusReason: string) =>
    (await outline(runRows(stateWith([summary({ title: "Fees", status: "complete", statusReason })]), fetch)))[1];
  expect(await row("the run is complete")).toBe("  Fees | complete");
  expect(await row("the change was taken back")).toBe("  Fees | complete: the change was taken back");
});

test("of a run that is over no phase is now", async () => {
  const phases = [phase({ id: "ended", title: "Ended by the user", state: "current", produces: [] })];
  const rows = async (status: Summary["status"]) =>
    (await outline(runDetails(evaluation({ status, phases, gates: [] }))))[0];
  expect(await rows("active")).toBe("Ended by the user | now");
  expect(await rows("exited")).toBe("Ended by the user | ended here");
  const ahead = [phase({ id: "failed", title: "Failed", state: "ahead" })];
  const words = (status: Summary["status"]) => runDetails(evaluation({ status, phases: ahead }))[0]!;
  expect(words("complete")).toMatchObject({ iconLabel: "not reached", tooltip: ["Failed: not reached"] });
  expect(words("active")).toMatchObject({ iconLabel: "to come" });
});

test.each([
  ["approval", "Decide on Approval…"],
  ["escalation", "Answer…"],
  ["clarification", "Answer…"],
] as const)("the row of an %s offers %s", (kind, title) => {
  const [row] = waitingRows(stateWith([summary({ questions: [question({ kind })] })]), true);
  const menu = manifest.contributes.menus["view/item/context"].filter(({ when }) => {
    const [, word] = /viewItem =~ \/\\b([\w-]+)\\b\//.exec(when) ?? [];
    return word !== undefined && new RegExp(`\\b${word}\\b`).test(row!.context!);
  });
  const titles = menu.map(({ command }) => manifest.contributes.commands.find((one) => one.command === command)!.title);
  expect(titles).toEqual([title, title]);
});

test("a question without options is answered by a click on itself", () => {
  expect(waitingRows(stateWith([summary({ questions: [question({ options: [] })] })]), true)[0]!.click).toBe(
    "answerQuestion",
  );
});

test("recent records stand in the order they come in, each with the run that it is of", () => {
  const nodes = recentRows(stateWith([summary()]), [
    { root: ROOT, run: "tasks/gone", kind: "answer", question: "approval", option: "approve", line: 1 },
    { root: ROOT, run: "tasks/late-fees", kind: "report", phase: "4b", outcome: "fail", line: 1 },
  ]);
  expect(nodes.map((node) => [node.label, node.description])).toEqual([
    ["Approval: approve", "gone"],
    ["4b: fail", "Charge a fee"],
  ]);
  expect(new Set(nodes.map((node) => node.id)).size).toBe(2);
  expect(nodes[1]).toMatchObject({ click: "showTimeline", subject: { root: ROOT, run: "tasks/late-fees" } });
});

test.each([
  [{ kind: "start", workflow: "master-plan" }, "Started as master-plan"],
  [{ kind: "claim", task: "x-01", actor: "me" }, "x-01 claimed by me"],
  [{ kind: "override", next: "done" }, "Overridden: now in done"],
  [{ kind: "transition", next: "planning" }, "To be done again: planning"],
  [{ kind: "refused", phase: "F2", tasks: ["x-01"] }, "F2: refused (x-01)"],
  [{ kind: "refused", phase: "F2", why: "src/a.py is not there" }, "F2: refused, src/a.py is not there"],
  [{ kind: "something-new", phase: "p" }, "something-new p"],
])("the record %o reads %s", (record, label) => {
  expect(recordLabel(record)).toBe(label);
});

test("a record names phases, tasks and what was chosen by their titles", () => {
  const titles = { phaseTitles: { "4b": "Quality gate", F2: "Fix" }, taskTitles: { "x-01": "A model" } };
  const labelOf = (record: Partial<Recorded>): string => recordLabel({ ...titles, ...record });
  expect(labelOf({ kind: "report", phase: "4b", outcome: "fail", tasks: ["x-01", "x-02"] })).toBe(
    "Quality gate: fail (“A model” and x-02)",
  );
  expect(labelOf({ kind: "override", next: "F2" })).toBe("Overridden: now in Fix");
  expect(labelOf({ kind: "claim", task: "x-01", actor: "me" })).toBe("“A model” claimed by me");
  const options = [{ id: "approve", text: "implement it: the gate opens" }];
  expect(labelOf({ kind: "answer", question: "plan", option: "approve", asked: "Is it good?", options })).toBe(
    "Is it good? implement it",
  );
  expect(labelOf({ kind: "question", question: "fix_iterations", message: "How to go on?" })).toBe(
    "Asked: How to go on?",
  );
});

test("what led to a question, and what is forbidden now, has titles", async () => {
  const phaseTitles = { "4b": "Quality gate", "5a": "Look at it" };
  const history = [{ phase: "4b", outcome: "fail", iteration: 1, message: "two tests fail" }];
  const asked = question({ options: [], tasks: ["x-01"], history });
  const run = summary({ questions: [asked], phaseTitles, taskTitles: { "x-01": "A model" } });
  const rows = await outline(waitingRows(stateWith([run]), true));
  expect(rows.slice(1)).toEqual([
    "  “A model” | task",
    "  History | 1",
    "    Quality gate (1): fail · two tests fail |",
  ]);
  const forbidden = ["4b", "5a", "5b", "6"].map((action) => ({ action, because: "phases are not skipped" }));
  const [step] = nextRows(stateWith([summary({ phaseTitles, suggestion: suggestion({ forbidden }) })]));
  expect((step!.children as Row[]).at(-1)).toMatchObject({
    label: "Not now: Quality gate, Look at it, 5b and 1 more",
    tooltip: [
      "phases are not skipped",
      "Not now: Quality gate (4b)",
      "Not now: Look at it (5a)",
      "Not now: 5b",
      "Not now: 6",
    ],
  });
});

test("a gate without a title is words, and no tooltip of a gate or task begins with an id", () => {
  const stages = [{ id: "1", title: "", done: 0, total: 1, line: 1, tasks: [task()] }];
  const gates = [gate({ id: "components-designed", title: "" }), gate({ id: "3", title: "After 4b failed" })];
  const run = evaluation({ phases: [phase()], gates, plan: { path: "p", whole: true, stages } });
  const [plan, current] = runDetails(run);
  const rows = [...(current!.children as Row[]), ...((plan!.children as Row[])[0]!.children as Row[])];
  expect(rows.map(({ label, tooltip }) => [label, tooltip![0]])).toEqual([
    ["Gate: Components designed", "Components designed: failed"],
    ["Gate: After 4b failed", "After 4b failed: failed"],
    ["A model", "A model (x-01): ready"],
  ]);
});

test("a step that is no phase is words", () => {
  const act = suggestion({ suggestedNext: "action-apply-fix", action: "action-apply-fix", kind: "act" });
  expect(nextRows(stateWith([summary({ suggestion: act, nextTitle: "" })]))[0]!.label).toBe("Apply fix");
});

test("the status bar shows the run of the active file, and turns to warning when that run waits for a person", () => {
  const runs = [
    summary({ run: "a", title: "First" }),
    summary({ run: "b", title: "Second", progress: { done: 1, total: 2 }, questions: [question()] }),
  ];
  const status = (now: State, file: string | undefined) => statusOf(now, file, 1, true);
  expect(status(stateWith(runs), `${ROOT}/b/plan.md`)).toMatchObject({
    text: "$(checklist) Second: Plan the change 1/2  $(bell-dot) 1",
    colour: "warning",
    click: "answerQuestion",
  });
  expect(status(stateWith(runs), `${ROOT}/a/plan.md`)).toMatchObject({
    text: "$(checklist) First: Plan the change  $(bell-dot) 1",
    colour: "plain",
  });
  // No file of a run is in front: no run of several is named.
  expect(status(stateWith(runs), undefined)).toMatchObject({
    text: "$(checklist) Phasekeeper  $(bell-dot) 1",
    colour: "plain",
    click: "answerQuestion",
  });
  expect(status(stateWith([summary()]), undefined)).toMatchObject({ colour: "plain", click: "showNextStep" });
});

test("of a run that is over the status bar says how it ended, not the phase that was last", () => {
  const over = summary({ run: "a", title: "First", status: "complete", progress: { done: 3, total: 3 } });
  const item = statusOf(stateWith([over, summary({ run: "b" })]), `${ROOT}/a/plan.md`, 1, true);
  expect(item.text).toBe("$(checklist) First: complete 3/3");
  expect(item.tooltip[0]).toBe("First: complete");
  expect(item.click).toBe("openPage");
});

test.each<[ServerState, string, string]>([
  [{ state: "starting" }, "showOutput", "plain"],
  [{ state: "starting", why: "it was killed" }, "showOutput", "plain"],
  [{ state: "slow" }, "restartServer", "warning"],
  [{ state: "ready", description: "Using it." }, "showOutput", "plain"],
  [{ state: "missing" }, "installServer", "warning"],
  [{ state: "missing", why: "it is no program" }, "choosePython", "error"],
  [{ state: "failed", why: "it ended by itself" }, "restartServer", "error"],
])("while the server is %o a click on the status bar does %s", (server, click, colour) => {
  const item = statusOf(reduce(INITIAL, { kind: "server", server }), undefined, 1, true);
  expect(item).toMatchObject({ click, colour });
  if ("why" in server) expect(item.tooltip).toContain(server.why);
});

test("folders that were not looked at yet are not said to be without runs", () => {
  const ready = reduce(INITIAL, { kind: "server", server: { state: "ready", description: "Using it." } });
  expect(readiness(ready, 1)).toBe("looking");
  expect(readiness(ready, 0)).toBe("ready");
  const empty = reduce(ready, { kind: "board", board: { version: 1, roots: [{ root: ROOT, version: 1, runs: [] }] } });
  expect(readiness(empty, 1)).toBe("ready");
  expect(statusOf(empty, undefined, 1, true)).toMatchObject({
    click: "startRun",
    tooltip: ["No run goes on; click to start one", "Using it."],
  });
});

test("without trust it is said that nothing can be answered", () => {
  const asking = stateWith([summary({ questions: [question()] })]);
  expect(restrictedMessage(asking, false)).toContain("Restricted Mode");
  expect(restrictedMessage(asking, true)).toBeUndefined();
  expect(restrictedMessage(stateWith([summary()]), false)).toBeUndefined();
  expect(statusOf(asking, undefined, 1, false).tooltip.at(-1)).toBe("1 thing waits for you; not in Restricted Mode");
  const options = (trusted: boolean) =>
    (waitingRows(asking, trusted)[0]!.children as readonly Row[])[0]!.tooltip!.at(-1);
  expect([options(true), options(false)]).toEqual(["Click to decide; a reason is asked for", "Not in Restricted Mode"]);
});

test("what only an icon shows is in what a screen reader says", () => {
  const phases = (["done", "current", "ahead", "skipped", "detour"] as const).map((state) =>
    phase({ id: state, title: state, state }),
  );
  const limits = [{ id: "fixes", count: 3, max: 3, reached: true }];
  expect(runDetails(evaluation({ phases, limits })).map((node) => node.iconLabel)).toEqual([
    "done",
    undefined,
    "to come",
    "skipped",
    "only when needed",
    "reached",
  ]);
  expect(runRows(stateWith([summary({ status: "waiting_human" })]), fetch)[0]!.iconLabel).toBe("waits for you");
});

test("an option's text has its label before a colon and what follows from it behind", () => {
  expect(optionLabels({ id: "retry", text: "try again: nothing is lost: really" })).toEqual({
    label: "try again",
    consequence: "nothing is lost: really",
  });
  expect(optionLabels({ id: "retry", text: "" })).toEqual({ label: "retry", consequence: "" });
});

test("marks of a plan are zero-based lines, and skipped tasks have none", () => {
  const stages = [
    { id: "1", title: "", done: 0, total: 2, line: 3, tasks: [task({ line: 5 }), task({ state: "skipped", line: 6 })] },
  ];
  expect(planMarks({ path: "p", whole: true, stages })).toEqual([
    { line: 4, kind: "ready", label: "A model (x-01): ready" },
  ]);
});

test("what waits comes first, then what fails, then what goes on, then what waits for a job", () => {
  const runs = [
    summary({ run: "job", status: "waiting" }),
    summary({ run: "going" }),
    summary({ run: "failing", gates: [gate()] }),
    summary({ run: "wrong", findingCounts: { error: 1, warning: 0, information: 0 } }),
    summary({ run: "asking", questions: [question()] }),
  ];
  expect(byUrgency(runs).map(({ run }) => run)).toEqual(["asking", "failing", "wrong", "going", "job"]);
});

test("a run with errors, or with a failed gate, does not look like a healthy one", () => {
  const iconOf = (over: Partial<Summary>) => runRows(stateWith([summary(over)]), fetch)[0]!.icon;
  expect(iconOf({})).toEqual({ name: "play-circle", color: "phasekeeper.now" });
  const bad = { name: "warning", color: "phasekeeper.bad" };
  expect(iconOf({ findingCounts: { error: 1, warning: 0, information: 0 } })).toEqual(bad);
  expect(iconOf({ gates: [gate()] })).toEqual(bad);
  expect(iconOf({ gates: [gate({ inForce: false })] })).toEqual({ name: "play-circle", color: "phasekeeper.now" });
});

test("a filter has words for states and parts of what a run is called, and all have to fit", () => {
  const run = summary({ title: "Late fees", questions: [question()], gates: [gate()] });
  for (const filter of ["", "@waiting", "@failed", "LATE", "@waiting fees", "pipeline", "plan the"])
    expect(fitsFilter(run, filter), filter).toBe(true);
  for (const filter of ["@done", "@waiting @done", "early", "@unknown"])
    expect(fitsFilter(run, filter), filter).toBe(false);
  expect(fitsFilter(summary({ status: "complete", questions: [question()] }), "@waiting")).toBe(false);
});

test("a filter that no run fits says so, which states there are, and is cleared by a click", () => {
  const state = stateWith([summary(), summary({ run: "over", title: "Over", status: "complete" })]);
  const first = (filter: string, hidesFinished = false) =>
    runRows(state, fetch, { ...PLAIN_LIST, filter, hidesFinished })[0]!;
  expect(first("zebra")).toMatchObject({
    label: "No run fits",
    description: "Click to clear the filter",
    click: "clearFilter",
  });
  expect(first("@failde")).toMatchObject({
    label: "No run fits",
    description: "@failde is no state; there are @waiting, @failed, @active, @done",
    tooltip: expect.arrayContaining(["Click to clear the filter"]) as string[],
    click: "clearFilter",
  });
  expect(first("over", true).label).toBe("Only finished runs fit, which are hidden");
  expect(first("over").label).toBe("Finished");
  expect(runRows(stateWith([]), fetch, { ...PLAIN_LIST, filter: "zebra" })).toEqual([]);
  const paged = stateOfPage([summary()], { runs: 9, going: 6, questions: 3 }, "0 a");
  expect(runRows(paged, fetch, { ...PLAIN_LIST, filter: "zebra" })[0]!.label).toBe(
    "None of the runs shown so far fits",
  );
});

test("runs are listed by workflow, without the finished ones, or only those that fit, as a person wants", async () => {
  const runs = [
    summary({ run: "a", title: "One" }),
    summary({ run: "b", title: "Two", workflow: "master-plan" }),
    summary({ run: "c", title: "Over", status: "complete" }),
  ];
  const list = (over: Partial<typeof PLAIN_LIST>) =>
    outline(runRows(stateWith(runs), fetch, { ...PLAIN_LIST, ...over }));
  expect(await list({ groupByWorkflow: true, hidesFinished: true })).toEqual([
    "artifact-pipeline | 1 run",
    "  One | Plan the change",
    "master-plan | 1 run",
    "  Two | Plan the change",
  ]);
  expect(await list({ filter: "two" })).toEqual(["Two | Plan the change"]);
});

test("a step is a sentence: its title, and the tasks by their numbers", () => {
  const label = (over: Partial<Summary["suggestion"]>, nextTitle = "Fix the failing tasks") =>
    stepLabel(suggestion(over), nextTitle);
  expect(label({ tasks: ["reading-lists-03", "reading-lists-04"] })).toBe("Fix the failing tasks: 03, 04");
  expect(label({ tasks: ["a-1", "a-2", "a-3", "a-4"] })).toBe("Fix the failing tasks: 1, 2, 3 and 1 more");
  expect(label({ tasks: ["a-1", "b-1"] })).toBe("Fix the failing tasks: a-1, b-1");
  // Numbers of parts, and ids that are words, are no shorter names of anything.
  for (const id of ["2.2", "1-2", "lib-1.2", "pack-the-second-floor"])
    expect(label({ tasks: [id] })).toBe(`Fix the failing tasks: ${id}`);
  expect(label({ kind: "regress" }, "Write the code")).toBe("Write the code");
  expect(label({}, "")).toBe("codegen");
  expect(label({ kind: "wait", suggestedNext: null, phrase: "Wait for a job" })).toBe("Wait for a job");
});

test("a run that only waits for an answer is among what waits, and has no next step beside it", () => {
  const waits = suggestion({ kind: "escalate", suggestedNext: null, phrase: "A person decides" });
  const now = stateWith([summary({ questions: [question()], suggestion: waits }), summary({ run: "b" })]);
  expect(nextRows(now).map(({ subject }) => subject?.run)).toEqual(["b"]);
});

test("what was asked last stands first", () => {
  const asked = (run: string, since: string | null) => summary({ run, title: run, questions: [question({ since })] });
  const runs = [asked("a", null), asked("b", "2026-01-01T10:00:00Z"), asked("c", "2026-01-02T10:00:00Z")];
  expect(waitingRows(stateWith(runs), true).map(({ label }) => label)).toEqual(["c", "b", "a"]);
});

test("a task that failed is red, and leads to the line of the report that says so; it can be claimed and reported", () => {
  const failedBy = {
    path: "tasks/x/reports/4b.md",
    line: 5,
    column: 21,
    expression: "report 4b of stage 2",
    value: "fail",
  };
  const tasks = [
    task({ state: "failed", failedBy }),
    task({ id: "x-02", state: "claimed", claimedBy: "ann", failedBy }),
  ];
  const stages = [{ id: "1", title: "Model", done: 0, total: 2, line: 10, tasks }];
  const run = evaluation({
    plan: { path: "tasks/x/PLAN.md", whole: true, stages },
    suggestion: suggestion({ tasks: ["x-01"] }),
  });
  const plan = runDetails(run)[0]!;
  const [failed, claimed] = (plan.children as Row[])[0]!.children as Row[];
  expect(failed).toMatchObject({
    description: "failed: 4b of stage 2",
    icon: { name: "error", color: "phasekeeper.bad" },
    context: "place task-failed task-ready task-due failure",
    subject: { task: "x-01", place: { path: "tasks/x/reports/4b.md", line: 5, column: 21 } },
  });
  expect(claimed).toMatchObject({
    description: "claimed by ann · failed: 4b of stage 2",
    context: "place task-claimed task-due failure",
  });
  expect(planMarks(run.plan!).map(({ kind }) => kind)).toEqual(["failed", "claimed"]);
});
