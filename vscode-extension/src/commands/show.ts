/** Commands that show something and write nothing. */

import * as vscode from "vscode";
import type { Evaluation, Gate } from "../protocol";
import type { Session } from "../session";
import { literal, plain, utf16 } from "../sanitize";
import { where, placeOf } from "../views/evidence";
import type { Place, Subject } from "../views/row";
import { shown } from "../sanitize";
import { GATE } from "../views/runs";
import type { Tree } from "../views/tree";
import { choose, chooseRun, sameRun } from "./pick";

/** Open a file at the place that was read from; what is still to be written opens empty, under its path. */
export async function openPlace(subject: Partial<Subject>): Promise<void> {
  const { place } = subject;
  const uri = place && uriOf(place);
  if (!place || !uri) return;
  const there = await vscode.workspace.fs.stat(uri).then(
    () => true,
    () => false,
  );
  const document = await vscode.workspace.openTextDocument(there ? uri : uri.with({ scheme: "untitled" }));
  await vscode.window.showTextDocument(document, { selection: there ? rangeOf(document, place) : undefined });
}

/** The file of a place; undefined for a path that leads out of its root. */
export function uriOf(place: Place): vscode.Uri | undefined {
  const segments = place.path.split("/");
  if (place.path.startsWith("/") || segments.includes("..")) return undefined;
  return vscode.Uri.joinPath(vscode.Uri.file(place.root), ...segments);
}

function rangeOf(document: vscode.TextDocument, place: Place): vscode.Range | undefined {
  if (place.line === null) return undefined;
  const line = Math.min(place.line - 1, document.lineCount - 1);
  const column = utf16(document.lineAt(line).text, place.column ?? 1);
  return new vscode.Range(line, column, line, column);
}

export async function showNext(session: Session, tree: Tree, subject: Partial<Subject>): Promise<void> {
  const run = await chooseRun(session, subject, "The next step of which run?");
  if (run) await tree.reveal((node) => node.subject !== undefined && sameRun(run, node.subject));
}

type Line = vscode.QuickPickItem & { place?: Place };

/** A gate with its criteria and their evidence, as a list; choosing a line opens what it was read from. */
export async function explainGate(session: Session, subject: Partial<Subject>): Promise<void> {
  const named = await chooseRun(session, subject, "Explain a gate of which run?");
  const run = named && (await session.client.request("phasekeeper/run", { root: named.root, run: named.run }));
  const gate = run && (await chooseGate(run, subject.gate));
  if (!gate) return;
  const picked = await vscode.window.showQuickPick(gateLines(run, gate), {
    title: `${literal(gate.title || gate.id)}: ${GATE[gate.status].said}`,
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
      label: `$(${GATE[gate.status].icon.name}) ${literal(gate.title || gate.id)}`,
      description: GATE[gate.status].said,
      detail: literal(`after ${gate.after}`),
      value: gate,
    }));
  return choose(items, "Which gate?", "This run has no gates.");
}

function gateLines(run: Evaluation, gate: Gate): Line[] {
  const separator = (label: string): Line => ({ label, kind: vscode.QuickPickItemKind.Separator });
  const criteria = gate.criteria.flatMap((criterion): Line[] => {
    const mark = criterion.met === null ? "$(question)" : criterion.met ? "$(check)" : "$(close)";
    const said = criterion.met === null ? "no evidence yet" : criterion.met ? "met" : "not met";
    const evidence = criterion.evidence.map((entry): Line => {
      const place = placeOf(run.root, entry);
      return {
        label: `      ${literal(`${plain(entry.expression, 80)} = ${shown(entry.value)}`)}`,
        description: place && literal(where(place)),
        place,
      };
    });
    return [{ label: `${mark} ${literal(criterion.text)}`, description: said, place: evidence[0]?.place }, ...evidence];
  });
  const ways = [
    ...gate.allowed.map((action): Line => ({ label: `$(arrow-right) ${literal(action)}`, description: "allowed" })),
    ...gate.forbidden.map((entry): Line => ({
      label: `$(circle-slash) ${literal(entry.action)}`,
      description: `forbidden: ${literal(entry.because)}`,
    })),
  ];
  return [separator("Criteria"), ...criteria, ...(ways.length ? [separator("Now"), ...ways] : [])];
}
