import { beforeEach, expect, test, vi } from "vitest";
import { evaluation, ROOT, stateWith, summary, task } from "./fixtures";

const editor = vi.hoisted(() => ({
  files: [] as string[],
  opened: [] as string[],
  written: [] as string[],
  messages: [] as string[],
  pressed: undefined as string | undefined,
}));
vi.mock("vscode", () => {
  interface Uri {
    scheme: string;
    path: string;
    query: string;
    with(change: object): Uri;
  }
  const uri = (path: string): Uri => ({
    ...{ scheme: "file", path, query: "" },
    with(change) {
      return { ...this, ...change };
    },
  });
  return {
    Uri: { file: uri, joinPath: (base: Uri, ...parts: string[]) => uri([base.path, ...parts].join("/")) },
    Range: class {},
    Position: class {},
    WorkspaceEdit: class {
      insert = (_uri: unknown, _at: unknown, text: string): unknown => editor.written.push(text);
    },
    window: {
      showTextDocument: () => Promise.resolve(undefined),
      showInformationMessage: (message: string) => (editor.messages.push(message), Promise.resolve(editor.pressed)),
    },
    workspace: {
      fs: {
        stat: ({ path }: Uri) =>
          editor.files.includes(path) ? Promise.resolve({}) : Promise.reject(new Error("it is missing")),
      },
      applyEdit: () => Promise.resolve(true),
      openTextDocument: ({ scheme, path, query }: Uri) => {
        editor.opened.push(`${scheme}:${path}${query && `?${query}`}`);
        return Promise.resolve({ lineCount: 9, lineAt: () => ({ text: "" }), getText: () => "" });
      },
    },
  };
});

const { openPlace, peekFailure, recordText } = await import("../../src/commands/show");
const place = (path: string, line: number | null = null) => ({ place: { root: "/work", path, line, column: null } });

beforeEach(() =>
  Object.assign(editor, { files: ["/work/a.md"], opened: [], written: [], messages: [], pressed: undefined }),
);

test("a look at a file that is not there offers no editor for it until a person wants one", async () => {
  await openPlace(place("gone.json", 3));
  expect(editor).toMatchObject({ opened: [], messages: ["gone.json is not there."] });
  editor.pressed = "Create";
  await openPlace(place("gone.json"));
  expect(editor.opened).toEqual(["untitled:/work/gone.json"]);
});

test("a file that is to be written has an editor with its example in it, and opens once it is there", async () => {
  await openPlace({ ...place("new.json"), example: "{}" });
  await openPlace({ ...place("a.md"), example: "{}" });
  expect(editor).toMatchObject({
    opened: ["untitled:/work/new.json", "file:/work/a.md"],
    messages: [],
    written: ["{}"],
  });
});

test("a failure whose report is not there any more opens nothing", async () => {
  const failedBy = { expression: "report 4b", value: "fail", path: "reports/01.md", line: 1, column: 1 };
  const stages = [{ id: "1", title: "", done: 0, total: 1, line: 1, tasks: [task({ state: "failed", failedBy })] }];
  const run = evaluation({ plan: { path: "plan.md", whole: true, stages } });
  const session = { store: { state: stateWith([summary()]) }, evaluations: { get: () => Promise.resolve(run) } };
  await peekFailure(session as never, { root: ROOT, run: "tasks/late-fees" });
  expect(editor).toMatchObject({ opened: [], messages: ["reports/01.md is not there."] });
});

test("a file that is there opens, and none outside of the root", async () => {
  await openPlace(place("a.md", 3));
  await openPlace(place("../a.md"));
  expect(editor).toMatchObject({ opened: ["file:/work/a.md"], messages: [] });
});

test("a record of a journal is shown in words, never as a line to edit", async () => {
  await openPlace(place("tasks/x/.phasekeeper/journal.jsonl", 5));
  const journal = "/work/tasks/x/.phasekeeper/journal.jsonl";
  expect(editor.opened).toEqual([`phasekeeper-record:${journal}/Record 5?5`]);
  const line =
    '{"seq": 5, "kind": "report", "phase": "4b", "tasks": ["03"], "message": "", "gates": [], "prev": "aa", "mac": "b"}';
  expect(recordText(line)).toBe('seq: 5\nkind: report\nphase: 4b\ntasks: ["03"]\n');
  expect(recordText("no json")).toBe("no json\n");
});
