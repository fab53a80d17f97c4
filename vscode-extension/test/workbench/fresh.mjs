/**
 * From nothing but the package, Python and a package index to a decided question, and how long it takes. Not one of
 * the tests: it fetches what the server depends on. `node test/workbench/fresh.mjs`
 */

import fs from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { openBrowser, startWorkbench, until } from "./rig.mjs";
import { Workbench } from "./workbench.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const output = path.resolve(here, "../../test-output");
await fs.mkdir(output, { recursive: true });
const rig = await startWorkbench({ vsix: path.resolve(here, "../../../dist/phasekeeper.vsix") });
const { browser, page } = await openBrowser();
page.setDefaultTimeout(300_000);
await page.setViewportSize({ width: 1280, height: 800 });
const shot = (name) => page.screenshot({ path: path.join(output, `fresh-${name}.png`) });
const workbench = new Workbench(page, rig);
try {
  const folder = path.join(rig.folder, "empty");
  await fs.mkdir(folder);
  await workbench.open(folder);
  await page.locator(".statusbar-item a", { hasText: "Restricted Mode" }).click();
  await workbench.trust();
  await workbench.showSidebar();
  await workbench.toast("Phasekeeper needs its server").waitFor();
  await shot("1-nothing-is-installed");
  const began = Date.now();
  const at = (what) => console.log(`${((Date.now() - began) / 1000).toFixed(1)} s  ${what}`);
  await workbench.view("Runs").getByRole("button", { name: "Install Server" }).click();
  await page.locator(".notification-toast .monaco-progress-container").first().waitFor();
  await shot("2-it-is-being-installed");
  await workbench.view("Runs").getByText("No run in this folder yet").waitFor();
  at("the server runs");
  await shot("3-no-run-yet");
  await workbench.view("Runs").getByRole("button", { name: "Open an Example" }).click();
  await workbench.row("Runs", "Reading lists").waitFor();
  at("the sidebar shows the example");
  await until(async () => (await workbench.badge()) === "1", "one thing waits");
  await shot("4-the-example");
  await workbench.command("Phasekeeper: Open Run Page");
  await workbench.pick("Import the old catalogue");
  const shown = workbench.runPage;
  await shown.getByRole("radio").first().check();
  await shown.getByRole("textbox", { name: "Reason" }).fill("the catalogue is small");
  await shown.getByRole("button", { name: /^Decide: / }).click();
  await shown.getByText("Nothing waits for a person").waitFor();
  at("a question is decided");
  await shot("5-a-decided-question");
} finally {
  await shot("6-end");
  await fs.cp(path.join(rig.data, "logs"), path.join(output, "fresh-logs"), { recursive: true });
  await browser.close();
  await rig.stop();
}
