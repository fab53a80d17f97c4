// Bundles the extension (one file for Node) and the page of a run (a script and a style sheet for its panel).
import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { build } from "esbuild";
import { pageBundle } from "./page-bundle.mjs";
import { withPictures } from "./readme.mjs";

const production = process.argv.includes("--production");
const common = { bundle: true, minify: production, sourcemap: !production, logLevel: "warning", legalComments: "none" };

await build({
  ...common,
  entryPoints: ["src/extension.ts"],
  outfile: "dist/extension.js",
  platform: "node",
  format: "cjs",
  target: "node20",
  external: ["vscode"],
});
await mkdir("dist", { recursive: true });
for (const [name, text] of await pageBundle()) await writeFile(`dist/${name}`, text);
// For the editor's YAML extension, where there is one: the server knows them by itself.
for (const name of ["config.schema.json", "definition.schema.json"])
  await copyFile(`../orchestration/schemas/${name}`, `dist/${name}`);
if (production) await writeFile("dist/README.md", await withPictures(await readFile("README.md", "utf8")));
if (process.argv.includes("--tests"))
  await build({
    ...common,
    entryPoints: ["test/host/index.ts", "test/host/suite.test.ts"],
    outdir: "dist-test",
    platform: "node",
    format: "cjs",
    target: "node20",
    external: ["vscode", "mocha"],
  });
