/** News for a person: each new question and each gate that fails, once. */

import { keyOf, nameOf, type RunName, type Summary } from "../protocol";
import { gateTitle } from "../names";
import { escapeLabel } from "../sanitize";
import { runOf, runsOf, type State } from "../store";
import { titleOf } from "./runs";

export interface Notice extends RunName {
  /** The same event has the same key, in this window and after a restart of it. */
  readonly key: string;
  readonly kind: "approval" | "escalation" | "clarification" | "gate";
  readonly text: string;
  /** The question or the gate. */
  readonly about: string;
}

/** More than this at one moment are shown as one notification. */
export const MAX_AT_ONCE = 3;

function noticesOf(run: Summary): Notice[] {
  const name = nameOf(run);
  const title = escapeLabel(titleOf(run), 60);
  const questions = run.questions.map((question): Notice => ({
    ...name,
    key: `${keyOf(run)}\nquestion\n${question.id}\n${question.since ?? ""}`,
    kind: question.kind,
    text: `${title}: ${escapeLabel(question.question)}`,
    about: question.id,
  }));
  const gates = run.gates
    .filter((gate) => gate.status === "failed" && gate.inForce)
    .map((gate): Notice => ({
      ...name,
      key: `${keyOf(run)}\ngate\n${gate.id}`,
      kind: "gate",
      text: `${title}: not met at the gate “${escapeLabel(gateTitle(gate), 80)}”${run.suggestion.reason && `: ${escapeLabel(run.suggestion.reason)}`}`,
      about: gate.id,
    }));
  return [...questions, ...gates];
}

/**
 * The notices that are new, and the keys of all that were new once or stand open.
 *
 * A gate is news only of a run that `before` has: one that was there before it failed. `seen` are the keys of
 * the last call, undefined at the first: what stands open then is in the sidebar and not news. A question that
 * was answered, or a gate that passed, is forgotten, so that it is news when it comes again. Keys of runs that
 * `state` does not have (a root that is not scanned yet) are kept.
 */
export function findNews(
  state: State,
  before: State,
  seen: ReadonlySet<string> | undefined,
): { fresh: Notice[]; seen: Set<string> } {
  const runs = runsOf(state);
  const open = runs.flatMap(noticesOf);
  const names = new Set(runs.map(keyOf));
  const otherKeys = [...(seen ?? [])].filter((key) => !names.has(key.split("\n").slice(0, 2).join("\n")));
  // What only came with a further page is not new.
  const isHeldAnew = (name: RunName): boolean =>
    !runOf(before, name) && before.roots.get(name.root)?.version === state.roots.get(name.root)?.version;
  const news = seen === undefined ? [] : open.filter((notice) => !seen.has(notice.key) && !isHeldAnew(notice));
  const asking = new Set(news.filter((notice) => notice.kind !== "gate").map(keyOf));
  // A question that comes with a gate's failure is about it: one thing is shown once.
  const fresh = news.filter(
    (notice) => notice.kind !== "gate" || (!asking.has(keyOf(notice)) && runOf(before, notice)),
  );
  return { fresh, seen: new Set([...otherKeys, ...open.map((notice) => notice.key)]) };
}

/** Those that the setting lets through: `all`, `questions` alone, or `none`; it was once true or false. */
export function wantedNotices(fresh: readonly Notice[], setting: unknown): readonly Notice[] {
  if (setting === "none" || setting === false) return [];
  return setting === "questions" ? fresh.filter(({ kind }) => kind !== "gate") : fresh;
}
