/** The graph's panel: one a run, kept current, nothing loaded from anywhere but the extension's own folder. */

import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import { keyOf, type RunName } from "../protocol";
import { baseName, escapeLabel } from "../sanitize";
import type { Session } from "../session";
import { missing, runOf, type State } from "../store";
import { pictureOf, type FromWebview, type ToWebview } from "./picture";

const VIEW_TYPE = "phasekeeper.graph";
const HISTORY = 40;
const GONE = "This run is not there any more: it was removed, or its folder has another name.";

/** Why a graph of a run does not show how it stands now; undefined where it does. */
export function staleGraph(state: State, name: RunName): string | undefined {
  if (state.server.state !== "ready") return "As it was before: the server is not running.";
  const root = state.roots.get(name.root);
  // A root that is still to come, or a run on a page that nobody asked for, says nothing yet.
  return !root || root.runs.has(name.run) || missing(root).runs > 0 ? undefined : GONE;
}

export class GraphPanels implements vscode.Disposable {
  private readonly panels = new Map<string, vscode.WebviewPanel>();
  private readonly subscriptions: vscode.Disposable[];

  constructor(private readonly session: Session) {
    this.subscriptions = [
      session.store.onChange((now, before) => {
        for (const [key, panel] of this.panels) {
          const [root, run] = key.split("\n") as [string, string];
          const name = { root, run };
          const stale = staleGraph(now, name);
          const revision = runOf(now, name)?.revision;
          if (stale !== undefined) void panel.webview.postMessage({ stale } satisfies ToWebview);
          else if (staleGraph(before, name) !== undefined || revision !== runOf(before, name)?.revision)
            this.send(panel, name);
        }
      }),
      vscode.window.registerWebviewPanelSerializer(VIEW_TYPE, {
        deserializeWebviewPanel: (panel, state: Partial<RunName> | undefined) => {
          if (typeof state?.root === "string" && typeof state.run === "string")
            this.fill(panel, { root: state.root, run: state.run });
          else panel.dispose();
          return Promise.resolve();
        },
      }),
    ];
  }

  show(name: RunName, title: string): void {
    const existing = this.panels.get(keyOf(name));
    if (existing) return existing.reveal();
    const column = vscode.ViewColumn.Active;
    this.fill(vscode.window.createWebviewPanel(VIEW_TYPE, `Workflow: ${title}`, column, this.options()), name);
  }

  dispose(): void {
    for (const panel of this.panels.values()) panel.dispose();
    for (const subscription of this.subscriptions) subscription.dispose();
  }

  private options(): vscode.WebviewOptions {
    const { extensionUri } = this.session.context;
    const localResourceRoots = ["dist", "media"].map((folder) => vscode.Uri.joinPath(extensionUri, folder));
    return { enableScripts: true, localResourceRoots };
  }

  private fill(panel: vscode.WebviewPanel, name: RunName): void {
    const { extensionUri } = this.session.context;
    const file = (...segments: string[]): string =>
      panel.webview.asWebviewUri(vscode.Uri.joinPath(extensionUri, ...segments)).toString();
    this.panels.set(keyOf(name), panel);
    const icon = (theme: string): vscode.Uri => vscode.Uri.joinPath(extensionUri, "media", `graph-${theme}.svg`);
    panel.iconPath = { light: icon("light"), dark: icon("dark") };
    panel.onDidDispose(() => this.panels.delete(keyOf(name)));
    panel.webview.options = this.options();
    panel.webview.onDidReceiveMessage((message: FromWebview) => this.onMessage(panel, name, message));
    panel.webview.html = page(
      panel.webview.cspSource,
      file("dist", "graph.js"),
      file("media", "graph.css"),
      baseName(name.run),
    );
  }

  private onMessage(panel: vscode.WebviewPanel, name: RunName, message: FromWebview): void {
    if (message.kind === "ready") this.send(panel, name);
    const isThere = staleGraph(this.session.store.state, name) === undefined;
    if (message.kind === "gate" && !isThere) void vscode.window.showInformationMessage(GONE);
    else if (message.kind === "gate")
      void vscode.commands.executeCommand("phasekeeper.explainGate", { ...name, gate: String(message.gate) });
  }

  private send(panel: vscode.WebviewPanel, name: RunName): void {
    void this.picture(name).then(
      (picture) => panel.webview.postMessage((picture ? { picture } : { stale: GONE }) satisfies ToWebview),
      (error: unknown) => this.session.output.warn(String(error)),
    );
  }

  private async picture(name: RunName): Promise<ReturnType<typeof pictureOf> | undefined> {
    const { client } = this.session;
    const [run, graph, history] = await Promise.all([
      client.request("phasekeeper/run", name),
      client.request("phasekeeper/graph", name),
      client.request("phasekeeper/history", { ...name, limit: HISTORY }),
    ]);
    return run && graph ? pictureOf(run, graph, history.events) : undefined;
  }
}

/** Only the extension's own script and style sheet; no network, no inline style, no inline script. */
function page(source: string, script: string, style: string, title: string): string {
  const nonce = randomBytes(16).toString("hex");
  const policy = `default-src 'none'; style-src ${source}; script-src 'nonce-${nonce}'`;
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${style}">
<title>${escaped(title)}</title>
</head>
<body>
<header><h1 id="title">${escaped(title)}</h1><p id="stale" role="status" hidden></p><p id="summary" aria-live="polite"></p></header>
<main><div id="graph"></div><aside id="side" aria-live="polite"></aside></main>
<script nonce="${nonce}" src="${script}"></script>
</body>
</html>`;
}

const escaped = (text: string): string =>
  escapeLabel(text).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
