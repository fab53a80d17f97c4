/** The page's bundle, and what it computes without a browser. */

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ASSETS, NAMES, pageBundle } from "../../page-bundle.mjs";
import { phaseWords } from "../../src/graph/picture";
import { planlessWords } from "../../src/page/board";
import { newUi } from "../../src/page/context";
import { byLine, closedQuestions, closedWords, commandOf, quote } from "../../src/page/decide";
import { lineKind } from "../../src/page/documents";
import type { Entry, RunPage } from "../../src/page/model";
import { headingOf } from "../../src/page/timeline";
import { relative } from "../../src/page/time";
import { visibleText } from "../../src/sanitize";
import { evaluation, phase, question } from "./fixtures";

test("the bundle that the server's package has is the one that is built of these sources", async () => {
  const built = await pageBundle();
  expect(built.map(([name]) => name).sort()).toEqual([...NAMES].sort());
  for (const [name, text] of built)
    expect(readFileSync(new URL(name!, ASSETS), "utf8") === text, `${name}: run \`npm run generate\``).toBe(true);
}, 60_000);

test("the bundle is small, and names no place to load anything from", async () => {
  const texts = new Map((await pageBundle()) as [string, string][]);
  expect(texts.get("page.js")!.length).toBeLessThan(40_000);
  expect(texts.get("page.css")!.length).toBeLessThan(25_000);
  const places = [...texts.values()].flatMap((text) =>
    [...text.matchAll(/https?:\/\/[^"'`\s)]+/g)].map(([url]) => url),
  );
  expect(new Set(places)).toEqual(new Set(["http://www.w3.org/2000/svg"]));
  expect(texts.get("page.js")).not.toMatch(/innerHTML|insertAdjacentHTML|document\.write|\beval\(/);
});

test("a reason is one word of a shell, whatever stands in it", () => {
  const command = 'phasekeeper answer t q yes --root /r --reason "why"';
  expect(commandOf(command, "")).toBe(command);
  expect(commandOf(command, "ok")).toBe("phasekeeper answer t q yes --root /r --reason ok");
  expect(commandOf(command, "$(rm -rf /) it's\n`id`")).toBe(
    `phasekeeper answer t q yes --root /r --reason '$(rm -rf /) it'"'"'s \`id\`'`,
  );
  // What a replacement would take for a pattern is no pattern.
  expect(commandOf(command, "$& $1 $$")).toContain("'$& $1 $$'");
  expect(quote("a b")).toBe("'a b'");
});

test("a board without a plan says what is counted beside it, and that a phase of a run that is over is not to come", () => {
  expect(planlessWords({ progress: null })).toBe("This workflow has no plan of tasks. These are its phases.");
  expect(planlessWords({ progress: { done: 1, total: 3 } })).toBe(
    "There is no plan to show: that 1 of 3 tasks is done is counted from the run's state. These are the phases.",
  );
  const states = ["done", "current", "ahead", "skipped", "detour"] as const;
  expect(states.map((state) => phaseWords(state, true))).toEqual([
    ...["done", "ended here", "not reached", "skipped", "not needed"],
  ]);
  expect(phaseWords("ahead", false)).toBe("to come");
});

const pageWith = (questions: string[], entries: Partial<Entry>[]): RunPage =>
  ({
    evaluation: evaluation({ questions: questions.map((id) => question({ id })) }),
    decisions: questions.map((id) => ({ question: id, text: `${id}?` })),
    timeline: { earlier: 0, entries },
  }) as never;

test("a question that is gone while somebody was about to answer it is told of, with who answered it and how", () => {
  const [before, after] = [pageWith(["plan", "tests", "done"], []), pageWith(["tests"], [])];
  const ui = newUi();
  for (const id of ["plan", "tests"]) ui.choices.set(id, "approve");
  ui.reasons.set("plan", "small");
  ui.reasons.set("done", "  ");
  expect(closedQuestions(after, ui)).toEqual(["plan"]);
  ui.busy.add("plan");
  expect(closedQuestions(after, ui)).toEqual([]);
  expect(closedWords("plan", before, after)).toBe("This question is not asked any more: plan?");
  const entry = {
    kind: "answer",
    sentence: "Answered plan: approve (go on)",
    who: "ann",
    why: "fine",
    at: "t1",
    line: 4,
  };
  const answered = pageWith(["tests"], [{ kind: "report", sentence: "" }, entry]);
  expect(closedWords("plan", before, answered)).toBe(
    "This question was answered meanwhile, by ann: approve (go on), “fine”. It was: plan?",
  );
  // An answer of before is none to this question.
  expect(closedWords("plan", pageWith(["plan"], [entry]), answered)).toBe("This question is not asked any more: plan?");
});

test("places stand in the order of their lines, the files as they come", () => {
  const place = (path: string | null, line: number | null) => ({ path, line });
  const places = [place("b.md", 9), place("a.md", 3), place("b.md", 2), place("b.md", null)];
  expect(byLine(places).map(({ path, line }) => [path, line])).toEqual([
    ...[
      ["b.md", null],
      ["b.md", 2],
      ["b.md", 9],
      ["a.md", 3],
    ],
  ]);
});

test("the lines of a diff that name its files are no lines that were added or removed", () => {
  const lines = ["--- a/x", "+++ b/x", "@@ -1,2 +1,2 @@", "--- one", "+++ two", " same", "-gone"];
  expect(lines.map((_, at) => lineKind(lines, at))).toEqual([
    ...["name", "name", "hunk", "remove", "add", "same", "remove"],
  ]);
});

test("times are said as people say them", () => {
  const now = Date.parse("2026-03-02T10:00:00Z");
  for (const [at, words] of [
    ["2026-03-02T09:59:40Z", "just now"],
    ["2026-03-02T09:57:00Z", "3 minutes ago"],
    ["2026-03-02T07:00:00+00:00", "3 hours ago"],
    ["2026-03-01T09:00:00Z", "yesterday"],
    ["2025-02-02T09:00:00Z", "last year"],
    ["2026-03-02T10:20:00Z", "in 20 minutes"],
    ["2026-03-02T10:00:30Z", "in a moment"],
    ["some time", ""],
    [null, ""],
  ] as const)
    expect(relative(at, now)).toBe(words);
});

test("text keeps its lines, and what is unseen in it is made visible", () => {
  expect(visibleText("a\r\nb\tc\rd")).toBe("a\nb\tc\nd");
  expect(visibleText("x\u202ey\u0000\u{e0041}")).toBe("x\\u{202e}y\\u{0}\\u{e0041}");
});

test("a record of the timeline names its phase by its title, and an answer by what was answered", () => {
  const run = evaluation({ phases: [phase({ id: "4b", title: "Quality gate" })] });
  const headings = [
    { kind: "report", sentence: "4b reported: fail", phase: "4b" },
    { kind: "answer", sentence: "Answered severe:3:WQ-002: lower (lower it)", phase: "" },
    { kind: "claim", sentence: "x-01 claimed", phase: "" },
  ].map((entry) => headingOf(entry as Entry, run));
  expect(headings).toEqual(["Quality gate reported: fail", "Answered: lower (lower it)", "x-01 claimed"]);
});
