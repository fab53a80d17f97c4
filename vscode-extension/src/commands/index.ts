/** The commands of the palette, the trees and the notifications. */

import * as vscode from "vscode";
import { nameOf, type RunName } from "../protocol";
import { messageOf } from "../sanitize";
import type { Tab } from "../page/model";
import type { RunPages } from "../page/panel";
import type { FleetBoards } from "../server/fleet";
import type { InstallTarget } from "../server/installation";
import type { Session } from "../session";
import { runAt } from "../store";
import type { Row, Subject } from "../views/row";
import type { RunListOptions } from "../views/options";
import { FILTER_KINDS, titleOf } from "../views/runs";
import type { Tree } from "../views/tree";
import { runChecks } from "./check";
import { answer, override, rollBack } from "./decide";
import { giveUpDraft, handInDraft } from "./draft";
import { isPressed, pressedOn } from "./keyboard";
import { showError } from "./outcome";
import { activeFile, chooseRun, isSameRun, subjectOf } from "./pick";
import { report } from "./report";
import { type AssistantTerminals, copyPrompt, sendToAssistant } from "./send";
import { choosePython, copyMcp, installServer, openExample } from "./setup";
import { explainGate, openPlace, peekFailure, showNext } from "./show";
import { claim, release, startRun } from "./work";

/** The commands that write; not in a workspace that is not trusted. */
const WRITING: ReadonlySet<string> = new Set([
  "startRun",
  "approveQuestion",
  "answerQuestion",
  "overrideGate",
  "rollBack",
  "reportOutcome",
  "claimTask",
  "releaseTask",
  "runCheck",
]);

type Act = (subject: Partial<Subject>) => unknown;

interface Parts {
  readonly trees: Readonly<Record<string, Tree>>;
  readonly list: RunListOptions;
  readonly fleet: FleetBoards;
  readonly pages: RunPages;
  readonly installation: InstallTarget;
  readonly terminals: AssistantTerminals;
}

export function registerCommands(session: Session, parts: Parts): vscode.Disposable[] {
  const acts: Record<string, Act> = {
    startRun: () => startRun(session),
    openExample: () => openExample(session),
    showNextStep: (subject) => showNext(session, parts.trees, subject),
    explainGate: (subject) => explainGate(session, subject),
    peekFailure: (subject) => peekFailure(session, subject),
    approveQuestion: (subject) => answer(session, subject, "approval"),
    answerQuestion: (subject) => answer(session, subject),
    overrideGate: (subject) => override(session, subject),
    rollBack: (subject) => rollBack(session, subject),
    reportOutcome: (subject) => report(session, subject),
    claimTask: (subject) => claim(session, subject),
    revealRun: (subject) => parts.trees["runs"]!.reveal((row) => isRunRow(row, subject)),
    filterRuns: () => filterRuns(parts.list),
    clearFilter: () => parts.list.set({ filter: "" }),
    groupRuns: () => parts.list.set({ groupByWorkflow: true }),
    listRuns: () => parts.list.set({ groupByWorkflow: false }),
    hideFinished: () => parts.list.set({ hidesFinished: true }),
    showFinished: () => parts.list.set({ hidesFinished: false }),
    releaseTask: (subject) => release(session, subject),
    runCheck: (subject) => runChecks(session, subject),
    sendToAssistant: (subject) => sendToAssistant(session, parts.terminals, subject),
    copyPrompt: (subject) => copyPrompt(session, subject),
    openPage: (subject) => openPage(session, parts.pages, subject),
    showGraph: (subject) => openPage(session, parts.pages, subject, "graph"),
    showTimeline: (subject) => openPage(session, parts.pages, subject, "timeline"),
    installServer: () => installServer(session, parts.installation),
    choosePython: () => choosePython(),
    restartServer: () => session.client.restartByUser(),
    showOutput: () => session.output.show(),
    copyMcp: () => copyMcp(session),
    openPlace: (subject) => openPlace(subject),
    handInDraft: (subject) => handInDraft(subject),
    giveUpDraft: (subject) => giveUpDraft(subject),
    loadMore: ({ root, page, project }) =>
      page &&
      (project === undefined
        ? root !== undefined && session.client.loadMore(root, page)
        : parts.fleet.loadMore(project, page)),
  };
  return Object.entries(acts).map(([name, act]) =>
    vscode.commands.registerCommand(`phasekeeper.${name}`, (argument: unknown, selected: unknown) =>
      reportFailure(
        session,
        WRITING.has(name) && !vscode.workspace.isTrusted
          ? explainRestrictedMode()
          : act(
              isPressed(argument)
                ? pressedOn(name, session.store.state, parts.trees[argument.view], activeFile())
                : withSelection(subjectOf(argument), selected),
            ),
      ),
    ),
  );
}

/** A task's row together with the other rows of tasks of its run that are selected with it. */
function withSelection(subject: Partial<Subject>, selected: unknown): Partial<Subject> {
  if (subject.task === undefined || !Array.isArray(selected) || selected.length < 2) return subject;
  const subjects = selected.map(subjectOf).filter((other) => isSameRun(other as RunName, subject));
  const tasks = subjects.flatMap((other) => (other.task === undefined ? [] : [other.task]));
  return tasks.length > 1 ? { ...subject, tasks } : subject;
}

export const isRunRow = (row: Row, name: Partial<RunName>): boolean =>
  /^run\b/.test(row.context ?? "") && row.subject !== undefined && isSameRun(row.subject, name);

async function filterRuns(list: RunListOptions): Promise<void> {
  const filter = await vscode.window.showInputBox({
    title: "Filter the runs",
    prompt: `Words that all have to fit: ${FILTER_KINDS.join(", ")}, or a part of a title, phase or workflow. Empty shows all.`,
    value: list.value.filter,
  });
  if (filter !== undefined) list.set({ filter: filter.trim() });
}

/** Say why nothing is recorded, and where that can be changed. */
async function explainRestrictedMode(): Promise<void> {
  const message =
    "This folder is not trusted (Restricted Mode). Phasekeeper shows where its work stands, and records nothing.";
  if (await vscode.window.showWarningMessage(message, "Manage Workspace Trust"))
    await vscode.commands.executeCommand("workbench.trust.manage");
}

/** Show why a command failed in one sentence; the output has the rest. */
async function reportFailure(session: Session, act: unknown): Promise<void> {
  try {
    await act;
  } catch (error) {
    session.output.debug(error instanceof Error ? (error.stack ?? error.message) : String(error));
    const { state } = session.store.state.server;
    const isDown = state !== "ready" && state !== "starting";
    void showError(session, messageOf(error), isDown ? [{ title: "Restart Server", command: "restartServer" }] : []);
  }
}

const WHICH_PAGE = "The page of which run?";

async function openPage(session: Session, pages: RunPages, subject: Partial<Subject>, tab?: Tab): Promise<void> {
  const file = subject.run === undefined ? activeFile() : undefined;
  const run = await chooseRun(session, (file && runAt(session.store.state, file)) || subject, WHICH_PAGE, () => true);
  if (run) pages.show(nameOf(run), titleOf(run), tab);
}
