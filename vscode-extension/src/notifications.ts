/** Shows news as VS Code notifications with buttons that act, and remembers what was shown. */

import * as vscode from "vscode";
import { plural } from "./sanitize";
import type { Session } from "./session";
import { findNews, MAX_AT_ONCE, wantedNotices, type Notice } from "./views/news";

const SEEN_KEY = "phasekeeper.told";

/** Notify of news from now on. Its keys are kept in the workspace's state, so that no restart shows it again. */
export function registerNotifications(session: Session): vscode.Disposable {
  const state = session.context.workspaceState;
  const keys = state.get<string[]>(SEEN_KEY);
  let seen: ReadonlySet<string> | undefined = keys && new Set(keys);
  return session.store.onChange((now, before) => {
    if (now.server.state !== "ready" || now.roots.size === 0) return;
    const { fresh, seen: after } = findNews(now, before, seen);
    if (seen === undefined || fresh.length > 0 || after.size !== seen.size) void state.update(SEEN_KEY, [...after]);
    seen = after;
    const wanted = wantedNotices(fresh, vscode.workspace.getConfiguration("phasekeeper").get("notifications"));
    if (wanted.length > MAX_AT_ONCE) void showMany(wanted.length);
    else for (const notice of wanted) void (notice.kind === "gate" ? showGate(notice) : showQuestion(notice));
  });
}

async function showQuestion(notice: Notice): Promise<void> {
  const { root, run, about: question } = notice;
  const act = vscode.workspace.isTrusted ? [notice.kind === "approval" ? "Review…" : "Answer…"] : [];
  const choice = await vscode.window.showWarningMessage(notice.text, ...act, "Show Graph");
  if (choice === "Show Graph") await vscode.commands.executeCommand("phasekeeper.showGraph", { root, run });
  else if (choice) await vscode.commands.executeCommand("phasekeeper.answerQuestion", { root, run, question });
}

async function showGate(notice: Notice): Promise<void> {
  const { root, run, about: gate } = notice;
  const choice = await vscode.window.showWarningMessage(notice.text, "Explain", "Next Step");
  if (choice === "Explain") await vscode.commands.executeCommand("phasekeeper.explainGate", { root, run, gate });
  if (choice === "Next Step") await vscode.commands.executeCommand("phasekeeper.showNextStep", { root, run });
}

async function showMany(count: number): Promise<void> {
  const message = `${plural(count, "thing")} came up at once: questions that wait for you, or gates that have failed.`;
  if (await vscode.window.showWarningMessage(message, "Show"))
    await vscode.commands.executeCommand("phasekeeper.waiting.focus");
}
