/** Work on runs: starting one, reporting, claiming, and handing the next step to an assistant. */

import { userInfo } from "node:os";
import * as vscode from "vscode";
import type { Summary, Task } from "../protocol";
import { prompt } from "../views/prompt";
import { run as runProgram } from "../server/exec";
import { ARGUMENTS } from "../server/discovery";
import type { Session } from "../session";
import { literal } from "../sanitize";
import { stepOf } from "../views/next";
import type { Subject } from "../views/row";
import { taskSaid } from "../views/runs";
import { ask, choose, chooseRoot, chooseRun, messageOf, recorded } from "./pick";

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;
const OUTCOMES = ["ok", "error"];

export async function startRun(session: Session): Promise<void> {
  const root = await chooseRoot(session, "Start a run in which folder?");
  const workflow = root && (await chooseWorkflow(session, root));
  if (!workflow) return;
  const name = await vscode.window.showInputBox({
    title: `Start a run of ${workflow}`,
    prompt: "Its name, which becomes its folder: letters, digits, '.', '_' and '-'.",
    placeHolder: "late-fees",
    ignoreFocusOut: true,
    validateInput: (typed) => (NAME.test(typed) ? undefined : "Letters, digits, '.', '_' and '-', at most 100."),
  });
  if (!name) return;
  const title = await ask(`Start a run of ${workflow}`, "What it is about, in a sentence.", "", false);
  if (title === undefined) return;
  await recorded(`started ${name}`, session.client.request("phasekeeper/start", { root, workflow, name, title }));
}

async function chooseWorkflow(session: Session, root: string): Promise<string | undefined> {
  const server = session.client.server;
  if (!server) return undefined;
  const ended = await runProgram(server.python, [...ARGUMENTS, "workflow", "list", "--json", "--root", root], {
    timeoutMs: 30_000,
  });
  try {
    const known = JSON.parse(ended.stdout) as { name: string; title: string; at: string[] }[];
    const items = known.map((entry) => ({
      label: literal(entry.name),
      detail: literal(entry.title),
      description: literal(entry.at[0] ?? ""),
      value: entry.name,
    }));
    return await choose(items, "Which workflow?", "No workflow is known here.");
  } catch (error) {
    session.output.error(ended.stderr || messageOf(error));
    void vscode.window.showErrorMessage("The workflows cannot be listed; the output says why.");
    return undefined;
  }
}

/** Record what the work of a step came to. */
export async function report(session: Session, subject: Partial<Subject>): Promise<void> {
  const run = await chooseRun(session, subject, "Report an outcome of which run?");
  if (!run) return;
  const name = { root: run.root, run: run.run };
  const step = subject.step || stepOf(run);
  const graph = await session.client.request("phasekeeper/graph", name);
  const outcomes = graph?.phases.find((phase) => phase.id === step)?.outcomes ?? OUTCOMES;
  const items = outcomes.map((outcome) => ({ label: literal(outcome), value: outcome }));
  const picked = await vscode.window.showQuickPick(items, { title: `What did ${literal(step)} come to?` });
  if (!picked) return;
  const tasks = await chooseTasks(run);
  if (!tasks) return;
  const summary = await ask(`${step}: ${picked.value}`, "What was done, in a sentence.", "", false);
  if (summary === undefined) return;
  const said = { step, outcome: picked.value, ...(tasks.length && { tasks }), ...(summary && { summary }) };
  await recorded(
    `recorded: ${step} ${picked.value}`,
    session.client.request("phasekeeper/report", { ...name, ...said }),
  );
}

/** The tasks that a report is about, of those that are handed out; none where there are none. */
async function chooseTasks(run: Summary): Promise<string[] | undefined> {
  const { tasks } = run.suggestion;
  if (tasks.length === 0) return [];
  const items = tasks.map((task) => ({ label: literal(task), value: task, picked: tasks.length === 1 }));
  const picked = await vscode.window.showQuickPick(items, { title: "Which tasks is it about?", canPickMany: true });
  return picked?.map((item) => item.value);
}

export async function claim(session: Session, subject: Partial<Subject>): Promise<void> {
  const found = await chooseTask(session, subject, "Claim a task of which run?", (task) => task.state === "ready");
  if (!found) return;
  const who = await ask(`Claim ${found.task}`, "Who takes it: a person or an assistant.", userInfo().username);
  if (!who) return;
  const { root, run } = found.run;
  await recorded(
    `${found.task} claimed by ${who}`,
    session.client.request("phasekeeper/claim", { root, run, task: found.task, who }),
  );
}

export async function release(session: Session, subject: Partial<Subject>): Promise<void> {
  const found = await chooseTask(
    session,
    subject,
    "Give back a task of which run?",
    (task) => task.state === "claimed",
  );
  if (!found) return;
  const { root, run } = found.run;
  const who = subject.who ?? found.who ?? "";
  await recorded(
    `${found.task} given back`,
    session.client.request("phasekeeper/release", { root, run, task: found.task, who }),
  );
}

async function chooseTask(
  session: Session,
  subject: Partial<Subject>,
  title: string,
  fits: (task: Task) => boolean,
): Promise<{ run: Summary; task: string; who?: string } | undefined> {
  const run = await chooseRun(session, subject, title);
  if (!run) return undefined;
  if (subject.task) return { run, task: subject.task };
  const whole = await session.evaluations.get(run);
  const tasks = (whole?.plan?.stages ?? []).flatMap((stage) => stage.tasks).filter(fits);
  const items = tasks.map((task) => ({
    label: literal(task.title || task.id),
    description: literal(task.id),
    detail: literal(taskSaid(task)),
    value: task,
  }));
  const picked = await choose(items, "Which task?", "There is no such task in this run.");
  return picked && { run, task: picked.id, who: picked.claimedBy ?? undefined };
}

export async function copyPrompt(session: Session, subject: Partial<Subject>): Promise<void> {
  const run = await chooseRun(session, subject, "Copy the next step of which run?");
  if (!run) return;
  await vscode.env.clipboard.writeText(prompt(run));
  vscode.window.setStatusBarMessage("$(check) The prompt is in the clipboard.", 5000);
}
