import { beforeEach, expect, test, vi } from "vitest";
import type { Session } from "../../src/session";

const editor = vi.hoisted(() => ({
  setting: "",
  pressed: [] as (string | undefined)[],
  offered: [] as string[],
  refused: [] as string[],
  executed: [] as string[],
  progress: 0,
  fails: false,
  /** What the sidebar was told of an installation, and the progress at that time. */
  installing: [] as [boolean, number][],
}));
vi.mock("vscode", () => ({
  ProgressLocation: { Notification: 15 },
  commands: {
    executeCommand: (name: string, key?: string, value?: boolean) => {
      if (key === "phasekeeper.installing") editor.installing.push([value!, editor.progress]);
      else editor.executed.push(name);
      return Promise.resolve();
    },
  },
  window: {
    showInformationMessage: (said: string) => (editor.offered.push(said), Promise.resolve(editor.pressed.shift())),
    showErrorMessage: (said: string) => (editor.refused.push(said), Promise.resolve(editor.pressed.shift())),
    withProgress: () => (
      (editor.progress += 1),
      editor.fails ? Promise.reject(new Error("no index")) : Promise.resolve()
    ),
  },
  workspace: { getConfiguration: () => ({ get: () => editor.setting }) },
}));
vi.mock("../../src/server/exec", () => ({ run: () => Promise.resolve({ code: 0, stdout: "3 12\n", stderr: "" }) }));

const { installServer, offerInstall } = await import("../../src/commands/setup");
const place = { own: "/store/venv", wheels: "/ext/server", platform: "linux" } as const;
const restartByHand = vi.fn(() => Promise.resolve());

function session(state: "missing" | "ready" = "missing"): Session {
  const kept = new Map<string, unknown>();
  const globalState = {
    get: (key: string) => kept.get(key),
    update: (key: string, value: unknown) => Promise.resolve(kept.set(key, value)),
  };
  return {
    context: { globalState },
    output: { info: vi.fn(), error: vi.fn(), show: vi.fn() },
    client: { restartByHand },
    store: { now: { server: { state } } },
  } as never;
}
const pythons =
  (...found: string[]) =>
  () =>
    Promise.resolve(found);

beforeEach(() => {
  Object.assign(editor, {
    setting: "",
    pressed: [],
    offered: [],
    refused: [],
    executed: [],
    progress: 0,
    fails: false,
    installing: [],
  });
  restartByHand.mockClear();
});

test("the installation is offered once, whatever was answered", async () => {
  const here = session();
  editor.pressed = ["Not Now"];
  await offerInstall(here, pythons("/usr/bin/python3"), place);
  await offerInstall(here, pythons("/usr/bin/python3"), place);
  expect(editor.offered.length).toBe(1);
  expect(editor.progress).toBe(0);
});

test("who agrees sees its progress, and then the server starts", async () => {
  editor.pressed = ["Install"];
  await offerInstall(session(), pythons("/usr/bin/python3"), place);
  expect(editor.progress).toBe(1);
  expect(restartByHand).toHaveBeenCalledOnce();
});

test("an offer that still stands when the server is there installs nothing", async () => {
  editor.pressed = ["Install"];
  await offerInstall(session("ready"), pythons("/usr/bin/python3"), place);
  expect(editor.progress).toBe(0);
});

test.each([false, true])(
  "the sidebar knows of an installation while it goes on, also of one that fails: %s",
  async (fails) => {
    editor.fails = fails;
    await installServer(session(), pythons("/usr/bin/python3"), place);
    expect(editor.installing).toEqual([
      [true, 0],
      [false, 1],
    ]);
    expect(editor.refused.length).toBe(fails ? 1 : 0);
  },
);

test("one installation goes on at a time, and another may come after it", async () => {
  const here = session();
  await Promise.all([
    installServer(here, pythons("/usr/bin/python3"), place),
    installServer(here, pythons("/usr/bin/python3"), place),
  ]);
  expect(editor.progress).toBe(1);
  await installServer(here, pythons("/usr/bin/python3"), place);
  expect(editor.progress).toBe(2);
});

test("without a Python that will do, one can be chosen", async () => {
  editor.pressed = ["Choose Python"];
  await installServer(session(), pythons(), place);
  expect(editor.refused).toEqual([expect.stringContaining("No Python 3.11 or newer")]);
  expect(editor.executed).toEqual(["workbench.action.openSettings"]);
});

test("nothing is installed that a setting would leave unused", async () => {
  editor.setting = "/opt/py";
  await installServer(session(), pythons("/usr/bin/python3"), place);
  expect(editor.refused).toEqual([expect.stringContaining("names /opt/py; while it is set, no other Python is used")]);
  expect(editor.progress).toBe(0);
});
