/** A native tree view over rows. */

import * as vscode from "vscode";
import { messageOf, oneLine } from "../sanitize";
import { BAD, icon, type Row } from "./row";

export class Tree implements vscode.TreeDataProvider<Row>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.changed.event;
  readonly view: vscode.TreeView<Row>;
  private topRows: readonly Row[] = [];
  private isFrozen = false;
  /** Rows that a person opened or shut, by id: one that goes and comes again is as it was left. */
  private readonly expansion = new Map<string, boolean>();

  constructor(
    readonly id: string,
    private readonly load: () => readonly Row[] | Promise<readonly Row[]>,
  ) {
    this.view = vscode.window.createTreeView(id, { treeDataProvider: this, showCollapseAll: true });
    this.view.onDidExpandElement(({ element }) => this.expansion.set(element.id, true));
    this.view.onDidCollapseElement(({ element }) => this.expansion.set(element.id, false));
  }

  /** Keep the rows as they are until the next refresh, with the reason beside the title. */
  freeze(why: string): void {
    this.isFrozen = this.topRows.length > 0;
    this.view.description = this.isFrozen ? why : undefined;
  }

  refresh(): void {
    this.isFrozen = false;
    this.view.description = undefined;
    this.changed.fire();
  }

  async getChildren(row?: Row): Promise<Row[]> {
    try {
      if (row) return [...(typeof row.children === "function" ? await row.children() : (row.children ?? []))];
      if (!this.isFrozen) this.topRows = await this.load();
      return [...this.topRows];
    } catch (error) {
      // No row at all would mean that there is nothing.
      return [failureRow(row?.id ?? this.id, error)];
    }
  }

  /** Only rows at the top are ever revealed. */
  getParent(): undefined {
    return undefined;
  }

  getTreeItem(row: Row): vscode.TreeItem {
    return toTreeItem(row, this.expansion.get(row.id));
  }

  /** Show the row at the top that a test holds for. */
  async reveal(test: (row: Row) => boolean): Promise<void> {
    await vscode.commands.executeCommand(`${this.id}.focus`);
    if (this.topRows.length === 0) await this.getChildren();
    const row = this.topRows.find(test);
    if (row) await this.view.reveal(row, { select: true, focus: true, expand: true });
  }

  dispose(): void {
    this.view.dispose();
    this.changed.dispose();
  }
}

function failureRow(id: string, error: unknown): Row {
  const why = oneLine(messageOf(error), 400);
  return {
    id: `${id}/failure`,
    label: "This cannot be shown",
    description: why,
    tooltip: [why],
    icon: icon("warning", BAD),
  };
}

/** `open` is how a person left the row. */
export function toTreeItem(row: Row, open = row.open): vscode.TreeItem {
  const { None, Collapsed, Expanded } = vscode.TreeItemCollapsibleState;
  const item = new vscode.TreeItem(row.label, row.children ? (open ? Expanded : Collapsed) : None);
  item.id = row.id;
  item.description = row.description;
  item.tooltip = row.tooltip?.join("\n");
  // Without it a tooltip is what a screen reader says of a row.
  item.accessibilityInformation = { label: [row.label, row.description, row.iconLabel].filter(Boolean).join(", ") };
  item.contextValue = row.context;
  if (row.icon)
    item.iconPath = new vscode.ThemeIcon(
      row.icon.name,
      row.icon.color ? new vscode.ThemeColor(row.icon.color) : undefined,
    );
  if (row.click) item.command = { command: `phasekeeper.${row.click}`, title: "Open", arguments: [row.subject] };
  return item;
}
