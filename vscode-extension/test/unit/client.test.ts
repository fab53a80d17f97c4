import { homedir } from "node:os";
import { beforeEach, afterEach, expect, test, vi } from "vitest";
import { EventEmitter } from "node:events";
import type { Changed } from "../../src/protocol";
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
  static made: Fake[] = [];
  static failsToStart: string | undefined;
  static neverAnswers = false;
  static board = { version: 1, roots: [{ root: ROOT, version: 1, runs: [summary()] }] };
  state = 0;
  heard: ((change: Changed) => void) | undefined;
  sent: string[] = [];
  disposed = 0;
  constructor(
    readonly id: string,
    readonly name: string,
    readonly program: () => Promise<Process>,
    readonly options: { initializationOptions: object; errorHandler: { closed(): unknown } },
  ) {
    Fake.made.push(this);
  }
  onNotification(_: string, heard: (change: Changed) => void): void {
    this.heard = heard;
  }
  async start(): Promise<void> {
    if (Fake.failsToStart) throw new Error(Fake.failsToStart);
    const running = await this.program();
    if (Fake.neverAnswers) await new Promise((_, reject) => running.on("exit", () => reject(new Error("it is gone"))));
    this.state = 2;
  }
  sendRequest(method: string): Promise<unknown> {
    this.sent.push(method);
    return Promise.resolve(Fake.board);
  }
  dispose(): Promise<void> {
    this.disposed += 1;
    return Promise.resolve();
  }
}

const shown = vi.fn(() => Promise.resolve(undefined));
vi.mock("vscode", () => ({
  workspace: { isTrusted: false },
  window: { showErrorMessage: shown },
  commands: {},
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

const { Client } = await import("../../src/server/client");
const { Store } = await import("../../src/store");
const found = { python: "/opt/py", from: "setting", version: "0.1.0" } as const;
const output = { info: vi.fn(), error: vi.fn(), warn: vi.fn(), debug: vi.fn(), show: vi.fn() };

function made(find: () => Promise<typeof found | { why?: string }> = () => Promise.resolve(found)) {
  const store = new Store();
  const states: string[] = [];
  store.onChange((now, before) => now.server !== before.server && states.push(now.server.state));
  return { store, states, client: new Client(store, output as never, find) };
}

beforeEach(() => {
  vi.useFakeTimers();
  Fake.made = [];
  Fake.failsToStart = undefined;
  Fake.neverAnswers = false;
  Process.started = [];
  vi.clearAllMocks();
});
afterEach(() => vi.useRealTimers());

test("a start runs the server isolated, says what it used, and asks for the board", async () => {
  const { client, store, states } = made();
  await client.restart();
  expect(Process.started).toMatchObject([
    { program: "/opt/py", args: ["-I", "-m", "phasekeeper", "lsp"], how: { cwd: homedir() } },
  ]);
  expect(output.info).toHaveBeenCalledWith(
    "Using Phasekeeper 0.1.0 of /opt/py, as the setting phasekeeper.python says.",
  );
  // It is starting from the beginning.
  expect(states).toEqual(["ready"]);
  expect([...store.now.roots.keys()]).toEqual([ROOT]);
});

test("a workspace that is not trusted is told to the server as such", async () => {
  await made().client.restart();
  expect(Fake.made[0]!.options.initializationOptions).toEqual({
    trusted: false,
    phasekeeper: { client: "vscode", decides: true },
  });
});

test("without a server nothing is started", async () => {
  const { client, states, store } = made(() => Promise.resolve({ why: "it is a text file" }));
  await client.restart();
  expect(states).toEqual(["missing"]);
  expect(store.now.server).toEqual({ state: "missing", why: "it is a text file" });
  expect(Fake.made).toEqual([]);
  await expect(client.request("phasekeeper/board", {})).rejects.toThrow("is not running");
});

test("changes go into the store, and a gap asks for everything anew", async () => {
  const { client, store } = made();
  await client.restart();
  const [fake] = Fake.made;
  fake!.heard!({ root: ROOT, version: 2, changed: [summary({ revision: "r2" })], removed: [] });
  expect(store.now.roots.get(ROOT)?.runs.get("tasks/late-fees")?.revision).toBe("r2");
  expect(fake!.sent).toEqual(["phasekeeper/board"]);
  fake!.heard!({ root: ROOT, version: 9, changed: [], removed: [] });
  expect(fake!.sent).toEqual(["phasekeeper/board", "phasekeeper/board"]);
});

test("a root that loses its last run may be closed, so the board is asked", async () => {
  const { client, store } = made();
  await client.restart();
  const [fake] = Fake.made;
  const board = Fake.board;
  Fake.board = { version: 1, roots: [] };
  fake!.heard!({ root: ROOT, version: 2, changed: [], removed: ["tasks/late-fees"] });
  await vi.advanceTimersByTimeAsync(0);
  Fake.board = board;
  expect(fake!.sent).toEqual(["phasekeeper/board", "phasekeeper/board"]);
  expect(store.now.roots.size).toBe(0);
});

test("a start without an answer is told after a while, and a person can begin anew", async () => {
  Fake.neverAnswers = true;
  const { client, states } = made();
  void client.restart();
  await vi.advanceTimersByTimeAsync(19_999);
  expect(states).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(states).toEqual(["slow"]);
  expect(output.warn).toHaveBeenCalledWith(expect.stringContaining("has not answered for 20 s"));
  Fake.neverAnswers = false;
  await client.restartByHand();
  expect(Process.started.map((running) => running.signal)).toEqual(["SIGKILL", undefined]);
  expect(states.at(-1)).toBe("ready");
  await vi.advanceTimersByTimeAsync(60_000);
  expect(Process.started.length).toBe(2);
  expect(states.at(-1)).toBe("ready");
});

test("a restart of a server that runs lets it end by itself", async () => {
  const { client } = made();
  await client.restart();
  await client.restartByHand();
  expect(Fake.made[0]!.disposed).toBe(1);
  expect(Process.started.map((running) => running.signal)).toEqual([undefined, undefined]);
});

test("a crash is followed by a start, later each time, and by giving up in the end", async () => {
  const { client, states } = made();
  await client.restart();
  for (const wait of [1000, 2000, 4000, 8000, 16000, 30000]) {
    Fake.made.at(-1)!.options.errorHandler.closed();
    const count = Fake.made.length;
    await vi.advanceTimersByTimeAsync(wait - 1);
    expect(Fake.made.length).toBe(count);
    await vi.advanceTimersByTimeAsync(1);
    expect(Fake.made.length).toBe(count + 1);
  }
  Process.started.at(-1)!.stderr.emit("data", Buffer.from("Traceback\nOSError: no space left\n"));
  Fake.made.at(-1)!.options.errorHandler.closed();
  await vi.advanceTimersByTimeAsync(600_000);
  expect(Fake.made.length).toBe(7);
  expect(states.at(-1)).toBe("failed");
  expect(shown).toHaveBeenCalledOnce();
  expect(shown.mock.calls[0]).toEqual(
    expect.arrayContaining([expect.stringContaining("again and again: OSError: no space left")]),
  );
});

test("a server that was up for long begins with a short wait again", async () => {
  const { client } = made();
  await client.restart();
  for (let at = 0; at < 10; at++) {
    await vi.advanceTimersByTimeAsync(61_000);
    Fake.made.at(-1)!.options.errorHandler.closed();
    await vi.advanceTimersByTimeAsync(1000);
  }
  expect(Fake.made.length).toBe(11);
});

test("a server that cannot start is tried again like one that crashed", async () => {
  Fake.failsToStart = "no such file";
  const { client } = made();
  await client.restart();
  await vi.advanceTimersByTimeAsync(600_000);
  expect(Fake.made.length).toBe(7);
  expect(shown.mock.calls[0]).toEqual(expect.arrayContaining([expect.stringContaining("no such file")]));
});

test("restarts that are asked for at once come to one, with at most one more behind it", async () => {
  let release = (): void => undefined;
  const { client } = made(() => new Promise((resolve) => (release = () => resolve(found))));
  const first = client.restart();
  await vi.advanceTimersByTimeAsync(0);
  const others = [client.restart(), client.restart(), client.restart()];
  release();
  await first;
  await vi.advanceTimersByTimeAsync(0);
  release();
  await Promise.all(others);
  expect(Fake.made.length).toBe(2);
});

test("what an old connection still says is not listened to", async () => {
  const { client, store } = made();
  await client.restart();
  await client.restart();
  Fake.made[0]!.heard!({ root: ROOT, version: 2, changed: [], removed: ["tasks/late-fees"] });
  Fake.made[0]!.options.errorHandler.closed();
  expect(store.now.roots.get(ROOT)?.runs.size).toBe(1);
  expect(store.now.server.state).toBe("ready");
});
