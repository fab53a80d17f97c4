/**
 * Where the parts of a workflow's graph are drawn: pure numbers, no drawing.
 *
 * Phases stand in one column in their order. The way to the next phase is a straight arrow; other ways
 * forward are arcs on the right, ways back arcs on the left, each in a lane of its own so that no two lie on
 * each other. A gate sits on the way out of its phase.
 */

import type { Gate, Graph } from "../protocol";

export const BOX = { width: 250, height: 46, gap: 44 } as const;
const LANE = 18;
const MARGIN = 26;

export interface NodeBox {
  readonly id: string;
  readonly title: string;
  readonly state: string;
  readonly x: number;
  readonly y: number;
}

export interface Way {
  readonly from: string;
  readonly to: string;
  readonly because: string;
  readonly kind: "next" | "forward" | "back" | "self";
  /** An SVG path. */
  readonly path: string;
}

export interface GateMark extends Pick<Gate, "id" | "status"> {
  readonly x: number;
  readonly y: number;
}

export interface Layout {
  readonly width: number;
  readonly height: number;
  readonly nodes: readonly NodeBox[];
  readonly ways: readonly Way[];
  readonly gates: readonly GateMark[];
}

interface Span {
  readonly from: number;
  readonly to: number;
}

/** A lane for each span, so that spans of one lane have no row in common; short spans lie inside. */
export function lanes(spans: readonly Span[]): number[] {
  const occupied: Span[][] = [];
  const assigned = new Array<number>(spans.length).fill(0);
  const length = (span: Span): number => Math.abs(span.to - span.from);
  const order = spans
    .map((_, at) => at)
    .sort((one, other) => length(spans[one]!) - length(spans[other]!) || one - other);
  for (const at of order) {
    const span = spans[at]!;
    let lane = occupied.findIndex((others) => others.every((other) => apart(span, other)));
    if (lane < 0) lane = occupied.push([]) - 1;
    occupied[lane]!.push(span);
    assigned[at] = lane;
  }
  return assigned;
}

function apart(one: Span, other: Span): boolean {
  const [low, high] = [Math.min(one.from, one.to), Math.max(one.from, one.to)];
  return high <= Math.min(other.from, other.to) || low >= Math.max(other.from, other.to);
}

export function layout(graph: Graph): Layout {
  const row = new Map(graph.phases.map((phase, at) => [phase.id, at]));
  const edges = graph.edges.filter((edge) => row.has(edge.from) && row.has(edge.to));
  const spans = edges.map((edge): Span => ({ from: row.get(edge.from)!, to: row.get(edge.to)! }));
  const sides = spans.map(sideOf);
  const laneOf = new Map<number, number>();
  const count = { back: 0, forward: 0 };
  for (const side of ["back", "forward"] as const) {
    const own = spans.map((_, at) => at).filter((at) => sides[at] === side);
    const assigned = lanes(own.map((at) => spans[at]!));
    own.forEach((at, index) => laneOf.set(at, assigned[index]!));
    count[side] = assigned.length ? Math.max(...assigned) + 1 : 0;
  }
  const left = MARGIN + count.back * LANE + LANE;
  const nodes = graph.phases.map(({ id, title, state }, at) => ({ id, title, state, x: left, y: topOf(at) }));
  const ways = edges.map((edge, at): Way => {
    const kind = sides[at]!;
    return { ...edge, kind, path: pathOf(kind, spans[at]!, laneOf.get(at) ?? 0, left) };
  });
  return {
    width: left + BOX.width + MARGIN + count.forward * LANE + LANE,
    height: topOf(graph.phases.length) - BOX.gap + MARGIN,
    nodes,
    ways,
    gates: gateMarks(graph, row, left),
  };
}

const topOf = (row: number): number => MARGIN + row * (BOX.height + BOX.gap);

function sideOf(span: Span): Way["kind"] {
  if (span.to === span.from) return "self";
  if (span.to === span.from + 1) return "next";
  return span.to > span.from ? "forward" : "back";
}

function pathOf(kind: Way["kind"], span: Span, lane: number, left: number): string {
  const right = left + BOX.width;
  const middle = (row: number): number => topOf(row) + BOX.height / 2;
  if (kind === "next") return `M ${left + BOX.width / 2} ${topOf(span.from) + BOX.height} V ${topOf(span.to)}`;
  if (kind === "self") {
    const y = middle(span.from);
    return `M ${right} ${y - 10} c 24 -6 24 26 0 20`;
  }
  // Where arrows leave a box below its middle and arrive above it, they cannot hide each other.
  const down = span.to > span.from;
  const [start, end] = [middle(span.from) + (down ? 10 : -10), middle(span.to) + (down ? -10 : 10)];
  const side = kind === "forward" ? 1 : -1;
  const edge = kind === "forward" ? right : left;
  const out = edge + side * (LANE + lane * LANE);
  const turn = down ? 8 : -8;
  return [
    `M ${edge} ${start}`,
    `H ${out - side * 8}`,
    `Q ${out} ${start} ${out} ${start + turn}`,
    `V ${end - turn}`,
    `Q ${out} ${end} ${out - side * 8} ${end}`,
    `H ${edge}`,
  ].join(" ");
}

/** Gates stand below their phase, side by side where a phase has several. */
function gateMarks(graph: Graph, row: ReadonlyMap<string, number>, left: number): GateMark[] {
  return graph.gates
    .filter((gate) => row.has(gate.after))
    .map((gate, _, all) => {
      const same = all.filter((other) => other.after === gate.after);
      const offset = same.indexOf(gate) - (same.length - 1) / 2;
      const x = left + BOX.width / 2 + offset * 30;
      return {
        id: gate.id,
        status: gate.status,
        x,
        y: topOf(row.get(gate.after)!) + BOX.height + BOX.gap / 2,
      };
    });
}
