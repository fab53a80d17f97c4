import { beforeEach, expect, test, vi } from "vitest";
import type { CheckOutcome, TrustQuestion } from "../../src/protocol";
import { evaluation, gate, phase, ROOT, stateWith, summary } from "./fixtures";

/** What a person reads, and does: `buttons` are pressed in order; `stops` presses the progress's cancel. */
const editor = vi.hoisted(() => ({
  dialogs: [] as { message: string; detail: string | undefined }[],
  messages: [] as string[],
  shown: [] as string[],
  opened: [] as string[],
  buttons: [] as (string | undefined)[],
  saved: 0,
  stops: false,
  executed: [] as unknown[][],
}));
vi.mock("vscode", () => ({
  ProgressLocation: { Notification: 15 },
  Uri: {
    file: (path: string) => path,
    joinPath: (root: string, ...segments: string[]) => [root, ...segments].join("/"),
  },
  window: {
    showWarningMessage: (
      message: string,
      options: { detail: string } | string,
      ...buttons: { title: string }[]
    ): Promise<unknown> => {
      if (typeof options === "string") return (editor.messages.push(message), Promise.resolve(options));
      editor.dialogs.push({ message, detail: options.detail });
      const pressed = editor.buttons.shift();
      return Promise.resolve(buttons.find(({ title }) => title === pressed));
    },
    showInformationMessage: (message: string) => Promise.resolve(editor.messages.push(message)),
    showTextDocument: (name: string) => Promise.resolve(editor.opened.push(name)),
    withProgress: (
      { title, cancellable }: { title: string; cancellable: boolean },
      work: (progress: unknown, token: unknown) => Promise<unknown>,
    ) => {
      editor.shown.push(`${title} ${cancellable ? "(can be stopped)" : ""}`);
      const report = ({ message }: { message: string }): number => editor.shown.push(message);
      return work({ report }, { isCancellationRequested: editor.stops });
    },
  },
  commands: { executeCommand: (...all: unknown[]) => Promise.resolve(editor.executed.push(all)) },
  workspace: {
    saveAll: () => Promise.resolve((editor.saved += 1)),
    fs: { stat: () => Promise.resolve({}) },
    openTextDocument: (name: string) => Promise.resolve(name),
  },
}));

const { runChecks } = await import("../../src/commands/check");
const { runRows } = await import("../../src/views/runs");
const RUN = { root: ROOT, run: "tasks/late-fees" };
const QUESTION: TrustQuestion = {
  check: "tests",
  definition: "d1",
  title: "Allow what the check tests runs?",
  lines: ['runs: ["make", "test"]', "What these files call in turn is code of the workspace"],
};
const passed: CheckOutcome = {
  name: "tests",
  result: "passed",
  reason: "12 of 12 tests passed",
  ran: true,
  log: ".phasekeeper/evidence/tests.log",
  tail: [],
};

function sessionWith(outcome: CheckOutcome | Error, questions: readonly TrustQuestion[] = []) {
  const request = vi.fn((...[method]: [method: string, params: unknown]) =>
    Promise.resolve(method === "phasekeeper/gateChecks" ? { checks: ["tests"], questions } : {}),
  );
  const requestWithProgress = vi.fn((...[, , show]: [string, unknown, (message: string) => void]) => {
    show("tests: $(x) 3 of 12");
    return outcome instanceof Error ? Promise.reject(outcome) : Promise.resolve({ outcomes: [outcome] });
  });
  const store = { state: stateWith([summary()]) };
  return { session: { store, client: { request, requestWithProgress } } as never, request, requestWithProgress };
}

beforeEach(() => {
  const empty = { dialogs: [], messages: [], shown: [], opened: [], buttons: [], executed: [] };
  Object.assign(editor, { ...empty, saved: 0, stops: false });
});

test("the checks of a gate run on what is saved, with progress that can be stopped", async () => {
  const { session, request, requestWithProgress } = sessionWith(passed);
  await runChecks(session, { ...RUN, gate: "tests" });
  expect(editor.saved).toBe(1);
  expect(request.mock.calls).toEqual([["phasekeeper/gateChecks", { ...RUN, gate: "tests" }]]);
  expect(requestWithProgress.mock.calls[0]!.slice(0, 2)).toEqual([
    "phasekeeper/runChecks",
    { ...RUN, checks: ["tests"] },
  ]);
  expect(editor.shown).toEqual(["Checks: tests (can be stopped)", "tests: $\u200b(x) 3 of 12"]);
  expect(editor.messages).toEqual(["tests: passed, 12 of 12 tests passed"]);
  expect(editor.opened).toEqual([]);
});

test("what nobody allowed is asked with the server's text, and allowed as it was shown", async () => {
  const { session, request } = sessionWith(passed, [QUESTION]);
  editor.buttons = ["Allow"];
  await runChecks(session, RUN);
  expect(editor.dialogs).toEqual([{ message: QUESTION.title, detail: QUESTION.lines.join("\n") }]);
  expect(request).toHaveBeenLastCalledWith("phasekeeper/trustCheck", { ...RUN, check: "tests", definition: "d1" });
});

test("a dialog that is left runs nothing", async () => {
  const { session, request, requestWithProgress } = sessionWith(passed, [QUESTION]);
  await runChecks(session, RUN);
  expect(request).toHaveBeenCalledTimes(1);
  expect(requestWithProgress).not.toHaveBeenCalled();
});

test("of a check that failed the log is opened, and it can be run again from the message", async () => {
  const { session } = sessionWith({ ...passed, result: "failed", reason: "it ended with exit code 1" });
  await runChecks(session, { ...RUN, gate: "tests" });
  expect(editor.opened).toEqual([`${ROOT}/.phasekeeper/evidence/tests.log`]);
  expect(editor.executed).toEqual([["phasekeeper.runCheck", { ...RUN, gate: "tests" }]]);
  expect(editor.messages).toEqual(["tests: failed, it ended with exit code 1"]);
});

test("who stops a check is told nothing more, and what goes wrong is not hidden", async () => {
  const { session } = sessionWith(new Error("gone"));
  await expect(runChecks(session, RUN)).rejects.toThrow("gone");
  editor.stops = true;
  await expect(runChecks(session, RUN)).resolves.toBeUndefined();
  expect(editor.messages).toEqual([]);
});

test("a gate has a row for each check, which opens what made it stale, and a button where one can be run", async () => {
  const check = {
    name: "tests",
    result: "stale" as const,
    reason: "src/a.py changed since it ran",
    phrase: "tests stale: src/a.py changed since it ran",
    measuredAt: "2026-01-01T00:00:00.000+00:00",
    changed: [{ path: "src/a.py", line: 3 }],
    path: ".phasekeeper/config.yaml",
    line: 2,
    column: 3,
  };
  const withdrawn = { ...check, name: "lint", changed: [], line: null, column: null, path: null };
  const gates = [gate({ id: "tests", checks: [check] }), gate({ id: "old", checks: [withdrawn] })];
  const run = evaluation({ gates, phases: [phase({ id: "test" })] });
  const rows = runRows(stateWith([summary()]), () => Promise.resolve(run));
  const all: { id: string; context?: string; description?: string; subject?: { place?: unknown } }[] = [];
  const visit = async (some: readonly (typeof rows)[number][]): Promise<void> => {
    for (const row of some) {
      all.push(row);
      await visit(typeof row.children === "function" ? await row.children() : (row.children ?? []));
    }
  };
  await visit(rows);
  expect(all.filter((row) => row.context?.startsWith("gate")).map((row) => row.context)).toEqual([
    "gate checked",
    "gate",
  ]);
  const row = all.find((each) => each.id.endsWith("/check/tests"))!;
  expect(row.description).toBe("stale: src/a.py changed since it ran");
  expect(row.subject?.place).toEqual({ root: ROOT, path: "src/a.py", line: 3, column: null });
});
