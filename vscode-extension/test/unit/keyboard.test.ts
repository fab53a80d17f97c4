import { expect, test, vi } from "vitest";
import type { Row } from "../../src/views/row";
import manifest from "../../package.json";
import { question, ROOT, stateWith, summary } from "./fixtures";

vi.mock("vscode", () => ({}));
const { isPressed, pressedOn } = await import("../../src/commands/keyboard");

const run = { root: ROOT, run: "tasks/late-fees" };
const state = stateWith([
  summary(),
  summary({ run: "tasks/asked", questions: [question()] }),
  summary({ run: "tasks/over", status: "complete" }),
]);
const row = (id: string, over: Partial<Row> = {}): Row => ({ id, label: id, ...over });
const top = row("run", { context: "run going", subject: run });
const group = row("plan");
const view = (...selected: Row[]) => ({
  selected,
  getParent: ({ id }: Row) => (id === "run" ? undefined : id === "plan" || id.startsWith("task") ? top : group),
});
const fileOf = (name: string) => `${ROOT}/tasks/${name}/plan.md`;

test("a key is about the selected row, else about the run of a row above it", () => {
  const due = row("task-1", { context: "place task-ready task-due", subject: { ...run, task: "01" } });
  const done = row("task-2", { context: "place task-done", subject: { ...run, task: "02" } });
  expect(pressedOn("reportOutcome", state, view(due), undefined)).toEqual({ ...run, task: "01" });
  // What no menu offers of a row is not reported by a key.
  expect(pressedOn("reportOutcome", state, view(done), undefined)).toEqual(run);
  expect(pressedOn("showGraph", state, view(due), undefined)).toEqual(run);
  expect(pressedOn("reportOutcome", state, view(group), fileOf("asked"))).toEqual(run);
});

test("a key is about all selected tasks of a run that can be claimed", () => {
  const [one, two, other] = ["01", "02", "03"].map((task) =>
    row(`task-${task}`, { context: task === "03" ? "task-done" : "task-ready", subject: { ...run, task } }),
  );
  expect(pressedOn("claimTask", state, view(other!, one!, two!), undefined)).toEqual({
    ...run,
    task: "01",
    tasks: ["01", "02"],
  });
});

test("without a selected row a key is about the run of the file in front, where there is something in it", () => {
  const on = (command: string, name: string) => pressedOn(command, state, view(), fileOf(name));
  expect(on("reportOutcome", "late-fees")).toEqual(run);
  expect(on("reportOutcome", "over")).toEqual({});
  expect(on("showGraph", "over")).toEqual({ root: ROOT, run: "tasks/over" });
  expect(on("answerQuestion", "asked")).toEqual({ root: ROOT, run: "tasks/asked" });
  expect(on("answerQuestion", "late-fees")).toEqual({});
  expect(pressedOn("reportOutcome", state, undefined, undefined)).toEqual({});
});

test("each key that is about a run says which of our views has the focus", () => {
  const bound = manifest.contributes.keybindings.filter(({ command }) => !command.endsWith("filterRuns"));
  const views = ["", ...manifest.contributes.views.phasekeeper.map(({ id }) => id.split(".")[1]!)].filter(
    (id) => id !== "fleet",
  );
  for (const command of new Set(bound.map((each) => each.command))) {
    const own = bound.filter((each) => each.command === command);
    expect(own.map(({ args }) => args!.view).sort()).toEqual([...views].sort());
    expect(new Set(own.map(({ key }) => key)).size).toBe(1);
    for (const { when, args } of own) {
      expect(isPressed(args)).toBe(true);
      expect(when.endsWith(args!.view && `focusedView == phasekeeper.${args!.view}`)).toBe(true);
    }
    // Of several that hold VS Code takes the last.
    expect(own[0]!.args!.view).toBe("");
  }
});
