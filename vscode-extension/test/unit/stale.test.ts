import { expect, test, vi } from "vitest";
import { INITIAL, reduce } from "../../src/store";
import { nameOf } from "../../src/protocol";
import { gate, question, ROOT, stateWith, summary } from "./fixtures";

vi.mock("vscode", () => ({}));
const { stalePage } = await import("../../src/page/panel");
const { badgeOf } = await import("../../src/views/badges");
const name = nameOf(summary());

test("the page of a run that is gone, or that no server tells of, says so", () => {
  expect(stalePage(stateWith([summary()]), name)).toBeUndefined();
  expect(stalePage(INITIAL, name)).toContain("The server is not running");
  expect(stalePage(stateWith([summary({ run: "tasks/renamed" })]), name)).toContain("not there any more");
});

test("a run that stands on another page, and a root that is still to come, are not said to be gone", () => {
  const counts = { runs: 9, going: 9, questions: 0 };
  const root = { root: ROOT, version: 1, runs: [], counts, next: "1 a" };
  expect(
    stalePage(reduce(stateWith([]), { kind: "board", board: { version: 1, roots: [root] } }), name),
  ).toBeUndefined();
  expect(stalePage(stateWith([]), name)).toBeUndefined();
});

test("the Explorer marks what waits and what fails, and nothing that is well or over", () => {
  expect(badgeOf(summary({ questions: [question()], gates: [gate()] }))).toMatchObject({ mark: "?" });
  expect(badgeOf(summary({ gates: [gate()] }))).toMatchObject({ mark: "!" });
  expect(badgeOf(summary())).toBeUndefined();
  expect(badgeOf(summary({ status: "failed" }))).toBeUndefined();
});
