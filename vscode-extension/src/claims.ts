/** The claims that were made in this window: with their tokens a report of the task is the claimer's, also after a reload. */

import type * as vscode from "vscode";
import { keyOf, type KeptClaim, type RunName } from "./protocol";

const KEY = "phasekeeper.claims";
/** The server takes no more. */
const MOST = 500;

export const keptClaims = (state: vscode.Memento): readonly KeptClaim[] => state.get<KeptClaim[]>(KEY, []);

/** Keep a claim; servers that are older answer none. */
export async function keepClaim(state: vscode.Memento, claim: KeptClaim | undefined): Promise<void> {
  if (claim) await state.update(KEY, [...others(state, claim), claim].slice(-MOST));
}

export const forgetClaim = (state: vscode.Memento, claim: RunName & { task: string }): Thenable<void> =>
  state.update(KEY, others(state, claim));

const others = (state: vscode.Memento, claim: RunName & { task: string }): KeptClaim[] =>
  keptClaims(state).filter((kept) => keyOf(kept) !== keyOf(claim) || kept.task !== claim.task);
