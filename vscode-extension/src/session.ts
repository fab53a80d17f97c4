/** What commands and views work with: the state, the connection, and a cache of whole evaluations. */

import type * as vscode from "vscode";
import { keyOf, type Evaluation, type RunName } from "./protocol";
import type { Client } from "./server/client";
import { missing, type ServerState, type Store } from "./store";

export interface Session {
  readonly context: vscode.ExtensionContext;
  readonly output: vscode.LogOutputChannel;
  readonly store: Store;
  readonly client: Client;
  readonly evaluations: Evaluations;
}

/** A cache of whole evaluations: each is requested when something shows it, and valid for its revision and server. */
export class Evaluations {
  private readonly cache = new Map<
    string,
    { server: ServerState; revision: string; answer: Promise<Evaluation | null> }
  >();

  constructor(
    private readonly store: Store,
    private readonly fetch: (name: RunName) => Promise<Evaluation | null>,
  ) {}

  /** The evaluation of a run as the board has it; null when the run is gone. As it was, while its root is still to come. */
  get(name: RunName): Promise<Evaluation | null> {
    const key = keyOf(name);
    const { server, roots } = this.store.state;
    const root = roots.get(name.root);
    if (!root) return this.cache.get(key)?.answer ?? this.fetch(name);
    const revision = root.runs.get(name.run)?.revision;
    if (revision === undefined) {
      this.cache.delete(key);
      // One that stands on a page that nobody has asked for.
      return missing(root).runs > 0 ? this.fetch(name) : Promise.resolve(null);
    }
    const cached = this.cache.get(key);
    if (cached?.revision === revision && cached.server === server) return cached.answer;
    const answer = this.fetch(name);
    this.cache.set(key, { server, revision, answer });
    answer.catch(() => this.cache.get(key)?.answer === answer && this.cache.delete(key));
    return answer;
  }
}
