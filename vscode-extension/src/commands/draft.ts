/**
 * What a report comes with besides an outcome and a sentence, filled in in an editor of its own. A lens above its first
 * line and a message hand it in, whichever is pressed first.
 */

import * as vscode from "vscode";
import { keyOf, type Reportable, type RunName } from "../protocol";
import { escapeLabel, messageOf, oneLine } from "../sanitize";
import type { Subject } from "../views/row";

/** A draft that somebody has to hand in or give up. */
interface Pending {
  readonly document: vscode.TextDocument;
  readonly step: string;
  readonly settle: (text: string | undefined) => void;
}

/** Documents by run, step and what they held at first: a report that is refused finds its text again. */
const drafts = new Map<string, vscode.TextDocument>();
/** By the address of the document. */
const pending = new Map<string, Pending>();
let refreshLenses: () => void = () => undefined;

/** The text that a report of a step has to come with; undefined when a person gave up. */
export const fillInForm = (run: RunName, { step, form }: Reportable, again = false): Promise<string | undefined> =>
  fillIn(run, step, { language: "markdown", content: form ?? "" }, again || "what was looked at, and what it showed.");

const OF_DATA: ReadonlySet<string> = new Set(["data", "named", "holds"]);

/** Whether a report of a step with an outcome is refused without data. */
export const needsData = ({ data, brings }: Reportable, outcome: string): boolean =>
  data !== null && brings.some(({ kind, outcomes }) => OF_DATA.has(kind) && outcomes.includes(outcome));

/** The data of a report, from the example of what it carries; undefined when a person gave up. */
export async function fillInData(
  run: RunName,
  due: Reportable,
  again = false,
): Promise<Record<string, unknown> | undefined> {
  const needs = due.brings.filter(({ kind }) => OF_DATA.has(kind)).map(({ phrase }) => escapeLabel(phrase, 300));
  const content = `${JSON.stringify(due.data, null, 2)}\n`;
  for (let isRepeated = again; ; isRepeated = true) {
    const text = await fillIn(run, due.step, { language: "json", content }, isRepeated || `${needs.join("; ")}.`);
    if (text === undefined) return undefined;
    try {
      const data: unknown = JSON.parse(text);
      if (typeof data === "object" && data !== null && !Array.isArray(data)) return data as Record<string, unknown>;
      throw new Error("it has to be an object, in braces");
    } catch (error) {
      void showInvalid(run, due.step, content, `Not recorded: the data is no JSON object: ${messageOf(error)}`);
    }
  }
}

/** Why a draft was not taken, with the way back to it. */
async function showInvalid(run: RunName, step: string, content: string, why: string): Promise<void> {
  if (!(await vscode.window.showErrorMessage(escapeLabel(why, 400), "Show Data"))) return;
  const document = drafts.get(keyPrefix(run, step) + content);
  if (document && !document.isClosed) await show(document);
}

/** The report of the step is recorded: its drafts go without a question, and a later one begins anew. */
export async function closeDrafts(run: RunName, step: string): Promise<void> {
  for (const [key, document] of [...drafts]) {
    if (!key.startsWith(keyPrefix(run, step))) continue;
    drafts.delete(key);
    await discard(document);
  }
}

/** The lens of a draft: its text is what the report comes with. */
export function handInDraft({ draft = "" }: Partial<Subject>): void {
  const { document, settle } = pending.get(draft) ?? {};
  if (document) settle!(document.getText());
}

/** The lens of a draft: nothing is reported. What was written is thrown away only when a person says so. */
export async function giveUpDraft({ draft = "" }: Partial<Subject>): Promise<void> {
  const { document, settle } = pending.get(draft) ?? {};
  if (!document) return;
  settle!(undefined);
  const [key = ""] = [...drafts].find(([, each]) => each === document) ?? [];
  if (key.endsWith(`\n${document.getText()}`)) return discard(document);
  await show(document);
  await vscode.commands.executeCommand("workbench.action.closeActiveEditor");
}

export function registerDrafts(): vscode.Disposable[] {
  const changed = new vscode.EventEmitter<void>();
  refreshLenses = () => changed.fire();
  return [
    changed,
    vscode.languages.registerCodeLensProvider(
      { scheme: "untitled" },
      { onDidChangeCodeLenses: changed.event, provideCodeLenses: lensesOf },
    ),
    vscode.workspace.onDidCloseTextDocument((document) => {
      const entry = pending.get(document.uri.toString());
      if (!entry) return;
      entry.settle(undefined);
      void vscode.window.showInformationMessage(
        `Nothing was reported of ${escapeLabel(entry.step)}: its text was closed.`,
      );
    }),
  ];
}

function lensesOf({ uri }: vscode.TextDocument): vscode.CodeLens[] {
  const draft = uri.toString();
  const entry = pending.get(draft);
  if (!entry) return [];
  const lens = (title: string, command: string): vscode.CodeLens =>
    new vscode.CodeLens(new vscode.Range(0, 0, 0, 0), { title, command, arguments: [{ draft }] });
  return [
    lens(`Report ${oneLine(entry.step).replaceAll("$(", "$\u200b(")}`, "phasekeeper.handInDraft"),
    lens("Give Up", "phasekeeper.giveUpDraft"),
  ];
}

const keyPrefix = (run: RunName, step: string): string => `${keyOf(run)}\n${step}\n`;

/** `what` is to be filled in, said in a message; true where it was said before. */
async function fillIn(
  run: RunName,
  step: string,
  empty: { readonly language: string; readonly content: string },
  what: string | true,
): Promise<string | undefined> {
  const key = keyPrefix(run, step) + empty.content;
  const held = drafts.get(key);
  const document = held && !held.isClosed ? held : await vscode.workspace.openTextDocument(empty);
  drafts.set(key, document);
  const text = handedIn(document, step);
  await show(document);
  if (what !== true) void askFor(document, `Fill in the report of ${escapeLabel(step)}: ${what}`);
  return text;
}

/** The document's text once it is handed in; of two that wait for one document the later has it. */
function handedIn(document: vscode.TextDocument, step: string): Promise<string | undefined> {
  const draft = document.uri.toString();
  pending.get(draft)?.settle(undefined);
  return new Promise((resolve) => {
    const settle = (text: string | undefined): void => {
      pending.delete(draft);
      refreshLenses();
      resolve(text);
    };
    pending.set(draft, { document, step, settle });
    refreshLenses();
  });
}

/** A message that goes by itself gives nothing up: the lens stays. */
async function askFor(document: vscode.TextDocument, asked: string): Promise<void> {
  if (await vscode.window.showInformationMessage(asked, "Report")) handInDraft({ draft: document.uri.toString() });
}

/** Where it is seen, there; else in front. */
function show(document: vscode.TextDocument): Thenable<vscode.TextEditor> {
  const seen = vscode.window.visibleTextEditors.find((editor) => editor.document === document);
  return vscode.window.showTextDocument(document, { preview: false, viewColumn: seen?.viewColumn });
}

async function discard(document: vscode.TextDocument): Promise<void> {
  if (document.isClosed) return;
  await show(document);
  await vscode.commands.executeCommand("workbench.action.revertAndCloseActiveEditor");
}
