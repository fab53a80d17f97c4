// Bundles the page of a run, which the extension has in a panel and the server serves to browsers: `npm run generate` after
// a change writes it where the server's package takes it from, so that a checkout without Node serves it, too.
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

export const ASSETS = new URL("../server/page/assets/", import.meta.url);
export const NAMES = ["page.js", "page.css"];

/** [name, text] of each file, the same wherever it is made. */
export async function pageBundle() {
  const { outputFiles } = await build({
    absWorkingDir: fileURLToPath(new URL(".", import.meta.url)),
    entryPoints: { page: "src/page/main.ts" },
    outdir: "dist",
    bundle: true,
    minify: true,
    write: false,
    platform: "browser",
    format: "iife",
    target: "es2022",
    legalComments: "none",
    logLevel: "warning",
  });
  return outputFiles.map((file) => [file.path.split(/[\\/]/).at(-1), file.text]);
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  for (const [name, text] of await pageBundle()) {
    const target = new URL(name, ASSETS);
    if ((await readFile(target, "utf8").catch(() => "")) !== text) await writeFile(target, text);
  }
