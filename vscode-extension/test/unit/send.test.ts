import { beforeEach, expect, test, vi } from "vitest";
import { ROOT, stateWith, suggestion, summary } from "./fixtures";

interface Terminal {
  name: string;
  creationOptions: { shellPath?: string };
  exitStatus?: { code: number };
  shown: boolean;
  sent: (readonly [string, boolean])[];
}
type Listener = (event: unknown) => void;
interface Editor {
  terminals: Terminal[];
  active: Terminal | undefined;
  known: string[];
  models: object[];
  executed: unknown[];
  copied: string[];
  said: string[];
  offered: string[];
  pick: number;
  readonly on: Record<string, Listener>;
}
const editor = vi.hoisted((): Editor => ({
  terminals: [],
  active: undefined,
  known: [],
  models: [],
  executed: [],
  copied: [],
  said: [],
  offered: [],
  pick: 0,
  on: {},
}));
vi.mock("vscode", () => {
  const event = (name: string) => (listener: Listener) => ((editor.on[name] = listener), { dispose: () => undefined });
  return {
    commands: {
      getCommands: () => Promise.resolve(editor.known),
      executeCommand: (...words: unknown[]) => Promise.resolve(editor.executed.push(words)),
    },
    env: { clipboard: { writeText: (text: string) => Promise.resolve(editor.copied.push(text)) } },
    lm: { selectChatModels: () => Promise.resolve(editor.models) },
    window: {
      get terminals() {
        return editor.terminals;
      },
      get activeTerminal() {
        return editor.active;
      },
      onDidStartTerminalShellExecution: event("start"),
      onDidEndTerminalShellExecution: event("end"),
      onDidCloseTerminal: event("close"),
      setStatusBarMessage: (text: string) => editor.said.push(text),
      showQuickPick: (items: { label: string }[]) => {
        editor.offered = items.map(({ label }) => label);
        return Promise.resolve(items[editor.pick]);
      },
    },
  };
});

const { AssistantTerminals, assistantOf, sendToAssistant } = await import("../../src/commands/send");
const session = { store: { state: stateWith([summary()]) } };
const run = { root: ROOT, run: "tasks/late-fees" };
let terminals: InstanceType<typeof AssistantTerminals>;

function terminal(name: string, shellPath?: string): Terminal {
  const made: Terminal = { name, creationOptions: shellPath ? { shellPath } : {}, shown: false, sent: [] };
  Object.assign(made, {
    show: () => (made.shown = true),
    sendText: (text: string, enter: boolean) => made.sent.push([text, enter]),
  });
  editor.terminals.push(made);
  return made;
}

const tell = (name: string, event: unknown): void => editor.on[name]!(event);
const starts = (where: Terminal, line: string): void =>
  tell("start", { terminal: where, execution: { commandLine: { value: line } } });
const send = (): Promise<void> => sendToAssistant(session as never, terminals, run);

beforeEach(() => {
  const nothing = { terminals: [], known: [], models: [], executed: [], copied: [], said: [], offered: [], pick: 0 };
  Object.assign(editor, nothing, { active: undefined });
  terminals = new AssistantTerminals();
});

test.each([
  ["claude", "Claude Code"],
  ["  claude --continue", "Claude Code"],
  ["/usr/local/bin/codex resume", "Codex"],
  ["C:\\tools\\codex.cmd", "Codex"],
  ["DEBUG=1 gemini -m pro", "Gemini CLI"],
  ["npx -y @google/gemini-cli@latest", "Gemini CLI"],
  ["npx @anthropic-ai/claude-code", "Claude Code"],
  ["'copilot'", "Copilot CLI"],
  ["vim claude.md", undefined],
  ["cd codex", undefined],
  ["claudette", undefined],
  ["", undefined],
])("the command line %j starts %s", (line, name) => {
  expect(assistantOf(line)).toBe(name);
});

test("the step is typed in one line where an assistant runs, and sent by the person", async () => {
  const where = terminal("bash");
  starts(where, "claude");
  await send();
  expect(where.shown).toBe(true);
  expect(where.sent).toEqual([[expect.stringMatching(/^Continue the run "tasks\/late-fees" .+\.$/), false]]);
  expect(where.sent[0]![0]).not.toMatch(/\p{Cc}/u);
  expect(editor.said).toEqual([expect.stringContaining("press Enter there")]);
  expect(editor.copied).toEqual([]);
});

test("no text of a file presses a key in a terminal", async () => {
  const where = terminal("bash");
  starts(where, "claude");
  const hostile = "codegen\r\u0003rm -rf ~\r\u001b[201~\u2028";
  const evil = summary({ workflow: hostile, suggestion: suggestion({ suggestedNext: hostile, reports: [] }) });
  await sendToAssistant({ store: { state: stateWith([evil]) } } as never, terminals, run);
  expect(where.sent).toHaveLength(1);
  expect(where.sent[0]![0]).toContain("rm -rf ~");
  expect(where.sent[0]![0]).not.toMatch(/[\p{Cc}\u2028]/u);
});

test.each(["end", "close"])("a terminal whose assistant came to its %s is none", async (how) => {
  const where = terminal("bash");
  starts(where, "codex");
  tell(how, how === "end" ? { terminal: where } : where);
  await send();
  expect(where.sent).toEqual([]);
  expect(editor.copied).toHaveLength(1);
  expect(editor.said).toEqual([expect.stringContaining("No assistant runs in a terminal here.")]);
});

test("a terminal that was opened for an assistant needs no shell to tell of it, until the assistant ended", async () => {
  const where = terminal("anything", "/opt/bin/gemini");
  terminal("Codex").exitStatus = { code: 0 };
  await send();
  expect(where.sent).toHaveLength(1);
});

test("of several the person chooses, the active one first, and the clipboard is the last", async () => {
  const [first, second] = [terminal("bash"), terminal("zsh")];
  starts(first, "claude");
  starts(second, "codex");
  editor.active = second;
  editor.pick = 1;
  await send();
  expect(editor.offered).toEqual(["$(terminal) Codex", "$(terminal) Claude Code", "$(copy) Clipboard"]);
  expect([first.sent.length, second.sent.length]).toEqual([1, 0]);
});

test("a chat without a model is none", async () => {
  editor.known = ["workbench.action.chat.open"];
  await send();
  expect([editor.executed, editor.copied.length]).toEqual([[], 1]);
});

test("in a chat that answers the step waits to be sent", async () => {
  Object.assign(editor, { known: ["workbench.action.chat.open"], models: [{}] });
  await send();
  const query: unknown = expect.stringContaining("Continue the run");
  expect(editor.executed).toEqual([["workbench.action.chat.open", { query, isPartialQuery: true }]]);
  expect(editor.copied).toEqual([]);
});

test("who gives up sends nothing", async () => {
  for (const name of ["a", "b"]) starts(terminal(name), "claude");
  editor.pick = 9;
  await send();
  expect([editor.copied, editor.said]).toEqual([[], []]);
});
