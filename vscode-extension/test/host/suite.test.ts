import * as assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import * as path from "node:path";
import { createInterface } from "node:readline";
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

/** What the process that a definition names answers to an assistant's first requests: its name, and its tools. */
async function answers(definition: vscode.McpStdioServerDefinition): Promise<{ name: string; tools: string[] }> {
  const env = { ...process.env, ...(definition.env as Record<string, string>) };
  const child = spawn(definition.command, definition.args, {
    cwd: definition.cwd?.fsPath,
    env,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const ask = async (id: number, method: string, params: object): Promise<unknown> => {
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    for (;;) {
      const line = await lines.next();
      if (line.done) throw new Error(`it ended before it answered ${method}`);
      const message = JSON.parse(line.value) as { id?: number; result?: unknown };
      if (message.id === id) return message.result;
    }
  };
  const begun = await ask(1, "initialize", {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "test", version: "1" },
  });
  child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })}\n`);
  const { tools } = (await ask(2, "tools/list", {})) as { tools: { name: string }[] };
  child.stdin.end();
  await once(child, "exit");
  return { name: (begun as { serverInfo: { name: string } }).serverInfo.name, tools: tools.map((tool) => tool.name) };
}

suite("in the extension host", () => {
  let api: Api;
  const uri = (...segments: string[]): vscode.Uri =>
    vscode.Uri.joinPath(vscode.workspace.workspaceFolders![0]!.uri, ...segments);

  suiteSetup(async () => {
    api = await vscode.extensions.getExtension<Api>("phasekeeper.phasekeeper")!.activate();
    await until(api, () => runsOf(api.session.store.state).length >= 6);
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
    assert.equal(api.trees["runs"]!.getTreeItem(plan).contextValue, "run going overridable revertible");
  });

  test("a file that nobody has open has its findings", async () => {
    const found = await until(api, () =>
      vscode.languages.getDiagnostics().find(([, list]) => list.some((entry) => entry.source === "phasekeeper")),
    );
    assert.ok(!vscode.workspace.textDocuments.some((document) => document.uri.toString() === found[0].toString()));
  });

  test("a click goes to the line and column that was read from", async () => {
    const place = {
      root: uri().fsPath,
      path: ".ai-tools-chain/tasks/late-fees/review/code-review.json",
      line: 2,
      column: 9,
    };
    await vscode.commands.executeCommand("phasekeeper.openPlace", { place });
    const { selection, document } = vscode.window.activeTextEditor!;
    assert.deepEqual([selection.active.line, selection.active.character], [1, 8]);
    assert.equal(document.getText(new vscode.Range(1, 8, 1, 13)), "false");
  });

  test("a path that leads out of its root is not opened", async () => {
    await vscode.commands.executeCommand("workbench.action.closeAllEditors");
    await vscode.commands.executeCommand("phasekeeper.openPlace", {
      place: { root: uri().fsPath, path: "../../etc/passwd", line: 1, column: 1 },
    });
    assert.equal(vscode.window.activeTextEditor, undefined);
  });

  test("what is copied for an assistant is the next step of a run", async () => {
    const run = runsOf(api.session.store.state).find((entry) => entry.run.endsWith("late-fees"))!;
    await vscode.commands.executeCommand("phasekeeper.copyPrompt", { root: run.root, run: run.run });
    assert.match(await vscode.env.clipboard.readText(), /Next: Go back to codegen/);
  });

  test("a change on disk reaches the trees without anything being opened", async () => {
    const review = uri(".ai-tools-chain/tasks/late-fees/review/code-review.json");
    const before = await vscode.workspace.fs.readFile(review);
    const phase = (): string | undefined =>
      runsOf(api.session.store.state).find((run) => run.run.endsWith("late-fees"))?.revision;
    const revision = phase();
    await vscode.workspace.fs.writeFile(
      review,
      new TextEncoder().encode('{"ok": true, "decision": "approve", "issues": []}'),
    );
    await until(api, () => phase() !== revision);
    await vscode.workspace.fs.writeFile(review, before);
    await until(api, () => phase() === revision);
  });

  const provided = async (): Promise<vscode.McpStdioServerDefinition | undefined> =>
    (await api.mcp.provideMcpServerDefinitions(new vscode.CancellationTokenSource().token))?.[0];

  test("assistants are given nothing in a workspace that is not trusted", async () => {
    assert.equal(vscode.workspace.isTrusted, false);
    assert.equal(await provided(), undefined);
  });

  test("with trust they are given a server that answers, in the first folder", async () => {
    const trusted = new Promise<void>((resolve) => vscode.workspace.onDidGrantWorkspaceTrust(resolve));
    // Who runs these tests presses the button.
    await vscode.commands.executeCommand("workbench.trust.manage");
    await trusted;
    await until(
      api,
      () => api.session.store.state.server.state === "ready" && runsOf(api.session.store.state).length >= 6,
    );
    const definition = (await provided())!;
    assert.equal(definition.command, vscode.workspace.getConfiguration("phasekeeper").get("python"));
    assert.deepEqual(definition.args, ["-I", "-m", "phasekeeper", "mcp"]);
    assert.equal(definition.cwd?.fsPath, uri().fsPath);
    const { name, tools } = await answers(definition);
    assert.equal(name, "phasekeeper");
    for (const tool of ["status", "next_step", "check_gate", "report"]) assert.ok(tools.includes(tool), tool);
  });

  test("when the setting names another Python, assistants are given that one, and none while it is of no use", async () => {
    const settings = vscode.workspace.getConfiguration("phasekeeper");
    const before = settings.get<string>("python")!;
    const other = path.join(homedir(), "other-python");
    await writeFile(other, `#!/bin/sh\nexec '${before}' "$@"\n`, { mode: 0o755 });
    const use = async (python: string, state: string): Promise<string | undefined> => {
      const changed = new Promise<void>((resolve) => api.mcp.onDidChangeMcpServerDefinitions!(() => resolve()));
      await settings.update("python", python, vscode.ConfigurationTarget.Global);
      await changed;
      await until(api, () => api.session.store.state.server.state === state);
      return (await provided())?.command;
    };
    assert.equal(await use("/nowhere/python", "missing"), undefined);
    assert.equal(await use(other, "ready"), other);
    assert.equal(await use(before, "ready"), before);
    await until(api, () => runsOf(api.session.store.state).length >= 6);
  });
});
