/** Which of the server's diagnostics are shown as problems: `phasekeeper.problems`. */

import * as vscode from "vscode";

type Next = (uri: vscode.Uri, diagnostics: vscode.Diagnostic[]) => void;

/** The least severity that each value of the setting shows. */
const LEAST: Readonly<Record<string, vscode.DiagnosticSeverity | undefined>> = {
  errors: vscode.DiagnosticSeverity.Error,
  warnings: vscode.DiagnosticSeverity.Warning,
};

export function shownProblems(diagnostics: readonly vscode.Diagnostic[], setting: string): vscode.Diagnostic[] {
  const least = setting === "none" ? -1 : (LEAST[setting] ?? vscode.DiagnosticSeverity.Hint);
  return diagnostics.filter(({ severity }) => severity <= least);
}

/** Passes on what the setting shows, and does so again for all files once it is another. */
export class ProblemFilter implements vscode.Disposable {
  private readonly received = new Map<string, { uri: vscode.Uri; diagnostics: vscode.Diagnostic[]; next: Next }>();
  private readonly listening = vscode.workspace.onDidChangeConfiguration((change) => {
    if (!change.affectsConfiguration("phasekeeper.problems")) return;
    for (const { uri, diagnostics, next } of this.received.values()) this.pass(uri, diagnostics, next);
  });

  handle(uri: vscode.Uri, diagnostics: vscode.Diagnostic[], next: Next): void {
    if (diagnostics.length) this.received.set(uri.toString(), { uri, diagnostics, next });
    else this.received.delete(uri.toString());
    this.pass(uri, diagnostics, next);
  }

  dispose(): void {
    this.listening.dispose();
  }

  private pass(uri: vscode.Uri, diagnostics: vscode.Diagnostic[], next: Next): void {
    const setting = vscode.workspace.getConfiguration("phasekeeper", uri).get("problems", "all");
    next(uri, shownProblems(diagnostics, setting));
  }
}
