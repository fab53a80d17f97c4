/** The connection to the language server: starts it, restarts it after a crash, and feeds its notifications to the store. */

import { spawn, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { homedir } from "node:os";
import * as vscode from "vscode";
import {
  CloseAction,
  ErrorAction,
  LanguageClient,
  RevealOutputChannelOn,
  State,
  WorkDoneProgress,
  type LanguageClientOptions,
} from "vscode-languageclient/node";
import type {
  BoardRoot,
  Changed,
  KeptClaim,
  PageRequest,
  Requests,
  RunName,
  SharedBoardChange,
  Summary,
} from "../protocol";
import { escapeLabel, messageOf } from "../sanitize";
import { followsGap, leavesNoRuns, missing, runOf, type PageKind, type ServerState, type Store } from "../store";
import { ARGUMENTS, describeServer, type ServerPython } from "./discovery";
import { ProblemFilter } from "./problems";

const LANGUAGES = ["markdown", "json", "jsonc", "jsonl", "yaml"];
const STOP_MS = 3000;
/** A start that takes longer is shown as slow. */
const SLOW_MS = 20_000;
/** A server that was up this long did not crash at its start. */
const STEADY_MS = 60_000;
/** Commands of the server's lenses and fixes that have a better form here than a message: a row, a dialog. */
const REPLACED_COMMANDS: Readonly<Record<string, string>> = {
  "phasekeeper.show": "phasekeeper.showNextStep",
  "phasekeeper.decide": "phasekeeper.answerQuestion",
  "phasekeeper.runChecks": "phasekeeper.runCheck",
  "phasekeeper.override": "phasekeeper.overrideGate",
};

/** So many runs of a root are shown at first, and come with each further page. */
export const PAGE_RUNS = 100;
/** The server gives no longer ones. */
const MOST_RUNS = 500;
/** So often a page that was overtaken by changes is asked for before the whole board is. */
const MOST_TRIES = 5;

/** How long to wait before the next start, after `crashes` in a row; undefined when it is no use any more. */
export function backOff(crashes: number): number | undefined {
  return crashes > 6 ? undefined : Math.min(1000 * 2 ** (crashes - 1), 30_000);
}

/**
 * The protocol's client without messages of its own: `Client` says how a start that failed goes on, and of one that
 * is not wanted any more nothing is an error.
 */
class QuietClient extends LanguageClient {
  isWanted = true;

  override error(message: string, data?: unknown): void {
    if (this.isWanted) super.error(message, data, false);
  }
}

export class Client implements vscode.Disposable {
  private client: QuietClient | undefined;
  private process: ChildProcess | undefined;
  private lastErrorLine = "";
  private python: ServerPython | undefined;
  private crashes = 0;
  private startedAt = 0;
  private timer: NodeJS.Timeout | undefined;
  private restarting: Promise<void> = Promise.resolve();
  private hasQueuedRestart = false;
  private isDisposed = false;
  /** The files whose runs were asked for since the last board. */
  private readonly askedAround = new Set<string>();

  private readonly problems = new ProblemFilter();

  /** Called with each change of a board that machines share. */
  onFleetChanged: (change: SharedBoardChange) => void = () => undefined;

  /**
   * `find` gives the Python that runs the server, or why the one that a setting names does not; `claims` those that
   * were made in this window.
   */
  constructor(
    private readonly store: Store,
    private readonly output: vscode.LogOutputChannel,
    private readonly find: () => Promise<ServerPython | { readonly why?: string }>,
    private readonly claims: () => readonly KeptClaim[] = () => [],
  ) {}

  /** What runs the server; undefined while there is none. */
  get server(): ServerPython | undefined {
    return this.python;
  }

  /** Start, or start anew. One start goes on at a time, and at most one more waits for it. */
  restart(): Promise<void> {
    if (this.hasQueuedRestart) return this.restarting;
    this.hasQueuedRestart = true;
    this.restarting = this.restarting.then(async () => {
      this.hasQueuedRestart = false;
      await this.start();
    });
    return this.restarting;
  }

  /** Restart without a pause because a person wants it; a start that hangs is killed. */
  restartByUser(): Promise<void> {
    this.crashes = 0;
    if (this.store.state.server.state !== "ready") this.abandon();
    return this.restart();
  }

  /** End a start that goes on: what becomes of it is nobody's concern. */
  private abandon(): void {
    if (this.client) this.client.isWanted = false;
    this.client = undefined;
    this.process?.kill("SIGKILL");
  }

  async request<M extends keyof Requests>(method: M, params: Requests[M][0]): Promise<Requests[M][1]> {
    const client = this.client;
    if (!client || client.state !== State.Running) throw new Error("Phasekeeper's server is not running");
    return client.sendRequest<Requests[M][1]>(method, params);
  }

  /** A request that takes a while: `show` is told how far it is, and it ends when the token says so. */
  async requestWithProgress<M extends keyof Requests>(
    method: M,
    params: Requests[M][0],
    show: (message: string) => void,
    token: vscode.CancellationToken,
  ): Promise<Requests[M][1]> {
    const client = this.client;
    if (!client || client.state !== State.Running) throw new Error("Phasekeeper's server is not running");
    const workDoneToken = randomUUID();
    const listening = client.onProgress(WorkDoneProgress.type, workDoneToken, (value) => {
      if (value.kind === "report" && value.message) show(value.message);
    });
    try {
      return await client.sendRequest<Requests[M][1]>(method, { ...params, workDoneToken }, token);
    } finally {
      listening.dispose();
    }
  }

  /** Ask for everything anew: of each root the first page, as long as what was held. */
  async refreshBoard(): Promise<void> {
    const client = this.client;
    const held = [...this.store.state.roots.values()].map((root) => root.runs.size);
    const board = await this.request("phasekeeper/board", { limit: Math.min(Math.max(PAGE_RUNS, ...held), MOST_RUNS) });
    if (client !== this.client) return;
    this.askedAround.clear();
    this.store.dispatch({ kind: "board", board });
  }

  /** Add the next page of a root to what is held; nothing where all of it is. */
  async loadMore(root: string, of: PageKind): Promise<void> {
    const after = this.store.state.roots.get(root)?.next[of];
    if (after) await this.loadPage({ root, limit: PAGE_RUNS, after }, of);
  }

  /** A run by its name, which is asked for where it is not held; undefined where there is none. */
  async loadRun(name: RunName): Promise<Summary | undefined> {
    const root = this.store.state.roots.get(name.root);
    if (root && !root.runs.has(name.run) && missing(root).runs > 0)
      await this.loadPage({ root: name.root, around: name.run });
    return runOf(this.store.state, name);
  }

  /** Hold the run around a file, whose path is relative to the root; it is asked for once a board. */
  async loadAround(root: string, path: string): Promise<void> {
    const key = `${root}\n${path}`;
    if (this.askedAround.has(key)) return;
    this.askedAround.add(key);
    await this.loadPage({ root, around: path });
  }

  private async loadPage(params: PageRequest, of?: PageKind): Promise<void> {
    const client = this.client;
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const [page] = (await this.request("phasekeeper/board", params)).roots;
      if (client !== this.client || !page) return;
      if (this.isCurrent(page)) return this.store.dispatch({ kind: "page", page, of });
    }
    await this.refreshBoard();
  }

  private isCurrent(page: BoardRoot): boolean {
    return page.version >= (this.store.state.roots.get(page.root)?.version ?? 0);
  }

  async stop(): Promise<void> {
    clearTimeout(this.timer);
    const client = this.client;
    this.client = undefined;
    // One that failed to start cannot be stopped either.
    await client?.dispose(STOP_MS).catch((error: unknown) => this.output.debug(String(error)));
  }

  dispose(): void {
    this.isDisposed = true;
    this.problems.dispose();
    void this.stop();
  }

  private setServerState(server: ServerState): void {
    this.store.dispatch({ kind: "server", server });
  }

  private async start(): Promise<void> {
    await this.stop();
    if (this.isDisposed) return;
    if (this.store.state.server.state !== "starting") this.setServerState({ state: "starting" });
    const timer = setTimeout(() => this.reportSlow(), SLOW_MS);
    try {
      const result = await this.find();
      this.python = "python" in result ? result : undefined;
      if ("python" in result) await this.connect(result);
      else this.setServerState({ state: "missing", why: result.why });
    } finally {
      clearTimeout(timer);
    }
  }

  private reportSlow(): void {
    if (this.store.state.server.state !== "starting") return;
    this.output.warn(
      `The server has not answered for ${SLOW_MS / 1000} s. It is waited for; “Restart Server” begins anew.`,
    );
    this.setServerState({ state: "slow" });
  }

  private async connect(python: ServerPython): Promise<void> {
    const description = describeServer(python);
    this.output.info(description);
    const options = this.options(() => this.onExit(client, "it ended by itself"));
    const client = new QuietClient("phasekeeper", "Phasekeeper", () => this.spawnServer(python), options);
    this.client = client;
    this.startedAt = Date.now();
    client.onNotification("phasekeeper/fleetChanged", (change: SharedBoardChange) => {
      if (client === this.client) this.onFleetChanged(change);
    });
    client.onNotification("phasekeeper/changed", (change: Changed) => this.onChanged(client, change));
    try {
      await client.start();
      if (client !== this.client) return;
      this.setServerState({ state: "ready", description });
      await this.refreshBoard();
    } catch (error) {
      this.onExit(client, messageOf(error));
    }
  }

  private async spawnServer({ python }: ServerPython): Promise<ChildProcess> {
    const child = spawn(python, [...ARGUMENTS, "lsp"], { cwd: homedir(), windowsHide: true });
    this.process = child;
    this.lastErrorLine = "";
    child.stderr?.on(
      "data",
      (text: Buffer) => (this.lastErrorLine = text.toString().trim().split(/\r?\n/).at(-1) || this.lastErrorLine),
    );
    child.on("error", (error) => this.output.debug(String(error)));
    await once(child, "spawn");
    return child;
  }

  private options(onClose: () => void): LanguageClientOptions {
    return {
      documentSelector: LANGUAGES.map((language) => ({ scheme: "file", language })),
      outputChannel: this.output,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      initializationOptions: {
        trusted: vscode.workspace.isTrusted,
        phasekeeper: { client: "vscode", decides: true, pages: true, claims: this.claims() },
      },
      initializationFailedHandler: () => false,
      middleware: {
        executeCommand: (command, args, next) => {
          const ours = REPLACED_COMMANDS[command];
          return ours ? vscode.commands.executeCommand<unknown>(ours, args[0]) : (next(command, args) as unknown);
        },
        handleDiagnostics: (uri, diagnostics, next) => this.problems.handle(uri, diagnostics, next),
        provideCodeLenses: (document, token, next) =>
          vscode.workspace.getConfiguration("phasekeeper").get("lenses", true) ? next(document, token) : [],
      },
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => {
          onClose();
          return { action: CloseAction.DoNotRestart, handled: true };
        },
      },
    };
  }

  private onChanged(client: QuietClient, change: Changed): void {
    if (client !== this.client) return;
    if (followsGap(this.store.state, change) || leavesNoRuns(this.store.state, change))
      void this.refreshBoard().catch((error: unknown) => this.output.warn(String(error)));
    else this.store.dispatch({ kind: "changed", change });
  }

  /** The server ended by itself: start it again after a growing pause, and give up in the end. */
  private onExit(client: QuietClient, why: string): void {
    if (client !== this.client || this.isDisposed) return;
    this.client = undefined;
    this.crashes = Date.now() - this.startedAt > STEADY_MS ? 1 : this.crashes + 1;
    const wait = backOff(this.crashes);
    this.output.error(`The server has stopped: ${why}.` + (wait ? ` It is started again in ${wait / 1000} s.` : ""));
    this.setServerState(wait ? { state: "starting", why } : { state: "failed", why });
    clearTimeout(this.timer);
    if (wait) this.timer = setTimeout(() => void this.restart(), wait);
    else void this.giveUp(why);
  }

  private async giveUp(why: string): Promise<void> {
    const message = `Phasekeeper's server stops again and again: ${escapeLabel(this.lastErrorLine || why, 300)}`;
    const choice = await vscode.window.showErrorMessage(message, "Restart Server", "Show Output");
    if (choice === "Restart Server") await this.restartByUser();
    if (choice === "Show Output") this.output.show();
  }
}
