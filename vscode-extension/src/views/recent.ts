/** The rows of the newest records of all journals, newest first. */

import { keyOf, nameOf, type Recorded, type RunName } from "../protocol";
import { sentence, tasksNamed } from "../names";
import { oneLine } from "../sanitize";
import { runOf, type State } from "../store";
import { BAD, GOOD, icon, WAITING, type Icon, type Row } from "./row";
import { titleIn, titleOf } from "./runs";

export const MAX_RECORDS = 50;

const ICONS: Record<string, Icon> = {
  start: icon("rocket"),
  answer: icon("account", WAITING),
  override: icon("debug-step-over", WAITING),
  adopt: icon("verified", WAITING),
  claim: icon("person-add"),
  release: icon("person"),
  transition: icon("discard"),
  question: icon("bell", WAITING),
  violation: icon("error", BAD),
  refused: icon("circle-slash", BAD),
};
/** Outcomes that say that the work did not succeed. */
export const FAILED_OUTCOMES = new Set(["fail", "failed", "error", "blocked"]);

/** A row for each record, in the order they came in: newest first. */
export const recentRows = (state: State, events: readonly (Recorded & RunName)[]): Row[] =>
  events.map((event) => {
    const run = runOf(state, event);
    return recordRow(event, run ? titleIn(state, run) : titleOf({ title: "", run: event.run }));
  });

function recordRow(event: Recorded & RunName, title: string): Row {
  const why = event.why || event.message || "";
  const who = [event.actor, event.channel && `(${event.channel})`].filter(Boolean).join(" ");
  return {
    id: `${keyOf(event)}/record/${event.line}`,
    label: recordLabel(event),
    description: [title, formatMinute(event.at)].filter(Boolean).join(" · "),
    tooltip: [
      recordLabel(event),
      ...(why ? [oneLine(why, 600)] : []),
      oneLine([who, formatMinute(event.at)].filter(Boolean).join(", ")),
      "Click to show the timeline of the run",
    ],
    icon: recordIcon(event),
    click: "showTimeline",
    subject: nameOf(event),
  };
}

function recordIcon(event: Recorded): Icon {
  if (event.kind !== "report") return ICONS[event.kind ?? ""] ?? icon("circle-small");
  return FAILED_OUTCOMES.has(event.outcome ?? "") ? icon("close", BAD) : icon("check", GOOD);
}

/** What was chosen in an answer, in the words of its option. */
export const chosenLabel = ({ option = "", options = [] }: Recorded): string =>
  options.find(({ id }) => id === option)?.text.split(": ")[0] || option;

/** A record in a few words. */
export function recordLabel(event: Recorded): string {
  const titles = new Map(Object.entries(event.taskTitles ?? {}));
  const tasks = event.tasks?.length ? ` (${tasksNamed(event.tasks, titles)})` : "";
  const task = tasksNamed(event.task ? [event.task] : [], titles);
  const titleOf = (id: string | undefined): string => event.phaseTitles?.[id ?? ""] || (id ?? "");
  const phase = titleOf(event.phase);
  const next = titleOf(event.next ?? event.phase);
  switch (event.kind) {
    case "report":
      return oneLine(`${phase}: ${event.outcome ?? ""}${tasks}`);
    case "answer":
      return oneLine(`${event.asked || sentence(event.question ?? "")}: ${chosenLabel(event)}`.replace("?:", "?"));
    case "override":
      return oneLine(`Overridden: now in ${next}`);
    case "transition":
      return oneLine(`To be done again: ${next}`);
    case "claim":
      return oneLine(`${task} claimed by ${event.actor ?? ""}`);
    case "release":
      return oneLine(`${task} given back by ${event.actor ?? ""}`);
    case "start":
      return oneLine(event.phase ? `${phase}: started` : `Started as ${event.workflow ?? "a run"}`);
    case "question":
      return oneLine(`Asked: ${event.message || sentence(event.question ?? "")}`);
    case "violation":
      return oneLine(`Gate violated: ${event.message || phase}`);
    case "refused":
      return oneLine(`${phase}: refused${tasks}${event.why ? `, ${event.why}` : ""}`);
    default:
      return oneLine(`${event.kind ?? "record"} ${phase}`.trim());
  }
}

/** The day and minute of an ISO time, in the time zone of the reader. */
export function formatMinute(at: string | undefined): string {
  const time = at ? new Date(at) : undefined;
  if (!time || Number.isNaN(time.getTime())) return "";
  const two = (value: number): string => String(value).padStart(2, "0");
  const day = `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
  return `${day} ${two(time.getHours())}:${two(time.getMinutes())}`;
}
