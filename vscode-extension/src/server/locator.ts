/** Finds the server on this machine: discovery with the real disk, PATH, setting and workspace. */

import { accessSync, constants, readFileSync, statSync } from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import { messageOf } from "../sanitize";
import {
  candidates,
  explainUnusable,
  findServer,
  pathFolders,
  type Machine,
  type SearchScope,
  type ServerPython,
} from "./discovery";
import { exec } from "./exec";
import { isOutdated, upgrade, type InstallTarget } from "./installation";

const MAX_LAUNCHER_BYTES = 1 << 20;
const PROBE_MS = 20_000;
const PYTHONS = ["python3.14", "python3.13", "python3.12", "python3.11", "python3", "python"];

/** The Python that runs the server; else why the one that the setting names does not. */
export async function locateServer(
  output: vscode.LogOutputChannel,
  target: InstallTarget,
): Promise<ServerPython | { why?: string }> {
  const scope = searchScope(target.own);
  let printed = "";
  const server = await findServer(candidates(scope, machine()), async (python, args) => {
    const { code, stdout, stderr } = await exec(python, args, { timeoutMs: PROBE_MS });
    printed = stderr || stdout;
    if (code !== 0) output.info(`${python} has no Phasekeeper: ${printed.trim().split("\n").at(-1) ?? ""}`);
    return code === 0 ? stdout : undefined;
  });
  if (!server) return { why: scope.setting ? explainUnusable(scope.setting, machine(), printed) : undefined };
  if (server.from === "own" && (await isOutdated(target))) await upgradeServer(output, target);
  return server;
}

/** After an update of the extension its own installation is renewed; the old one serves where that fails. */
async function upgradeServer(output: vscode.LogOutputChannel, target: InstallTarget): Promise<void> {
  const options = { location: vscode.ProgressLocation.Window, title: "Phasekeeper: updating the server" };
  const onLine = (line: string): void => output.info(line);
  try {
    await vscode.window.withProgress(options, () => upgrade(target, exec, { onLine }));
  } catch (error) {
    output.warn(messageOf(error));
  }
}

/** Interpreters on PATH, by name, newest first. */
export function pythonsOnPath(): string[] {
  const suffix = process.platform === "win32" ? ".exe" : "";
  const folders = pathFolders(searchScope(""), machine());
  return PYTHONS.flatMap((name) => folders.map((folder) => path.join(folder, name + suffix))).filter(isFile);
}

/** The Python that a person named, "" when none is. */
export const pythonSetting = (): string => vscode.workspace.getConfiguration("phasekeeper").get("python", "").trim();

/** The workspace's folders that are on this disk. */
export const foldersOnDisk = (): string[] =>
  (vscode.workspace.workspaceFolders ?? [])
    .filter((folder) => folder.uri.scheme === "file")
    .map((folder) => folder.uri.fsPath);

const searchScope = (own: string): SearchScope => ({
  setting: pythonSetting(),
  own,
  trusted: vscode.workspace.isTrusted,
  folders: foldersOnDisk(),
});

const machine = (): Machine => ({
  platform: process.platform,
  path: process.env["PATH"] ?? "",
  isFile,
  read: (file) => {
    try {
      return statSync(file).size > MAX_LAUNCHER_BYTES ? "" : readFileSync(file, "latin1");
    } catch {
      return "";
    }
  },
});

function isFile(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
