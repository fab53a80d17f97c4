/** The scenarios, in their order: each begins where the one before it ended. */

import assert from "node:assert/strict";
import fs from "node:fs/promises";
import { FAILURE, REPORT, journal } from "./files.mjs";
import { press, until } from "./rig.mjs";

export const scenarios = {
  "a folder that is not trusted shows where the work stands and offers nothing that writes": async ({ workbench, folder }) => {
    await workbench.open(folder);
    await workbench.showSidebar();
    await workbench.row("Runs", "Reading lists").waitFor();
    await workbench.row("Next Steps", "Go back to codegen").waitFor();
    await workbench.row("Waiting for You", "Approve the plan?").waitFor();
    assert.deepEqual((await workbench.offered("Phasekeeper: Start Run")).filter((title) => /start run/i.test(title)), []);
    await assert.rejects(fs.access(journal(folder, "reading-lists")));
  },

  "granting trust keeps the sidebar and brings what writes": async ({ workbench, page }) => {
    await page.locator(".statusbar-item a", { hasText: "Restricted Mode" }).click();
    await page.locator(".workspace-trust-editor").getByRole("button", { name: "Trust", exact: true }).click();
    await page.locator(".statusbar-item", { hasText: "Restricted Mode" }).waitFor({ state: "hidden" });
    await workbench.command("View: Close All Editors");
    await page.locator(".workspace-trust-editor").waitFor({ state: "hidden" });
    await workbench.row("Runs", "Reading lists").waitFor();
    await until(async () => (await workbench.offered("Phasekeeper: Start Run")).some((title) => /start run/i.test(title)), "the command is offered");
    await until(async () => (await workbench.badge()) === "2", "two things wait");
  },

  "the tree goes from runs to phases, gates and criteria, and to stages and tasks": async ({ workbench }) => {
    await workbench.expand(workbench.row("Runs", "Reading lists"));
    await workbench.row("Runs", "A link that shows a list to others").waitFor();
    await workbench.expand(workbench.row("Runs", "Quality gate"));
    await workbench.expand(workbench.row("Runs", "After 4b passed"));
    await workbench.row("Runs", "no evidence yet").waitFor();
  },

  "a plan has lenses, and marks beside its tasks": async ({ workbench, page }) => {
    await workbench.row("Runs", "A link that shows a list to others").click();
    await page.locator(".tab.active", { hasText: "MASTER_PLAN.md" }).waitFor();
    await page.locator(".statusbar-item", { hasText: /Ln 25, Col 1/ }).waitFor();
    await workbench.lens("0 of 4 done").waitFor();
    await page.locator('.editor-instance .margin [class*="ced-"]').first().waitFor();
  },

  "saving a report that says FAIL changes sidebar, lens, problems, badge and status bar, and tells it once": async ({ workbench, page }) => {
    await workbench.openFile(REPORT);
    await workbench.write(FAILURE);
    await workbench.row("Waiting for You", "4b failed 3 times in stage 2").waitFor();
    await until(async () => (await workbench.badge()) === "3", "three things wait");
    await workbench.toast("4b failed 3 times in stage 2").waitFor();
    assert.equal(await page.locator(".notification-toast", { hasText: "4b failed 3 times" }).count(), 1);
    await workbench.lens("escalation").waitFor();
    await workbench.command("Problems: Focus on Problems View");
    await workbench.problem("4b failed 3 times").waitFor();
    await until(async () => /4b/.test(await workbench.status.textContent()), "the status bar names the phase");
  },

  "an escalation is answered from its notification": async ({ workbench, page, folder }) => {
    // A toast goes by itself after some seconds; the list of notifications keeps it.
    await workbench.command("Notifications: Show Notifications");
    await page.locator(".notifications-center").getByRole("button", { name: "Answer" }).click();
    await workbench.dialog.getByText("What led to it").waitFor();
    await page.screenshot({ path: new URL("../../test-output/the-dialog-of-an-escalation.png", import.meta.url).pathname });
    await workbench.dialog.getByRole("button", { name: "try as many times again" }).click();
    await workbench.type("the token is read first now");
    await workbench.row("Waiting for You", "4b failed 3 times").waitFor({ state: "hidden" });
    await until(async () => (await workbench.badge()) === "2", "two things wait");
    const recorded = (await fs.readFile(journal(folder, "reading-lists"), "utf8")).trim().split("\n").map(JSON.parse);
    const answer = recorded.find((entry) => entry.kind === "answer");
    assert.equal(answer.option, "retry");
    assert.equal(answer.why, "the token is read first now");
    assert.match(answer.mac, /^[0-9a-f]{64}$/);
  },

  "a quick fix mends a plan": async ({ workbench, page }) => {
    await workbench.collapse(workbench.row("Runs", "Reading lists"));
    await workbench.expand(workbench.row("Runs", "Reservations"));
    await workbench.row("Runs", "A queue for each book").click();
    const line = page.locator(".editor-instance .view-line", { hasText: "tasks complete (50%)" });
    await line.waitFor();
    await line.click({ position: { x: 110, y: 8 } });
    await page.locator(".lightBulbWidget").first().waitFor();
    const fix = page.locator(".action-widget .monaco-list-row:not(.group-header)").first();
    await press(fix, () => page.keyboard.press("Control+."));
    await page.screenshot({ path: new URL("../../test-output/the-menu-of-a-quick-fix.png", import.meta.url).pathname });
    await fix.click();
    await line.waitFor({ state: "hidden" });
    await page.keyboard.press("Control+S");
    await workbench.problem("tasks are done").waitFor({ state: "hidden" });
  },

  "a plan is approved in the sidebar, with a reason": async ({ workbench, folder }) => {
    await workbench.row("Waiting for You", "implement it").click();
    await workbench.dialog.getByRole("button", { name: "implement it" }).click();
    await workbench.type("small enough for one go");
    await workbench.row("Waiting for You", "Approve the plan?").waitFor({ state: "hidden" });
    await until(async () => (await workbench.badge()) === "1", "one thing waits");
    assert.match(await fs.readFile(journal(folder, "reservations"), "utf8"), /"small enough for one go"/);
    await workbench.row("Next Steps", "Stay in 4a").waitFor();
  },

  "a dialog that is left decides nothing": async ({ workbench, page, folder }) => {
    const before = await fs.readdir(`${folder}/.claude/state`);
    await workbench.row("Waiting for You", "stop the loop").click();
    await workbench.dialog.getByRole("button", { name: "Cancel" }).click();
    await workbench.row("Waiting for You", "stop the loop").click();
    await workbench.dialog.getByRole("button", { name: "stop the loop" }).click();
    await page.locator('.quick-input-widget input[type="text"]').first().waitFor();
    await page.keyboard.press("Escape");
    assert.deepEqual(await fs.readdir(`${folder}/.claude/state`), before);
    assert.equal(await workbench.badge(), "1");
  },

  "a task is claimed and given back": async ({ workbench }) => {
    const task = workbench.row("Runs", "A queue for each book");
    await task.hover();
    await task.getByRole("button", { name: /Claim Task/ }).click();
    await workbench.type("coder-7");
    await workbench.row("Runs", "claimed by coder-7").waitFor();
    await task.hover();
    await task.getByRole("button", { name: /Release Task/ }).click();
    await workbench.row("Runs", "claimed by coder-7").waitFor({ state: "hidden" });
  },

  "an outcome is reported from a next step, and the next one appears": async ({ workbench, page }) => {
    const step = workbench.row("Next Steps", "Reservations");
    await step.hover();
    await step.getByRole("button", { name: /Report Outcome/ }).click();
    await page.locator(".quick-input-list .monaco-list-row", { hasText: "complete" }).first().click();
    await page.locator(".quick-input-list .monaco-list-row", { hasText: "reservations-01" }).waitFor();
    await page.getByRole("button", { name: "OK" }).click();
    await workbench.type("a queue with one row a member");
    await workbench.view("Recent").locator(".pane-header").click();
    await workbench.row("Recent", "4a: complete (reservations-01)").waitFor();
    await workbench.row("Recent", "plan: approve").waitFor();
  },

  "a gate is explained from the palette": async ({ workbench, page }) => {
    await workbench.command("Phasekeeper: Explain Gate");
    await page.locator(".quick-input-list .monaco-list-row", { hasText: "Charge a fee" }).first().click();
    await page.locator(".quick-input-list .monaco-list-row", { hasText: "The code is approved by its review" }).first().click();
    await page.locator(".quick-input-list .monaco-list-row", { hasText: "code_review.ok = false" }).first().click();
    await page.locator(".tab.active", { hasText: "code-review.json" }).waitFor();
    await page.locator(".statusbar-item", { hasText: /Ln 2, Col 9/ }).waitFor();
  },

  "the workflow graph shows phases and gates, and is used with the keyboard": async ({ workbench, page }) => {
    await workbench.command("Phasekeeper: Show Workflow Graph");
    const graph = workbench.graph;
    await graph.locator(".phase.current").waitFor();
    assert.ok((await graph.locator(".phase").count()) >= 6);
    assert.ok((await graph.locator(".gate.failed").count()) >= 1);
    const focused = () => graph.locator(":focus").getAttribute("data-id");
    await graph.locator(".phase.current").click();
    const first = await focused();
    await page.keyboard.press("ArrowUp");
    await until(async () => (await focused()) !== first, "an arrow key goes to another part");
    const second = await focused();
    await page.keyboard.press("Home");
    await until(async () => (await focused()) !== second, "Home goes to the first part");
    await page.keyboard.press("Enter");
    await graph.locator(".phase.chosen").waitFor();
    assert.equal(await focused(), await graph.locator(".phase.chosen").getAttribute("data-id"));
  },

  "a server that is killed is started again by itself": async ({ workbench, rig, folder }) => {
    const before = await servers(rig);
    assert.ok(before.length > 0);
    for (const pid of before) process.kill(pid, "SIGKILL");
    await until(async () => (await servers(rig)).some((pid) => !before.includes(pid)), "another server runs");
    await workbench.row("Runs", "Reading lists").waitFor();
    await fs.writeFile(`${folder}/.orchestrator/tasks/reservations/reports.txt`, "nothing\n");
    await until(async () => (await workbench.badge()) === "1", "one thing waits");
  },

  "a light theme shows the same": async ({ workbench, page }) => {
    await workbench.command("Preferences: Toggle between Light/Dark Themes");
    await page.locator(".monaco-workbench.vs").waitFor();
    await workbench.graph.locator(".phase.current").waitFor();
  },
};

/** Processes of this home that serve the editor. */
async function servers(rig) {
  const found = [];
  for (const name of (await fs.readdir("/proc")).filter((entry) => /^\d+$/.test(entry))) {
    const environment = await fs.readFile(`/proc/${name}/environ`, "utf8").catch(() => "");
    const words = (await fs.readFile(`/proc/${name}/cmdline`, "utf8").catch(() => "")).split("\0");
    if (environment.split("\0").includes(`HOME=${rig.folder}`) && words.includes("phasekeeper")) found.push(Number(name));
  }
  return found;
}
