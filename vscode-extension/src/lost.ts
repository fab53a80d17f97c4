/** Runs that were there in this window, and whose files do not say any more that they are runs. */

import * as vscode from "vscode";
import { keyOf, nameOf, type LostRun, type Summary } from "./protocol";
import { baseName, escapeLabel, messageOf } from "./sanitize";
import type { Session } from "./session";
import { runOf, type State } from "./store";
import { titleOf } from "./views/runs";

/** A file that is being replaced is gone for a moment. */
const GRACE_MS = 1500;
/** So many that go at once are looked at: more are a branch that was changed. */
const MOST_AT_ONCE = 5;

export class LostRuns implements vscode.Disposable {
  private readonly lost = new Map<string, LostRun>();
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChange = this.changed.event;
  private readonly disposables: readonly { dispose(): void }[];
  private readonly timers = new Set<NodeJS.Timeout>();

  constructor(private readonly session: Session) {
    this.disposables = [this.changed, session.store.onChange((now, before) => this.follow(now, before))];
  }

  get runs(): readonly LostRun[] {
    return [...this.lost.values()];
  }

  dispose(): void {
    for (const timer of this.timers) clearTimeout(timer);
    for (const disposable of this.disposables) disposable.dispose();
  }

  private follow(now: State, before: State): void {
    if (now.server.state !== "ready") return;
    const back = this.runs.filter((run) => runOf(now, run) || !now.roots.has(run.root));
    for (const run of back) this.lost.delete(keyOf(run));
    if (back.length) this.changed.fire();
    const gone = goneRuns(now, before);
    if (gone.length === 0 || gone.length > MOST_AT_ONCE) return;
    const timer = setTimeout(() => {
      this.timers.delete(timer);
      for (const run of gone) void this.look(run);
    }, GRACE_MS);
    this.timers.add(timer);
  }

  private async look(run: Summary): Promise<void> {
    try {
      const why = await this.session.client.request("phasekeeper/lost", { ...nameOf(run), workflow: run.workflow });
      if (!why || runOf(this.session.store.state, run)) return;
      const lost = { ...nameOf(run), title: run.title, ...why };
      this.lost.set(keyOf(run), lost);
      this.changed.fire();
      await notify(lost);
    } catch (error) {
      this.session.output.debug(messageOf(error));
    }
  }
}

/** The runs of roots that are still there which are not held any more. */
function goneRuns(now: State, before: State): Summary[] {
  return [...before.roots.values()].flatMap(({ root, runs }) => {
    const after = now.roots.get(root)?.runs;
    return after ? [...runs.values()].filter((run) => !after.has(run.run)) : [];
  });
}

async function notify(lost: LostRun): Promise<void> {
  if (vscode.workspace.getConfiguration("phasekeeper").get("notifications") !== "all") return;
  const message = `${escapeLabel(titleOf(lost))} is no run any more: ${escapeLabel(lost.because, 300)}. Once that is put back it is there again.`;
  const open = `Open ${escapeLabel(baseName(lost.path), 60)}`;
  if ((await vscode.window.showWarningMessage(message, open)) !== open) return;
  const place = { root: lost.root, path: lost.path, line: null, column: null };
  await vscode.commands.executeCommand("phasekeeper.openPlace", { ...nameOf(lost), place });
}
