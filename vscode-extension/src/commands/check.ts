/** Running the checks of a gate: what they run is allowed by a person, progress is shown, a failure opens its log. */

import * as vscode from "vscode";
import { nameOf, type CheckOutcome, type Evaluation, type RunName } from "../protocol";
import { escapeLabel } from "../sanitize";
import type { Session } from "../session";
import type { Subject } from "../views/row";
import { modal } from "./decide";
import { chooseRunWith } from "./pick";
import { openPlace } from "./show";

const hasChecks = ({ gates }: Evaluation): boolean =>
  gates.some(({ inForce, checks }) => inForce && checks.some(({ line }) => line !== null));

/** Run the checks of the gate of a row, or of those in force, as far as they have not passed on the files as they are. */
export async function runChecks(session: Session, subject: Partial<Subject>): Promise<void> {
  const run = await chooseRunWith(session, subject, "Run the checks of which run?", hasChecks);
  if (!run) return;
  // A check reads what is on disk.
  await vscode.workspace.saveAll(false);
  const gate = subject.gate === undefined ? {} : { gate: subject.gate };
  const { checks, questions } = await session.client.request("phasekeeper/gateChecks", { ...nameOf(run), ...gate });
  for (const { check, definition, title, lines } of questions) {
    if ((await modal(title, lines.join("\n"), ["Allow"])) === undefined) return;
    await session.client.request("phasekeeper/trustCheck", { ...nameOf(run), check, definition });
  }
  const outcomes = await runWithProgress(session, run, checks);
  if (outcomes) await showOutcomes(run, { ...nameOf(run), gate: subject.gate }, outcomes);
}

/** What came of the checks; undefined where the person stopped them. */
function runWithProgress(
  session: Session,
  run: RunName,
  checks: readonly string[],
): Thenable<readonly CheckOutcome[] | undefined> {
  const title = `Checks: ${escapeLabel(checks.join(", "), 100)}`;
  const options = { location: vscode.ProgressLocation.Notification, title, cancellable: true };
  return vscode.window.withProgress(options, async (progress, token) => {
    try {
      const show = (message: string): void => progress.report({ message: escapeLabel(message) });
      const params = { ...nameOf(run), checks };
      return (await session.client.requestWithProgress("phasekeeper/runChecks", params, show, token)).outcomes;
    } catch (error) {
      if (token.isCancellationRequested) return undefined;
      throw error;
    }
  });
}

async function showOutcomes(run: RunName, subject: Partial<Subject>, outcomes: readonly CheckOutcome[]): Promise<void> {
  const words = outcomes.map(outcomeLabel).join("; ");
  const failed = outcomes.find((outcome) => outcome.result !== "passed");
  if (!failed) {
    void vscode.window.showInformationMessage(escapeLabel(words, 400));
    return;
  }
  await openPlace({ place: { root: run.root, path: failed.log, line: null, column: null } });
  const again = await vscode.window.showWarningMessage(escapeLabel(words, 900), "Run Again");
  if (again) await vscode.commands.executeCommand("phasekeeper.runCheck", subject);
}

export const outcomeLabel = ({ name, result, reason, ran }: CheckOutcome): string =>
  `${name}: ${result}, ${reason}${ran ? "" : "; nothing changed since it ran"}`;
