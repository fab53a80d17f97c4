import { expect, test } from "vitest";
import { BOX, lanes, layout } from "../../src/graph/layout";
import { pictureOf } from "../../src/graph/picture";
import { evaluation, gate, graph, phase, suggestion } from "./fixtures";

const edge = (from: string, to: string, because = "") => ({ from, to, because });

test("phases stand in one column in their order, without touching", () => {
  const { nodes, height } = layout(graph());
  expect(nodes.map((node) => node.id)).toEqual(["a", "b", "c", "d"]);
  expect(new Set(nodes.map((node) => node.x)).size).toBe(1);
  for (let at = 1; at < nodes.length; at++) expect(nodes[at]!.y - nodes[at - 1]!.y).toBeGreaterThan(BOX.height);
  expect(height).toBeGreaterThan(nodes.at(-1)!.y + BOX.height);
});

test("ways are straight to the next phase, on the right when forward, on the left when back", () => {
  const { ways } = layout(
    graph({ edges: [edge("a", "b"), edge("a", "c"), edge("d", "b"), edge("b", "b"), edge("a", "unknown")] }),
  );
  expect(ways.map((way) => way.kind)).toEqual(["next", "forward", "back", "self"]);
});

test("ways that share rows have different lanes, and ways that do not share one", () => {
  expect(
    lanes([
      { from: 0, to: 2 },
      { from: 1, to: 3 },
      { from: 3, to: 5 },
    ]),
  ).toEqual([0, 1, 0]);
  expect(
    lanes([
      { from: 5, to: 0 },
      { from: 2, to: 1 },
    ]),
  ).toEqual([1, 0]);
});

test("everything is drawn inside the picture", () => {
  const all = ["a", "b", "c", "d"].flatMap((from) => ["a", "b", "c", "d"].map((to) => edge(from, to)));
  const { ways, width, height, nodes } = layout(graph({ edges: all }));
  const numbers = ways.flatMap((way) => [...way.path.matchAll(/[HQM] (-?[\d.]+)/g)].map((match) => Number(match[1])));
  expect(Math.min(...numbers)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...numbers)).toBeLessThanOrEqual(width);
  expect(nodes.at(-1)!.y).toBeLessThan(height);
});

test("gates of one phase stand side by side below it", () => {
  const { gates, nodes } = layout(
    graph({
      gates: [gate({ id: "1", after: "b" }), gate({ id: "2", after: "b" }), gate({ id: "x", after: "unknown" })],
    }),
  );
  expect(gates.map((mark) => mark.id)).toEqual(["1", "2"]);
  expect(gates[0]!.x).toBeLessThan(gates[1]!.x);
  expect(gates[0]!.y).toBeGreaterThan(nodes[1]!.y + BOX.height);
});

test("the picture marks the suggested way, the ways that were taken, and the order of the keyboard", () => {
  const drawn = graph({
    edges: [edge("a", "b", "it is done"), edge("b", "c"), edge("c", "b")],
    gates: [gate({ after: "b" })],
  });
  const run = evaluation({ currentPhase: "b", suggestion: suggestion({ suggestedNext: "c" }) });
  const events = [
    { kind: "report", phase: "a", outcome: "ok" },
    { kind: "claim", task: "x", actor: "me" },
    { kind: "report", phase: "b", outcome: "fail" },
  ];
  const picture = pictureOf(run, drawn, events);
  expect(picture.suggested).toBe("b\nc");
  expect(picture.recentWays).toEqual(["a\nb"]);
  expect(picture.order).toEqual(["a", "b", "gate:tests", "c", "d"]);
  expect(picture.details["gate:tests"]?.criteria).toEqual([]);
  expect(picture.details["a"]?.leads).toEqual(["b: it is done"]);
});

test("a step to the present phase is no way to mark", () => {
  const run = evaluation({ currentPhase: "b", suggestion: suggestion({ kind: "stay", suggestedNext: "b" }) });
  expect(pictureOf(run, graph(), []).suggested).toBeUndefined();
});

test("a gate that a complete run never came to is not needed, and drawn open", () => {
  const drawn = graph({ gates: [gate({ after: "b", title: "Checked", status: "not-reached" })] });
  const words = (status: "active" | "complete") => {
    const picture = pictureOf(evaluation({ status, gates: drawn.gates.slice() }), drawn, []);
    return [picture.gateLabels["tests"], picture.isComplete];
  };
  expect(words("active")).toEqual(["Checked: not reached", false]);
  expect(words("complete")).toEqual(["Checked: not needed", true]);
});

test("gates, ways and what is beside them are named by titles, ids last", () => {
  const shut = gate({
    id: "g3",
    title: "",
    after: "a",
    forbidden: [{ action: "b", because: "phases are not skipped" }],
  });
  const named = gate({ id: "g4", title: "The tests pass", after: "a" });
  const phases = [
    { id: "a", title: "Write the code", state: "current", outcomes: [] },
    { id: "b", title: "Run the tests", state: "ahead", outcomes: [] },
  ] as const;
  const shown = graph({ phases, gates: [shut, named], edges: [edge("a", "b")] });
  const of = (status: "active" | "complete") =>
    pictureOf(
      evaluation({ status, statusReason: "the run is over", phases: phases.map((each) => phase(each)) }),
      shown,
      [],
    );
  expect(of("active").gateLabels).toEqual({ g3: "G3: failed", g4: "The tests pass: failed" });
  const { details } = of("active");
  expect(details["gate:g4"]).toMatchObject({ title: "Gate: The tests pass" });
  expect(details["gate:g3"]!.leads).toEqual(["not now: Run the tests (phases are not skipped)"]);
  expect(details["b"]).toMatchObject({ title: "Run the tests (b)", summary: "to come" });
  expect(of("complete").details["b"]!.summary).toBe("not reached");
  expect(of("complete").summary).toBe("the run is over");
});
