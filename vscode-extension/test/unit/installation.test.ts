import { mkdir, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { beforeEach, expect, test } from "vitest";
import type { Exec } from "../../src/server/exec";
import {
  findUsablePython,
  findWheel,
  install,
  isOutdated,
  upgrade,
  type InstallTarget,
} from "../../src/server/installation";

let target: InstallTarget;
let calls: string[][];

beforeEach(async () => {
  const folder = await mkdtemp(path.join(tmpdir(), "phasekeeper-"));
  target = { own: path.join(folder, "store", "venv"), wheels: path.join(folder, "server"), platform: "linux" };
  await mkdir(target.wheels);
  await writeFile(path.join(target.wheels, "phasekeeper-0.1.0-py3-none-any.whl"), "one");
  calls = [];
});

/** Stands in for programs: `venv` makes the folder, and what a test says fails. */
const programs =
  (fails: (args: readonly string[]) => string | undefined = () => undefined): Exec =>
  async (program, args) => {
    calls.push([program, ...args]);
    if (args.includes("venv")) await mkdir(target.own, { recursive: true });
    const stderr = fails(args);
    return { code: stderr === undefined ? 0 : 1, stdout: "", stderr: stderr ?? "" };
  };

test("the wheel goes into an environment of its own, with what it depends on", async () => {
  const steps: string[] = [];
  await install(target, "/usr/bin/python3", programs(), (step) => steps.push(step), {});
  expect(calls).toEqual([
    ["/usr/bin/python3", "-I", "-m", "venv", "--clear", target.own],
    [
      `${target.own}/bin/python`,
      "-I",
      "-m",
      "pip",
      "install",
      "--no-input",
      "--no-compile",
      "--disable-pip-version-check",
      "--progress-bar=off",
      (await findWheel(target.wheels))!,
    ],
  ]);
  expect(steps).toEqual(["making a virtual environment", "installing the server and what it depends on"]);
  expect(await isOutdated(target)).toBe(false);
});

test("another wheel makes an installation outdated, and renewing keeps its environment", async () => {
  await install(target, "python3", programs(), () => undefined, {});
  await writeFile(path.join(target.wheels, "phasekeeper-0.1.0-py3-none-any.whl"), "two");
  expect(await isOutdated(target)).toBe(true);
  calls = [];
  await upgrade(target, programs(), {});
  expect(calls.some((call) => call.includes("venv"))).toBe(false);
  expect(calls.at(-1)).toEqual(expect.arrayContaining(["--force-reinstall", "--no-deps"]));
  expect(await isOutdated(target)).toBe(false);
});

test("without an own installation nothing is outdated", async () => {
  expect(await isOutdated(target)).toBe(false);
});

test.each([
  ["ERROR: an odd thing\n[notice] a new release\n", "an odd thing"],
  [
    "WARNING: Retrying: NewConnectionError('Failed to establish a new connection: [Errno 111] Connection refused')\nERROR: No matching distribution found for pydantic>=2.12",
    "the package index cannot be reached; look at the network, the proxy, and pip's setting index-url",
  ],
  [
    "ERROR: Could not find a version (from versions: none)\nERROR: No matching distribution found for mcp>=2.3\n",
    "the package index has no version of mcp>=2.3 that fits this Python and system",
  ],
  ["ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", "the disk is full"],
  ["ERROR: ... [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed", expect.stringContaining("not trusted")],
  ["ERROR: HTTP error 403 Client Error: Forbidden for url", expect.stringContaining("the package index refuses")],
])("why pip failed is a sentence, and no stamp is left: %j", async (printed, why) => {
  const failing = programs((args) => (args.includes("pip") ? printed : undefined));
  const error = await install(target, "python3", failing, () => undefined, {}).catch(
    (error: unknown) => error as Error,
  );
  const [failure, said] = (error as Error).message.split(/: (.*)/s);
  expect([failure, said]).toEqual(["pip cannot install the server", why]);
  await expect(readFile(path.join(target.own, "installed.json"))).rejects.toThrow();
});

test("a build that carries no wheel says what to do instead", async () => {
  await expect(install({ ...target, wheels: "/nowhere" }, "python3", programs(), () => undefined, {})).rejects.toThrow(
    "set phasekeeper.python",
  );
});

test("the first interpreter that is new enough and can make environments is used", async () => {
  const versions: Record<string, [number, string]> = {
    old: [0, "3 10\n"],
    bare: [1, ""],
    good: [0, "3 11\n"],
    better: [0, "3 14\n"],
  };
  const exec: Exec = (program) =>
    Promise.resolve({ code: versions[program]![0], stdout: versions[program]![1], stderr: "" });
  expect(await findUsablePython(["old", "bare", "good", "better"], exec)).toBe("good");
  expect(await findUsablePython(["old", "bare"], exec)).toBeUndefined();
});
