/** What a command is about: what it was called with, or what a person picks. */

import * as vscode from "vscode";
import { keyOf, type Evaluation, type RunName, type Summary } from "../protocol";
import { escapeLabel } from "../sanitize";
import type { Session } from "../session";
import { isOver, missing, runOf, runsOf } from "../store";
import type { Subject } from "../views/row";
import { STATUS, titleOf, whereOf } from "../views/runs";
import { focusedRun } from "../views/status";

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
  const picked = await vscode.window.showQuickPick(items, { title, matchOnDescription: true, matchOnDetail: true });
  return picked?.value;
}

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

/** The run that a command is about; runs of a person's present file come first. */
export async function chooseRun(
  session: Session,
  subject: Partial<Subject>,
  title: string,
  fits: (run: Summary) => boolean = (run) => !isOver(run),
): Promise<Summary | undefined> {
  if (isNamed(subject)) return runNamed(session, subject);
  const { state } = session.store;
  const first = focusedRun(state, activeFile());
  const runs = runsOf(state).filter(fits);
  const sorted = first && runs.includes(first) ? [first, ...runs.filter((run) => run !== first)] : runs;
  const items = sorted.map((run) => ({
    label: escapeLabel(titleOf(run)),
    description: escapeLabel(whereOf(run)),
    detail: `${STATUS[run.status].label} · ${escapeLabel(run.workflow)} · ${escapeLabel(run.run, 400)}`,
    value: run,
  }));
  const more = [...state.roots.values()].filter((root) => missing(root).going > 0);
  if (more.length === 0) return choose(items, title, "There is no such run here.");
  const count = more.reduce((sum, root) => sum + missing(root).going, 0);
  const further = { label: `$(ellipsis) ${count} more…`, value: undefined, alwaysShow: true };
  const picked = await vscode.window.showQuickPick([...items, further], {
    title,
    matchOnDescription: true,
    matchOnDetail: true,
  });
  if (!picked || picked.value) return picked?.value;
  await Promise.all(more.map((root) => session.client.loadMore(root.root, "going")));
  return chooseRun(session, subject, title, fits);
}

/** So many runs are looked at as a whole before one is picked; any others are offered as they are. */
const MOST_LOOKED = 30;

/** The run that a command is about, of those in which there is something for it; `may` says so without a look. */
export async function chooseRunWith(
  session: Session,
  subject: Partial<Subject>,
  title: string,
  has: (whole: Evaluation, run: Summary) => boolean,
  may: (run: Summary) => boolean = (run) => !isOver(run),
): Promise<Summary | undefined> {
  if (isNamed(subject)) return runNamed(session, subject);
  const looked = runsOf(session.store.state).filter(may).slice(0, MOST_LOOKED);
  const answers = await Promise.all(
    looked.map(async (run) => {
      const whole = await session.evaluations.get(run);
      return [keyOf(run), whole !== null && has(whole, run)] as const;
    }),
  );
  const fits = new Map(answers);
  return chooseRun(session, subject, title, (run) => fits.get(keyOf(run)) ?? may(run));
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
