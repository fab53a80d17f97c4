/** The scenarios, in their order: each begins where the one before it ended. */

import assert from "node:assert/strict";
import fs from "node:fs/promises";
import path from "node:path";
import {
  checked,
  convention,
  CONVENTIONS,
  FAILURE,
  HOURS,
  journal,
  measured,
  REPORT,
  second,
  WRONG_HOURS,
  writePlan,
} from "./files.mjs";
import { fleet } from "./fleet.mjs";
import { press, servers, until } from "./rig.mjs";

export const scenarios = {
  "a folder that is not trusted shows where the work stands and offers nothing that writes": async ({
    workbench,
    folder,
  }) => {
    await workbench.open(folder);
    await workbench.showSidebar();
    await workbench.row("Runs", "Reading lists").waitFor();
    await workbench.row("Next Steps", "Write the code").waitFor();
    await workbench.row("Waiting for You", "implement it").click();
    await workbench.toast("This folder is not trusted").waitFor();
    await workbench.view("Waiting for You").getByText("Restricted Mode: answers are recorded").waitFor();
    await assert.rejects(fs.access(journal(folder, "reservations")));
  },

  "what a command cannot do without trust leads to where trust is granted, and then everything writes": async ({
    workbench,
  }) => {
    await workbench.command("Phasekeeper: Start Run");
    await workbench.toast("This folder is not trusted").getByRole("button", { name: "Manage Workspace Trust" }).click();
    await workbench.trust();
    await workbench.row("Runs", "Reading lists").waitFor();
    await workbench.view("Waiting for You").getByText("Restricted Mode").waitFor({ state: "hidden" });
    await until(async () => (await workbench.badge()) === "2", "two things wait");
  },

  "a question is opened with the keyboard alone": async ({ workbench, page }) => {
    await workbench.command("Phasekeeper: Focus on Waiting for You View");
    const focused = workbench.view("Waiting for You").locator(".monaco-list-row.focused");
    await press(focused.filter({ hasText: "let the loop resolve it" }), async () => {
      await page.keyboard.press("Home");
      await page.keyboard.press("ArrowDown");
    });
    await press(workbench.dialog, () => page.keyboard.press("Enter"));
    await workbench.dialog.locator(".dialog-message-text", { hasText: "Severity S0 or worse is open" }).waitFor();
    await page.keyboard.press("Escape");
    await workbench.dialog.waitFor({ state: "hidden" });
  },

  "the tree goes from runs to phases, gates and criteria, and to stages and tasks": async ({ workbench }) => {
    await workbench.expand(workbench.row("Runs", "Reading lists"));
    await workbench.row("Runs", "A link that shows a list to others").waitFor();
    await workbench.expand(workbench.row("Runs", /^Quality gate/));
    await workbench.expand(workbench.row("Runs", "After 4b passed"));
    await workbench.row("Runs", "no evidence yet").waitFor();
  },

  "a plan has lenses, and marks beside its tasks": async ({ workbench, page }) => {
    await workbench.row("Runs", "A list as a PDF file").click();
    await page.locator(".tab.active", { hasText: "MASTER_PLAN.md" }).waitFor();
    await page.locator(".statusbar-item", { hasText: /Ln 26, Col 1/ }).waitFor();
    await workbench.lens("0 of 4 done").waitFor();
    await page.locator('.editor-instance .margin [class*="ced-"]').first().waitFor();
  },

  "saving a report that says FAIL changes sidebar, lens, problems, badge and status bar, and tells it once": async ({
    workbench,
    page,
  }) => {
    await workbench.openFile(REPORT);
    await workbench.write(FAILURE);
    await workbench.row("Waiting for You", "4b failed 3 times in stage 2").waitFor();
    await until(async () => (await workbench.badge()) === "3", "three things wait");
    await workbench.toast("4b failed 3 times in stage 2").waitFor();
    assert.equal(await page.locator(".notification-toast", { hasText: "4b failed 3 times" }).count(), 1);
    await workbench.lens("escalation").waitFor();
    await workbench.command("Problems: Focus on Problems View");
    // The list has only the rows that there is room for.
    const filter = page.getByPlaceholder("Filter (e.g. text");
    await filter.fill("4b failed 3 times");
    await workbench.problem("4b failed 3 times").waitFor();
    await filter.fill("");
    await until(
      async () => /Reading lists: Quality gate/.test(await workbench.status.textContent()),
      "the status bar names the phase",
    );
  },

  "the report that failed a task is shown in a peek beside the task's line": async ({ workbench, page }) => {
    await workbench.row("Runs", "A list as a PDF file").click();
    await page.locator(".tab.active", { hasText: "MASTER_PLAN.md" }).waitFor();
    await workbench.lens("failed: 4b of stage 2 · Peek Failure").click();
    const peek = page.locator(".peekview-widget");
    await peek.getByText("14-4b-phase-2.md").first().waitFor();
    await peek.locator(".view-line", { hasText: "A shared link works without an account" }).waitFor();
    await page.screenshot({ path: picture("the-failure-of-a-task") });
    await page.keyboard.press("Escape");
    await peek.waitFor({ state: "hidden" });
  },

  "what a person sets not to see goes at once, and comes again": async ({ workbench, page, folder }) => {
    const settings = path.join(folder, ".vscode/settings.json");
    const quiet = { problems: "none", statusBar: "never", lenses: false };
    const own = Object.fromEntries(Object.entries(quiet).map(([name, value]) => [`phasekeeper.${name}`, value]));
    const problem = workbench.problem("gate “After 4b failed” is shut");
    const lens = workbench.lens("failed: 4b of stage 2");
    await workbench.command("Problems: Focus on Problems View");
    for (const each of [problem, lens, workbench.status]) await each.waitFor();
    await fs.mkdir(path.dirname(settings), { recursive: true });
    await fs.writeFile(settings, JSON.stringify(own));
    for (const each of [problem, lens, workbench.status]) await each.waitFor({ state: "hidden" });
    await page.screenshot({ path: picture("a-quiet-workbench") });
    await fs.rm(settings);
    for (const each of [problem, lens, workbench.status]) await each.waitFor();
  },

  "an escalation is answered from its notification": async ({ workbench, page, folder }) => {
    // A toast goes by itself after some seconds; the list of notifications keeps it.
    await workbench.command("Notifications: Show Notifications");
    await page.locator(".notifications-center").getByRole("button", { name: "Answer" }).click();
    await workbench.dialog
      .getByText(/before: 4b fail/)
      .first()
      .waitFor();
    await page.screenshot({ path: picture("the-dialog-of-an-escalation") });
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
    await page.screenshot({ path: picture("the-menu-of-a-quick-fix") });
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
    await workbench.row("Next Steps", /Implement: .*Reservations/).waitFor();
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

  "a task is claimed in its row and given back from the palette": async ({ workbench, page, folder }) => {
    const task = workbench.row("Runs", "A queue for each book");
    await workbench.pressInRow(task, /Claim Task/, page.locator(".quick-input-message", { hasText: "Who takes it" }));
    await workbench.type("coder-7");
    await workbench.row("Runs", "claimed by coder-7").waitFor();
    await task.hover();
    await task.getByRole("button", { name: /Release Task/ }).waitFor();
    // The only run in which a task is claimed.
    await workbench.command("Phasekeeper: Release Task");
    await workbench.row("Runs", "claimed by coder-7").waitFor({ state: "hidden" });
    // Work is reported once the files are there that its task declares.
    await fs.mkdir(`${folder}/lending`, { recursive: true });
    await fs.writeFile(`${folder}/lending/queue_01.py`, "QUEUE = []\n");
  },

  "a report about tasks that names none is not recorded": async ({ workbench, page, folder }) => {
    const before = await fs.readFile(journal(folder, "reservations"), "utf8");
    const step = workbench.row("Next Steps", "Reservations");
    await step.hover();
    await step.getByRole("button", { name: /Report Outcome/ }).click();
    await page.locator(".quick-input-list .monaco-list-row", { hasText: "complete" }).first().click();
    const task = page.locator(".quick-input-list .monaco-list-row", { hasText: "A queue for each book" });
    await task.waitFor();
    await page.screenshot({ path: picture("the-tasks-of-a-report") });
    await task.click();
    await page.getByRole("button", { name: "OK", exact: true }).click();
    await workbench.toast("Nothing was recorded").waitFor();
    assert.equal(await fs.readFile(journal(folder, "reservations"), "utf8"), before);
  },

  "a claimed task is reported in its row, and the next step appears": async ({ workbench, page }) => {
    const task = workbench.row("Runs", "A queue for each book");
    await workbench.pressInRow(task, /Claim Task/, page.locator(".quick-input-message", { hasText: "Who takes it" }));
    await workbench.type("coder-7");
    await workbench.row("Runs", "claimed by coder-7").waitFor();
    const complete = page.locator(".quick-input-list .monaco-list-row", { hasText: "complete" }).first();
    await workbench.pressInRow(task, /Report Outcome/, complete);
    await complete.click();
    await workbench.type("a queue with one row a member");
    await workbench.row("Runs", /A queue for each book.*reported/).waitFor();
    await workbench.view("Recent").locator(".pane-header").click();
    await workbench.row("Recent", "Implement: complete (“A queue for each book”)").waitFor();
    await workbench.row("Recent", /Approve the plan/).waitFor();
  },

  "the text of a report is handed in by the lens above it, stays where it is refused, and is given up there": async ({
    workbench,
    page,
    folder,
  }) => {
    await fs.writeFile(`${folder}/lending/queue_02.py`, "QUEUE = []\n");
    const complete = page.locator(".quick-input-list .monaco-list-row", { hasText: "complete" }).first();
    await workbench.pressInRow(workbench.row("Runs", "Tests of the queue"), /Report Outcome/, complete);
    await complete.click();
    await workbench.type("a test of the queue");
    const step = workbench.row("Next Steps", /Quality gate.*Reservations/);
    await step.waitFor();
    const pass = page.locator(".quick-input-list .monaco-list-row", { hasText: "pass" }).first();
    await workbench.pressInRow(step, /Report Outcome/, pass);
    await pass.click();
    await workbench.lens("Report Quality gate").waitFor();
    await page.screenshot({ path: picture("the-text-of-a-report") });
    await workbench.lens("Report Quality gate").click();
    await workbench.toast("Not recorded").waitFor();
    await workbench.lens("Discard Report").click();
    await page.locator(".tab", { hasText: "Untitled" }).waitFor({ state: "hidden" });
    await workbench.lens("Discard Report").waitFor({ state: "hidden" });
  },

  "a run whose review has no code is rolled back to where it is consistent": async ({ workbench, page }) => {
    await workbench.row("Next Steps", /Write the code.*Renew a loan/).waitFor();
    // The only run that is not consistent.
    await workbench.command("Phasekeeper: Roll Back to Last Consistent Phase");
    await workbench.dialog.getByText("Roll Renew a loan back to “Write the code”?").waitFor();
    await workbench.dialog.getByText(/afterwards: active in "Write the code"/).waitFor();
    await page.screenshot({ path: picture("the-dialog-of-a-roll-back") });
    await workbench.dialog.getByRole("button", { name: "Roll Back" }).click();
    await workbench.type("the code was never written");
    await workbench.row("Runs", "Renew a loan").filter({ hasText: "Write the code" }).waitFor();
    await workbench.row("Recent", "To be done again: Write the code").waitFor();
  },

  "an override shows every gate that it waives, one that failed before with them, and records who and why": async ({
    workbench,
    page,
    folder,
  }) => {
    const task = `${folder}/.ai-tools-chain/tasks/renewals`;
    await fs.writeFile(`${task}/review/plan-review.json`, '{"ok": false, "issues": []}\n');
    await workbench.command("Phasekeeper: Override with Reason");
    await workbench.pick("Renew a loan", "Run the tests");
    await workbench.dialog.getByText(/Move Renew a loan to “Run the tests”/).waitFor();
    const text = await workbench.dialog.innerText();
    assert.match(text, /gate "The plan is approved by its review" \(plan-review\) is failed and will be waived/);
    assert.match(text, /"Review the code" \(review\) will go without what it owes/);
    await page.screenshot({ path: picture("the-dialog-of-an-override") });
    await workbench.dialog.getByRole("button", { name: "Override" }).click();
    await workbench.type("there is nothing to write here");
    await workbench.row("Runs", "Renew a loan").filter({ hasText: "Run the tests" }).waitFor();
    await workbench.row("Recent", "Overridden: now in Run the tests").waitFor();
    const records = (await fs.readFile(`${task}/.phasekeeper/journal.jsonl`, "utf8"))
      .trim()
      .split("\n")
      .map(JSON.parse);
    const override = records.find((entry) => entry.kind === "override");
    assert.equal(override.why, "there is nothing to write here");
    assert.ok(override.gates.includes("plan-review"));
    for (const gate of override.gates) assert.match(text, new RegExp(`\\(${gate}\\) is `));
    assert.match(override.mac, /^[0-9a-f]{64}$/);
  },

  "a run that is started is selected, and the file to fill is open, with nothing of it saved": async ({
    workbench,
    page,
    folder,
  }) => {
    await workbench.command("Phasekeeper: Start Run");
    await workbench.pick("Plan, review, code, review, test, accept");
    await workbench.type("quiet-hours", "Its name");
    await workbench.type("Keep the reading room quiet", "What it is about");
    const started = workbench.row("Runs", "Keep the reading room quiet").filter({ hasText: "Plan the change" });
    await started.and(page.locator(".selected")).waitFor();
    await page.locator(".tab.active", { hasText: "planning.ai.json" }).waitFor();
    await page.locator(".editor-instance .view-line", { hasText: "what is changed" }).first().waitFor();
    const task = `${folder}/.ai-tools-chain/tasks/quiet-hours`;
    await fs.access(`${task}/state.json`);
    await assert.rejects(fs.access(`${task}/planning/planning.ai.json`));
    await workbench.command("View: Revert and Close Editor");
  },

  "the configuration for another assistant is copied": async ({ workbench, page, python }) => {
    await workbench.command("Phasekeeper: Copy MCP Configuration");
    await workbench.pick("Cursor");
    await workbench.toast("Copied. Put it into: .cursor/mcp.json").waitFor();
    const copied = JSON.parse(await page.evaluate(() => navigator.clipboard.readText()));
    assert.deepEqual(copied, {
      mcpServers: { phasekeeper: { command: python, args: ["-I", "-m", "phasekeeper", "mcp"] } },
    });
  },

  "the next step is typed in the terminal where an assistant runs, and waits there for Enter": async ({
    workbench,
    page,
    rig,
  }) => {
    const program = await inside(`${rig.folder}/bin/claude`);
    const heard = `${rig.folder}/heard`;
    await fs.writeFile(program, `#!/bin/sh\ncat > '${heard}'\n`, { mode: 0o755 });
    await workbench.command("Terminal: Create New Terminal");
    await page.locator(".terminal.xterm").waitFor();
    await page.locator(".xterm-helper-textarea").focus();
    await page.keyboard.type(`${program}\n`);
    await until(
      () =>
        fs.access(heard).then(
          () => true,
          () => false,
        ),
      "the assistant runs",
    );
    await workbench.command("Phasekeeper: Send to Assistant");
    await workbench.pick("Charge a fee");
    await page.locator(".statusbar-item", { hasText: "press Enter there" }).first().waitFor();
    assert.equal(await fs.readFile(heard, "utf8"), "");
    await page.screenshot({ path: picture("a-step-in-a-terminal") });
    await page.locator(".xterm-helper-textarea").focus();
    await page.keyboard.press("Enter");
    await until(async () => /^Continue the run .*late-fees/.test(await fs.readFile(heard, "utf8")), "it has the step");
    await workbench.command("Terminal: Kill All Terminals");
    await page.locator(".terminal.xterm").waitFor({ state: "hidden" });
  },

  "a walkthrough leads from the server to the assistant": async ({ workbench, page }) => {
    await workbench.command("Welcome: Open Walkthrough...");
    await workbench.pick("Get Started with Phasekeeper");
    for (const step of ["Install the server", "Look at an example", "Open a folder of yours", "Connect your assistant"])
      await page.locator(".getting-started-step", { hasText: step }).waitFor();
    await page.locator(".getting-started-step", { hasText: "Connect your assistant" }).click();
    await page.locator(".getting-started-step", { hasText: "Copy MCP Configuration" }).waitFor();
    // The server was there before the walkthrough was opened.
    await page.locator(".getting-started-step:has(.codicon-getting-started-step-checked)").waitFor();
    await page.screenshot({ path: picture("the-walkthrough") });
    await workbench.command("View: Close All Editors");
  },

  "a key is about the selected row, and a run that is over says so": async ({ workbench, page }) => {
    const pick = page.locator(".quick-input-widget");
    await workbench.row("Runs", "Tune the skill book-finder").locator(".monaco-icon-label").first().click();
    await page.keyboard.press("Control+K");
    await page.keyboard.press("Shift+R");
    await pick.getByText(/What did “Apply a fix” come to/).waitFor();
    await page.screenshot({ path: picture("a-report-by-a-key") });
    await page.keyboard.press("Escape");
    await workbench.row("Runs", "Tune the skill book-finder").locator(".monaco-icon-label").first().click();
    await press(workbench.row("Runs", /^Finished/), () => page.keyboard.press("End"));
    await workbench.expand(workbench.row("Runs", /^Finished/));
    await press(workbench.row("Runs", "Design Loans"), () => page.keyboard.press("End"));
    await workbench.row("Runs", "Design Loans").click();
    await page.keyboard.press("Control+K");
    await page.keyboard.press("Shift+R");
    await workbench.toast("Design Loans is over: it is complete.").waitFor();
    await page.screenshot({ path: picture("a-report-of-a-run-that-is-over") });
    await workbench.row("Runs", "Design Loans").click({ button: "right" });
    await page.getByRole("menuitem", { name: "Open Run Page" }).waitFor();
    await page.screenshot({ path: picture("the-menu-of-a-run-that-is-over") });
    await page.keyboard.press("Escape");
    await workbench.command("Notifications: Clear All Notifications");
  },

  "a gate is explained from the palette": async ({ workbench, page }) => {
    await workbench.command("Phasekeeper: Explain Gate");
    await page.locator(".quick-input-list .monaco-list-row", { hasText: "Charge a fee" }).first().click();
    await page
      .locator(".quick-input-list .monaco-list-row", { hasText: "The code is approved by its review" })
      .first()
      .click();
    await page.locator(".quick-input-list .monaco-list-row", { hasText: "code_review.ok = false" }).first().click();
    await page.locator(".tab.active", { hasText: "code-review.json" }).waitFor();
    await page.locator(".statusbar-item", { hasText: /Ln 2, Col 9/ }).waitFor();
  },

  "runs are filtered, grouped and hidden as a person wants": async ({ workbench, page }) => {
    await workbench.command("Phasekeeper: Filter Runs");
    await workbench.type("@failed charge");
    await workbench.view("Runs").getByText("Filtered by: @failed charge").waitFor();
    await workbench.row("Runs", "Reading lists").waitFor({ state: "hidden" });
    await workbench.row("Runs", "Charge a fee").waitFor();
    await workbench.command("Phasekeeper: Clear Filter of Runs");
    await workbench.command("Phasekeeper: Group Runs by Workflow");
    await workbench.row("Runs", /^master-plan2 runs/).waitFor();
    await page.screenshot({ path: picture("runs-by-workflow") });
    await workbench.command("Phasekeeper: List Runs without Groups");
    // Rows below the view are not drawn.
    await workbench.collapse(workbench.row("Runs", "Keep the reading room quiet"));
    await workbench.collapse(workbench.row("Runs", "Reservations"));
    await workbench.row("Runs", "Finished").waitFor();
    await workbench.command("Phasekeeper: Hide Finished Runs");
    await workbench.row("Runs", "Finished").waitFor({ state: "hidden" });
    await workbench.command("Phasekeeper: Show Finished Runs");
    await workbench.row("Runs", "Finished").waitFor();
    await workbench.expand(workbench.row("Runs", "Reservations"));
  },

  "a decision that is recorded moves no evidence: the squiggle stays in the report that said FAIL": async ({
    workbench,
    page,
  }) => {
    await workbench.openFile(REPORT);
    await page.locator(".editor-instance .squiggly-warning").first().waitFor();
    await workbench.expand(workbench.row("Runs", "Reading lists"));
    await workbench.row("Runs", "A link that shows a list").filter({ hasText: "failed" }).click();
    await page.locator(".tab.active", { hasText: REPORT }).waitFor();
    await page.locator(".statusbar-item", { hasText: /Ln 5, Col 21/ }).waitFor();
    await workbench.collapse(workbench.row("Runs", "Reading lists"));
  },

  "the workflow graph shows phases and gates, and is used with the keyboard": async ({ workbench, page }) => {
    await workbench.openFile("code-review.json");
    await workbench.command("Phasekeeper: Show Workflow Graph");
    const graph = workbench.runPage;
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
    await graph.locator(".gate.failed").first().click();
    await graph.locator("#side .criteria", { hasText: "the review approves and nothing blocks" }).waitFor();
    await graph.locator("#side").getByRole("button", { name: "Explain" }).waitFor();
  },

  "a plan is approved on the page of its run, beside the plan, and the page shows what came of it": async ({
    workbench,
    page,
    folder,
  }) => {
    const plan = await writePlan(folder, "holidays", "Holidays");
    await workbench.command("View: Close All Editors");
    await workbench.row("Waiting for You", "Holidays").or(workbench.row("Runs", "Holidays")).first().waitFor();
    await workbench.command("Phasekeeper: Open Run Page");
    await workbench.pick("Holidays");
    const shown = workbench.runPage;
    await shown.getByRole("heading", { name: "Approve the plan?" }).waitFor();
    await shown.locator(".documents .prose", { hasText: "A queue for each book" }).waitFor();
    await page.screenshot({ path: picture("the-page-of-a-run-that-waits") });
    const decide = shown.getByRole("button", { name: /^Decide/ });
    assert.ok(await decide.isDisabled());
    await shown.getByRole("radio", { name: "Implement it" }).check();
    await shown.getByRole("textbox", { name: "Reason" }).fill("small enough for a holiday");
    await decide.click();
    await shown.getByText("Nothing waits for a person").waitFor();
    await shown.getByRole("tab", { name: "Timeline" }).click();
    await shown.locator("blockquote", { hasText: "small enough for a holiday" }).waitFor();
    await page.screenshot({ path: picture("the-timeline-of-a-run") });
    const answer = JSON.parse((await fs.readFile(journal(folder, "holidays"), "utf8")).trim().split("\n").at(-1));
    assert.deepEqual([answer.option, answer.why, answer.channel], ["approve", "small enough for a holiday", "vscode"]);
    await shown.getByRole("tab", { name: "Board" }).click();
    await shown.locator(".task.ready", { hasText: "A queue for each book" }).getByRole("button").click();
    await page.locator(".tab.active", { hasText: "01-queue.md" }).waitFor();
    await workbench.command("View: Close All Editors");
    await fs.rm(plan, { recursive: true });
    await workbench.command("Phasekeeper: Show Workflow Graph");
    await workbench.pick("Charge a fee");
    await shown.locator(".phase.current").waitFor();
  },

  "a server that is killed is started again by itself, later each time, and rows stay open and selected": async ({
    workbench,
    rig,
    folder,
  }) => {
    const inside = workbench.row("Runs", "A queue for each book");
    const chosen = workbench.row("Runs", /^Approval3/);
    for (const outer of ["Reservations", /^Plan0 of 2/, /^1\. Queue/])
      await workbench.expand(workbench.row("Runs", outer));
    await inside.waitFor();
    await chosen.click();
    for (const wait of [1, 2]) {
      const before = await servers(rig);
      assert.ok(before.length > 0);
      for (const pid of before) process.kill(pid, "SIGKILL");
      await until(async () => (await log(rig)).includes(`It is started again in ${wait} s.`), "it is told when");
      await until(async () => (await servers(rig)).some((pid) => !before.includes(pid)), "another server runs");
      await workbench.row("Runs", "Reading lists").waitFor();
      assert.ok(await inside.isVisible());
      assert.match(await chosen.getAttribute("class"), /\bselected\b/);
    }
    await alive(workbench, folder, "Show the opening hours of the branch");
  },

  "Restart Server brings another one, and the tree is live": async ({ workbench, rig, folder }) => {
    const before = await connectors(rig);
    await workbench.command("Phasekeeper: Restart Server");
    await until(async () => (await connectors(rig)).some((pid) => !before.includes(pid)), "another server runs");
    await until(async () => (await connectors(rig)).every((pid) => !before.includes(pid)), "the one before has ended");
    await alive(workbench, folder, "Keep the reading room quiet");
  },

  "a graph is there again after the window is loaded anew": async ({ workbench, page }) => {
    // A page keeps its state a few seconds after each change; a desktop window does so when it closes.
    await until(() => page.evaluate(keptGraph), "the workbench has kept what the graph shows");
    await page.reload();
    await workbench.runPage.locator(".phase.current", { hasText: "review" }).waitFor();
    await workbench.showSidebar();
    await workbench.row("Runs", "Reading lists").waitFor();
  },

  "a light theme shows the same": async ({ workbench, page }) => {
    await workbench.command("Preferences: Toggle between Light/Dark Themes");
    await page.locator(".monaco-workbench.vs").waitFor();
    await workbench.runPage.locator(".phase.current").waitFor();
  },

  "high contrast, dark and light, has every colour of rows, which stands out, and borders around the graph's boxes":
    async ({ workbench, page }) => {
      for (const [scheme, kind] of [
        ["dark", "hc-black"],
        ["light", "hc-light"],
      ]) {
        // As a system does that is set to high contrast.
        await page.emulateMedia({ forcedColors: "active", colorScheme: scheme });
        await page.locator(`.monaco-workbench.${kind}`).waitFor();
        const colours = await page.evaluate(rowColours);
        for (const [name, contrast] of Object.entries(colours))
          assert.ok(contrast > 3, `${name} has a contrast of ${contrast}`);
        const box = workbench.runPage.locator(".phase:not(.current, .chosen) rect").first();
        await until(() => box.evaluate(isBordered), "a box has the theme's border");
        await page.screenshot({ path: picture(`the-theme-${kind}`) });
      }
      await page.emulateMedia({ forcedColors: "none", colorScheme: "light" });
    },

  "two folders in one window have a row each, and share status bar and badge": async ({
    workbench,
    page,
    rig,
    folder,
  }) => {
    const other = `${rig.folder}/branch`;
    await openWorkspace(workbench, page, await second(other, folder), "library");
    await page.locator(".statusbar-item a", { hasText: "Restricted Mode" }).click();
    await workbench.trust();
    for (const name of ["library", "branch"]) await workbench.row("Runs", name).waitFor();
    await workbench.row("Runs", "Show the opening hours").waitFor();
    await workbench.row("Next Steps", /Plan the change.*Show the opening hours/).waitFor();
    await until(async () => (await workbench.badge()) === "1", "one thing waits");
    await fs.copyFile(
      `${folder}/.claude/state/loop.state.json`,
      await inside(`${other}/.claude/state/loop.state.json`),
    );
    await until(async () => (await workbench.badge()) === "2", "one thing waits in each folder");
    await until(async () => /2$/.test((await workbench.status.textContent()).trim()), "the status bar counts both");
  },

  "the graph of a run whose folder is renamed says that it is gone": async ({ workbench, page, rig }) => {
    await workbench.command("Phasekeeper: Show Workflow Graph");
    await workbench.pick("Show the opening hours");
    await workbench.runPage.locator(".phase.current").waitFor();
    const tasks = `${rig.folder}/branch/.ai-tools-chain/tasks`;
    await fs.rename(`${tasks}/opening-hours`, `${rig.folder}/away`);
    await workbench.runPage.getByText("This run is not there any more").waitFor();
    await page.screenshot({ path: picture("the-graph-of-a-run-that-is-gone") });
    await fs.rename(`${rig.folder}/away`, `${tasks}/opening-hours`);
    await workbench.runPage.getByText("This run is not there any more").waitFor({ state: "hidden" });
    await workbench.command("View: Close All Editors");
  },

  "a folder that is taken out of the window goes, with what waits in it": async ({ workbench }) => {
    await workbench.command("Workspaces: Remove Folder from Workspace");
    await workbench.pick("branch");
    await until(async () => (await workbench.badge()) === "1", "one thing waits");
    await workbench.row("Runs", "Show the opening hours").waitFor({ state: "hidden" });
    await workbench.row("Runs", "Reading lists").waitFor();
  },

  "a gate opens by a check that a person allowed, shuts on a save, and a failure opens the log": async ({
    workbench,
    page,
    folder,
  }) => {
    await checked(folder);
    await workbench.row("Runs", "Open at nine").waitFor();
    await workbench.expand(workbench.row("Runs", "Open at nine"));
    await workbench.expand(workbench.row("Runs", /^Write the code/));
    const [gate, check] = [workbench.row("Runs", "Gate: The tests pass"), workbench.row("Runs", "Check: tests")];
    await workbench.expand(gate);
    await check.filter({ hasText: "untrusted" }).waitFor();
    const run = async () => {
      await gate.hover();
      await gate.getByRole("button", { name: "Run Check" }).click();
    };
    await run();
    await workbench.dialog.getByText("tests/run.sh").first().waitFor();
    await page.screenshot({ path: picture("the-dialog-of-a-check") });
    await workbench.dialog.getByRole("button", { name: "Allow" }).click();
    await workbench.toast("tests: passed").waitFor();
    await check.filter({ hasText: "passed: it passed" }).waitFor();
    await page.screenshot({ path: picture("a-gate-that-a-check-opened") });
    await fs.writeFile(`${folder}/src/hours.py`, WRONG_HOURS);
    await check.filter({ hasText: "stale: src/hours.py changed since it ran" }).waitFor();
    await fs.writeFile(`${folder}/src/hours.py`, HOURS);
    await check.filter({ hasText: "passed: it passed" }).waitFor();
    await fs.writeFile(`${folder}/src/hours.py`, WRONG_HOURS);
    await check.filter({ hasText: "stale" }).waitFor();
    await run();
    await page.locator(".tab.active", { hasText: "tests.log" }).waitFor();
    await page.locator(".editor-instance .view-line", { hasText: "the hours are looked at" }).waitFor();
    await check.filter({ hasText: "failed: it ended with exit code 1" }).waitFor();
  },

  "the tests of a task open its gate, saving a typed change shuts it, and undoing the change opens it with nothing run":
    async ({ workbench, page, rig }) => {
      const folder = `${rig.folder}/measured`;
      await measured(folder);
      await workbench.open(folder);
      await workbench.showSidebar();
      await page.locator(".statusbar-item a", { hasText: "Restricted Mode" }).click();
      await workbench.trust();
      await workbench.expand(workbench.row("Runs", "Lend for three weeks"));
      await workbench.expand(workbench.row("Runs", /^Run the tests/));
      const [gate, check] = [workbench.row("Runs", "Gate: The tests pass"), workbench.row("Runs", "Check: tests")];
      await workbench.expand(gate);
      const [open, shut] = ["passed, as a check measured", "not passed yet"].map((hasText) => gate.filter({ hasText }));
      const run = async () => {
        await gate.hover();
        await gate.getByRole("button", { name: "Run Check" }).click();
      };
      const passed = check.filter({ hasText: "passed: 1 of 1 tests passed" });

      await shut.waitFor();
      await check.filter({ hasText: "untrusted" }).waitFor();
      await run();
      await workbench.dialog.getByText("tests/loan.test.mjs").first().waitFor();
      assert.match(await workbench.dialog.innerText(), /--test-reporter=junit/);
      const evidence = `${folder}/.phasekeeper/evidence/tests.json`;
      await assert.rejects(fs.access(evidence));
      const progress = workbench.toast("Checks: tests").waitFor();
      await workbench.dialog.getByRole("button", { name: "Allow" }).click();
      await progress;
      await workbench.toast("tests: passed, 1 of 1 tests passed").waitFor();
      await open.waitFor();
      await passed.waitFor();
      const result = await fs.readFile(evidence, "utf8");

      await workbench.openFile("loan.mjs");
      const line = page.locator(".editor-instance .view-line", { hasText: "day + 21" });
      const changed = line.filter({ hasText: "day + 210" });
      await line.click();
      await page.screenshot({ path: picture("a-gate-that-tests-opened") });
      await page.keyboard.press("End");
      await page.keyboard.type("0");
      await changed.waitFor();
      await page.keyboard.press("Control+S");
      await shut.waitFor();
      await check.filter({ hasText: "stale: src/loan.mjs changed since it ran" }).waitFor();
      await page.screenshot({ path: picture("a-gate-that-a-save-shut") });

      await page.keyboard.press("Control+Z");
      await changed.waitFor({ state: "hidden" });
      await page.keyboard.press("Control+S");
      await open.waitFor();
      await passed.waitFor();
      assert.equal(await fs.readFile(evidence, "utf8"), result);

      // What was allowed once is not asked again, and what is fresh is not run again.
      await run();
      await workbench.toast("nothing changed since it ran").waitFor();
      assert.equal(await workbench.dialog.count(), 0);
      assert.equal(await fs.readFile(evidence, "utf8"), result);
    },

  "repositories of ten conventions show their next steps, with no file of ours": async ({ workbench, page, rig }) => {
    const at = ([name]) => path.join(rig.folder, name);
    for (const [name] of CONVENTIONS) await convention(at([name]), name);
    const workspace = path.join(rig.folder, "ten.code-workspace");
    await fs.writeFile(workspace, JSON.stringify({ folders: CONVENTIONS.map((each) => ({ path: at(each) })) }));
    await openWorkspace(workbench, page, workspace, "agent-os");
    for (const [name, title, step] of CONVENTIONS) {
      await workbench.row("Runs", title).waitFor();
      const steps = workbench.view("Next Steps").locator(".monaco-list-row", { hasText: step });
      await steps.filter({ hasText: title }).first().waitFor();
      await assert.rejects(fs.access(path.join(at([name]), ".phasekeeper")));
    }
    await page.screenshot({ path: picture("ten-conventions") });
  },

  "a run of another machine appears in the Fleet view, with both commits where clones differ, and servers that are lost":
    async ({ workbench, page, rig, python }) => {
      const machines = await fleet(rig, python);
      await workbench.open(machines.folder);
      await workbench.showSidebar();
      // The other views give way: a person has them shut as well.
      for (const name of ["Waiting for You", "Runs", "Next Steps"]) await workbench.shut(name);
      const fees = workbench.row("Fleet", "Charge a fee");
      await fees.filter({ hasText: "this machine" }).waitFor();
      await machines.begin();
      await fees.filter({ hasText: "2 machines" }).waitFor();
      await machines.change();
      await fees.filter({ hasText: "clones differ" }).waitFor();
      await workbench.expand(fees);
      const [own, others] = await machines.commits();
      const [one, other] = [`${own} ≠ ${others}`, `${others} ≠ ${own}`];
      await workbench.row("Fleet", one).or(workbench.row("Fleet", other)).waitFor();
      await workbench.row("Fleet", "Planning").filter({ hasText: "ann-laptop" }).waitFor();
      await workbench.expand(workbench.row("Fleet", "Import the old catalogue"));
      await workbench.row("Fleet", "waits for you").waitFor();
      for (const name of ["one", "other"]) {
        await page.screenshot({ path: picture(`the-fleet-in-${name}-theme`) });
        const isDark = await page.locator(".monaco-workbench.vs-dark").isVisible();
        await workbench.command("Preferences: Toggle between Light/Dark Themes");
        await page.locator(`.monaco-workbench.${isDark ? "vs" : "vs-dark"}`).waitFor();
      }
      machines.lose();
      await workbench.view("Fleet").getByText("Out of reach since").waitFor();
      await fees.filter({ hasText: "clones differ" }).waitFor();
      await page.screenshot({ path: picture("the-fleet-out-of-reach") });
      await machines.serve();
      await workbench.view("Fleet").getByText("Out of reach since").waitFor({ state: "hidden" });
    },
};

const picture = (name) => new URL(`../../test-output/${name}.png`, import.meta.url).pathname;

/** Runs in the page: what contrast each colour of rows has to the sidebar; 0 is one that the theme does not have. */
function rowColours() {
  const style = getComputedStyle(document.querySelector(".monaco-workbench"));
  const luminance = (name) => {
    const parts = /^#(..)(..)(..)$/.exec(style.getPropertyValue(`--vscode-${name}`).trim());
    if (!parts) return undefined;
    const [red, green, blue] = parts.slice(1).map((part) => ((parseInt(part, 16) / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const behind = luminance("sideBar-background");
  const contrast = (one) => (one === undefined ? 0 : (Math.max(one, behind) + 0.05) / (Math.min(one, behind) + 0.05));
  return Object.fromEntries(
    ["good", "bad", "asked", "faint", "now"].map((name) => [name, contrast(luminance(`phasekeeper-${name}`))]),
  );
}

/** Runs in the graph: whether an element's line is drawn as the theme draws borders in high contrast. */
function isBordered(element) {
  const border = getComputedStyle(document.documentElement).getPropertyValue("--vscode-contrastBorder");
  const probe = document.createElement("i");
  probe.style.forcedColorAdjust = "none";
  probe.style.color = border;
  document.body.append(probe);
  const wanted = getComputedStyle(probe).color;
  probe.remove();
  return border !== "" && getComputedStyle(element).stroke === wanted;
}

/** Runs in the page: whether the workbench's storage has the page of a run, on its graph. */
async function keptGraph() {
  const done = (request) =>
    new Promise((resolve, reject) =>
      Object.assign(request, { onsuccess: () => resolve(request.result), onerror: reject }),
    );
  for (const { name } of await indexedDB.databases()) {
    const database = await done(indexedDB.open(name));
    const stores = [...database.objectStoreNames];
    const values = await Promise.all(
      stores.map((store) => done(database.transaction(store).objectStore(store).getAll())),
    );
    database.close();
    if (
      values
        .flat()
        .some((value) => /phasekeeper\.page.*run[\\":]+[^"]*late-fees[\\":,]+tab[\\":]+graph/.test(String(value)))
    )
      return true;
  }
  return false;
}

/**
 * Open a workspace of several folders, of which one is a row. A workbench on a busy machine may open a workspace that
 * it has never seen as one without folders, and keep to that.
 */
async function openWorkspace(workbench, page, file, folder) {
  await workbench.open(file);
  await workbench.showSidebar();
  const [first, none] = [workbench.row("Runs", folder), workbench.view("Runs").getByText("Open a folder to see")];
  await first.or(none).first().waitFor();
  if (await none.isVisible()) {
    await page.reload();
    await workbench.showSidebar();
    await first.waitFor();
  }
}

/** The path, once there is a folder for it. */
async function inside(file) {
  await fs.mkdir(path.dirname(file), { recursive: true });
  return file;
}

/** A new title of a task is in the tree at once. */
async function alive(workbench, folder, title) {
  const file = `${folder}/.ai-tools-chain/tasks/quiet-hours/state.json`;
  const state = JSON.parse(await fs.readFile(file, "utf8"));
  await fs.writeFile(file, JSON.stringify({ ...state, title }));
  await workbench.row("Runs", title).waitFor();
}

/** What the extension's output says, of all windows so far. */
async function log(rig) {
  const logs = path.join(rig.data, "logs");
  const names = (await fs.readdir(logs, { recursive: true })).filter((name) => name.endsWith("Phasekeeper.log"));
  return (await Promise.all(names.map((name) => fs.readFile(path.join(logs, name), "utf8")))).join("\n");
}

/** Those of the servers that a window has started: a connection each. */
const connectors = (rig) => servers(rig, "lsp");
