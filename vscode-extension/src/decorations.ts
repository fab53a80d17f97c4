/** Gutter decorations: the marks of a plan, drawn in the editors of its file. */

import * as vscode from "vscode";
import type { RunName } from "./protocol";
import type { Session } from "./session";
import { runsOf } from "./store";
import { MARK_KINDS, planMarks, type MarkKind, type PlanMark } from "./views/plan";
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
    const marks = on ? await this.marksIn(editor.document.uri) : [];
    const drawable = marks.filter((mark) => mark.line < editor.document.lineCount);
    for (const [kind, type] of this.types)
      editor.setDecorations(type, drawable.filter((mark) => mark.kind === kind).map(optionsOf));
  }

  /** The marks of a file, where it is the plan of a run; only runs around it are asked for. */
  private async marksIn(uri: vscode.Uri): Promise<PlanMark[]> {
    if (uri.scheme !== "file") return [];
    for (const run of runsOf(this.session.store.state).filter((entry) => isInside(entry, uri))) {
      const plan = (await this.session.evaluations.get(run))?.plan;
      if (plan && vscode.Uri.joinPath(vscode.Uri.file(run.root), plan.path).fsPath === uri.fsPath)
        return planMarks(plan);
    }
    return [];
  }
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
