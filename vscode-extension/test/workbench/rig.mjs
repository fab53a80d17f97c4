/** A throw-away VS Code workbench (code-server) with the packaged extension in it, and a browser on it. */

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs/promises";
import { openSync } from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { chromium } from "playwright-core";

const RIG = process.env.RIG ?? path.join(os.homedir(), ".cache", "phasekeeper-rig");
const NODE = path.join(RIG, "node24/package/bin/node");
const ENTRY = path.join(RIG, "cs/node_modules/code-server/out/node/entry.js");
export const BOUND_MS = Number(process.env.BOUND_MS ?? 90_000);

// Everything that would move, ask, fetch or cover the window.
const QUIET = {
  "security.workspace.trust.enabled": true,
  "security.workspace.trust.startupPrompt": "never",
  "security.workspace.trust.banner": "never",
  "workbench.startupEditor": "none",
  "workbench.tips.enabled": false,
  "workbench.enableExperiments": false,
  "workbench.reduceMotion": "on",
  "workbench.editor.enablePreview": false,
  "workbench.editor.useModal": "off",
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "workbench.welcomePage.walkthroughs.openOnInstall": false,
  "telemetry.telemetryLevel": "off",
  "update.mode": "none",
  "extensions.autoCheckUpdates": false,
  "extensions.autoUpdate": false,
  "extensions.ignoreRecommendations": true,
  "chat.disableAIFeatures": true,
  "chat.commandCenter.enabled": false,
  "git.enabled": false,
  "editor.minimap.enabled": false,
  "editor.cursorBlinking": "solid",
  "files.hotExit": "off",
  "window.restoreWindows": "none",
  "window.menuBarVisibility": "compact",
};

/** A port that was free a moment ago. */
async function freePort() {
  const server = net.createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  return port;
}

/**
 * Start the server. `machine` are settings that name programs; a served workbench takes them from a file of
 * its own. `folder` is the home of all that is written: settings, extensions, the decision key, the hub's
 * socket.
 */
export async function startWorkbench({ vsix, machine = {}, user = {}, environment = {} }) {
  // Sockets have short names.
  const folder = await fs.mkdtemp(path.join(os.tmpdir(), "pk-"));
  const data = path.join(folder, "data");
  const runtime = path.join(folder, "run");
  for (const created of [path.join(data, "User"), path.join(data, "Machine"), path.join(folder, "extensions")])
    await fs.mkdir(created, { recursive: true });
  await fs.mkdir(runtime, { mode: 0o700 });
  await fs.writeFile(path.join(data, "User/settings.json"), JSON.stringify({ ...QUIET, ...user }));
  await fs.writeFile(path.join(data, "Machine/settings.json"), JSON.stringify(machine));
  await fs.writeFile(path.join(folder, "config.yaml"), "");
  const common = [
    "--config",
    path.join(folder, "config.yaml"),
    "--user-data-dir",
    data,
    "--extensions-dir",
    path.join(folder, "extensions"),
  ];
  const env = {
    ...process.env,
    HOME: folder,
    XDG_RUNTIME_DIR: runtime,
    XDG_STATE_HOME: path.join(folder, "state"),
    ...environment,
  };
  for (const name of ["VSCODE_IPC_HOOK_CLI", "XDG_CONFIG_HOME", "XDG_DATA_HOME"]) delete env[name];
  await promisify(execFile)(NODE, [ENTRY, ...common, "--install-extension", vsix, "--force"], { env });
  const rig = { folder, data };
  let server;
  /** Serve the workbench; once more with other options when it is served already. */
  rig.serve = async (...options) => {
    if (server) process.kill(-server.pid, "SIGKILL");
    const port = await freePort();
    rig.authority = `127.0.0.1:${port}`;
    rig.address = `http://${rig.authority}`;
    const log = openSync(path.join(folder, "server.log"), "a");
    const words = ["--bind-addr", rig.authority, "--auth", "none", "--disable-telemetry", "--disable-update-check"];
    const quiet = ["--disable-getting-started-override", "--disable-file-downloads", "--ignore-last-opened"];
    const how = { env, stdio: ["ignore", log, log], detached: true };
    server = spawn(NODE, [ENTRY, ...common, ...words, ...quiet, ...options], how);
    await until(async () => (await fetch(`${rig.address}/healthz`).catch(() => undefined))?.ok, "code-server listens");
  };
  rig.stop = async () => {
    // The group: an extension host outlives its server.
    process.kill(-server.pid, "SIGKILL");
    await endOthers(folder);
    await fs.rm(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  await rig.serve();
  return rig;
}

/** Ends what was started out of this home and stays: the language server that all editors of a user share. */
async function endOthers(folder) {
  for (const name of await fs.readdir("/proc")) {
    const environment = /^\d+$/.test(name) ? await fs.readFile(`/proc/${name}/environ`, "utf8").catch(() => "") : "";
    if (environment.split("\0").includes(`HOME=${folder}`)) process.kill(Number(name), "SIGKILL");
  }
}

/** Processes of this home that serve the editor. */
export async function servers(rig, how = "phasekeeper") {
  const found = [];
  for (const name of (await fs.readdir("/proc")).filter((entry) => /^\d+$/.test(entry))) {
    const environment = await fs.readFile(`/proc/${name}/environ`, "utf8").catch(() => "");
    const words = (await fs.readFile(`/proc/${name}/cmdline`, "utf8").catch(() => "")).split("\0");
    if (environment.split("\0").includes(`HOME=${rig.folder}`) && words.includes("phasekeeper") && words.includes(how))
      found.push(Number(name));
  }
  return found;
}

export async function openBrowser() {
  const flags = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
  ];
  const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
  const browser = await chromium.launch({ executablePath, headless: true, args: flags });
  const context = await browser.newContext({
    // Tall, since trees draw only the rows that can be seen.
    viewport: { width: 1280, height: 1500 },
    locale: "en-US",
    permissions: ["clipboard-read", "clipboard-write"],
    reducedMotion: "reduce",
  });
  const page = await context.newPage();
  page.setDefaultTimeout(BOUND_MS);
  return { browser, context, page };
}

/** Wait until something holds, at most BOUND_MS; its value. */
export async function until(holds, what) {
  const end = Date.now() + BOUND_MS;
  for (;;) {
    const value = await holds();
    if (value) return value;
    if (Date.now() > end) throw new Error(`it did not come to this: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Act again until `shows` does: a key press is lost while the workbench moves its focus or draws. */
export async function press(shows, act) {
  for (let tries = 1; ; tries++) {
    await act();
    try {
      return await shows.waitFor({ timeout: 5000 });
    } catch (error) {
      if (tries === 8) throw error;
    }
  }
}
