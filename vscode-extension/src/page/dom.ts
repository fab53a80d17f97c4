/** Elements made node by node: text of a file is never markup, and nothing in it is unseen. */

import { visibleText } from "../sanitize";

export type Child = Node | string | false | null | undefined;

type Attributes = Readonly<Record<string, string | number | boolean | undefined | ((event: Event) => void)>>;

/** An element by "tag.class.class"; functions listen ("click"), true and false set or leave out an attribute. */
export function element(name: string, attributes: Attributes = {}, ...children: readonly Child[]): HTMLElement {
  const [tag, ...classes] = name.split(".");
  const created = document.createElement(tag!);
  if (classes.length) created.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") created.addEventListener(key, value);
    else if (value !== undefined && value !== false) created.setAttribute(key, value === true ? "" : String(value));
  }
  created.append(...children.filter((child) => child instanceof Node || child).map(nodeOf));
  return created;
}

const nodeOf = (child: Child): Node =>
  child instanceof Node ? child : document.createTextNode(visibleText(String(child)));

const SVG = "http://www.w3.org/2000/svg";

export function drawing(name: string, attributes: Readonly<Record<string, string | number>>): SVGElement {
  const created = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) created.setAttribute(key, String(value));
  return created;
}

const ICONS = {
  done: "M3.5 8.5l3 3 6-7",
  failed: "M4 4l8 8M12 4l-8 8",
  ready: "M5 3.5l7 4.5-7 4.5z",
  claimed: "M8 8a2.6 2.6 0 1 0 0-5.2A2.6 2.6 0 0 0 8 8zM3 13.5c.4-2.6 2.4-4 5-4s4.600 1.400 5 4",
  reported: "M4 2.500h5.500L12 5v8.500H4zM6.500 8h3M6.500 10.500h3",
  blocked: "M8 2.500a5.500 5.500 0 1 0 0 11 5.500 5.500 0 0 0 0-11zM4.300 4.300l7.400 7.400",
  skipped: "M3 8h8M8.500 5l3 3-3 3",
  current: "M5 3.500l7 4.500-7 4.500z",
  ahead: "M8 4.500a3.500 3.500 0 1 0 0 7 3.500 3.500 0 0 0 0-7z",
  detour: "M4 3v5.500c0 1.400.6 2 2 2h6M9.500 8l2.500 2.500L9.500 13",
  person: "M8 8a2.6 2.6 0 1 0 0-5.200A2.6 2.6 0 0 0 8 8zM3 13.500c.4-2.600 2.400-4 5-4s4.600 1.400 5 4",
  dot: "M8 6.500a1.500 1.500 0 1 0 0 3 1.500 1.500 0 0 0 0-3z",
  arrow: "M3 8h9M8.500 4.500L12 8l-3.500 3.500",
} as const;

export type IconName = keyof typeof ICONS;

/** A sign beside words that say the same, so that a reader of the screen need not hear it. */
export function icon(name: IconName): SVGElement {
  const svg = drawing("svg", { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" });
  svg.setAttribute("class", `icon ${name}`);
  svg.append(drawing("path", { d: ICONS[name] }));
  return svg;
}

export const plural = (count: number, word: string): string => `${count} ${word}${count === 1 ? "" : "s"}`;
