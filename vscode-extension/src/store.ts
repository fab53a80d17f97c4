/** The extension's state: what is known of the server and of all roots, and the pure reducer from one value to the next. */

import {
  isOver,
  keyOf,
  type Board,
  type BoardRoot,
  type Changed,
  type Counts,
  type RunName,
  type Summary,
} from "./protocol";

export { isOver };

export type ServerState =
  /** `why` is how the one before it ended. */
  | { readonly state: "starting"; readonly why?: string }
  /** It is being started, and has not answered for long. */
  | { readonly state: "slow" }
  | { readonly state: "ready"; readonly description: string }
  /** None was found; `why` says what is wrong with the one that a setting names. */
  | { readonly state: "missing"; readonly why?: string }
  | { readonly state: "failed"; readonly why: string };

/** Which further runs are asked for: those that go on, waiting ones first, or those that are over. */
export type PageKind = "going" | "over";

/** The cursors of the next pages; null where nothing more is to come. */
export type Cursors = Readonly<Record<PageKind, string | null>>;

export interface Root {
  readonly root: string;
  readonly version: number;
  /** The runs that are held: pages of them, and what changed since. */
  readonly runs: ReadonlyMap<string, Summary>;
  /** Of all runs, held or not. */
  readonly counts: Counts;
  readonly next: Cursors;
}

export interface State {
  readonly server: ServerState;
  readonly roots: ReadonlyMap<string, Root>;
}

type StoreEvent =
  | { readonly kind: "server"; readonly server: ServerState }
  | { readonly kind: "board"; readonly board: Board }
  /** Further runs of a root; `of` says which cursor goes on, undefined for a run that was asked for by a path. */
  | { readonly kind: "page"; readonly page: BoardRoot; readonly of?: PageKind }
  | { readonly kind: "changed"; readonly change: Changed };

export const INITIAL: State = { server: { state: "starting" }, roots: new Map() };

/** The state after an event. The same value comes back when nothing is new. */
export function reduce(state: State, event: StoreEvent): State {
  switch (event.kind) {
    case "server":
      return { server: event.server, roots: event.server.state === "ready" ? state.roots : new Map() };
    case "board":
      return { ...state, roots: new Map(event.board.roots.map((root) => [root.root, toRoot(root)])) };
    case "page":
      return addPage(state, event.page, event.of);
    case "changed":
      return applyChange(state, event.change);
  }
}

/** The cursor before all runs that are over. */
const FIRST_OVER = "2 ";

const isAmongOver = (cursor: string): boolean => cursor.startsWith(FIRST_OVER);

/** The cursors behind a first page. */
export const firstCursors = (next: string | null): Cursors =>
  next === null || isAmongOver(next) ? { going: null, over: next } : { going: next, over: FIRST_OVER };

function toRoot(board: BoardRoot): Root {
  return {
    root: board.root,
    version: board.version,
    runs: sortByPath(board.runs.map((run) => [run.run, run])),
    counts: board.counts ?? countsOf(board.runs),
    next: firstCursors(board.next ?? null),
  };
}

/** Add runs to those that are held. A page that is older than the root changes nothing: it is asked for again. */
function addPage(state: State, page: BoardRoot, of: PageKind | undefined): State {
  const before = state.roots.get(page.root);
  if (!before || page.version < before.version) return state;
  const runs = sortByPath([...new Map([...before.runs, ...page.runs.map((run) => [run.run, run] as const)])]);
  const after: Root = { ...before, runs, next: nextAfter(before.next, page.next ?? null, of) };
  return { ...state, roots: new Map([...state.roots, [page.root, after]]) };
}

/** The cursors behind a further page of a kind; they stay for a run that was asked for by a path. */
export function nextAfter(before: Cursors, next: string | null, of: PageKind | undefined): Cursors {
  if (of === undefined) return before;
  if (of === "over") return { ...before, over: next };
  if (next !== null && !isAmongOver(next)) return { ...before, going: next };
  // The page went on into those that are over, of which others may be held already.
  return { going: null, over: before.over === FIRST_OVER ? next : before.over };
}

function countsOf(runs: Iterable<Summary>): Counts {
  const all = [...runs];
  return {
    runs: all.length,
    going: all.filter((run) => !isOver(run)).length,
    questions: all.reduce((sum, run) => sum + run.questions.length, 0),
  };
}

/** How many runs of a root, and questions in them, are not held. */
export function missing({ counts, runs }: Root): Counts & { readonly over: number } {
  const held = countsOf(runs.values());
  const [all, going] = [Math.max(counts.runs - held.runs, 0), Math.max(counts.going - held.going, 0)];
  return {
    runs: all,
    going,
    questions: Math.max(counts.questions - held.questions, 0),
    over: Math.max(all - going, 0),
  };
}

/** The questions open in all runs, held or not. */
export const questionCount = (state: State): number =>
  [...state.roots.values()].reduce((sum, root) => sum + root.counts.questions, 0);

function applyChange(state: State, change: Changed): State {
  const before = state.roots.get(change.root);
  if (before && change.version <= before.version) return state;
  const runs = new Map(before?.runs);
  for (const run of change.removed) runs.delete(run);
  for (const run of change.changed) runs.set(run.run, run);
  const after: Root = {
    root: change.root,
    version: change.version,
    runs: sortByPath([...runs]),
    counts: change.counts ?? countsOf(runs.values()),
    next: before?.next ?? { going: null, over: null },
  };
  return { ...state, roots: new Map([...state.roots, [change.root, after]]) };
}

function sortByPath(runs: [string, Summary][]): ReadonlyMap<string, Summary> {
  return new Map(runs.sort(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0)));
}

/** Whether more is different than the change says, so that the board has to be requested again. */
export function followsGap(state: State, change: Changed): boolean {
  const before = state.roots.get(change.root);
  return change.anew === true || before === undefined || change.version > before.version + 1;
}

/** Whether a change leaves a root without runs: it may be closed, which only the board tells. */
export function leavesNoRuns(state: State, change: Changed): boolean {
  const before = state.roots.get(change.root);
  const removed = new Set(change.removed);
  return (
    change.changed.length === 0 && before !== undefined && [...before.runs.keys()].every((run) => removed.has(run))
  );
}

/** All runs, by root in the order the roots came, by path within. */
export function runsOf(state: State): Summary[] {
  return [...state.roots.values()].flatMap((root) => [...root.runs.values()]);
}

export function runOf(state: State, name: RunName): Summary | undefined {
  return state.roots.get(name.root)?.runs.get(name.run);
}

/** Every open question, with its run. */
export function openQuestions(state: State): { run: Summary; question: Summary["questions"][number] }[] {
  return runsOf(state).flatMap((run) => run.questions.map((question) => ({ run, question })));
}

/** The run whose folder holds a file; the innermost one where runs are nested. `path` is absolute, with slashes. */
export function runAt(state: State, path: string): Summary | undefined {
  return runsOf(state)
    .filter((run) => path.startsWith(`${folderOf(run)}/`))
    .sort((one, other) => keyOf(other).length - keyOf(one).length)[0];
}

/** The roots that a file lies in of which not all runs are held, with its path there. `path` is absolute, with slashes. */
export function rootsAround(state: State, path: string | undefined): { root: string; path: string }[] {
  return [...state.roots.values()].flatMap((root) => {
    const folder = `${root.root.replaceAll("\\", "/").replace(/\/$/, "")}/`;
    return path?.startsWith(folder) && missing(root).runs > 0
      ? [{ root: root.root, path: path.slice(folder.length) }]
      : [];
  });
}

/** The folder of a run, absolute, with slashes. A run may be the root itself. */
function folderOf(name: RunName): string {
  const root = name.root.replaceAll("\\", "/").replace(/\/$/, "");
  return name.run === "" || name.run === "." ? root : `${root}/${name.run}`;
}

type Listener = (state: State, before: State) => void;

/** Holds the state and calls listeners on each change, in order. */
export class Store {
  private current = INITIAL;
  private readonly listeners = new Set<Listener>();

  get state(): State {
    return this.current;
  }

  dispatch(event: StoreEvent): void {
    const before = this.current;
    this.current = reduce(before, event);
    if (this.current !== before) for (const listener of this.listeners) listener(this.current, before);
  }

  onChange(listener: Listener): { dispose(): void } {
    this.listeners.add(listener);
    return { dispose: () => void this.listeners.delete(listener) };
  }
}
