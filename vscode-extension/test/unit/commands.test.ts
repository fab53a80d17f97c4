import { beforeEach, expect, test, vi } from "vitest";
import { ROOT, evaluation, known, question, summary } from "./fixtures";

type Act = (argument?: unknown) => Promise<void>;
const editor = vi.hoisted(() => ({
  trusted: false,
  commands: new Map<string, (argument?: unknown) => Promise<void>>(),
  executed: [] as string[],
  warned: [] as string[],
  told: [] as string[],
  pressed: undefined as string | undefined,
  dirty: false,
}));
vi.mock("vscode", () => ({
  commands: {
    registerCommand: (name: string, act: Act) => editor.commands.set(name, act),
    executeCommand: (name: string) => Promise.resolve(editor.executed.push(name)),
  },
  window: {
    showWarningMessage: (said: string) => (editor.warned.push(said), Promise.resolve(editor.pressed)),
    showErrorMessage: (said: string) => (editor.told.push(said), Promise.resolve(undefined)),
    showInformationMessage: (said: string) => (editor.told.push(said), Promise.resolve(undefined)),
  },
  workspace: {
    get isTrusted() {
      return editor.trusted;
    },
    get textDocuments() {
      return [{ isDirty: editor.dirty, uri: { scheme: "file" } }];
    },
    saveAll: () => Promise.resolve(!(editor.dirty = false)),
  },
}));

const { registerCommands } = await import("../../src/commands");
const manifest = (await import("../../package.json")).default;
const request = vi.fn(() => Promise.reject(new Error("the server is away")));
const session = {
  store: { now: known([summary({ questions: [question()] })]) },
  client: { request },
  output: { error: vi.fn() },
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
];

beforeEach(() => {
  Object.assign(editor, { trusted: false, executed: [], warned: [], told: [], pressed: undefined, dirty: false });
  request.mockClear();
});

test("every command of the manifest is there", () => {
  expect([...editor.commands.keys()].sort()).toEqual(
    manifest.contributes.commands.map(({ command }) => command).sort(),
  );
});

test.each(WRITING)("%s asks the server for nothing without trust, and says why", async (name) => {
  await editor.commands.get(`phasekeeper.${name}`)!();
  expect(editor.warned).toEqual([expect.stringContaining("not trusted")]);
  expect(request).not.toHaveBeenCalled();
  expect(editor.executed).toEqual([]);
});

test("from there the trust of the workspace is managed", async () => {
  editor.pressed = "Manage Workspace Trust";
  await editor.commands.get("phasekeeper.answerQuestion")!();
  expect(editor.executed).toEqual(["workbench.trust.manage"]);
});

test("nothing is decided on what only an editor holds: it is saved first, and the run asked for again", async () => {
  editor.trusted = true;
  editor.dirty = true;
  editor.pressed = "Save All";
  const answers = [
    evaluation({ revision: "r1+unsaved" }),
    evaluation({ revision: "r1+unsaved" }),
    evaluation({ revision: "r2", questions: [] }),
  ];
  request.mockImplementation(() => Promise.resolve(answers.shift()) as never);
  await editor.commands.get("phasekeeper.answerQuestion")!();
  request.mockImplementation(() => Promise.reject(new Error("the server is away")));
  expect(editor.warned).toEqual([expect.stringContaining("unsaved changes")]);
  expect(request).toHaveBeenCalledTimes(3);
  expect(editor.told).toEqual(["This question is not open any more."]);
});

test("who does not save decides nothing", async () => {
  editor.trusted = true;
  editor.dirty = true;
  request.mockImplementationOnce(() => Promise.resolve(evaluation({ revision: "r1+unsaved" })) as never);
  await editor.commands.get("phasekeeper.answerQuestion")!();
  expect(request).toHaveBeenCalledOnce();
  expect(editor.told).toEqual([]);
});

test("with trust the question is asked for, and what goes wrong is told", async () => {
  editor.trusted = true;
  await editor.commands.get("phasekeeper.answerQuestion")!();
  expect(request).toHaveBeenCalledWith("phasekeeper/run", { root: ROOT, run: "tasks/late-fees" });
  expect(editor.warned).toEqual([]);
  expect(editor.told).toEqual(["the server is away"]);
});
