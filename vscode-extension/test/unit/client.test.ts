import { EventEmitter } from "node:events";
import { homedir } from "node:os";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Board, BoardRoot, Changed, PageRequest } from "../../src/protocol";
import { ROOT, summary } from "./fixtures";

/** The programs that were started; `killed` ends the start that waits for one. */
class Process extends EventEmitter {
  readonly stderr = new EventEmitter();
  static started: Process[] = [];
  signal: string | undefined;
  constructor(
    readonly program: string,
    readonly args: readonly string[],
    readonly how: object,
  ) {
    super();
    Process.started.push(this);
    queueMicrotask(() => this.emit("spawn"));
  }
  kill(signal: string): void {
    this.signal = signal;
    this.emit("exit");
  }
}

/** A language client that a test answers for. */
class Fake {
  static instances: Fake[] = [];
  static failsToStart: string | undefined;
  static neverAnswers = false;
  static board: Board = { version: 1, roots: [{ root: ROOT, version: 1, runs: [summary()] }] };
  /** Answers to requests for pages, in their order; the board once there is none. */
  static pages: Board[] = [];
  static asked: PageRequest[] = [];
  state = 0;
  listener: ((change: Changed) => void) | undefined;
  sent: string[] = [];
  disposed = 0;
  /** As the protocol's client does: an error that is forced is a red message, whatever the options say. */
  error(message: string, _data?: unknown, show?: unknown): void {
    said.push(message);
    if (show === "force") void showErrorMessage(message);
  }
  constructor(
    readonly id: string,
    readonly name: string,
    readonly program: () => Promise<Process>,
    readonly options: {
      initializationOptions: object;
      errorHandler: { closed(): unknown };
      middleware: { executeCommand(command: string, args: unknown[], next: () => unknown): unknown };
    },
  ) {
    Fake.instances.push(this);
  }
  onNotification(method: string, listener: (change: Changed) => void): void {
    if (method === "phasekeeper/changed") this.listener = listener;
  }
  async start(): Promise<void> {
    try {
      await this.begin();
    } catch (error) {
      this.error("couldn't create connection to server.", error, "force");
      throw error;
    }
  }
  private async begin(): Promise<void> {
    if (Fake.failsToStart) throw new Error(Fake.failsToStart);
    const running = await this.program();
    if (Fake.neverAnswers) await new Promise((_, reject) => running.on("exit", () => reject(new Error("it is gone"))));
    this.state = 2;
  }
  sendRequest(method: string, params: PageRequest): Promise<unknown> {
    this.sent.push(method);
    Fake.asked.push(params);
    return Promise.resolve((params.root !== undefined && Fake.pages.shift()) || Fake.board);
  }
  dispose(): Promise<void> {
    this.disposed += 1;
    return Promise.resolve();
  }
}

const executed: unknown[][] = [];
const said: string[] = [];
const showErrorMessage = vi.fn<(message: string) => Promise<undefined>>(() => Promise.resolve(undefined));
vi.mock("vscode", () => ({
  workspace: { isTrusted: false, onDidChangeConfiguration: () => ({ dispose: () => undefined }) },
  window: { showErrorMessage },
  commands: { executeCommand: (...all: unknown[]) => Promise.resolve(executed.push(all)) },
  DiagnosticSeverity: { Error: 0, Warning: 1, Information: 2, Hint: 3 },
}));
vi.mock("node:child_process", () => ({
  spawn: (program: string, args: string[], how: object) => new Process(program, args, how),
}));
vi.mock("vscode-languageclient/node", () => ({
  LanguageClient: Fake,
  State: { Running: 2 },
  CloseAction: { DoNotRestart: 1 },
  ErrorAction: { Continue: 1 },
  RevealOutputChannelOn: { Never: 4 },
}));

const { backOff, Client } = await import("../../src/server/client");
const { Store } = await import("../../src/store");
const python = { python: "/opt/py", from: "setting", version: "0.1.0" } as const;
const output = { info: vi.fn(), error: vi.fn(), warn: vi.fn(), debug: vi.fn(), show: vi.fn() };

/** A client, its store, and the states of the server that it goes through. */
function setUp(find: () => Promise<typeof python | { why?: string }> = () => Promise.resolve(python)) {
  const store = new Store();
  const states: string[] = [];
  store.onChange((now, before) => now.server !== before.server && states.push(now.server.state));
  return { store, states, client: new Client(store, output as never, find) };
}

beforeEach(() => {
  vi.useFakeTimers();
  Fake.instances = [];
  Fake.pages = [];
  Fake.asked = [];
  Fake.failsToStart = undefined;
  Fake.neverAnswers = false;
  Process.started = [];
  said.length = 0;
  vi.clearAllMocks();
});
afterEach(() => vi.useRealTimers());

test("a start runs the server isolated, says what it used, and asks for the board", async () => {
  const { client, store, states } = setUp();
  await client.restart();
  expect(Process.started).toMatchObject([
    { program: "/opt/py", args: ["-I", "-m", "phasekeeper", "lsp"], how: { cwd: homedir() } },
  ]);
  expect(output.info).toHaveBeenCalledWith(
    "Using Phasekeeper 0.1.0 of /opt/py, as the setting phasekeeper.python says.",
  );
  // It is starting from the beginning.
  expect(states).toEqual(["ready"]);
  expect([...store.state.roots.keys()]).toEqual([ROOT]);
});

test("a workspace that is not trusted is told to the server as such", async () => {
  await setUp().client.restart();
  expect(Fake.instances[0]!.options.initializationOptions).toEqual({
    trusted: false,
    phasekeeper: { client: "vscode", decides: true, pages: true, claims: [] },
  });
});

test("a quick fix that overrides a gate opens the dialog for that, not a message of the server", async () => {
  await setUp().client.restart();
  const next = vi.fn();
  const about = { root: ROOT, run: "tasks/late-fees", to: "codegen" };
  await Fake.instances[0]!.options.middleware.executeCommand("phasekeeper.override", [about], next);
  expect(executed).toEqual([["phasekeeper.overrideGate", about]]);
  expect(next).not.toHaveBeenCalled();
});

test("without a server nothing is started", async () => {
  const { client, states, store } = setUp(() => Promise.resolve({ why: "it is a text file" }));
  await client.restart();
  expect(states).toEqual(["missing"]);
  expect(store.state.server).toEqual({ state: "missing", why: "it is a text file" });
  expect(Fake.instances).toEqual([]);
  await expect(client.request("phasekeeper/board", {})).rejects.toThrow("is not running");
});

test("changes go into the store, and a gap asks for everything anew", async () => {
  const { client, store } = setUp();
  await client.restart();
  const [fake] = Fake.instances;
  fake!.listener!({ root: ROOT, version: 2, changed: [summary({ revision: "r2" })], removed: [] });
  expect(store.state.roots.get(ROOT)?.runs.get("tasks/late-fees")?.revision).toBe("r2");
  expect(fake!.sent).toEqual(["phasekeeper/board"]);
  fake!.listener!({ root: ROOT, version: 9, changed: [], removed: [] });
  expect(fake!.sent).toEqual(["phasekeeper/board", "phasekeeper/board"]);
});

test("a root that loses its last run may be closed, so the board is asked", async () => {
  const { client, store } = setUp();
  await client.restart();
  const [fake] = Fake.instances;
  const board = Fake.board;
  Fake.board = { version: 1, roots: [] };
  fake!.listener!({ root: ROOT, version: 2, changed: [], removed: ["tasks/late-fees"] });
  await vi.advanceTimersByTimeAsync(0);
  Fake.board = board;
  expect(fake!.sent).toEqual(["phasekeeper/board", "phasekeeper/board"]);
  expect(store.state.roots.size).toBe(0);
});

/** A page with one run, of a root with five. */
const pageWith = (run: string, over: Partial<BoardRoot> = {}): Board => ({
  version: 1,
  roots: [
    {
      root: ROOT,
      version: 1,
      runs: [summary({ run })],
      counts: { runs: 5, going: 5, questions: 0 },
      next: `1 ${run}`,
      ...over,
    },
  ],
});

/** A client whose board is the first page of five runs. */
async function withPages() {
  const board = Fake.board;
  Fake.board = pageWith("a");
  const made = setUp();
  await made.client.restart();
  Fake.board = board;
  return { ...made, held: () => [...made.store.state.roots.get(ROOT)!.runs.keys()] };
}

test("the board is asked for in pages, and goes on behind the last one", async () => {
  const { client, held } = await withPages();
  Fake.pages = [pageWith("b", { next: null })];
  await client.loadMore(ROOT, "going");
  await client.loadMore(ROOT, "going");
  expect(Fake.asked).toEqual([{ limit: 100 }, { root: ROOT, limit: 100, after: "1 a" }]);
  expect(held()).toEqual(["a", "b"]);
});

test("a page that changes have overtaken is asked for again", async () => {
  const { client, store, held } = await withPages();
  store.dispatch({
    kind: "changed",
    change: { root: ROOT, version: 2, changed: [], removed: ["b"], counts: { runs: 4, going: 4, questions: 0 } },
  });
  Fake.pages = [pageWith("b"), pageWith("c", { version: 2 })];
  await client.loadMore(ROOT, "going");
  expect(held()).toEqual(["a", "c"]);
});

test("a page that is overtaken again and again ends in a new board", async () => {
  const { client, store } = await withPages();
  store.dispatch({ kind: "changed", change: { root: ROOT, version: 9, changed: [], removed: [] } });
  Fake.pages = Array.from({ length: 5 }, () => pageWith("b"));
  await client.loadMore(ROOT, "going");
  expect(Fake.asked.at(-1)).toEqual({ limit: 100 });
});

test("a run that is not held is asked for by its name, one around a file once a board", async () => {
  const { client, held } = await withPages();
  Fake.pages = [pageWith("z", { next: undefined }), pageWith("y", { next: undefined })];
  expect((await client.loadRun({ root: ROOT, run: "z" }))?.run).toBe("z");
  expect((await client.loadRun({ root: ROOT, run: "z" }))?.run).toBe("z");
  for (let times = 0; times < 2; times++) await client.loadAround(ROOT, "y/file.md");
  expect(Fake.asked.slice(1)).toEqual([
    { root: ROOT, around: "z" },
    { root: ROOT, around: "y/file.md" },
  ]);
  expect(held()).toEqual(["a", "y", "z"]);
});

test("a start without an answer is told after a while, and a person can begin anew", async () => {
  Fake.neverAnswers = true;
  const { client, states } = setUp();
  void client.restart();
  await vi.advanceTimersByTimeAsync(19_999);
  expect(states).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(states).toEqual(["slow"]);
  expect(output.warn).toHaveBeenCalledWith(expect.stringContaining("has not answered for 20 s"));
  Fake.neverAnswers = false;
  await client.restartByUser();
  expect(Process.started.map((running) => running.signal)).toEqual(["SIGKILL", undefined]);
  expect(states.at(-1)).toBe("ready");
  await vi.advanceTimersByTimeAsync(60_000);
  expect(Process.started.length).toBe(2);
  expect(states.at(-1)).toBe("ready");
});

test("a restart while a start goes on is no failure: nothing red is shown or logged", async () => {
  Fake.neverAnswers = true;
  const { client, states } = setUp();
  void client.restart();
  await vi.advanceTimersByTimeAsync(100);
  Fake.neverAnswers = false;
  await client.restartByUser();
  expect(states).toEqual(["ready"]);
  expect(Fake.instances.length).toBe(2);
  expect(showErrorMessage).not.toHaveBeenCalled();
  expect(output.error).not.toHaveBeenCalled();
  expect(said).toEqual([]);
});

test("a start that fails is said once nothing is tried any more, not each time", async () => {
  Fake.failsToStart = "no such file";
  const { client } = setUp();
  await client.restart();
  expect(said).toEqual(["couldn't create connection to server."]);
  expect(showErrorMessage).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(600_000);
  expect(showErrorMessage).toHaveBeenCalledOnce();
});

test("a restart of a server that runs lets it end by itself", async () => {
  const { client } = setUp();
  await client.restart();
  await client.restartByUser();
  expect(Fake.instances[0]!.disposed).toBe(1);
  expect(Process.started.map((running) => running.signal)).toEqual([undefined, undefined]);
});

test("a crash is followed by a start, later each time, and by giving up in the end", async () => {
  const { client, states } = setUp();
  await client.restart();
  for (const wait of [1000, 2000, 4000, 8000, 16000, 30000]) {
    Fake.instances.at(-1)!.options.errorHandler.closed();
    const count = Fake.instances.length;
    await vi.advanceTimersByTimeAsync(wait - 1);
    expect(Fake.instances.length).toBe(count);
    await vi.advanceTimersByTimeAsync(1);
    expect(Fake.instances.length).toBe(count + 1);
  }
  Process.started.at(-1)!.stderr.emit("data", Buffer.from("Traceback\nOSError: no space left\n"));
  Fake.instances.at(-1)!.options.errorHandler.closed();
  await vi.advanceTimersByTimeAsync(600_000);
  expect(Fake.instances.length).toBe(7);
  expect(states.at(-1)).toBe("failed");
  expect(showErrorMessage).toHaveBeenCalledOnce();
  expect(showErrorMessage.mock.calls[0]).toEqual(
    expect.arrayContaining([expect.stringContaining("again and again: OSError: no space left")]),
  );
});

test("a server that was up for long begins with a short wait again", async () => {
  const { client } = setUp();
  await client.restart();
  for (let at = 0; at < 10; at++) {
    await vi.advanceTimersByTimeAsync(61_000);
    Fake.instances.at(-1)!.options.errorHandler.closed();
    await vi.advanceTimersByTimeAsync(1000);
  }
  expect(Fake.instances.length).toBe(11);
});

test("a server that cannot start is tried again like one that crashed", async () => {
  Fake.failsToStart = "no such file";
  const { client } = setUp();
  await client.restart();
  await vi.advanceTimersByTimeAsync(600_000);
  expect(Fake.instances.length).toBe(7);
  expect(showErrorMessage.mock.calls[0]).toEqual(expect.arrayContaining([expect.stringContaining("no such file")]));
});

test("restarts that are asked for at once come to one, with at most one more behind it", async () => {
  let release = (): void => undefined;
  const { client } = setUp(() => new Promise((resolve) => (release = () => resolve(python))));
  const first = client.restart();
  await vi.advanceTimersByTimeAsync(0);
  const others = [client.restart(), client.restart(), client.restart()];
  release();
  await first;
  await vi.advanceTimersByTimeAsync(0);
  release();
  await Promise.all(others);
  expect(Fake.instances.length).toBe(2);
});

test("what an old connection still says is not listened to", async () => {
  const { client, store } = setUp();
  await client.restart();
  await client.restart();
  Fake.instances[0]!.listener!({ root: ROOT, version: 2, changed: [], removed: ["tasks/late-fees"] });
  Fake.instances[0]!.options.errorHandler.closed();
  expect(store.state.roots.get(ROOT)?.runs.size).toBe(1);
  expect(store.state.server.state).toBe("ready");
});

test("restarts come later and later, and end", () => {
  expect([1, 2, 3, 4, 5, 6, 7].map(backOff)).toEqual([1000, 2000, 4000, 8000, 16000, 30000, undefined]);
});
