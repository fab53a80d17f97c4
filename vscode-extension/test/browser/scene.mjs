/** A folder with the demo's runs, in which a quality gate has failed three times, so that a person is asked. */

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { until } from "../workbench/rig.mjs";

export const RUN = ".orchestrator/tasks/reading-lists";

const failed = (round, evidence) => `## Phase Quality Gate: FAIL

**Phase**: 2 (Tasks 03-06)
**Iteration**: ${round} of 3
**Overall Status**: FAIL

| Task | Criterion | Status | Evidence |
|---|---|---|---|
| 03 | A shared link works without an account | ✅ | \`test_share_link\` |
| 04 | A list of 200 books fits on its pages | ❌ | \`test_long_list\`: ${evidence} |

### Fix Scope

Only tasks [04] require fixes.
`;

const ANALYSIS = `## Failure Analysis

**Phase**: 2
**Failed Gate**: 4b

### Root Cause

- Task 04: the footer grows with the title of the list.
`;

/** A home of its own, with the folder in it: how to run a command there, and how to serve it. */
export async function makeScene(python) {
  const home = await fs.mkdtemp(path.join(os.tmpdir(), "pk-"));
  const folder = path.join(home, "library");
  const runtime = path.join(home, "run");
  await fs.mkdir(runtime, { mode: 0o700 });
  const env = {
    ...process.env,
    HOME: home,
    XDG_RUNTIME_DIR: runtime,
    XDG_STATE_HOME: path.join(home, "state"),
    XDG_CACHE_HOME: path.join(home, "cache"),
    GIT_AUTHOR_NAME: "Ada",
    GIT_AUTHOR_EMAIL: "ada@example.org",
  };
  const command = (...words) =>
    execFileSync(python, ["-I", "-m", "phasekeeper", ...words], { cwd: home, env, encoding: "utf8" });
  /** A person's decision, on a terminal, where the name of the run is typed. */
  const decide = async (run, question, option, reason) => {
    const words = ["-I", "-m", "phasekeeper", "answer", run, question, option, "--reason", reason, "--root", folder];
    const terminal = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)";
    const process = spawn(python, ["-c", terminal, python, ...words], { cwd: home, env });
    let said = "";
    process.stdout.on("data", (part) => (said += part));
    await until(() => /type/i.test(said), "the run's name is to be typed");
    process.stdin.write(`${run}\n`);
    const [code] = await once(process, "exit");
    if (code !== 0) throw new Error(`${code}: ${said}`);
  };
  command("demo", folder);
  const put = async (name, text) => {
    const file = path.join(folder, name);
    await fs.mkdir(path.dirname(file), { recursive: true });
    await fs.writeFile(file, text);
  };
  const fixed = async (number, words, ...tasks) => {
    for (const file of ["share", "export"]) await put(`lists/${file}.py`, `# round ${number}\n`);
    const named = tasks.flatMap((task) => ["--task", task]);
    command("report", RUN, "F2", "complete", ...named, "--summary", words, "--root", folder);
  };
  await fixed(1, "The token is read before the session.", "reading-lists-03", "reading-lists-04");
  await put(`${RUN}/reports/09-4b-phase-2.md`, failed(2, "two lines are cut off"));
  command("next", "--run", RUN, "--root", folder);
  await put(`${RUN}/reports/10-F1-phase-2.md`, ANALYSIS);
  await fixed(2, "The page height is measured, not assumed.", "reading-lists-04");
  await put(`${RUN}/reports/11-4b-phase-2.md`, failed(3, "the page number is missing"));
  return { home, folder, env, command, put, python, decide };
}

/** Serve the folder; the address with its ticket, and how to end the server. */
export async function serve({ home, folder, env, python }) {
  const words = ["-I", "-m", "phasekeeper", "serve", "--standalone", "--http", "0", folder];
  const server = spawn(python, words, { cwd: home, env, stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  server.stdout.on("data", (part) => (said += part));
  const link = await until(() => /let in once: (\S+)\n/.exec(said)?.[1], "the server says where a browser is let in");
  const end = async () => {
    if (server.exitCode !== null) return;
    server.kill("SIGINT");
    await new Promise((resolve) => server.once("exit", resolve));
  };
  return { link, origin: new URL(link).origin, end };
}
