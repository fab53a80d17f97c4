import { beforeEach, expect, test, vi } from "vitest";

const editor = vi.hoisted(() => ({
  trusted: true,
  folders: undefined as { uri: string }[] | undefined,
  registered: [] as string[],
  onFolders: (): void => undefined,
}));
vi.mock("vscode", () => ({
  EventEmitter: class {
    listeners: (() => void)[] = [];
    event = (listener: () => void) => this.listeners.push(listener);
    fire = (): void => this.listeners.forEach((listener) => listener());
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

const { mcpConfigurations, quoteForShell, registerMcpProvider } = await import("../../src/mcp");
const { Store } = await import("../../src/store");
const manifest = (await import("../../package.json")).default;

/** A provider over a client that has a server or none, and how often it said that something changed. */
function setUp(python: string | undefined) {
  const store = new Store();
  const client = { server: python && { python, from: "own", version: "0.1.0" } };
  const { provider } = registerMcpProvider({ store, client } as never);
  let changes = 0;
  provider.onDidChangeMcpServerDefinitions!(() => (changes += 1));
  return { store, definitions: () => provider.provideMcpServerDefinitions(undefined as never), changes: () => changes };
}

beforeEach(() =>
  Object.assign(editor, {
    trusted: true,
    folders: [{ uri: "file:///shop" }, { uri: "file:///other" }],
    registered: [],
  }),
);

test("assistants get the server that the editor uses, isolated, in the first folder", () => {
  expect(setUp("/store/venv/bin/python").definitions()).toEqual([
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
  expect(setUp(undefined).definitions()).toEqual([]);
  editor.trusted = false;
  expect(setUp("/store/venv/bin/python").definitions()).toEqual([]);
});

test("a change is announced when another server is used, and when the folders are others", () => {
  const { store, changes } = setUp("/p");
  store.dispatch({ kind: "server", server: { state: "ready", description: "Using it." } });
  expect(changes()).toBe(1);
  editor.onFolders();
  expect(changes()).toBe(2);
});

test("configurations start the server isolated and as a module", () => {
  for (const { text } of mcpConfigurations("/opt/py", "linux"))
    expect(text.replace(/[",\s[\]]+/g, " ")).toMatch(/-I -m phasekeeper mcp/);
  expect(() => JSON.parse(mcpConfigurations("/opt/py", "linux")[1]!.text) as unknown).not.toThrow();
});

test("words for a shell are quoted where they need it", () => {
  expect(quoteForShell("/opt/py", "linux")).toBe("/opt/py");
  expect(quoteForShell("/with blank/it's", "linux")).toBe("'/with blank/it'\\''s'");
  expect(quoteForShell("C:\\Program Files\\py.exe", "win32")).toBe('"C:\\Program Files\\py.exe"');
  expect(quoteForShell("C:\\py.exe", "win32")).toBe("C:\\py.exe");
});
