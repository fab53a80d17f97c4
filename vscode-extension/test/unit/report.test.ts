import { beforeEach, expect, test, vi } from "vitest";
import { ROOT, stateWith, suggestion, summary } from "./fixtures";

const FORM = "# Phase Quality Gate\n\n**PHASE GATE STATUS**: <PASS or FAIL>\n";
interface FakeEditor {
  documents: { isUntitled: boolean; text: string; getText: () => string }[];
  typed: string | undefined;
  filled: (text: string) => string;
  pressed: string | undefined;
  boxes: number;
}
const editor = vi.hoisted((): FakeEditor => ({
  documents: [],
  typed: "",
  filled: (text) => text,
  pressed: "Report",
  boxes: 0,
}));
vi.mock("vscode", () => ({
  window: {
    showQuickPick: (items: { value: string }[]) => Promise.resolve(items[0]),
    showInputBox: () => (editor.boxes++, Promise.resolve(editor.typed)),
    showTextDocument: () => Promise.resolve(undefined),
    showInformationMessage: () => {
      for (const document of editor.documents) document.text = editor.filled(document.text);
      return Promise.resolve(editor.pressed);
    },
    showErrorMessage: () => Promise.resolve(undefined),
    setStatusBarMessage: () => undefined,
  },
  workspace: {
    get textDocuments() {
      return editor.documents;
    },
    openTextDocument: ({ content }: { content: string }) => {
      const document = { isUntitled: true, text: content, getText: () => document.text };
      editor.documents.push(document);
      return Promise.resolve(document);
    },
  },
}));

const { report } = await import("../../src/commands/work");
const reports = [{ step: "4b", outcomes: ["pass", "fail"], data: null, form: FORM, brings: [] }];
const run = summary({ suggestion: suggestion({ reports }) });
const plain = summary({ run: "tasks/plain" });
const graph = { phases: [{ id: "4b", outcomes: ["pass", "fail"] }] };
const request = vi.fn((...asked: [method: string, params: unknown]) =>
  Promise.resolve(asked[0] === "phasekeeper/graph" ? graph : {}),
);
const session = { store: { state: stateWith([run, plain]) }, client: { request } } as never;
const sent = () => request.mock.calls.filter(([method]) => method === "phasekeeper/report").map(([, params]) => params);

beforeEach(() => {
  Object.assign(editor, { documents: [], typed: "", pressed: "Report", boxes: 0 });
  editor.filled = (text) => text.replace("<PASS or FAIL>", "PASS") + "\nRan the tests.\n";
  request.mockClear();
});

test("a step with a form is reported with the text of an editor that holds it", async () => {
  await report(session, { root: ROOT, run: run.run });
  const text = "# Phase Quality Gate\n\n**PHASE GATE STATUS**: PASS\n\nRan the tests.\n";
  expect(sent()).toEqual([{ root: ROOT, run: run.run, step: "4b", outcome: "pass", summary: text }]);
  expect(editor.boxes).toBe(0);
});

test("a report that was refused finds its text again", async () => {
  await report(session, { root: ROOT, run: run.run });
  await report(session, { root: ROOT, run: run.run });
  expect(editor.documents).toHaveLength(1);
  expect(sent()[1]).toMatchObject({ summary: editor.documents[0]!.text });
});

test("who does not say that it is filled in reports nothing", async () => {
  editor.pressed = undefined;
  await report(session, { root: ROOT, run: run.run });
  expect(sent()).toEqual([]);
});

test("a step without a form takes a sentence", async () => {
  editor.typed = "it works";
  await report(session, { root: ROOT, run: plain.run });
  expect(sent()).toEqual([{ root: ROOT, run: plain.run, step: "codegen", outcome: "ok", summary: "it works" }]);
  expect(editor.documents).toEqual([]);
});
