/**
 * The messages between the extension and the language server (`server/lsp/__init__.py` has their contract).
 *
 * What a run's evaluation is made of comes from the schema of its JSON. Paths are relative to the root, with
 * slashes. Lines and columns are one-based, columns in code points.
 */

import type * as schema from "./generated/evaluation";
import type { RunPage } from "./page/model";

/** What comes from the server is never changed here. */
type Immutable<T> = T extends object ? { readonly [K in keyof T]: Immutable<T[K]> } : T;

export type Evaluation = Immutable<schema.Evaluation>;
export type Check = Immutable<schema.CheckSummary>;
export type Criterion = Immutable<schema.Criterion>;
export type Evidence = Immutable<schema.Evidence>;
export type Gate = Immutable<schema.Gate>;
export type Limit = Immutable<schema.Limit>;
export type Option = Immutable<schema.Option>;
export type Phase = Immutable<schema.Phase>;
export type Plan = NonNullable<Evaluation["plan"]>;
export type Question = Immutable<schema.Question>;
export type Stage = Immutable<schema.Stage>;
export type Suggestion = Immutable<schema.Suggestion>;
export type Reportable = Suggestion["reports"][number];
export type Requirement = Reportable["brings"][number];
export type Task = Immutable<schema.Task>;

/** A run is known by its root and its path in it. */
export type RunName = Pick<Evaluation, "root" | "run">;

export const nameOf = ({ root, run }: RunName): RunName => ({ root, run });

export const keyOf = (name: RunName): string => `${name.root}\n${name.run}`;

/** Nothing more is to be done in the run. */
export const isOver = ({ status }: Pick<Evaluation, "status">): boolean =>
  status === "complete" || status === "exited" || status === "failed";

/** A person can move the run; of those that are over the ones that a person stopped. */
export const canOverride = (run: Pick<Evaluation, "status" | "currentPhase" | "suggestion">): boolean =>
  run.currentPhase !== null && (!isOver(run) || run.suggestion.overrideTo !== null);

type Shared =
  | "title"
  | "workflow"
  | "definition"
  | "revision"
  | "currentPhase"
  | "inferred"
  | "overridden"
  | "status"
  | "statusReason"
  | "progress"
  | "unknownMarks"
  | "suggestion"
  | "questions"
  | "escalations"
  | "limits";

/** What the board holds of each run. */
export interface Summary extends RunName, Pick<Evaluation, Shared> {
  readonly gates: readonly Pick<Gate, "id" | "after" | "title" | "status" | "inForce">[];
  readonly findingCounts: { readonly error: number; readonly warning: number; readonly information: number };
  /** The titles of what is named by ids: the present phase, the suggested one, the first of the tasks at hand. */
  readonly phaseTitle: string;
  readonly nextTitle: string;
  readonly taskTitles: Readonly<Record<string, string>>;
  /** Of the phases that its step and questions name; older servers do not say. */
  readonly phaseTitles?: Readonly<Record<string, string>>;
}

/** All runs of a root: how many there are, how many of them are not over, and the questions open in them. */
export interface Counts {
  readonly runs: number;
  readonly going: number;
  readonly questions: number;
}

/** A page of a root, or all of it; servers that know no pages give all, without counts. */
export interface BoardRoot {
  readonly root: string;
  readonly version: number;
  readonly runs: readonly Summary[];
  readonly counts?: Counts;
  /** The cursor behind this page, null at the end: a rank (0 waits for a person, 1 goes on, 2 is over), a space, a path. */
  readonly next?: string | null;
}

export interface Board {
  readonly version: 1;
  readonly roots: readonly BoardRoot[];
}

/** A page of each root, or of one: behind a cursor, or with the run around a path. */
export interface PageRequest {
  readonly limit?: number;
  readonly root?: string;
  readonly after?: string;
  readonly around?: string;
}

/** The notification `phasekeeper/changed`: what is different at one version of a root. */
export interface Changed {
  readonly root: string;
  readonly version: number;
  readonly changed: readonly Summary[];
  readonly removed: readonly string[];
  readonly counts?: Counts;
  /** More differs than is listed: the board is to be asked for anew. */
  readonly anew?: boolean;
}

export interface Graph {
  readonly phases: readonly (Pick<Phase, "id" | "title" | "state"> & { readonly outcomes: readonly string[] })[];
  readonly edges: readonly { readonly from: string; readonly to: string; readonly because: string }[];
  readonly gates: readonly Gate[];
  /** What is done inside phases and is none. */
  readonly actions?: readonly Pick<Phase, "id" | "title">[];
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
  /** In an answer: the question as the person read it, and the options that there were. */
  readonly asked?: string;
  readonly options?: readonly Option[];
  readonly why?: string;
  readonly message?: string;
  readonly workflow?: string;
  /** In `recent`, by id; older servers do not say. */
  readonly phaseTitles?: Readonly<Record<string, string>>;
  readonly taskTitles?: Readonly<Record<string, string>>;
}

export interface Report {
  readonly step: string;
  readonly outcome: string;
  readonly tasks?: readonly string[];
  readonly stage?: string;
  readonly summary?: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

export interface Decision {
  readonly kind: "answer" | "override" | "adopt" | "redo";
  /** Of a redo. */
  readonly phase?: string;
  readonly question?: string;
  readonly option?: string;
  readonly to?: string;
}

/** What a person has to read before a decision: plain text, about the files on disk as they are at `revision`. */
export interface PreparedDecision {
  readonly title: string;
  readonly lines: readonly string[];
  readonly revision: string;
  /** Files that an editor holds other texts of. */
  readonly unsaved: readonly string[];
}

/** What a person has to allow before a check runs: all of it as plain text, about the definition of that digest. */
export interface TrustQuestion {
  readonly check: string;
  readonly definition: string;
  readonly title: string;
  readonly lines: readonly string[];
}

/** What came of a check; `log` is the path of its output from the root. */
export interface CheckOutcome {
  readonly name: string;
  readonly result: Check["result"];
  readonly reason: string;
  readonly ran: boolean;
  readonly log: string;
  readonly tail: readonly string[];
}

interface Written {
  readonly recorded: string;
  readonly evaluation: Summary;
}

/** Who claimed a task in this editor, and the token that shows it. */
export interface KeptClaim extends RunName {
  readonly task: string;
  readonly who: string;
  readonly token: string;
}

/** A project whose board this machine shares, as `member`; `roots` are those of this window. */
export interface JoinedProject {
  readonly project: string;
  readonly member: string;
  readonly roots: readonly string[];
}

export interface Fleet {
  readonly fleets: readonly JoinedProject[];
  /** Why no membership can be used; "" where nothing is wrong. */
  readonly problem: string;
}

/** How a run stands in one clone. All its texts are another machine's; times are by that one's clock. */
export interface Clone {
  readonly run: string;
  readonly workflow: string;
  readonly member: string;
  /** Tells the clones of one machine apart. */
  readonly clone: string;
  readonly status: string;
  readonly phase: string;
  readonly next: string;
  /** -1 without a plan, as `total`. */
  readonly done: number;
  readonly total: number;
  readonly revision: string;
  readonly commit: string;
  readonly at: string;
  readonly questions: readonly string[];
  /** These three are empty unless the project shares texts. */
  readonly title: string;
  readonly reason: string;
  readonly asked: readonly string[];
  /** Of a clone that is open in this window. */
  readonly root: string | null;
}

/** A run in all clones, in short; `newest` is the clone that was told last. */
export interface SharedRun {
  readonly run: string;
  readonly title: string;
  readonly workflow: string;
  readonly machines: number;
  readonly clones: number;
  readonly questions: number;
  readonly differs: boolean;
  readonly over: boolean;
  /** That of the board when the run changed. */
  readonly version: number;
  readonly newest: Pick<Clone, "member" | "status" | "phase" | "done" | "total" | "at">;
}

interface SharedBoardHead {
  readonly project: string;
  readonly version: number;
  /** Before that there are no runs yet. */
  readonly isRead: boolean;
  /** While the servers are out of reach, when the runs are as they were. */
  readonly outage: { readonly since: string; readonly why: string } | null;
  readonly counts: Counts & { readonly differing: number; readonly unread: number };
}

export interface SharedBoardPage extends SharedBoardHead {
  readonly runs: readonly SharedRun[];
  readonly next: string | null;
}

/** The notification `phasekeeper/fleetChanged`, of boards that were asked for and are not hidden since. */
export interface SharedBoardChange extends SharedBoardHead {
  readonly changed: readonly SharedRun[];
  readonly removed: readonly string[];
  readonly anew: boolean;
}

export interface RunClones {
  readonly clones: readonly Clone[];
  /** How many are not listed. */
  readonly more: number;
}

/** A folder that was a run: what its file lacks that was the sign of one. */
export interface LostRun extends RunName {
  readonly title: string;
  readonly because: string;
  readonly path: string;
}

/** Requests by name: what is sent, and what comes back. */
export interface Requests {
  "phasekeeper/board": [PageRequest, Board];
  "phasekeeper/run": [RunName, Evaluation | null];
  /** Null for a run, and where its file is gone; older servers do not know it. */
  "phasekeeper/lost": [RunName & { workflow: string }, Pick<LostRun, "because" | "path"> | null];
  "phasekeeper/history": [RunName & { limit: number }, { readonly events: readonly Recorded[] }];
  "phasekeeper/recent": [{ limit: number }, { readonly events: readonly (Recorded & RunName)[] }];
  "phasekeeper/graph": [RunName, Graph | null];
  "phasekeeper/fleet": [Record<string, never>, Fleet];
  "phasekeeper/fleetBoard": [{ project: string; limit: number; after?: string }, SharedBoardPage];
  "phasekeeper/fleetRun": [{ project: string; run: string }, RunClones];
  "phasekeeper/fleetHidden": [{ project: string }, Record<string, never>];
  "phasekeeper/page": [RunName, RunPage | null];
  "phasekeeper/report": [RunName & Report, Written];
  "phasekeeper/claim": [RunName & { task: string; who: string }, Written & { readonly claim?: KeptClaim }];
  /** With lines to be confirmed, where the claim is somebody else's: then nothing was written. */
  "phasekeeper/release": [
    RunName & { task: string; confirmed?: readonly string[] },
    Partial<Written> & { confirm?: readonly string[] },
  ];
  "phasekeeper/start": [{ root: string; workflow: string; name: string; title: string }, Written];
  "phasekeeper/redo": [RunName & { phase: string; reason: string }, Written];
  "phasekeeper/prepareDecision": [RunName & Decision, PreparedDecision];
  "phasekeeper/gateChecks": [
    RunName & { gate?: string },
    { readonly checks: readonly string[]; readonly questions: readonly TrustQuestion[] },
  ];
  "phasekeeper/trustCheck": [RunName & { check: string; definition: string }, { readonly recorded: string }];
  "phasekeeper/runChecks": [
    RunName & { checks: readonly string[]; again?: boolean },
    { readonly outcomes: readonly CheckOutcome[] },
  ];
  /** `revision` is that of what the person read: nothing is decided about what replaced it. */
  "phasekeeper/decide": [RunName & Decision & { reason: string; revision: string }, Written];
}
