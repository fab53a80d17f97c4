/** The extension's own installation: a virtual environment, and in it the wheel that the extension carries. */

import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import * as path from "node:path";
import { pythonIn } from "./discovery";
import type { Exec, ExecOptions, ExecResult } from "./exec";

/** The oldest Python that the server runs on. */
const MIN_PYTHON: readonly [number, number] = [3, 11];

const VERSION = "import sys, ensurepip, venv; print(*sys.version_info[:2])";
const STAMP = "installed.json";

export interface InstallTarget {
  /** The folder of the virtual environment. */
  readonly own: string;
  /** The folder in which the wheel is. */
  readonly wheels: string;
  readonly platform: NodeJS.Platform;
}

/** The wheel that the extension carries; undefined in one that was built without. */
export async function findWheel(folder: string): Promise<string | undefined> {
  const names = await readdir(folder).catch(() => []);
  const wheel = names
    .filter((name) => name.endsWith("-py3-none-any.whl"))
    .sort()
    .at(-1);
  return wheel && path.join(folder, wheel);
}

/** The first of some interpreters that is new enough and can make environments. */
export async function findUsablePython(pythons: readonly string[], exec: Exec): Promise<string | undefined> {
  for (const python of pythons) {
    const { code, stdout } = await exec(python, ["-I", "-c", VERSION], { timeoutMs: 20_000 });
    const [major, minor] = stdout.trim().split(" ").map(Number);
    if (code === 0 && major === MIN_PYTHON[0] && minor !== undefined && minor >= MIN_PYTHON[1]) return python;
  }
  return undefined;
}

/**
 * Make the environment anew and install the wheel; what it depends on comes from the user's package index.
 * `onStep` is called with each step as it begins. Raises Error with a sentence when a step fails.
 */
export async function install(
  target: InstallTarget,
  python: string,
  exec: Exec,
  onStep: (step: string) => void,
  options: ExecOptions,
): Promise<void> {
  const wheel = await bundledWheel(target);
  await mkdir(path.dirname(target.own), { recursive: true });
  onStep("making a virtual environment");
  await requireSuccess(
    exec(python, ["-I", "-m", "venv", "--clear", target.own], options),
    "the virtual environment cannot be made",
  );
  onStep("installing the server and what it depends on");
  await pip(target, exec, options, [wheel]);
  await writeStamp(target, wheel);
}

/**
 * Install the wheel into the environment that there is; also where the same version is in it, as one that was
 * built anew. Raises Error.
 */
export async function upgrade(target: InstallTarget, exec: Exec, options: ExecOptions): Promise<void> {
  const wheel = await bundledWheel(target);
  await pip(target, exec, options, [wheel]);
  await pip(target, exec, options, ["--force-reinstall", "--no-deps", wheel]);
  await writeStamp(target, wheel);
}

async function pip(
  target: InstallTarget,
  exec: Exec,
  options: ExecOptions,
  packages: readonly string[],
): Promise<void> {
  // Only what is used is compiled, when it is used first.
  const words = [
    "-I",
    "-m",
    "pip",
    "install",
    "--no-input",
    "--no-compile",
    "--disable-pip-version-check",
    "--progress-bar=off",
    ...packages,
  ];
  await requireSuccess(exec(pythonIn(target.own, target.platform), words, options), "pip cannot install the server");
}

async function writeStamp(target: InstallTarget, wheel: string): Promise<void> {
  await writeFile(path.join(target.own, STAMP), JSON.stringify({ wheel: await digest(wheel) }));
}

async function bundledWheel(target: InstallTarget): Promise<string> {
  const wheel = await findWheel(target.wheels);
  if (wheel) return wheel;
  throw new Error("this build of the extension carries no server; install it with pip and set phasekeeper.python");
}

/** What pip and venv print, and what it means; the first that fits counts. */
const FAILURES: readonly (readonly [RegExp, string])[] = [
  [/No space left on device|not enough space on the disk/i, "the disk is full"],
  [
    /CERTIFICATE_VERIFY_FAILED|SSLError/,
    "the certificate of the package index is not trusted; a proxy that looks into traffic needs its certificate in pip's setting cert",
  ],
  [
    /\b407\b|Proxy Authentication Required/i,
    "the proxy asks for a name and password; pip takes them from its setting proxy",
  ],
  [
    /NameResolutionError|getaddrinfo failed|Name or service not known|Temporary failure in name resolution|NewConnectionError|Connection refused|Network is unreachable|ConnectTimeout|Read ?timed out/i,
    "the package index cannot be reached; look at the network, the proxy, and pip's setting index-url",
  ],
  [
    /\b40[13]\b.*(?:Client Error|Unauthorized|Forbidden)/i,
    "the package index refuses; look at the name and password in pip's setting index-url",
  ],
];
const NO_VERSION = /No matching distribution found for (\S+)/;

async function requireSuccess(running: Promise<ExecResult>, failure: string): Promise<void> {
  const { code, stderr, stdout } = await running;
  if (code === 0) return;
  const said = stderr || stdout;
  const last = said
    .trim()
    .split(/\r?\n/)
    .filter((line) => !/^\[notice\]|^WARNING/.test(line))
    .at(-1)
    ?.replace(/^ERROR: /, "");
  const known = FAILURES.find(([pattern]) => pattern.test(said))?.[1];
  const missing = NO_VERSION.exec(said)?.[1];
  const why =
    known ?? (missing ? `the package index has no version of ${missing} that fits this Python and system` : last);
  throw new Error(why ? `${failure}: ${why}` : failure);
}

/** Whether the environment holds another wheel than the one carried now, as after an update of the extension. */
export async function isOutdated(target: InstallTarget): Promise<boolean> {
  const wheel = await findWheel(target.wheels);
  const stamp = await readFile(path.join(target.own, STAMP), "utf8").catch(() => undefined);
  if (!wheel || stamp === undefined) return false;
  return (JSON.parse(stamp) as { wheel?: string }).wheel !== (await digest(wheel));
}

async function digest(file: string): Promise<string> {
  return createHash("sha256")
    .update(await readFile(file))
    .digest("hex");
}
