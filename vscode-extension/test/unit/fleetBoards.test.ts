import { beforeEach, expect, test, vi } from "vitest";
import type { Client } from "../../src/server/client";
import type { SharedBoardChange, SharedBoardPage, SharedRun } from "../../src/protocol";

class EventEmitter<T> {
  private readonly listeners = new Set<(value: T) => void>();
  readonly event = (listener: (value: T) => void): { dispose(): void } => {
    this.listeners.add(listener);
    return { dispose: () => void this.listeners.delete(listener) };
  };
  fire(value: T): void {
    for (const listener of this.listeners) listener(value);
  }
  dispose(): void {
    this.listeners.clear();
  }
}
vi.mock("vscode", () => ({ EventEmitter, DiagnosticSeverity: {} }));
vi.mock("../../src/server/client", () => ({ PAGE_RUNS: 100 }));

const { FleetBoards } = await import("../../src/server/fleet");
const { Store } = await import("../../src/store");

const run = (name: string, version = 1): SharedRun => ({
  run: name,
  title: "",
  workflow: "w",
  machines: 1,
  clones: 1,
  questions: 0,
  differs: false,
  over: false,
  version,
  newest: { member: "ann", status: "active", phase: "4a", done: 1, total: 2, at: "" },
});

const head = (version: number, runs = 1) => ({
  project: "library",
  version,
  isRead: true,
  outage: null,
  counts: { runs, going: runs, questions: 0, differing: 0, unread: 0 },
});

/** A server: what it was asked, and what it answers. */
const asked: [string, unknown][] = [];
const answers: Record<string, () => unknown> = {};
const client = {
  onFleetChanged: (() => undefined) as (change: SharedBoardChange) => void,
  request: (method: string, params: unknown) => {
    asked.push([method.replace("phasekeeper/", ""), params]);
    const answer = answers[method.replace("phasekeeper/", "")];
    return answer ? Promise.resolve(answer()) : Promise.reject(new Error("method not found"));
  },
};
const output = { warn: vi.fn(), debug: vi.fn() };
const methods = (): string[] => asked.map(([method]) => method);
const page = (version: number, ...runs: SharedRun[]): SharedBoardPage => ({
  ...head(version, runs.length),
  runs,
  next: null,
});
const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
};

function open() {
  const store = new Store();
  const boards = new FleetBoards(store, client as unknown as Client, output as never);
  return {
    store,
    boards,
    ready: () => store.dispatch({ kind: "server", server: { state: "ready", description: "" } }),
  };
}

beforeEach(() => {
  asked.length = 0;
  for (const name of Object.keys(answers)) delete answers[name];
  const joined = { project: "library", member: "desk", roots: ["/work"] };
  answers["fleet"] = () => ({ fleets: [joined], problem: "" });
  answers["fleetBoard"] = () => page(5, run("a"));
  answers["fleetHidden"] = () => ({});
  answers["fleetRun"] = () => ({ clones: [], more: 0 });
});

test("a board is asked for while its view is seen, and told to be hidden behind that", async () => {
  const { boards, ready } = open();
  ready();
  await settle();
  expect([methods(), boards.isJoined, boards.boards]).toEqual([["fleet"], true, []]);
  boards.setVisible(true);
  await settle();
  expect(boards.boards.map((board) => [board.member, [...board.runs.keys()]])).toEqual([["desk", ["a"]]]);
  boards.setVisible(false);
  client.onFleetChanged({ ...head(6), changed: [run("b", 6)], removed: [], anew: false });
  await settle();
  expect(methods()).toEqual(["fleet", "fleetBoard", "fleetHidden"]);
  expect([...boards.boards[0]!.runs.keys()]).toEqual(["a"]);
});

test("a change is held as it comes, and what is looked into is asked for anew once it has changed", async () => {
  const { boards, ready } = open();
  ready();
  await settle();
  boards.setVisible(true);
  await settle();
  await boards.clonesOf("library", "a");
  await boards.clonesOf("library", "a");
  client.onFleetChanged({ ...head(6), changed: [run("a", 6)], removed: [], anew: false });
  await boards.clonesOf("library", "a");
  expect(methods().filter((method) => method === "fleetRun")).toHaveLength(2);
  answers["fleetBoard"] = () => page(9, run("z"));
  client.onFleetChanged({ ...head(9), changed: [], removed: [], anew: true });
  await settle();
  expect([...boards.boards[0]!.runs.keys()]).toEqual(["z"]);
});

test("a page that a change has overtaken is asked for again", async () => {
  const { boards, ready } = open();
  ready();
  await settle();
  const pages = [page(5, run("old")), page(7, run("new"))];
  answers["fleetBoard"] = () => pages.shift();
  boards.setVisible(true);
  client.onFleetChanged({ ...head(7), changed: [run("new", 7)], removed: [], anew: false });
  await settle();
  expect([...boards.boards[0]!.runs.keys()]).toEqual(["new"]);
  expect(methods().filter((method) => method === "fleetBoard")).toHaveLength(2);
});

test("who hides the view while a page is on its way is followed no more", async () => {
  const { boards, ready } = open();
  ready();
  await settle();
  boards.setVisible(true);
  await Promise.resolve();
  boards.setVisible(false);
  await settle();
  expect(methods().slice(-1)).toEqual(["fleetHidden"]);
  expect(methods().indexOf("fleetBoard")).toBeLessThan(methods().lastIndexOf("fleetHidden"));
});

test("another server is asked anew, and one that knows no fleets has none", async () => {
  const { store, boards, ready } = open();
  ready();
  await settle();
  boards.setVisible(true);
  await settle();
  store.dispatch({ kind: "server", server: { state: "starting" } });
  expect(boards.boards).toHaveLength(1);
  // Its versions begin anew.
  answers["fleetBoard"] = () => page(1, run("b"));
  ready();
  await settle();
  expect([...boards.boards[0]!.runs.keys()]).toEqual(["b"]);
  delete answers["fleet"];
  await boards.look();
  expect([boards.isJoined, boards.boards]).toEqual([false, []]);
});

test("the next page of a board is added to what is held", async () => {
  answers["fleetBoard"] = () => ({ ...page(5, run("a")), ...head(5, 2), next: "1 a" });
  const { boards, ready } = open();
  ready();
  await settle();
  boards.setVisible(true);
  await settle();
  answers["fleetBoard"] = () => ({ ...page(5, run("b")), ...head(5, 2) });
  await boards.loadMore("library", "going");
  expect(asked.at(-1)![1]).toMatchObject({ after: "1 a" });
  expect([...boards.boards[0]!.runs.keys()]).toEqual(["a", "b"]);
  await boards.loadMore("library", "going");
  expect(methods().filter((method) => method === "fleetBoard")).toHaveLength(2);
});
