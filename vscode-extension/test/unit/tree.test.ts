import { expect, test, vi } from "vitest";
import type { Row } from "../../src/views/row";

type Turn = (event: { element: { id: string } }) => void;
/** What a person does to the rows of a tree. */
const turns = new Map<object, { open: Turn; shut: Turn }>();
function viewOf(tree: object): object {
  const did = { open: (() => undefined) as Turn, shut: (() => undefined) as Turn };
  turns.set(tree, did);
  return {
    visible: true,
    onDidExpandElement: (act: Turn) => (did.open = act),
    onDidCollapseElement: (act: Turn) => (did.shut = act),
  };
}

vi.mock("vscode", () => ({
  EventEmitter: class {
    private readonly listeners: ((value: unknown) => void)[] = [];
    event = (listener: (value: unknown) => void) => this.listeners.push(listener);
    fire = (value: unknown) => this.listeners.forEach((listener) => listener(value));
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

/** A tree that is seen, what it had drawn anew (undefined for all of it), and how it shows other rows. */
async function shownTree(rows: Row[]) {
  let shown: Row[] = rows;
  const drawn: unknown[] = [];
  const tree = new Tree("phasekeeper.next", () => shown);
  tree.onDidChangeTreeData((elements) => drawn.push(elements));
  const elements = await tree.getChildren();
  const show = (next: Row[]): void => {
    shown = next;
    tree.refresh();
  };
  return { tree, elements, drawn, show };
}

const stepRow = (id: string, label: string, below: string[] = []): Row => ({
  id,
  label,
  children: below.map((child) => ({ id: `${id}/${child}`, label: child })),
});

test("only a row that says something else is drawn anew, as the one that VS Code knows, and the others stay known", async () => {
  const { tree, elements, drawn, show } = await shownTree([stepRow("a", "Plan", ["why"]), stepRow("b", "Review")]);
  show([stepRow("a", "Plan", ["why"]), { ...stepRow("b", "Test"), context: "step" }]);
  expect(drawn).toEqual([[elements[1]]]);
  expect(tree.getTreeItem(elements[1]!)).toMatchObject({ label: "Test", contextValue: "step" });
  show([stepRow("a", "Plan", ["why"]), stepRow("b", "Test")]);
  expect(tree.getTreeItem(elements[1]!).contextValue).toBeUndefined();
  show([stepRow("a", "Plan", ["because"]), stepRow("b", "Test")]);
  expect(drawn.at(-1)).toEqual([elements[0]]);
  expect(await tree.getChildren(elements[0])).toMatchObject([{ label: "because" }]);
});

test("nothing is drawn where all rows say what they said", async () => {
  const { drawn, show } = await shownTree([stepRow("a", "Plan", ["why"])]);
  show([stepRow("a", "Plan", ["why"])]);
  expect(drawn).toEqual([]);
});

test("all rows are drawn where one came, went or moved, or those before could not be shown", async () => {
  const [one, other] = [stepRow("a", "Plan"), stepRow("b", "Review")];
  for (const rows of [[one], [other, one], [one, other, stepRow("c", "Test")], []]) {
    const { drawn, show } = await shownTree([one, other]);
    show(rows);
    expect(drawn).toEqual([undefined]);
  }
  const { tree, drawn, show } = await shownTree([{ ...one, revision: "1", children: lost }]);
  await tree.getChildren({ ...one, children: lost });
  show([{ ...one, revision: "1", children: lost }]);
  expect(drawn).toEqual([undefined]);
});

test("rows that are requested are asked for again at another revision, or at any time where it is not known", async () => {
  const requested = (revision?: string): Row => ({
    id: "run",
    label: "A run",
    children: () => Promise.resolve([]),
    ...(revision && { revision }),
  });
  const { elements, drawn, show } = await shownTree([requested("1")]);
  show([requested("1")]);
  expect(drawn).toEqual([]);
  show([requested("2")]);
  show([requested()]);
  show([requested()]);
  expect(drawn).toEqual([elements, elements, elements]);
});

test("rows that are themselves requested, or are not seen, are left to VS Code to ask for", async () => {
  const requested = new Tree("phasekeeper.recent", () => Promise.resolve([stepRow("a", "Plan")]));
  const { tree: hidden, drawn } = await shownTree([stepRow("a", "Plan")]);
  requested.onDidChangeTreeData((elements) => drawn.push(elements));
  Object.assign(hidden.view, { visible: false });
  await requested.getChildren();
  requested.refresh();
  hidden.refresh();
  expect(drawn).toEqual([undefined, undefined]);
});
