import { expect, test, vi } from "vitest";
import { ROOT, stateWith, summary } from "./fixtures";

interface Panel {
  restore: (panel: unknown, state: unknown) => Promise<void>;
}
const editor = vi.hoisted(() => ({ serializer: undefined as Panel["restore"] | undefined }));
vi.mock("vscode", () => ({
  Uri: { joinPath: (...parts: unknown[]) => parts.join("/") },
  ViewColumn: { Active: -1 },
  window: {
    registerWebviewPanelSerializer: (_: string, { deserializeWebviewPanel }: { deserializeWebviewPanel: never }) => {
      editor.serializer = deserializeWebviewPanel;
      return { dispose: () => undefined };
    },
  },
}));
const { RunPages } = await import("../../src/page/panel");

test("a page that is restored begins with its tab, whatever the server says before the page listens", async () => {
  const run = summary({ run: "tasks/T1" });
  const state = stateWith([run]);
  const listeners: ((now: unknown, before: unknown) => void)[] = [];
  const page = { evaluation: { ...run, title: "T1" } };
  const session = {
    store: { state, onChange: (hear: never) => (listeners.push(hear), { dispose: () => undefined }) },
    client: { request: () => Promise.resolve(page) },
    context: { extensionUri: "extension" },
    output: { warn: () => undefined },
  };
  new RunPages(session as never);
  const posted: { tab?: string }[] = [];
  let hear: (message: unknown) => void = () => undefined;
  const webview = {
    cspSource: "",
    asWebviewUri: String,
    onDidReceiveMessage: (listen: typeof hear) => void (hear = listen),
    postMessage: (message: { tab?: string }) => void posted.push(message),
  };
  const panel = { webview, onDidDispose: () => undefined };
  await editor.serializer!(panel, { root: ROOT, run: "tasks/T1", tab: "graph" });
  for (const changed of listeners) changed({ ...state, server: { state: "ready" } }, state);
  await Promise.resolve();
  expect(posted).toEqual([]);
  hear({ kind: "ready" });
  await vi.waitFor(() => expect(posted).toEqual([{ kind: "page", page, tab: "graph" }]));
});
