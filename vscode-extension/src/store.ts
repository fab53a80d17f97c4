/** What is known of all roots: a value, and a pure function from one value to the next. */

import { keyOf, type Board, type Changed, type RunName, type Summary } from "./protocol";

export type Server =
  /** `why` is how the one before it ended. */
  | { readonly state: "starting"; readonly why?: string }
  /** It is being started, and has not answered for long. */
  | { readonly state: "slow" }
  | { readonly state: "ready"; readonly said: string }
  /** None was found; `why` says what is wrong with the one that a setting names. */
  | { readonly state: "missing"; readonly why?: string }
  | { readonly state: "failed"; readonly why: string };

export interface Root {
  readonly root: string;
  readonly version: number;
  readonly runs: ReadonlyMap<string, Summary>;
}

export interface Known {
  readonly server: Server;
  readonly roots: ReadonlyMap<string, Root>;
}

export type Told =
  | { readonly kind: "server"; readonly server: Server }
  | { readonly kind: "board"; readonly board: Board }
  | { readonly kind: "changed"; readonly change: Changed };

export const NOTHING: Known = { server: { state: "starting" }, roots: new Map() };

/** What is known after `told`. The same value comes back when nothing is new. */
export function reduce(known: Known, told: Told): Known {
  switch (told.kind) {
    case "server":
      return { server: told.server, roots: told.server.state === "ready" ? known.roots : new Map() };
    case "board":
      return { ...known, roots: new Map(told.board.roots.map((root) => [root.root, rootOf(root)])) };
    case "changed":
      return changed(known, told.change);
  }
}

function rootOf(board: Board["roots"][number]): Root {
  return { root: board.root, version: board.version, runs: sorted(board.runs.map((run) => [run.run, run])) };
}

function changed(known: Known, change: Changed): Known {
  const before = known.roots.get(change.root);
  if (before && change.version <= before.version) return known;
  const runs = new Map(before?.runs);
  for (const run of change.removed) runs.delete(run);
  for (const run of change.changed) runs.set(run.run, run);
  const after: Root = { root: change.root, version: change.version, runs: sorted([...runs]) };
  return { ...known, roots: new Map([...known.roots, [change.root, after]]) };
}

function sorted(runs: [string, Summary][]): ReadonlyMap<string, Summary> {
  return new Map(runs.sort(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0)));
}

/** Whether changes were missed before this one, so that the whole board has to be asked for again. */
export function missed(known: Known, change: Changed): boolean {
  const before = known.roots.get(change.root);
  return before === undefined || change.version > before.version + 1;
}

/** Whether a change leaves a root without runs: it may be closed, which only the board tells. */
export function emptied(known: Known, change: Changed): boolean {
  const before = known.roots.get(change.root);
  return change.changed.length === 0 && before !== undefined && before.runs.size === new Set(change.removed).size;
}

/** All runs, by root in the order the roots came, by path within. */
export function runsOf(known: Known): Summary[] {
  return [...known.roots.values()].flatMap((root) => [...root.runs.values()]);
}

export function runOf(known: Known, name: RunName): Summary | undefined {
  return known.roots.get(name.root)?.runs.get(name.run);
}

export const isOver = (run: Summary): boolean =>
  run.status === "complete" || run.status === "exited" || run.status === "failed";

/** Runs in which a person is asked something, with each question. */
export function asked(known: Known): { run: Summary; question: Summary["questions"][number] }[] {
  return runsOf(known).flatMap((run) => run.questions.map((question) => ({ run, question })));
}

/** The run whose folder holds a file; the innermost one where runs are nested. `path` is absolute, with slashes. */
export function runAt(known: Known, path: string): Summary | undefined {
  const holds = (run: Summary): boolean => path.startsWith(`${folderOf(run)}/`);
  return runsOf(known)
    .filter(holds)
    .sort((one, other) => keyOf(other).length - keyOf(one).length)[0];
}

/** The folder of a run, absolute, with slashes. A run may be the root itself. */
export function folderOf(name: RunName): string {
  const root = name.root.replaceAll("\\", "/").replace(/\/$/, "");
  return name.run === "" || name.run === "." ? root : `${root}/${name.run}`;
}

/** `act` each time that no server is found, with what is wrong with the one that was asked for. */
export const onMissing = (store: Store, act: (why?: string) => unknown): { dispose(): void } =>
  store.onChange(({ server }, before) => {
    if (server !== before.server && server.state === "missing") void act(server.why);
  });

export type Listener = (now: Known, before: Known) => void;

/** Holds what is known and tells listeners of each change, in order. */
export class Store {
  private known = NOTHING;
  private readonly listeners = new Set<Listener>();

  get now(): Known {
    return this.known;
  }

  tell(told: Told): void {
    const before = this.known;
    this.known = reduce(before, told);
    if (this.known !== before) for (const listener of this.listeners) listener(this.known, before);
  }

  onChange(listener: Listener): { dispose(): void } {
    this.listeners.add(listener);
    return { dispose: () => void this.listeners.delete(listener) };
  }
}
