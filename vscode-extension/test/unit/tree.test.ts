import { expect, test, vi } from "vitest";

vi.mock("vscode", () => ({
  EventEmitter: class {
    event = vi.fn();
  },
  TreeItem: class {
    constructor(readonly label: string, readonly collapsibleState: number) {}
  },
  ThemeIcon: class {
    constructor(readonly id: string) {}
  },
  ThemeColor: class {},
  TreeItemCollapsibleState: { None: 0, Collapsed: 1, Expanded: 2 },
  window: { createTreeView: vi.fn(() => ({})) },
}));

const { itemOf, Tree } = await import("../../src/views/tree");
const lost = (): Promise<never> => Promise.reject(new Error("the server is away"));

test("a view that cannot be told says so, and is not empty", async () => {
  const [row] = await new Tree("phasekeeper.recent", lost).getChildren();
  expect(row).toMatchObject({ label: "This cannot be shown", description: "the server is away" });
});

test("a row whose insides cannot be told says so below itself", async () => {
  const node = { id: "run", label: "A run", children: lost };
  const [row] = await new Tree("phasekeeper.runs", () => [node]).getChildren(node);
  expect(row).toMatchObject({ id: "run/untold", description: "the server is away" });
});

test("what is heard of a row is all that is seen of it", () => {
  const item = itemOf({ id: "p", label: "4a", description: "Implement", spoken: "done", tooltip: ["a", "b"] });
  expect(item.accessibilityInformation).toEqual({ label: "4a, Implement, done" });
  expect(item.tooltip).toBe("a\nb");
});
