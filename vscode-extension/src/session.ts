/** What commands and views work with: what is known, and the ways to ask the server. */

import type * as vscode from "vscode";
import type { Client } from "./client";
import { keyOf, type Evaluation, type RunName } from "./protocol";
import { runOf, type Store } from "./store";

export interface Session {
  readonly context: vscode.ExtensionContext;
  readonly output: vscode.LogOutputChannel;
  readonly store: Store;
  readonly client: Client;
  readonly evaluations: Evaluations;
}

/** Whole evaluations, asked for when something shows them and kept until their run has another revision. */
export class Evaluations {
  private readonly kept = new Map<string, { revision: string; answer: Promise<Evaluation | null> }>();

  constructor(
    private readonly store: Store,
    private readonly ask: (name: RunName) => Promise<Evaluation | null>,
  ) {}

  /** The evaluation of a run as the board has it; null when the run is gone. */
  get(name: RunName): Promise<Evaluation | null> {
    const key = keyOf(name);
    const revision = runOf(this.store.now, name)?.revision;
    if (revision === undefined) {
      this.kept.delete(key);
      return Promise.resolve(null);
    }
    const kept = this.kept.get(key);
    if (kept?.revision === revision) return kept.answer;
    const answer = this.ask(name);
    this.kept.set(key, { revision, answer });
    answer.catch(() => this.kept.delete(key));
    return answer;
  }
}
