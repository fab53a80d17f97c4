/** Phasekeeper's tools for the editor's own assistants (MCP), without any configuration. */

import * as vscode from "vscode";
import type { Session } from "../session";
import { MCP_ARGUMENTS } from "./config";

type Provider = vscode.McpServerDefinitionProvider<vscode.McpStdioServerDefinition>;

/** Register the provider. It offers no server in a workspace that is not trusted, and none while there is none. */
export function registerMcpProvider({ client, store }: Session): {
  provider: Provider;
  disposables: vscode.Disposable[];
} {
  const changed = new vscode.EventEmitter<void>();
  const provider: Provider = {
    onDidChangeMcpServerDefinitions: changed.event,
    provideMcpServerDefinitions: () => {
      const server = client.server;
      if (!server || !vscode.workspace.isTrusted) return [];
      const definition = new vscode.McpStdioServerDefinition(
        "Phasekeeper",
        server.python,
        [...MCP_ARGUMENTS],
        {},
        server.version,
      );
      // The first folder is what the tools look at where an assistant names no root; -I keeps its files from being imported.
      definition.cwd = vscode.workspace.workspaceFolders?.[0]?.uri;
      return [definition];
    },
  };
  const disposables = [
    changed,
    vscode.lm.registerMcpServerDefinitionProvider("phasekeeper.mcp", provider),
    store.onChange((now, before) => {
      if (now.server.state !== before.server.state) changed.fire();
    }),
    vscode.workspace.onDidChangeWorkspaceFolders(() => changed.fire()),
  ];
  return { provider, disposables };
}
