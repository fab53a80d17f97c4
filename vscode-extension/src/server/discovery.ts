/** Which Python runs the server: candidates in order, and the first that answers. No VS Code in here. */

import * as path from "node:path";

/** How the server is started: `python` with these arguments, in the home folder. */
export const ARGUMENTS = ["-I", "-m", "phasekeeper"] as const;

export interface Candidate {
  readonly python: string;
  readonly from: "setting" | "path" | "own" | "workspace";
}

export interface Found extends Candidate {
  readonly version: string;
}

export interface Machine {
  readonly platform: NodeJS.Platform;
  /** The value of PATH. */
  readonly path: string;
  readonly isFile: (file: string) => boolean;
  /** A script or launcher as Latin-1 text; "" where it cannot be read. */
  readonly read: (file: string) => string;
}

export interface Wanted {
  readonly setting: string;
  /** The folder of the virtual environment that this extension may have made. */
  readonly own: string;
  readonly trusted: boolean;
  /** The workspace's folders, absolute. */
  readonly folders: readonly string[];
}

/** The interpreter in a virtual environment. */
export function pythonIn(venv: string, platform: NodeJS.Platform): string {
  return platform === "win32" ? path.win32.join(venv, "Scripts", "python.exe") : path.posix.join(venv, "bin", "python");
}

/**
 * Where the server may be, best first: the setting alone when there is one; then what is on PATH, the own
 * installation, and a trusted workspace's virtual environment. Nothing of the workspace without trust, by
 * whatever way: also not by a PATH that leads into it.
 */
export function candidates(wanted: Wanted, machine: Machine): Candidate[] {
  if (wanted.setting) {
    const fits = pathOf(machine).isAbsolute(wanted.setting) && machine.isFile(wanted.setting);
    return fits ? [{ python: wanted.setting, from: "setting" }] : [];
  }
  const own = pythonIn(wanted.own, machine.platform);
  const ours = wanted.folders.flatMap((folder) =>
    [".venv", "venv"].map((name) => pythonIn(pathOf(machine).join(folder, name), machine.platform)),
  );
  const found: Candidate[] = [
    ...onPath(wanted, machine).map((python): Candidate => ({ python, from: "path" })),
    ...[own].map((python): Candidate => ({ python, from: "own" })),
    ...(wanted.trusted ? ours : []).map((python): Candidate => ({ python, from: "workspace" })),
  ];
  return found.filter((entry) => machine.isFile(entry.python));
}

const pathOf = (machine: Machine): path.PlatformPath => (machine.platform === "win32" ? path.win32 : path.posix);

/** The folders of PATH: absolute ones only, and none inside a workspace that is not trusted. */
export function pathFolders(wanted: Pick<Wanted, "trusted" | "folders">, machine: Machine): string[] {
  const { isAbsolute, delimiter, relative } = pathOf(machine);
  const inside = (folder: string): boolean =>
    wanted.folders.some((top) => {
      const way = relative(top, folder);
      return way === "" || !(way.startsWith("..") || isAbsolute(way));
    });
  return machine.path.split(delimiter).filter((folder) => isAbsolute(folder) && (wanted.trusted || !inside(folder)));
}

function onPath(wanted: Wanted, machine: Machine): string[] {
  const { join } = pathOf(machine);
  const windows = machine.platform === "win32";
  const scripts = windows ? ["phasekeeper.exe"] : ["phasekeeper"];
  const pythons = windows ? ["python.exe", "python3.exe"] : ["python3", "python"];
  const folders = pathFolders(wanted, machine);
  const named = (names: string[]): string[] =>
    folders.flatMap((folder) => names.map((name) => join(folder, name))).filter(machine.isFile);
  const interpreters = named(scripts)
    .map((script) => interpreterOf(machine.read(script)))
    .filter((python): python is string => python !== undefined && pathOf(machine).isAbsolute(python))
    .filter((python) => pathFolders(wanted, { ...machine, path: pathOf(machine).dirname(python) }).length > 0);
  // Of the interpreters on PATH only the first counts, as in a shell.
  return [...new Set([...interpreters, ...named(pythons).slice(0, 1)])];
}

/** The interpreter of an installed script, from its first line; Windows launchers carry that line at their end. */
export function interpreterOf(script: string): string | undefined {
  // Long paths and paths with blanks are run by way of sh.
  const byShell = /^#!\/bin\/sh\n'''exec' "?([^"\n]+?)"? "\$0"/.exec(script);
  if (byShell) return byShell[1];
  const line = /#!\s*"?([^"\r\n]*python[^"\r\n]*?)"?\s*\r?\n/i.exec(script);
  return line && !/^\/usr\/bin\/env\b/.test(line[1]!) ? line[1] : undefined;
}

/** The first candidate that says its version; undefined when none does. `ask` runs it with arguments. */
export async function find(
  from: readonly Candidate[],
  ask: (python: string, args: readonly string[]) => Promise<string | undefined>,
): Promise<Found | undefined> {
  for (const candidate of from) {
    const said = await ask(candidate.python, [...ARGUMENTS, "--version"]);
    const version = /^phasekeeper (\d+(?:\.\d+)*\S*)/m.exec(said ?? "")?.[1];
    if (version) return { ...candidate, version };
  }
  return undefined;
}

/** Why the Python that the setting names runs no server, in a sentence; `said` is what it said itself. */
export function unusable(setting: string, machine: Machine, said: string): string {
  const named = `The setting phasekeeper.python names ${setting}`;
  if (!pathOf(machine).isAbsolute(setting)) return `${named}, which is no absolute path.`;
  if (!machine.isFile(setting)) return `${named}, which is no program that can be run.`;
  const last = said.trim().split(/\r?\n/).at(-1);
  return `${named}, which does not run Phasekeeper${last ? `: ${last}` : "."}`;
}

const FROM: Record<Candidate["from"], string> = {
  setting: "as the setting phasekeeper.python says",
  path: "found on PATH",
  own: "this extension's own installation",
  workspace: "of this trusted workspace",
};

/** The one sentence that says what is used. */
export const foundSaid = (found: Found): string =>
  `Using Phasekeeper ${found.version} of ${found.python}, ${FROM[found.from]}.`;

/** How long to wait before the next start, after `crashes` in a row; undefined when it is no use any more. */
export function backOff(crashes: number): number | undefined {
  return crashes > 6 ? undefined : Math.min(1000 * 2 ** (crashes - 1), 30_000);
}

/** A start that takes longer is told. */
export const SLOW_MS = 20_000;

/** A server that was up this long did not crash at its start. */
export const STEADY_MS = 60_000;
