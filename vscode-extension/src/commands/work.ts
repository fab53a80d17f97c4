/** Work on runs: starting one, and claiming its tasks. */

import { userInfo } from "node:os";
import * as vscode from "vscode";
import { forgetClaim, keepClaim } from "../claims";
import { taskTitles, tasksNamed, type TaskTitles } from "../names";
import { nameOf, type Evaluation, type RunName, type Summary, type Task } from "../protocol";
import { escapeLabel, messageOf } from "../sanitize";
import { ARGUMENTS } from "../server/discovery";
import { exec } from "../server/exec";
import type { Session } from "../session";
import { taskLabel } from "../views/plan";
import type { Subject } from "../views/row";
import { titleOf } from "../views/runs";
import { showError, showOutcome, type Way } from "./outcome";
import { askText, choose, chooseRoot, chooseRunWith } from "./pick";
import { openPlace, openToWrite } from "./show";

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

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

export async function claim(session: Session, subject: Partial<Subject>): Promise<void> {
  const isFree = (task: Task, run: Summary): boolean => run.suggestion.tasks.includes(task.id);
  const chosen = await chooseTask(session, subject, "Claim a task of which run?", isFree, "can be claimed now");
  if (!chosen) return;
  const { run } = chosen;
  const tasks = subject.tasks ?? [chosen.task];
  const named = tasksNamed(tasks, chosen.titles);
  const who = await askText(
    escapeLabel(`Claim ${named} in ${titleOf(run)}`),
    "Who takes it: a person or an assistant.",
    userInfo().username,
  );
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
  const chosen = await chooseTask(session, subject, "Give back a task of which run?", isClaimed, "is claimed");
  if (!chosen) return;
  const named = tasksNamed([chosen.task], chosen.titles);
  const request = endClaim(session, { ...nameOf(chosen.run), task: chosen.task }, named);
  const again: Way = {
    title: "Try Again…",
    command: "releaseTask",
    subject: { ...nameOf(chosen.run), task: chosen.task },
  };
  if (await request.catch(() => true)) await showOutcome(session, `${named} given back`, request, () => [again]);
}

/** Whether it was ended; false where a person, who is shown whose claim it is, leaves it. */
async function endClaim(
  { client, context }: Session,
  named: RunName & { task: string },
  title: string,
): Promise<boolean> {
  for (let read: readonly string[] | undefined; ;) {
    const { confirm } = await client.request("phasekeeper/release", { ...named, ...(read && { confirmed: read }) });
    if (!confirm) {
      await forgetClaim(context.workspaceState, named);
      return true;
    }
    const detail = confirm.map((line) => escapeLabel(line, 600)).join("\n");
    const message = `Release ${escapeLabel(title)}?`;
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
  what: string,
): Promise<{ run: Summary; task: string; titles: TaskTitles } | undefined> {
  const hasTask = (whole: Evaluation, run: Summary): boolean =>
    (whole.plan?.stages ?? []).some((stage) => stage.tasks.some((task) => fits(task, run)));
  const run = await chooseRunWith(session, subject, title, hasTask);
  if (!run) return undefined;
  const evaluation = await session.evaluations.get(run);
  const titles = taskTitles(evaluation?.plan?.stages);
  if (subject.task) return { run, task: subject.task, titles };
  const tasks = (evaluation?.plan?.stages ?? []).flatMap((stage) => stage.tasks).filter((task) => fits(task, run));
  const items = tasks.map((task) => ({
    label: escapeLabel(task.title || task.id),
    description: escapeLabel(task.id),
    detail: escapeLabel(taskLabel(task, titles)),
    value: task,
  }));
  const picked = await choose(items, "Which task?", `No task of ${escapeLabel(titleOf(run))} ${what}.`);
  return picked && { run, task: picked.id, titles };
}
