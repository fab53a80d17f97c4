/** Mocha inside the extension host, by the way of VS Code's own tests for the web. */

import fs from "node:fs/promises";
import path from "node:path";
import { BOUND_MS } from "./rig.mjs";

export async function hostTests({ context, page, rig, extension, output }) {
  const log = path.join(output, "host-tests.txt");
  // A built workbench looks at the payload only with this driver, which on the other hand shows no toasts.
  await rig.serve("--vscode-option", "enable-smoke-test-driver");
  let ended;
  const exit = new Promise((resolve) => (ended = resolve));
  await context.exposeFunction("codeAutomationLog", () => undefined);
  await context.exposeFunction("codeAutomationExit", (code) => ended(code));
  const remote = (file) => `vscode-remote://${rig.authority}${file}`;
  const payload = [
    ["extensionDevelopmentPath", remote(extension)],
    ["extensionTestsPath", remote(path.join(extension, "dist-test/index.js"))],
    ["skipWelcome", "true"],
  ];
  const folder = path.join(rig.folder, "library");
  await page.goto(
    `${rig.address}/?folder=${encodeURIComponent(folder)}&payload=${encodeURIComponent(JSON.stringify(payload))}`,
  );
  const late = setTimeout(() => ended("no end"), BOUND_MS);
  const trust = page.locator(".workspace-trust-editor").getByRole("button", { name: "Trust", exact: true });
  trust.click({ timeout: BOUND_MS }).catch((error) => console.log(`no trust was granted: ${error.message}`));
  const code = await exit;
  clearTimeout(late);
  const report = await fs.readFile(log, "utf8").catch(() => "nothing was reported");
  console.log(report.trimEnd());
  if (code !== 0) throw new Error(`the tests ended with ${code}`);
}
