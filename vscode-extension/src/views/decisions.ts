/** What a person can choose between in a decision: options, phases to move to, and a phase to roll back to. */

import type { Evaluation, Graph, Option } from "../protocol";

/** The label of an option, and what follows from it: its text has one before the colon and one behind. */
export function optionLabels(option: Option): { readonly label: string; readonly consequence: string } {
  const [label, ...rest] = option.text.split(": ");
  return { label: label || option.id, consequence: rest.join(": ") };
}

/** The phases that rules lead to from a phase, nearest first, without itself. */
export function reachable(edges: Graph["edges"], from: string): string[] {
  const phases = [from];
  for (const phase of phases)
    for (const edge of edges) if (edge.from === phase && !phases.includes(edge.to)) phases.push(edge.to);
  return phases.slice(1);
}

/** The phase that a finding offers to roll back to; undefined when nothing is inconsistent. */
export function rollBackTo(run: Evaluation): { phase: string; because: string } | undefined {
  for (const finding of run.findings.filter((entry) => !entry.overridden))
    for (const fix of finding.fixes)
      if (fix.command[0] === "redo" && fix.title.startsWith("roll back"))
        return { phase: fix.command[2]!, because: finding.message };
  return undefined;
}
