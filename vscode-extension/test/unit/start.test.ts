import { beforeEach, expect, test, vi } from "vitest";
import { ROOT, stateWith, summary } from "./fixtures";

interface Item {
  label: string;
  description: string;
}
const editor = vi.hoisted(() => ({
  offered: [] as Item[],
  picked: "",
  typed: [] as string[],
  prompts: [] as string[],
  executed: [] as unknown[],
  listed: [] as unknown[],
}));
vi.mock("vscode", () => ({
  window: {
    activeTextEditor: undefined,
    showQuickPick: (items: Item[]) => {
      editor.offered = items;
      return Promise.resolve(items.find(({ label }) => label === editor.picked));
    },
    showInputBox: ({ prompt }: { prompt: string }) => {
      editor.prompts.push(prompt);
      return Promise.resolve(editor.typed.shift());
    },
    setStatusBarMessage: () => undefined,
  },
  commands: { executeCommand: (...called: unknown[]) => Promise.resolve(editor.executed.push(called)) },
}));
vi.mock("../../src/server/exec", () => ({
  exec: () => Promise.resolve({ code: 0, stdout: JSON.stringify(editor.listed), stderr: "" }),
}));

const { startRun } = await import("../../src/commands/work");
const listed = (name: string, beginning?: object | null) => ({ name, title: "", at: [`${name}/*`], new: beginning });
const request = vi.fn((...[method]: [string, unknown]) => Promise.resolve(method && { evaluation: summary() }));
const session = {
  store: { state: stateWith([summary()]) },
  client: { server: { python: "python3" }, request, loadAround: () => Promise.resolve() },
  evaluations: { get: () => Promise.resolve(null) },
} as never;

const named = listed("master-plan", { folder: "tasks/{name}", named: true, taken: false });
const only = (taken: boolean) => listed("phase-loop", { folder: ".claude/state", named: false, taken });

beforeEach(() => {
  Object.assign(editor, { offered: [], typed: [], prompts: [], executed: [] });
  request.mockClear();
});

test("a workflow whose runs cannot be started is not offered, and one that has its only run stands last and says so", async () => {
  editor.listed = [listed("component-session", null), only(true), named, listed("of-an-older-server")];
  editor.picked = "phase-loop";
  await startRun(session);
  expect(editor.offered.map(({ label, description }) => [label, description])).toEqual([
    ["master-plan", "tasks/*"],
    ["of-an-older-server", "of-an-older-server/*"],
    ["phase-loop", "there already, and it has one run: .claude/state"],
  ]);
  expect(editor.executed).toEqual([["phasekeeper.revealRun", { root: ROOT, run: ".claude/state" }]]);
  expect(editor.prompts).toEqual([]);
  expect(request).not.toHaveBeenCalled();
});

test("a name is asked for where it tells the folder, and nowhere else", async () => {
  editor.listed = [named, only(false)];
  editor.picked = "master-plan";
  editor.typed = ["late-fees", "Charge a fee"];
  await startRun(session);
  expect(request.mock.calls[0]![1]).toMatchObject({
    workflow: "master-plan",
    name: "late-fees",
    title: "Charge a fee",
  });
  expect(editor.prompts.splice(0)).toHaveLength(2);
  editor.picked = "phase-loop";
  editor.typed = ["Mend the tests"];
  await startRun(session);
  const name = expect.stringMatching(/^phase-loop-\d{4}-\d\d-\d\d$/) as string;
  expect(request.mock.calls[1]![1]).toMatchObject({ workflow: "phase-loop", name, title: "Mend the tests" });
  expect(editor.prompts).toEqual(["What it is about, in a sentence."]);
});
