import { beforeEach, expect, test, vi } from "vitest";
import { evaluation, reportable, ROOT, stateWith, suggestion, summary, task } from "./fixtures";

const FORM = "# Phase Quality Gate\n\n**PHASE GATE STATUS**: <PASS or FAIL>\n";
interface Item {
  label: string;
  description: string;
  value: string;
  picked: boolean;
}
interface FakeDocument {
  uri: string;
  isClosed: boolean;
  text: string;
  getText: () => string;
}
interface Lens {
  command: { title: string; command: string; arguments: [{ draft: string }] };
}
interface FakeEditor {
  documents: FakeDocument[];
  shown: FakeDocument | undefined;
  executed: string[];
  messages: string[];
  lenses: (document: FakeDocument) => Lens[];
  close: (document: FakeDocument) => void;
  asked: { prompt: string; value: string }[];
  errors: string[];
  buttons: string[][];
  /** What is pressed below an error; undefined while nobody does. */
  way: string | undefined;
  called: unknown[][];
  confirmed: string[];
  releases: boolean;
  typed: string | undefined;
  /** Of the lists and boxes that were shown. */
  titles: string[];
  filled: (text: string) => string;
  pressed: string | undefined;
  boxes: number;
  offered: Item[];
  chosen: (items: Item[]) => Item[];
  /** The addresses of the tabs of the window. */
  tabs: string[];
  Tab: new (uri: string) => { uri: string };
}
const editor = vi.hoisted((): FakeEditor => ({
  documents: [],
  shown: undefined,
  executed: [],
  messages: [],
  lenses: () => [],
  close: () => undefined,
  asked: [],
  errors: [],
  buttons: [],
  way: undefined,
  called: [],
  confirmed: [],
  releases: true,
  typed: "",
  titles: [],
  filled: (text) => text,
  pressed: "Report",
  boxes: 0,
  offered: [],
  chosen: (items) => items.filter((item) => item.picked),
  tabs: [],
  Tab: class {
    constructor(readonly uri: string) {}
  },
}));
let opened = 0;
vi.mock("vscode", () => ({
  window: {
    showQuickPick: (items: Item[], options: { canPickMany?: boolean; title: string }) => {
      editor.titles.push(options.title);
      if (!options.canPickMany) return Promise.resolve(items[0]);
      editor.offered = items;
      return Promise.resolve(editor.chosen(items));
    },
    showInputBox: (box: { prompt: string; value: string; title: string }) => (
      editor.titles.push(box.title),
      editor.asked.push(box),
      editor.boxes++,
      Promise.resolve(editor.typed)
    ),
    visibleTextEditors: [],
    tabGroups: {
      get all() {
        return [{ tabs: editor.tabs.map((uri) => ({ input: new editor.Tab(uri) })) }];
      },
    },
    showTextDocument: (document: FakeDocument) => ((editor.shown = document), Promise.resolve(undefined)),
    showInformationMessage: (message: string) => {
      editor.messages.push(message);
      for (const document of editor.documents) document.text = editor.filled(document.text);
      return Promise.resolve(editor.pressed);
    },
    showWarningMessage: (text: string, options: { detail: string }, ...buttons: string[]) => {
      editor.confirmed.push(`${text} ${options.detail}`);
      return Promise.resolve(editor.releases ? buttons[0] : undefined);
    },
    showErrorMessage: (text: string, ...buttons: string[]) => {
      editor.errors.push(text);
      editor.buttons.push(buttons);
      return editor.way === "" ? new Promise(() => undefined) : Promise.resolve(editor.way);
    },
    setStatusBarMessage: () => undefined,
  },
  EventEmitter: class {
    event = undefined;
    fire = () => undefined;
  },
  Range: class {},
  TabInputText: editor.Tab,
  Uri: { parse: (uri: string) => uri },
  CodeLens: class {
    constructor(
      _range: unknown,
      readonly command: unknown,
    ) {}
  },
  commands: {
    executeCommand: (name: string, subject?: unknown) => {
      editor.called.push([name, subject]);
      if (!name.startsWith("workbench.")) return Promise.resolve();
      editor.executed.push(name);
      return Promise.resolve((editor.shown!.isClosed = true));
    },
  },
  languages: {
    registerCodeLensProvider: (_: unknown, { provideCodeLenses }: { provideCodeLenses: FakeEditor["lenses"] }) =>
      (editor.lenses = provideCodeLenses),
  },
  workspace: {
    onDidCloseTextDocument: (heard: FakeEditor["close"]) => (editor.close = heard),
    openTextDocument: (asked: { content: string } | string) => {
      if (typeof asked === "string") return Promise.resolve(editor.documents.find(({ uri }) => uri === asked));
      const { content } = asked;
      const uri = `untitled:${opened++}`;
      const document = { uri, isClosed: false, text: content, getText: () => document.text };
      editor.documents.push(document);
      return Promise.resolve(document);
    },
  },
}));

const { claim, release } = await import("../../src/commands/work");
const { report } = await import("../../src/commands/report");
const { giveUpDraft, handInDraft, registerDrafts } = await import("../../src/commands/draft");
const stored = new Map<string, unknown>();
const workspaceState = {
  get: <T>(key: string, other: T) => (stored.get(key) as T | undefined) ?? other,
  update: (key: string, value: unknown) => Promise.resolve(void stored.set(key, value)),
} as never;
const reports = [reportable("4b", { outcomes: ["pass", "fail"], form: FORM })];
const run = summary({ suggestion: suggestion({ reports }) });
const plain = summary({ run: "tasks/plain" });
const graph = { phases: [{ id: "4b", outcomes: ["pass", "fail"] }] };
const request = vi.fn((...asked: [method: string, params: unknown]) =>
  Promise.resolve(asked[0] === "phasekeeper/graph" ? graph : {}),
);
const work = summary({ run: "tasks/work", suggestion: suggestion({ tasks: ["x-02"] }) });
const CARRIED = { files: ["<each file that was changed>"] };
const carrying = summary({
  run: "tasks/carrying",
  suggestion: suggestion({
    reports: [
      reportable("codegen", {
        data: CARRIED,
        brings: [{ kind: "named", text: "", phrase: "it names the files", paths: [], met: null, outcomes: ["ok"] }],
      }),
    ],
  }),
});

let whole: ReturnType<typeof evaluation> | null = null;
const session = {
  store: { state: stateWith([run, plain, work, carrying]) },
  client: { request },
  evaluations: { get: () => Promise.resolve(whole) },
  output: { warn: () => undefined },
  context: { workspaceState },
} as never;
const sent = () => request.mock.calls.filter(([method]) => method === "phasekeeper/report").map(([, params]) => params);

beforeEach(() => {
  for (const document of editor.documents) document.isClosed = true;
  Object.assign(editor, {
    documents: [],
    errors: [],
    confirmed: [],
    releases: true,
    typed: "",
    pressed: "Report",
    boxes: 0,
    offered: [],
    titles: [],
  });
  Object.assign(editor, { executed: [], messages: [], asked: [], buttons: [], way: undefined, called: [], tabs: [] });
  stored.clear();
  registerDrafts(workspaceState);
  editor.chosen = (items) => items.filter((item) => item.picked);
  whole = null;
  editor.filled = (text) => text.replace("<PASS or FAIL>", "PASS") + "\nRan the tests.\n";
  request.mockClear();
});

test("a step with a form is reported with the text of an editor that holds it", async () => {
  await report(session, { root: ROOT, run: run.run });
  const text = "# Phase Quality Gate\n\n**PHASE GATE STATUS**: PASS\n\nRan the tests.\n";
  expect(sent()).toEqual([{ root: ROOT, run: run.run, step: "4b", outcome: "pass", summary: text }]);
  expect(editor.boxes).toBe(0);
});

const PREFIX = "phasekeeper.";
const REVERT = "workbench.action.revertAndCloseActiveEditor";
/** Resolves once a draft waits; the lenses above it. */
const lenses = () =>
  vi.waitFor(() => {
    const all = editor.lenses(editor.documents.at(-1)!);
    expect(all).not.toEqual([]);
    return all.map(({ command }) => command);
  });

test("a draft has a lens that hands it in, also once its message has gone, and is closed when it is recorded", async () => {
  editor.pressed = undefined;
  const reported = report(session, { root: ROOT, run: run.run });
  const [handIn, giveUp] = await lenses();
  expect([handIn!.title, giveUp!.title]).toEqual(["Report 4b", "Discard Report"]);
  expect([handIn!.command, giveUp!.command]).toEqual([`${PREFIX}handInDraft`, `${PREFIX}giveUpDraft`]);
  void handInDraft(handIn!.arguments[0]);
  void handInDraft(handIn!.arguments[0]);
  await reported;
  expect(sent()).toMatchObject([{ step: "4b", summary: editor.documents[0]!.text }]);
  expect(editor.executed).toEqual([REVERT]);
  expect(editor.lenses(editor.documents[0]!)).toEqual([]);
});

test("a report that was refused stays to be handed in again, and one after it was recorded begins anew", async () => {
  request.mockImplementationOnce(() => Promise.resolve(graph));
  request.mockImplementationOnce(() => Promise.reject(new Error("nothing was recorded: it says PASS twice")));
  const reported = report(session, { root: ROOT, run: run.run });
  await vi.waitFor(() => expect(editor.errors).toEqual(["Not recorded: it says PASS twice"]));
  expect(editor.executed).toEqual([]);
  void handInDraft((await lenses())[0]!.arguments[0]);
  await reported;
  expect(editor.documents).toHaveLength(1);
  expect(sent()[1]).toMatchObject({ summary: editor.documents[0]!.text });
  expect(editor.messages).toHaveLength(1);
  await report(session, { root: ROOT, run: run.run });
  expect(editor.documents).toHaveLength(2);
});

test("a draft that is discarded reports nothing, and one that a person wrote in is asked about once", async () => {
  editor.pressed = undefined;
  for (const more of ["", "more"]) {
    editor.filled = (text) => text + more;
    const reported = report(session, { root: ROOT, run: run.run });
    const [, discard] = await lenses();
    if (more) {
      editor.releases = false;
      await giveUpDraft(discard!.arguments[0]);
      expect(editor.executed).toEqual([]);
      expect(await lenses()).toHaveLength(2);
      editor.releases = true;
    }
    await giveUpDraft(discard!.arguments[0]);
    await reported;
    expect(editor.executed.splice(0)).toEqual([REVERT]);
  }
  expect(editor.confirmed[0]).toMatch("Discard the report of 4b?");
  expect(sent()).toEqual([]);
});

test("a draft that is open in the next window has its lens, which makes the report with its text", async () => {
  editor.pressed = undefined;
  void report(session, { root: ROOT, run: run.run });
  await lenses();
  const [document] = editor.documents;
  document!.text = "# Phase Quality Gate\n\nfilled";
  editor.tabs = [document!.uri];
  vi.resetModules();
  const next = await import("../../src/commands/draft");
  const { report: reportAnew } = await import("../../src/commands/report");
  next.registerDrafts(workspaceState);
  const [handIn] = await lenses();
  expect(handIn!.title).toBe("Report 4b");
  await next.handInDraft(handIn!.arguments[0]);
  const [name, subject] = editor.called.at(-1)!;
  expect(name).toBe("phasekeeper.reportOutcome");
  request.mockClear();
  await reportAnew(session, subject as never);
  expect(sent()).toEqual([
    { root: ROOT, run: run.run, step: "4b", outcome: "pass", summary: "# Phase Quality Gate\n\nfilled" },
  ]);
  expect(editor.documents).toHaveLength(1);
  expect(stored.get("phasekeeper.drafts")).toEqual([]);
});

test("a report that is begun again in the next window goes on with the draft that is open", async () => {
  editor.pressed = undefined;
  void report(session, { root: ROOT, run: run.run });
  await lenses();
  editor.tabs = [editor.documents[0]!.uri];
  vi.resetModules();
  const next = await import("../../src/commands/draft");
  const { report: reportAnew } = await import("../../src/commands/report");
  next.registerDrafts(workspaceState);
  editor.shown = undefined;
  const reported = reportAnew(session, { root: ROOT, run: run.run });
  await vi.waitFor(() => expect(editor.shown).toBe(editor.documents[0]));
  await next.handInDraft({ draft: editor.documents[0]!.uri });
  await reported;
  expect(editor.documents).toHaveLength(1);
  // An address may be another text's by then.
  editor.tabs = [];
  next.registerDrafts(workspaceState);
  expect(editor.lenses(editor.documents[0]!)).toEqual([]);
});

test("a draft that is discarded takes the message of its refusal with it, which names the step by its title", async () => {
  editor.way = "";
  request.mockImplementationOnce(() =>
    Promise.resolve({ phases: [{ id: "4b", title: "Quality gate", outcomes: ["pass"] }] } as never),
  );
  request.mockImplementationOnce(() => Promise.reject(new Error("a report of 4b comes with its text")));
  const reported = report(session, { root: ROOT, run: run.run });
  await vi.waitFor(() =>
    expect(editor.errors).toEqual(["Not recorded: a report of “Quality gate” comes with its text"]),
  );
  await giveUpDraft((await lenses())[1]!.arguments[0]);
  await reported;
  expect(editor.called.at(-1)![0]).toBe("notifications.hideToasts");
});

test("a refusal of a text does not repeat the form that stands in its editor", async () => {
  const why =
    'it contradicts itself. Fill in "# Phase\\n\\n\\"x\\" | Task |" and hand it in with --report FILE, or as the summary';
  request.mockImplementationOnce(() => Promise.resolve(graph));
  request.mockImplementationOnce(() => Promise.reject(new Error(`nothing was recorded: ${why}`)));
  const reported = report(session, { root: ROOT, run: run.run });
  const said = "Not recorded: it contradicts itself. Change that in its text, and report again.";
  await vi.waitFor(() => expect(editor.errors).toEqual([said]));
  void handInDraft((await lenses())[0]!.arguments[0]);
  await reported;
});

test("a task that is claimed is freed from the refusal, which names what is done here and no command", async () => {
  request.mockImplementationOnce(() => Promise.resolve(graph));
  const why = "x-02 is claimed by root; have a person give it back: `phasekeeper release tasks/work x-02`";
  request.mockImplementationOnce(() => Promise.reject(new Error(why)));
  editor.way = "Release Task…";
  await report(session, { root: ROOT, run: work.run, task: "x-02" });
  expect(editor.errors).toEqual(["Not recorded: x-02 is claimed by root; have a person give it back: “Release Task…”"]);
  const released = ["phasekeeper.releaseTask", { root: ROOT, run: work.run, task: "x-02" }];
  await vi.waitFor(() => expect(editor.called).toEqual([released]));
});

test("a draft that is closed reports nothing, and that is said", async () => {
  editor.pressed = undefined;
  const reported = report(session, { root: ROOT, run: run.run });
  await lenses();
  editor.close(editor.documents[0]!);
  await reported;
  expect(editor.messages.at(-1)).toBe("Nothing was reported of 4b: its text was closed.");
  expect(sent()).toEqual([]);
});

test("a report that is begun again takes the draft over", async () => {
  editor.pressed = undefined;
  const first = report(session, { root: ROOT, run: run.run });
  await lenses();
  const second = report(session, { root: ROOT, run: run.run });
  await first;
  void handInDraft((await lenses())[0]!.arguments[0]);
  await second;
  expect(editor.documents).toHaveLength(1);
  expect(sent()).toHaveLength(1);
});

test("a report that has to carry data has an editor for it, and one that need not has none", async () => {
  editor.filled = (text) => text.replace("<each file that was changed>", "src/a.py");
  editor.typed = "the fee";
  await report(session, { root: ROOT, run: carrying.run });
  const named = { root: ROOT, run: carrying.run, step: "codegen", summary: "the fee" };
  expect(sent()).toEqual([{ ...named, outcome: "ok", data: { files: ["src/a.py"] } }]);
  graph.phases.push({ id: "codegen", outcomes: ["error"] });
  await report(session, { root: ROOT, run: carrying.run });
  graph.phases.pop();
  expect(sent()[1]).toEqual({ ...named, outcome: "error" });
});

test("data that is no JSON object is not sent, and stays to be mended", async () => {
  editor.way = "";
  editor.filled = () => "[1]";
  const reported = report(session, { root: ROOT, run: carrying.run });
  await vi.waitFor(() => expect(editor.errors).toHaveLength(1));
  editor.documents[0]!.text = "{,}";
  void handInDraft((await lenses())[0]!.arguments[0]);
  await vi.waitFor(() => expect(editor.errors).toHaveLength(2));
  expect(editor.errors[0]).toMatch("the data is no JSON object: it has to be an object, in braces");
  expect(editor.errors[1]).toMatch("the data is no JSON object: ");
  expect(sent()).toEqual([]);
  editor.documents[0]!.text = '{"files": []}';
  void handInDraft((await lenses())[0]!.arguments[0]);
  await reported;
  expect(sent()).toMatchObject([{ data: { files: [] } }]);
  expect(editor.documents).toHaveLength(1);
  // What was wrong with it does not stand beside the record.
  expect(editor.called).toContainEqual(["notifications.hideToasts", undefined]);
});

test("a step without a form takes a sentence", async () => {
  editor.typed = "it works";
  await report(session, { root: ROOT, run: plain.run });
  expect(sent()).toEqual([{ root: ROOT, run: plain.run, step: "codegen", outcome: "ok", summary: "it works" }]);
  expect(editor.documents).toEqual([]);
});

test("a refusal is shown at its full length, with buttons for its files and for another try", async () => {
  const paths = ["gates/pass-3.md", "docs/*.md", "there.md"];
  const brings = [{ kind: "files" as const, text: "", phrase: "", paths, met: false, outcomes: ["ok"] }];
  const needing = summary({ suggestion: suggestion({ reports: [reportable("codegen", { brings })] }) });
  const why = `nothing was recorded: codegen ok needs that these files exist: gates/pass-3.md, docs/*.md; ${"x".repeat(500)}`;
  const refuse = () => {
    request.mockImplementationOnce(() => Promise.resolve(graph));
    request.mockImplementationOnce(() => Promise.reject(new Error(why)));
  };
  refuse();
  editor.way = "Open pass-3.md";
  const refusing = { ...(session as object), store: { state: stateWith([needing]) } } as never;
  await report(refusing, { root: ROOT, run: needing.run });
  expect(editor.errors).toEqual([why.replace("nothing was", "Not")]);
  expect(editor.buttons).toEqual([["Open pass-3.md", "Report Again…"]]);
  const place = { root: ROOT, path: "gates/pass-3.md", line: null, column: null };
  await vi.waitFor(() => expect(editor.called).toEqual([["phasekeeper.openPlace", { place, example: "" }]]));
  refuse();
  editor.way = "Report Again…";
  await report(refusing, { root: ROOT, run: needing.run, task: "x-02" });
  const again = { root: ROOT, run: needing.run, step: "codegen", tasks: ["x-02"] };
  await vi.waitFor(() => expect(editor.called.at(-1)).toEqual(["phasekeeper.reportOutcome", again]));
});

test("that a report was not recorded is said once", async () => {
  request.mockImplementationOnce(() => Promise.resolve(graph));
  request.mockImplementationOnce(() => Promise.reject(new Error("not recorded: a file was changed since")));
  await report(session, { root: ROOT, run: plain.run });
  expect(editor.errors).toEqual(["Not recorded: a file was changed since"]);
});

test("a refusal does not stand beside the record that came after it", async () => {
  editor.way = "";
  request.mockImplementationOnce(() => Promise.resolve(graph));
  request.mockImplementationOnce(() => Promise.reject(new Error("nothing was recorded: it is too late")));
  await report(session, { root: ROOT, run: plain.run });
  expect(editor.called).toEqual([]);
  await report(session, { root: ROOT, run: plain.run });
  expect(editor.called).toEqual([["notifications.hideToasts", undefined]]);
});

test("who reports a failure is asked what went wrong, and a sentence that was refused is offered again", async () => {
  graph.phases.push({ id: "codegen", outcomes: ["error"] });
  editor.typed = "the fee is wrong";
  request.mockImplementationOnce(() => Promise.resolve(graph));
  request.mockImplementationOnce(() => Promise.reject(new Error("nothing was recorded: it is too late")));
  for (let at = 0; at < 3; at++) await report(session, { root: ROOT, run: plain.run });
  graph.phases.pop();
  expect(editor.asked.map(({ prompt, value }) => [prompt, value])).toEqual([
    ["What went wrong, in a sentence.", ""],
    ["What went wrong, in a sentence.", "the fee is wrong"],
    ["What went wrong, in a sentence.", ""],
  ]);
});

const withTasks = (tasks: ReturnType<typeof task>[]) => {
  const stages = [{ id: "1", title: "Model", done: 0, total: 3, line: 10, tasks }];
  return evaluation({ plan: { path: "tasks/work/PLAN.md", whole: true, stages } });
};

test("a report offers the tasks that are ready or claimed with their titles, and the one that is claimed is picked", async () => {
  whole = withTasks([
    task({ id: "x-01", title: "A queue", state: "claimed", claimedBy: "coder-7" }),
    task({ id: "x-02", title: "A table" }),
    task({ id: "x-03", title: "Tests", state: "blocked" }),
  ]);
  await report(session, { root: ROOT, run: work.run });
  expect(editor.offered.map(({ label, description, picked }) => [label, description, picked])).toEqual([
    ["A queue", "x-01 · claimed by coder-7", true],
    ["A table", "x-02 · ready", false],
  ]);
  expect(sent()).toEqual([{ root: ROOT, run: work.run, step: "codegen", outcome: "ok", tasks: ["x-01"] }]);
});

test("a report about tasks that names none is not sent", async () => {
  whole = withTasks([task({ id: "x-02" })]);
  editor.chosen = () => [];
  await report(session, { root: ROOT, run: work.run });
  expect(sent()).toEqual([]);
});

test("a report from the rows of tasks is about these", async () => {
  await report(session, { root: ROOT, run: work.run, task: "x-02" });
  await report(session, { root: ROOT, run: work.run, task: "x-02", tasks: ["x-02", "x-03"] });
  expect(editor.offered).toEqual([]);
  expect(sent()).toMatchObject([{ tasks: ["x-02"] }, { tasks: ["x-02", "x-03"] }]);
});

test("a claim is kept with its token over a reload of the window, until it is given back", async () => {
  const kept = { root: ROOT, run: work.run, task: "x-02", who: "ada", token: "1-secret" };
  editor.typed = "ada";
  for (let at = 0; at < 2; at++) {
    request.mockImplementationOnce(() => Promise.resolve({ claim: kept } as never));
    await claim(session, { root: ROOT, run: work.run, task: "x-02" });
    expect(stored.get("phasekeeper.claims")).toEqual([kept]);
  }
  await release(session, { root: ROOT, run: work.run, task: "x-02" });
  expect(stored.get("phasekeeper.claims")).toEqual([]);
});

test("what is asked about steps and tasks names them by their titles", async () => {
  const stages = [{ id: "1", title: "", done: 0, total: 2, line: 1, tasks: [task(), task({ id: "x-02", title: "" })] }];
  whole = evaluation({ plan: { path: "plan.md", whole: true, stages } });
  const actions = [{ id: "act", title: "Apply a fix" }];
  const titled = { phases: [{ id: "4b", title: "Quality gate", outcomes: ["ok"] }], actions };
  request.mockImplementationOnce(() => Promise.resolve(titled));
  await report(session, { root: ROOT, run: plain.run, step: "4b", tasks: ["x-01", "x-02"] });
  request.mockImplementationOnce(() => Promise.resolve(titled));
  await report(session, { root: ROOT, run: plain.run, step: "act", task: "x-01" });
  editor.typed = "ada";
  await claim(session, { root: ROOT, run: work.run, task: "x-01" });
  expect(editor.titles).toEqual([
    "What did “Quality gate” come to for “A model” and x-02?",
    "Quality gate: ok",
    "What did “Apply a fix” come to for “A model”?",
    "Apply a fix: ok",
    "Claim “A model” in Charge a fee",
  ]);
  request.mockImplementationOnce(() => Promise.resolve({ confirm: ["it is ada's"] } as never));
  await release(session, { root: ROOT, run: work.run, task: "x-01" });
  expect(editor.confirmed.at(-1)).toBe("Release “A model”? it is ada's");
});

test("somebody else's claim ends once a person has read whose it is, and not without", async () => {
  const asked = { recorded: "", confirm: ["x-02 is claimed by ada until noon"] };
  const named = { root: ROOT, run: work.run, task: "x-02" };
  const releases = () =>
    request.mock.calls.filter(([method]) => method === "phasekeeper/release").map(([, sent]) => sent);
  request.mockImplementationOnce(() => Promise.resolve(asked as never));
  await release(session, named);
  expect(editor.confirmed).toEqual(["Release x-02? x-02 is claimed by ada until noon"]);
  expect(releases()).toEqual([named, { ...named, confirmed: asked.confirm }]);
  request.mockClear();
  editor.releases = false;
  request.mockImplementationOnce(() => Promise.resolve(asked as never));
  await release(session, named);
  expect(releases()).toEqual([named]);
});

test("a claim that was made here ends without a question", async () => {
  await release(session, { root: ROOT, run: work.run, task: "x-02" });
  expect(editor.confirmed).toEqual([]);
});
