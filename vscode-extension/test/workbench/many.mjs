/**
 * How long after a window is up its sidebar has a first row, beside many runs. Not one of the tests: it measures.
 * `node test/workbench/many.mjs [RUNS]`, 200 of the five workflows where no number is said.
 */

import { execFileSync } from "node:child_process";
import fs from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { openBrowser, servers, startWorkbench } from "./rig.mjs";
import { Workbench } from "./workbench.mjs";

const repository = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../..");
const output = path.join(repository, "vscode-extension/test-output");
const python = process.env.PHASEKEEPER_PYTHON ?? path.join(repository, ".venv/bin/python");
const runs = Number(process.argv[2] ?? 200);

/** Copies of the examples' runs beside them, under other names. */
async function multiply(folder) {
  const answer = execFileSync(python, ["-I", "-m", "phasekeeper", "status", folder, "--json"], { encoding: "utf8" });
  const known = JSON.parse(answer).runs.map(({ run }) => run);
  for (let copies = known.length, round = 2; copies < runs; round += 1)
    for (const run of known.slice(0, runs - copies)) {
      const source = path.join(folder, run);
      if (!(await fs.stat(source)).isDirectory()) continue;
      await fs.cp(source, `${source}-${round}`, { recursive: true });
      copies += 1;
    }
}

await fs.mkdir(output, { recursive: true });
const rig = await startWorkbench({
  vsix: path.join(repository, "dist/phasekeeper.vsix"),
  machine: { "phasekeeper.python": python },
});
const { browser, page } = await openBrowser();
const workbench = new Workbench(page, rig);
try {
  const folder = path.join(rig.folder, "many");
  execFileSync(python, ["-I", "-m", "phasekeeper", "demo", folder]);
  await multiply(folder);
  await workbench.open(folder);
  await workbench.showSidebar();
  const first = workbench.view("Runs").locator(".monaco-list-row").first();
  await first.waitFor();
  for (const start of [
    "the server runs",
    "it starts with the window",
    "the server runs",
    "it starts with the window",
  ]) {
    if (start !== "the server runs") for (const pid of await servers(rig)) process.kill(pid, "SIGKILL");
    await page.reload();
    await page.locator(".monaco-workbench .statusbar").waitFor();
    const up = Date.now();
    await first.waitFor();
    console.log(`${runs} runs, ${start}: first row ${((Date.now() - up) / 1000).toFixed(1)} s after the window`);
  }
  await page.screenshot({ path: path.join(output, "many-runs.png") });
} finally {
  await browser.close();
  await rig.stop();
}
