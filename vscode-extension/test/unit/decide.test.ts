import { beforeEach, expect, test, vi } from "vitest";
import type { PreparedDecision } from "../../src/protocol";
import { evaluation, finding, graph, phase, question, ROOT, stateWith, summary } from "./fixtures";

/** What a person reads in dialogs, and does: `buttons` are pressed and `typed` is entered, in order. */
const editor = vi.hoisted(() => ({
  dialogs: [] as { message: string; detail: string | undefined; buttons: string[] }[],
  messages: [] as string[],
  buttons: [] as (string | undefined)[],
  typed: [] as (string | undefined)[],
  isSaved: false,
  executed: [] as unknown[][],
  picks: [] as string[][],
}));
type Button = string | { title: string };
const titleOf = (button: Button): string => (typeof button === "string" ? button : button.title);
vi.mock("vscode", () => ({
  window: {
    activeTextEditor: undefined,
    showWarningMessage: (message: string, ...rest: (Button | { modal: true; detail: string })[]) => {
      const [first, ...others] = rest;
      const isModal = typeof first === "object" && "modal" in first;
      const buttons = (isModal ? others : rest) as Button[];
      editor.dialogs.push({ message, detail: isModal ? first.detail : undefined, buttons: buttons.map(titleOf) });
      const pressed = editor.buttons.shift();
      return Promise.resolve(buttons.find((button) => titleOf(button) === pressed));
    },
    showInformationMessage: (message: string) => Promise.resolve(editor.messages.push(message)),
    showErrorMessage: (message: string, ...buttons: string[]) => (
      editor.messages.push(message),
      Promise.resolve(buttons[0])
    ),
    setStatusBarMessage: (message: string) => editor.messages.push(message),
    showQuickPick: (items: { label: string; description: string }[]) => {
      editor.picks = items.map(({ label, description }) => [label, description]);
      return Promise.resolve(undefined);
    },
    showInputBox: () => Promise.resolve(editor.typed.shift()),
  },
  commands: { executeCommand: (...all: unknown[]) => Promise.resolve(editor.executed.push(all)) },
  workspace: { saveAll: () => Promise.resolve((editor.isSaved = true)) },
}));

const { answer, override, reachable, rollBack, rollBackTo } = await import("../../src/commands/decide");
const prepared: PreparedDecision = {
  title: "Is the plan good?",
  lines: ["run tasks/late-fees", "gate plan-review is failed and will be waived: The plan is sound"],
  revision: "r7",
  unsaved: [],
};
const RUN = { root: ROOT, run: "tasks/late-fees" };

/** A session whose server answers with `answers` by method, and refuses everything else. */
function sessionWith(answers: Readonly<Record<string, unknown>>, over: Parameters<typeof summary>[0] = {}) {
  const request = vi.fn((...[method]: [method: string, params: unknown]) =>
    method in answers ? Promise.resolve(answers[method]) : Promise.reject(new Error(`refused: ${method}`)),
  );
  const state = stateWith([summary({ questions: [question()], ...over })]);
  const output = { debug: () => undefined, warn: () => undefined };
  return { session: { store: { state }, client: { request }, output } as never, request };
}

const answers = { "phasekeeper/prepareDecision": prepared, "phasekeeper/decide": {}, "phasekeeper/graph": graph() };

beforeEach(() =>
  Object.assign(editor, { dialogs: [], messages: [], buttons: [], typed: [], executed: [], isSaved: false }),
);

test("the dialog of an option is the server's text, and the decision is about its revision", async () => {
  const { session, request } = sessionWith(answers);
  editor.buttons = ["start the work"];
  editor.typed = ["small enough"];
  await answer(session, { ...RUN, question: "approval", option: "approve" });
  const decision = { ...RUN, kind: "answer", question: "approval", option: "approve" };
  expect(editor.dialogs).toEqual([
    { message: prepared.title, detail: prepared.lines.join("\n"), buttons: ["start the work"] },
  ]);
  expect(request.mock.calls).toEqual([
    ["phasekeeper/prepareDecision", decision],
    ["phasekeeper/decide", { ...decision, reason: "small enough", revision: "r7" }],
  ]);
  expect(editor.messages).toEqual(["$(check) answered: start the work"]);
});

test("where no option is named, each has a button below the text of all", async () => {
  const { session, request } = sessionWith(answers);
  editor.buttons = ["plan again"];
  editor.typed = ["too large"];
  await answer(session, {});
  expect(editor.dialogs[0]!.buttons).toEqual(["start the work", "plan again"]);
  expect(request.mock.calls[0]).toEqual([
    "phasekeeper/prepareDecision",
    { ...RUN, kind: "answer", question: "approval" },
  ]);
  expect(request.mock.calls[1]![1]).toMatchObject({ option: "revise", reason: "too large" });
});

test("a question without options is answered in words", async () => {
  const { session, request } = sessionWith(answers, { questions: [question({ options: [] })] });
  editor.buttons = ["Answer…"];
  editor.typed = ["use UTC", "as everywhere"];
  await answer(session, {});
  expect(request.mock.calls[1]![1]).toMatchObject({ option: "use UTC", reason: "as everywhere" });
});

test("an override shows every line of the server, a failed gate with it", async () => {
  const edges = [{ from: "planning", to: "codegen", because: "" }];
  const { session, request } = sessionWith({ ...answers, "phasekeeper/graph": graph({ edges }) });
  editor.buttons = ["Override…"];
  editor.typed = ["we looked"];
  await override(session, RUN);
  expect(editor.dialogs[0]!.detail).toContain("gate plan-review is failed and will be waived");
  expect(request.mock.calls.at(-1)).toEqual([
    "phasekeeper/decide",
    { ...RUN, kind: "override", to: "codegen", reason: "we looked", revision: "r7" },
  ]);
});

test("the phases of an override stand with their titles, their ids beside them", async () => {
  const edges = ["codegen", "test"].map((to) => ({ from: "planning", to, because: "" }));
  const phases = [{ id: "codegen", title: "Write the code", state: "ahead", outcomes: [] }] as const;
  const { session } = sessionWith({ ...answers, "phasekeeper/graph": graph({ edges, phases }) });
  await override(session, RUN);
  expect(editor.picks).toEqual([
    ["Write the code", "codegen"],
    ["test", "test"],
  ]);
});

test("a quick fix names the phase behind its gate, and asks only for the decision", async () => {
  const phases = [{ id: "test", title: "Run the tests", state: "ahead", outcomes: [] }] as const;
  const { session, request } = sessionWith({ ...answers, "phasekeeper/graph": graph({ phases }) });
  editor.buttons = ["Override…"];
  editor.typed = ["we looked"];
  await override(session, { ...RUN, to: "test" });
  const decision = { ...RUN, kind: "override", to: "test" };
  expect(editor.dialogs[0]!.message).toBe("Move Charge a fee to “Run the tests”, against what its files say?");
  expect(editor.messages.at(-1)).toContain("overridden: now in “Run the tests”");
  expect(request.mock.calls.slice(1)).toEqual([
    ["phasekeeper/prepareDecision", decision],
    ["phasekeeper/decide", { ...decision, reason: "we looked", revision: "r7" }],
  ]);
});

test("a dialog or a reason that is left decides nothing", async () => {
  const { session, request } = sessionWith(answers);
  await answer(session, {});
  editor.buttons = ["start the work"];
  await answer(session, {});
  expect(editor.dialogs.length).toBe(2);
  expect(request.mock.calls.map(([method]) => method)).toEqual(Array(2).fill("phasekeeper/prepareDecision"));
});

test("what only an editor holds is saved before a decision is prepared", async () => {
  const { session, request } = sessionWith(answers, { revision: "r1+unsaved" });
  await answer(session, {});
  expect(editor.dialogs).toEqual([
    { message: expect.stringContaining("unsaved changes") as string, detail: undefined, buttons: ["Save All"] },
  ]);
  expect(request).not.toHaveBeenCalled();
  editor.buttons = ["Save All"];
  request.mockImplementationOnce(() => (expect(editor.isSaved).toBe(true), Promise.resolve(prepared)));
  await answer(session, {});
  expect(request).toHaveBeenCalledOnce();
});

test("files that are still not saved are named in the dialog", async () => {
  const { session } = sessionWith({ "phasekeeper/prepareDecision": { ...prepared, unsaved: ["tasks/plan.md"] } });
  await answer(session, {});
  expect(editor.dialogs[0]!.detail).toMatch(/Not saved, and not counted here: tasks\/plan\.md$/);
});

test("a question that is closed meanwhile is not asked, and a refusal is shown with a way on", async () => {
  const { session, request } = sessionWith({ "phasekeeper/prepareDecision": prepared });
  await answer(session, { ...RUN, question: "other" });
  expect(request).not.toHaveBeenCalledWith("phasekeeper/prepareDecision", expect.anything());
  editor.buttons = ["start the work"];
  editor.typed = ["yes"];
  await answer(session, {});
  expect(editor.messages).toEqual(["This question is not open any more.", "Not recorded: refused: phasekeeper/decide"]);
  expect(editor.executed).toMatchObject([["phasekeeper.answerQuestion", { ...RUN, question: "approval" }]]);
});

test("where a question was answered meanwhile, it is said by whom and how in place of why nothing was recorded", async () => {
  const events = [
    { kind: "answer", question: "approval", option: "revise", actor: "bob" },
    { kind: "answer", question: "approval", option: "approve", actor: "ann", why: "small enough" },
    { kind: "report", phase: "planning" },
  ];
  const gone = { "phasekeeper/run": evaluation(), "phasekeeper/history": { events } };
  const { session } = sessionWith({ ...gone, "phasekeeper/prepareDecision": prepared });
  editor.buttons = ["start the work"];
  editor.typed = ["yes"];
  await answer(session, {});
  await answer(session, { ...RUN, question: "other" });
  await expect(answer(sessionWith(gone).session, {})).rejects.toThrow(/^This question was answered meanwhile, by ann/);
  const open = { "phasekeeper/run": evaluation({ questions: [question()] }), "phasekeeper/history": { events } };
  await expect(answer(sessionWith(open).session, {})).rejects.toThrow("refused: phasekeeper/prepareDecision");
  expect(editor.messages).toEqual([
    "Not recorded: This question was answered meanwhile, by ann: approve (small enough)",
    "This question is not open any more.",
  ]);
  expect(editor.executed).toEqual([["phasekeeper.openPage", RUN]]);
});

test("only a run that can be rolled back is offered to be, with its phase in words", async () => {
  const wholes = ["a", "b", "c"].map((run) =>
    evaluation({
      run,
      findings: run === "a" ? [] : [finding({ fixes: [{ title: "", command: ["redo", run, "code"] }] })],
    }),
  );
  const state = stateWith(["a", "b", "c"].map((run) => summary({ run, title: `Run ${run}` })));
  const evaluations = { get: ({ run }: { run: string }) => Promise.resolve(wholes.find((one) => one.run === run)) };
  await rollBack({ store: { state }, evaluations } as never, {});
  expect(editor.picks).toEqual([
    ["Run b", "Plan the change"],
    ["Run c", "Plan the change"],
  ]);
});

test("a roll back names the phase by its title", async () => {
  const fixes = [{ title: "", command: ["redo", "r", "codegen"] }];
  const run = evaluation({
    phases: [phase({ id: "codegen", title: "Write the code" })],
    findings: [finding({ fixes })],
  });
  const { session } = sessionWith({ ...answers, "phasekeeper/run": run });
  await rollBack(session, RUN);
  expect(editor.dialogs[0]!.message).toBe("Roll Charge a fee back to “Write the code”?");
});

test("phases that rules lead to are found nearest first, and a circle ends", () => {
  const edge = (from: string, to: string) => ({ from, to, because: "" });
  expect(reachable([edge("a", "b"), edge("b", "c"), edge("a", "d"), edge("c", "a")], "a")).toEqual(["b", "d", "c"]);
});

test("a roll back is a fix that redoes another phase than the present one, unless a person overrode the finding", () => {
  const fixes = ["test", "planning"].map((phase) => ({ title: `redo ${phase}`, command: ["redo", "r", phase] }));
  const run = (over: Parameters<typeof finding>[0]) => evaluation({ currentPhase: "test", findings: [finding(over)] });
  expect(rollBackTo(run({ fixes }))).toEqual({ phase: "planning", because: "no evidence" });
  expect(rollBackTo(run({ fixes: fixes.slice(0, 1) }))).toBeUndefined();
  expect(rollBackTo(run({ fixes, overridden: true }))).toBeUndefined();
});
