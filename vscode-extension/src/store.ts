/** The extension's state: what is known of the server and of all roots, and the pure reducer from one value to the next. */

import { keyOf, type Board, type Changed, type RunName, type Summary } from "./protocol";

export type ServerState =
  /** `why` is how the one before it ended. */
  | { readonly state: "starting"; readonly why?: string }
  /** It is being started, and has not answered for long. */
  | { readonly state: "slow" }
  | { readonly state: "ready"; readonly description: string }
  /** None was found; `why` says what is wrong with the one that a setting names. */
  | { readonly state: "missing"; readonly why?: string }
  | { readonly state: "failed"; readonly why: string };

interface Root {
  readonly root: string;
  readonly version: number;
  readonly runs: ReadonlyMap<string, Summary>;
}

export interface State {
  readonly server: ServerState;
  readonly roots: ReadonlyMap<string, Root>;
}

type StoreEvent =
  | { readonly kind: "server"; readonly server: ServerState }
  | { readonly kind: "board"; readonly board: Board }
  | { readonly kind: "changed"; readonly change: Changed };

export const INITIAL: State = { server: { state: "starting" }, roots: new Map() };

/** The state after an event. The same value comes back when nothing is new. */
export function reduce(state: State, event: StoreEvent): State {
  switch (event.kind) {
    case "server":
      return { server: event.server, roots: event.server.state === "ready" ? state.roots : new Map() };
    case "board":
      return { ...state, roots: new Map(event.board.roots.map((root) => [root.root, toRoot(root)])) };
    case "changed":
      return applyChange(state, event.change);
  }
}

function toRoot(board: Board["roots"][number]): Root {
  return { root: board.root, version: board.version, runs: sortByPath(board.runs.map((run) => [run.run, run])) };
}

function applyChange(state: State, change: Changed): State {
  const before = state.roots.get(change.root);
  if (before && change.version <= before.version) return state;
  const runs = new Map(before?.runs);
  for (const run of change.removed) runs.delete(run);
  for (const run of change.changed) runs.set(run.run, run);
  const after: Root = { root: change.root, version: change.version, runs: sortByPath([...runs]) };
  return { ...state, roots: new Map([...state.roots, [change.root, after]]) };
}

function sortByPath(runs: [string, Summary][]): ReadonlyMap<string, Summary> {
  return new Map(runs.sort(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0)));
}

/** Whether a change before this one is missing, so that the whole board has to be requested again. */
export function followsGap(state: State, change: Changed): boolean {
  const before = state.roots.get(change.root);
  return before === undefined || change.version > before.version + 1;
}

/** Whether a change leaves a root without runs: it may be closed, which only the board tells. */
export function leavesNoRuns(state: State, change: Changed): boolean {
  const before = state.roots.get(change.root);
  return change.changed.length === 0 && before !== undefined && before.runs.size === new Set(change.removed).size;
}

/** All runs, by root in the order the roots came, by path within. */
export function runsOf(state: State): Summary[] {
  return [...state.roots.values()].flatMap((root) => [...root.runs.values()]);
}

export function runOf(state: State, name: RunName): Summary | undefined {
  return state.roots.get(name.root)?.runs.get(name.run);
}

export const isOver = (run: Summary): boolean =>
  run.status === "complete" || run.status === "exited" || run.status === "failed";

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
