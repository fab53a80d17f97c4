/** What a command is about: what it was called with, or what a person picks. */

import * as vscode from "vscode";
import { keyOf, type Evaluation, type RunName, type Summary } from "../protocol";
import { escapeLabel } from "../sanitize";
import type { Session } from "../session";
import { isOver, missing, runAt, runOf, runsOf, type State } from "../store";
import type { Subject } from "../views/row";
import { byUrgency, endedWords, STATUS, titleOf, whereOf } from "../views/runs";

/** Commands are called with a row of a tree, with a subject (a click), or by lenses with plain data. */
export function subjectOf(argument: unknown): Partial<Subject> {
  if (typeof argument !== "object" || argument === null) return {};
  const holder = argument as { subject?: unknown };
  const subject = typeof holder.subject === "object" && holder.subject ? holder.subject : argument;
  return subject;
}

type Choice<T> = vscode.QuickPickItem & { value: T };

/** The one there is, or the one that is picked; undefined when none is. */
export async function choose<T>(items: readonly Choice<T>[], title: string, none: string): Promise<T | undefined> {
  if (items.length === 0) {
    void vscode.window.showInformationMessage(none);
    return undefined;
  }
  if (items.length === 1) return items[0]!.value;
  return (await pickOne(items, title))?.value;
}

const pickOne = <T>(items: readonly Choice<T>[], title: string): Thenable<Choice<T> | undefined> =>
  vscode.window.showQuickPick(items, { title, matchOnDescription: true, matchOnDetail: true });

/** The path of the active editor's file, with slashes. */
export const activeFile = (): string | undefined => filePath(vscode.window.activeTextEditor?.document.uri);

/** The path of a file of this disk, with slashes. */
export const filePath = (uri: vscode.Uri | undefined): string | undefined =>
  uri?.scheme === "file" ? uri.fsPath.replaceAll("\\", "/") : undefined;

export const isNamed = (subject: Partial<Subject>): subject is Subject =>
  subject.root !== undefined && subject.run !== undefined;

/** A run by its name, on whatever page of the board it stands. */
export async function runNamed(session: Session, name: RunName): Promise<Summary | undefined> {
  return runOf(session.store.state, name) ?? session.client.loadRun(name);
}

/** The run that a command was called with, where it fits; else why nothing is done with it. */
async function namedRun(
  session: Session,
  name: RunName,
  fits: (run: Summary) => boolean,
): Promise<Summary | undefined> {
  const run = await runNamed(session, name);
  if (run && (fits(run) || !isOver(run))) return run;
  if (!run) void vscode.window.showInformationMessage("This run is not there any more.");
  else void showEnd(run);
  return undefined;
}

const PAGE = "Open Run Page";

/** Say of a run with which nothing more is done how it ended. */
async function showEnd(run: Summary): Promise<void> {
  const message = `${escapeLabel(titleOf(run))} is over: ${escapeLabel(endedWords(run), 300)}.`;
  if (await vscode.window.showInformationMessage(message, PAGE))
    await vscode.commands.executeCommand("phasekeeper.openPage", { root: run.root, run: run.run });
}

/** Why no run is offered. */
function noneWords(state: State, file: string | undefined): string {
  const runs = runsOf(state);
  const here = file && runAt(state, file);
  if (here && isOver(here)) return `${titleOf(here)} is over: ${endedWords(here)}. No other run fits.`;
  if (runs.length === 0) return "There is no run here.";
  return runs.every(isOver) ? "All runs here are over." : "There is no such run here.";
}

/**
 * The run that a command is about, of those that fit; the run of a person's present file comes first. `may` says
 * whether a run that is over fits which the command was called with.
 */
export async function chooseRun(
  session: Session,
  subject: Partial<Subject>,
  title: string,
  fits: (run: Summary) => boolean = (run) => !isOver(run),
  may = fits,
): Promise<Summary | undefined> {
  if (isNamed(subject)) return namedRun(session, subject, may);
  const { state } = session.store;
  const file = activeFile();
  const first = file ? runAt(state, file) : undefined;
  const runs = byUrgency(runsOf(state).filter(fits));
  const sorted = first && runs.includes(first) ? [first, ...runs.filter((run) => run !== first)] : runs;
  const items = sorted.map((run) => ({
    label: escapeLabel(titleOf(run)),
    description: escapeLabel(whereOf(run)),
    detail: `${STATUS[run.status].label} · ${escapeLabel(run.workflow)} · ${escapeLabel(run.run, 400)}`,
    value: run,
  }));
  const more = [...state.roots.values()].filter((root) => missing(root).going > 0);
  if (more.length === 0) {
    // Where the file in front is of a run that is over, another one is never taken unasked.
    if (items.length === 1 && first && isOver(first) && items[0]!.value !== first)
      return (await pickOne(items, title))?.value;
    return choose(items, title, escapeLabel(noneWords(state, file), 400));
  }
  const count = more.reduce((sum, root) => sum + missing(root).going, 0);
  const further = { label: `$(ellipsis) ${count} more…`, value: undefined, alwaysShow: true };
  const picked = await vscode.window.showQuickPick([...items, further], {
    title,
    matchOnDescription: true,
    matchOnDetail: true,
  });
  if (!picked || picked.value) return picked?.value;
  await Promise.all(more.map((root) => session.client.loadMore(root.root, "going")));
  return chooseRun(session, subject, title, fits, may);
}

/** So many runs are looked at as a whole before one is picked; any others are offered as they are. */
const MOST_LOOKED = 30;

/** The run that a command is about, of those in which there is something for it; `fits` says so without a look. */
export async function chooseRunWith(
  session: Session,
  subject: Partial<Subject>,
  title: string,
  has: (whole: Evaluation, run: Summary) => boolean,
  fits: (run: Summary) => boolean = (run) => !isOver(run),
  may = fits,
): Promise<Summary | undefined> {
  if (isNamed(subject)) return namedRun(session, subject, may);
  const looked = runsOf(session.store.state).filter(fits).slice(0, MOST_LOOKED);
  const answers = await Promise.all(
    looked.map(async (run) => {
      const whole = await session.evaluations.get(run);
      return [keyOf(run), whole !== null && has(whole, run)] as const;
    }),
  );
  const known = new Map(answers);
  return chooseRun(session, subject, title, (run) => known.get(keyOf(run)) ?? fits(run));
}

/** A root: the only one, or the one that is picked. */
export async function chooseRoot(session: Session, title: string): Promise<string | undefined> {
  const roots = [...session.store.state.roots.keys()];
  const items = roots.map((root) => ({ label: escapeLabel(root, 400), value: root }));
  return choose(items, title, "Open a folder first.");
}

/** A line of text that is not empty; undefined when a person gave up. */
export async function askText(title: string, prompt: string, value = "", needed = true): Promise<string | undefined> {
  const text = await vscode.window.showInputBox({
    title,
    prompt,
    value,
    ignoreFocusOut: true,
    validateInput: (typed) => (needed && !typed.trim() ? "This is needed." : undefined),
  });
  return text?.trim();
}

export const isSameRun = (one: RunName, other: Partial<RunName>): boolean =>
  other.root !== undefined && other.run !== undefined && keyOf(one) === keyOf(other as RunName);
