/** What a person sees and does in the workbench, by name. */

import { press } from "./rig.mjs";

export class Workbench {
  constructor(page, rig) {
    this.page = page;
    this.rig = rig;
  }

  /** Open a folder, or a workspace of several by its file. */
  async open(place) {
    const kind = place.endsWith(".code-workspace") ? "workspace" : "folder";
    await this.page.goto(`${this.rig.address}/?${kind}=${encodeURIComponent(place)}`);
    await this.page.locator(".monaco-workbench .activitybar").waitFor();
  }

  /** The tower in the activity bar. */
  get tower() {
    return this.page.locator('.activitybar .action-item:has(a[aria-label^="Phasekeeper"])').first();
  }

  async showSidebar() {
    const pane = this.view("Runs");
    await press(pane, async () => {
      // The badge covers the icon and belongs to the same item, which takes the click.
      if (!(await pane.isVisible())) await this.tower.click();
    });
  }

  /** Grant trust in the editor for it, which is open. */
  async trust() {
    await this.page.locator(".workspace-trust-editor").getByRole("button", { name: "Trust", exact: true }).click();
    await this.page.locator(".statusbar-item", { hasText: "Restricted Mode" }).waitFor({ state: "hidden" });
    await this.command("View: Close All Editors");
    await this.page.locator(".workspace-trust-editor").waitFor({ state: "hidden" });
  }

  view(name) {
    return this.page.locator(".pane", {
      has: this.page.locator(".pane-header", { hasText: new RegExp(`^${name}$`, "i") }),
    });
  }

  /** Shut a view, down to its header. */
  async shut(name) {
    const header = this.view(name).locator(".pane-header");
    if ((await header.getAttribute("aria-expanded")) === "true") await header.click();
    await header.and(this.page.locator('[aria-expanded="false"]')).waitFor();
  }

  row(view, text) {
    return this.view(view).locator(".monaco-list-row", { hasText: text }).first();
  }

  /**
   * Press a button of a row below another one, once more where nothing is shown: VS Code does not know such a row
   * for a moment while the one above it is drawn anew.
   */
  async pressInRow(row, button, shows) {
    await press(shows, async () => {
      await row.hover();
      await row.getByRole("button", { name: button }).click();
    });
  }

  async expand(row) {
    if ((await row.getAttribute("aria-expanded")) !== "true") await row.locator(".monaco-tl-twistie").click();
    await row.and(this.page.locator('[aria-expanded="true"]')).waitFor();
  }

  async collapse(row) {
    if ((await row.getAttribute("aria-expanded")) === "true") await row.locator(".monaco-tl-twistie").click();
  }

  /** Reads "" while nothing waits. */
  async badge() {
    const badge = this.tower.locator(".badge-content");
    return (await badge.count()) ? (await badge.textContent()).trim() : "";
  }

  get status() {
    return this.page.locator('.statusbar-item[id="phasekeeper.phasekeeper.phasekeeper.status"]');
  }

  async command(title) {
    const box = this.page.locator('.quick-input-widget input[type="text"]').first();
    await press(box, () => this.page.keyboard.press("F1"));
    await box.fill(`>${title}`);
    await this.page.locator(".quick-input-list .monaco-list-row", { hasText: title }).first().click();
  }

  /** The titles of commands that the palette offers. */
  async offered(title) {
    const box = this.page.locator('.quick-input-widget input[type="text"]').first();
    await press(box, () => this.page.keyboard.press("F1"));
    await box.fill(`>${title}`);
    const rows = this.page.locator(".quick-input-list .monaco-list-row");
    await rows.first().waitFor();
    const titles = await rows.evaluateAll((all) => all.map((row) => row.getAttribute("aria-label")));
    await this.page.keyboard.press("Escape");
    return titles;
  }

  /** Choose from a list that the palette shows. */
  async pick(...texts) {
    for (const text of texts)
      await this.page.locator(".quick-input-list .monaco-list-row", { hasText: text }).first().click();
  }

  /** Answer what is asked for in a box; `prompt` tells it from the box of the question before. */
  async type(text, prompt = "") {
    if (prompt) await this.page.locator(".quick-input-message", { hasText: prompt }).waitFor();
    const box = this.page.locator('.quick-input-widget input[type="text"]').first();
    await box.waitFor();
    await box.fill(text);
    await box.press("Enter");
  }

  get dialog() {
    return this.page.locator(".monaco-dialog-box");
  }

  toast(text) {
    return this.page.locator(".notification-toast", { hasText: text }).first();
  }

  /** Open a file of the folder by its name. */
  async openFile(name) {
    const tab = this.page.locator(".tab.active", { hasText: name });
    await press(tab, async () => {
      const box = this.page.locator('.quick-input-widget input[type="text"]').first();
      await press(box, () => this.page.keyboard.press("Control+P"));
      await box.fill(name);
      await this.page.locator(".quick-input-list .monaco-list-row", { hasText: name }).first().click();
    });
  }

  /** Put a text in place of what the active editor holds, and save it. */
  async write(text) {
    const editor = this.page.locator(".editor-instance .monaco-editor").first();
    await editor.locator(".view-line").first().click();
    await this.page.keyboard.press("Control+A");
    await this.page.keyboard.insertText(text);
    await this.page.keyboard.press("Control+S");
    await this.page.locator(".tab.active:not(.dirty)").waitFor();
  }

  lens(text) {
    return this.page.locator(".codelens-decoration a", { hasText: text }).first();
  }

  problem(text) {
    return this.page.locator(".markers-panel .monaco-list-row", { hasText: text }).first();
  }

  /** The page of a run. */
  get runPage() {
    return this.page.frameLocator("iframe.webview.ready").frameLocator("iframe#active-frame");
  }
}
