/** Phasekeeper as an MCP server: what is put into the configuration of assistants. */

import { ARGUMENTS } from "../server/discovery";

export interface McpConfiguration {
  readonly client: string;
  /** Where the text goes. */
  readonly where: string;
  readonly text: string;
}

export const MCP_ARGUMENTS: readonly string[] = [...ARGUMENTS, "mcp"];

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
