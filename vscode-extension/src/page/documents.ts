/** Files beside a question: one at a time, as it is or as it differs from the last commit. */

import type { Difference, Document } from "./model";
import { element, plural } from "./dom";
import type { Context } from "./context";
import { markdownElements } from "./markdown";

const KINDS: Readonly<Record<string, string>> = { "+": "add", "-": "remove", "@": "hunk" };

/** What a line of a unified diff is. The two that name the files stand together, before a hunk. */
export function lineKind(lines: readonly string[], at: number): string {
  const isName = (first: number): boolean =>
    !!lines[first]?.startsWith("--- ") &&
    !!lines[first + 1]?.startsWith("+++ ") &&
    (lines[first + 2] ?? "@@").startsWith("@@");
  return isName(at) || isName(at - 1) ? "name" : (KINDS[lines[at]?.[0] ?? ""] ?? "same");
}

/** Lines of a unified diff, each told by a sign as well as by its colour. */
export function differenceElement({ lines, moreLines, partial }: Difference): HTMLElement {
  const rows = lines.map((line, at) => element(`span.line.${lineKind(lines, at)}`, {}, `${line}\n`));
  const rest = [
    moreLines ? `${plural(moreLines, "more line")}` : "",
    partial ? "only the first lines are compared" : "",
  ];
  return element(
    "div.difference",
    {},
    element("pre.diff", { tabindex: 0, "aria-label": "Difference" }, ...rows),
    rest.some(Boolean) && element("p.faint", {}, rest.filter(Boolean).join("; ")),
  );
}

export function documentsElement(documents: readonly Document[], key: string, context: Context): HTMLElement {
  const { ui } = context;
  const chosen = Math.min(ui.documents.get(key) ?? 0, documents.length - 1);
  const shown = documents[chosen]!;
  const differs = shown.changes !== null && ui.differences.has(`${key}\n${shown.path}`);
  const names = documents.map((each, at) =>
    element(
      "button.file",
      {
        type: "button",
        "aria-pressed": String(at === chosen),
        "data-key": `${key}/file/${at}`,
        title: each.path,
        click: () => context.update(() => ui.documents.set(key, at)),
      },
      baseName(each.path),
      element("span.faint", {}, each.role),
    ),
  );
  return element(
    "section.documents",
    { "aria-label": "Beside the question" },
    element("div.files", {}, ...names),
    element(
      "div.bar",
      {},
      context.host.open && !context.absent.includes(shown.path)
        ? element("button.path", { type: "button", click: () => context.host.open!(shown.path, null) }, shown.path)
        : element("code.path", {}, shown.path),
      shown.changes &&
        element(
          "button.quiet",
          {
            type: "button",
            "aria-pressed": String(differs),
            "data-key": `${key}/differs`,
            click: () => context.update(() => toggle(ui.differences, `${key}\n${shown.path}`)),
          },
          "Changes since the last commit",
        ),
    ),
    differs ? differenceElement(shown.changes) : textElement(shown),
  );
}

function textElement({ path, text, cut }: Document): HTMLElement {
  if (text === null) return element("p.empty", {}, "This file is not there, or cannot be read.");
  const content = /\.(md|markdown)$/i.test(path)
    ? element("div.prose", { tabindex: 0, role: "document", "aria-label": path }, ...markdownElements(text))
    : /\.(diff|patch)$/i.test(path)
      ? differenceElement({ lines: text.split("\n"), moreLines: 0, partial: false })
      : element("pre.text", { tabindex: 0, "aria-label": path }, text);
  return element(
    "div.content",
    {},
    content,
    cut && element("p.faint", {}, "The file goes on; open it to read the rest."),
  );
}

export function toggle<T>(values: Set<T>, value: T): void {
  if (!values.delete(value)) values.add(value);
}

export const baseName = (path: string): string => path.split("/").filter(Boolean).at(-1) ?? path;
