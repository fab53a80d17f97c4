import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import manifest from "../../package.json";
import { MARK_KINDS } from "../../src/views/plan";
import * as rows from "../../src/views/row";

const text = (name: string): string => readFileSync(new URL(`../../${name}`, import.meta.url), "utf8");

/** How bright a colour is, from 0 to 1, as WCAG 2.2 defines it. */
function luminance(colour: string): number {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string): number {
  const [dark, bright] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number];
  return (bright + 0.05) / (dark + 0.05);
}

test("black on white has the most contrast that there is", () => {
  expect(contrast("#000000", "#ffffff")).toBe(21);
});

test.each(MARK_KINDS)("the mark of a task that is %s can be read in light, dark and both high contrasts", (kind) => {
  for (const [theme, behind] of [
    ["light", ["#ffffff"]],
    ["dark", ["#1f1f1f", "#000000"]],
  ] as const) {
    const [, stroke] = /stroke="(#[0-9a-f]{6})"/.exec(text(`media/task-${kind}-${theme}.svg`))!;
    for (const background of behind) expect(contrast(stroke!, background)).toBeGreaterThan(4.5);
  }
});

test("rows and page have colours of ours alone, which have a value in each kind of theme", () => {
  const ours = new Set(manifest.contributes.colors.map(({ id }) => id));
  expect(ours).toEqual(new Set([rows.GOOD, rows.BAD, rows.WAITING, rows.FAINT, rows.NOW]));
  for (const { defaults } of manifest.contributes.colors)
    expect(Object.keys(defaults).sort()).toEqual(["dark", "highContrast", "highContrastLight", "light"]);
  const css = text("src/page/page.css");
  expect(css).not.toMatch(/--vscode-(charts|testing|list-warning)/);
  for (const [, name] of css.matchAll(/--vscode-(phasekeeper-\w+)/g)) expect(ours).toContain(name!.replace("-", "."));
});
