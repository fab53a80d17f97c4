import { expect, test, vi } from "vitest";

type Turn = (event: { element: { id: string } }) => void;
/** What a person does to the rows of a tree. */
const turns = new Map<object, { open: Turn; shut: Turn }>();
function viewOf(tree: object): object {
  const did = { open: (() => undefined) as Turn, shut: (() => undefined) as Turn };
  turns.set(tree, did);
  return { onDidExpandElement: (act: Turn) => (did.open = act), onDidCollapseElement: (act: Turn) => (did.shut = act) };
}

vi.mock("vscode", () => ({
  EventEmitter: class {
    event = vi.fn();
    fire = vi.fn();
  },
  TreeItem: class {
    constructor(
      readonly label: string,
      readonly collapsibleState: number,
    ) {}
  },
  ThemeIcon: class {
    constructor(readonly id: string) {}
  },
  ThemeColor: class {},
  TreeItemCollapsibleState: { None: 0, Collapsed: 1, Expanded: 2 },
  window: {
    createTreeView: (_: string, { treeDataProvider }: { treeDataProvider: object }) => viewOf(treeDataProvider),
  },
}));

const { toTreeItem: itemOf, Tree } = await import("../../src/views/tree");
const lost = (): Promise<never> => Promise.reject(new Error("the server is away"));

test("a view that cannot be shown says so, and is not empty", async () => {
  const [row] = await new Tree("phasekeeper.recent", lost).getChildren();
  expect(row).toMatchObject({ label: "This cannot be shown", description: "the server is away" });
});

test("a row whose insides cannot be shown says so below itself", async () => {
  const node = { id: "run", label: "A run", children: lost };
  const [row] = await new Tree("phasekeeper.runs", () => [node]).getChildren(node);
  expect(row).toMatchObject({ id: "run/failure", description: "the server is away" });
});

test("what is heard of a row is all that is seen of it", () => {
  const item = itemOf({ id: "p", label: "4a", description: "Implement", iconLabel: "done", tooltip: ["a", "b"] });
  expect(item.accessibilityInformation).toEqual({ label: "4a, Implement, done" });
  expect(item.tooltip).toBe("a\nb");
});

const [CLOSED, OPEN] = [1, 2];

test("rows stay while a server starts, it is said that they are from before, and what comes then takes their place", async () => {
  let rows = [{ id: "a", label: "A run" }];
  const tree = new Tree("phasekeeper.runs", () => rows);
  expect(await tree.getChildren()).toEqual(rows);
  const before = rows;
  rows = [];
  tree.freeze("as before");
  expect(await tree.getChildren()).toEqual(before);
  expect(tree.view.description).toBe("as before");
  tree.refresh();
  expect(await tree.getChildren()).toEqual([]);
  expect(tree.view.description).toBeUndefined();
});

test("a view that has shown no row yet is empty while a server starts, and says nothing of before", async () => {
  const tree = new Tree("phasekeeper.runs", () => []);
  tree.freeze("as before");
  expect(await tree.getChildren()).toEqual([]);
  expect(tree.view.description).toBeUndefined();
});

test("a row that goes and comes again is open or shut as a person left it", () => {
  const tree = new Tree("phasekeeper.runs", () => []);
  const row = (id: string, open: boolean) => ({ id, label: id, open, children: [] });
  turns.get(tree)!.open({ element: row("opened", false) });
  turns.get(tree)!.shut({ element: row("shut", true) });
  const states = [row("opened", false), row("shut", true), row("new", true), row("closed", false)].map(
    (node) => tree.getTreeItem(node).collapsibleState,
  );
  expect(states).toEqual([OPEN, CLOSED, OPEN, CLOSED]);
});
