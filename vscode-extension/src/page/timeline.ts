/** Records in time, the newest first: what each says, what an attempt changed since the one before, who decided why. */

import type { Entry, RunPage, Since } from "./model";
import { phaseTitle } from "../graph/picture";
import type { Evaluation } from "../protocol";
import { element, icon, plural, type Child } from "./dom";
import type { Context } from "./context";
import { pathElement } from "./decide";
import { differenceElement, toggle } from "./documents";
import { timeElement } from "./time";

export function timelinePanel({ timeline, evaluation }: RunPage, context: Context): Child[] {
  const { entries, earlier } = timeline;
  if (entries.length === 0)
    return [
      element(
        "p.empty",
        {},
        "Nothing is recorded yet. Reports, claims and decisions will stand here, the newest first.",
      ),
    ];
  const attempts = attemptsOf(entries);
  return [
    element(
      "ol.timeline",
      {},
      ...entries.map((entry, at) =>
        entryElement(entry, headingOf(entry, evaluation), entries.length - at, attempts, context),
      ),
    ),
    earlier > 0 && element("p.faint", {}, `${plural(earlier, "earlier record")}: phasekeeper history has them all.`),
  ];
}

/** The phases, in their stages, that were tried more than once. */
function attemptsOf(entries: readonly Entry[]): ReadonlySet<string> {
  return new Set(entries.filter((entry) => entry.attempt > 1).map(placeOf));
}

const placeOf = ({ phase, stage }: Entry): string => `${phase}\n${stage}`;

/** What a record says, with the title of its phase; the question of an answer stands below it. */
export const headingOf = ({ kind, sentence, phase }: Entry, run: Evaluation): string =>
  kind === "answer"
    ? sentence.replace(/^Answered .*?: /, "Answered: ")
    : sentence.replace(phase, (id) => phaseTitle(run, id));

function entryElement(
  entry: Entry,
  heading: string,
  number: number,
  attempts: ReadonlySet<string>,
  context: Context,
): HTMLElement {
  const kind = entry.failed ? "failed" : entry.decided ? "decided" : entry.kind;
  const sign = entry.failed ? "failed" : entry.decided ? "person" : entry.kind === "report" ? "done" : "dot";
  const who = [entry.who, entry.channel && `(${entry.channel})`].filter(Boolean).join(" ");
  const about = [
    entry.stage && `stage ${entry.stage}`,
    entry.tasks.length > 0 && `${entry.tasks.length === 1 ? "task" : "tasks"} ${entry.tasks.join(", ")}`,
    who,
  ].filter(Boolean);
  const tried = entry.attempt > 0 && (entry.attempt > 1 || attempts.has(placeOf(entry)));
  return element(
    `li.${kind}`,
    {},
    icon(sign),
    element(
      "div",
      {},
      element(
        "p.when",
        {},
        entry.at ? timeElement(entry.at, entry.recorded ? "" : "written ") : "at an unknown time",
        tried && element("span.badge", {}, `attempt ${entry.attempt}`),
      ),
      element("h3", {}, heading),
      about.length > 0 && element("p.faint", {}, about.join(" · ")),
      entry.asked && element("p", {}, entry.asked),
      entry.message && element("p", {}, entry.message),
      entry.why && element("blockquote", {}, entry.why),
      entry.since && sinceElement(entry, entry.since, `${number}`, context),
      entry.report && element("p.fact", {}, pathElement(entry.report, null, context)),
    ),
  );
}

/** Open where a person has opened it: what is different since the attempt before. */
function sinceElement(entry: Entry, since: Since, key: string, context: Context): HTMLElement {
  const facts = [
    since.outcome !== entry.outcome && `${since.outcome} before, ${entry.outcome} now`,
    ...tasksSince(since.tasks, entry.tasks),
    ...since.changes.map(({ path, how }) => `${path}: ${how}`),
    since.moreChanges > 0 && `${plural(since.moreChanges, "more file")} changed`,
  ].filter((fact): fact is string => typeof fact === "string");
  const compared = since.lines && differenceElement({ ...since, lines: since.lines });
  const opened = context.ui.opened;
  const details = element(
    "details",
    { open: opened.has(key) },
    element("summary", { "data-key": `since/${key}` }, `What is different since attempt ${since.attempt}`),
    facts.length > 0 && element("ul.plain", {}, ...facts.map((fact) => element("li", {}, fact))),
    compared && (since.lines.length > 0 ? compared : element("p.faint", {}, "The two reports say the same.")),
    facts.length === 0 && !compared && element("p.faint", {}, "The records show no difference."),
  ) as HTMLDetailsElement;
  details.addEventListener("toggle", () => {
    if (details.open !== opened.has(key)) toggle(opened, key);
  });
  return details;
}

function tasksSince(before: readonly string[], now: readonly string[]): string[] {
  const gone = before.filter((task) => !now.includes(task));
  const added = now.filter((task) => !before.includes(task));
  return [
    ...(gone.length ? [`named no more: ${gone.join(", ")}`] : []),
    ...(added.length ? [`named now: ${added.join(", ")}`] : []),
  ];
}
