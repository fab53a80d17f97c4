import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import manifest from "../../package.json";
import { withPictures } from "../../readme.mjs";

const text = (name: string): string => readFileSync(new URL(`../../${name}`, import.meta.url), "utf8");
const settings: Record<string, { scope: string }> = manifest.contributes.configuration.properties;

test("a setting that names a program is the machine's, and never taken from a workspace without trust", () => {
  const programs = Object.keys(settings).filter((name) => /python|path|command|program/i.test(name));
  expect(programs).toEqual(["phasekeeper.python"]);
  expect(settings["phasekeeper.python"]!.scope).toBe("machine");
  expect(manifest.capabilities.untrustedWorkspaces).toMatchObject({
    supported: "limited",
    restrictedConfigurations: programs,
  });
});

test("every setting stands in the README", () => {
  for (const name of Object.keys(settings)) expect(text("README.md")).toContain(`| \`${name}\` |`);
});

test("what a menu or a welcome calls is a command of ours or of the editor", () => {
  const ours = new Set(manifest.contributes.commands.map(({ command }) => command));
  const called = [
    ...Object.values(manifest.contributes.menus).flatMap((entries) => entries.map((entry) => entry.command)),
    ...[
      ...manifest.contributes.viewsWelcome.map(({ contents }) => contents),
      ...manifest.contributes.walkthroughs.flatMap(({ steps }) => steps.map(({ description }) => description)),
    ].flatMap((text) => [...text.matchAll(/command:([\w.]+)/g)].map((match) => match[1]!)),
  ];
  const known = ["vscode.openFolder", "workbench.trust.manage"];
  expect(called.filter((name) => !ours.has(name) && !known.includes(name))).toEqual([]);
});

test("a walkthrough has words beside each step, and is done with a step by what it offers", () => {
  const ours = new Set(manifest.contributes.commands.map(({ command }) => command));
  for (const step of manifest.contributes.walkthroughs.flatMap(({ steps }) => steps)) {
    expect(text(step.media.markdown)).toMatch(/^# \w/);
    for (const event of step.completionEvents) {
      const [, command] = /^onCommand:(.+)$/.exec(event) ?? [];
      if (command && command !== "vscode.openFolder") expect(ours).toContain(command);
      if (command) expect(step.description).toContain(`(command:${command})`);
    }
  }
});

test("each schema for the editor's YAML extension is that of the server", () => {
  for (const { url } of manifest.contributes.yamlValidation) {
    const name = url.replace("./dist/", "");
    expect(JSON.parse(text(`../orchestration/schemas/${name}`))).toHaveProperty("$defs");
    expect(text("esbuild.mjs")).toContain(`"${name}"`);
    expect(text(".vscodeignore")).toContain("!dist/*.schema.json");
  }
});

test("no lock file names a host to fetch from", () => {
  expect(text("package-lock.json")).not.toMatch(/https?:\/\/[^"]*\.tgz|"resolved"/);
});

test("the page that is packaged holds its pictures, since none is shown by a relative path", async () => {
  const page = await withPictures(text("README.md"));
  expect(page.match(/!\[[^\]]+\]\(data:image\/png;base64,iVBOR/g)).toHaveLength(3);
  expect(page).not.toContain("](images/");
  expect(manifest.scripts.package).toContain("--readme-path dist/README.md");
});
