import { expect, test, vi } from "vitest";
import { boardOf, missingRuns, MOST_HELD, withChange, withPage } from "../../src/fleet";
import type { Clone, RunClones, SharedBoardChange, SharedBoardPage, SharedRun } from "../../src/protocol";
import { fleetMessage, fleetRows } from "../../src/views/fleet";
import { FAINT, WAITING, type Row } from "../../src/views/row";
import { outline } from "./outline";

const NOW = Date.parse("2026-11-30T12:00:00Z");
const RECENTLY = "2026-11-30T11:55:00+00:00";

const clone = (over: Partial<Clone> = {}): Clone => ({
  run: "tasks/late-fees",
  workflow: "artifact-pipeline",
  member: "ann-laptop",
  clone: "c1a2b3d4",
  status: "active",
  phase: "plan_review",
  next: "advance codegen",
  done: 2,
  total: 4,
  revision: "r1",
  commit: "3f9a21c0ffee",
  at: RECENTLY,
  questions: [],
  title: "",
  reason: "",
  asked: [],
  root: null,
  ...over,
});

const shared = (over: Partial<SharedRun> = {}): SharedRun => ({
  run: "tasks/late-fees",
  title: "Charge a fee",
  workflow: "artifact-pipeline",
  machines: 1,
  clones: 1,
  questions: 0,
  differs: false,
  over: false,
  version: 1,
  newest: clone(),
  ...over,
});

const page = (over: Partial<SharedBoardPage> = {}): SharedBoardPage => {
  const runs = over.runs ?? [shared()];
  const going = runs.filter((run) => !run.over).length;
  return {
    project: "library",
    version: 1,
    isRead: true,
    outage: null,
    counts: { runs: runs.length, going, questions: 0, differing: 0, unread: 0 },
    next: null,
    ...over,
    runs,
  };
};

const change = (over: Partial<SharedBoardChange> = {}): SharedBoardChange => {
  const { project, version, isRead, outage, counts } = page({ version: 2 });
  return { project, version, isRead, outage, counts, changed: [], removed: [], anew: false, ...over };
};

const rowsOf = (clones: readonly Clone[], run = shared(), more = 0): Row[] =>
  fleetRows([boardOf(page({ runs: [run] }), "desk")], () => Promise.resolve({ clones, more }), NOW);

const below = async (rows: readonly Row[]): Promise<readonly Row[]> => {
  const { children } = rows[0]!;
  return typeof children === "function" ? children() : (children ?? []);
};

test("a run has a row for each machine: how it stands there, which it is, how long ago, at which commit", async () => {
  const rows = rowsOf([clone(), clone({ member: "desk", status: "waiting_human" })], shared({ machines: 2 }));
  expect(await outline(rows)).toEqual([
    "Charge a fee | Plan review · 2/4 · 2 machines · 5 minutes ago",
    "  Plan review | ann-laptop · 2/4 · 5 minutes ago · 3f9a21c",
    "  Waits for a person | this machine · plan_review · 2/4 · 5 minutes ago · 3f9a21c",
  ]);
});

test("where clones differ both commits stand beside each other under a warning", async () => {
  const clones = [clone(), clone({ member: "desk", revision: "r2", commit: "77be012aaaa", root: "/work/shop" })];
  const rows = rowsOf(clones, shared({ machines: 2, differs: true }));
  expect(rows[0]).toMatchObject({ icon: { name: "warning", color: WAITING }, iconLabel: "warning" });
  const [difference] = await below(rows);
  expect(difference).toMatchObject({ label: "3f9a21c ≠ 77be012", description: "ann-laptop ≠ this machine" });
  expect(difference!.tooltip).toContain("ann-laptop: commit 3f9a21c, revision r1");
  expect((await outline(rows))[0]).toContain("clones differ");
  const files = rowsOf([clone(), clone({ member: "bob", revision: "r2" })], shared({ differs: true }));
  expect((await below(files))[0]!.label).toBe("Files differ at 3f9a21c");
});

test("many sides are counted, and two clones of one machine are told apart", async () => {
  const clones = ["a", "b", "c", "d", "e"].map((name) => clone({ member: name, commit: name, revision: name }));
  expect((await below(rowsOf(clones)))[0]!.label).toBe("a ≠ b ≠ 3 more");
  const two = await below(rowsOf([clone(), clone({ clone: "ffff0000" })]));
  expect(two.map((row) => row.description!.split(" · ")[0])).toEqual(["ann-laptop (c1a2b…)", "ann-laptop (ffff0…)"]);
});

test("an open question stands once with the machines on which it waits, and is answered where its files are", async () => {
  const asks = { questions: ["approval"], asked: ["Is the plan good?"] };
  const [elsewhere] = await below(rowsOf([clone(asks), clone({ ...asks, member: "bob" })]));
  expect(elsewhere).toMatchObject({ label: "Is the plan good?", description: "waits on ann-laptop, bob" });
  expect(elsewhere!.click).toBeUndefined();
  const [here] = await below(rowsOf([clone(asks), clone({ questions: ["approval"], member: "desk", root: "/work" })]));
  expect(here).toMatchObject({
    description: "waits for you",
    click: "answerQuestion",
    subject: { root: "/work", run: "tasks/late-fees", question: "approval" },
  });
});

test("what was told long ago is faint, a clock that runs ahead is no future, and an unknown state is no good one", async () => {
  const [old, ahead, odd] = await below(
    rowsOf([
      clone({ at: "2026-11-27T11:00:00+00:00" }),
      clone({ member: "bob", at: "2026-11-30T13:00:00+00:00" }),
      clone({ member: "eve", status: "constructor", at: "never", phase: "", total: -1 }),
    ]),
  );
  expect(old).toMatchObject({ icon: { color: FAINT }, iconLabel: "told long ago" });
  expect(old!.description).toContain("3 days ago");
  expect(ahead!.description).toContain("just now");
  expect(odd).toMatchObject({ label: "Cannot be told", icon: { name: "warning", color: FAINT } });
});

test("texts of other machines are shown on one line, short, and with nothing hidden in them", async () => {
  const hostile = "a\u202eb\n$(error)" + "x".repeat(500);
  const rows = rowsOf(
    [clone({ member: hostile, phase: hostile, commit: hostile, questions: [hostile], revision: hostile })],
    shared({ title: hostile, newest: clone({ member: hostile, phase: hostile }) }),
  );
  for (const row of [...rows, ...(await below(rows))])
    for (const text of [row.label, row.description ?? "", ...(row.tooltip ?? [])]) {
      expect(text).not.toMatch(/[\u202e\n]/);
      expect(text.length).toBeLessThan(700);
    }
});

test("clones that are not listed are counted, and runs that are over everywhere stand in one row", async () => {
  expect((await below(rowsOf([clone()], shared(), 190))).at(-1)!.label).toBe("… 190 more");
  const runs = [shared(), shared({ run: "b", title: "", over: true, newest: clone({ status: "complete" }) })];
  const board = boardOf(page({ runs, counts: { runs: 30, going: 11, questions: 0, differing: 0, unread: 0 } }), "desk");
  const rows = fleetRows([board], () => Promise.resolve({ clones: [], more: 0 }), NOW);
  expect(await outline(rows)).toEqual([
    "Charge a fee | Plan review · 2/4 · ann-laptop · 5 minutes ago",
    "… 10 more |",
    "Finished | 19",
    "  b | Complete · 2/4 · ann-laptop · 5 minutes ago",
    "  … 18 more |",
  ]);
  expect(rows[1]!.subject).toMatchObject({ project: "library", page: "going" });
});

test("several projects have a row each", async () => {
  const boards = ["library", "shop"].map((project) => boardOf(page({ project }), "desk"));
  const fetch = vi.fn(() => Promise.resolve<RunClones>({ clones: [], more: 0 }));
  const lines = await outline(fleetRows(boards, fetch, NOW));
  expect(lines.filter((line) => !line.startsWith(" "))).toEqual(["library | 1 run", "shop | 1 run"]);
  expect(fetch.mock.calls).toEqual([
    ["library", "tasks/late-fees"],
    ["shop", "tasks/late-fees"],
  ]);
});

test("the view says what is still to come, since when servers are out of reach and why, and what cannot be read", () => {
  const board = (over: Partial<SharedBoardPage>) => [boardOf(page(over), "desk")];
  expect(fleetMessage(board({}), "")).toBeUndefined();
  expect(fleetMessage([], "fleet.json can be read by others")).toBe("fleet.json can be read by others");
  expect(fleetMessage(board({ isRead: false }), "")).toBe("Reading the board of library…");
  const outage = { since: RECENTLY, why: "no answer" };
  expect(fleetMessage(board({ outage }), "")).toMatch(
    /^Out of reach since 2026-11-30 \d\d:\d\d: no answer\. It is tried again\. The rows are as they were then\.$/,
  );
  const counts = { runs: 0, going: 0, questions: 0, differing: 0, unread: 2 };
  expect(fleetMessage(board({ counts }), "")).toBe("2 rows of library cannot be read.");
});

test("a change is taken in, an older one is not, and very many runs are asked for anew", () => {
  const before = boardOf(page({ runs: [shared(), shared({ run: "b" })], version: 5 }), "desk");
  const after = withChange(
    before,
    change({ version: 6, changed: [shared({ run: "c", questions: 1 })], removed: ["b"] }),
  );
  expect([...after!.runs.keys()]).toEqual(["c", "tasks/late-fees"]);
  expect(withChange(before, change({ version: 4, removed: ["b"] }))).toBe(before);
  expect(withChange(before, change({ version: 6, anew: true }))).toBeUndefined();
  const many = Array.from({ length: MOST_HELD }, (_, number) => shared({ run: `r-${number}` }));
  expect(withChange(before, change({ version: 6, changed: many }))).toBeUndefined();
});

test("pages go on where the one before ended, first through what goes on, then through what is over", () => {
  const counts = { runs: 4, going: 2, questions: 0, differing: 0, unread: 0 };
  const first = boardOf(page({ runs: [shared({ run: "r-10" })], counts, next: "1 r-10" }), "desk");
  expect(missingRuns(first)).toEqual({ going: 1, over: 2 });
  expect(first.next).toEqual({ going: "1 r-10", over: "2 " });
  const runs = [shared({ run: "r-9" }), shared({ run: "a", over: true })];
  const second = withPage(first, page({ runs, counts, next: "2 a" }), "going");
  expect([...second.runs.keys()]).toEqual(["r-9", "r-10", "a"]);
  expect(missingRuns(second)).toEqual({ going: 0, over: 1 });
  expect(second.next).toEqual({ going: null, over: "2 a" });
});
