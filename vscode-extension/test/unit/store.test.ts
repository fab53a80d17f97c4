import { expect, test } from "vitest";
import type { BoardRoot } from "../../src/protocol";
import {
  followsGap,
  INITIAL,
  leavesNoRuns,
  missing,
  questionCount,
  reduce,
  rootsAround,
  runAt,
  runsOf,
  Store,
} from "../../src/store";
import { ROOT, stateWith, summary } from "./fixtures";

const change = (version: number, over: Partial<Parameters<typeof followsGap>[1]> = {}) => ({
  root: ROOT,
  version,
  changed: [],
  removed: [],
  ...over,
});

test("a board replaces everything that was known of roots", () => {
  const before = stateWith([summary({ root: "/gone" })]);
  const after = reduce(before, {
    kind: "board",
    board: { version: 1, roots: [{ root: ROOT, version: 3, runs: [summary()] }] },
  });
  expect([...after.roots.keys()]).toEqual([ROOT]);
  expect(after.roots.get(ROOT)?.version).toBe(3);
});

test("a change adds, replaces and removes runs of its root and leaves others as they were", () => {
  const other = summary({ root: "/other" });
  const before = stateWith([summary({ run: "b" }), summary({ run: "c" }), other]);
  const after = reduce(before, {
    kind: "changed",
    change: change(2, { changed: [summary({ run: "a" }), summary({ run: "b", revision: "r2" })], removed: ["c"] }),
  });
  expect(runsOf(after).map((run) => [run.root, run.run, run.revision])).toEqual([
    [ROOT, "a", "r1"],
    [ROOT, "b", "r2"],
    ["/other", other.run, "r1"],
  ]);
  expect(after.roots.get("/other")).toBe(before.roots.get("/other"));
});

test("a change that is older than what is known is nothing new", () => {
  const before = stateWith([summary()], 5);
  expect(reduce(before, { kind: "changed", change: change(5, { removed: [summary().run] }) })).toBe(before);
});

test("a gap between versions, and a root that is not known, are missed changes", () => {
  const now = stateWith([summary()], 5);
  expect(followsGap(now, change(6))).toBe(false);
  expect(followsGap(now, change(7))).toBe(true);
  expect(followsGap(now, change(6, { root: "/new" }))).toBe(true);
});

test("what is known of roots goes when the server does", () => {
  expect(reduce(stateWith([summary()]), { kind: "server", server: { state: "starting" } }).roots.size).toBe(0);
});

test("the run around a file is the innermost one", () => {
  const now = stateWith([summary({ run: "tasks/x" }), summary({ run: "tasks/x/sub" }), summary({ run: "tasks/xy" })]);
  expect(runAt(now, `${ROOT}/tasks/x/sub/a.md`)?.run).toBe("tasks/x/sub");
  expect(runAt(now, `${ROOT}/tasks/xy/a.md`)?.run).toBe("tasks/xy");
  expect(runAt(now, `${ROOT}/README.md`)).toBeUndefined();
});

test("a run that is its root's own folder holds the root's files, on Windows too", () => {
  const now = stateWith([summary({ root: "C:\\shop", run: "." })]);
  expect(runAt(now, "C:/shop/state.json")?.run).toBe(".");
});

const counts = (runs: number, going = runs, questions = 0) => ({ runs, going, questions });

/** The state of a root of which one page is held. */
function stateOfPage(names: string[], over: Partial<BoardRoot>) {
  const root = { root: ROOT, version: 3, runs: names.map((run) => summary({ run })), ...over };
  return reduce(stateWith([]), { kind: "board", board: { version: 1, roots: [root] } });
}

test("of a page it is known how many runs are not held, and which pages come next", () => {
  const now = stateOfPage(["a", "b"], { counts: counts(9, 6, 2), next: "1 b" });
  const root = now.roots.get(ROOT)!;
  expect(missing(root)).toEqual({ runs: 7, going: 4, over: 3, questions: 2 });
  expect(root.next).toEqual({ going: "1 b", over: "2 " });
  expect(questionCount(now)).toBe(2);
  expect(missing(stateWith([summary()]).roots.get(ROOT)!).runs).toBe(0);
});

test("pages are added in any order, and each cursor ends by itself", () => {
  const first = stateOfPage(["a"], { counts: counts(4, 2), next: "1 a" });
  const page = (run: string, next: string | null, status: "active" | "complete") => ({
    root: ROOT,
    version: 3,
    runs: [summary({ run, status })],
    next,
  });
  const over = reduce(first, { kind: "page", page: page("y", "2 y", "complete"), of: "over" });
  expect(over.roots.get(ROOT)!.next).toEqual({ going: "1 a", over: "2 y" });
  const going = reduce(over, { kind: "page", page: page("b", "2 x", "active"), of: "going" });
  // Behind `x` there may be one that is not held, behind `y` too: the cursor that is there goes on.
  expect(going.roots.get(ROOT)!.next).toEqual({ going: null, over: "2 y" });
  const last = reduce(going, { kind: "page", page: page("z", null, "complete"), of: "over" });
  expect(last.roots.get(ROOT)!.next).toEqual({ going: null, over: null });
  expect([...last.roots.get(ROOT)!.runs.keys()]).toEqual(["a", "b", "y", "z"]);
  expect(missing(last.roots.get(ROOT)!).runs).toBe(0);
});

test("a page that is older than the root, and one of a root that is closed, are nothing new", () => {
  const now = stateOfPage(["a"], { counts: counts(2), next: "1 a" });
  const page = { root: ROOT, version: 2, runs: [summary({ run: "b" })], next: null };
  expect(reduce(now, { kind: "page", page, of: "going" })).toBe(now);
  expect(reduce(now, { kind: "page", page: { ...page, root: "/gone", version: 9 }, of: "going" })).toBe(now);
});

test("changes bring the counts of all runs, and say when the board has to be asked for", () => {
  const now = stateOfPage(["a"], { counts: counts(9), next: "1 a" });
  const after = reduce(now, {
    kind: "changed",
    change: change(4, { changed: [summary({ run: "m" })], counts: counts(10) }),
  });
  expect(missing(after.roots.get(ROOT)!).runs).toBe(8);
  expect(after.roots.get(ROOT)!.next).toEqual(now.roots.get(ROOT)!.next);
  expect(followsGap(now, change(4, { anew: true }))).toBe(true);
  expect(leavesNoRuns(now, change(4, { removed: ["a", "never-held"] }))).toBe(true);
});

test("the runs around a file are asked for only where some are not held", () => {
  const some = stateOfPage(["a"], { counts: counts(2), next: "1 a" });
  expect(rootsAround(some, `${ROOT}/tasks/x/a.md`)).toEqual([{ root: ROOT, path: "tasks/x/a.md" }]);
  expect(rootsAround(some, "/elsewhere/a.md")).toEqual([]);
  expect(rootsAround(some, undefined)).toEqual([]);
  expect(rootsAround(stateWith([summary()]), `${ROOT}/tasks/x/a.md`)).toEqual([]);
});

test("listeners hear of changes once, in order, and not of what changes nothing", () => {
  const store = new Store();
  const transitions: string[] = [];
  const listening = store.onChange((now, before) => transitions.push(`${before.server.state}>${now.server.state}`));
  store.dispatch({ kind: "server", server: { state: "missing" } });
  store.dispatch({ kind: "board", board: { version: 1, roots: [{ root: ROOT, version: 4, runs: [] }] } });
  store.dispatch({ kind: "changed", change: change(4) });
  listening.dispose();
  store.dispatch({ kind: "server", server: { state: "starting" } });
  expect(transitions).toEqual(["starting>missing", "missing>missing"]);
  expect(INITIAL.roots.size).toBe(0);
});
