import { expect, test } from "vitest";
import { notices as told } from "../../src/notifications/news";
import type { Known } from "../../src/store";
import { gate, known, question, summary } from "./fixtures";

const notices = (now: Known, seen: ReadonlySet<string> | undefined, before = known([summary()])) =>
  told(now, before, seen);
const asks = summary({ questions: [question()] });

test("what stands open at the first look is no news", () => {
  const { fresh, seen } = notices(known([asks]), undefined);
  expect(fresh).toEqual([]);
  expect(seen.size).toBe(1);
});

test("a new question is told once", () => {
  const first = notices(known([summary()]), undefined);
  const second = notices(known([asks]), first.seen);
  expect(second.fresh.map((notice) => [notice.kind, notice.about])).toEqual([["approval", "approval"]]);
  expect(notices(known([asks]), second.seen).fresh).toEqual([]);
});

test("a question that was answered is news when it is asked again", () => {
  const open = notices(known([asks]), new Set());
  const answered = notices(known([summary()]), open.seen);
  expect(notices(known([asks]), answered.seen).fresh).toHaveLength(1);
});

test("a gate is told when it has failed and is in force, and not before", () => {
  const with_ = (over: Parameters<typeof gate>[0]) => known([summary({ gates: [gate(over)] })]);
  expect(notices(with_({ status: "open" }), new Set()).fresh).toEqual([]);
  expect(notices(with_({ inForce: false }), new Set()).fresh).toEqual([]);
  const failed = notices(with_({}), new Set());
  expect(failed.fresh.map((notice) => notice.text)).toEqual([
    "Charge a fee: the gate “The tests pass” has failed. the plan review is ok",
  ]);
  expect(notices(with_({}), failed.seen).fresh).toEqual([]);
});

test("a gate that had failed before its run was there is no news", () => {
  const failed = known([summary({ gates: [gate()] })]);
  expect(notices(failed, new Set(), known([])).fresh).toEqual([]);
});

test("a gate that fails together with a question of its run is told as that question", () => {
  const { fresh, seen } = notices(known([summary({ questions: [question()], gates: [gate()] })]), new Set());
  expect(fresh.map((notice) => notice.kind)).toEqual(["approval"]);
  expect(notices(known([summary({ gates: [gate()] })]), seen).fresh).toEqual([]);
});

test("what was told of a root is kept while that root is not known, as after a restart", () => {
  const told = notices(known([asks]), new Set());
  const without = notices(known([summary({ root: "/other" })]), told.seen);
  expect(notices(known([asks]), without.seen).fresh).toEqual([]);
});

test("text of files makes no link and no icon in a notification", () => {
  const evil = summary({ questions: [question({ question: "[x](command:evil) $(bell)" })] });
  expect(notices(known([evil]), new Set()).fresh[0]!.text).not.toMatch(/\]\(|\$\(/);
});
