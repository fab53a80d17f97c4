/** Shows notices as notifications, with buttons that act, and remembers what was told. */

import * as vscode from "vscode";
import { AT_ONCE, notices, type Notice } from "./news";
import type { Session } from "../session";
import { plural } from "../sanitize";
import { GATE } from "../views/runs";

const SEEN = "phasekeeper.told";

/** Tell of news from now on. What is told is kept in the workspace's state, so that no restart tells it again. */
export function notify(session: Session): vscode.Disposable {
  const state = session.context.workspaceState;
  const kept = state.get<string[]>(SEEN);
  let seen: ReadonlySet<string> | undefined = kept && new Set(kept);
  return session.store.onChange((now, before) => {
    if (now.server.state !== "ready" || now.roots.size === 0) return;
    const { fresh, seen: after } = notices(now, before, seen);
    if (seen === undefined || fresh.length > 0 || after.size !== seen.size) void state.update(SEEN, [...after]);
    seen = after;
    if (!vscode.workspace.getConfiguration("phasekeeper").get("notifications", true)) return;
    if (fresh.length > AT_ONCE) void tellMany(fresh.length);
    else for (const notice of fresh) void (notice.kind === "gate" ? tellGate(notice) : tellQuestion(notice));
  });
}

async function tellQuestion(notice: Notice): Promise<void> {
  const { root, run, about: question } = notice;
  const act = vscode.workspace.isTrusted ? [notice.kind === "approval" ? "Review…" : "Answer…"] : [];
  const choice = await vscode.window.showWarningMessage(notice.text, ...act, "Show Graph");
  if (choice === "Show Graph") await vscode.commands.executeCommand("phasekeeper.showGraph", { root, run });
  else if (choice) await vscode.commands.executeCommand("phasekeeper.answerQuestion", { root, run, question });
}

async function tellGate(notice: Notice): Promise<void> {
  const { root, run, about: gate } = notice;
  const choice = await vscode.window.showWarningMessage(notice.text, "Explain", "Next Step");
  if (choice === "Explain") await vscode.commands.executeCommand("phasekeeper.explainGate", { root, run, gate });
  if (choice === "Next Step") await vscode.commands.executeCommand("phasekeeper.showNextStep", { root, run });
}

async function tellMany(count: number): Promise<void> {
  const said = `${plural(count, "thing")} came up at once: questions that wait for you, or gates that have ${GATE.failed.said}.`;
  if (await vscode.window.showWarningMessage(said, "Show"))
    await vscode.commands.executeCommand("phasekeeper.waiting.focus");
}
