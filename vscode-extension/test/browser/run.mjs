/** The page in a real browser, as a person uses it. Each step leaves a picture in test-output/. */

import assert from "node:assert/strict";
import fs from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { BOUND_MS, openBrowser } from "../workbench/rig.mjs";
import { makeScene, RUN, serve } from "./scene.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const output = path.resolve(here, "../../test-output");
const python = process.env.PHASEKEEPER_PYTHON ?? path.resolve(here, "../../../.venv/bin/python");
await fs.mkdir(output, { recursive: true });

const scene = await makeScene(python);
const hostile = "<img src=x onerror=alert(1)>\u202e";
await scene.put(
  ".ai-tools-chain/tasks/late-fees/state.json",
  JSON.stringify({ phase: "review", title: hostile, goal: hostile }),
);
const server = await serve(scene);
const { browser, page } = await openBrowser();
const complaints = [];
page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
page.on("pageerror", (error) => complaints.push(error.message));
const asked = [];
page.on("request", (request) => asked.push(request.url()));

const place = (run, tab) =>
  `${server.origin}/#${new URLSearchParams({ root: scene.folder, run, ...(tab && { tab }) })}`;
const tab = (name) => page.getByRole("tab", { name });
const show = async (name) => {
  await tab(name).click();
  await page.locator(`.panel.${name.toLowerCase()}`).waitFor();
};

const steps = {
  "the link lets a browser in once, and is no part of its address any more": async () => {
    await page.goto(server.link);
    await page.getByRole("heading", { level: 1 }).first().waitFor();
    assert.ok(!page.url().includes(new URL(server.link).hash.slice(1)));
    const [cookie] = await page.context().cookies(`${server.origin}/page/runs`);
    assert.ok(cookie.httpOnly && cookie.sameSite === "Strict");
    const other = await browser.newContext();
    const second = await other.newPage();
    await second.goto(server.link);
    await second.getByText("has not been let in yet").waitFor();
    await second.getByLabel("Token").fill("wrong");
    await second.getByRole("button", { name: "Let me in" }).click();
    await second.getByText("This lets nobody in.").waitFor();
    const token = await fs.readFile(path.join(scene.home, "state/phasekeeper/http.token"), "utf8");
    await second.getByLabel("Token").fill(token);
    await second.getByRole("button", { name: "Let me in" }).click();
    await second.getByRole("tab", { name: "Board" }).waitFor();
    await other.close();
    // What the browser says of the answer 401 is no fault of the page.
    complaints.length = 0;
  },

  "the question stands beside its reports, and each option says what it leads to": async () => {
    await page.goto(place(RUN));
    await page.getByRole("heading", { name: "4b failed 3 times in stage 2. How to go on?" }).waitFor();
    const options = page.locator(".option");
    assert.equal(await options.count(), 3);
    assert.match(await options.first().textContent(), /Try as many times again.*next "Failure analysis" \(F1\)/);
    await page.locator(".documents .prose table").waitFor();
    assert.match(await page.locator(".documents").textContent(), /the page number is missing/);
  },

  "a person gets the command that decides, with the option and the reason, and nothing else": async () => {
    assert.equal(await page.getByRole("button", { name: /^Decide/ }).count(), 0);
    await page.getByRole("radio").first().check();
    const copy = page.locator(".command button");
    assert.ok(await copy.isDisabled());
    await page.getByRole("textbox", { name: "Reason" }).fill("It's a one-line fix");
    const line = await page.locator(".command code").textContent();
    assert.ok(line.startsWith(`phasekeeper answer ${RUN} fix_iterations:2 retry --root ${scene.folder} --reason `));
    assert.ok(line.endsWith(`'It'"'"'s a one-line fix'`));
    await copy.click();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), line);
  },

  "a change of another file comes at once, and what was typed stays": async () => {
    await page.getByRole("textbox", { name: "Reason" }).focus();
    await scene.put(`${RUN}/04-export.md`, "# A list as a PDF file, printed\n");
    const loop = JSON.parse(await fs.readFile(path.join(scene.folder, ".claude/state/loop.state.json"), "utf8"));
    const queue = loop.workQueue.map((item) => ({ ...item, status: "done" }));
    await scene.put(".claude/state/loop.state.json", JSON.stringify({ ...loop, workQueue: queue }));
    await page.getByText("1 of 7 runs waits for a person").waitFor();
    const reason = page.getByRole("textbox", { name: "Reason" });
    assert.equal(await reason.inputValue(), "It's a one-line fix");
    assert.ok(await reason.evaluate((field) => field === document.activeElement));
    assert.ok(await page.getByRole("radio").first().isChecked());
  },

  "the board has tasks by state and by stage": async () => {
    await show("Board");
    await page.getByRole("region", { name: /^Done: 2 tasks/ }).waitFor();
    await page.getByRole("button", { name: "By stage" }).click();
    await page.getByText("0 of 4 done").waitFor();
    assert.equal(await page.locator(".task").count(), 6);
  },

  "the timeline says what an attempt changed since the one before": async () => {
    await show("Timeline");
    const third = page.locator(".timeline > li", { hasText: "attempt 3" });
    await third.getByText("What is different since attempt 2").click();
    await third.locator(".remove", { hasText: "two lines are cut off" }).waitFor();
    await third.locator(".add", { hasText: "the page number is missing" }).waitFor();
    assert.ok((await page.locator("time").first().getAttribute("title")).length > 0);
  },

  "the graph is fitted and zoomed, and its gates say what they ask for, with the keyboard alone": async () => {
    await show("Graph");
    const width = () => page.locator("#graph svg").evaluate((svg) => svg.getBoundingClientRect().width);
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.locator(".phase.current").waitFor();
    const before = await width();
    await page.getByRole("button", { name: "Fit the graph into the window" }).click();
    const fitted = await page.locator("#graph").evaluate((box) => box.scrollHeight <= box.clientHeight);
    assert.ok(fitted && (await width()) < before);
    await page.locator(".phase.current").focus();
    await page.keyboard.press("+");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.locator(".gate.chosen.failed").waitFor();
    assert.equal(
      await page.locator(":focus").getAttribute("data-id"),
      await page.locator(".gate.chosen").getAttribute("data-id"),
    );
    await page.locator("#side .criteria", { hasText: "4b reports PASS" }).waitFor();
  },

  "the tabs are walked with arrow keys, and say which is chosen": async () => {
    await tab("Graph").focus();
    await page.keyboard.press("ArrowRight");
    await page.getByRole("tab", { name: "Decide", selected: true }).waitFor();
    assert.equal(await page.locator(":focus").getAttribute("id"), "tab-decide");
    await page.keyboard.press("End");
    await page.getByRole("tab", { name: "Graph", selected: true }).waitFor();
    assert.match(page.url(), /tab=graph/);
  },

  "text of files is text, with what is unseen made visible": async () => {
    await page.goto(place(".ai-tools-chain/tasks/late-fees", "decide"));
    await page.locator("header.run h1", { hasText: "onerror=alert(1)>\\u{202e}" }).waitFor();
    assert.equal(await page.locator("#page img").count(), 0);
  },

  "nothing is wider than a narrow window, in light and in dark": async () => {
    for (const colorScheme of ["light", "dark"])
      for (const width of [320, 1200]) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height: 800 });
        for (const name of ["Decide", "Board", "Timeline", "Graph"]) {
          await page.goto(place(RUN, name.toLowerCase()));
          await page.locator(`.panel.${name.toLowerCase()}`).waitFor();
          const wide = await page.evaluate(() => document.scrollingElement.scrollWidth - window.innerWidth);
          assert.ok(wide <= 0, `${name} is ${wide} px too wide for ${width} px`);
          await page.screenshot({ path: path.join(output, `page-${name.toLowerCase()}-${colorScheme}-${width}.png`) });
        }
        const contrast = await page.evaluate(contrastOf, "p.facts");
        assert.ok(contrast >= 4.5, `faint text has a contrast of ${contrast} in ${colorScheme}`);
      }
    await page.setViewportSize({ width: 1200, height: 900 });
  },

  "a decision on a terminal is on the timeline with its reason, and the question is gone": async () => {
    await page.goto(place(RUN, "decide"));
    await page.getByRole("heading", { name: "4b failed 3 times in stage 2. How to go on?" }).waitFor();
    await scene.decide(RUN, "fix_iterations:2", "retry", "It is a one-line fix");
    await page.getByText("Nothing waits for a person").waitFor();
    await show("Timeline");
    const decided = page.locator(".timeline > li.decided").first();
    await decided.getByText("Answered: retry").waitFor();
    await decided.locator("blockquote", { hasText: "It is a one-line fix" }).waitFor();
  },

  "nothing is loaded from elsewhere, and no rule of the page is broken": () => {
    assert.deepEqual(
      asked.filter((url) => !url.startsWith(server.origin)),
      [],
    );
    assert.deepEqual(complaints, []);
  },

  "a server that ended is said to be gone, and what was shown stays": async () => {
    await server.end();
    await page.getByText("The server does not answer.").waitFor();
    assert.ok(await page.locator("header.run h1").isVisible());
  },
};

/** Runs in the page: how far the text of an element stands out from the page, as WCAG 2.2 defines it. */
function contrastOf(selector) {
  const parts = (colour) =>
    colour
      .match(/[\d.]+/g)
      .slice(0, 3)
      .map(Number);
  const luminance = (colour) => {
    const [red, green, blue] = parts(colour).map((part) =>
      part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4,
    );
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const text = luminance(getComputedStyle(document.querySelector(selector)).color);
  const back = luminance(getComputedStyle(document.body).backgroundColor);
  return (Math.max(text, back) + 0.05) / (Math.min(text, back) + 0.05);
}

let failures = 0;
try {
  page.setDefaultTimeout(Math.min(BOUND_MS, 60_000));
  for (const [name, step] of Object.entries(steps)) {
    let error;
    try {
      await step();
    } catch (thrown) {
      error = thrown;
    }
    console.log(`${error ? "FAILED" : "ok    "} ${name}`);
    if (error) console.log(error.stack);
    const picture = `page-${name.replaceAll(/[^a-z0-9]+/gi, "-")}${error ? ".FAILED" : ""}.png`;
    await page.screenshot({ path: path.join(output, picture) });
    failures += error ? 1 : 0;
    if (error && !process.env.KEEP_GOING) break;
  }
} finally {
  await browser.close();
  await server.end();
  await fs.rm(scene.home, { recursive: true, force: true });
}
assert.equal(failures, 0);
