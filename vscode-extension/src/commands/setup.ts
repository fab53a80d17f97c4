/** Setup commands: the server's installation, the examples, and the configuration for assistants. */

import { existsSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import * as path from "node:path";
import * as vscode from "vscode";
import { mcpConfigurations } from "../mcp";
import { escapeLabel, messageOf } from "../sanitize";
import { ARGUMENTS } from "../server/discovery";
import { exec } from "../server/exec";
import { findUsablePython, install, type InstallTarget } from "../server/installation";
import { pythonSetting, pythonsOnPath } from "../server/locator";
import type { Session } from "../session";
import { showError } from "./outcome";
import { askText, choose } from "./pick";

const OFFERED_KEY = "phasekeeper.installOffered";
const EXAMPLE_KEY = "phasekeeper.openedExample";
const INSTALL = "Install";

/** Offer to install the server, once; after that the sidebar does. */
export async function offerInstall(session: Session, target: InstallTarget): Promise<void> {
  if (session.context.globalState.get(OFFERED_KEY)) return;
  await session.context.globalState.update(OFFERED_KEY, true);
  const message = "Phasekeeper needs its server. Install it into a virtual environment of this extension?";
  const choice = await vscode.window.showInformationMessage(message, INSTALL, "Not Now");
  // The offer stands as long as nobody closes it, also while the sidebar's button has the server installed.
  if (choice === INSTALL && session.store.state.server.state === "missing") await installServer(session, target);
}

/** Say why the Python that the setting names is not used; no other is tried in its place. */
export async function reportUnusable({ output }: Session, why: string): Promise<void> {
  output.error(why);
  const choice = await vscode.window.showErrorMessage(escapeLabel(why, 400), "Choose Python", "Show Output");
  if (choice === "Choose Python") await choosePython();
  if (choice === "Show Output") output.show();
}

let installing: Promise<void> | undefined;

/** One installation goes on at a time, however often it is asked for. */
export function installServer(session: Session, target: InstallTarget): Promise<void> {
  installing ??= runInstallation(session, target).finally(() => (installing = undefined));
  return installing;
}

async function runInstallation(session: Session, target: InstallTarget): Promise<void> {
  const setting = pythonSetting();
  if (setting) {
    const why = `The setting phasekeeper.python names ${setting}; while it is set, no other Python is used.`;
    return reportUnusable(session, why);
  }
  const python = await findUsablePython(pythonsOnPath(), exec);
  if (!python) {
    const message = "No Python 3.11 or newer with venv was found on PATH. Install one, or say which to use.";
    const choice = await vscode.window.showErrorMessage(message, "Choose Python");
    if (choice) await choosePython();
    return;
  }
  session.output.info(`Installing Phasekeeper's server with ${python} into ${target.own}.`);
  try {
    await markInstalling(() => installWithProgress(session, target, python));
  } catch (error) {
    await reportInstallFailure(session, target, error);
    return;
  }
  await session.client.restartByUser();
}

/** While it goes on the sidebar says so, and offers no second one. */
async function markInstalling(act: () => Thenable<void>): Promise<void> {
  const set = (now: boolean): Thenable<unknown> =>
    vscode.commands.executeCommand("setContext", "phasekeeper.installing", now);
  await set(true);
  try {
    await act();
  } finally {
    await set(false);
  }
}

function installWithProgress(session: Session, target: InstallTarget, python: string): Thenable<void> {
  const options = {
    location: vscode.ProgressLocation.Notification,
    title: "Phasekeeper",
    cancellable: true,
  };
  return vscode.window.withProgress(options, (progress, token) => {
    const abort = new AbortController();
    token.onCancellationRequested(() => abort.abort());
    const onLine = (line: string): void => {
      session.output.info(line);
      const doing = /^(?:Collecting|Downloading|Installing) .{0,60}/.exec(line)?.[0];
      if (doing) progress.report({ message: doing });
    };
    const onStep = (message: string): void => progress.report({ message });
    return install(target, python, exec, onStep, { signal: abort.signal, onLine });
  });
}

async function reportInstallFailure(session: Session, target: InstallTarget, error: unknown): Promise<void> {
  const why = messageOf(error);
  session.output.error(why);
  const message = `The server was not installed: ${escapeLabel(why, 300)}`;
  const choice = await vscode.window.showErrorMessage(message, "Try Again", "Show Output");
  if (choice === "Try Again") await runInstallation(session, target);
  if (choice === "Show Output") session.output.show();
}

/**
 * Have a person pick the Python that has the server, and set it. The setting is machine-scoped: in a remote window it
 * lies in the remote machine's settings, which the editor finds by itself.
 */
export async function choosePython(): Promise<void> {
  const usable = await Promise.all(
    pythonsOnPath().map(async (path) => ((await findUsablePython([path], exec)) ? path : undefined)),
  );
  const found = [...new Set(usable)].filter((path) => path !== undefined);
  const items = [
    ...found.map((path) => ({ label: escapeLabel(path, 400), value: path })),
    { label: "$(folder-opened) Browse…", value: BROWSE },
    ...(pythonSetting() ? [{ label: "$(discard) Look for one again", value: "" }] : []),
  ];
  const picked = await vscode.window.showQuickPick(items, { title: "Which Python has Phasekeeper's server?" });
  if (!picked) return;
  const python = picked.value === BROWSE ? await browsePython() : picked.value;
  if (python === undefined) return;
  await vscode.workspace
    .getConfiguration("phasekeeper")
    .update("python", python || undefined, vscode.ConfigurationTarget.Global);
}

const BROWSE = "browse";

async function browsePython(): Promise<string | undefined> {
  const picked = await vscode.window.showOpenDialog({ title: "Choose Python", openLabel: "Use", canSelectMany: false });
  return picked?.[0]?.fsPath;
}

/** Copy the examples with `phasekeeper demo` and open them. */
export async function openExample(session: Session): Promise<void> {
  const server = session.client.server;
  if (!server) {
    await vscode.commands.executeCommand("phasekeeper.installServer");
    return;
  }
  const here = emptyFolder();
  const forceNewWindow = (vscode.workspace.workspaceFolders ?? []).length > 0;
  const where = forceNewWindow ? "It opens in a new window, which" : "It is opened here, and";
  const words = `A new folder for the example runs. ${where} records nothing until you trust it.`;
  const target = here ?? (await askText("Open an example", words, unusedFolder()));
  if (!target) return;
  const { code, stderr } = await exec(server.python, [...ARGUMENTS, "demo", target], { timeoutMs: 60_000 });
  if (code !== 0) {
    const ways = [{ title: "Choose Another Folder…", command: "openExample" }];
    void showError(session, `The example was not made: ${stderr.trim()}`, ways);
    return;
  }
  if (here) return;
  const example = vscode.Uri.file(target);
  await session.context.globalState.update(EXAMPLE_KEY, example.fsPath);
  await vscode.commands.executeCommand("vscode.openFolder", example, { forceNewWindow });
}

/** In the window that an example was opened in: show the sidebar, once. */
export async function showOpenedExample({ globalState }: vscode.ExtensionContext): Promise<void> {
  const example = globalState.get<string>(EXAMPLE_KEY);
  const folders = vscode.workspace.workspaceFolders ?? [];
  if (example === undefined || folders[0]?.uri.fsPath !== example) return;
  await globalState.update(EXAMPLE_KEY, undefined);
  await vscode.commands.executeCommand("workbench.view.extension.phasekeeper");
}

/** The workspace's folder, if it is trusted and there is nothing in it. */
function emptyFolder(): string | undefined {
  const folders = vscode.workspace.workspaceFolders ?? [];
  const only = folders.length === 1 && folders[0]!.uri.scheme === "file" ? folders[0]!.uri.fsPath : undefined;
  return only && vscode.workspace.isTrusted && readdirSync(only).length === 0 ? only : undefined;
}

function unusedFolder(): string {
  const name = (at: number): string => path.join(homedir(), at ? `phasekeeper-demo-${at}` : "phasekeeper-demo");
  let at = 0;
  while (existsSync(name(at))) at += 1;
  return name(at);
}

export async function copyMcp(session: Session): Promise<void> {
  const python = session.client.server?.python;
  if (!python) {
    void vscode.window.showInformationMessage("Install Phasekeeper's server first.");
    return;
  }
  const items = mcpConfigurations(python, process.platform).map((entry) => ({
    label: entry.client,
    description: entry.where,
    value: entry,
  }));
  const picked = await choose(items, "Copy the configuration for which assistant?", "");
  if (!picked) return;
  await vscode.env.clipboard.writeText(picked.text);
  void vscode.window.showInformationMessage(`Copied. Put it into: ${picked.where}`);
}
