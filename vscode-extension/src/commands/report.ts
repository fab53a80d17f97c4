/** A report of what the work of a step came to: its outcome, its tasks, its text and data, and a refusal of it. */

import { userInfo } from "node:os";
import * as vscode from "vscode";
import { stepTitle, taskTitles, tasksNamed } from "../names";
import { keyOf, nameOf, type Evaluation, type Reportable, type RunName, type Summary, type Task } from "../protocol";
import { baseName, escapeLabel, messageOf } from "../sanitize";
import type { Session } from "../session";
import { exampleFor, stepOf } from "../views/next";
import { taskLabel } from "../views/plan";
import { FAILED_OUTCOMES } from "../views/recent";
import { isFilePath, type Subject } from "../views/row";
import { titleOf } from "../views/runs";
import { closeDrafts, fillInData, fillInForm, needsData, takeRestored, type Drafted } from "./draft";
import { showOutcome, type Way } from "./outcome";
import { askText, chooseRun } from "./pick";

const OUTCOMES = ["ok", "error"];

/** Record what the work of a step came to. */
export async function report(session: Session, subject: Partial<Subject>): Promise<void> {
  const run = await chooseRun(session, subject, "Report an outcome of which run?");
  if (!run) return;
  const step = subject.step || stepOf(run);
  const graph = await session.client.request("phasekeeper/graph", nameOf(run));
  const phase = graph?.phases.find(({ id }) => id === step);
  const title = stepTitle(step, [...(graph?.phases ?? []), ...(graph?.actions ?? [])]);
  const about = subject.tasks ?? (subject.task ? [subject.task] : undefined);
  const outcome = subject.outcome ?? (await chooseOutcome(session, run, phase?.outcomes ?? OUTCOMES, title, about));
  if (!outcome) return;
  const tasks = about ?? (await chooseTasks(session, run));
  if (!tasks) return;
  const drafted: Drafted = { ...nameOf(run), step, title, outcome, ...(tasks.length && { tasks }) };
  const due = run.suggestion.reports.find((reportable) => reportable.step === step);
  const carries = due !== undefined && needsData(due, outcome);
  const isDraft = carries || Boolean(due?.form);
  await takeRestored(subject.draft);
  // What stands in an editor is refused there, and handed in again from there.
  for (let isRepeated = false; ; isRepeated = true) {
    const data = carries ? await fillInData(drafted, due, isRepeated) : {};
    if (!data) return;
    const summary = due?.form ? await fillInForm(drafted, due, isRepeated) : await askSentence(drafted);
    if (summary === undefined) return;
    const details = {
      ...(tasks.length && { tasks }),
      ...(summary && { summary }),
      ...(Object.keys(data).length && { data }),
    };
    const request = session.client
      .request("phasekeeper/report", { ...nameOf(run), step, outcome, ...details })
      .catch((error: unknown) => refuse(error, step, title));
    const ways = (error: unknown): Way[] => waysOn(run, due, drafted, isDraft, messageOf(error));
    if (await showOutcome(session, `recorded: ${title} ${outcome}`, request, ways)) {
      sentences.delete(sentenceKey(drafted));
      return closeDrafts(run, step);
    }
    if (!isDraft) return;
  }
}

async function chooseOutcome(
  session: Session,
  run: Summary,
  outcomes: readonly string[],
  title: string,
  about: readonly string[] | undefined,
): Promise<string | undefined> {
  const items = outcomes.map((outcome) => ({ label: escapeLabel(outcome), value: outcome }));
  const of = about ? ` for ${tasksNamed(about, taskTitles((await session.evaluations.get(run))?.plan?.stages))}` : "";
  return (
    await vscode.window.showQuickPick(items, {
      title: escapeLabel(`What did “${title}” come to${of}?`),
      placeHolder: escapeLabel(titleOf(run)),
    })
  )?.value;
}

/** A refusal of a text ends with the form that it has to have, as a quoted text: here that stands in its editor. */
const FORM = / Fill in "(?:[^"\\]|\\.)*" and hand it in .*$/s;

function refuse(error: unknown, step: string, title: string): never {
  const named = messageOf(error).replace(`a report of ${step} `, `a report of “${title}” `);
  throw new Error(named.replace(FORM, " Change that in its text, and report again."));
}

/** So many files that a report was refused for have a button. */
const MOST_FILES = 2;
/** What frees a task, in a refusal; its last word is the task. */
const RELEASE = /`phasekeeper release [^`]*?(\S+)`/;

/** Buttons below the refusal of a report: what it names opens, is begun or given back, and the report is made again. */
function waysOn(
  run: Summary,
  due: Reportable | undefined,
  { step, outcome, tasks }: Drafted,
  isDraft: boolean,
  why: string,
): Way[] {
  const [, held] = RELEASE.exec(why) ?? [];
  const again = { ...nameOf(run), step, ...(tasks && { tasks }) };
  return [
    ...fileWays(run, due, outcome, why),
    ...(held ? [{ title: "Release Task…", command: "releaseTask", subject: { ...nameOf(run), task: held } }] : []),
    // A draft is handed in again from where it stands.
    ...(isDraft ? [] : [{ title: "Report Again…", command: "reportOutcome", subject: again }]),
  ];
}

function fileWays({ root, suggestion }: Summary, due: Reportable | undefined, outcome: string, why: string): Way[] {
  const needed = (due?.brings ?? [])
    .filter(({ outcomes }) => outcomes.includes(outcome))
    .flatMap(({ kind, paths }) => paths.map((path) => ({ path, example: exampleFor(kind) })));
  const made = suggestion.produce.map(({ path, example }) => ({ path, example: example ?? "" }));
  const files = new Map([...needed, ...made].map((file) => [file.path, file]));
  return [...files.values()]
    .filter(({ path }) => isFilePath(path) && why.includes(path))
    .slice(0, MOST_FILES)
    .map(({ path, example }) => ({
      title: `Open ${baseName(path)}`,
      command: "openPlace",
      subject: { place: { root, path, line: null, column: null }, ...(example !== undefined && { example }) },
    }));
}

/** By run, step and outcome: the sentence of a report that was not recorded, which is offered again. */
const sentences = new Map<string, string>();

const sentenceKey = ({ root, run, step, outcome }: Drafted): string =>
  [keyOf({ root, run } satisfies RunName), step, outcome].join("\n");

/** What a step came to, in a sentence that may be empty; undefined when a person gave up. */
async function askSentence(about: Drafted): Promise<string | undefined> {
  const key = sentenceKey(about);
  const asked = FAILED_OUTCOMES.has(about.outcome)
    ? "What went wrong, in a sentence."
    : "What was done, in a sentence.";
  const typed = await askText(`${about.title}: ${about.outcome}`, asked, sentences.get(key), false);
  if (typed !== undefined) sentences.set(key, typed);
  return typed;
}

/** The tasks that a report is about, of those that are handed out or claimed; none where there are none. */
async function chooseTasks(session: Session, run: Summary): Promise<string[] | undefined> {
  const whole = await session.evaluations.get(run);
  const offered = tasksAtWork(run, whole);
  if (offered.length === 0) return [];
  const own = offered.filter(({ claimedBy }) => claimedBy === userInfo().username);
  const claimed = own.length ? own : offered.filter(({ claimedBy }) => claimedBy !== null);
  const likely =
    offered.length === 1 || claimed.length !== 1 ? offered.slice(0, offered.length === 1 ? 1 : 0) : claimed;
  const items = offered.map((task) => ({
    label: escapeLabel(task.title || task.id),
    description: [task.title && escapeLabel(task.id), escapeLabel(taskLabel(task, taskTitles(whole?.plan?.stages)))]
      .filter(Boolean)
      .join(" · "),
    value: task.id,
    picked: likely.includes(task),
  }));
  const picked = await vscode.window.showQuickPick(items, {
    title: "Which tasks is it about?",
    placeHolder: "A report of this step is about tasks: choose at least one",
    canPickMany: true,
    matchOnDescription: true,
  });
  if (picked?.length === 0) {
    void vscode.window.showInformationMessage("Nothing was recorded: a report of this step names its tasks.");
    return undefined;
  }
  return picked?.map((item) => item.value);
}

/** The tasks that may be reported now, in the plan's order: those handed out, and those that somebody works on. */
export function tasksAtWork(run: Summary, whole: Evaluation | null): Task[] {
  const tasks = (whole?.plan?.stages ?? []).flatMap((stage) => stage.tasks);
  return tasks.filter((task) => task.state === "claimed" || run.suggestion.tasks.includes(task.id));
}
