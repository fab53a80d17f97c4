/** What was recorded of late, newest first, over all runs. */

import { keyOf, type Recorded, type Remembered } from "../protocol";
import { runOf, type Known } from "../store";
import { plain } from "../sanitize";
import { ASKED, BAD, GOOD, icon, type Icon, type Node } from "./row";
import { namedIn, titleOf } from "./runs";

/** So many records are shown. */
export const SHOWN = 50;

const ICONS: Record<string, Icon> = {
  start: icon("rocket"),
  answer: icon("account", ASKED),
  override: icon("debug-step-over", ASKED),
  adopt: icon("verified", ASKED),
  claim: icon("person-add"),
  release: icon("person"),
  transition: icon("discard"),
  question: icon("bell", ASKED),
  violation: icon("error", BAD),
};
/** Outcomes that say that the work did not succeed. */
export const FAILED = new Set(["fail", "failed", "error", "blocked"]);

/** A row for each record, in the order they came in: newest first. */
export const recentNodes = (known: Known, events: readonly Remembered[]): Node[] =>
  events.map((event) => {
    const run = runOf(known, event);
    return recordNode(event, run ? namedIn(known, run) : titleOf({ title: "", run: event.run }));
  });

function recordNode(event: Remembered, named: string): Node {
  const { root, run: path } = event;
  const why = event.why || event.message || "";
  const who = [event.actor, event.channel && `(${event.channel})`].filter(Boolean).join(" ");
  return {
    id: `${keyOf(event)}/record/${event.line}`,
    label: recordSaid(event),
    description: [named, moment(event.at)].filter(Boolean).join(" · "),
    tooltip: [recordSaid(event), ...(why ? [plain(why, 600)] : []), plain([who, event.at].filter(Boolean).join(", "))],
    icon: recordIcon(event),
    subject: { root, run: path },
  };
}

function recordIcon(event: Recorded): Icon {
  if (event.kind !== "report") return ICONS[event.kind ?? ""] ?? icon("circle-small");
  return FAILED.has(event.outcome ?? "") ? icon("close", BAD) : icon("check", GOOD);
}

/** A record in a few words. */
export function recordSaid(event: Recorded): string {
  const tasks = event.tasks?.length ? ` (${event.tasks.join(", ")})` : "";
  switch (event.kind) {
    case "report":
      return plain(`${event.phase ?? ""}: ${event.outcome ?? ""}${tasks}`);
    case "answer":
      return plain(`${event.question ?? ""}: ${event.option ?? ""}`);
    case "override":
      return plain(`Overridden: now in ${event.next ?? event.phase ?? ""}`);
    case "transition":
      return plain(`To be done again: ${event.next ?? event.phase ?? ""}`);
    case "claim":
      return plain(`${event.task ?? ""} claimed by ${event.actor ?? ""}`);
    case "release":
      return plain(`${event.task ?? ""} given back by ${event.actor ?? ""}`);
    case "start":
      return plain(event.phase ? `${event.phase}: started` : `Started as ${event.workflow ?? "a run"}`);
    case "question":
      return plain(`Asked: ${event.question || event.message || ""}`);
    case "violation":
      return plain(`Gate violated: ${event.message || event.phase || ""}`);
    default:
      return plain(`${event.kind ?? "record"} ${event.phase ?? ""}`.trim());
  }
}

/** The day and minute of an ISO time, in the time zone of the reader. */
function moment(at: string | undefined): string {
  const time = at ? new Date(at) : undefined;
  if (!time || Number.isNaN(time.getTime())) return "";
  const two = (value: number): string => String(value).padStart(2, "0");
  const day = `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
  return `${day} ${two(time.getHours())}:${two(time.getMinutes())}`;
}
