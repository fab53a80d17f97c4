import { expect, test } from "vitest";
import {
  candidates,
  describeServer,
  explainUnusable,
  findServer,
  interpreterInScript,
  pathFolders,
  pythonIn,
  type Machine,
  type SearchScope,
} from "../../src/server/discovery";

const machine = (files: Record<string, string>, over: Partial<Machine> = {}): Machine => ({
  platform: "linux",
  path: "/usr/bin:/home/me/.local/bin",
  isFile: (file) => file in files,
  read: (file) => files[file] ?? "",
  ...over,
});
const scope = (over: Partial<SearchScope> = {}): SearchScope => ({
  setting: "",
  own: "/store/venv",
  trusted: true,
  folders: ["/repo"],
  ...over,
});
const everything = {
  "/usr/bin/python3": "",
  "/usr/bin/python": "",
  "/home/me/.local/bin/phasekeeper": "#!/home/me/pipx/phasekeeper/bin/python\nimport sys\n",
  "/home/me/pipx/phasekeeper/bin/python": "",
  "/store/venv/bin/python": "",
  "/repo/.venv/bin/python": "",
};

test("the setting alone counts where there is one", () => {
  expect(candidates(scope({ setting: "/opt/py" }), machine({ ...everything, "/opt/py": "" }))).toEqual([
    { python: "/opt/py", from: "setting" },
  ]);
});

test.each([
  ["python3", "", "names python3, which is no absolute path."],
  ["/opt/gone", "", "names /opt/gone, which is no program that can be run."],
  [
    "/usr/bin/python3",
    "Traceback\n/usr/bin/python3: No module named phasekeeper\n",
    "does not run Phasekeeper: /usr/bin/python3: No module named phasekeeper",
  ],
  ["/usr/bin/python3", "", "names /usr/bin/python3, which does not run Phasekeeper."],
])("a setting of %j alone counts, and it is said why it is of no use", (setting, output, why) => {
  expect(candidates(scope({ setting }), machine(everything)).every((entry) => entry.from === "setting")).toBe(true);
  expect(explainUnusable(setting, machine(everything), output)).toContain(why);
});

test("what the setting names is never run unless it is an absolute path of a program", () => {
  const files = { ...everything, python3: "" };
  expect(candidates(scope({ setting: "python3" }), machine(files))).toEqual([]);
  expect(candidates(scope({ setting: "/opt/gone" }), machine(files))).toEqual([]);
});

test("PATH comes first, then the own installation, then a trusted workspace's environment", () => {
  expect(candidates(scope(), machine(everything)).map(({ python, from }) => [from, python])).toEqual([
    ["path", "/home/me/pipx/phasekeeper/bin/python"],
    ["path", "/usr/bin/python3"],
    ["own", "/store/venv/bin/python"],
    ["workspace", "/repo/.venv/bin/python"],
  ]);
});

test("nothing of a workspace that is not trusted is a candidate, not even by PATH or by a script that names it", () => {
  const files = {
    ...everything,
    "/repo/bin/python3": "",
    "/home/me/.local/bin/phasekeeper": "#!/repo/.venv/bin/python\n",
  };
  const server = candidates(
    scope({ trusted: false }),
    machine(files, { path: "/repo/bin:.:/usr/bin:/home/me/.local/bin" }),
  );
  expect(server.map((entry) => entry.python)).toEqual(["/usr/bin/python3", "/store/venv/bin/python"]);
});

test("relative folders of PATH never count", () => {
  expect(pathFolders(scope(), machine({}, { path: ".:bin:/usr/bin:" }))).toEqual(["/usr/bin"]);
});

test("on Windows launchers, backslashes and drives are understood", () => {
  const python = "C:\\Users\\me\\pipx\\Scripts\\python.exe";
  const files = {
    "C:\\bin\\phasekeeper.exe": `MZ..binary..#!"${python}"\r\nPK\u0003\u0004`,
    [python]: "",
    "C:\\repo\\.venv\\Scripts\\python.exe": "",
  };
  const windows = machine(files, { platform: "win32", path: "C:\\bin;C:\\repo\\tools" });
  expect(candidates(scope({ folders: ["C:\\repo"], own: "C:\\store\\venv" }), windows)).toEqual([
    { python, from: "path" },
    { python: "C:\\repo\\.venv\\Scripts\\python.exe", from: "workspace" },
  ]);
  expect(pathFolders({ trusted: false, folders: ["C:\\repo"] }, windows)).toEqual(["C:\\bin"]);
  expect(pythonIn("C:\\v", "win32")).toBe("C:\\v\\Scripts\\python.exe");
});

test("the interpreter of a script is read from its first line, by whatever way it is run", () => {
  expect(interpreterInScript("#!/a/bin/python3.12\n")).toBe("/a/bin/python3.12");
  expect(interpreterInScript("#!/bin/sh\n'''exec' \"/with blank/bin/python\" \"$0\" \"$@\"\n' '''\n")).toBe(
    "/with blank/bin/python",
  );
  expect(interpreterInScript("#!/bin/sh\n'''exec' /long/bin/python \"$0\" \"$@\"\n")).toBe("/long/bin/python");
  expect(interpreterInScript("#!/usr/bin/env python3\n")).toBeUndefined();
  expect(interpreterInScript("#!/bin/sh\necho hello\n")).toBeUndefined();
});

test("the first candidate that says its version is used, always isolated and as a module", async () => {
  const calls: string[] = [];
  const server = await findServer(candidates(scope(), machine(everything)), (python, args) => {
    calls.push([python, ...args].join(" "));
    return Promise.resolve(python === "/store/venv/bin/python" ? "phasekeeper 0.1.0\n" : undefined);
  });
  expect(server).toEqual({ python: "/store/venv/bin/python", from: "own", version: "0.1.0" });
  expect(calls[0]).toBe("/home/me/pipx/phasekeeper/bin/python -I -m phasekeeper --version");
  expect(describeServer(server!)).toBe(
    "Using Phasekeeper 0.1.0 of /store/venv/bin/python, this extension's own installation.",
  );
});

test("what says something else than a version is no server", async () => {
  expect(
    await findServer([{ python: "/p", from: "path" }], () => Promise.resolve("usage: phasekeeper")),
  ).toBeUndefined();
});
