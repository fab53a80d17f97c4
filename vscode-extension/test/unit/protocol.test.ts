import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { evaluationTypes, TARGET } from "../../generate.mjs";

test("the types of an evaluation are those of its schema; `npm run generate` writes them anew", async () => {
  expect(await readFile(TARGET, "utf8")).toBe(await evaluationTypes());
});
