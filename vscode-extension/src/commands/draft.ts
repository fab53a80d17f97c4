/** What a report comes with besides an outcome and a sentence, filled in in an editor of its own. */

import * as vscode from "vscode";
import { keyOf, type RunName, type Suggestion } from "../protocol";
import { escapeLabel, messageOf } from "../sanitize";

type Reportable = Suggestion["reports"][number];

/** Documents by run, step and what they held at first: a report that is refused finds its text again. */
const drafts = new Map<string, vscode.TextDocument>();

/** The text that a report of a step has to come with; undefined when a person gave up. */
export const fillInForm = (run: RunName, { step, form }: Reportable): Promise<string | undefined> =>
  fillIn(run, step, "markdown", form ?? "", "what was looked at, and what it showed.");

const OF_DATA: ReadonlySet<string> = new Set(["data", "named", "holds"]);

/** Whether a report of a step with an outcome is refused without data. */
export const needsData = ({ data, brings }: Reportable, outcome: string): boolean =>
  data !== null && brings.some(({ kind, outcomes }) => OF_DATA.has(kind) && outcomes.includes(outcome));

/** The data of a report, from the example of what it carries; undefined when a person gave up or it is no object. */
export async function fillInData(run: RunName, due: Reportable): Promise<Record<string, unknown> | undefined> {
  const needs = due.brings.filter(({ kind }) => OF_DATA.has(kind)).map(({ phrase }) => escapeLabel(phrase, 300));
  const example = `${JSON.stringify(due.data, null, 2)}\n`;
  const text = await fillIn(run, due.step, "json", example, `${needs.join("; ")}.`);
  if (text === undefined) return undefined;
  try {
    const data: unknown = JSON.parse(text);
    if (typeof data === "object" && data !== null && !Array.isArray(data)) return data as Record<string, unknown>;
    throw new Error("it has to be an object, in braces");
  } catch (error) {
    void vscode.window.showErrorMessage(`Not recorded: the data is no JSON object: ${escapeLabel(messageOf(error))}`);
    return undefined;
  }
}

/** A later report of the step begins anew. */
export function forgetDrafts(run: RunName, step: string): void {
  for (const key of drafts.keys()) if (key.startsWith(keyPrefix(run, step))) drafts.delete(key);
}

const keyPrefix = (run: RunName, step: string): string => `${keyOf(run)}\n${step}\n`;

async function fillIn(
  run: RunName,
  step: string,
  language: string,
  content: string,
  what: string,
): Promise<string | undefined> {
  const key = keyPrefix(run, step) + content;
  const held = drafts.get(key);
  const document = held && !held.isClosed ? held : await vscode.workspace.openTextDocument({ language, content });
  drafts.set(key, document);
  await vscode.window.showTextDocument(document, { preview: false });
  const asked = `Fill in the report of ${escapeLabel(step)}: ${what}`;
  const pressed = await vscode.window.showInformationMessage(asked, "Report");
  return pressed && document.getText();
}
