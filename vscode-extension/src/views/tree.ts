/** A native tree view over rows. */

import { isDeepStrictEqual } from "node:util";
import * as vscode from "vscode";
import { messageOf, oneLine } from "../sanitize";
import { BAD, icon, type Row } from "./row";

export class Tree implements vscode.TreeDataProvider<Row>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<Row[] | undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  readonly view: vscode.TreeView<Row>;
  private topRows: Row[] = [];
  private isFrozen = false;
  /** Whether what is shown is what `load` returned at once. */
  private canCompare = false;
  /** Rows that a person opened or shut, by id: one that goes and comes again is as it was left. */
  private readonly expansion = new Map<string, boolean>();
  /** The row above each that was shown, by id. */
  private readonly parents = new Map<string, Row>();

  constructor(
    readonly id: string,
    private readonly load: () => readonly Row[] | Promise<readonly Row[]>,
    canSelectMany = false,
  ) {
    this.view = vscode.window.createTreeView(id, { treeDataProvider: this, showCollapseAll: true, canSelectMany });
    this.view.onDidExpandElement(({ element }) => this.expansion.set(element.id, true));
    this.view.onDidCollapseElement(({ element }) => this.expansion.set(element.id, false));
  }

  /** Keep the rows as they are until the next refresh, with the reason beside the title. */
  freeze(why: string): void {
    this.isFrozen = this.topRows.length > 0;
    this.view.description = this.isFrozen ? why : undefined;
  }

  /**
   * Show the rows as they are now. VS Code knows no row while it asks for those around it anew, and a command on
   * such a row not what it is about, so that only what is different is drawn anew.
   */
  refresh(): void {
    const different = this.isFrozen || !this.canCompare || !this.view.visible ? undefined : this.differences();
    this.isFrozen = false;
    this.view.description = undefined;
    if (different?.length !== 0) this.changed.fire(different);
  }

  /**
   * The top rows that say something else than they show, each the object that VS Code knows, with what it says now;
   * undefined where rows came, went or moved.
   */
  private differences(): Row[] | undefined {
    const rows = this.load() as readonly Row[];
    const isAligned = rows.length === this.topRows.length && rows.every(({ id }, at) => id === this.topRows[at]!.id);
    if (!isAligned) return undefined;
    return this.topRows.filter((row, at) => {
      if (isSame(row, rows[at]!)) return false;
      for (const key of Object.keys(row)) Reflect.deleteProperty(row, key);
      Object.assign(row, rows[at]);
      return true;
    });
  }

  async getChildren(row?: Row): Promise<Row[]> {
    try {
      if (row) return this.below(row, typeof row.children === "function" ? await row.children() : row.children);
      if (!this.isFrozen) {
        const loaded = this.load();
        this.canCompare = !(loaded instanceof Promise);
        this.topRows = (loaded instanceof Promise ? await loaded : loaded).map((top) => ({ ...top }));
        this.parents.clear();
      }
      return [...this.topRows];
    } catch (error) {
      this.canCompare = false;
      // No row at all would mean that there is nothing.
      return [failureRow(row?.id ?? this.id, error)];
    }
  }

  private below(parent: Row, children: readonly Row[] = []): Row[] {
    for (const child of children) this.parents.set(child.id, parent);
    return [...children];
  }

  get selected(): readonly Row[] {
    return this.view.selection;
  }

  getParent(row: Row): Row | undefined {
    return this.parents.get(row.id);
  }

  getTreeItem(row: Row): vscode.TreeItem {
    return toTreeItem(row, this.expansion.get(row.id));
  }

  /** Focus the view, and show the row that a test holds for. */
  async reveal(test: (row: Row) => boolean): Promise<void> {
    await vscode.commands.executeCommand(`${this.id}.focus`);
    await this.select(test, true);
  }

  /** Select the row that a test holds for, where the view is seen; the focus stays where it is. */
  async select(test: (row: Row) => boolean, focus = false): Promise<void> {
    // What was shown last may not have the row yet.
    const row = this.find(test, this.topRows) ?? this.find(test, await this.load());
    if (row && (focus || this.view.visible)) await this.view.reveal(row, { select: true, focus, expand: focus });
  }

  /** The first such row among those given and below them, as far as no request is needed. */
  private find(test: (row: Row) => boolean, rows: readonly Row[]): Row | undefined {
    for (const row of rows) {
      const found = test(row)
        ? row
        : Array.isArray(row.children)
          ? this.find(test, this.below(row, row.children))
          : undefined;
      if (found) return found;
    }
    return undefined;
  }

  dispose(): void {
    this.view.dispose();
    this.changed.dispose();
  }
}

/** Whether two rows say the same, and so do all below them; those that are requested do while the revision is the same. */
function isSame(one: Row, other: Row): boolean {
  const { children: below, ...own } = one;
  const { children: belowOther, ...ownOther } = other;
  if (!isDeepStrictEqual(own, ownOther)) return false;
  if (typeof below === "function" || typeof belowOther === "function")
    return typeof below === typeof belowOther && own.revision !== undefined;
  return below?.length === belowOther?.length && (below ?? []).every((child, at) => isSame(child, belowOther![at]!));
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
