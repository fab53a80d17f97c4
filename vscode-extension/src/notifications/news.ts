/** What a person is told of: each new question and each gate that is violated, once. */

import { keyOf, type RunName, type Summary } from "../protocol";
import { runOf, runsOf, type Known } from "../store";
import { literal } from "../sanitize";
import { titleOf } from "../views/runs";

export interface Notice extends RunName {
  /** The same event has the same key, in this window and after a restart of it. */
  readonly key: string;
  readonly kind: "approval" | "escalation" | "clarification" | "gate";
  readonly text: string;
  /** The question or the gate. */
  readonly about: string;
}

/** More than this at one moment are told as one. */
export const AT_ONCE = 3;

function noticesOf(run: Summary): Notice[] {
  const name = { root: run.root, run: run.run };
  const title = literal(titleOf(run), 60);
  const questions = run.questions.map((question): Notice => ({
    ...name,
    key: `${keyOf(run)}\nquestion\n${question.id}\n${question.since ?? ""}`,
    kind: question.kind,
    text: `${title}: ${literal(question.question)}`,
    about: question.id,
  }));
  const gates = run.gates
    .filter((gate) => gate.status === "failed" && gate.inForce)
    .map((gate): Notice => ({
      ...name,
      key: `${keyOf(run)}\ngate\n${gate.id}`,
      kind: "gate",
      text: `${title}: the gate “${literal(gate.title || gate.id, 80)}” has failed. ${literal(run.suggestion.reason)}`.trim(),
      about: gate.id,
    }));
  return [...questions, ...gates];
}

/**
 * What is to be told now, and the keys that were told or stand open.
 *
 * `before` is what was known until now: a gate is news only of a run that was there before it failed. `seen` are the keys from before, undefined at the first look: what stands open then is in the sidebar and
 * not news. A question that was answered, or a gate that passed, is forgotten, so that it is news when it
 * comes again. Keys of runs that are not known now (a root that is not scanned yet) are kept.
 */
export function notices(
  known: Known,
  before: Known,
  seen: ReadonlySet<string> | undefined,
): { fresh: Notice[]; seen: Set<string> } {
  const runs = runsOf(known);
  const open = runs.flatMap(noticesOf);
  const names = new Set(runs.map(keyOf));
  const elsewhere = [...(seen ?? [])].filter((key) => !names.has(key.split("\n").slice(0, 2).join("\n")));
  const news = seen === undefined ? [] : open.filter((notice) => !seen.has(notice.key));
  const asking = new Set(news.filter((notice) => notice.kind !== "gate").map(keyOf));
  // A question that comes with a gate's failure is about it: one thing is told once.
  const fresh = news.filter(
    (notice) => notice.kind !== "gate" || (!asking.has(keyOf(notice)) && runOf(before, notice)),
  );
  return { fresh, seen: new Set([...elsewhere, ...open.map((notice) => notice.key)]) };
}
