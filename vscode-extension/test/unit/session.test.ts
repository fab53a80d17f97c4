import { expect, test, vi } from "vitest";

vi.mock("vscode", () => ({}));

const { Evaluations } = await import("../../src/session");
const { Store } = await import("../../src/store");
import { evaluation, ROOT, summary } from "./fixtures";

const name = { root: ROOT, run: summary().run };

/** Evaluations whose answers say how often was asked, in a store that has a board. */
function setUp() {
  const store = new Store();
  const ask = vi.fn(() => Promise.resolve(evaluation({ title: `asked ${ask.mock.calls.length}` })));
  const server = (state: "ready" | "starting") =>
    store.dispatch({ kind: "server", server: state === "ready" ? { state, description: "" } : { state } });
  const board = (...runs: ReturnType<typeof summary>[]) =>
    store.dispatch({ kind: "board", board: { version: 1, roots: [{ root: ROOT, version: 1, runs }] } });
  server("ready");
  board(summary());
  const evaluations = new Evaluations(store, ask);
  return { server, board, ask, title: async () => (await evaluations.get(name))?.title, evaluations };
}

test("a run is asked for once for each revision, and one that is gone is null", async () => {
  const { board, title, evaluations } = setUp();
  expect([await title(), await title()]).toEqual(["asked 1", "asked 1"]);
  board(summary({ revision: "r2" }));
  expect(await title()).toBe("asked 2");
  board();
  expect(await evaluations.get(name)).toBeNull();
});

test("a run that stands on a page that was not asked for is asked for by itself", async () => {
  const { evaluations, ask } = setUp();
  const store = new Store();
  const counts = { runs: 2, going: 2, questions: 0 };
  store.dispatch({
    kind: "board",
    board: { version: 1, roots: [{ root: ROOT, version: 1, runs: [summary()], counts, next: "1 x" }] },
  });
  expect(await new Evaluations(store, ask).get({ root: ROOT, run: "tasks/other" })).not.toBeNull();
  expect(await evaluations.get({ root: ROOT, run: "tasks/other" })).toBeNull();
});

test("while a server starts a run is as it was, and the server that came is asked anew", async () => {
  const { server, board, title } = setUp();
  expect(await title()).toBe("asked 1");
  server("starting");
  expect(await title()).toBe("asked 1");
  server("ready");
  expect(await title()).toBe("asked 1");
  board(summary());
  expect(await title()).toBe("asked 2");
});

test("an answer that never came is asked for again, and takes nothing newer with it", async () => {
  const { server, board, ask, title } = setUp();
  let fail: (error: Error) => void = () => undefined;
  ask.mockImplementationOnce(() => new Promise((_, reject) => (fail = reject)));
  const lost = title();
  server("starting");
  server("ready");
  board(summary());
  expect(await title()).toBe("asked 2");
  fail(new Error("the server is gone"));
  await expect(lost).rejects.toThrow("is gone");
  expect(await title()).toBe("asked 2");
});
