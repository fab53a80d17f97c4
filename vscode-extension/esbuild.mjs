// Bundles the extension (one file for Node) and the graph's script (one file for its webview).
import { readFile, writeFile } from "node:fs/promises";
import { build } from "esbuild";
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
await build({
  ...common,
  entryPoints: ["src/graph/webview.ts"],
  outfile: "dist/graph.js",
  platform: "browser",
  format: "iife",
  target: "es2022",
});
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
