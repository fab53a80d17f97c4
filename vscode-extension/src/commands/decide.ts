/** A person's decisions: what is decided is shown in a dialog, the reason is typed, and only then is it sent. */

import * as vscode from "vscode";
import type { Decision, Evaluation, Question, RunName } from "../protocol";
import type { Session } from "../session";
import { asked, isOver } from "../store";
import { literal, plain } from "../sanitize";
import { optionSaid, overrideDialog, questionDialog, reachable, rollBackTo, type Dialog } from "../views/dialog";
import type { Subject } from "../views/row";
import { titleOf } from "../views/runs";
import { KIND } from "../views/waiting";
import { ask, choose, chooseRun, recorded, sameRun } from "./pick";

const MOST_BUTTONS = 4;
/** How the revision of a run ends that is judged on what an editor holds. */
const UNSAVED = "+unsaved";
const TRIES = 50;
const TRY_MS = 100;
const WHY = "Why? The reason is recorded with your name.";

/** Answer an open question; `kind` limits what is offered where none is named. */
export async function answer(session: Session, subject: Partial<Subject>, kind?: Question["kind"]): Promise<void> {
  const named = await chooseQuestion(session, subject, kind);
  if (!named) return;
  const run = await saved(session, named);
  if (run === "not saved") return;
  const question = run?.questions.find((entry) => entry.id === named.question);
  if (!run || !question) {
    void vscode.window.showInformationMessage("This question is not open any more.");
    return;
  }
  const option = await chooseOption(run, question, subject.option);
  if (!option) return;
  await decide(session, run, { kind: "answer", question: question.id, option }, `answered: ${question.id} ${option}`);
}

async function chooseQuestion(
  session: Session,
  subject: Partial<Subject>,
  kind?: Question["kind"],
): Promise<(Pick<Subject, "root" | "run"> & { question: string }) | undefined> {
  const { root, run: path, question: id } = subject;
  if (root !== undefined && path !== undefined && id !== undefined) return { root, run: path, question: id };
  const items = asked(session.store.now)
    .filter(({ run, question }) => (!kind || question.kind === kind) && (path === undefined || sameRun(run, subject)))
    .map(({ run, question }) => ({
      label: literal(question.question),
      description: KIND[question.kind].said,
      detail: `${literal(titleOf(run))} · ${literal(question.options.map((option) => optionSaid(option).what).join(" / "), 400)}`,
      value: { root: run.root, run: run.run, question: question.id },
    }));
  return choose(items, "What do you decide on?", kind ? `No ${KIND[kind].said} is open.` : "Nothing waits for you.");
}

async function chooseOption(run: Evaluation, question: Question, wanted?: string): Promise<string | undefined> {
  const dialog = questionDialog(run, question);
  if (question.options.length === 0) {
    const agreed = await modal(dialog, ["Answer…"]);
    return agreed === undefined ? undefined : ask("Your answer", plain(question.question, 300));
  }
  const named = question.options.find((option) => option.id === wanted);
  const offered = named ? [named] : question.options;
  const titles = offered.map((option) => plain(optionSaid(option).what, 60));
  if (offered.length <= MOST_BUTTONS) {
    const at = await modal(dialog, titles);
    return at === undefined ? undefined : offered[at]!.id;
  }
  if ((await modal(dialog, ["Choose…"])) === undefined) return undefined;
  const items = offered.map((option, at) => ({
    label: literal(titles[at]!),
    description: literal(optionSaid(option).brings || option.id),
    value: option.id,
  }));
  return choose(items, plain(question.question), "");
}

/** The index of the button that was pressed; undefined when the dialog was left. */
async function modal(dialog: Dialog, buttons: readonly string[]): Promise<number | undefined> {
  const items = buttons.map((title, at) => ({ title, at }));
  const options = { modal: true, detail: dialog.detail };
  return (await vscode.window.showWarningMessage(dialog.message, options, ...items))?.at;
}

/**
 * A run as its files on disk have it: nothing is decided on what only an editor holds. Offers to save that; what
 * was saved just now is waited for.
 */
async function saved(session: Session, name: RunName): Promise<Evaluation | null | "not saved"> {
  const dirty = (): boolean =>
    vscode.workspace.textDocuments.some((document) => document.isDirty && document.uri.scheme === "file");
  for (let tries = 0; tries < TRIES; tries++) {
    const run = await session.client.request("phasekeeper/run", { root: name.root, run: name.run });
    if (!run?.revision.endsWith(UNSAVED)) return run;
    if (dirty() && !(await offerSaving(run))) return "not saved";
    await new Promise((resolve) => setTimeout(resolve, TRY_MS));
  }
  throw new Error("Changes in editors are not saved yet; nothing was decided. Save them and repeat it.");
}

async function offerSaving(run: Evaluation): Promise<boolean> {
  const said = `${literal(titleOf(run))} stands as unsaved changes have it. A decision is about what is on disk.`;
  if ((await vscode.window.showWarningMessage(said, "Save All")) === undefined) return false;
  return vscode.workspace.saveAll(false);
}

async function decide(
  session: Session,
  run: Evaluation,
  decision: Omit<Decision, "reason" | "revision">,
  said: string,
): Promise<void> {
  const reason = await ask(said[0]!.toUpperCase() + said.slice(1), WHY);
  if (!reason) return;
  const { root, run: path, revision } = run;
  await recorded(
    said,
    session.client.request("phasekeeper/decide", { root, run: path, ...decision, reason, revision }),
  );
}

/** Go against a suggestion or a shut gate. */
export async function override(session: Session, subject: Partial<Subject>): Promise<void> {
  const named = await chooseRun(session, subject, "Override what the files say of which run?");
  if (!named) return;
  const name = { root: named.root, run: named.run };
  const run = await saved(session, name);
  const graph = await session.client.request("phasekeeper/graph", name);
  if (!run || run === "not saved" || !graph) return;
  const titles = new Map(graph.phases.map((phase) => [phase.id, phase]));
  const ways = reachable(graph.edges, run.currentPhase ?? "").filter((phase) => phase !== run.currentPhase);
  const items = ways.map((phase) => ({
    label: literal(phase),
    description: literal(titles.get(phase)?.title ?? ""),
    detail: phase === run.suggestion.suggestedNext ? "suggested" : undefined,
    value: phase,
  }));
  const to = await choose(items, `Move ${literal(titleOf(run))} to which phase?`, "No rule leads on from this phase.");
  if (!to || (await modal(overrideDialog(run, to), ["Override…"])) === undefined) return;
  await decide(session, run, { kind: "override", to }, `overridden: now in ${to}`);
}

/** Have the last consistent phase done again. */
export async function rollBack(session: Session, subject: Partial<Subject>): Promise<void> {
  const named = await chooseRun(
    session,
    subject,
    "Roll which run back?",
    (run) => !isOver(run) || run.findingCounts.error > 0,
  );
  if (!named) return;
  const run = await session.client.request("phasekeeper/run", { root: named.root, run: named.run });
  const back = run && rollBackTo(run);
  if (!run || !back) {
    void vscode.window.showInformationMessage(
      `${literal(titleOf(named))} is consistent: there is nothing to roll back.`,
    );
    return;
  }
  const message = `Roll ${titleOf(run)} back to ${plain(back.phase)}?`;
  if ((await modal({ message, detail: plain(back.because, 400) }, ["Roll Back…"])) === undefined) return;
  const reason = await ask(message, "Why? The reason is recorded.");
  if (!reason) return;
  const { root, run: path } = run;
  const redo = session.client.request("phasekeeper/redo", { root, run: path, phase: back.phase, reason });
  await recorded(`rolled back to ${back.phase}`, redo);
}
