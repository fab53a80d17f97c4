import * as assert from "node:assert/strict";
import * as vscode from "vscode";
import type { Api } from "../../src/extension";
import { runsOf } from "../../src/store";

const BOUND_MS = 50_000;

/** The first value that is there, at most a bound later; waits on what the extension tells. */
function until<T>(api: Api, value: () => T | undefined | false): Promise<T> {
  return new Promise((resolve, reject) => {
    const look = (): void => {
      const found = value();
      if (!found) return;
      stop();
      resolve(found);
    };
    const late = setTimeout(() => (stop(), reject(new Error("it did not come to this"))), BOUND_MS);
    const listening = [api.session.store.onChange(look), vscode.languages.onDidChangeDiagnostics(look)];
    const stop = (): void => {
      clearTimeout(late);
      for (const entry of listening) entry.dispose();
    };
    look();
  });
}

suite("in the extension host", () => {
  let api: Api;
  const uri = (...segments: string[]): vscode.Uri => vscode.Uri.joinPath(vscode.workspace.workspaceFolders![0]!.uri, ...segments);

  suiteSetup(async () => {
    api = await vscode.extensions.getExtension<Api>("phasekeeper.phasekeeper")!.activate();
    await until(api, () => runsOf(api.session.store.now).length >= 6);
  });

  test("every command of the manifest is registered", async () => {
    const known = new Set(await vscode.commands.getCommands(true));
    const manifest = api.session.context.extension.packageJSON as { contributes: { commands: { command: string }[] } };
    const missing = manifest.contributes.commands.filter(({ command }) => !known.has(command));
    assert.deepEqual(missing, []);
  });

  test("the trees hold what the server says, and rows become items", async () => {
    const runs = await api.trees["runs"]!.getChildren();
    const plan = runs.find((node) => node.label === "Reading lists");
    assert.ok(plan);
    const inside = await api.trees["runs"]!.getChildren(plan);
    assert.ok(inside.some((node) => node.label === "Plan"));
    assert.equal(api.trees["runs"]!.getTreeItem(plan).contextValue, "run");
  });

  test("a file that nobody has open has its findings", async () => {
    const found = await until(api, () => vscode.languages.getDiagnostics().find(([, list]) => list.some((entry) => entry.source === "phasekeeper")));
    assert.ok(!vscode.workspace.textDocuments.some((document) => document.uri.toString() === found[0].toString()));
  });

  test("a click goes to the line and column that was read from", async () => {
    const place = { root: uri().fsPath, path: ".ai-tools-chain/tasks/late-fees/review/code-review.json", line: 2, column: 9 };
    await vscode.commands.executeCommand("phasekeeper.openPlace", { place });
    const { selection, document } = vscode.window.activeTextEditor!;
    assert.deepEqual([selection.active.line, selection.active.character], [1, 8]);
    assert.equal(document.getText(new vscode.Range(1, 8, 1, 13)), "false");
  });

  test("a path that leads out of its root is not opened", async () => {
    await vscode.commands.executeCommand("workbench.action.closeAllEditors");
    await vscode.commands.executeCommand("phasekeeper.openPlace", { place: { root: uri().fsPath, path: "../../etc/passwd", line: 1, column: 1 } });
    assert.equal(vscode.window.activeTextEditor, undefined);
  });

  test("what is copied for an assistant is the next step of a run", async () => {
    const run = runsOf(api.session.store.now).find((entry) => entry.run.endsWith("late-fees"))!;
    await vscode.commands.executeCommand("phasekeeper.copyPrompt", { root: run.root, run: run.run });
    assert.match(await vscode.env.clipboard.readText(), /Next: Go back to codegen/);
  });

  test("a change on disk reaches the trees without anything being opened", async () => {
    const review = uri(".ai-tools-chain/tasks/late-fees/review/code-review.json");
    const before = await vscode.workspace.fs.readFile(review);
    const phase = (): string | undefined => runsOf(api.session.store.now).find((run) => run.run.endsWith("late-fees"))?.revision;
    const revision = phase();
    await vscode.workspace.fs.writeFile(review, new TextEncoder().encode('{"ok": true, "decision": "approve", "issues": []}'));
    await until(api, () => phase() !== revision);
    await vscode.workspace.fs.writeFile(review, before);
    await until(api, () => phase() === revision);
  });
});
