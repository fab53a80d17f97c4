/** The extension's own installation: a virtual environment, and in it the wheel that the extension carries. */

import { createHash } from "node:crypto";
import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import * as path from "node:path";
import type { Ended, How } from "./exec";
import { pythonIn } from "./discovery";

export type Run = (program: string, args: readonly string[], how?: How) => Promise<Ended>;

/** The oldest Python that the server runs on. */
export const OLDEST: readonly [number, number] = [3, 11];

const VERSION = "import sys, ensurepip, venv; print(*sys.version_info[:2])";
const STAMP = "installed.json";

export interface Place {
  /** The folder of the virtual environment. */
  readonly own: string;
  /** The folder in which the wheel is. */
  readonly wheels: string;
  readonly platform: NodeJS.Platform;
}

/** The wheel that the extension carries; undefined in one that was built without. */
export async function wheelIn(folder: string): Promise<string | undefined> {
  const names = await readdir(folder).catch(() => []);
  const wheel = names
    .filter((name) => name.endsWith("-py3-none-any.whl"))
    .sort()
    .at(-1);
  return wheel && path.join(folder, wheel);
}

/** The first of some interpreters that is new enough and can make environments. */
export async function usable(pythons: readonly string[], run: Run): Promise<string | undefined> {
  for (const python of pythons) {
    const { code, stdout } = await run(python, ["-I", "-c", VERSION], { timeoutMs: 20_000 });
    const [major, minor] = stdout.trim().split(" ").map(Number);
    if (code === 0 && major === OLDEST[0] && minor !== undefined && minor >= OLDEST[1]) return python;
  }
  return undefined;
}

export class InstallError extends Error {}

/**
 * Make the environment anew and install the wheel; what it depends on comes from the user's package index.
 * `step` is told what goes on. Raises InstallError with a sentence when a step fails.
 */
export async function install(
  place: Place,
  python: string,
  run: Run,
  step: (said: string) => void,
  how: How,
): Promise<void> {
  const wheel = await carried(place);
  await mkdir(path.dirname(place.own), { recursive: true });
  step("making a virtual environment");
  await must(run(python, ["-I", "-m", "venv", "--clear", place.own], how), "the virtual environment cannot be made");
  step("installing the server and what it depends on");
  await pip(place, run, how, [wheel]);
  await stamp(place, wheel);
}

/**
 * Install the wheel into the environment that there is; also where the same version is in it, as one that was
 * built anew. Raises InstallError.
 */
export async function renew(place: Place, run: Run, how: How): Promise<void> {
  const wheel = await carried(place);
  await pip(place, run, how, [wheel]);
  await pip(place, run, how, ["--force-reinstall", "--no-deps", wheel]);
  await stamp(place, wheel);
}

async function pip(place: Place, run: Run, how: How, what: readonly string[]): Promise<void> {
  // Only what is used is compiled, when it is used first.
  const words = ["-I", "-m", "pip", "install", "--no-input", "--no-compile", "--disable-pip-version-check", ...what];
  await must(run(pythonIn(place.own, place.platform), words, how), "pip cannot install the server");
}

async function stamp(place: Place, wheel: string): Promise<void> {
  await writeFile(path.join(place.own, STAMP), JSON.stringify({ wheel: await digest(wheel) }));
}

async function carried(place: Place): Promise<string> {
  const wheel = await wheelIn(place.wheels);
  if (wheel) return wheel;
  throw new InstallError(
    "this build of the extension carries no server; install it with pip and set phasekeeper.python",
  );
}

async function must(ended: Promise<Ended>, otherwise: string): Promise<void> {
  const { code, stderr, stdout } = await ended;
  if (code === 0) return;
  const last = (stderr || stdout)
    .trim()
    .split(/\r?\n/)
    .filter((line) => !/^\[notice\]|^WARNING/.test(line))
    .at(-1);
  throw new InstallError(last ? `${otherwise}: ${last}` : otherwise);
}

/** Whether the environment holds another wheel than the one carried now, as after an update of the extension. */
export async function isOutdated(place: Place): Promise<boolean> {
  const wheel = await wheelIn(place.wheels);
  const stamped = await readFile(path.join(place.own, STAMP), "utf8").catch(() => undefined);
  if (!wheel || stamped === undefined) return false;
  return (JSON.parse(stamped) as { wheel?: string }).wheel !== (await digest(wheel));
}

async function digest(file: string): Promise<string> {
  return createHash("sha256")
    .update(await readFile(file))
    .digest("hex");
}
