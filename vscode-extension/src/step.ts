/** The next step of a run in a person's words. */

import type { Evaluation, Suggestion } from "./protocol";
import { stepTitle } from "./names";
import { oneLine } from "./sanitize";

/** How many tasks a step names before it counts them. */
const MOST_TASKS = 3;

/** By the title of the phase that the step leads to, where it leads to one: "Fix the failing tasks: 03, 04". */
export function stepLabel(suggestion: Suggestion, nextTitle: string): string {
  const { kind, action, suggestedNext, tasks, phrase } = suggestion;
  const title = stepTitle(suggestedNext ?? "", [{ id: suggestedNext ?? "", title: nextTitle }]);
  // An action has no title in a run.
  if (kind === "act" && title !== suggestedNext) return title;
  if (!suggestedNext || (action && kind !== "act") || !["advance", "regress", "stay"].includes(kind))
    return oneLine(phrase);
  const named = tasks.slice(0, MOST_TASKS).map((task) => shortTask(task, tasks));
  const more = tasks.length > MOST_TASKS ? ` and ${tasks.length - MOST_TASKS} more` : "";
  return `${title}${named.length ? `: ${oneLine(named.join(", "))}${more}` : ""}`;
}

export const stepLabelOf = ({ suggestion, phases }: Evaluation): string =>
  stepLabel(suggestion, phases.find(({ id }) => id === suggestion.suggestedNext)?.title ?? "");

/** A task's number where the ids of all of them begin with one name, else its id: "03" of "reading-lists-03". */
function shortTask(task: string, tasks: readonly string[]): string {
  const [, stem, number] = /^(.*[a-z].*[-_])(\d+)$/i.exec(task) ?? [];
  return stem && number && tasks.every((other) => other.startsWith(stem)) ? number : task;
}
