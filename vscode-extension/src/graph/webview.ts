/** Draws the graph inside its webview: SVG made node by node, so that no text of a file is ever markup. */

import { BOX, type GateMark, type NodeBox, type Way } from "./layout";
import type { Details, FromWebview, Picture, ToWebview } from "./picture";

declare function acquireVsCodeApi(): { postMessage(message: FromWebview): void; setState(state: unknown): void };

const api = acquireVsCodeApi();
const SVG = "http://www.w3.org/2000/svg";
const root = document.getElementById("graph")!;
const side = document.getElementById("side")!;
let picture: Picture | undefined;
let selected: string | undefined;

window.addEventListener("message", (event: MessageEvent<ToWebview>) => {
  const { data } = event;
  const note = document.getElementById("stale")!;
  note.hidden = !("stale" in data);
  document.body.classList.toggle("stale", "stale" in data);
  if ("stale" in data) {
    note.textContent = data.stale;
    return;
  }
  const first = picture === undefined;
  picture = data.picture;
  api.setState({ root: picture.root, run: picture.run });
  if (!selected || !picture.details[selected]) selected = picture.current;
  draw(picture);
  if (first) root.querySelector(".phase.current")?.scrollIntoView({ block: "center", inline: "center" });
});

function draw(now: Picture): void {
  const focused = document.activeElement instanceof SVGElement ? document.activeElement.dataset["id"] : undefined;
  document.getElementById("title")!.textContent = now.title;
  document.getElementById("summary")!.textContent = now.summary;
  const { width, height } = now.layout;
  const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "group" });
  svg.setAttribute("aria-label", `${now.title}: ${now.summary}`);
  svg.append(arrowHeads(), ...now.layout.ways.map((way) => wayOf(way, now)));
  svg.append(
    ...now.layout.nodes.map((node) => boxOf(node, now)),
    ...now.layout.gates.map((gate) => gateOf(gate, now.gateLabels[gate.id] ?? gate.id)),
  );
  root.replaceChildren(svg);
  if (focused) focus(focused);
  showSide(now);
}

function make(name: string, attributes: Record<string, string | number>): SVGElement {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  return element;
}

function arrowHeads(): SVGElement {
  const defs = make("defs", {});
  for (const kind of ["way", "taken", "suggested"]) {
    const marker = make("marker", {
      id: kind,
      viewBox: "0 0 8 8",
      refX: 7,
      refY: 4,
      markerWidth: 8,
      markerHeight: 8,
      orient: "auto",
      markerUnits: "userSpaceOnUse",
    });
    marker.append(make("path", { d: "M 0 0 L 8 4 L 0 8 z", class: `head ${kind}` }));
    defs.append(marker);
  }
  return defs;
}

function wayOf(way: Way, now: Picture): SVGElement {
  const step = `${way.from}\n${way.to}`;
  const kind = step === now.suggested ? "suggested" : now.recentWays.includes(step) ? "taken" : "way";
  const touches = selected === way.from || selected === way.to;
  const path = make("path", {
    d: way.path,
    class: `edge ${kind} ${touches ? "near" : ""}`,
    "marker-end": `url(#${kind})`,
  });
  path.append(titleElement(`${way.from} → ${way.to}${way.because ? `: ${way.because}` : ""}`));
  return path;
}

function titleElement(text: string): SVGElement {
  const title = make("title", {});
  title.textContent = text;
  return title;
}

function boxOf(node: NodeBox, now: Picture): SVGElement {
  const group = make("g", {
    class: `phase ${node.state} ${node.id === selected ? "chosen" : ""}`,
    transform: `translate(${node.x} ${node.y})`,
    tabindex: node.id === (selected ?? now.layout.nodes[0]?.id) ? 0 : -1,
    role: "button",
    "aria-label": `${node.title || node.id}, ${node.id}, ${node.state}`,
    "aria-pressed": String(node.id === selected),
  });
  group.dataset["id"] = node.id;
  group.append(make("rect", { width: BOX.width, height: BOX.height, rx: 6 }), mark(node.state));
  const named = node.title && node.title !== node.id;
  group.append(text(node.title || node.id, 34, named ? 19 : BOX.height / 2 + 4, "name"));
  if (named) group.append(text(node.id, 34, 35, "subtitle"));
  group.append(titleElement(node.title));
  group.addEventListener("click", () => choose(node.id));
  group.addEventListener("keydown", (event) => onKey(event, node.id));
  return group;
}

const MOST = 34;

function text(content: string, x: number, y: number, kind: string): SVGElement {
  const element = make("text", { x, y, class: kind });
  element.textContent = content.length > MOST ? `${content.slice(0, MOST - 1)}…` : content;
  return element;
}

/** A sign for the state, which colour alone would not show to everybody. */
function mark(state: string): SVGElement {
  const y = BOX.height / 2;
  if (state === "done") return make("path", { class: "sign", d: `M 12 ${y} l 4 4 l 8 -9` });
  if (state === "current") return make("path", { class: "sign full", d: `M 12 ${y - 6} l 11 6 l -11 6 z` });
  return make("circle", { class: "sign", cx: 18, cy: y, r: 5 });
}

function gateOf(gate: GateMark, label: string): SVGElement {
  const group = make("g", {
    class: `gate ${gate.status}`,
    transform: `translate(${gate.x} ${gate.y})`,
    tabindex: -1,
    role: "button",
    "aria-label": `gate ${label}`,
  });
  group.dataset["id"] = `gate:${gate.id}`;
  const shackle =
    gate.status === "passed" || gate.status === "waived"
      ? "M -4 -1 v -4 a 4 4 0 0 1 7 -2"
      : "M -4 -1 v -3 a 4 4 0 0 1 8 0 v 3";
  group.append(
    make("circle", { r: 13 }),
    make("path", { class: "shackle", d: shackle }),
    make("rect", { x: -6, y: -1, width: 12, height: 8, rx: 1.5 }),
  );
  group.append(titleElement(label));
  group.addEventListener("click", () => api.postMessage({ kind: "gate", gate: gate.id }));
  group.addEventListener("keydown", (event) => onKey(event, `gate:${gate.id}`));
  return group;
}

function choose(id: string): void {
  selected = id;
  if (picture) draw(picture);
  focus(id);
}

function focus(id: string): void {
  root.querySelector<SVGElement>(`[data-id="${CSS.escape(id)}"]`)?.focus();
}

/** Arrows go from part to part, down the column with each phase's gates behind it; Enter and Space choose. */
function onKey(event: KeyboardEvent, id: string): void {
  if (!picture) return;
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    if (id.startsWith("gate:")) api.postMessage({ kind: "gate", gate: id.slice(5) });
    else choose(id);
    return;
  }
  const order = picture.order;
  const at = order.indexOf(id);
  const to = {
    ArrowDown: at + 1,
    ArrowRight: at + 1,
    ArrowUp: at - 1,
    ArrowLeft: at - 1,
    Home: 0,
    End: order.length - 1,
  }[event.key];
  if (to === undefined || !order[to]) return;
  event.preventDefault();
  focus(order[to]);
}

function showSide(now: Picture): void {
  const details = selected === undefined ? undefined : now.details[selected];
  side.replaceChildren(...(details ? detailElements(details) : []), ...recent(now));
}

function detailElements(details: Details): HTMLElement[] {
  return [
    element("h2", details.title),
    element("p", details.summary),
    ...section("Gates", details.gates),
    ...section("Leads to", details.leads),
    ...section("Leaves", details.produces),
  ];
}

const recent = (now: Picture): HTMLElement[] => section("What was recorded last", now.recent);

function section(title: string, lines: readonly string[]): HTMLElement[] {
  if (lines.length === 0) return [];
  const list = document.createElement("ul");
  list.append(...lines.map((line) => element("li", line)));
  return [element("h3", title), list];
}

function element(name: string, content: string): HTMLElement {
  const created = document.createElement(name);
  created.textContent = content;
  return created;
}

api.postMessage({ kind: "ready" });
