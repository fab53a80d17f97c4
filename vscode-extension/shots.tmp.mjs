import { chromium } from "playwright-core";
import fs from "node:fs";
const link = /http:\/\/127[^ \n]*#\S+/.exec(fs.readFileSync("/tmp/pgr/serve.log","utf8"))[0];
const token = fs.readFileSync("/tmp/pgr/state/phasekeeper/http.token","utf8").trim();
const base = new URL(link).origin;
const only = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", headless: true, args: ["--no-sandbox","--disable-gpu","--disable-dev-shm-usage"] });
const RL = "root=%2Ftmp%2Fpgr%2Flibrary&run=.orchestrator%2Ftasks%2Freading-lists";
for (const [scheme, width] of [["light",1200],["dark",1200],["light",320],["dark",320]]) {
  const context = await browser.newContext({ viewport: { width, height: width === 320 ? 640 : 860 }, colorScheme: scheme, deviceScaleFactor: 1 });
  const page = await context.newPage();
  page.on("console", (m) => console.log(scheme, width, m.text()));
  page.on("pageerror", (e) => console.log("ERR", e.stack));
  await page.goto(`${base}/#${token}`);
  await page.locator(".run h1").waitFor({ timeout: 20000 }).catch(async () => { console.log(await page.content()); });
  for (const tab of ["decide","board","timeline","graph"]) {
    if (only.length && !only.includes(tab)) continue;
    await page.goto(`${base}/#${RL}&tab=${tab}`);
    await page.locator(`.panel.${tab}`).waitFor({ timeout: 20000 });
    await page.waitForTimeout(300);
    if (tab === "decide") { await page.locator(".option").first().click(); await page.locator("textarea").fill("The page number is a one-line fix; it's worth another try"); }
    if (tab === "timeline") { const d = page.locator("details summary").first(); if (await d.count()) await d.click(); }
    await page.screenshot({ path: `/tmp/pgr/shot-${tab}-${scheme}-${width}.png`, fullPage: width === 320 });
  }
  await context.close();
}
await browser.close();
