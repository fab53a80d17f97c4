/** What a person does, in one session of the real workbench. Each step leaves a picture in test-output/. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { hostTests } from "./host.mjs";
import { scenarios } from "./scenarios.mjs";
import { openBrowser, startWorkbench } from "./rig.mjs";
import { Workbench } from "./workbench.mjs";
import { prepare } from "./files.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const extension = path.resolve(here, "../..");
const repository = path.resolve(extension, "..");
const output = path.join(extension, "test-output");
const python = process.env.PHASEKEEPER_PYTHON ?? path.join(repository, ".venv/bin/python");
const vsix = path.join(repository, "dist/phasekeeper.vsix");

const only = process.argv.slice(2);
await fs.rm(output, { recursive: true, force: true });
await fs.mkdir(output, { recursive: true });
const rig = await startWorkbench({
  vsix,
  machine: { "phasekeeper.python": python },
  user: { "workbench.colorTheme": "Default Dark Modern" },
});
let browser;
let failures = 0;
const began = Date.now();
try {
  const folder = path.join(rig.folder, "library");
  execFileSync(python, ["-I", "-m", "phasekeeper", "demo", folder]);
  await prepare(folder);
  const opened = await openBrowser();
  browser = opened.browser;
  const workbench = new Workbench(opened.page, rig);
  const context = { workbench, page: opened.page, folder, rig, python };
  for (const [name, scenario] of Object.entries(scenarios)) {
    if (only.length && !only.some((word) => name.includes(word))) continue;
    failures += await step(name, () => scenario(context), opened.page);
    if (failures && !process.env.KEEP_GOING) break;
  }
  if (!failures && (!only.length || only.includes("host")))
    failures += await step(
      "the tests inside the extension host pass",
      () => hostTests({ ...opened, rig, extension, output }),
      opened.page,
    );
} finally {
  await browser?.close();
  await keepLogs();
  await rig.stop();
}
console.log(
  `${failures ? "failed" : "passed"} in ${((Date.now() - began) / 1000).toFixed(0)} s; pictures and logs are in vscode-extension/test-output`,
);
assert.equal(failures, 0);

/** Do one step and tell how it went; the number of failures. */
async function step(name, act, page) {
  const start = Date.now();
  let failed;
  try {
    await act();
  } catch (error) {
    failed = error;
  }
  console.log(`${failed ? "FAILED" : "ok    "} ${name} (${((Date.now() - start) / 1000).toFixed(1)} s)`);
  if (failed) console.log(failed.stack);
  await page.screenshot({
    path: path.join(output, `${name.replaceAll(/[^a-z0-9]+/gi, "-")}${failed ? ".FAILED" : ""}.png`),
  });
  return failed ? 1 : 0;
}

async function keepLogs() {
  const logs = path.join(rig.data, "logs");
  const names = await fs.readdir(logs, { recursive: true }).catch(() => []);
  for (const name of names.filter((entry) => /exthost\.log$|Phasekeeper\.log$/.test(entry)))
    await fs.copyFile(path.join(logs, name), path.join(output, path.basename(name)));
}
