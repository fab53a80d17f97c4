/** The graph of one run as its webview shows it. */

import type { Evaluation, Graph, Recorded } from "../protocol";
import { plain } from "../sanitize";
import { stepSaid } from "../views/next";
import { recordSaid } from "../views/recent";
import { titleOf } from "../views/runs";
import { layout } from "./layout";
import { GATE_SAID, type Details, type Picture } from "./messages";

const RECENT = 8;
const TAKEN = 3;

export function pictureOf(run: Evaluation, graph: Graph, events: readonly Recorded[]): Picture {
  const current = run.currentPhase ?? undefined;
  const next = run.suggestion.suggestedNext;
  return {
    root: run.root,
    run: run.run,
    title: `${titleOf(run)} · ${plain(run.workflow)}`,
    said: `${current ? `In ${plain(current)}` : plain(run.status)}. ${stepSaid(run.suggestion)}${run.suggestion.reason ? `: ${plain(run.suggestion.reason, 300)}` : ""}`,
    layout: layout(graph),
    current,
    suggested: current && next && next !== current ? `${current}\n${next}` : undefined,
    taken: transitions(graph, events, current).slice(-TAKEN),
    order: graph.phases.flatMap((phase) => [phase.id, ...gatesAfter(graph, phase.id).map((gate) => `gate:${gate.id}`)]),
    details: Object.fromEntries(graph.phases.map((phase) => [phase.id, detailsOf(run, graph, phase.id)])),
    recent: events.slice(-RECENT).reverse().map(recordSaid),
  };
}

const gatesAfter = (graph: Graph, phase: string): Graph["gates"] => graph.gates.filter((gate) => gate.after === phase);

/** The ways between the phases that were reported, one after the other, as far as a rule leads there. */
function transitions(graph: Graph, events: readonly Recorded[], current: string | undefined): string[] {
  const known = new Set(graph.phases.map((phase) => phase.id));
  const phases = [...events.map((event) => event.phase ?? ""), current ?? ""].filter((phase) => known.has(phase));
  const steps = phases.slice(1).map((phase, at) => `${phases[at]}\n${phase}`);
  const ways = new Set(graph.edges.map((edge) => `${edge.from}\n${edge.to}`));
  return steps.filter((step) => ways.has(step));
}

function detailsOf(run: Evaluation, graph: Graph, id: string): Details {
  const phase = run.phases.find((entry) => entry.id === id);
  const title = graph.phases.find((entry) => entry.id === id)?.title ?? id;
  const agents = phase?.agents.length ? `, by ${plain(phase.agents.join(", "))}` : "";
  return {
    title: title === id ? plain(id) : `${plain(id)}: ${plain(title)}`,
    said: `${phase?.state ?? "unknown"}${agents}`,
    gates: gatesAfter(graph, id).flatMap((gate) => [
      `${plain(gate.title || gate.id)}: ${GATE_SAID[gate.status]}`,
      ...gate.criteria.map(
        (criterion) => `${criterion.met === null ? "?" : criterion.met ? "✓" : "✗"} ${plain(criterion.text)}`,
      ),
    ]),
    leads: graph.edges
      .filter((edge) => edge.from === id)
      .map((edge) => `${plain(edge.to)}${edge.because ? `: ${plain(edge.because)}` : ""}`),
    produces: (phase?.produces ?? []).map((artifact) => `${plain(artifact.path)}: ${artifact.state}`),
  };
}
