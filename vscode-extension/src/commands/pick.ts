/** What a command is about: what it was called with, or what a person picks. */

import * as vscode from "vscode";
import { keyOf, type RunName, type Summary } from "../protocol";
import type { Session } from "../session";
import { isOver, runOf, runsOf } from "../store";
import { literal } from "../sanitize";
import type { Subject } from "../views/row";
import { inFocus } from "../views/status";
import { STATUS, titleOf } from "../views/runs";

/** Commands are called with a row of a tree, with a subject (a click), or by lenses with plain data. */
export function subjectOf(argument: unknown): Partial<Subject> {
  if (typeof argument !== "object" || argument === null) return {};
  const holder = argument as { subject?: unknown };
  const subject = typeof holder.subject === "object" && holder.subject ? holder.subject : argument;
  return subject as Partial<Subject>;
}

export type Pick<T> = vscode.QuickPickItem & { value: T };

/** The one there is, or the one that is picked; undefined when none is. */
export async function choose<T>(items: readonly Pick<T>[], title: string, none: string): Promise<T | undefined> {
  if (items.length === 0) {
    void vscode.window.showInformationMessage(none);
    return undefined;
  }
  if (items.length === 1) return items[0]!.value;
  const picked = await vscode.window.showQuickPick(items, { title, matchOnDescription: true, matchOnDetail: true });
  return picked?.value;
}

/** The path of the active editor's file, with slashes. */
export function activeFile(): string | undefined {
  const uri = vscode.window.activeTextEditor?.document.uri;
  return uri?.scheme === "file" ? uri.fsPath.replaceAll("\\", "/") : undefined;
}

/** The run that a command is about; runs of a person's present file come first. */
export async function chooseRun(
  session: Session,
  subject: Partial<Subject>,
  title: string,
  fits: (run: Summary) => boolean = (run) => !isOver(run),
): Promise<Summary | undefined> {
  if (subject.root !== undefined && subject.run !== undefined) return runOf(session.store.now, subject as RunName);
  const known = session.store.now;
  const first = inFocus(known, activeFile());
  const runs = runsOf(known).filter(fits);
  const sorted = first && runs.includes(first) ? [first, ...runs.filter((run) => run !== first)] : runs;
  const items = sorted.map((run) => ({
    label: literal(titleOf(run)),
    description: literal(run.currentPhase ?? ""),
    detail: `${STATUS[run.status].said} · ${literal(run.workflow)} · ${literal(run.run, 400)}`,
    value: run,
  }));
  return choose(items, title, "There is no such run here.");
}

/** A root: the only one, or the one that is picked. */
export async function chooseRoot(session: Session, title: string): Promise<string | undefined> {
  const roots = [...session.store.now.roots.keys()];
  const items = roots.map((root) => ({ label: literal(root, 400), value: root }));
  return choose(items, title, "Open a folder first.");
}

/** A line of text that is not empty; undefined when a person gave up. */
export async function ask(title: string, prompt: string, value = "", needed = true): Promise<string | undefined> {
  const text = await vscode.window.showInputBox({
    title,
    prompt,
    value,
    ignoreFocusOut: true,
    validateInput: (typed) => (needed && !typed.trim() ? "This is needed." : undefined),
  });
  return text?.trim();
}

/** Do what is recorded, and say so, or why it was refused. */
export async function recorded(said: string, done: Promise<unknown>): Promise<boolean> {
  try {
    await done;
    vscode.window.setStatusBarMessage(`$(check) ${literal(said)}`, 5000);
    return true;
  } catch (error) {
    void vscode.window.showErrorMessage(`Not recorded: ${literal(messageOf(error), 600)}`);
    return false;
  }
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

export const sameRun = (one: RunName, other: Partial<RunName>): boolean =>
  other.root !== undefined && other.run !== undefined && keyOf(one) === keyOf(other as RunName);
