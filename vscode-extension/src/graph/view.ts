/** Draws the graph: SVG made node by node, so that no text of a file is ever markup. */

import { oneLine, visibleText } from "../sanitize";
import { drawing, element, icon } from "../page/dom";
import type { Context } from "../page/context";
import { BOX, type GateMark, type NodeBox, type Way } from "./layout";
import type { Details, Picture } from "./picture";

const MIN_ZOOM = 0.3;
/** Text in the graph is not smaller than this without being asked. */
const READABLE = 0.8;
const MAX_ZOOM = 3;
const STEP = 1.25;

/** The graph beside what is said of the part that is chosen. It is redrawn by itself; `context` keeps zoom and choice. */
export function graphElement(picture: Picture, context: Context): HTMLElement {
  return new GraphView(picture, context).element;
}

class GraphView {
  readonly element: HTMLElement;
  private readonly root = element("div", { id: "graph", "data-scroll": "graph" });
  private readonly side = element("aside", { id: "side", "aria-live": "polite" });

  constructor(
    private readonly picture: Picture,
    private readonly context: Context,
  ) {
    const { ui } = context;
    if (!ui.selected || !picture.details[ui.selected]) ui.selected = picture.current;
    const zoom = (label: string, words: string, to: () => number | "fit"): HTMLElement =>
      element(
        "button.quiet",
        { type: "button", "aria-label": words, title: words, "data-key": words, click: () => this.zoom(to()) },
        label,
      );
    const tools = element(
      "div.zoom",
      { role: "group", "aria-label": "Zoom" },
      zoom("Fit", "Fit the graph into the window", () => "fit"),
      zoom("−", "Zoom out", () => this.scale() / STEP),
      zoom("+", "Zoom in", () => this.scale() * STEP),
      zoom("1:1", "As large as text", () => 1),
    );
    this.element = element("div.workflow", {}, element("div.canvas", {}, this.root, tools), this.side);
    this.root.addEventListener("wheel", (event) => this.onWheel(event), { passive: false });
    this.root.addEventListener("scroll", () => (ui.scroll = [this.root.scrollLeft, this.root.scrollTop]));
    // There is no room before the element stands in the page.
    new ResizeObserver(() => this.onRoom()).observe(this.root);
    this.draw();
  }

  // ---- zoom

  private onRoom(): void {
    const { scroll } = this.context.ui;
    this.resize();
    if (scroll) this.root.scrollTo(scroll[0], scroll[1]);
    else this.root.querySelector(".phase.current")?.scrollIntoView({ block: "center", inline: "center" });
  }

  /** The scale at which the graph is drawn: as chosen, else so that all of it can be seen, or at least be read. */
  private scale(): number {
    const { zoom } = this.context.ui;
    if (typeof zoom === "number") return zoom;
    const { width, height } = this.picture.layout;
    const [room, tall] = [this.root.clientWidth - 24, this.root.clientHeight - 24];
    return room > 0 && tall > 0
      ? Math.max(zoom === "fit" ? MIN_ZOOM : READABLE, Math.min(1, room / width, tall / height))
      : 1;
  }

  private zoom(to: number | "fit"): void {
    this.context.ui.zoom = to === "fit" ? to : Math.min(MAX_ZOOM, Math.max(MIN_ZOOM, to));
    this.resize();
  }

  private resize(): void {
    const svg = this.root.firstElementChild;
    const [scale, { width, height }] = [this.scale(), this.picture.layout];
    svg?.setAttribute("width", String(width * scale));
    svg?.setAttribute("height", String(height * scale));
  }

  private onWheel(event: WheelEvent): void {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    this.zoom(this.scale() * (event.deltaY < 0 ? STEP : 1 / STEP));
  }

  // ---- drawing

  private draw(): void {
    const { picture } = this;
    const { width, height } = picture.layout;
    const svg = drawing("svg", { viewBox: `0 0 ${width} ${height}`, role: "group" });
    svg.setAttribute("aria-label", picture.summary);
    svg.append(arrowHeads(), ...picture.layout.ways.map((way) => this.way(way)));
    svg.append(
      ...picture.layout.nodes.map((node) => this.box(node)),
      ...picture.layout.gates.map((gate) => this.gate(gate)),
    );
    this.root.replaceChildren(svg);
    this.resize();
    this.showSide();
  }

  private way(way: Way): SVGElement {
    const { picture } = this;
    const { details } = picture;
    const step = `${way.from}\n${way.to}`;
    const kind = step === picture.suggested ? "suggested" : picture.recentWays.includes(step) ? "taken" : "way";
    const { selected } = this.context.ui;
    const path = drawing("path", {
      d: way.path,
      class: `edge ${kind} ${selected === way.from || selected === way.to ? "near" : ""}`,
      "marker-end": `url(#${kind})`,
    });
    path.append(
      titleElement(`${details[way.from]!.title} → ${details[way.to]!.title}${way.because ? `: ${way.because}` : ""}`),
    );
    return path;
  }

  private box(node: NodeBox): SVGElement {
    const details = this.picture.details[node.id]!;
    const chosen = node.id === this.context.ui.selected;
    const first = !this.context.ui.selected && node.id === this.picture.layout.nodes[0]?.id;
    const group = drawing("g", {
      class: `phase ${node.state} ${chosen ? "chosen" : ""}`,
      transform: `translate(${node.x} ${node.y})`,
      tabindex: chosen || first ? 0 : -1,
      role: "button",
      "aria-label": `${details.title}, ${details.summary}`,
      "aria-pressed": String(chosen),
    });
    group.append(drawing("rect", { width: BOX.width, height: BOX.height, rx: 6 }), mark(node.state));
    const named = node.title && node.title !== node.id;
    group.append(text(node.title || node.id, 34, named ? 19 : BOX.height / 2 + 4, "name"));
    if (named) group.append(text(node.id, 34, 35, "subtitle"));
    group.append(titleElement(node.title));
    return this.choosable(group, node.id);
  }

  private gate(gate: GateMark): SVGElement {
    const label = this.picture.gateLabels[gate.id] ?? gate.id;
    const chosen = this.context.ui.selected === `gate:${gate.id}`;
    const group = drawing("g", {
      class: `gate ${gate.status} ${chosen ? "chosen" : ""}`,
      transform: `translate(${gate.x} ${gate.y})`,
      tabindex: chosen ? 0 : -1,
      role: "button",
      "aria-label": `gate ${label}`,
      "aria-pressed": String(chosen),
    });
    const open =
      gate.status === "passed" ||
      gate.status === "waived" ||
      (gate.status === "not-reached" && this.picture.isComplete);
    group.append(
      drawing("circle", { r: 13 }),
      drawing("path", {
        class: "shackle",
        d: open ? "M -4 -1 v -4 a 4 4 0 0 1 7 -2" : "M -4 -1 v -3 a 4 4 0 0 1 8 0 v 3",
      }),
      drawing("rect", { x: -6, y: -1, width: 12, height: 8, rx: 1.5 }),
    );
    group.append(titleElement(label));
    return this.choosable(group, `gate:${gate.id}`);
  }

  // ---- choosing

  private choosable(group: SVGElement, id: string): SVGElement {
    group.dataset["id"] = id;
    group.dataset["key"] = `graph/${id}`;
    group.addEventListener("click", () => this.choose(id));
    group.addEventListener("keydown", (event) => this.onKey(event, id));
    return group;
  }

  private choose(id: string): void {
    this.context.ui.selected = id;
    this.draw();
    this.focus(id);
  }

  private focus(id: string): void {
    this.root.querySelector<SVGElement>(`[data-id="${CSS.escape(id)}"]`)?.focus();
  }

  /** Arrows go from part to part, down the column with each phase's gates behind it; Enter and Space choose. */
  private onKey(event: KeyboardEvent, id: string): void {
    const { order } = this.picture;
    const at = order.indexOf(id);
    const to = {
      ArrowDown: at + 1,
      ArrowRight: at + 1,
      ArrowUp: at - 1,
      ArrowLeft: at - 1,
      Home: 0,
      End: order.length - 1,
    }[event.key];
    if (event.key === "Enter" || event.key === " ") this.choose(id);
    else if (event.key === "+") this.zoom(this.scale() * STEP);
    else if (event.key === "-") this.zoom(this.scale() / STEP);
    else if (event.key === "0") this.zoom("fit");
    else if (to !== undefined && order[to]) this.focus(order[to]);
    else return;
    event.preventDefault();
  }

  // ---- beside it

  private showSide(): void {
    const id = this.context.ui.selected;
    const details = id === undefined ? undefined : this.picture.details[id];
    this.side.replaceChildren(...(details ? detailElements(details) : []), ...this.gateActs(id));
  }

  /** What a host lets a person do with a gate. */
  private gateActs(id: string | undefined): HTMLElement[] {
    const { host } = this.context;
    if (!id?.startsWith("gate:") || !host.gate) return [];
    const gate = id.slice(5);
    const act = (label: string, kind: "explain" | "check"): HTMLElement =>
      element(
        "button.quiet",
        { type: "button", "data-key": `gate/${kind}`, click: () => host.gate!(gate, kind) },
        label,
      );
    const checks = (this.picture.details[id]?.checks.length ?? 0) > 0;
    return [element("div.acts", {}, act("Explain", "explain"), checks && act("Run its checks", "check"))];
  }
}

function arrowHeads(): SVGElement {
  const defs = drawing("defs", {});
  for (const kind of ["way", "taken", "suggested"]) {
    const marker = drawing("marker", {
      id: kind,
      viewBox: "0 0 8 8",
      refX: 7,
      refY: 4,
      markerWidth: 8,
      markerHeight: 8,
      orient: "auto",
      markerUnits: "userSpaceOnUse",
    });
    marker.append(drawing("path", { d: "M 0 0 L 8 4 L 0 8 z", class: `head ${kind}` }));
    defs.append(marker);
  }
  return defs;
}

function titleElement(content: string): SVGElement {
  const title = drawing("title", {});
  title.textContent = visibleText(content);
  return title;
}

const MOST = 34;

function text(content: string, x: number, y: number, kind: string): SVGElement {
  const created = drawing("text", { x, y, class: kind });
  created.textContent = oneLine(content, MOST);
  return created;
}

/** A sign for the state, which colour alone would not show to everybody. */
function mark(state: string): SVGElement {
  const y = BOX.height / 2;
  if (state === "done") return drawing("path", { class: "sign", d: `M 12 ${y} l 4 4 l 8 -9` });
  if (state === "current") return drawing("path", { class: "sign full", d: `M 12 ${y - 6} l 11 6 l -11 6 z` });
  return drawing("circle", { class: "sign", cx: 18, cy: y, r: 5 });
}

function detailElements(details: Details): HTMLElement[] {
  const criteria = details.criteria.map(({ text: words, met }) =>
    element(
      "li",
      {},
      icon(met === true ? "done" : met === false ? "failed" : "ahead"),
      element(
        "span",
        {},
        words,
        element("span.faint", {}, met === true ? " met" : met === false ? " not met" : " no evidence yet"),
      ),
    ),
  );
  return [
    element("h2", {}, details.title),
    element("p.faint", {}, details.summary),
    ...(criteria.length ? [element("h3", {}, "It asks that"), element("ul.criteria", {}, ...criteria)] : []),
    ...section("Checks", details.checks),
    ...section("Gates", details.gates),
    ...section("Leads to", details.leads),
    ...section("Leaves", details.produces),
  ];
}

function section(title: string, lines: readonly string[]): HTMLElement[] {
  if (lines.length === 0) return [];
  return [element("h3", {}, title), element("ul.plain", {}, ...lines.map((line) => element("li", {}, line)))];
}
