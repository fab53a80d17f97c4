/** Composes the extension when a window opens. */

import * as vscode from "vscode";
import { keptClaims } from "./claims";
import { isRunRow, registerCommands } from "./commands";
import { registerDrafts } from "./commands/draft";
import { activeFile, filePath, isSameRun } from "./commands/pick";
import { AssistantTerminals } from "./commands/send";
import { registerRecords } from "./commands/show";
import { offerInstall, reportUnusable, showOpenedExample } from "./commands/setup";
import { LostRuns } from "./lost";
import { registerMcpProvider } from "./mcp";
import { registerNotifications } from "./notifications";
import { RunPages } from "./page/panel";
import { FailureLenses, PlanDecorations } from "./planEditor";
import { keyOf, type KeptClaim } from "./protocol";
import { oneLine } from "./sanitize";
import { Client } from "./server/client";
import { FleetBoards } from "./server/fleet";
import type { InstallTarget } from "./server/installation";
import { foldersOnDisk, locateServer, pythonSetting } from "./server/locator";
import { Evaluations, type Session } from "./session";
import { questionCount, rootsAround, runAt, runsOf, Store } from "./store";
import { registerBadges } from "./views/badges";
import { fleetMessage, fleetRows } from "./views/fleet";
import { nextRows } from "./views/next";
import { MAX_RECORDS, recentRows } from "./views/recent";
import { RunListOptions } from "./views/options";
import { runRows, type RunList } from "./views/runs";
import { readiness, staleReason, status } from "./views/status";
import { Tree } from "./views/tree";
import { restrictedMessage, waitingRows, waitingText } from "./views/waiting";

/** So often rows say anew how long ago something was told. */
const AGE_MS = 60_000;

export interface Api {
  readonly session: Session;
  readonly trees: Readonly<Record<string, Tree>>;
  readonly mcp: vscode.McpServerDefinitionProvider<vscode.McpStdioServerDefinition>;
}

export function activate(context: vscode.ExtensionContext): Api {
  const output = vscode.window.createOutputChannel("Phasekeeper", { log: true });
  const store = new Store();
  const installation: InstallTarget = {
    own: vscode.Uri.joinPath(context.globalStorageUri, "venv").fsPath,
    wheels: vscode.Uri.joinPath(context.extensionUri, "server").fsPath,
    platform: process.platform,
  };
  const claims = (): readonly KeptClaim[] => keptClaims(context.workspaceState);
  const client = new Client(store, output, () => locateServer(output, installation), claims);
  const evaluations = new Evaluations(store, (name) => client.request("phasekeeper/run", name));
  const session: Session = { context, output, store, client, evaluations };
  const list = new RunListOptions(context.workspaceState);
  const fleet = new FleetBoards(store, client, output);
  const lost = new LostRuns(session);
  const trees = treesOf(session, list, fleet, lost);
  const pages = new RunPages(session);
  const terminals = new AssistantTerminals();
  const mcp = registerMcpProvider(session);
  context.subscriptions.push(
    output,
    client,
    fleet,
    lost,
    pages,
    terminals,
    ...Object.values(trees),
    new PlanDecorations(session),
    new FailureLenses(session),
    list,
    ...registerCommands(session, {
      trees,
      list,
      fleet,
      pages,
      installation,
      terminals,
    }),
    registerRecords(),
    ...registerDrafts(context.workspaceState),
    ...registerBadges(session),
    ...applyRunList(trees["runs"]!, list),
    lost.onDidChange(() => trees["runs"]!.refresh()),
    ...followActiveFile(session, trees["runs"]!),
    ...followFleet(fleet, trees),
    ...createStatusBar(session),
    refreshTrees(session, trees),
    ...syncContextKey(session),
    registerNotifications(session),
    ...holdVisibleRuns(session),
    ...mcp.disposables,
    ...restartTriggers(session),
    store.onChange(({ server }, before) => {
      if (server === before.server || server.state !== "missing") return;
      void (server.why ? reportUnusable(session, server.why) : offerInstall(session, installation));
    }),
  );
  void showOpenedExample(context);
  void client.restart();
  return { session, trees, mcp: mcp.provider };
}

function restartTriggers({ client }: Session): vscode.Disposable[] {
  let python = pythonSetting();
  return [
    vscode.workspace.onDidGrantWorkspaceTrust(() => void client.restartByUser()),
    vscode.workspace.onDidChangeConfiguration(() => {
      // Granting trust says that every restricted setting changed, also one that did not.
      if (python === pythonSetting()) return;
      python = pythonSetting();
      void client.restartByUser();
    }),
  ];
}

function treesOf(session: Session, list: RunListOptions, fleet: FleetBoards, lost: LostRuns): Record<string, Tree> {
  const { store, evaluations } = session;
  return {
    waiting: new Tree("phasekeeper.waiting", () => waitingRows(store.state, vscode.workspace.isTrusted)),
    runs: new Tree(
      "phasekeeper.runs",
      () => runRows(store.state, (name) => evaluations.get(name), list.value, lost.runs),
      true,
    ),
    next: new Tree("phasekeeper.next", () => nextRows(store.state)),
    fleet: new Tree("phasekeeper.fleet", () =>
      fleetRows(fleet.boards, (project, run) => fleet.clonesOf(project, run), Date.now()),
    ),
    recent: new Tree("phasekeeper.recent", () => recent(session)),
  };
}

/** The rows follow how they are to be listed, and the view says what it is filtered by. */
function applyRunList(tree: Tree, list: RunListOptions): vscode.Disposable[] {
  const show = ({ filter }: RunList): void => {
    tree.view.message = filter ? `Filtered by: ${oneLine(filter)}` : undefined;
  };
  show(list.value);
  return [
    list.onDidChange((value) => {
      show(value);
      tree.refresh();
    }),
  ];
}

/**
 * The view of all machines is there where this one shares a board, and follows that while it is seen. Whether it
 * does is asked anew when somebody comes back to the window or looks at the sidebar.
 */
function followFleet(fleet: FleetBoards, trees: Readonly<Record<string, Tree>>): vscode.Disposable[] {
  const tree = trees["fleet"]!;
  const show = (): void => {
    const { boards } = fleet;
    const isLive = boards.length > 0 && boards.every((board) => board.isRead && !board.outage);
    const state = fleet.isJoined && (isLive ? "live" : "joined");
    void vscode.commands.executeCommand("setContext", "phasekeeper.fleet", state);
    tree.view.message = fleetMessage(boards, fleet.problem);
    tree.refresh();
  };
  const clock = setInterval(() => tree.view.visible && tree.refresh(), AGE_MS);
  return [
    { dispose: () => clearInterval(clock) },
    fleet.onDidChange(show),
    tree.view.onDidChangeVisibility(({ visible }) => fleet.setVisible(visible)),
    vscode.window.onDidChangeWindowState(({ focused }) => void (focused && fleet.look())),
    trees["runs"]!.view.onDidChangeVisibility(({ visible }) => void (visible && fleet.look())),
  ];
}

/** The run of the file in front is selected among the runs, where they are seen. */
function followActiveFile({ store, output }: Session, tree: Tree): vscode.Disposable[] {
  let selected: string | undefined;
  const follow = (): void => {
    if (!vscode.workspace.getConfiguration("phasekeeper").get("autoReveal", true)) return;
    const file = activeFile();
    const run = file ? runAt(store.state, file) : undefined;
    // Who opened the file from a row of the run stays on that row.
    const isSelected = run && tree.view.selection.some(({ subject }) => subject && isSameRun(subject, run));
    if (!run || isSelected || keyOf(run) === selected) return;
    selected = keyOf(run);
    void tree.select((row) => isRunRow(row, run)).catch((error: unknown) => output.debug(String(error)));
  };
  return [vscode.window.onDidChangeActiveTextEditor(follow)];
}

async function recent(session: Session): Promise<ReturnType<typeof recentRows>> {
  if (runsOf(session.store.state).length === 0) return [];
  const { events } = await session.client.request("phasekeeper/recent", { limit: MAX_RECORDS });
  return recentRows(session.store.state, events);
}

function refreshTrees({ store }: Session, trees: Readonly<Record<string, Tree>>): vscode.Disposable {
  return store.onChange((now) => {
    const why = staleReason(now, foldersOnDisk().length);
    for (const tree of Object.values(trees))
      if (why) tree.freeze(why);
      else tree.refresh();
    if (why) return;
    const count = questionCount(now);
    const view = trees["waiting"]!.view;
    view.message = restrictedMessage(now, vscode.workspace.isTrusted);
    view.badge = count ? { value: count, tooltip: waitingText(count) } : undefined;
  });
}

/** Has the runs around the files that are seen held, on whatever page of the board they stand. */
function holdVisibleRuns({ store, client, output }: Session): vscode.Disposable[] {
  const hold = (): void => {
    for (const { document } of vscode.window.visibleTextEditors)
      for (const { root, path } of rootsAround(store.state, filePath(document.uri)))
        void client.loadAround(root, path).catch((error: unknown) => output.debug(String(error)));
  };
  return [store.onChange(hold), vscode.window.onDidChangeVisibleTextEditors(hold)];
}

/** Keeps the context key `phasekeeper.state`, which the views' welcomes and the menus look at. */
function syncContextKey({ store }: Session): vscode.Disposable[] {
  let value: string | undefined;
  const set = (): void => {
    const before = value;
    value = readiness(store.state, foldersOnDisk().length);
    if (value !== before) void vscode.commands.executeCommand("setContext", "phasekeeper.state", value);
  };
  set();
  return [store.onChange(set), vscode.workspace.onDidChangeWorkspaceFolders(set)];
}

/** `phasekeeper.statusBar`: always, only while something waits or the server needs a person, or never. */
function isShown(colour: string, waiting: number): boolean {
  const when = vscode.workspace.getConfiguration("phasekeeper").get("statusBar", "always");
  return when === "always" || (when === "waiting" && (waiting > 0 || colour !== "plain"));
}

function createStatusBar({ store }: Session): vscode.Disposable[] {
  const item = vscode.window.createStatusBarItem("phasekeeper.status", vscode.StatusBarAlignment.Left, 10);
  item.name = "Phasekeeper";
  const draw = (): void => {
    const display = status(store.state, activeFile(), foldersOnDisk().length, vscode.workspace.isTrusted);
    item.text = display.text;
    item.tooltip = display.tooltip.join("\n");
    item.accessibilityInformation = { label: ["Phasekeeper", ...display.tooltip].join(". "), role: "button" };
    item.command = `phasekeeper.${display.click}`;
    item.backgroundColor =
      display.colour === "plain" ? undefined : new vscode.ThemeColor(`statusBarItem.${display.colour}Background`);
    if (isShown(display.colour, questionCount(store.state))) item.show();
    else item.hide();
  };
  draw();
  return [
    item,
    store.onChange(draw),
    vscode.workspace.onDidChangeConfiguration(draw),
    vscode.window.onDidChangeActiveTextEditor(draw),
    vscode.workspace.onDidChangeWorkspaceFolders(draw),
  ];
}
