import { expect, test } from "vitest";
import type { State } from "../../src/store";
import { findNews, wantedNotices } from "../../src/views/news";
import { gate, question, stateWith, summary } from "./fixtures";

/** News where the run was there before. */
const news = (now: State, seen: ReadonlySet<string> | undefined, before = stateWith([summary()])) =>
  findNews(now, before, seen);
const asks = summary({ questions: [question()] });

test("what stands open at the first look is no news", () => {
  const { fresh, seen } = news(stateWith([asks]), undefined);
  expect(fresh).toEqual([]);
  expect(seen.size).toBe(1);
});

test("a new question is shown once", () => {
  const first = news(stateWith([summary()]), undefined);
  const second = news(stateWith([asks]), first.seen);
  expect(second.fresh.map((notice) => [notice.kind, notice.about])).toEqual([["approval", "approval"]]);
  expect(news(stateWith([asks]), second.seen).fresh).toEqual([]);
});

test("a question that was answered is news when it is asked again", () => {
  const open = news(stateWith([asks]), new Set());
  const answered = news(stateWith([summary()]), open.seen);
  expect(news(stateWith([asks]), answered.seen).fresh).toHaveLength(1);
});

test("a gate is shown when it has failed and is in force, and not before", () => {
  const stateOf = (over: Parameters<typeof gate>[0]) => stateWith([summary({ gates: [gate(over)] })]);
  expect(news(stateOf({ status: "open" }), new Set()).fresh).toEqual([]);
  expect(news(stateOf({ inForce: false }), new Set()).fresh).toEqual([]);
  const failed = news(stateOf({}), new Set());
  expect(failed.fresh.map((notice) => notice.text)).toEqual([
    "Charge a fee: not met at the gate “The tests pass”: the plan review is ok",
  ]);
  expect(news(stateOf({}), failed.seen).fresh).toEqual([]);
});

test("a gate that had failed before its run was there is no news", () => {
  const failed = stateWith([summary({ gates: [gate()] })]);
  expect(news(failed, new Set(), stateWith([])).fresh).toEqual([]);
});

test("a gate that fails together with a question of its run is shown as that question", () => {
  const { fresh, seen } = news(stateWith([summary({ questions: [question()], gates: [gate()] })]), new Set());
  expect(fresh.map((notice) => notice.kind)).toEqual(["approval"]);
  expect(news(stateWith([summary({ gates: [gate()] })]), seen).fresh).toEqual([]);
});

test("what was shown of a root is kept while that root is not known, as after a restart", () => {
  const first = news(stateWith([asks]), new Set());
  const without = news(stateWith([summary({ root: "/other" })]), first.seen);
  expect(news(stateWith([asks]), without.seen).fresh).toEqual([]);
});

test("text of files makes no link and no icon in a notification", () => {
  const evil = summary({ questions: [question({ question: "[x](command:evil) $(bell)" })] });
  expect(news(stateWith([evil]), new Set()).fresh[0]!.text).not.toMatch(/\]\(|\$\(/);
});

test("what stands open in a run that only came with a further page is no news, and is kept in mind", () => {
  const other = summary({ run: "tasks/other", questions: [question()] });
  const { fresh, seen } = news(stateWith([summary(), other]), new Set());
  expect(fresh).toEqual([]);
  expect(news(stateWith([summary(), other], 2), seen).fresh).toEqual([]);
  expect(news(stateWith([summary(), other], 2), new Set()).fresh).toHaveLength(1);
});

test.each([
  ["all", ["gate", "approval"]],
  ["questions", ["approval"]],
  ["none", []],
  // As it was before it had words.
  [true, ["gate", "approval"]],
  [false, []],
])("with the setting %o there are notifications of %o", (setting, kinds) => {
  const gates = news(stateWith([summary({ gates: [gate()] })]), new Set()).fresh;
  const { fresh } = news(stateWith([asks]), new Set());
  expect(wantedNotices([...gates, ...fresh], setting).map(({ kind }) => kind)).toEqual(kinds);
});
