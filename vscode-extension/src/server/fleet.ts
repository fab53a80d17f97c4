/** The boards of the projects that this machine has joined, asked for and kept current while their view is seen. */

import * as vscode from "vscode";
import { boardOf, missingRuns, withChange, withPage, type SharedBoard } from "../fleet";
import type { Fleet, RunClones, SharedBoardChange } from "../protocol";
import type { PageKind, Store } from "../store";
import { PAGE_RUNS, type Client } from "./client";

const NO_FLEET: Fleet = { fleets: [], problem: "" };
/** The server gives no longer pages. */
const MOST_RUNS = 500;
/** So often a page that was overtaken by changes is asked for. */
const MOST_TRIES = 5;

export class FleetBoards implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChange = this.changed.event;
  private fleet = NO_FLEET;
  private held = new Map<string, SharedBoard>();
  /** The version that was last told of each board. */
  private readonly told = new Map<string, number>();
  private readonly clones = new Map<string, { version: number; answer: Promise<RunClones> }>();
  private readonly loading = new Map<string, Promise<void>>();
  private isVisible = false;
  private server: unknown;
  private roots = "";
  private readonly subscription: { dispose(): void };

  constructor(
    private readonly store: Store,
    private readonly client: Client,
    private readonly output: vscode.LogOutputChannel,
  ) {
    client.onFleetChanged = (change) => this.onChanged(change);
    this.subscription = store.onChange(() => this.onStore());
  }

  /** Why no membership can be used; "" where nothing is wrong. */
  get problem(): string {
    return this.fleet.problem;
  }

  /** The boards of the joined projects that were asked for. */
  get boards(): SharedBoard[] {
    return this.fleet.fleets.flatMap(({ project }) => this.held.get(project) ?? []);
  }

  /** Whether there is anything to be shown. */
  get isJoined(): boolean {
    return this.fleet.fleets.length > 0 || this.fleet.problem !== "";
  }

  setVisible(isVisible: boolean): void {
    if (isVisible === this.isVisible) return;
    this.isVisible = isVisible;
    for (const { project } of this.fleet.fleets)
      if (isVisible) this.load(project);
      else this.hide(project);
  }

  /** Ask which projects this machine has joined: only its own command line changes that. */
  async look(): Promise<void> {
    if (this.store.state.server.state !== "ready") return;
    // A server of an earlier version knows no fleets.
    const fleet = await this.client.request("phasekeeper/fleet", {}).catch(() => NO_FLEET);
    const before = this.fleet;
    this.fleet = fleet;
    const names = new Set(fleet.fleets.map(({ project }) => project));
    for (const { project } of before.fleets) if (!names.has(project)) this.hide(project);
    if (this.isVisible) for (const project of names) if (!this.held.has(project)) this.load(project);
    if (JSON.stringify(before) !== JSON.stringify(fleet)) this.changed.fire();
  }

  /** Add the next page of a board to what is held. */
  async loadMore(project: string, of: PageKind): Promise<void> {
    const board = this.held.get(project);
    const after = board?.next[of];
    if (!board || !after || missingRuns(board)[of] === 0) return;
    const page = await this.client.request("phasekeeper/fleetBoard", { project, limit: PAGE_RUNS, after });
    const now = this.held.get(project);
    if (!now || page.version < now.version) return this.load(project);
    this.hold(project, withPage(now, page, of));
  }

  /** A run in each clone: asked for when somebody looks into it, anew once it has changed. */
  clonesOf(project: string, run: string): Promise<RunClones> {
    const key = `${project}\n${run}`;
    const version = this.held.get(project)?.runs.get(run)?.version ?? 0;
    const cached = this.clones.get(key);
    if (cached?.version === version) return cached.answer;
    const answer = this.client.request("phasekeeper/fleetRun", { project, run });
    this.clones.set(key, { version, answer });
    answer.catch(() => this.clones.get(key)?.answer === answer && this.clones.delete(key));
    return answer;
  }

  dispose(): void {
    this.subscription.dispose();
    this.changed.dispose();
  }

  /** Another server, or other roots, may be of other projects. */
  private onStore(): void {
    const { server, roots } = this.store.state;
    const names = [...roots.keys()].join("\n");
    if (server === this.server && names === this.roots) return;
    if (server !== this.server) this.forget();
    [this.server, this.roots] = [server, names];
    void this.look();
  }

  /** What the server before has told counts no more; it is shown until this one has told. */
  private forget(): void {
    this.told.clear();
    this.loading.clear();
    const isReady = this.store.state.server.state === "ready";
    if (isReady && this.isVisible) for (const { project } of this.fleet.fleets) this.load(project);
  }

  /** Ask for the first page, as long as what is held; a request that goes on is waited for first. */
  private load(project: string): void {
    const before = this.loading.get(project) ?? Promise.resolve();
    const loading = before
      .then(() => this.loadBoard(project))
      .catch((error: unknown) => this.output.warn(`The board of ${project}: ${String(error)}`))
      .finally(() => this.loading.get(project) === loading && this.loading.delete(project));
    this.loading.set(project, loading);
  }

  private async loadBoard(project: string): Promise<void> {
    for (let tries = 0; tries < MOST_TRIES && this.isVisible; tries++) {
      const limit = Math.min(Math.max(PAGE_RUNS, this.held.get(project)?.runs.size ?? 0), MOST_RUNS);
      const page = await this.client.request("phasekeeper/fleetBoard", { project, limit });
      const joined = this.fleet.fleets.find((each) => each.project === project);
      // The server took the request for a wish to be told, maybe after it was told of the end of that.
      if (!joined || !this.isVisible) return this.hide(project);
      if (page.version < (this.told.get(project) ?? 0)) continue;
      this.clones.clear();
      return this.hold(project, boardOf(page, joined.member));
    }
  }

  private onChanged(change: SharedBoardChange): void {
    if (!this.isVisible) return;
    this.told.set(change.project, change.version);
    const before = this.held.get(change.project);
    const after = before && withChange(before, change);
    if (after) this.hold(change.project, after);
    // One that is asked for already is compared with the version that was told.
    else if (before || !this.loading.has(change.project)) this.load(change.project);
  }

  private hold(project: string, board: SharedBoard): void {
    this.held.set(project, board);
    this.changed.fire();
  }

  private hide(project: string): void {
    this.told.delete(project);
    if (this.store.state.server.state !== "ready") return;
    const hidden = this.client.request("phasekeeper/fleetHidden", { project });
    hidden.catch((error: unknown) => this.output.debug(String(error)));
  }
}
