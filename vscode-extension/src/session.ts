/** What commands and views work with: what is known, and the ways to ask the server. */

import type * as vscode from "vscode";
import type { Client } from "./server/client";
import { keyOf, type Evaluation, type RunName } from "./protocol";
import { type Server, type Store } from "./store";

export interface Session {
  readonly context: vscode.ExtensionContext;
  readonly output: vscode.LogOutputChannel;
  readonly store: Store;
  readonly client: Client;
  readonly evaluations: Evaluations;
}

/** Whole evaluations, asked for when something shows them and kept until their run has another revision, or a server its successor. */
export class Evaluations {
  private readonly kept = new Map<string, { server: Server; revision: string; answer: Promise<Evaluation | null> }>();

  constructor(
    private readonly store: Store,
    private readonly ask: (name: RunName) => Promise<Evaluation | null>,
  ) {}

  /** The evaluation of a run as the board has it; null when the run is gone. As it was, while its root is still to come. */
  get(name: RunName): Promise<Evaluation | null> {
    const key = keyOf(name);
    const { server, roots } = this.store.now;
    const root = roots.get(name.root);
    if (!root) return this.kept.get(key)?.answer ?? this.ask(name);
    const revision = root.runs.get(name.run)?.revision;
    if (revision === undefined) {
      this.kept.delete(key);
      return Promise.resolve(null);
    }
    const kept = this.kept.get(key);
    if (kept?.revision === revision && kept.server === server) return kept.answer;
    const answer = this.ask(name);
    this.kept.set(key, { server, revision, answer });
    answer.catch(() => this.kept.get(key)?.answer === answer && this.kept.delete(key));
    return answer;
  }
}
