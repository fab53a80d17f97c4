/** How a person has the runs listed, kept for the workspace; menus look at it by context keys. */

import * as vscode from "vscode";
import { PLAIN_LIST, type RunList } from "./runs";

const KEY = "phasekeeper.runList";

export class RunListOptions implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<RunList>();
  readonly onDidChange = this.changed.event;
  private list: RunList;

  constructor(private readonly state: vscode.Memento) {
    this.list = { ...PLAIN_LIST, ...state.get<Partial<RunList>>(KEY) };
    this.setKeys();
  }

  get value(): RunList {
    return this.list;
  }

  set(change: Partial<RunList>): void {
    this.list = { ...this.list, ...change };
    void this.state.update(KEY, this.list);
    this.setKeys();
    this.changed.fire(this.list);
  }

  dispose(): void {
    this.changed.dispose();
  }

  private setKeys(): void {
    const { filter, groupByWorkflow, hidesFinished } = this.list;
    const keys = { filtered: filter !== "", grouped: groupByWorkflow, hidesFinished };
    for (const [name, value] of Object.entries(keys))
      void vscode.commands.executeCommand("setContext", `phasekeeper.${name}`, value);
  }
}
