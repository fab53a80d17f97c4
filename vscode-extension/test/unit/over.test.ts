import { beforeEach, expect, test, vi } from "vitest";
import type { Summary } from "../../src/protocol";
import manifest from "../../package.json";
import { canOverride } from "../../src/protocol";
import { evaluation, gate, phase, ROOT, stateWith, suggestion, summary, task } from "./fixtures";

interface Item {
  label: string;
  value: unknown;
}
const editor = vi.hoisted(() => ({
  messages: [] as string[],
  executed: [] as unknown[][],
  pressed: undefined as string | undefined,
  offered: [] as Item[],
  file: undefined as string | undefined,
}));
vi.mock("vscode", () => ({
  window: {
    get activeTextEditor() {
      return editor.file && { document: { uri: { scheme: "file", fsPath: editor.file } } };
    },
    showInformationMessage: (message: string) => (editor.messages.push(message), Promise.resolve(editor.pressed)),
    showQuickPick: (items: Item[]) => ((editor.offered = items), Promise.resolve(items[0])),
    setStatusBarMessage: () => undefined,
  },
  commands: { executeCommand: (...words: unknown[]) => Promise.resolve(editor.executed.push(words)) },
}));

const { chooseRun } = await import("../../src/commands/pick");
const { copyPrompt } = await import("../../src/commands/send");
const { claim, release } = await import("../../src/commands/work");
const { report } = await import("../../src/commands/report");
const { override } = await import("../../src/commands/decide");
const { runChecks } = await import("../../src/commands/check");
const { runDetails, runRows } = await import("../../src/views/runs");

const over = summary({
  run: "tasks/over",
  title: "Design Loans",
  status: "complete",
  statusReason: "the run is complete",
});
const name = { root: ROOT, run: "tasks/over" };
const request = vi.fn();
const sessionWith = (runs: Summary[]) =>
  ({
    store: { state: stateWith(runs) },
    client: { request, loadRun: () => Promise.resolve(undefined) },
    evaluations: { get: () => Promise.resolve(null) },
  }) as never;

beforeEach(() => {
  Object.assign(editor, { messages: [], executed: [], pressed: undefined, offered: [], file: undefined });
  request.mockClear();
});

test.each([
  ["report", report],
  ["copy prompt", copyPrompt],
  ["claim", claim],
  ["release", release],
  ["override", override],
  ["run checks", runChecks],
])("%s in a run that is over says how it ended, and leads to its page", async (_, act) => {
  editor.pressed = "Open Run Page";
  await act(sessionWith([over]), name);
  expect(editor.messages).toEqual(["Design Loans is over: it is complete."]);
  await vi.waitFor(() => expect(editor.executed).toEqual([["phasekeeper.openPage", name]]));
  expect(request).not.toHaveBeenCalled();
});

test("what became of a run is said where the server says it", async () => {
  const failed = summary({ ...over, status: "failed", statusReason: "the budget is spent" });
  await report(sessionWith([failed]), name);
  expect(editor.messages).toEqual(["Design Loans is over: it failed, the budget is spent."]);
});

test("a run that is gone is not passed over without a word", async () => {
  await report(sessionWith([over]), { root: ROOT, run: "tasks/gone" });
  expect(editor.messages).toEqual(["This run is not there any more."]);
});

test("of a file of a run that is over no other run is taken unasked", async () => {
  editor.file = `${ROOT}/tasks/over/plan.md`;
  const going = summary();
  expect(await chooseRun(sessionWith([over, going]), {}, "Which run?")).toBe(going);
  expect(editor.offered.map(({ label }) => label)).toEqual(["Charge a fee"]);
  expect(await chooseRun(sessionWith([over]), {}, "Which run?")).toBeUndefined();
  expect(editor.messages).toEqual(["Design Loans is over: it is complete. No other run fits."]);
});

test("a run that is over has no menu that would go on with it", () => {
  const contextOf = (run: Summary): string => {
    const rows = runRows(stateWith([run]), () => Promise.resolve(null));
    return (rows[0]!.context ? rows : (rows[0]!.children as typeof rows))[0]!.context!;
  };
  const offered = (context: string): string[] => [
    ...new Set(
      manifest.contributes.menus["view/item/context"]
        .filter(({ when }) => new RegExp(/viewItem =~ \/(.*?)\/(?: |$)/.exec(when)![1]!).test(context))
        .map(({ command }) => command.replace("phasekeeper.", "")),
    ),
  ];
  expect(offered(contextOf(over))).toEqual(["openPage", "showGraph", "showTimeline", "explainGate"]);
  const broken = summary({ ...over, findingCounts: { error: 1, warning: 0, information: 0 } });
  expect(offered(contextOf(broken))).toEqual(["openPage", "showGraph", "showTimeline", "explainGate", "rollBack"]);
  expect(offered(contextOf(summary())).sort()).toEqual(
    [...offered(contextOf(broken)), "sendToAssistant", "copyPrompt", "reportOutcome", "overrideGate"].sort(),
  );
});

test("a task and a gate of a run that is over are looked at, and no more", () => {
  const checks = [
    {
      name: "unit",
      result: "passed",
      reason: "",
      phrase: "",
      measuredAt: null,
      changed: [],
      path: "c",
      line: 1,
      column: 1,
    },
  ] as const;
  const stages = [
    { id: "1", title: "", done: 0, total: 1, line: 1, tasks: [task({ state: "claimed", claimedBy: "ann" })] },
  ];
  const of = (status: Summary["status"]) =>
    runDetails(
      evaluation({
        status,
        plan: { path: "plan.md", whole: true, stages },
        phases: [phase({ title: "Test", state: "done" })],
        gates: [gate({ checks: [...checks] })],
      }),
    );
  const contexts = (status: Summary["status"]) =>
    JSON.stringify(of(status)).match(/"context":"[^"]*(task|gate)[^"]*"/g);
  expect(contexts("active")).toEqual(['"context":"place task-claimed task-due"', '"context":"gate checked"']);
  expect(contexts("complete")).toEqual(['"context":"gate"']);
});

test("a run that a person stopped can be taken up again, and no other one that is over", async () => {
  const stopped = summary({ ...over, status: "failed", suggestion: suggestion({ kind: "stop", overrideTo: "plan" }) });
  expect(canOverride(stopped)).toBe(true);
  expect(canOverride({ ...over, suggestion: suggestion({ overrideTo: null }) })).toBe(false);
  request.mockReset().mockResolvedValue(null);
  await override(sessionWith([stopped]), name);
  expect(request).toHaveBeenCalledWith("phasekeeper/graph", name);
});
