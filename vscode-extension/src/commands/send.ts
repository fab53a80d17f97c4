/** Hands the next step to an assistant: the editor's chat, a terminal in which one runs, the clipboard else. */

import * as vscode from "vscode";
import { escapeLabel, oneLine } from "../sanitize";
import type { Session } from "../session";
import type { Subject } from "../views/row";
import { prompt } from "../views/prompt";
import { chooseRun } from "./pick";

const ASSISTANTS: readonly (readonly [program: string, name: string])[] = [
  ["claude", "Claude Code"],
  ["codex", "Codex"],
  ["gemini", "Gemini CLI"],
  ["copilot", "Copilot CLI"],
];
const CHAT = "workbench.action.chat.open";
// Variables that are set for one command, and programs that start the one behind them.
const BEFORE = /^(?:[A-Za-z_]\w*=\S*\s+|(?:exec|env|command|npx(?:\s+(?:-y|--yes))?|bunx|pnpx|uvx)\s+)*/;

/** The assistant that a command line starts. */
export function assistantOf(line: string): string | undefined {
  const [word = ""] = line.trim().replace(BEFORE, "").split(/\s+/);
  const program = word
    .replace(/^["']|["']$/g, "")
    .replace(/@[\d.]+\w*$|@latest$/, "")
    .split(/[/\\]/)
    .at(-1)!
    .replace(/\.(?:exe|cmd|ps1)$/i, "")
    .toLowerCase();
  return ASSISTANTS.find(([name]) => program === name || new RegExp(`^${name}-(?:code|cli)$`).test(program))?.[1];
}

/** The terminals in which an assistant runs, as their shells tell, or by the names that they were opened with. */
export class AssistantTerminals implements vscode.Disposable {
  private readonly running = new Map<vscode.Terminal, string>();
  private readonly disposables: vscode.Disposable[];

  constructor() {
    this.disposables = [
      vscode.window.onDidStartTerminalShellExecution(({ terminal, execution }) => {
        const name = assistantOf(execution.commandLine.value);
        if (name) this.running.set(terminal, name);
        else this.running.delete(terminal);
      }),
      vscode.window.onDidEndTerminalShellExecution(({ terminal }) => this.running.delete(terminal)),
      vscode.window.onDidCloseTerminal((terminal) => this.running.delete(terminal)),
    ];
  }

  /** The terminals with an assistant and its name, the active one first. */
  list(): (readonly [vscode.Terminal, string])[] {
    const active = vscode.window.activeTerminal;
    const all = [...vscode.window.terminals].sort((a, b) => Number(b === active) - Number(a === active));
    return all.flatMap((terminal) => {
      const name = this.running.get(terminal) ?? openedAs(terminal);
      return name && terminal.exitStatus === undefined ? [[terminal, name] as const] : [];
    });
  }

  dispose(): void {
    for (const each of this.disposables) each.dispose();
  }
}

/** The assistant that a terminal was opened for, by the program that it runs in place of a shell or by its name. */
function openedAs({ name, creationOptions }: vscode.Terminal): string | undefined {
  const program = "shellPath" in creationOptions ? (creationOptions.shellPath ?? "") : "";
  return assistantOf(program) ?? ASSISTANTS.find((known) => known[1] === name)?.[1];
}

interface Target extends vscode.QuickPickItem {
  readonly send: (text: string) => unknown;
  readonly done: string;
}

export async function sendToAssistant(
  session: Session,
  terminals: AssistantTerminals,
  subject: Partial<Subject>,
): Promise<void> {
  const run = await chooseRun(session, subject, "Send the next step of which run?");
  if (!run) return;
  const targets = [...(await chatTargets()), ...terminals.list().map(([terminal, name]) => inTerminal(terminal, name))];
  const target =
    targets.length === 0
      ? { ...CLIPBOARD, done: `No assistant runs in a terminal here. ${CLIPBOARD.done}` }
      : targets.length === 1
        ? targets[0]
        : await vscode.window.showQuickPick([...targets, CLIPBOARD], { title: "Send the next step to" });
  if (!target) return;
  await target.send(prompt(run));
  vscode.window.setStatusBarMessage(`$(check) ${target.done}`, 8000);
}

/** The editor's chat, where it has a model that answers. */
async function chatTargets(): Promise<Target[]> {
  const known = await vscode.commands.getCommands(true);
  if (!known.includes(CHAT) || (await vscode.lm.selectChatModels()).length === 0) return [];
  const send = (query: string): unknown => vscode.commands.executeCommand(CHAT, { query, isPartialQuery: true });
  return [{ label: "$(comment-discussion) Chat", send, done: "The next step is in the chat; send it there." }];
}

/**
 * Typed as one line of visible characters, and sent by the person: a line break or control character would be a key
 * that is pressed, and where a shell has come back by then, nothing may run in it.
 */
function inTerminal(terminal: vscode.Terminal, name: string): Target {
  const send = (text: string): void => {
    terminal.show();
    terminal.sendText(oneLine(text.trim().replace(/\s*\n\s*/g, " "), Infinity), false);
  };
  const done = `The next step is typed in ${name}; press Enter there.`;
  return { label: `$(terminal) ${name}`, description: escapeLabel(terminal.name), send, done };
}

const CLIPBOARD: Target = {
  label: "$(copy) Clipboard",
  send: (text) => vscode.env.clipboard.writeText(text),
  done: "The prompt is in the clipboard.",
};

export async function copyPrompt(session: Session, subject: Partial<Subject>): Promise<void> {
  const run = await chooseRun(session, subject, "Copy the next step of which run?");
  if (!run) return;
  await CLIPBOARD.send(prompt(run));
  vscode.window.setStatusBarMessage(`$(check) ${CLIPBOARD.done}`, 5000);
}
