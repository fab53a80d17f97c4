import { beforeEach, expect, test, vi } from "vitest";
import { question, ROOT, stateWith, summary } from "./fixtures";

type Act = (argument?: unknown) => Promise<void>;
const editor = vi.hoisted(() => ({
  trusted: false,
  commands: new Map<string, (argument?: unknown) => Promise<void>>(),
  executed: [] as string[],
  warnings: [] as string[],
  messages: [] as string[],
  pressed: undefined as string | undefined,
  buttons: [] as string[],
}));
vi.mock("vscode", () => ({
  commands: {
    registerCommand: (name: string, act: Act) => editor.commands.set(name, act),
    executeCommand: (name: string) => Promise.resolve(editor.executed.push(name)),
  },
  window: {
    showWarningMessage: (message: string) => (editor.warnings.push(message), Promise.resolve(editor.pressed)),
    showErrorMessage: (message: string, ...buttons: string[]) => (
      editor.messages.push(message),
      (editor.buttons = buttons),
      Promise.resolve(buttons[0])
    ),
    showInformationMessage: (message: string) => (editor.messages.push(message), Promise.resolve(undefined)),
  },
  workspace: {
    get isTrusted() {
      return editor.trusted;
    },
  },
}));

const { registerCommands } = await import("../../src/commands");
const manifest = (await import("../../package.json")).default;
const request = vi.fn(() => Promise.reject(new Error("the server is away")));
const session = {
  store: { state: stateWith([summary({ questions: [question()] })]) },
  client: { request },
  output: { warn: vi.fn(), debug: vi.fn() },
};
registerCommands(session as never, {} as never);

const WRITING = [
  "startRun",
  "approveQuestion",
  "answerQuestion",
  "overrideGate",
  "rollBack",
  "reportOutcome",
  "claimTask",
  "releaseTask",
  "runCheck",
];

beforeEach(() => {
  Object.assign(editor, { trusted: false, executed: [], warnings: [], messages: [], pressed: undefined });
  request.mockClear();
});

test("every command of the manifest is there", () => {
  expect([...editor.commands.keys()].sort()).toEqual(
    manifest.contributes.commands.map(({ command }) => command).sort(),
  );
});

test.each(WRITING)("%s asks the server for nothing without trust, and says why", async (name) => {
  await editor.commands.get(`phasekeeper.${name}`)!();
  expect(editor.warnings).toEqual([expect.stringContaining("not trusted")]);
  expect(request).not.toHaveBeenCalled();
  expect(editor.executed).toEqual([]);
});

test("from there the trust of the workspace is managed", async () => {
  editor.pressed = "Manage Workspace Trust";
  await editor.commands.get("phasekeeper.answerQuestion")!();
  expect(editor.executed).toEqual(["workbench.trust.manage"]);
});

test("with trust the server is asked, and what goes wrong is shown at its full length, with a way on", async () => {
  editor.trusted = true;
  await editor.commands.get("phasekeeper.answerQuestion")!();
  const decision = { root: ROOT, run: "tasks/late-fees", kind: "answer", question: "approval" };
  expect(request).toHaveBeenCalledWith("phasekeeper/prepareDecision", decision);
  expect(editor.warnings).toEqual([]);
  expect(editor.messages).toEqual(["the server is away"]);
  expect(editor.buttons).toEqual(["Show Output"]);
  await vi.waitFor(() => expect(editor.executed).toEqual(["phasekeeper.showOutput"]));
});
