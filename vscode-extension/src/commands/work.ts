/** Work on runs: starting one, reporting, claiming, and handing the next step to an assistant. */

import { userInfo } from "node:os";
import * as vscode from "vscode";
import { forgetClaim, keepClaim } from "../claims";
import { keyOf, nameOf, type Evaluation, type Reportable, type RunName, type Summary, type Task } from "../protocol";
import { baseName, escapeLabel, messageOf } from "../sanitize";
import { ARGUMENTS } from "../server/discovery";
import { exec } from "../server/exec";
import type { Session } from "../session";
import { exampleFor, stepOf } from "../views/next";
import { taskLabel } from "../views/plan";
import { FAILED_OUTCOMES } from "../views/recent";
import { isFilePath, type Subject } from "../views/row";
import { closeDrafts, fillInData, fillInForm, needsData } from "./draft";
import { showError, showOutcome, type Way } from "./outcome";
import { askText, choose, chooseRoot, chooseRun, chooseRunWith } from "./pick";
import { openPlace, openToWrite } from "./show";

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;
const OUTCOMES = ["ok", "error"];

export async function startRun(session: Session): Promise<void> {
  const root = await chooseRoot(session, "Start a run in which folder?");
  const chosen = root && (await chooseWorkflow(session, root));
  if (!chosen) return;
  const { name: workflow, new: beginning } = chosen;
  if (beginning?.taken)
    return void vscode.commands.executeCommand("phasekeeper.revealRun", { root, run: beginning.folder });
  const name = beginning?.named === false ? `${workflow}-${today()}` : await askName(workflow);
  if (!name) return;
  const title = await askText(`Start a run of ${workflow}`, "What it is about, in a sentence.", "", false);
  if (title === undefined) return;
  const request = session.client.request("phasekeeper/start", { root, workflow, name, title });
  await showOutcome(session, `started ${name}`, request, () => [{ title: "Try Again…", command: "startRun" }]);
  const started = await request.then(
    ({ evaluation }) => evaluation,
    () => undefined,
  );
  if (started) await openStarted(session, started);
}

const askName = (workflow: string): Thenable<string | undefined> =>
  vscode.window.showInputBox({
    title: `Start a run of ${workflow}`,
    prompt: "Its name, which becomes its folder: letters, digits, '.', '_' and '-'.",
    placeHolder: "late-fees",
    ignoreFocusOut: true,
    validateInput: (typed) => (NAME.test(typed) ? undefined : "Letters, digits, '.', '_' and '-', at most 100."),
  });

/** Tells one from another that was put away, where a name does not. */
const today = (): string => new Date().toISOString().slice(0, 10);

/** Select the run that was started, and open the file that its first step is about. */
async function openStarted(session: Session, run: Summary): Promise<void> {
  // It is told to the sidebar by itself, but not always by now.
  await session.client.loadAround(run.root, run.run);
  await vscode.commands.executeCommand("phasekeeper.revealRun", nameOf(run));
  const whole = await session.evaluations.get(run);
  const [due] = run.suggestion.produce;
  const path = due?.path ?? whole?.plan?.path;
  if (!path) return;
  const place = { root: run.root, path, line: null, column: null };
  if (due && !due.revise) await openToWrite(place, due.example ?? "");
  else await openPlace({ place });
}

/** A workflow in the list of `phasekeeper workflow list`. */
interface Listed {
  readonly name: string;
  readonly title: string;
  readonly at: readonly string[];
  /** Null where no run of it can be started; older servers do not say. */
  readonly new?: { readonly folder: string; readonly named: boolean; readonly taken: boolean } | null;
}

async function chooseWorkflow(session: Session, root: string): Promise<Listed | undefined> {
  const server = session.client.server;
  if (!server) return undefined;
  const list = [...ARGUMENTS, "workflow", "list", "--json", "--root", root];
  const { stdout, stderr } = await exec(server.python, list, { timeoutMs: 30_000 });
  try {
    const known = (JSON.parse(stdout) as Listed[]).filter((workflow) => workflow.new !== null);
    const taken = (workflow: Listed): number => Number(workflow.new?.taken ?? false);
    const items = known
      .sort((one, other) => taken(one) - taken(other))
      .map((workflow) => ({
        label: escapeLabel(workflow.name),
        detail: escapeLabel(workflow.title),
        description: workflow.new?.taken
          ? `there already, and it has one run: ${escapeLabel(workflow.new.folder)}`
          : escapeLabel(workflow.new?.folder.replace("{name}", "*") ?? workflow.at[0] ?? ""),
        value: workflow,
      }));
    return await choose(items, "Which workflow?", "No workflow whose runs can be started is known here.");
  } catch (error) {
    void showError(session, `The workflows cannot be listed: ${stderr.trim() || messageOf(error)}`);
    return undefined;
  }
}

/** Record what the work of a step came to. */
export async function report(session: Session, subject: Partial<Subject>): Promise<void> {
  const run = await chooseRun(session, subject, "Report an outcome of which run?");
  if (!run) return;
  const step = subject.step || stepOf(run);
  const graph = await session.client.request("phasekeeper/graph", nameOf(run));
  const outcomes = graph?.phases.find((phase) => phase.id === step)?.outcomes ?? OUTCOMES;
  const items = outcomes.map((outcome) => ({ label: escapeLabel(outcome), value: outcome }));
  const about = subject.tasks ?? (subject.task ? [subject.task] : undefined);
  const title = about
    ? `What did ${escapeLabel(step)} come to for ${escapeLabel(about.join(", "))}?`
    : `What did ${escapeLabel(step)} come to?`;
  const picked = await vscode.window.showQuickPick(items, { title });
  if (!picked) return;
  const tasks = about ?? (await chooseTasks(session, run));
  if (!tasks) return;
  const outcome = picked.value;
  const due = run.suggestion.reports.find((reportable) => reportable.step === step);
  const carries = due !== undefined && needsData(due, outcome);
  // What stands in an editor is refused there, and handed in again from there.
  for (let isRepeated = false; ; isRepeated = true) {
    const data = carries ? await fillInData(run, due, isRepeated) : {};
    if (!data) return;
    const summary = due?.form ? await fillInForm(run, due, isRepeated) : await askSentence(run, step, outcome);
    if (summary === undefined) return;
    const details = {
      ...(tasks.length && { tasks }),
      ...(summary && { summary }),
      ...(Object.keys(data).length && { data }),
    };
    const request = session.client.request("phasekeeper/report", { ...nameOf(run), step, outcome, ...details });
    const isDraft = carries || Boolean(due?.form);
    const again: Way = {
      title: "Report Again…",
      command: "reportOutcome",
      subject: { ...nameOf(run), step, tasks: about },
    };
    const ways = (error: unknown): Way[] => [
      ...fileWays(run.root, due, outcome, messageOf(error)),
      // A draft is handed in again from where it stands.
      ...(isDraft ? [] : [again]),
    ];
    if (await showOutcome(session, `recorded: ${step} ${outcome}`, request, ways)) {
      sentences.delete(sentenceKey(run, step, outcome));
      return closeDrafts(run, step);
    }
    if (!isDraft) return;
  }
}

/** So many files that a report was refused for have a button. */
const MOST_FILES = 2;

/** Buttons for the files that a report was refused for: they open, or are begun. */
const fileWays = (root: string, due: Reportable | undefined, outcome: string, why: string): Way[] =>
  (due?.brings ?? [])
    .filter(({ outcomes }) => outcomes.includes(outcome))
    .flatMap(({ kind, paths }) => paths.map((path) => ({ path, example: exampleFor(kind) })))
    .filter(({ path }) => isFilePath(path) && why.includes(path))
    .slice(0, MOST_FILES)
    .map(({ path, example }) => ({
      title: `Open ${baseName(path)}`,
      command: "openPlace",
      subject: { place: { root, path, line: null, column: null }, ...(example !== undefined && { example }) },
    }));

/** By run, step and outcome: the sentence of a report that was not recorded, which is offered again. */
const sentences = new Map<string, string>();

const sentenceKey = (run: RunName, step: string, outcome: string): string => [keyOf(run), step, outcome].join("\n");

/** What a step came to, in a sentence that may be empty; undefined when a person gave up. */
async function askSentence(run: RunName, step: string, outcome: string): Promise<string | undefined> {
  const key = sentenceKey(run, step, outcome);
  const asked = FAILED_OUTCOMES.has(outcome) ? "What went wrong, in a sentence." : "What was done, in a sentence.";
  const typed = await askText(`${step}: ${outcome}`, asked, sentences.get(key), false);
  if (typed !== undefined) sentences.set(key, typed);
  return typed;
}

/** The tasks that a report is about, of those that are handed out or claimed; none where there are none. */
async function chooseTasks(session: Session, run: Summary): Promise<string[] | undefined> {
  const offered = tasksAtWork(run, await session.evaluations.get(run));
  if (offered.length === 0) return [];
  const own = offered.filter(({ claimedBy }) => claimedBy === userInfo().username);
  const claimed = own.length ? own : offered.filter(({ claimedBy }) => claimedBy !== null);
  const likely =
    offered.length === 1 || claimed.length !== 1 ? offered.slice(0, offered.length === 1 ? 1 : 0) : claimed;
  const items = offered.map((task) => ({
    label: escapeLabel(task.title || task.id),
    description: [task.title && escapeLabel(task.id), escapeLabel(taskLabel(task))].filter(Boolean).join(" · "),
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

export async function claim(session: Session, subject: Partial<Subject>): Promise<void> {
  const chosen = await chooseTask(session, subject, "Claim a task of which run?", (task, run) =>
    run.suggestion.tasks.includes(task.id),
  );
  if (!chosen) return;
  const { run } = chosen;
  const tasks = subject.tasks ?? [chosen.task];
  const named = tasks.join(", ");
  const who = await askText(`Claim ${named}`, "Who takes it: a person or an assistant.", userInfo().username);
  if (!who) return;
  const claimAll = async (): Promise<void> => {
    for (const task of tasks) {
      const { claim: kept } = await session.client.request("phasekeeper/claim", { ...nameOf(run), task, who });
      await keepClaim(session.context.workspaceState, kept);
    }
  };
  const again: Way = {
    title: "Try Again…",
    command: "claimTask",
    subject: { ...nameOf(run), task: chosen.task, tasks },
  };
  await showOutcome(session, `${named} claimed by ${who}`, claimAll(), () => [again]);
}

/** Give a task back; somebody else's claim once the person has read what that means. */
export async function release(session: Session, subject: Partial<Subject>): Promise<void> {
  const chosen = await chooseTask(session, subject, "Give back a task of which run?", isClaimed);
  if (!chosen) return;
  const request = endClaim(session, { ...nameOf(chosen.run), task: chosen.task });
  const again: Way = {
    title: "Try Again…",
    command: "releaseTask",
    subject: { ...nameOf(chosen.run), task: chosen.task },
  };
  if (await request.catch(() => true)) await showOutcome(session, `${chosen.task} given back`, request, () => [again]);
}

/** Whether it was ended; false where a person, who is shown whose claim it is, leaves it. */
async function endClaim({ client, context }: Session, named: RunName & { task: string }): Promise<boolean> {
  for (let read: readonly string[] | undefined; ;) {
    const { confirm } = await client.request("phasekeeper/release", { ...named, ...(read && { confirmed: read }) });
    if (!confirm) {
      await forgetClaim(context.workspaceState, named);
      return true;
    }
    const detail = confirm.map((line) => escapeLabel(line, 600)).join("\n");
    const message = `Release ${escapeLabel(named.task)}?`;
    if (!(await vscode.window.showWarningMessage(message, { modal: true, detail }, "Release"))) return false;
    read = confirm;
  }
}

const isClaimed = (task: Task): boolean => task.claimedBy !== null;

async function chooseTask(
  session: Session,
  subject: Partial<Subject>,
  title: string,
  fits: (task: Task, run: Summary) => boolean,
): Promise<{ run: Summary; task: string } | undefined> {
  const hasTask = (whole: Evaluation, run: Summary): boolean =>
    (whole.plan?.stages ?? []).some((stage) => stage.tasks.some((task) => fits(task, run)));
  const run = await chooseRunWith(session, subject, title, hasTask);
  if (!run) return undefined;
  if (subject.task) return { run, task: subject.task };
  const evaluation = await session.evaluations.get(run);
  const tasks = (evaluation?.plan?.stages ?? []).flatMap((stage) => stage.tasks).filter((task) => fits(task, run));
  const items = tasks.map((task) => ({
    label: escapeLabel(task.title || task.id),
    description: escapeLabel(task.id),
    detail: escapeLabel(taskLabel(task)),
    value: task,
  }));
  const picked = await choose(items, "Which task?", "There is no such task in this run.");
  return picked && { run, task: picked.id };
}
