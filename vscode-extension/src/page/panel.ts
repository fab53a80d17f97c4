/** The page's panel: one a run, kept current, nothing loaded from anywhere but the extension's own folder. */

import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import { keyOf, type RunName } from "../protocol";
import { escapeLabel, messageOf, oneLine } from "../sanitize";
import type { Session } from "../session";
import { missing, runOf, type State } from "../store";
import { GONE, TABS, type FromPage, type Tab, type ToPage } from "./model";

const VIEW_TYPE = "phasekeeper.page";

/** Why the page of a run does not show how it stands now; undefined where it does. */
export function stalePage(state: State, name: RunName): string | undefined {
  if (state.server.state !== "ready") return "The server is not running. What stands here is how it was last.";
  const root = state.roots.get(name.root);
  // A root that is still to come, or a run on a page that nobody asked for, says nothing yet.
  return !root || root.runs.has(name.run) || missing(root).runs > 0 ? undefined : GONE;
}

interface Shown {
  readonly panel: vscode.WebviewPanel;
  readonly name: RunName;
  /** The tab to begin with; then the page keeps it. */
  tab: Tab | undefined;
  /** Counts requests, so that a late answer does not replace a newer one. */
  asked: number;
  /** Its script has begun, and hears what is sent. */
  listens: boolean;
}

export class RunPages implements vscode.Disposable {
  private readonly shown = new Map<string, Shown>();
  private readonly subscriptions: vscode.Disposable[];

  constructor(private readonly session: Session) {
    this.subscriptions = [
      session.store.onChange((now, before) => {
        for (const each of this.shown.values()) {
          // What is sent before the page listens is lost; it asks once it does.
          if (!each.listens) continue;
          const why = stalePage(now, each.name);
          if (why !== undefined) this.declareStale(each, why);
          else if (
            now.server !== before.server ||
            stalePage(before, each.name) !== undefined ||
            runOf(now, each.name)?.revision !== runOf(before, each.name)?.revision
          )
            this.send(each);
        }
      }),
      vscode.window.registerWebviewPanelSerializer(VIEW_TYPE, {
        deserializeWebviewPanel: (panel, state: (Partial<RunName> & { tab?: Tab }) | undefined) => {
          if (typeof state?.root === "string" && typeof state.run === "string")
            this.fill(
              panel,
              { root: state.root, run: state.run },
              TABS.find((tab) => tab === state.tab),
            );
          else panel.dispose();
          return Promise.resolve();
        },
      }),
    ];
  }

  show(name: RunName, title: string, tab?: Tab): void {
    const existing = this.shown.get(keyOf(name));
    if (!existing) {
      const panel = vscode.window.createWebviewPanel(VIEW_TYPE, title, vscode.ViewColumn.Active, this.options());
      return this.fill(panel, name, tab);
    }
    existing.panel.reveal();
    if (tab && existing.listens) this.post(existing, { kind: "tab", tab });
    else existing.tab = tab ?? existing.tab;
  }

  dispose(): void {
    for (const { panel } of this.shown.values()) panel.dispose();
    for (const subscription of this.subscriptions) subscription.dispose();
  }

  private options(): vscode.WebviewOptions & vscode.WebviewPanelOptions {
    const { extensionUri } = this.session.context;
    // What a person has typed stays while another tab covers the page.
    return {
      enableScripts: true,
      retainContextWhenHidden: true,
      localResourceRoots: [vscode.Uri.joinPath(extensionUri, "dist")],
    };
  }

  private fill(panel: vscode.WebviewPanel, name: RunName, tab: Tab | undefined): void {
    const { extensionUri } = this.session.context;
    const file = (...segments: string[]): string =>
      panel.webview.asWebviewUri(vscode.Uri.joinPath(extensionUri, ...segments)).toString();
    const shown: Shown = { panel, name, tab, asked: 0, listens: false };
    this.shown.set(keyOf(name), shown);
    const icon = (theme: string): vscode.Uri => vscode.Uri.joinPath(extensionUri, "media", `graph-${theme}.svg`);
    panel.iconPath = { light: icon("light"), dark: icon("dark") };
    panel.onDidDispose(() => this.shown.delete(keyOf(name)));
    panel.webview.options = this.options();
    panel.webview.onDidReceiveMessage((message: FromPage) => this.onMessage(shown, message));
    panel.webview.html = pageHtml(panel.webview.cspSource, file("dist", "page.js"), file("dist", "page.css"));
  }

  private onMessage(shown: Shown, message: FromPage): void {
    const { name } = shown;
    switch (message.kind) {
      case "ready":
        shown.listens = true;
        return this.send(shown);
      case "open": {
        const place = { root: name.root, path: String(message.path), line: message.line ?? null, column: null };
        return void vscode.commands.executeCommand("phasekeeper.openPlace", { ...name, place });
      }
      case "gate": {
        const why = stalePage(this.session.store.state, name);
        if (why !== undefined) return void vscode.window.showInformationMessage(why);
        const command = message.act === "check" ? "phasekeeper.runCheck" : "phasekeeper.explainGate";
        return void vscode.commands.executeCommand(command, { ...name, gate: String(message.gate) });
      }
      case "decide":
        return void this.decide(shown, message);
    }
  }

  /** The page showed all that has to be read, and its button was pressed; the server refuses what moved on. */
  private async decide(
    shown: Shown,
    { question, option, reason, revision }: FromPage & { kind: "decide" },
  ): Promise<void> {
    const decision = { ...shown.name, kind: "answer", question, option, reason, revision } as const;
    const outcome = (text: string, failed: boolean): void =>
      this.post(shown, { kind: "outcome", question, text, failed });
    try {
      if (!vscode.workspace.isTrusted) throw new Error("Nothing is decided in a folder that is not trusted.");
      const { recorded } = await this.session.client.request("phasekeeper/decide", decision);
      outcome(`Recorded: ${oneLine(recorded)}.`, false);
    } catch (error) {
      this.session.output.warn(messageOf(error));
      outcome(messageOf(error), true);
    }
    this.send(shown);
  }

  private send(shown: Shown): void {
    const asked = ++shown.asked;
    void this.session.client.request("phasekeeper/page", shown.name).then(
      (page) => {
        if (asked !== shown.asked) return;
        if (!page) return this.declareStale(shown, GONE);
        shown.panel.title = escapeLabel(page.evaluation.title || page.evaluation.run, 60);
        this.post(shown, { kind: "page", page, ...(shown.tab && { tab: shown.tab }) });
        shown.tab = undefined;
      },
      (error: unknown) => {
        this.session.output.warn(messageOf(error));
        if (asked === shown.asked)
          this.post(shown, { kind: "stale", why: `This page cannot be read now: ${messageOf(error)}` });
      },
    );
  }

  /** An answer that is still to come is older than what is known now. */
  private declareStale(shown: Shown, why: string): void {
    shown.asked++;
    this.post(shown, { kind: "stale", why });
  }

  private post({ panel }: Shown, message: ToPage): void {
    void panel.webview.postMessage(message);
  }
}

/** Only the extension's own script and style sheet; no network, no inline style, no inline script. */
function pageHtml(source: string, script: string, style: string): string {
  const nonce = randomBytes(16).toString("hex");
  const policy = `default-src 'none'; style-src ${source}; script-src 'nonce-${nonce}'`;
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${style}">
<title>Phasekeeper</title>
</head>
<body>
<div id="page"></div>
<script nonce="${nonce}" src="${script}"></script>
</body>
</html>`;
}
