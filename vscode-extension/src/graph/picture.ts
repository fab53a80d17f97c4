/** The graph of one run as it is drawn. */

import { gateWord } from "../gate";
import { gateTitle, titleWithId } from "../names";
import { isOver, type Evaluation, type Gate, type Graph } from "../protocol";
import { oneLine } from "../sanitize";
import { stepLabelOf } from "../step";
import { layout, type Layout } from "./layout";

export interface Details {
  readonly title: string;
  readonly summary: string;
  /** What a gate asks for. */
  readonly criteria: readonly { readonly text: string; readonly met: boolean | null }[];
  readonly gates: readonly string[];
  readonly checks: readonly string[];
  readonly leads: readonly string[];
  readonly produces: readonly string[];
}

const gateLabel = (run: Evaluation, gate: Gate): string => `${gateTitle(gate)}: ${gateWord(run, gate)}`;

const gateDetails = (run: Evaluation, gate: Gate): Details => ({
  title: `Gate: ${gateTitle(gate)}`,
  summary: [gateWord(run, gate), oneLine(gate.restsOn)].filter(Boolean).join(", "),
  criteria: gate.criteria,
  gates: [],
  checks: gate.checks.map((check) => oneLine(check.phrase)),
  leads: gate.inForce
    ? gate.forbidden.map((entry) => `not now: ${oneLine(phaseTitle(run, entry.action))} (${oneLine(entry.because)})`)
    : [],
  produces: [],
});

export interface Picture {
  readonly summary: string;
  /** A gate that it did not come to shuts nothing any more. */
  readonly isComplete: boolean;
  readonly layout: Layout;
  /** By id: what a gate is, and how it stands. */
  readonly gateLabels: Readonly<Record<string, string>>;
  readonly current: string | undefined;
  /** "from\nto" of the step that is suggested, and of the last ones. */
  readonly suggested: string | undefined;
  readonly recentWays: readonly string[];
  /** Ids in the order of the keyboard; gates as "gate:ID". */
  readonly order: readonly string[];
  /** By id, gates as in `order`. */
  readonly details: Readonly<Record<string, Details>>;
}

const PHASE = {
  done: "done",
  current: "now",
  ahead: "to come",
  skipped: "skipped",
  detour: "only when needed",
} as const;

const ENDED = { current: "ended here", ahead: "not reached", detour: "not needed" } as const;

/** Where a phase stands in its run: in one that is over none is now, and none is to come. */
export const phaseWords = (state: keyof typeof PHASE, over: boolean): string =>
  over && state in ENDED ? ENDED[state as keyof typeof ENDED] : PHASE[state];

/** A record, as far as it tells where the run was. */
interface Event {
  readonly phase?: string;
}

export const phaseTitle = ({ phases }: Evaluation, id: string): string =>
  phases.find((phase) => phase.id === id)?.title || id;

const MAX_WAYS = 3;

/** `events` are in their order, the oldest first. */
export function pictureOf(run: Evaluation, graph: Graph, events: readonly Event[]): Picture {
  const current = run.currentPhase ?? undefined;
  const next = run.suggestion.suggestedNext;
  return {
    summary: `${current && !isOver(run) ? `In ${oneLine(phaseTitle(run, current))}. ${stepLabelOf(run)}` : oneLine(run.statusReason)}`,
    isComplete: run.status === "complete",
    layout: layout(graph),
    gateLabels: Object.fromEntries(graph.gates.map((gate) => [gate.id, gateLabel(run, gate)])),
    current,
    suggested: current && next && next !== current ? `${current}\n${next}` : undefined,
    recentWays: transitions(graph, events, current).slice(-MAX_WAYS),
    order: graph.phases.flatMap((phase) => [phase.id, ...gatesAfter(graph, phase.id).map((gate) => `gate:${gate.id}`)]),
    details: Object.fromEntries([
      ...graph.phases.map((phase) => [phase.id, detailsOf(run, graph, phase.id)] as const),
      ...graph.gates.map((gate) => [`gate:${gate.id}`, gateDetails(run, gate)] as const),
    ]),
  };
}

const gatesAfter = (graph: Graph, phase: string): Graph["gates"] => graph.gates.filter((gate) => gate.after === phase);

/** The ways between the phases that were reported, one after the other, as far as a rule leads there. */
function transitions(graph: Graph, events: readonly Event[], current: string | undefined): string[] {
  const known = new Set(graph.phases.map((phase) => phase.id));
  const phases = [...events.map((event) => event.phase ?? ""), current ?? ""].filter((phase) => known.has(phase));
  const steps = phases.slice(1).map((phase, at) => `${phases[at]}\n${phase}`);
  const ways = new Set(graph.edges.map((edge) => `${edge.from}\n${edge.to}`));
  return steps.filter((step) => ways.has(step));
}

function detailsOf(run: Evaluation, graph: Graph, id: string): Details {
  const phase = run.phases.find((entry) => entry.id === id);
  const named = (phase: string) =>
    titleWithId(graph.phases.find((entry) => entry.id === phase) ?? { title: "", id: phase });
  const agents = phase?.agents.length ? `, by ${oneLine(phase.agents.join(", "))}` : "";
  return {
    title: named(id),
    summary: `${phase ? phaseWords(phase.state, isOver(run)) : "unknown"}${agents}`,
    criteria: [],
    gates: gatesAfter(graph, id).map((gate) => gateLabel(run, gate)),
    checks: [],
    leads: graph.edges
      .filter((edge) => edge.from === id)
      .map((edge) => `${named(edge.to)}${edge.because ? `: ${oneLine(edge.because)}` : ""}`),
    produces: (phase?.produces ?? []).map((artifact) => `${oneLine(artifact.path)}: ${artifact.state}`),
  };
}
