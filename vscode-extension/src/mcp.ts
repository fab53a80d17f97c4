/** Phasekeeper as an MCP server: for the editor's own assistants without configuration, for others as a text to copy. */

import * as vscode from "vscode";
import { ARGUMENTS } from "./server/discovery";
import type { Session } from "./session";

interface McpConfiguration {
  readonly client: string;
  /** Where the text goes. */
  readonly where: string;
  readonly text: string;
}

const MCP_ARGUMENTS: readonly string[] = [...ARGUMENTS, "mcp"];

export function mcpConfigurations(python: string, platform: NodeJS.Platform): McpConfiguration[] {
  const server = { command: python, args: MCP_ARGUMENTS };
  const json = (data: unknown): string => `${JSON.stringify(data, null, 2)}\n`;
  const words = [python, ...MCP_ARGUMENTS].map((word) => quoteForShell(word, platform)).join(" ");
  return [
    { client: "Claude Code", where: "a terminal", text: `claude mcp add phasekeeper -- ${words}\n` },
    { client: "Cursor", where: ".cursor/mcp.json", text: json({ mcpServers: { phasekeeper: server } }) },
    {
      client: "VS Code",
      where: ".vscode/mcp.json",
      text: json({ servers: { phasekeeper: { type: "stdio", ...server } } }),
    },
    {
      client: "Codex",
      where: "~/.codex/config.toml",
      text: `[mcp_servers.phasekeeper]\ncommand = ${JSON.stringify(python)}\nargs = ${JSON.stringify(MCP_ARGUMENTS)}\n`,
    },
    { client: "Gemini CLI", where: ".gemini/settings.json", text: json({ mcpServers: { phasekeeper: server } }) },
    { client: "Any other", where: "its MCP configuration", text: json({ mcpServers: { phasekeeper: server } }) },
  ];
}

/** A word for a shell: cmd and PowerShell take double quotes, a POSIX shell single ones. */
export function quoteForShell(word: string, platform: NodeJS.Platform): string {
  if (/^[\w@%+=:,./\\-]+$/.test(word) && (platform === "win32" || !word.includes("\\"))) return word;
  return platform === "win32" ? `"${word}"` : `'${word.replaceAll("'", `'\\''`)}'`;
}

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
