import { expect, test } from "vitest";
import { followsGap, INITIAL, reduce, runAt, runsOf, Store } from "../../src/store";
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
