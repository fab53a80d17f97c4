/** What was recorded of late, newest first, over all runs. */

import { keyOf, type Recorded, type Summary } from "../protocol";
import { plain } from "../text";
import { ASKED, BAD, GOOD, icon, type Icon, type Node } from "./node";
import { titleOf } from "./runs";

export const SHOWN = 50;

export interface RunHistory {
  readonly run: Summary;
  readonly events: readonly Recorded[];
}

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

export function recentNodes(histories: readonly RunHistory[]): Node[] {
  return histories
    .flatMap(({ run, events }) => events.map((event, at) => ({ run, event, at })))
    .sort((one, other) => (one.event.at ?? "") < (other.event.at ?? "") ? 1 : -1)
    .slice(0, SHOWN)
    .map(({ run, event, at }) => recordNode(run, event, at));
}

function recordNode(run: Summary, event: Recorded, at: number): Node {
  const why = event.why || event.message || "";
  const who = [event.actor, event.channel && `(${event.channel})`].filter(Boolean).join(" ");
  return {
    id: `${keyOf(run)}/record/${event.line ?? at}`,
    label: recordSaid(event),
    description: [titleOf(run), moment(event.at)].filter(Boolean).join(" · "),
    tooltip: [recordSaid(event), ...(why ? [plain(why, 600)] : []), plain([who, event.at].filter(Boolean).join(", "))],
    icon: recordIcon(event),
    subject: { root: run.root, run: run.run },
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
