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

test("what pip says last is why an installation failed, and no stamp is left", async () => {
  const failing = programs((args) =>
    args.includes("pip") ? "ERROR: No matching distribution found for pydantic\n[notice] a new release\n" : undefined,
  );
  const installing = install(target, "python3", failing, () => undefined, {});
  await expect(installing).rejects.toThrow(
    new Error("pip cannot install the server: ERROR: No matching distribution found for pydantic"),
  );
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
