/** What came of a command: a word in the status bar, or why it failed, to be read as a whole and with a way on. */

import * as vscode from "vscode";
import { escapeLabel, messageOf } from "../sanitize";
import type { Session } from "../session";
import type { Subject } from "../views/row";
import { inEditor } from "../words";

/** A button below a message: a command of ours, called with its subject. */
export interface Way {
  readonly title: string;
  readonly command: string;
  readonly subject?: Partial<Subject>;
}

const OUTPUT: Way = { title: "Show Output", command: "showOutput" };
/** VS Code cuts what is longer. */
const LONGEST = 900;
/** Errors that stand in the window. */
let open = 0;

/** Show an error. With a button VS Code shows it at its full length, and keeps it until somebody closes it. */
export async function showError(session: Session, message: string, ways: readonly Way[] = []): Promise<void> {
  session.output.warn(message);
  const all = ways.length ? ways : [OUTPUT];
  const titles = all.map(({ title }) => escapeLabel(title, 60));
  const pressed = await askBelow(inEditor(message), ...titles);
  const way = pressed === undefined ? undefined : all[titles.indexOf(pressed)];
  if (way) await vscode.commands.executeCommand(`phasekeeper.${way.command}`, way.subject);
}

/** An error until somebody presses one of its buttons, or closes it; which was pressed. */
export async function askBelow(message: string, ...titles: readonly string[]): Promise<string | undefined> {
  open++;
  try {
    return await vscode.window.showErrorMessage(escapeLabel(message, LONGEST), ...titles);
  } finally {
    open--;
  }
}

/** Errors that stand in the window are seen no more, but by a look at the notifications. */
export async function hideErrors(): Promise<void> {
  if (open > 0) await vscode.commands.executeCommand("notifications.hideToasts");
}

/** Show what a request to record something came to: `outcome`, or why not, with the ways on. Whether it was recorded. */
export async function showOutcome(
  session: Session,
  outcome: string,
  request: Promise<unknown>,
  ways: (error: unknown) => readonly Way[],
): Promise<boolean> {
  try {
    await request;
  } catch (error) {
    const why = messageOf(error).replace(/^(nothing was|not) recorded: /, "");
    void showError(session, `Not recorded: ${why}`, ways(error));
    return false;
  }
  // A refusal that still stands there would say the opposite.
  await hideErrors();
  vscode.window.setStatusBarMessage(`$(check) ${escapeLabel(outcome)}`, 5000);
  return true;
}
