import { beforeEach, expect, test, vi } from "vitest";

const editor = vi.hoisted(() => ({
  trusted: true,
  folders: undefined as { uri: string }[] | undefined,
  registered: [] as string[],
  onFolders: (): void => undefined,
}));
vi.mock("vscode", () => ({
  EventEmitter: class {
    heard: (() => void)[] = [];
    event = (listener: () => void) => this.heard.push(listener);
    fire = (): void => this.heard.forEach((listener) => listener());
  },
  McpStdioServerDefinition: class {
    cwd: unknown;
    constructor(
      readonly label: string,
      readonly command: string,
      readonly args: string[],
      readonly env: object,
      readonly version: string,
    ) {}
  },
  lm: { registerMcpServerDefinitionProvider: (id: string) => editor.registered.push(id) },
  workspace: {
    get isTrusted() {
      return editor.trusted;
    },
    get workspaceFolders() {
      return editor.folders;
    },
    onDidChangeWorkspaceFolders: (listener: () => void) => (editor.onFolders = listener),
  },
}));

const { mcpServer } = await import("../../src/mcp/provider");
const { Store } = await import("../../src/store");
const manifest = (await import("../../package.json")).default;

function made(python: string | undefined) {
  const store = new Store();
  const client = { server: python && { python, from: "own", version: "0.1.0" } };
  const { provider } = mcpServer({ store, client } as never);
  let told = 0;
  provider.onDidChangeMcpServerDefinitions!(() => (told += 1));
  return { store, provided: () => provider.provideMcpServerDefinitions(undefined as never), told: () => told };
}

beforeEach(() =>
  Object.assign(editor, {
    trusted: true,
    folders: [{ uri: "file:///shop" }, { uri: "file:///other" }],
    registered: [],
  }),
);

test("assistants get the server that the editor uses, isolated, in the first folder", () => {
  expect(made("/store/venv/bin/python").provided()).toEqual([
    expect.objectContaining({
      label: "Phasekeeper",
      command: "/store/venv/bin/python",
      args: ["-I", "-m", "phasekeeper", "mcp"],
      version: "0.1.0",
      cwd: "file:///shop",
    }),
  ]);
  expect(editor.registered).toEqual(manifest.contributes.mcpServerDefinitionProviders.map(({ id }) => id));
});

test("nothing is offered in a workspace that is not trusted, or while no server was found", () => {
  expect(made(undefined).provided()).toEqual([]);
  editor.trusted = false;
  expect(made("/store/venv/bin/python").provided()).toEqual([]);
});

test("it is told when another server is used, and when the folders are others", () => {
  const { store, told } = made("/p");
  store.tell({ kind: "server", server: { state: "ready", said: "Using it." } });
  expect(told()).toBe(1);
  editor.onFolders();
  expect(told()).toBe(2);
});
