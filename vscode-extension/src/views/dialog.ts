/** What a person reads before deciding; all of it from the evaluation. */

import type { Evaluation, GraphEdge, Option, Question } from "../protocol";
import { plain } from "../sanitize";
import { historySaid } from "./waiting";
import { GATE, titleOf } from "./runs";

export interface Dialog {
  readonly message: string;
  readonly detail: string;
}

const MOST_HISTORY = 6;

/** What an option is, for a row or a button, and what that brings; its text has the one before a colon, the other behind. */
export function optionSaid(option: Option): { readonly what: string; readonly brings: string } {
  const [what, ...brings] = option.text.split(": ");
  return { what: what || option.id, brings: brings.join(": ") };
}

export function questionDialog(run: Evaluation, question: Question): Dialog {
  const options = question.options.map((option) => `• ${plain(option.id)}: ${plain(option.text, 300)}`);
  const history = question.history.slice(-MOST_HISTORY).map((entry) => `• ${historySaid(entry, 300)}`);
  return {
    message: plain(question.question, 400),
    detail: [
      ...head(run),
      ...block("About", question.tasks.length ? [plain(question.tasks.join(", "), 300)] : []),
      ...block("What led to it", history),
      ...block("Options", options),
    ].join("\n"),
  };
}

export function overrideDialog(run: Evaluation, to: string): Dialog {
  const undone = leftUndone(run, to);
  const shut = run.gates.filter((gate) => {
    const passed = gate.status === "passed" || gate.status === "waived";
    return (
      !passed && (undone.some((phase) => phase.id === gate.after) || (gate.inForce && gate.status !== "not-reached"))
    );
  });
  const gates = shut.map((gate) => `• ${plain(gate.title || gate.id)}: ${GATE[gate.status].said}`);
  const findings = run.findings
    .filter((found) => found.severity === "error")
    .map((found) => `• ${plain(found.message, 300)}`);
  return {
    message: `Move ${titleOf(run)} from ${plain(run.currentPhase ?? "an unknown phase")} to ${plain(to)}, against what the files say?`,
    detail: [
      ...head(run),
      ...block("Phases that this leaves undone", undone.map(phaseSaid)),
      ...block("Gates that this goes past", gates),
      ...block("Errors", findings),
      "",
      "It is recorded who decided, and why. Findings stay, marked as overridden.",
    ].join("\n"),
  };
}

/** From the present phase on to the one before `to`: what is not done; nothing on the way back. */
function leftUndone(run: Evaluation, to: string): Evaluation["phases"] {
  const at = (id: string | null): number => run.phases.findIndex((phase) => phase.id === id);
  const between = run.phases.slice(Math.max(0, at(run.currentPhase)), Math.max(0, at(to)));
  return between.filter((phase) => phase.state !== "done" && phase.state !== "detour");
}

const phaseSaid = ({ id, title }: Evaluation["phases"][number]): string =>
  `• ${plain(id)}${title && title !== id ? `: ${plain(title)}` : ""}`;

function head(run: Evaluation): string[] {
  return [
    `${titleOf(run)} (${plain(run.workflow)})`,
    plain(run.run, 400),
    `Phase: ${plain(run.currentPhase ?? "unknown")}. ${plain(run.statusReason, 300)}`,
  ];
}

function block(title: string, lines: readonly string[]): string[] {
  return lines.length ? ["", `${title}:`, ...lines] : [];
}

/** The phases that rules lead to from a phase, nearest first. */
export function reachable(edges: readonly GraphEdge[], from: string): string[] {
  const found = [from];
  for (const phase of found)
    for (const edge of edges) if (edge.from === phase && !found.includes(edge.to)) found.push(edge.to);
  return found.slice(1);
}

/** The phase that a finding offers to roll back to; undefined when nothing is inconsistent. */
export function rollBackTo(run: Evaluation): { phase: string; because: string } | undefined {
  for (const finding of run.findings.filter((entry) => !entry.overridden))
    for (const fix of finding.fixes)
      if (fix.command[0] === "redo" && fix.title.startsWith("roll back"))
        return { phase: fix.command[2]!, because: finding.message };
  return undefined;
}
