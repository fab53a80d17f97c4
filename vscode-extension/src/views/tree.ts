/** A native tree over nodes. */

import * as vscode from "vscode";
import { plain } from "../sanitize";
import { BAD, icon, type Node } from "./row";

export class Tree implements vscode.TreeDataProvider<Node>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.changed.event;
  readonly view: vscode.TreeView<Node>;
  private tops: readonly Node[] = [];
  private held = false;
  /** Rows that a person opened or shut, by id: one that goes and comes again is as it was left. */
  private readonly turned = new Map<string, boolean>();

  constructor(
    readonly id: string,
    private readonly top: () => readonly Node[] | Promise<readonly Node[]>,
  ) {
    this.view = vscode.window.createTreeView(id, { treeDataProvider: this, showCollapseAll: true });
    this.view.onDidExpandElement(({ element }) => this.turned.set(element.id, true));
    this.view.onDidCollapseElement(({ element }) => this.turned.set(element.id, false));
  }

  /** Leave the rows that there are as they are, until the next refresh; beside the title it is said why. */
  hold(why: string): void {
    this.held = this.tops.length > 0;
    this.view.description = this.held ? why : undefined;
  }

  refresh(): void {
    this.held = false;
    this.view.description = undefined;
    this.changed.fire();
  }

  async getChildren(node?: Node): Promise<Node[]> {
    try {
      if (node) return [...(typeof node.children === "function" ? await node.children() : (node.children ?? []))];
      if (!this.held) this.tops = await this.top();
      return [...this.tops];
    } catch (error) {
      // No row would say that there is nothing.
      return [untold(node?.id ?? this.id, error)];
    }
  }

  /** Only rows at the top are ever revealed. */
  getParent(): undefined {
    return undefined;
  }

  getTreeItem(node: Node): vscode.TreeItem {
    return itemOf(node, this.turned.get(node.id));
  }

  /** Show the row at the top that a test holds for. */
  async reveal(test: (node: Node) => boolean): Promise<void> {
    await vscode.commands.executeCommand(`${this.id}.focus`);
    if (this.tops.length === 0) await this.getChildren();
    const node = this.tops.find(test);
    if (node) await this.view.reveal(node, { select: true, focus: true, expand: true });
  }

  dispose(): void {
    this.view.dispose();
    this.changed.dispose();
  }
}

function untold(id: string, error: unknown): Node {
  const why = plain(error instanceof Error ? error.message : String(error), 400);
  return {
    id: `${id}/untold`,
    label: "This cannot be shown",
    description: why,
    tooltip: [why],
    icon: icon("warning", BAD),
  };
}

/** `open` is how a person left the row. */
export function itemOf(node: Node, open = node.open): vscode.TreeItem {
  const { None, Collapsed, Expanded } = vscode.TreeItemCollapsibleState;
  const item = new vscode.TreeItem(node.label, node.children ? (open ? Expanded : Collapsed) : None);
  item.id = node.id;
  item.description = node.description;
  item.tooltip = node.tooltip?.join("\n");
  // Without it a tooltip is what a screen reader says of a row.
  item.accessibilityInformation = { label: [node.label, node.description, node.spoken].filter(Boolean).join(", ") };
  item.contextValue = node.context;
  if (node.icon)
    item.iconPath = new vscode.ThemeIcon(
      node.icon.name,
      node.icon.color ? new vscode.ThemeColor(node.icon.color) : undefined,
    );
  if (node.click) item.command = { command: `phasekeeper.${node.click}`, title: "Open", arguments: [node.subject] };
  return item;
}
