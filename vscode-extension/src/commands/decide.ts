/**
 * A person's decisions. The server prepares the text with all that follows from one; a dialog shows it, the reason is
 * typed, and what is sent names the revision that the text was about.
 */

import * as vscode from "vscode";
import {
  canOverride,
  nameOf,
  type Decision,
  type Evaluation,
  type Graph,
  type PreparedDecision,
  type Question,
  type RunName,
  type Summary,
} from "../protocol";
import { stepTitle } from "../names";
import { escapeLabel, messageOf, oneLine } from "../sanitize";
import type { Session } from "../session";
import { isOver, openQuestions, runOf } from "../store";
import type { Subject } from "../views/row";
import { titleOf } from "../views/runs";
import { chosenLabel } from "../views/recent";
import { KIND, optionLabels } from "../views/waiting";
import { showOutcome, type Way } from "./outcome";
import { askText, choose, chooseRun, chooseRunWith, isNamed, isSameRun, runNamed } from "./pick";

const MAX_BUTTONS = 4;
/** How the revision of a run ends that is judged on what an editor holds. */
const UNSAVED = "+unsaved";
const WHY = "Why? The reason is recorded with your name.";
/** So many records are looked through for an answer. */
const NEWEST = 50;
const RAISED = /^raised:/;

/** Answer an open question; `kind` limits what is offered where none is named. */
export async function answer(session: Session, subject: Partial<Subject>, kind?: Question["kind"]): Promise<void> {
  const open = await chooseQuestion(session, subject, kind);
  if (!open) return;
  const { run, question } = open;
  const named = question.options.find((option) => option.id === subject.option);
  const decision = { ...nameOf(run), kind: "answer", question: question.id } as const;
  const prepared = await prepare(session, named ? { ...decision, option: named.id } : decision).catch(
    orAnswered(session, decision),
  );
  const option = prepared && (await chooseOption(prepared, question, named ? [named] : question.options));
  if (!option) return;
  const chosen = question.options.find((entry) => entry.id === option);
  const title = chosen ? `${question.question} — ${optionLabels(chosen).label}` : question.question;
  // What an assistant asked is answered in words; they are its answer.
  const asked = RAISED.test(question.id) && option !== "stop" ? "Your answer, which the assistant reads." : WHY;
  await decide(session, { ...decision, option }, prepared.revision, {
    title: oneLine(title, 160),
    prompt: asked,
    outcome: `answered: ${chosen ? optionLabels(chosen).label : option}`,
    again: "answerQuestion",
  });
}

type OpenQuestion = ReturnType<typeof openQuestions>[number];

async function chooseQuestion(
  session: Session,
  subject: Partial<Subject>,
  kind?: Question["kind"],
): Promise<OpenQuestion | undefined> {
  if (isNamed(subject)) await runNamed(session, subject);
  const open = openQuestions(session.store.state).filter(
    ({ run }) => subject.run === undefined || isSameRun(run, subject),
  );
  if (subject.question !== undefined) {
    const named = open.find(({ question }) => question.id === subject.question);
    if (!named) {
      const how = isNamed(subject) && (await answeredMeanwhile(session, subject, subject.question));
      void vscode.window.showInformationMessage(how || "This question is not open any more.");
    }
    return named;
  }
  const items = open
    .filter(({ question }) => !kind || question.kind === kind)
    .map((entry) => ({
      label: escapeLabel(entry.question.question),
      description: KIND[entry.question.kind].label,
      detail: `${escapeLabel(titleOf(entry.run))} · ${escapeLabel(entry.question.options.map((option) => optionLabels(option).label).join(" / "), 400)}`,
      value: entry,
    }));
  const here = isNamed(subject) ? runOf(session.store.state, subject) : undefined;
  const none = kind ? `No ${KIND[kind].label} is open` : "Nothing waits for you";
  return choose(items, "What do you decide on?", here ? `${none} in ${escapeLabel(titleOf(here))}.` : `${none}.`);
}

/** The id of the option that a person chose after reading the text, or words where the question has no options. */
async function chooseOption(
  prepared: PreparedDecision,
  question: Question,
  options: Question["options"],
): Promise<string | undefined> {
  if (question.options.length === 0) {
    const agreed = await confirm(prepared, ["Answer…"]);
    return agreed === undefined ? undefined : askText("Your answer", oneLine(question.question, 300));
  }
  const titles = options.map((option) => oneLine(optionLabels(option).label, 60));
  if (options.length <= MAX_BUTTONS) {
    const at = await confirm(prepared, titles);
    return at === undefined ? undefined : options[at]!.id;
  }
  if ((await confirm(prepared, ["Choose…"])) === undefined) return undefined;
  const items = options.map((option, at) => ({
    label: escapeLabel(titles[at]!),
    description: escapeLabel(optionLabels(option).consequence || option.id),
    value: option.id,
  }));
  return choose(items, oneLine(question.question), "");
}

/**
 * What a person has to read before a decision; undefined when they would not save. A decision is about what is on
 * disk, so what only editors hold is saved first.
 */
async function prepare(session: Session, decision: RunName & Decision): Promise<PreparedDecision | undefined> {
  const run = runOf(session.store.state, decision);
  if (run?.revision.endsWith(UNSAVED) && !(await offerSaving(run))) return undefined;
  return session.client.request("phasekeeper/prepareDecision", decision);
}

async function offerSaving(run: Summary): Promise<boolean> {
  const message = `${escapeLabel(titleOf(run))} stands as unsaved changes have it. A decision is about what is on disk.`;
  if ((await vscode.window.showWarningMessage(message, "Save All")) === undefined) return false;
  return vscode.workspace.saveAll(false);
}

/** The index of the button that was pressed below the text; undefined when the dialog was left. */
async function confirm(text: PreparedDecision, buttons: readonly string[]): Promise<number | undefined> {
  const unsaved = text.unsaved.map((path) => `Not saved, and not counted here: ${oneLine(path, 400)}`);
  return modal(text.title, [...text.lines, ...unsaved].join("\n"), buttons);
}

/** The index of the button that was pressed in a dialog of the window; undefined when it was left. */
export async function modal(message: string, detail: string, buttons: readonly string[]): Promise<number | undefined> {
  const items = buttons.map((title, at) => ({ title, at }));
  return (await vscode.window.showWarningMessage(message, { modal: true, detail }, ...items))?.at;
}

/** The box for a person's reason, and what is said once it is recorded. */
interface ReasonBox {
  readonly title: string;
  readonly prompt: string;
  readonly outcome: string;
  /** The command that asks all of it again. */
  readonly again: string;
}

async function decide(
  session: Session,
  decision: RunName & Decision,
  revision: string,
  { title, prompt, outcome, again }: ReasonBox,
): Promise<void> {
  const reason = await askText(title, prompt);
  if (!reason) return;
  const request = session.client.request("phasekeeper/decide", { ...decision, reason, revision });
  await showOutcome(session, outcome, request.catch(orAnswered(session, decision)), (error) =>
    error instanceof AnsweredMeanwhile
      ? [{ title: "Open Run Page", command: "openPage", subject: nameOf(decision) }]
      : [{ title: "Try Again…", command: again, subject: decision }],
  );
}

/** Of a decision that the server refused: where its question is gone meanwhile, that it is, in place of why. */
const orAnswered =
  (session: Session, decision: RunName & Decision) =>
  async (error: unknown): Promise<never> => {
    const how = decision.question && (await answeredMeanwhile(session, decision, decision.question));
    throw how ? new AnsweredMeanwhile(how) : error;
  };

class AnsweredMeanwhile extends Error {}

/** By whom and how a question was answered that is not open any more; undefined where it is, or cannot be told. */
async function answeredMeanwhile(session: Session, name: RunName, question: string): Promise<string | undefined> {
  try {
    const run = await session.client.request("phasekeeper/run", nameOf(name));
    if (!run || run.questions.some(({ id }) => id === question)) return undefined;
    const { events } = await session.client.request("phasekeeper/history", { ...nameOf(name), limit: NEWEST });
    const answered = events.filter((event) => event.kind === "answer" && event.question === question).at(-1);
    if (!answered) return "This question is not open any more.";
    const by = answered.actor ? `, by ${answered.actor}` : "";
    const why = answered.why ? ` (${answered.why})` : "";
    return escapeLabel(`This question was answered meanwhile${by}: ${chosenLabel(answered)}${why}`, 400);
  } catch (error) {
    session.output.debug(messageOf(error));
    return undefined;
  }
}

/** Go against a suggestion or a shut gate; the phase behind it is the subject's, else a person picks one. */
export async function override(session: Session, subject: Partial<Subject>): Promise<void> {
  const run = await chooseRun(session, subject, "Override what the files say of which run?", canOverride);
  const graph = run && (await session.client.request("phasekeeper/graph", nameOf(run)));
  const to = graph && (subject.to ?? (await choosePhase(run, graph)));
  if (!to) return;
  const decision = { ...nameOf(run), kind: "override", to } as const;
  const prepared = await prepare(session, decision);
  const phase = stepTitle(to, graph.phases);
  const title = `Move ${titleOf(run)} to “${phase}”, against what its files say?`;
  if (!prepared || (await confirm({ ...prepared, title }, ["Override…"])) === undefined) return;
  const outcome = `overridden: now in “${phase}”`;
  const box = { title, prompt: WHY, outcome, again: "overrideGate" };
  await decide(session, decision, prepared.revision, box);
}

function choosePhase(run: Summary, graph: Graph): Promise<string | undefined> {
  const { suggestedNext, overrideTo } = run.suggestion;
  const ways = reachable(graph.edges, run.currentPhase ?? "");
  const items = [...new Set([...(overrideTo === null ? [] : [overrideTo]), ...ways])].map((phase) => ({
    label: escapeLabel(stepTitle(phase, graph.phases)),
    description: escapeLabel(phase),
    detail: phase === overrideTo ? "takes it up again" : phase === suggestedNext ? "suggested" : undefined,
    value: phase,
  }));
  return choose(items, `Move ${escapeLabel(titleOf(run))} to which phase?`, "No rule leads on from this phase.");
}

/** Have the last consistent phase done again. */
export async function rollBack(session: Session, subject: Partial<Subject>): Promise<void> {
  const fits = (run: Summary): boolean => !isOver(run) || run.findingCounts.error > 0;
  const has = (run: Evaluation): boolean => rollBackTo(run) !== undefined;
  const chosen = await chooseRunWith(session, subject, "Roll which run back?", has, fits);
  if (!chosen) return;
  const run = await session.client.request("phasekeeper/run", nameOf(chosen));
  const target = run && rollBackTo(run);
  if (!target) {
    void vscode.window.showInformationMessage(
      `${escapeLabel(titleOf(chosen))} is consistent: there is nothing to roll back.`,
    );
    return;
  }
  const phase = stepTitle(target.phase, run.phases);
  const message = `Roll ${titleOf(run)} back to “${phase}”?`;
  const prepared = await prepare(session, { ...nameOf(run), kind: "redo", phase: target.phase });
  if (!prepared || (await confirm({ ...prepared, title: message }, ["Roll Back…"])) === undefined) return;
  const reason = await askText(message, "Why? The reason is recorded.");
  if (!reason) return;
  const redo = session.client.request("phasekeeper/redo", { ...nameOf(run), phase: target.phase, reason });
  const again: Way = { title: "Try Again…", command: "rollBack", subject: nameOf(run) };
  await showOutcome(session, `rolled back to “${phase}”`, redo, () => [again]);
}

/** The phases that rules lead to from a phase, nearest first, without itself. */
export function reachable(edges: Graph["edges"], from: string): string[] {
  const phases = [from];
  for (const phase of phases)
    for (const edge of edges) if (edge.from === phase && !phases.includes(edge.to)) phases.push(edge.to);
  return phases.slice(1);
}

/** The phase that a finding offers to roll back to; undefined when nothing is inconsistent. */
export function rollBackTo(run: Evaluation): { phase: string; because: string } | undefined {
  for (const finding of run.findings.filter((entry) => !entry.overridden))
    for (const { command } of finding.fixes) {
      // The command `redo RUN PHASE`; the present phase would be done again without going back.
      const [name, , phase] = command;
      if (name === "redo" && phase !== undefined && phase !== run.currentPhase)
        return { phase, because: finding.message };
    }
  return undefined;
}
