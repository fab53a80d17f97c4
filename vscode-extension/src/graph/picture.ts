/** The graph of one run as its webview shows it, and the messages between the two. */

import type { Evaluation, Graph, Recorded } from "../protocol";
import { oneLine } from "../sanitize";
import { stepSentence } from "../views/next";
import { recordLabel } from "../views/recent";
import { gateLabel, titleOf } from "../views/runs";
import { layout, type Layout } from "./layout";

export interface Details {
  readonly title: string;
  readonly summary: string;
  readonly gates: readonly string[];
  readonly leads: readonly string[];
  readonly produces: readonly string[];
}

export interface Picture {
  readonly root: string;
  readonly run: string;
  readonly title: string;
  readonly summary: string;
  readonly layout: Layout;
  /** By id: what a gate is, and how it stands. */
  readonly gateLabels: Readonly<Record<string, string>>;
  readonly current: string | undefined;
  /** "from\nto" of the step that is suggested, and of the last ones. */
  readonly suggested: string | undefined;
  readonly recentWays: readonly string[];
  /** Ids in the order of the keyboard; gates as "gate:ID". */
  readonly order: readonly string[];
  readonly details: Readonly<Record<string, Details>>;
  readonly recent: readonly string[];
}

/** A picture, or why the one that is shown is not how the run stands now. */
export type ToWebview = { readonly picture: Picture } | { readonly stale: string };

export type FromWebview = { readonly kind: "ready" } | { readonly kind: "gate"; readonly gate: string };

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
    recent: events.filter(isStep).slice(-MAX_RECORDS).reverse().map(recordLabel),
  };
}

/** Claims and questions move no run. */
const isStep = ({ kind }: Recorded): boolean =>
  !["claim", "release", "question", "verified", "refused"].includes(kind ?? "");

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
