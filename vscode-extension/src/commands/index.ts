/** The commands of the palette, the trees and the notifications. */

import * as vscode from "vscode";
import { answer, override, rollBack } from "./decide";
import { activeFile, chooseRun, messageOf, subjectOf } from "./pick";
import { choosePython, copyMcp, installServer, openExample } from "./setup";
import { explainGate, openPlace, showNext } from "./show";
import { claim, copyPrompt, release, report, startRun } from "./work";
import type { Graphs } from "../graph/panel";
import type { Place } from "../server/installation";
import type { Session } from "../session";
import { literal } from "../sanitize";
import type { Subject } from "../views/row";
import { inFocus } from "../views/status";
import { titleOf } from "../views/runs";
import type { Tree } from "../views/tree";

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
]);

type Act = (subject: Partial<Subject>) => unknown;

export interface Parts {
  readonly next: Tree;
  readonly graphs: Graphs;
  /** The interpreters that may run an installation. */
  readonly pythons: () => Promise<string[]>;
  readonly installation: Place;
}

export function registerCommands(session: Session, parts: Parts): vscode.Disposable[] {
  const acts: Record<string, Act> = {
    startRun: () => startRun(session),
    openExample: () => openExample(session),
    showNextStep: (subject) => showNext(session, parts.next, subject),
    explainGate: (subject) => explainGate(session, subject),
    approveQuestion: (subject) => answer(session, subject, "approval"),
    answerQuestion: (subject) => answer(session, subject),
    overrideGate: (subject) => override(session, subject),
    rollBack: (subject) => rollBack(session, subject),
    reportOutcome: (subject) => report(session, subject),
    claimTask: (subject) => claim(session, subject),
    releaseTask: (subject) => release(session, subject),
    copyPrompt: (subject) => copyPrompt(session, subject),
    showGraph: (subject) => showGraph(session, parts.graphs, subject),
    installServer: () => installServer(session, parts.pythons, parts.installation),
    choosePython: () => choosePython(),
    restartServer: () => session.client.restartByHand(),
    showOutput: () => session.output.show(),
    copyMcp: () => copyMcp(session),
    openPlace: (subject) => openPlace(subject),
  };
  return Object.entries(acts).map(([name, act]) =>
    vscode.commands.registerCommand(`phasekeeper.${name}`, (argument: unknown) =>
      done(session, WRITING.has(name) && !vscode.workspace.isTrusted ? notTrusted() : act(subjectOf(argument))),
    ),
  );
}

/** Say why nothing is recorded, and where that can be changed. */
async function notTrusted(): Promise<void> {
  const said =
    "This folder is not trusted (Restricted Mode). Phasekeeper shows where its work stands, and records nothing.";
  if (await vscode.window.showWarningMessage(said, "Manage Workspace Trust"))
    await vscode.commands.executeCommand("workbench.trust.manage");
}

/** What a command could not do is told in one sentence; the output has the rest. */
async function done(session: Session, act: unknown): Promise<void> {
  try {
    await act;
  } catch (error) {
    session.output.error(error instanceof Error ? error : String(error));
    void vscode.window.showErrorMessage(literal(messageOf(error), 400));
  }
}

async function showGraph(session: Session, graphs: Graphs, subject: Partial<Subject>): Promise<void> {
  const here = subject.run === undefined && activeFile() ? inFocus(session.store.now, activeFile()) : undefined;
  const run = await chooseRun(session, here ?? subject, "The workflow of which run?", () => true);
  if (run) graphs.show({ root: run.root, run: run.run }, titleOf(run));
}
