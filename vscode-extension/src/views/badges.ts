/** Badges of runs in the Explorer: what waits for a person, and what fails, on the folder or file of the run alone. */

import * as vscode from "vscode";
import type { Summary } from "../protocol";
import type { Session } from "../session";
import { isOver, runsOf } from "../store";
import { BAD, WAITING } from "./row";
import { isFailing, titleOf } from "./runs";

interface Badge {
  readonly mark: string;
  readonly color: string;
  readonly tooltip: string;
}

export function badgeOf(run: Summary): Badge | undefined {
  if (isOver(run)) return undefined;
  if (run.questions.length > 0) return { mark: "?", color: WAITING, tooltip: `${titleOf(run)} waits for you` };
  if (isFailing(run)) return { mark: "!", color: BAD, tooltip: `${titleOf(run)}: something failed` };
  return undefined;
}

export function registerBadges({ store }: Session): vscode.Disposable[] {
  const changed = new vscode.EventEmitter<undefined>();
  let badges = new Map<string, Badge>();
  const refresh = (): void => {
    const isOn = vscode.workspace.getConfiguration("phasekeeper").get("explorerBadges", true);
    const now = new Map<string, Badge>();
    for (const run of isOn ? runsOf(store.state) : []) {
      const badge = badgeOf(run);
      const uri = vscode.Uri.joinPath(vscode.Uri.file(run.root), run.run.split("#")[0]!);
      if (badge) now.set(uri.toString(), badge);
    }
    const isSame = now.size === badges.size && [...now].every(([key, { mark }]) => badges.get(key)?.mark === mark);
    badges = now;
    if (!isSame) changed.fire(undefined);
  };
  const provider: vscode.FileDecorationProvider = {
    onDidChangeFileDecorations: changed.event,
    provideFileDecoration(uri) {
      const badge = badges.get(uri.toString());
      return badge && new vscode.FileDecoration(badge.mark, badge.tooltip, new vscode.ThemeColor(badge.color));
    },
  };
  refresh();
  return [
    changed,
    store.onChange(refresh),
    vscode.workspace.onDidChangeConfiguration(refresh),
    vscode.window.registerFileDecorationProvider(provider),
  ];
}
