/** Takes the pictures of the READMEs anew, from the packaged extension in a real workbench: `make pictures`. */

import { execFileSync } from "node:child_process";
import path from "node:path";
import { FAILURE, prepare, REPORT, writePlan } from "./files.mjs";
import { openBrowser, startWorkbench, until } from "./rig.mjs";
import { Workbench } from "./workbench.mjs";

const extension = path.resolve(import.meta.dirname, "../..");
const python = path.resolve(extension, "../.venv/bin/python");
const rig = await startWorkbench({
  vsix: path.resolve(extension, "../dist/phasekeeper.vsix"),
  machine: { "phasekeeper.python": python },
  user: { "workbench.colorTheme": "Default Dark Modern", "editor.wordWrap": "on" },
});
const { browser, page } = await openBrowser();
try {
  await page.setViewportSize({ width: 1200, height: 760 });
  const take = (name) => page.screenshot({ path: path.join(extension, `images/${name}.png`) });
  const folder = path.join(rig.folder, "library");
  execFileSync(python, ["-I", "-m", "phasekeeper", "demo", folder]);
  await prepare(folder);
  await writePlan(folder, "holidays", "Holidays");
  const workbench = new Workbench(page, rig);
  await workbench.open(folder);
  await workbench.showSidebar();
  await workbench.row("Runs", "Reading lists").waitFor();
  await page.locator(".statusbar-item a", { hasText: "Restricted Mode" }).click();
  await workbench.trust();

  await workbench.openFile(REPORT);
  await workbench.write(FAILURE);
  await workbench.toast("4b failed 3 times in stage 2").waitFor();
  await workbench.lens("escalation").waitFor();
  await until(async () => (await workbench.badge()) === "4", "four things wait");
  await take("failure");

  await workbench.command("Notifications: Clear All Notifications");
  await workbench.command("View: Close All Editors");
  await workbench.command("Phasekeeper: Open Run Page");
  await workbench.pick("Holidays");
  const shown = workbench.runPage;
  await shown.locator(".documents .prose", { hasText: "A queue for each book" }).waitFor();
  await shown.getByRole("radio", { name: "Implement it" }).check();
  await shown.getByRole("textbox", { name: "Reason" }).fill("small enough for a holiday");
  await take("decision");

  await workbench.command("View: Close All Editors");
  await workbench.command("Phasekeeper: Show Workflow Graph");
  await workbench.pick("Charge a fee");
  await shown.locator(".phase.current").click();
  await shown.getByRole("button", { name: "Fit" }).click();
  await take("graph");
} finally {
  await browser.close();
  await rig.stop();
}
