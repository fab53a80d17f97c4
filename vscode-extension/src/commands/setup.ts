/** Getting going: the server's installation, the examples, and the configuration for assistants. */

import { existsSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import * as path from "node:path";
import * as vscode from "vscode";
import { InstallError, install, usable, type Place } from "../server/installation";
import { mcpConfigurations } from "../mcp/config";
import { run } from "../server/exec";
import { ARGUMENTS } from "../server/discovery";
import type { Session } from "../session";
import { literal } from "../sanitize";
import { ask, choose, messageOf } from "./pick";

const OFFERED = "phasekeeper.installOffered";
const INSTALL = "Install";

/** Offer to install the server, once; after that the sidebar does. */
export async function offerInstall(session: Session, pythons: () => Promise<string[]>, place: Place): Promise<void> {
  if (session.context.globalState.get(OFFERED)) return;
  await session.context.globalState.update(OFFERED, true);
  const said = "Phasekeeper needs its server. Install it into a virtual environment of this extension?";
  const choice = await vscode.window.showInformationMessage(said, INSTALL, "Not Now");
  // The offer stands as long as nobody closes it, also while the sidebar's button has the server installed.
  if (choice === INSTALL && session.store.now.server.state === "missing") await installServer(session, pythons, place);
}

/** Say why the Python that the setting names is not used; no other is tried in its place. */
export async function tellUnusable({ output }: Session, why: string): Promise<void> {
  output.error(why);
  const choice = await vscode.window.showErrorMessage(literal(why, 400), "Choose Python", "Show Output");
  if (choice === "Choose Python") await choosePython();
  if (choice === "Show Output") output.show();
}

let installing: Promise<void> | undefined;

/** One installation goes on at a time, however often it is asked for. */
export function installServer(session: Session, pythons: () => Promise<string[]>, place: Place): Promise<void> {
  installing ??= installed(session, pythons, place).finally(() => (installing = undefined));
  return installing;
}

async function installed(session: Session, pythons: () => Promise<string[]>, place: Place): Promise<void> {
  const setting = pythonSetting();
  if (setting)
    return tellUnusable(
      session,
      `The setting phasekeeper.python names ${setting}; while it is set, no other Python is used.`,
    );
  const python = await usable(await pythons(), run);
  if (!python) {
    const said = "No Python 3.11 or newer with venv was found on PATH. Install one, or say which to use.";
    const choice = await vscode.window.showErrorMessage(said, "Choose Python");
    if (choice) await choosePython();
    return;
  }
  session.output.info(`Installing Phasekeeper's server with ${python} into ${place.own}.`);
  try {
    await shownInSidebar(() => withProgress(session, place, python));
  } catch (error) {
    await installFailed(session, pythons, place, error);
    return;
  }
  await session.client.restartByHand();
}

/** While it goes on the sidebar says so, and offers no second one. */
async function shownInSidebar(act: () => Thenable<void>): Promise<void> {
  const tell = (now: boolean): Thenable<unknown> =>
    vscode.commands.executeCommand("setContext", "phasekeeper.installing", now);
  await tell(true);
  try {
    await act();
  } finally {
    await tell(false);
  }
}

function withProgress(session: Session, place: Place, python: string): Thenable<void> {
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
    const step = (said: string): void => progress.report({ message: said });
    return install(place, python, run, step, { signal: abort.signal, onLine });
  });
}

async function installFailed(
  session: Session,
  pythons: () => Promise<string[]>,
  place: Place,
  error: unknown,
): Promise<void> {
  const why = error instanceof InstallError ? error.message : messageOf(error);
  session.output.error(why);
  const choice = await vscode.window.showErrorMessage(
    `The server was not installed: ${literal(why, 300)}`,
    "Try Again",
    "Show Output",
  );
  if (choice === "Try Again") await installed(session, pythons, place);
  if (choice === "Show Output") session.output.show();
}

/** The Python that a person named, "" when none is. */
export const pythonSetting = (): string => vscode.workspace.getConfiguration("phasekeeper").get("python", "").trim();

/** The setting is machine-scoped: it is set for the user, never by a workspace. */
export async function choosePython(): Promise<void> {
  await vscode.commands.executeCommand("workbench.action.openSettings", "phasekeeper.python");
}

/** Copy the examples with `phasekeeper demo` and open them. */
export async function openExample(session: Session): Promise<void> {
  const server = session.client.server;
  if (!server) {
    await vscode.commands.executeCommand("phasekeeper.installServer");
    return;
  }
  const here = emptyFolder();
  const target = here ?? (await ask("Open an example", "A new folder for the example runs.", freshFolder()));
  if (!target) return;
  const { code, stderr } = await run(server.python, [...ARGUMENTS, "demo", target], { timeoutMs: 60_000 });
  if (code !== 0) {
    void vscode.window.showErrorMessage(`The example was not made: ${literal(stderr.trim(), 300)}`);
    return;
  }
  if (here) return;
  const options = { forceNewWindow: (vscode.workspace.workspaceFolders ?? []).length > 0 };
  await vscode.commands.executeCommand("vscode.openFolder", vscode.Uri.file(target), options);
}

/** The workspace's folder, if it is trusted and there is nothing in it. */
function emptyFolder(): string | undefined {
  const folders = vscode.workspace.workspaceFolders ?? [];
  const only = folders.length === 1 && folders[0]!.uri.scheme === "file" ? folders[0]!.uri.fsPath : undefined;
  return only && vscode.workspace.isTrusted && readdirSync(only).length === 0 ? only : undefined;
}

function freshFolder(): string {
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
