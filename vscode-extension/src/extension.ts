/** What the extension is made of, put together when a window opens. */

import { accessSync, constants, readFileSync, statSync } from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import { Client } from "./server/client";
import { registerCommands } from "./commands";
import { activeFile, messageOf } from "./commands/pick";
import { offerInstall, pythonSetting, tellUnusable } from "./commands/setup";
import { Graphs } from "./graph/panel";
import { isOutdated, renew, type Place } from "./server/installation";
import { Marks } from "./decorations";
import { mcpServer } from "./mcp/provider";
import { notify } from "./notifications";
import { run as runProgram } from "./server/exec";
import { candidates, find, pathFolders, unusable, type Found, type Machine, type Wanted } from "./server/discovery";
import { Evaluations, type Session } from "./session";
import { asked, onMissing, Store, runsOf } from "./store";
import { plural } from "./sanitize";
import { nextNodes } from "./views/next";
import { recentNodes, SHOWN } from "./views/recent";
import { runNodes } from "./views/runs";
import { held, restricted, stage } from "./views/readiness";
import { status } from "./views/status";
import { Tree } from "./views/tree";
import { waitingNodes } from "./views/waiting";

const MOST_LAUNCHER_BYTES = 1 << 20;
const PROBE_MS = 20_000;

export interface Api {
  readonly session: Session;
  readonly trees: Readonly<Record<string, Tree>>;
  readonly mcp: vscode.McpServerDefinitionProvider<vscode.McpStdioServerDefinition>;
}

export async function activate(context: vscode.ExtensionContext): Promise<Api> {
  const output = vscode.window.createOutputChannel("Phasekeeper", { log: true });
  const store = new Store();
  const installation: Place = {
    own: vscode.Uri.joinPath(context.globalStorageUri, "venv").fsPath,
    wheels: vscode.Uri.joinPath(context.extensionUri, "server").fsPath,
    platform: process.platform,
  };
  const client = new Client(store, output, () => findServer(output, installation));
  const evaluations = new Evaluations(store, (name) => client.request("phasekeeper/run", name));
  const session: Session = { context, output, store, client, evaluations };
  const trees = treesOf(session);
  const graphs = new Graphs(session);
  const mcp = mcpServer(session);
  const pythons = (): Promise<string[]> => Promise.resolve(pythonsOnPath());
  context.subscriptions.push(
    output,
    client,
    graphs,
    ...Object.values(trees),
    new Marks(session),
    ...registerCommands(session, { next: trees["next"]!, graphs, pythons, installation }),
    ...statusBar(session),
    refreshing(session, trees),
    ...contextKey(session),
    notify(session),
    ...mcp.disposables,
    ...restarting(session),
    onMissing(store, (why) => (why ? tellUnusable(session, why) : offerInstall(session, pythons, installation))),
  );
  void client.restart();
  return { session, trees, mcp: mcp.provider };
}

// ---- the server -----------------------------------------------------------------------------------

function machine(): Machine {
  const read = (file: string): string => {
    try {
      return statSync(file).size > MOST_LAUNCHER_BYTES ? "" : readFileSync(file, "latin1");
    } catch {
      return "";
    }
  };
  return { platform: process.platform, path: process.env["PATH"] ?? "", isFile, read };
}

function isFile(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

function wanted(own: string): Wanted {
  return {
    setting: pythonSetting(),
    own,
    trusted: vscode.workspace.isTrusted,
    folders: foldersOnDisk(),
  };
}

const foldersOnDisk = (): string[] =>
  (vscode.workspace.workspaceFolders ?? [])
    .filter((folder) => folder.uri.scheme === "file")
    .map((folder) => folder.uri.fsPath);

async function findServer(output: vscode.LogOutputChannel, installation: Place): Promise<Found | { why?: string }> {
  const here = wanted(installation.own);
  let said = "";
  const found = await find(candidates(here, machine()), async (python, args) => {
    const ended = await runProgram(python, args, { timeoutMs: PROBE_MS });
    said = ended.stderr || ended.stdout;
    if (ended.code !== 0) output.info(`${python} has no Phasekeeper: ${said.trim().split("\n").at(-1) ?? ""}`);
    return ended.code === 0 ? ended.stdout : undefined;
  });
  if (!found) return { why: here.setting ? unusable(here.setting, machine(), said) : undefined };
  if (found.from === "own" && (await isOutdated(installation))) await renewed(output, installation);
  return found;
}

/** After an update of the extension its own installation is renewed; the old one serves where that fails. */
async function renewed(output: vscode.LogOutputChannel, installation: Place): Promise<void> {
  const options = { location: vscode.ProgressLocation.Window, title: "Phasekeeper: updating the server" };
  const onLine = (line: string): void => output.info(line);
  try {
    await vscode.window.withProgress(options, () => renew(installation, runProgram, { onLine }));
  } catch (error) {
    output.warn(messageOf(error));
  }
}

/** Interpreters on PATH, by name, newest first. */
function pythonsOnPath(): string[] {
  const windows = process.platform === "win32";
  const names = ["python3.14", "python3.13", "python3.12", "python3.11", "python3", "python"].map((name) =>
    windows ? `${name}.exe` : name,
  );
  const folders = pathFolders(wanted(""), machine());
  return names.flatMap((name) => folders.map((folder) => path.join(folder, name))).filter(isFile);
}

function restarting({ client }: Session): vscode.Disposable[] {
  let python = pythonSetting();
  return [
    vscode.workspace.onDidGrantWorkspaceTrust(() => void client.restartByHand()),
    vscode.workspace.onDidChangeConfiguration(() => {
      // Granting trust says that every restricted setting changed, also one that did not.
      if (python === pythonSetting()) return;
      python = pythonSetting();
      void client.restartByHand();
    }),
  ];
}

// ---- what is shown --------------------------------------------------------------------------------

function treesOf(session: Session): Record<string, Tree> {
  const { store, evaluations } = session;
  return {
    waiting: new Tree("phasekeeper.waiting", () => waitingNodes(store.now, vscode.workspace.isTrusted)),
    runs: new Tree("phasekeeper.runs", () => runNodes(store.now, (name) => evaluations.get(name))),
    next: new Tree("phasekeeper.next", () => nextNodes(store.now)),
    recent: new Tree("phasekeeper.recent", () => recent(session)),
  };
}

async function recent(session: Session): Promise<ReturnType<typeof recentNodes>> {
  if (runsOf(session.store.now).length === 0) return [];
  const { events } = await session.client.request("phasekeeper/recent", { limit: SHOWN });
  return recentNodes(session.store.now, events);
}

function refreshing({ store }: Session, trees: Readonly<Record<string, Tree>>): vscode.Disposable {
  return store.onChange((now) => {
    const why = held(now, foldersOnDisk().length);
    for (const tree of Object.values(trees)) why ? tree.hold(why) : tree.refresh();
    if (why) return;
    const count = asked(now).length;
    const view = trees["waiting"]!.view;
    view.message = restricted(now, vscode.workspace.isTrusted);
    view.badge = count
      ? { value: count, tooltip: `${plural(count, "thing")} ${count === 1 ? "waits" : "wait"} for you` }
      : undefined;
  });
}

/** `phasekeeper.state` is what the views' welcomes and the menus look at. */
function contextKey({ store }: Session): vscode.Disposable[] {
  let said: string | undefined;
  const set = (): void => {
    const now = stage(store.now, foldersOnDisk().length);
    if (now !== said) void vscode.commands.executeCommand("setContext", "phasekeeper.state", now);
    said = now;
  };
  set();
  return [store.onChange(set), vscode.workspace.onDidChangeWorkspaceFolders(set)];
}

function statusBar({ store }: Session): vscode.Disposable[] {
  const item = vscode.window.createStatusBarItem("phasekeeper.status", vscode.StatusBarAlignment.Left, 10);
  item.name = "Phasekeeper";
  const draw = (): void => {
    const said = status(store.now, activeFile(), foldersOnDisk().length, vscode.workspace.isTrusted);
    item.text = said.text;
    item.tooltip = said.tooltip.join("\n");
    item.accessibilityInformation = { label: ["Phasekeeper", ...said.tooltip].join(". "), role: "button" };
    item.command = `phasekeeper.${said.click}`;
    item.backgroundColor =
      said.colour === "plain" ? undefined : new vscode.ThemeColor(`statusBarItem.${said.colour}Background`);
  };
  draw();
  item.show();
  return [
    item,
    store.onChange(draw),
    vscode.window.onDidChangeActiveTextEditor(draw),
    vscode.workspace.onDidChangeWorkspaceFolders(draw),
  ];
}
