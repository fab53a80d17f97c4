/** Which Python runs the server: candidates in order, and the first that answers. No VS Code in here. */

import * as path from "node:path";

/** How the server is started: `python` with these arguments, in the home folder. */
export const ARGUMENTS = ["-I", "-m", "phasekeeper"] as const;

export interface Candidate {
  readonly python: string;
  readonly from: "setting" | "path" | "own" | "workspace";
}

export interface ServerPython extends Candidate {
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

export interface SearchScope {
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
export function candidates(scope: SearchScope, machine: Machine): Candidate[] {
  if (scope.setting) {
    const fits = pathModule(machine).isAbsolute(scope.setting) && machine.isFile(scope.setting);
    return fits ? [{ python: scope.setting, from: "setting" }] : [];
  }
  const ours = scope.folders.flatMap((folder) =>
    [".venv", "venv"].map((name) => pythonIn(pathModule(machine).join(folder, name), machine.platform)),
  );
  const all: Candidate[] = [
    ...onPath(scope, machine).map((python): Candidate => ({ python, from: "path" })),
    { python: pythonIn(scope.own, machine.platform), from: "own" },
    ...(scope.trusted ? ours : []).map((python): Candidate => ({ python, from: "workspace" })),
  ];
  return all.filter((candidate) => machine.isFile(candidate.python));
}

const pathModule = (machine: Machine): path.PlatformPath => (machine.platform === "win32" ? path.win32 : path.posix);

/** The folders of PATH: absolute ones only, and none inside a workspace that is not trusted. */
export function pathFolders(scope: Pick<SearchScope, "trusted" | "folders">, machine: Machine): string[] {
  const paths = pathModule(machine);
  const isInside = (folder: string): boolean =>
    scope.folders.some((top) => {
      const way = paths.relative(top, folder);
      return way === "" || !(way.startsWith("..") || paths.isAbsolute(way));
    });
  return machine.path
    .split(paths.delimiter)
    .filter((folder) => paths.isAbsolute(folder) && (scope.trusted || !isInside(folder)));
}

function onPath(scope: SearchScope, machine: Machine): string[] {
  const paths = pathModule(machine);
  const windows = machine.platform === "win32";
  const scripts = windows ? ["phasekeeper.exe"] : ["phasekeeper"];
  const pythons = windows ? ["python.exe", "python3.exe"] : ["python3", "python"];
  const folders = pathFolders(scope, machine);
  const filesNamed = (names: string[]): string[] =>
    folders.flatMap((folder) => names.map((name) => paths.join(folder, name))).filter(machine.isFile);
  const interpreters = filesNamed(scripts)
    .map((script) => interpreterInScript(machine.read(script)))
    .filter((python): python is string => python !== undefined && paths.isAbsolute(python))
    .filter((python) => pathFolders(scope, { ...machine, path: paths.dirname(python) }).length > 0);
  // Of the interpreters on PATH only the first counts, as in a shell.
  return [...new Set([...interpreters, ...filesNamed(pythons).slice(0, 1)])];
}

/** The interpreter of an installed script, from its first line; Windows launchers carry that line at their end. */
export function interpreterInScript(script: string): string | undefined {
  // Long paths and paths with blanks are run by way of sh.
  const byShell = /^#!\/bin\/sh\n'''exec' "?([^"\n]+?)"? "\$0"/.exec(script);
  if (byShell) return byShell[1];
  const line = /#!\s*"?([^"\r\n]*python[^"\r\n]*?)"?\s*\r?\n/i.exec(script);
  return line && !/^\/usr\/bin\/env\b/.test(line[1]!) ? line[1] : undefined;
}

/** The first candidate that says its version; undefined when none does. `ask` runs it with arguments. */
export async function findServer(
  among: readonly Candidate[],
  ask: (python: string, args: readonly string[]) => Promise<string | undefined>,
): Promise<ServerPython | undefined> {
  for (const candidate of among) {
    const output = await ask(candidate.python, [...ARGUMENTS, "--version"]);
    const version = /^phasekeeper (\d+(?:\.\d+)*\S*)/m.exec(output ?? "")?.[1];
    if (version) return { ...candidate, version };
  }
  return undefined;
}

/** Why the Python that the setting names runs no server, in a sentence; `output` is what it printed itself. */
export function explainUnusable(setting: string, machine: Machine, output: string): string {
  const subject = `The setting phasekeeper.python names ${setting}`;
  if (!pathModule(machine).isAbsolute(setting)) return `${subject}, which is no absolute path.`;
  if (!machine.isFile(setting)) return `${subject}, which is no program that can be run.`;
  const last = output.trim().split(/\r?\n/).at(-1);
  return `${subject}, which does not run Phasekeeper${last ? `: ${last}` : "."}`;
}

const ORIGIN: Record<Candidate["from"], string> = {
  setting: "as the setting phasekeeper.python says",
  path: "found on PATH",
  own: "this extension's own installation",
  workspace: "of this trusted workspace",
};

/** The one sentence that says what is used. */
export const describeServer = ({ python, version, from }: ServerPython): string =>
  `Using Phasekeeper ${version} of ${python}, ${ORIGIN[from]}.`;
