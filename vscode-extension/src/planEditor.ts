/** Editors of a plan's file: the marks of its tasks in the gutter, and a lens above each task that failed. */

import * as vscode from "vscode";
import { taskTitles } from "./names";
import { nameOf, type Evaluation, type RunName, type Summary } from "./protocol";
import { oneLine } from "./sanitize";
import type { Session } from "./session";
import { runsOf } from "./store";
import { failedTasks, MARK_KINDS, planMarks, taskLabel, type MarkKind, type PlanMark } from "./views/plan";
import { staleReason } from "./views/status";

export class PlanDecorations implements vscode.Disposable {
  private readonly types: ReadonlyMap<MarkKind, vscode.TextEditorDecorationType>;
  private readonly disposables: vscode.Disposable[];

  constructor(private readonly session: Session) {
    const media = vscode.Uri.joinPath(session.context.extensionUri, "media");
    this.types = new Map(
      MARK_KINDS.map((kind) => {
        // Each of the two serves high contrast of its kind too.
        const gutterIcon = (theme: string): vscode.ThemableDecorationRenderOptions => ({
          gutterIconPath: vscode.Uri.joinPath(media, `task-${kind}-${theme}.svg`),
          gutterIconSize: "contain",
        });
        return [
          kind,
          vscode.window.createTextEditorDecorationType({ light: gutterIcon("light"), dark: gutterIcon("dark") }),
        ];
      }),
    );
    const draw = (): void => this.draw();
    this.disposables = [
      ...this.types.values(),
      session.store.onChange(draw),
      vscode.window.onDidChangeVisibleTextEditors(draw),
      vscode.workspace.onDidChangeConfiguration(draw),
    ];
    draw();
  }

  dispose(): void {
    for (const disposable of this.disposables) disposable.dispose();
  }

  private draw(): void {
    if (staleReason(this.session.store.state, vscode.workspace.workspaceFolders?.length ?? 0)) return;
    for (const editor of vscode.window.visibleTextEditors)
      void this.drawIn(editor).catch((error: unknown) => this.session.output.debug(String(error)));
  }

  private async drawIn(editor: vscode.TextEditor): Promise<void> {
    const on = vscode.workspace.getConfiguration("phasekeeper").get("planMarks", true);
    const plan = on ? (await runPlannedIn(this.session, editor.document.uri))?.plan : undefined;
    const marks = plan ? planMarks(plan) : [];
    const drawable = marks.filter((mark) => mark.line < editor.document.lineCount);
    for (const [kind, type] of this.types)
      editor.setDecorations(type, drawable.filter((mark) => mark.kind === kind).map(optionsOf));
  }
}

/** Lenses that show the report that failed a task beside its line, as the Testing view does. */
export class FailureLenses implements vscode.CodeLensProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChangeCodeLenses = this.changed.event;
  /** The revisions of the runs around each file, by its address, as they were when its lenses were asked for. */
  private readonly answered = new Map<string, string>();
  private readonly disposables: vscode.Disposable[];

  constructor(private readonly session: Session) {
    this.disposables = [
      this.changed,
      // An editor asks all who give lenses again, the server too: not for runs that it does not show.
      session.store.onChange(() => {
        const shown = vscode.window.visibleTextEditors.map(({ document }) => document.uri);
        if (shown.some((uri) => this.revisionsAround(uri) !== (this.answered.get(uri.toString()) ?? "")))
          this.changed.fire();
      }),
      vscode.workspace.onDidChangeConfiguration((change) => {
        if (change.affectsConfiguration("phasekeeper.lenses")) this.changed.fire();
      }),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => this.answered.delete(uri.toString())),
      vscode.languages.registerCodeLensProvider({ scheme: "file" }, this),
    ];
  }

  dispose(): void {
    for (const disposable of this.disposables) disposable.dispose();
  }

  async provideCodeLenses({ uri, lineCount }: vscode.TextDocument): Promise<vscode.CodeLens[]> {
    this.answered.set(uri.toString(), this.revisionsAround(uri));
    if (!vscode.workspace.getConfiguration("phasekeeper").get("lenses", true)) return [];
    const run = await runPlannedIn(this.session, uri);
    return failedTasks(run?.plan ?? null)
      .filter((task) => task.line <= lineCount)
      .map((task) => {
        const title = `${oneLine(taskLabel(task, taskTitles(run?.plan?.stages)))} · Peek Failure`;
        const subject = { ...nameOf(run!), task: task.id };
        const range = new vscode.Range(task.line - 1, 0, task.line - 1, 0);
        return new vscode.CodeLens(range, { title, command: "phasekeeper.peekFailure", arguments: [subject] });
      });
  }

  private revisionsAround(uri: vscode.Uri): string {
    return runsAround(this.session, uri)
      .map(({ revision }) => revision)
      .join();
  }
}

/** The runs in whose folders a file lies, and those that are parts of it. */
const runsAround = ({ store }: Session, uri: vscode.Uri): Summary[] =>
  uri.scheme === "file" ? runsOf(store.state).filter((entry) => isInside(entry, uri)) : [];

/** The run whose plan a file is; only runs around the file are asked for. */
async function runPlannedIn(session: Session, uri: vscode.Uri): Promise<Evaluation | undefined> {
  for (const name of runsAround(session, uri)) {
    const run = await session.evaluations.get(name);
    const plan = run?.plan;
    if (plan && vscode.Uri.joinPath(vscode.Uri.file(run.root), plan.path).fsPath === uri.fsPath) return run;
  }
  return undefined;
}

/** True for a file in the run's folder, and for the file that the run FILE#UNIT is a part of. */
function isInside(run: RunName, uri: vscode.Uri): boolean {
  const { path } = vscode.Uri.joinPath(vscode.Uri.file(run.root), run.run);
  return uri.path.startsWith(`${path}/`) || path.startsWith(`${uri.path}#`);
}

function optionsOf(mark: PlanMark): vscode.DecorationOptions {
  return {
    range: new vscode.Range(mark.line, 0, mark.line, 0),
    hoverMessage: new vscode.MarkdownString().appendText(mark.label),
  };
}
