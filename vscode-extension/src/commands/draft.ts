/**
 * What a report comes with besides an outcome and a sentence, filled in in an editor of its own. A lens above its first
 * line and a message hand it in, whichever is pressed first. One that VS Code restores in a new window has its lens
 * again, which makes the report anew with its text.
 */

import * as vscode from "vscode";
import { keyOf, type Reportable, type RunName } from "../protocol";
import { escapeLabel, messageOf, oneLine } from "../sanitize";
import type { Subject } from "../views/row";
import { askBelow, hideErrors } from "./outcome";

/** The report that a draft belongs to. */
export interface Drafted extends RunName {
  readonly step: string;
  /** The step's name for a person. */
  readonly title: string;
  readonly outcome: string;
  readonly tasks?: readonly string[];
}

/** A draft that somebody has to hand in or give up. */
interface Pending {
  readonly document: vscode.TextDocument;
  readonly title: string;
  readonly settle: (text: string | undefined) => void;
}

/** A draft as it is kept for the next window; `content` is what it held at first. */
interface Kept extends Drafted {
  readonly draft: string;
  readonly language: string;
  readonly content: string;
}

const KEPT = "phasekeeper.drafts";
let memory: vscode.Memento | undefined;
/** Those of the window before that this one still shows, by the address of the document. */
const restored = new Map<string, Kept>();

/** Documents by run, step and what they held at first: a report that is refused finds its text again. */
const drafts = new Map<string, vscode.TextDocument>();
/** By the address of the document. */
const pending = new Map<string, Pending>();
let refreshLenses: () => void = () => undefined;

/** The text that a report of a step has to come with; undefined when a person gave up. */
export const fillInForm = (about: Drafted, { form }: Reportable, again = false): Promise<string | undefined> =>
  fillIn(about, { language: "markdown", content: form ?? "" }, again || "what was looked at, and what it showed.");

const OF_DATA: ReadonlySet<string> = new Set(["data", "named", "holds"]);

/** Whether a report of a step with an outcome is refused without data. */
export const needsData = ({ data, brings }: Reportable, outcome: string): boolean =>
  data !== null && brings.some(({ kind, outcomes }) => OF_DATA.has(kind) && outcomes.includes(outcome));

/** The data of a report, from the example of what it carries; undefined when a person gave up. */
export async function fillInData(
  about: Drafted,
  due: Reportable,
  again = false,
): Promise<Record<string, unknown> | undefined> {
  const needs = due.brings.filter(({ kind }) => OF_DATA.has(kind)).map(({ phrase }) => escapeLabel(phrase, 300));
  const content = `${JSON.stringify(due.data, null, 2)}\n`;
  for (let isRepeated = again; ; isRepeated = true) {
    const text = await fillIn(about, { language: "json", content }, isRepeated || `${needs.join("; ")}.`);
    if (text === undefined) return undefined;
    try {
      const data: unknown = JSON.parse(text);
      if (typeof data === "object" && data !== null && !Array.isArray(data)) return data as Record<string, unknown>;
      throw new Error("it has to be an object, in braces");
    } catch (error) {
      void showInvalid(about, content, `Not recorded: the data is no JSON object: ${messageOf(error)}`);
    }
  }
}

/** Why a draft was not taken, with the way back to it. */
async function showInvalid(about: Drafted, content: string, why: string): Promise<void> {
  if (!(await askBelow(why, "Show Data"))) return;
  const document = drafts.get(keyPrefix(about, about.step) + content);
  if (document && !document.isClosed) await show(document);
}

/** The report of the step is recorded: its drafts go without a question, and a later one begins anew. */
export async function closeDrafts(run: RunName, step: string): Promise<void> {
  for (const [key, document] of [...drafts]) {
    if (!key.startsWith(keyPrefix(run, step))) continue;
    drafts.delete(key);
    forget(document.uri.toString());
    await discard(document);
  }
}

/** The lens of a draft: its text is what the report comes with. */
export async function handInDraft({ draft = "" }: Partial<Subject>): Promise<void> {
  const { document, settle } = pending.get(draft) ?? {};
  if (document) return settle!(document.getText());
  const kept = restored.get(draft);
  if (!kept) return;
  const { root, run, step, outcome, tasks } = kept;
  const subject: Partial<Subject> = { root, run, step, outcome, tasks: tasks && [...tasks], draft };
  await vscode.commands.executeCommand("phasekeeper.reportOutcome", subject);
}

/** Has the draft of a restored report handed in as it is, once its report is made. */
export async function takeRestored(draft: string | undefined): Promise<void> {
  taken.clear();
  const kept = restored.get(draft ?? "");
  if (!kept) return;
  const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(kept.draft));
  taken.set(`${keyPrefix(kept, kept.step)}${kept.language}`, document);
}

/** Documents whose text is handed in without a question, by run, step and language. */
const taken = new Map<string, vscode.TextDocument>();

/** The lens of a draft: nothing is reported. What was written is thrown away only when a person says so. */
export async function giveUpDraft({ draft = "" }: Partial<Subject>): Promise<void> {
  const entry = pending.get(draft);
  const kept = restored.get(draft);
  const document = entry?.document ?? (kept && (await vscode.workspace.openTextDocument(vscode.Uri.parse(draft))));
  if (!document) return;
  const [key = ""] = [...drafts].find(([, each]) => each === document) ?? [];
  const isAsItWas = (kept?.content ?? key.split("\n").slice(3).join("\n")) === document.getText();
  if (!isAsItWas && !(await agreesToDiscard(entry?.title ?? kept!.title))) return;
  entry?.settle(undefined);
  forget(draft);
  await discard(document);
  // Why it was refused is nothing to be mended any more.
  await hideErrors();
}

async function agreesToDiscard(title: string): Promise<boolean> {
  const message = `Discard the report of ${escapeLabel(title)}? What you wrote in it is lost, and nothing is reported.`;
  return (await vscode.window.showWarningMessage(message, { modal: true }, "Discard")) !== undefined;
}

function forget(draft: string): void {
  restored.delete(draft);
  refreshLenses();
  void memory?.update(
    KEPT,
    memory.get<Kept[]>(KEPT, []).filter((kept) => kept.draft !== draft),
  );
}

/** The drafts of the window before that are open here; others may bear their names by now. */
function restore(state: vscode.Memento): void {
  memory = state;
  const open = new Set(
    vscode.window.tabGroups.all
      .flatMap(({ tabs }) => tabs)
      .map(({ input }) => (input instanceof vscode.TabInputText ? input.uri.toString() : "")),
  );
  const kept = state.get<Kept[]>(KEPT, []).filter(({ draft }) => open.has(draft));
  for (const each of kept) restored.set(each.draft, each);
  void state.update(KEPT, kept);
}

export function registerDrafts(state: vscode.Memento): vscode.Disposable[] {
  restore(state);
  const changed = new vscode.EventEmitter<void>();
  refreshLenses = () => changed.fire();
  return [
    changed,
    vscode.languages.registerCodeLensProvider(
      { scheme: "untitled" },
      { onDidChangeCodeLenses: changed.event, provideCodeLenses: lensesOf },
    ),
    vscode.workspace.onDidCloseTextDocument((document) => {
      const draft = document.uri.toString();
      const entry = pending.get(draft);
      if (entry || restored.has(draft)) forget(draft);
      if (!entry) return;
      entry.settle(undefined);
      void vscode.window.showInformationMessage(
        `Nothing was reported of ${escapeLabel(entry.title)}: its text was closed.`,
      );
    }),
  ];
}

function lensesOf({ uri }: vscode.TextDocument): vscode.CodeLens[] {
  const draft = uri.toString();
  const entry = pending.get(draft) ?? restored.get(draft);
  if (!entry) return [];
  const lens = (title: string, command: string): vscode.CodeLens =>
    new vscode.CodeLens(new vscode.Range(0, 0, 0, 0), { title, command, arguments: [{ draft }] });
  return [
    lens(`Report ${oneLine(entry.title).replaceAll("$(", "$\u200b(")}`, "phasekeeper.handInDraft"),
    lens("Discard Report", "phasekeeper.giveUpDraft"),
  ];
}

const keyPrefix = (run: RunName, step: string): string => `${keyOf(run)}\n${step}\n`;

/** `what` is to be filled in, said in a message; true where it was said before. */
async function fillIn(
  about: Drafted,
  empty: { readonly language: string; readonly content: string },
  what: string | true,
): Promise<string | undefined> {
  const prefix = keyPrefix(about, about.step);
  const key = prefix + empty.content;
  const ready = taken.get(prefix + empty.language);
  const document = ready ?? (await heldOrNew(about, key, empty));
  drafts.set(key, document);
  keep({ ...about, ...empty, draft: document.uri.toString() });
  if (taken.delete(prefix + empty.language)) return document.getText();
  const text = handedIn(document, about.title);
  await show(document);
  if (what !== true) void askFor(document, `Fill in the report of ${escapeLabel(about.title)}: ${what}`);
  return text;
}

/** The draft of a report that was begun, in this window or the one before, else a new one. */
async function heldOrNew(
  about: Drafted,
  key: string,
  empty: { readonly language: string; readonly content: string },
): Promise<vscode.TextDocument> {
  const held = drafts.get(key);
  if (held && !held.isClosed) return held;
  const before = [...restored.values()].find(
    (kept) => keyPrefix(kept, kept.step) === keyPrefix(about, about.step) && kept.language === empty.language,
  );
  if (before) return vscode.workspace.openTextDocument(vscode.Uri.parse(before.draft));
  return vscode.workspace.openTextDocument(empty);
}

function keep(draft: Kept): void {
  restored.delete(draft.draft);
  void memory?.update(KEPT, [...memory.get<Kept[]>(KEPT, []).filter((each) => each.draft !== draft.draft), draft]);
}

/** The document's text once it is handed in; of two that wait for one document the later has it. */
function handedIn(document: vscode.TextDocument, title: string): Promise<string | undefined> {
  const draft = document.uri.toString();
  pending.get(draft)?.settle(undefined);
  return new Promise((resolve) => {
    const settle = (text: string | undefined): void => {
      pending.delete(draft);
      refreshLenses();
      resolve(text);
    };
    pending.set(draft, { document, title, settle });
    refreshLenses();
  });
}

/** A message that goes by itself gives nothing up: the lens stays. */
async function askFor(document: vscode.TextDocument, asked: string): Promise<void> {
  if (await vscode.window.showInformationMessage(asked, "Report"))
    await handInDraft({ draft: document.uri.toString() });
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
