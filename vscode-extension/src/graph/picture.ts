/** The graph of one run as its webview shows it. */

import type { Evaluation, Graph, Recorded } from "../protocol";
import { oneLine } from "../sanitize";
import { stepSentence } from "../views/next";
import { recordLabel } from "../views/recent";
import { gateLabel, titleOf } from "../views/runs";
import { layout } from "./layout";
import type { Details, Picture } from "./messages";

const MAX_RECORDS = 8;
const MAX_WAYS = 3;

export function pictureOf(run: Evaluation, graph: Graph, events: readonly Recorded[]): Picture {
  const current = run.currentPhase ?? undefined;
  const next = run.suggestion.suggestedNext;
  return {
    root: run.root,
    run: run.run,
    title: `${titleOf(run)} · ${oneLine(run.workflow)}`,
    summary: `${current ? `In ${oneLine(current)}` : oneLine(run.status)}. ${stepSentence(run.suggestion)}`,
    layout: layout(graph),
    gateLabels: Object.fromEntries(graph.gates.map((gate) => [gate.id, gateLabel(gate)])),
    current,
    suggested: current && next && next !== current ? `${current}\n${next}` : undefined,
    recentWays: transitions(graph, events, current).slice(-MAX_WAYS),
    order: graph.phases.flatMap((phase) => [phase.id, ...gatesAfter(graph, phase.id).map((gate) => `gate:${gate.id}`)]),
    details: Object.fromEntries(graph.phases.map((phase) => [phase.id, detailsOf(run, graph, phase.id)])),
    recent: events.slice(-MAX_RECORDS).reverse().map(recordLabel),
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
  const agents = phase?.agents.length ? `, by ${oneLine(phase.agents.join(", "))}` : "";
  return {
    title: title === id ? oneLine(id) : `${oneLine(id)}: ${oneLine(title)}`,
    summary: `${phase?.state ?? "unknown"}${agents}`,
    gates: gatesAfter(graph, id).flatMap((gate) => [
      gateLabel(gate),
      ...gate.criteria.map(
        (criterion) => `${criterion.met === null ? "?" : criterion.met ? "✓" : "✗"} ${oneLine(criterion.text)}`,
      ),
    ]),
    leads: graph.edges
      .filter((edge) => edge.from === id)
      .map((edge) => `${oneLine(edge.to)}${edge.because ? `: ${oneLine(edge.because)}` : ""}`),
    produces: (phase?.produces ?? []).map((artifact) => `${oneLine(artifact.path)}: ${artifact.state}`),
  };
}
