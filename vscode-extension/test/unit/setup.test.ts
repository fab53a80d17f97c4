import { beforeEach, expect, test, vi } from "vitest";
import type { Session } from "../../src/session";

const editor = vi.hoisted(() => ({
  setting: "",
  pythons: [] as string[],
  pressed: [] as (string | undefined)[],
  offered: [] as string[],
  refused: [] as string[],
  executed: [] as string[],
  /** The labels of a list, and which of them is picked. */
  listed: [] as string[],
  picked: "",
  progress: 0,
  fails: false,
  /** Values of the sidebar's context key `phasekeeper.installing`, and the progress at that time. */
  installing: [] as [boolean, number][],
}));
vi.mock("vscode", () => ({
  ConfigurationTarget: { Global: 1 },
  workspace: {
    getConfiguration: () => ({
      update: (_: string, value: string | undefined) => Promise.resolve((editor.setting = value ?? "")),
    }),
  },
  ProgressLocation: { Notification: 15 },
  commands: {
    executeCommand: (name: string, key?: string, value?: boolean) => {
      if (key === "phasekeeper.installing") editor.installing.push([value!, editor.progress]);
      else editor.executed.push(name);
      return Promise.resolve();
    },
  },
  window: {
    showInformationMessage: (message: string) => (
      editor.offered.push(message),
      Promise.resolve(editor.pressed.shift())
    ),
    showQuickPick: (items: { label: string }[]) => {
      editor.listed = items.map(({ label }) => label);
      return Promise.resolve(items.find(({ label }) => label === editor.picked));
    },
    showOpenDialog: () => Promise.resolve([{ fsPath: "/opt/python" }]),
    showErrorMessage: (message: string) => (editor.refused.push(message), Promise.resolve(editor.pressed.shift())),
    withProgress: () => (
      (editor.progress += 1),
      editor.fails ? Promise.reject(new Error("no index")) : Promise.resolve()
    ),
  },
}));
vi.mock("../../src/server/exec", () => ({ exec: () => Promise.resolve({ code: 0, stdout: "3 12\n", stderr: "" }) }));
vi.mock("../../src/server/locator", () => ({
  pythonSetting: () => editor.setting,
  pythonsOnPath: () => editor.pythons,
}));

const { choosePython, installServer, offerInstall } = await import("../../src/commands/setup");
const target = { own: "/store/venv", wheels: "/ext/server", platform: "linux" } as const;
const restartByUser = vi.fn(() => Promise.resolve());

/** A session without a server, or with one. */
function session(state: "missing" | "ready" = "missing"): Session {
  const entries = new Map<string, unknown>();
  const globalState = {
    get: (key: string) => entries.get(key),
    update: (key: string, value: unknown) => Promise.resolve(entries.set(key, value)),
  };
  return {
    context: { globalState },
    output: { info: vi.fn(), error: vi.fn(), show: vi.fn() },
    client: { restartByUser },
    store: { state: { server: { state } } },
  } as never;
}

beforeEach(() => {
  Object.assign(editor, {
    setting: "",
    pythons: ["/usr/bin/python3"],
    pressed: [],
    offered: [],
    refused: [],
    executed: [],
    listed: [],
    picked: "",
    progress: 0,
    fails: false,
    installing: [],
  });
  restartByUser.mockClear();
});

test("the installation is offered once, whatever was answered", async () => {
  const once = session();
  editor.pressed = ["Not Now"];
  await offerInstall(once, target);
  await offerInstall(once, target);
  expect(editor.offered.length).toBe(1);
  expect(editor.progress).toBe(0);
});

test("who agrees sees its progress, and then the server starts", async () => {
  editor.pressed = ["Install"];
  await offerInstall(session(), target);
  expect(editor.progress).toBe(1);
  expect(restartByUser).toHaveBeenCalledOnce();
});

test("an offer that still stands when the server is there installs nothing", async () => {
  editor.pressed = ["Install"];
  await offerInstall(session("ready"), target);
  expect(editor.progress).toBe(0);
});

test.each([false, true])(
  "the sidebar knows of an installation while it goes on, also of one that fails: %s",
  async (fails) => {
    editor.fails = fails;
    await installServer(session(), target);
    expect(editor.installing).toEqual([
      [true, 0],
      [false, 1],
    ]);
    expect(editor.refused.length).toBe(fails ? 1 : 0);
  },
);

test("one installation goes on at a time, and another may come after it", async () => {
  const once = session();
  await Promise.all([installServer(once, target), installServer(once, target)]);
  expect(editor.progress).toBe(1);
  await installServer(once, target);
  expect(editor.progress).toBe(2);
});

test("without a Python that will do, one can be chosen", async () => {
  editor.pressed = ["Choose Python"];
  editor.pythons = [];
  await installServer(session(), target);
  expect(editor.refused).toEqual([expect.stringContaining("No Python 3.11 or newer")]);
  expect(editor.listed).toEqual(["$(folder-opened) Browse…"]);
});

test("a Python is picked of those on PATH or looked for on the disk, and the setting can be taken back", async () => {
  editor.picked = "/usr/bin/python3";
  await choosePython();
  expect(editor.listed).toEqual(["/usr/bin/python3", "$(folder-opened) Browse…"]);
  expect(editor.setting).toBe("/usr/bin/python3");
  editor.picked = "$(folder-opened) Browse…";
  await choosePython();
  expect(editor.setting).toBe("/opt/python");
  editor.picked = "$(discard) Look for one again";
  await choosePython();
  expect(editor.setting).toBe("");
});

test("nothing is installed that a setting would leave unused", async () => {
  editor.setting = "/opt/py";
  await installServer(session(), target);
  expect(editor.refused).toEqual([expect.stringContaining("names /opt/py; while it is set, no other Python is used")]);
  expect(editor.progress).toBe(0);
});
