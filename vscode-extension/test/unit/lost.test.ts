import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Store } from "../../src/store";
import { runRows } from "../../src/views/runs";
import { ROOT, summary } from "./fixtures";

const editor = vi.hoisted(() => ({
  messages: [] as string[],
  executed: [] as unknown[][],
  setting: "all",
}));
vi.mock("vscode", () => ({
  EventEmitter: class {
    private readonly heard: (() => void)[] = [];
    event = (listener: () => void): unknown => this.heard.push(listener);
    fire = (): void => this.heard.forEach((listener) => listener());
    dispose = (): void => undefined;
  },
  commands: { executeCommand: (...all: unknown[]) => Promise.resolve(editor.executed.push(all)) },
  window: {
    showWarningMessage: (message: string, button: string) => (editor.messages.push(message), Promise.resolve(button)),
  },
  workspace: { getConfiguration: () => ({ get: () => editor.setting }) },
}));

const { LostRuns } = await import("../../src/lost");
const RUN = "tasks/late-fees";
const PATH = `${RUN}/state.json`;
const WHY = { because: "state.json lacks phase", path: PATH };

function setUp(answer: typeof WHY | null = WHY) {
  const store = new Store();
  store.dispatch({ kind: "server", server: { state: "ready", description: "" } });
  const request = vi.fn(() => Promise.resolve(answer));
  const lost = new LostRuns({ store, client: { request }, output: { debug: vi.fn() } } as never);
  const drawn: string[][] = [];
  lost.onDidChange(() => void drawn.push(lost.runs.map(({ run }) => run)));
  let version = 1;
  const show = (...runs: string[]): void => {
    const board = { root: ROOT, version: version++, runs: runs.map((run) => summary({ run, title: "Late fees" })) };
    store.dispatch({ kind: "board", board: { version: 1, roots: [board] } });
  };
  return { store, request, lost, drawn, show };
}

beforeEach(() => {
  vi.useFakeTimers();
  Object.assign(editor, { messages: [], executed: [], setting: "all" });
});
afterEach(() => vi.useRealTimers());

test("a run that its file does not show any more is said to be none, with why and the way to the file", async () => {
  const { store, request, lost, show } = setUp();
  show(RUN, "tasks/other");
  show("tasks/other");
  await vi.advanceTimersByTimeAsync(2000);
  expect(request).toHaveBeenCalledWith("phasekeeper/lost", { root: ROOT, run: RUN, workflow: summary().workflow });
  expect(editor.messages).toEqual([
    "Late fees is no run any more: state.json lacks phase. Once that is put back it is there again.",
  ]);
  const place = { root: ROOT, path: PATH, line: null, column: null };
  expect(editor.executed).toEqual([["phasekeeper.openPlace", { root: ROOT, run: RUN, place }]]);
  const [row] = runRows(store.state, () => Promise.resolve(null), undefined, lost.runs);
  expect(row).toMatchObject({
    label: "Late fees",
    description: "no run any more: state.json lacks phase",
    click: "openPlace",
    subject: { place },
  });
});

test("it is said no more once the run is there again, or its folder was closed", async () => {
  const { store, drawn, show } = setUp();
  show(RUN);
  show();
  await vi.advanceTimersByTimeAsync(2000);
  show(RUN);
  expect(drawn).toEqual([[RUN], []]);
  show();
  await vi.advanceTimersByTimeAsync(2000);
  store.dispatch({ kind: "board", board: { version: 1, roots: [] } });
  expect(drawn).toEqual([[RUN], [], [RUN], []]);
});

test("nothing is said of a run that was removed, is back at once, or went with many others", async () => {
  const removed = setUp(null);
  removed.show(RUN);
  removed.show();
  await vi.advanceTimersByTimeAsync(2000);
  expect(removed.drawn).toEqual([]);
  const back = setUp();
  back.show(RUN);
  back.show();
  back.show(RUN);
  await vi.advanceTimersByTimeAsync(2000);
  expect(back.drawn).toEqual([]);
  const many = setUp();
  many.show(..."abcdef".split(""));
  many.show();
  await vi.advanceTimersByTimeAsync(2000);
  expect(many.request).not.toHaveBeenCalled();
  expect(editor.messages).toEqual([]);
});

test("who wants no notifications has the row alone", async () => {
  editor.setting = "questions";
  const { drawn, show } = setUp();
  show(RUN);
  show();
  await vi.advanceTimersByTimeAsync(2000);
  expect(drawn).toEqual([[RUN]]);
  expect(editor.messages).toEqual([]);
});
