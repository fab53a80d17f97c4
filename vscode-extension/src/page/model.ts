/** The page of a run as the server makes it (`orchestration/rendering/run_page.py`), and the messages of its panel. */

import type { Evaluation, Graph, RunName, Task } from "../protocol";

export interface Difference {
  readonly lines: readonly string[];
  readonly moreLines: number;
  readonly partial: boolean;
}

export interface Document {
  readonly path: string;
  readonly role: string;
  readonly text: string | null;
  readonly cut: boolean;
  /** Against the commit HEAD; null where that has the same, or none. */
  readonly changes: Difference | null;
}

export interface Choice {
  readonly id: string;
  readonly label: string;
  readonly consequence: string;
  readonly outcome: string;
  readonly possible: boolean;
  readonly signed: readonly string[];
  readonly command: string;
}

export interface Decision {
  readonly question: string;
  readonly kind: Evaluation["questions"][number]["kind"];
  readonly text: string;
  readonly since: string | null;
  readonly background: readonly string[];
  readonly options: readonly Choice[];
  readonly command: string;
  readonly documents: readonly Document[];
}

export type BoardTask = Task & { readonly claimedUntil: string | null };

export interface BoardStage {
  readonly id: string;
  readonly title: string;
  readonly done: number;
  readonly total: number;
  readonly line: number;
  readonly tasks: readonly BoardTask[];
  readonly more: number;
}

export interface TaskBoard {
  readonly path: string;
  readonly stages: readonly BoardStage[];
}

/** The difference that an attempt makes to the one before it. */
export interface Since {
  readonly attempt: number;
  readonly outcome: string;
  readonly tasks: readonly string[];
  readonly message: string;
  readonly report: string;
  readonly changes: readonly { readonly path: string; readonly how: "new" | "gone" | "changed" }[];
  readonly moreChanges: number;
  readonly lines: readonly string[] | null;
  readonly moreLines: number;
  readonly partial: boolean;
}

export interface Entry {
  readonly at: string | null;
  /** False for a report file that no journal holds; its time is that of its last write. */
  readonly recorded: boolean;
  readonly kind: string;
  readonly sentence: string;
  readonly failed: boolean;
  readonly decided: boolean;
  readonly who: string;
  readonly channel: string;
  readonly asked: string;
  readonly why: string;
  readonly message: string;
  readonly phase: string;
  readonly stage: string;
  readonly outcome: string;
  readonly tasks: readonly string[];
  readonly report: string;
  readonly attempt: number;
  readonly since: Since | null;
  readonly path: string | null;
  readonly line: number | null;
}

export interface RunPage {
  readonly version: 1;
  readonly evaluation: Evaluation;
  readonly moreFindings: number;
  readonly decisions: readonly Decision[];
  readonly moreDecisions: number;
  readonly board: TaskBoard | null;
  readonly timeline: { readonly earlier: number; readonly entries: readonly Entry[] };
  readonly graph: Graph;
  /** Files that an editor holds other texts of. */
  readonly unsaved?: readonly string[];
  /** Of the files that are named: those that are not there. */
  readonly absent?: readonly string[];
}

/** A run in a list of runs, those that wait for a person first. */
export interface RunLine extends RunName {
  readonly title: string;
  readonly workflow: string;
  readonly status: Evaluation["status"];
  readonly phase: string | null;
  readonly next: string;
  readonly reason: string;
  readonly questions: number;
  readonly failedGates: readonly string[];
  readonly errors: number;
  readonly progress: Evaluation["progress"];
  readonly rank: 0 | 1 | 2 | 3;
  readonly revision: string;
}

export interface RunList {
  readonly roots: readonly { readonly root: string; readonly runs: readonly RunLine[]; readonly more: number }[];
}

export const TABS = ["decide", "board", "timeline", "graph"] as const;
export type Tab = (typeof TABS)[number];

/** Why the page of a run is not current, or there is none, the same in each host. */
export const GONE =
  "This run is not there any more: it was removed, or its folder has another name. What stands here is how it was last.";

export interface Answer {
  readonly question: string;
  readonly option: string;
  readonly reason: string;
  readonly revision: string;
}

export type ToPage =
  | { readonly kind: "page"; readonly page: RunPage; readonly tab?: Tab }
  | { readonly kind: "tab"; readonly tab: Tab }
  /** There is nothing to show, or what is shown is not current; why. */
  | { readonly kind: "stale"; readonly why: string }
  | { readonly kind: "outcome"; readonly question: string; readonly text: string; readonly failed: boolean };

export type FromPage =
  | { readonly kind: "ready" }
  | ({ readonly kind: "decide" } & Answer)
  | { readonly kind: "open"; readonly path: string; readonly line: number | null }
  | { readonly kind: "gate"; readonly gate: string; readonly act: "explain" | "check" };
