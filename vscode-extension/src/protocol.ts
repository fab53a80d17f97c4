/**
 * What the server says, in the shapes of `phasekeeper status --json`.
 *
 * Paths are relative to the root, with slashes. Lines and columns are one-based, columns in code points.
 */

export interface Evidence {
  readonly path: string | null;
  readonly line: number | null;
  readonly column: number | null;
  readonly expression: string;
  readonly value: unknown;
}

export interface Option {
  readonly id: string;
  readonly text: string;
}

export interface Question {
  readonly id: string;
  readonly kind: "approval" | "escalation" | "clarification";
  readonly question: string;
  readonly options: readonly Option[];
  readonly tasks: readonly string[];
  readonly history: readonly Readonly<Record<string, unknown>>[];
  readonly since: string | null;
}

export interface Suggestion {
  readonly kind: "advance" | "regress" | "stay" | "act" | "wait" | "escalate" | "stop" | "none";
  readonly suggestedNext: string | null;
  readonly action: string | null;
  readonly agents: readonly string[];
  readonly reason: string;
  readonly evidence: readonly Evidence[];
  readonly allowed: readonly string[];
  readonly forbidden: readonly { readonly action: string; readonly because: string }[];
  readonly produce: readonly {
    readonly path: string;
    readonly schema: string | null;
    readonly example: string | null;
  }[];
  readonly tasks: readonly string[];
  readonly parallel: readonly (readonly string[])[];
  readonly waitingFor: string | null;
}

export type GateStatus = "passed" | "failed" | "open" | "waived" | "not-reached";

export interface GateSummary {
  readonly id: string;
  readonly after: string;
  readonly title: string;
  readonly status: GateStatus;
  readonly inForce: boolean;
}

export interface Criterion {
  readonly text: string;
  readonly met: boolean | null;
  readonly evidence: readonly Evidence[];
}

export interface Gate extends GateSummary {
  readonly allowed: readonly string[];
  readonly forbidden: readonly { readonly action: string; readonly because: string }[];
  readonly criteria: readonly Criterion[];
}

export interface Limit {
  readonly id: string;
  readonly count: number | null;
  readonly max: number | null;
  readonly reached: boolean | null;
}

export type RunStatus =
  "active" | "waiting" | "waiting_human" | "blocked" | "complete" | "failed" | "exited" | "invalid";

/** What the board holds of each run. */
export interface Summary {
  readonly root: string;
  readonly run: string;
  readonly title: string;
  readonly workflow: string;
  readonly definition: { readonly name: string; readonly digest: string };
  readonly revision: string;
  readonly currentPhase: string | null;
  readonly inferred: boolean;
  readonly overridden: boolean;
  readonly status: RunStatus;
  readonly statusReason: string;
  readonly progress: { readonly done: number; readonly total: number } | null;
  readonly suggestion: Suggestion;
  readonly questions: readonly Question[];
  readonly limits: readonly Limit[];
  readonly gates: readonly GateSummary[];
  readonly findingCounts: { readonly error: number; readonly warning: number; readonly information: number };
}

export interface Phase {
  readonly id: string;
  readonly title: string;
  readonly agents: readonly string[];
  readonly order: number;
  readonly state: "done" | "current" | "ahead" | "skipped" | "detour";
  readonly produces: readonly { readonly artifact: string; readonly path: string; readonly state: string }[];
}

export interface Task {
  readonly id: string;
  readonly title: string;
  readonly state: "done" | "ready" | "blocked" | "claimed" | "reported" | "skipped";
  readonly blockedBy: readonly string[];
  readonly claimedBy: string | null;
  readonly path: string;
  readonly line: number;
  readonly files: readonly string[];
  readonly agent: string | null;
}

export interface Stage {
  readonly id: string;
  readonly title: string;
  readonly done: number;
  readonly total: number;
  readonly line: number;
  readonly tasks: readonly Task[];
}

export interface Plan {
  readonly path: string;
  readonly stages: readonly Stage[];
}

export interface Finding {
  readonly code: string;
  readonly severity: "error" | "warning" | "info" | "hint";
  readonly path: string;
  readonly line: number | null;
  readonly column: number | null;
  readonly message: string;
  readonly fixes: readonly { readonly title: string; readonly command: readonly string[] }[];
  readonly overridden: boolean;
}

/** All that is said of one run. */
export interface Evaluation extends Omit<Summary, "gates" | "findingCounts"> {
  readonly gates: readonly Gate[];
  readonly phases: readonly Phase[];
  readonly plan: Plan | null;
  readonly findings: readonly Finding[];
}

export interface RootBoard {
  readonly root: string;
  readonly version: number;
  readonly runs: readonly Summary[];
}

export interface Board {
  readonly version: 1;
  readonly roots: readonly RootBoard[];
}

export interface Changed {
  readonly root: string;
  readonly version: number;
  readonly changed: readonly Summary[];
  readonly removed: readonly string[];
}

/** A run is known by its root and its path in it. */
export interface RunName {
  readonly root: string;
  readonly run: string;
}

export interface GraphEdge {
  readonly from: string;
  readonly to: string;
  readonly because: string;
}

export interface Graph {
  readonly phases: readonly {
    readonly id: string;
    readonly title: string;
    readonly state: string;
    readonly outcomes?: readonly string[];
  }[];
  readonly edges: readonly GraphEdge[];
  readonly gates: readonly Gate[];
}

export interface Written {
  readonly recorded: string;
  readonly evaluation: Summary;
}

/** Requests by name: what is sent, and what comes back. */
export interface Requests {
  "phasekeeper/board": [Record<string, never>, Board];
  "phasekeeper/run": [RunName, Evaluation | null];
  "phasekeeper/history": [RunName & { limit: number }, History];
  "phasekeeper/recent": [{ limit: number }, { events: readonly Remembered[] }];
  "phasekeeper/graph": [RunName, Graph | null];
  "phasekeeper/report": [RunName & Report, Written];
  "phasekeeper/claim": [RunName & { task: string; who: string }, Written];
  "phasekeeper/release": [RunName & { task: string; who: string }, Written];
  "phasekeeper/start": [{ root: string; workflow: string; name: string; title: string }, Written];
  "phasekeeper/redo": [RunName & { phase: string; reason: string }, Written];
  "phasekeeper/decide": [RunName & Decision, Written];
}

export interface Report {
  readonly step: string;
  readonly outcome: string;
  readonly tasks?: readonly string[];
  readonly stage?: string;
  readonly summary?: string;
}

/** `revision` is that of what the person saw: nothing is decided about what replaced it. */
export interface Decision {
  readonly kind: "answer" | "override" | "adopt";
  readonly question?: string;
  readonly option?: string;
  readonly to?: string;
  readonly reason: string;
  readonly revision: string;
}

export interface History {
  readonly events: readonly Recorded[];
}

/** One record of the journal; fields that are empty are left out. */
export interface Recorded {
  readonly at?: string;
  readonly kind?: string;
  readonly line?: number;
  readonly actor?: string;
  readonly channel?: string;
  readonly phase?: string;
  readonly stage?: string;
  readonly tasks?: readonly string[];
  readonly task?: string;
  readonly outcome?: string;
  readonly next?: string;
  readonly question?: string;
  readonly option?: string;
  readonly why?: string;
  readonly message?: string;
  readonly workflow?: string;
}

/** A record and the run that it is of. */
export type Remembered = Recorded & RunName;

export const keyOf = (name: RunName): string => `${name.root}\n${name.run}`;
