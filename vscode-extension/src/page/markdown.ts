/** Shows Markdown as elements: headings, paragraphs, lists, tables, code, emphasis. No link leads anywhere. */

import { element, type Child } from "./dom";

const FENCE = /^\s*(`{3,}|~{3,})/;
const HEADING = /^(#{1,6})\s+(.*?)\s*#*$/;
const ITEM = /^(\s*)(?:[-*+]|\d{1,9}[.)])\s+(?:\[([ xX~!?/-])\]\s+)?(.*)$/;
const TABLE_RULE = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;
const RULE = /^\s*([-*_])(\s*\1){2,}\s*$/;
const INLINE = /(`+)(.+?)\1|\*\*(.+?)\*\*|__(.+?)__|\*(.+?)\*|!?\[([^\]]*)\]\([^)]*\)/;
const COMMENT = /<!--[\s\S]*?-->/g;

export function markdownElements(text: string): HTMLElement[] {
  const lines = text.replace(COMMENT, "").split(/\r\n?|\n/);
  const blocks: HTMLElement[] = [];
  for (let at = 0; at < lines.length;) {
    const [block, next] = blockAt(lines, at);
    if (block) blocks.push(block);
    at = next;
  }
  return blocks;
}

/** The block that begins at a line, and the line behind it; always further on. */
function blockAt(lines: readonly string[], at: number): [HTMLElement | undefined, number] {
  const line = lines[at]!;
  if (!line.trim()) return [undefined, at + 1];
  const fence = FENCE.exec(line);
  if (fence) return codeAt(lines, at, fence[1]!);
  const heading = HEADING.exec(line);
  if (heading) return [element(`h${Math.min(heading[1]!.length + 2, 6)}`, {}, ...inline(heading[2]!)), at + 1];
  if (RULE.test(line)) return [element("hr"), at + 1];
  if (line.includes("|") && TABLE_RULE.test(lines[at + 1] ?? "")) return tableAt(lines, at);
  if (ITEM.test(line)) return listAt(lines, at);
  return paragraphAt(lines, at);
}

function codeAt(lines: readonly string[], at: number, fence: string): [HTMLElement, number] {
  let end = at + 1;
  while (end < lines.length && !lines[end]!.trim().startsWith(fence)) end++;
  return [element("pre", {}, element("code", {}, lines.slice(at + 1, end).join("\n"))), end + 1];
}

function tableAt(lines: readonly string[], at: number): [HTMLElement, number] {
  let end = at + 2;
  while (end < lines.length && lines[end]!.includes("|")) end++;
  const row = (line: string, cell: string): HTMLElement =>
    element("tr", {}, ...cells(line).map((text) => element(cell, {}, ...inline(text))));
  const body = lines.slice(at + 2, end).map((line) => row(line, "td"));
  const table = element("table", {}, element("thead", {}, row(lines[at]!, "th")), element("tbody", {}, ...body));
  return [element("div.scroll", {}, table), end];
}

const cells = (line: string): string[] =>
  line
    .trim()
    .replace(/^\||\|$/g, "")
    .split("|")
    .map((cell) => cell.trim());

function listAt(lines: readonly string[], at: number): [HTMLElement, number] {
  const items: HTMLElement[] = [];
  let end = at;
  for (; end < lines.length; end++) {
    const item = ITEM.exec(lines[end]!);
    if (!item) {
      // A line that is indented goes on with the item before it.
      if (!/^\s+\S/.test(lines[end]!)) break;
      items.at(-1)?.append(" ", ...inline(lines[end]!.trim()).map(asNode));
      continue;
    }
    const [, indent, mark, words] = item;
    const depth = Math.min(Math.floor(indent!.length / 2), 4);
    const sign =
      mark !== undefined && element("span.mark", {}, mark.trim() ? (/x/i.test(mark) ? "☑" : `[${mark}]`) : "☐");
    items.push(element(`li.depth-${depth}`, {}, sign, ...inline(words!)));
  }
  const ordered = /^\s*\d/.test(lines[at]!);
  return [element(ordered ? "ol" : "ul", {}, ...items), end];
}

function paragraphAt(lines: readonly string[], at: number): [HTMLElement, number] {
  let end = at + 1;
  while (end < lines.length && lines[end]!.trim() && !startsBlock(lines[end]!)) end++;
  // "**Key**: value" lines stand below each other, as their writers mean them.
  const parts = lines.slice(at, end).flatMap((line, index) => [index ? element("br") : null, ...inline(line.trim())]);
  return [element("p", {}, ...parts), end];
}

const startsBlock = (line: string): boolean => FENCE.test(line) || HEADING.test(line) || ITEM.test(line);

const asNode = (child: Child): Node => (child instanceof Node ? child : element("span", {}, child));

function inline(text: string): Child[] {
  const found = INLINE.exec(text);
  if (!found) return [text];
  const [whole, , code, strong, under, emphasis, label] = found;
  const bold = strong ?? under;
  const made =
    code !== undefined
      ? element("code", {}, code)
      : bold !== undefined
        ? element("strong", {}, ...inline(bold))
        : emphasis !== undefined
          ? element("em", {}, ...inline(emphasis))
          : element("span.link", {}, label ?? "");
  return [text.slice(0, found.index), made, ...inline(text.slice(found.index + whole.length))];
}
