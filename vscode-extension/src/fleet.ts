/** A project's board on all machines, as far as it is held, and the pure steps from one value to the next. */

import type { SharedBoardChange, SharedBoardPage, SharedRun } from "./protocol";
import { firstCursors, nextAfter, type Cursors, type PageKind } from "./store";

export interface SharedBoard extends Omit<SharedBoardPage, "runs" | "next"> {
  /** How this machine is called there. */
  readonly member: string;
  /** The runs that are held, in the order of pages. */
  readonly runs: ReadonlyMap<string, SharedRun>;
  readonly next: Cursors;
}

/** So many runs are held; more than that come anew, from the first page on. */
export const MOST_HELD = 2000;

export function boardOf({ runs, next, ...head }: SharedBoardPage, member: string): SharedBoard {
  return { ...head, member, runs: sorted(runs), next: firstCursors(next) };
}

/** Add the runs of a further page. */
export function withPage(before: SharedBoard, page: SharedBoardPage, of: PageKind): SharedBoard {
  const { runs, next, ...head } = page;
  const all = new Map([...before.runs, ...runs.map((run) => [run.run, run] as const)]);
  return { ...before, ...head, runs: sorted(all.values()), next: nextAfter(before.next, next, of) };
}

/** Take in a change; undefined where the board has to be asked for anew. */
export function withChange(before: SharedBoard, change: SharedBoardChange): SharedBoard | undefined {
  const { changed, removed, anew, ...head } = change;
  if (anew) return undefined;
  if (head.version < before.version) return before;
  const runs = new Map(before.runs);
  for (const run of removed) runs.delete(run);
  for (const run of changed) runs.set(run.run, run);
  return runs.size > MOST_HELD ? undefined : { ...before, ...head, runs: sorted(runs.values()) };
}

/** How many runs are not held: of those that go on somewhere, and of those that are over everywhere. */
export function missingRuns({ counts, runs }: SharedBoard): Readonly<Record<PageKind, number>> {
  const going = [...runs.values()].filter((run) => rank(run) < 2).length;
  return {
    going: Math.max(counts.going - going, 0),
    over: Math.max(counts.runs - counts.going - (runs.size - going), 0),
  };
}

/** First those in which a person is asked, last those that are over on every machine. */
const rank = (run: SharedRun): number => (run.questions > 0 ? 0 : run.over ? 2 : 1);

const NAMES = new Intl.Collator("en", { numeric: true });

function sorted(runs: Iterable<SharedRun>): ReadonlyMap<string, SharedRun> {
  const order = [...runs].sort((one, other) => rank(one) - rank(other) || NAMES.compare(one.run, other.run));
  return new Map(order.map((run) => [run.run, run]));
}
