/** Commands that show something and write nothing. */

import * as vscode from "vscode";
import { gateWord } from "../gate";
import { gateTitle, stepTitle, taskTitles } from "../names";
import { nameOf, type Evaluation, type Gate, type Task } from "../protocol";
import { escapeLabel, utf16Offset } from "../sanitize";
import type { Session } from "../session";
import { onlyWaits } from "../views/next";
import { failedTasks, taskLabel } from "../views/plan";
import { evidenceLabel, placeLabel, placeOf, type Place, type Subject } from "../views/row";
import { criterionLabel, GATE } from "../views/runs";
import type { Tree } from "../views/tree";
import { choose, chooseRun, chooseRunWith, isSameRun } from "./pick";

/**
 * Open a file at the place that was read from, or an editor for one that is still to be written, with its example. A
 * look offers no other file to write: one that is not there is only named, and made when a person says so. A record of
 * a journal is shown in words.
 */
export async function openPlace(subject: Partial<Subject>): Promise<void> {
  const { place, example } = subject;
  const uri = place && uriOf(place);
  if (!place || !uri) return;
  if (isRecord(place)) {
    await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(recordUri(uri, place.line)));
    return;
  }
  const exists = await isThere(uri);
  if (!exists && example !== undefined) return openToWrite(place, example);
  if (!exists && (await vscode.window.showInformationMessage(absence(place), CREATE)) !== CREATE) return;
  const document = await vscode.workspace.openTextDocument(exists ? uri : uri.with({ scheme: "untitled" }));
  await vscode.window.showTextDocument(document, { selection: exists ? rangeOf(document, place) : undefined });
}

const isThere = (uri: vscode.Uri): Promise<boolean> =>
  Promise.resolve(vscode.workspace.fs.stat(uri)).then(
    () => true,
    () => false,
  );

const absence = ({ path }: Place): string => `${escapeLabel(path, 400)} is not there.`;

/** Show the report that failed a task in a peek beside the task's line, at the words that say so. */
export async function peekFailure(session: Session, subject: Partial<Subject>): Promise<void> {
  const hasFailed = ({ plan }: Evaluation): boolean => failedTasks(plan).length > 0;
  const title = "The failures of which run?";
  const named = await chooseRunWith(session, subject, title, hasFailed, undefined, () => true);
  const run = named && (await session.evaluations.get(named));
  const task = run && (await chooseFailed(run, subject.task));
  const place = task && placeOf(run.root, task.failedBy!);
  const [plan, report] = place ? [uriOf({ ...place, path: run.plan!.path }), uriOf(place)] : [];
  if (!plan || !report) return;
  if (!(await isThere(report))) return void vscode.window.showInformationMessage(absence(place!));
  const shown = isRecord(place!) ? recordUri(report, place.line) : report;
  const document = await vscode.workspace.openTextDocument(shown);
  const range = (isRecord(place!) ? undefined : rangeOf(document, place!)) ?? new vscode.Range(0, 0, 0, 0);
  const editor = await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(plan));
  const line = editor.document.validatePosition(new vscode.Position(task!.line - 1, 0));
  editor.selection = new vscode.Selection(line, line);
  const locations = [new vscode.Location(shown, range)];
  await vscode.commands.executeCommand("editor.action.peekLocations", plan, line, locations, "peek");
}

function chooseFailed(run: Evaluation, id: string | undefined): Promise<Task | undefined> {
  const tasks = failedTasks(run.plan);
  const named = tasks.find((task) => task.id === id);
  if (named || tasks.length === 1) return Promise.resolve(named ?? tasks[0]);
  const items = tasks.map((task) => ({
    label: `$(error) ${escapeLabel(task.title || task.id)}`,
    description: escapeLabel(task.id),
    detail: escapeLabel(taskLabel(task, taskTitles(run.plan?.stages))),
    value: task,
  }));
  return choose(items, "The failure of which task?", "No task of this run has failed.");
}

/** An editor for a file that is still to be written, under its path and with an example in it; nothing is saved. */
export async function openToWrite(place: Place, example: string): Promise<void> {
  const uri = uriOf(place)?.with({ scheme: "untitled" });
  if (!uri) return;
  const document = await vscode.workspace.openTextDocument(uri);
  await vscode.window.showTextDocument(document);
  const edit = new vscode.WorkspaceEdit();
  edit.insert(uri, new vscode.Position(0, 0), example);
  if (document.getText() === "") await vscode.workspace.applyEdit(edit);
}

const CREATE = "Create";
const JOURNAL = ".phasekeeper/journal.jsonl";
const RECORD_SCHEME = "phasekeeper-record";

/** One record of a journal as a document that cannot be written; what has no file of its own is read there. */
const recordUri = (journal: vscode.Uri, line: number): vscode.Uri =>
  journal.with({ scheme: RECORD_SCHEME, path: `${journal.path}/Record ${line}`, query: String(line) });

export function registerRecords(): vscode.Disposable {
  return vscode.workspace.registerTextDocumentContentProvider(RECORD_SCHEME, {
    async provideTextDocumentContent(uri) {
      const path = uri.path.slice(0, uri.path.lastIndexOf("/"));
      const bytes = await vscode.workspace.fs.readFile(vscode.Uri.file(path));
      return recordText(new TextDecoder().decode(bytes).split("\n")[Number(uri.query) - 1] ?? "");
    },
  });
}

/** A line of a journal in words, a field a line, without what is empty or only proves it. */
export function recordText(line: string): string {
  try {
    const fields = Object.entries(JSON.parse(line) as Record<string, unknown>);
    const shown = fields.filter(([name, value]) => !["prev", "mac", "about", "files"].includes(name) && isSaid(value));
    return shown
      .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}\n`)
      .join("");
  } catch {
    return `${line}\n`;
  }
}

/** True for a place that is one line of a journal. */
const isRecord = (place: Place): place is Place & { line: number } =>
  place.line !== null && place.path.endsWith(`/${JOURNAL}`);

const isSaid = (value: unknown): boolean =>
  value !== null && value !== "" && value !== 0 && !(Array.isArray(value) && value.length === 0);

/** The file of a place; undefined for a path that leads out of its root. */
function uriOf(place: Place): vscode.Uri | undefined {
  const segments = place.path.split("/");
  if (place.path.startsWith("/") || segments.includes("..")) return undefined;
  return vscode.Uri.joinPath(vscode.Uri.file(place.root), ...segments);
}

function rangeOf(document: vscode.TextDocument, place: Place): vscode.Range | undefined {
  if (place.line === null) return undefined;
  const line = Math.min(place.line - 1, document.lineCount - 1);
  const column = utf16Offset(document.lineAt(line).text, place.column ?? 1);
  return new vscode.Range(line, column, line, column);
}

/** A run that only waits for an answer has its row among what waits. */
export async function showNext(
  session: Session,
  trees: Readonly<Record<string, Tree>>,
  subject: Partial<Subject>,
): Promise<void> {
  const run = await chooseRun(session, subject, "The next step of which run?");
  if (run)
    await trees[onlyWaits(run) ? "waiting" : "next"]!.reveal(
      (row) => row.subject !== undefined && isSameRun(run, row.subject),
    );
}

type Line = vscode.QuickPickItem & { place?: Place };

/** A gate with its criteria and their evidence, as a list; choosing a line opens what it was read from. */
export async function explainGate(session: Session, subject: Partial<Subject>): Promise<void> {
  const named = await chooseRun(session, subject, "Explain a gate of which run?", undefined, () => true);
  const run = named && (await session.client.request("phasekeeper/run", nameOf(named)));
  const gate = run && (await chooseGate(run, subject.gate));
  if (!gate) return;
  const picked = await vscode.window.showQuickPick(gateLines(run, gate), {
    title: `${escapeLabel(gateTitle(gate))}: ${gateWord(run, gate)}`,
    placeHolder: gate.status === "passed" ? "Why it is open" : "What it takes to pass",
  });
  if (picked?.place) await openPlace({ place: picked.place });
}

function chooseGate(run: Evaluation, id: string | undefined): Promise<Gate | undefined> {
  const named = run.gates.find((gate) => gate.id === id);
  if (named) return Promise.resolve(named);
  const rank = (gate: Gate): number => ["failed", "open", "waived", "passed", "not-reached"].indexOf(gate.status);
  const items = [...run.gates]
    .sort((one, other) => rank(one) - rank(other))
    .map((gate) => ({
      label: `$(${GATE[gate.status].name}) ${escapeLabel(gateTitle(gate))}`,
      description: gateWord(run, gate),
      detail: escapeLabel(`after “${stepTitle(gate.after, run.phases)}”`),
      value: gate,
    }));
  return choose(items, "Which gate?", "This run has no gates.");
}

function gateLines(run: Evaluation, gate: Gate): Line[] {
  const separator = (label: string): Line => ({ label, kind: vscode.QuickPickItemKind.Separator });
  const criteria = gate.criteria.flatMap((criterion): Line[] => {
    const mark = criterion.met === null ? "$(question)" : criterion.met ? "$(check)" : "$(close)";
    const evidence = criterion.evidence.map((entry): Line => {
      const place = placeOf(run.root, entry);
      return {
        label: `      ${escapeLabel(evidenceLabel(entry))}`,
        description: place && escapeLabel(placeLabel(place)),
        place,
      };
    });
    return [
      {
        label: `${mark} ${escapeLabel(criterion.text)}`,
        description: criterionLabel(criterion),
        place: evidence[0]?.place,
      },
      ...evidence,
    ];
  });
  const ways = [
    ...gate.allowed.map((action): Line => ({
      label: `$(arrow-right) ${escapeLabel(stepTitle(action, run.phases))}`,
      description: "allowed",
    })),
    ...gate.forbidden.map((entry): Line => ({
      label: `$(circle-slash) ${escapeLabel(stepTitle(entry.action, run.phases))}`,
      description: `forbidden: ${escapeLabel(entry.because)}`,
    })),
  ];
  return [separator("Criteria"), ...criteria, ...(ways.length ? [separator("Now"), ...ways] : [])];
}
