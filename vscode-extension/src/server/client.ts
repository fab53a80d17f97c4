/** The connection to the language server: started, restarted after a crash, and what it says put into the store. */

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { homedir } from "node:os";
import * as vscode from "vscode";
import {
  CloseAction,
  ErrorAction,
  LanguageClient,
  RevealOutputChannelOn,
  State,
  type LanguageClientOptions,
} from "vscode-languageclient/node";
import type { Changed, Requests } from "../protocol";
import { ARGUMENTS, SLOW_MS, STEADY_MS, backOff, foundSaid, type Found } from "./discovery";
import { emptied, missed, type Server, type Store } from "../store";
import { literal } from "../sanitize";

const LANGUAGES = ["markdown", "json", "jsonc", "jsonl", "yaml"];
const STOP_MS = 3000;
const OURS: Readonly<Record<string, string>> = {
  "phasekeeper.show": "phasekeeper.showNextStep",
  "phasekeeper.decide": "phasekeeper.answerQuestion",
};

export class Client implements vscode.Disposable {
  private client: LanguageClient | undefined;
  private process: ChildProcess | undefined;
  private lastWords = "";
  private found: Found | undefined;
  private crashes = 0;
  private startedAt = 0;
  private timer: NodeJS.Timeout | undefined;
  private turn: Promise<void> = Promise.resolve();
  private queued = false;
  private disposed = false;

  /** `find` says which Python runs the server, or that there is none, and why where a setting named one. */
  constructor(
    private readonly store: Store,
    private readonly output: vscode.LogOutputChannel,
    private readonly find: () => Promise<Found | { readonly why?: string }>,
  ) {}

  /** What runs the server; undefined while none was found. */
  get server(): Found | undefined {
    return this.found;
  }

  /** Start, or start anew. One start goes on at a time, and at most one more waits for it. */
  restart(): Promise<void> {
    if (this.queued) return this.turn;
    this.queued = true;
    this.turn = this.turn.then(async () => {
      this.queued = false;
      await this.begin();
    });
    return this.turn;
  }

  /** What a person asked for starts with a clean slate, also where a start goes on that comes to no end. */
  restartByHand(): Promise<void> {
    this.crashes = 0;
    if (this.store.now.server.state !== "ready") this.process?.kill("SIGKILL");
    return this.restart();
  }

  async request<M extends keyof Requests>(method: M, params: Requests[M][0]): Promise<Requests[M][1]> {
    const client = this.client;
    if (!client || client.state !== State.Running) throw new Error("Phasekeeper's server is not running");
    return client.sendRequest<Requests[M][1]>(method, params);
  }

  /** Ask for everything anew. */
  async board(): Promise<void> {
    const client = this.client;
    const board = await this.request("phasekeeper/board", {});
    if (client === this.client) this.store.tell({ kind: "board", board });
  }

  async stop(): Promise<void> {
    clearTimeout(this.timer);
    const client = this.client;
    this.client = undefined;
    // One that failed to start cannot be stopped either.
    await client?.dispose(STOP_MS).catch((error: unknown) => this.output.debug(String(error)));
  }

  dispose(): void {
    this.disposed = true;
    void this.stop();
  }

  private tell(server: Server): void {
    this.store.tell({ kind: "server", server });
  }

  private async begin(): Promise<void> {
    await this.stop();
    if (this.disposed) return;
    if (this.store.now.server.state !== "starting") this.tell({ state: "starting" });
    const slow = setTimeout(() => this.slow(), SLOW_MS);
    try {
      const found = await this.find();
      this.found = "python" in found ? found : undefined;
      if ("python" in found) await this.connect(found);
      else this.tell({ state: "missing", why: found.why });
    } finally {
      clearTimeout(slow);
    }
  }

  private slow(): void {
    if (this.store.now.server.state !== "starting") return;
    this.output.warn(
      `The server has not answered for ${SLOW_MS / 1000} s. It is waited for; “Restart Server” begins anew.`,
    );
    this.tell({ state: "slow" });
  }

  private async connect(found: Found): Promise<void> {
    const said = foundSaid(found);
    this.output.info(said);
    const options = this.options(() => this.closed(client, "it ended by itself"));
    const client = new LanguageClient("phasekeeper", "Phasekeeper", () => this.spawned(found), options);
    this.client = client;
    this.startedAt = Date.now();
    client.onNotification("phasekeeper/changed", (change: Changed) => this.changed(client, change));
    try {
      await client.start();
      if (client !== this.client) return;
      this.tell({ state: "ready", said });
      await this.board();
    } catch (error) {
      this.closed(client, error instanceof Error ? error.message : String(error));
    }
  }

  private async spawned(found: Found): Promise<ChildProcess> {
    const child = spawn(found.python, [...ARGUMENTS, "lsp"], { cwd: homedir(), windowsHide: true });
    this.process = child;
    this.lastWords = "";
    child.stderr?.on(
      "data",
      (text: Buffer) => (this.lastWords = text.toString().trim().split(/\r?\n/).at(-1) || this.lastWords),
    );
    child.on("error", (error) => this.output.debug(String(error)));
    await once(child, "spawn");
    return child;
  }

  private options(ended: () => void): LanguageClientOptions {
    return {
      documentSelector: LANGUAGES.map((language) => ({ scheme: "file", language })),
      outputChannel: this.output,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      initializationOptions: {
        trusted: vscode.workspace.isTrusted,
        phasekeeper: { client: "vscode", decides: true },
      },
      initializationFailedHandler: () => false,
      middleware: {
        // Lenses and fixes of the server that have a better form here than a message: a row, a dialog.
        executeCommand: (command, args, next) => {
          const ours = OURS[command];
          return ours ? vscode.commands.executeCommand(ours, args[0]) : next(command, args);
        },
      },
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => {
          ended();
          return { action: CloseAction.DoNotRestart, handled: true };
        },
      },
    };
  }

  private changed(client: LanguageClient, change: Changed): void {
    if (client !== this.client) return;
    if (missed(this.store.now, change) || emptied(this.store.now, change))
      void this.board().catch((error: unknown) => this.output.warn(String(error)));
    else this.store.tell({ kind: "changed", change });
  }

  /** The server is gone without having been told to: start it again, later and later, and give up in the end. */
  private closed(client: LanguageClient, why: string): void {
    if (client !== this.client || this.disposed) return;
    this.client = undefined;
    this.crashes = Date.now() - this.startedAt > STEADY_MS ? 1 : this.crashes + 1;
    const wait = backOff(this.crashes);
    this.output.error(`The server has stopped: ${why}.` + (wait ? ` It is started again in ${wait / 1000} s.` : ""));
    this.tell(wait ? { state: "starting", why } : { state: "failed", why });
    clearTimeout(this.timer);
    if (wait) this.timer = setTimeout(() => void this.restart(), wait);
    else void this.giveUp(why);
  }

  private async giveUp(why: string): Promise<void> {
    const said = `Phasekeeper's server stops again and again: ${literal(this.lastWords || why, 300)}`;
    const choice = await vscode.window.showErrorMessage(said, "Restart Server", "Show Output");
    if (choice === "Restart Server") await this.restartByHand();
    if (choice === "Show Output") this.output.show();
  }
}
