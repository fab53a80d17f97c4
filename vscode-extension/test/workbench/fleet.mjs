/** Two machines of a fleet: the rig's own, and one with folders and a clone of its own, each with a real server. */

import { execFileSync, spawn } from "node:child_process";
import fs from "node:fs/promises";
import path from "node:path";
import { until } from "./rig.mjs";

const OTHER = "ann-laptop";
const STATE = ".ai-tools-chain/tasks/late-fees/state.json";

/** Set the fleet up and join it on both machines; the other one tells of its clone once it is let `begin`. */
export async function fleet(rig, python) {
  const home = path.join(rig.folder, "fleet");
  const [folder, clone] = [path.join(home, "library"), path.join(home, "clone")];
  const words = ["-I", "-m", "phasekeeper"];
  const own = { ...process.env, HOME: rig.folder, XDG_STATE_HOME: path.join(rig.folder, "state") };
  const theirs = { ...own, XDG_STATE_HOME: path.join(home, "state"), XDG_RUNTIME_DIR: path.join(home, "run") };
  for (const made of [theirs.XDG_STATE_HOME, theirs.XDG_RUNTIME_DIR])
    await fs.mkdir(made, { recursive: true, mode: 0o700 });
  const port = String(20_000 + (process.pid % 20_000));
  let serving;
  const said = [];

  const git = (where, ...rest) =>
    execFileSync("git", ["-c", "user.name=ann", "-c", "user.email=ann@example.org", ...rest], { cwd: where, env: own });
  const head = (where) => git(where, "rev-parse", "HEAD").toString().slice(0, 7);
  const serve = async () => {
    said.length = 0;
    const options = ["fleet", "up", "--project", "library", "--port", port, "--as", "desk", "--member", OTHER];
    serving = spawn(python, [...words, ...options], { env: own, detached: true });
    serving.stdout.on("data", (text) => said.push(String(text)));
    serving.stderr.on("data", (text) => said.push(String(text)));
    await until(() => said.join("").includes("is served at"), "the fleet is served");
  };

  execFileSync(python, [...words, "demo", folder], { env: own });
  await fs.appendFile(`${folder}/.phasekeeper/config.yaml`, "fleet: {project: library, share: full}\n");
  git(folder, "init", "--quiet");
  git(folder, "add", "--all");
  git(folder, "commit", "--quiet", "--message", "The library");
  git(home, "clone", "--quiet", folder, clone);
  await serve();
  const key = path.join(own.XDG_STATE_HOME, "phasekeeper/fleet/members/library", `${OTHER}.nk`);
  const join = ["fleet", "join", `nats://127.0.0.1:${port}`, "--project", "library", "--nkey", key];
  execFileSync(python, [...words, ...join], { env: theirs, cwd: clone });

  return {
    folder,
    serve,
    begin() {
      const server = spawn(python, [...words, "serve", clone], { env: theirs, cwd: clone });
      for (const stream of [server.stdout, server.stderr]) stream.resume();
    },
    /** The other machine begins a run anew, and commits that. */
    async change() {
      const file = path.join(clone, STATE);
      const state = JSON.parse(await fs.readFile(file, "utf8"));
      await fs.writeFile(file, JSON.stringify({ ...state, phase: "planning" }));
      git(clone, "commit", "--quiet", "--all", "--message", "Plan again");
      await fs.appendFile(file, "\n");
    },
    commits: () => [head(folder), head(clone)],
    /** End the servers of the fleet, all at once. */
    lose: () => process.kill(-serving.pid, "SIGKILL"),
  };
}
