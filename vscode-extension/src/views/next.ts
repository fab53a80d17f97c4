/** The next step of each run: what, why, on what evidence, and what may be done now. */

import { keyOf, type Summary, type Suggestion } from "../protocol";
import { isOver, runsOf, type Known } from "../store";
import { plain } from "../sanitize";
import { evidenceNodes, firstPlace } from "./evidence";
import { ASKED, BAD, FAINT, NOW, icon, type Icon, type Node } from "./row";
import { namedIn } from "./runs";

const STEP: Record<Suggestion["kind"], Icon> = {
  advance: icon("arrow-right", NOW),
  regress: icon("arrow-left", BAD),
  stay: icon("circle-large-outline", NOW),
  act: icon("play", NOW),
  wait: icon("watch", FAINT),
  escalate: icon("bell-dot", ASKED),
  stop: icon("stop-circle", FAINT),
  none: icon("warning", BAD),
};

/** The step in a few words, as the command line says it. */
export function stepSaid(suggestion: Suggestion): string {
  const next = plain(suggestion.suggestedNext ?? "");
  switch (suggestion.kind) {
    case "advance":
      return `Go on to ${next}`;
    case "regress":
      return `Go back to ${next}`;
    case "stay":
      return `Stay in ${next}`;
    case "act":
      return `Do ${plain(suggestion.action ?? next)}`;
    case "wait":
      return waits(suggestion);
    case "escalate":
      return "A person decides";
    case "stop":
      return "Nothing more to do";
    case "none":
      return "Nothing can be said";
  }
}

function waits(suggestion: Suggestion): string {
  const [who, what] = splitOnce(suggestion.waitingFor ?? "", ": ");
  if (who === "person") return `Wait for a person${what ? `: ${plain(what)}` : ""}`;
  return what ? `Wait: ${plain(what)}` : "Wait";
}

function splitOnce(text: string, by: string): [string, string] {
  const at = text.indexOf(by);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + by.length)];
}

/** What a report of this step is about: the action, or the phase that is being worked in. */
export function stepOf(run: Pick<Summary, "suggestion" | "currentPhase">): string {
  const { action, suggestedNext, kind } = run.suggestion;
  if (kind === "act" && action) return action;
  return (kind === "stay" ? run.currentPhase : suggestedNext) ?? run.currentPhase ?? "";
}

/** Steps are open while there are few enough to be seen at once. */
const MOST_OPEN = 2;

export function nextNodes(known: Known): Node[] {
  const runs = runsOf(known).filter((run) => !isOver(run));
  return runs.map((run) => stepNode(run, namedIn(known, run), runs.length <= MOST_OPEN));
}

function stepNode(run: Summary, named: string, open: boolean): Node {
  const { suggestion } = run;
  const name = { root: run.root, run: run.run };
  const id = `${keyOf(run)}/next`;
  const place = firstPlace(run.root, suggestion.evidence);
  const works = ["advance", "regress", "stay", "act"].includes(suggestion.kind);
  return {
    id,
    label: stepSaid(suggestion),
    description: named,
    tooltip: [`${named}: ${stepSaid(suggestion)}`, plain(suggestion.reason, 400), "Click to open the evidence"].slice(
      0,
      place ? 3 : 2,
    ),
    icon: STEP[suggestion.kind],
    context: [works ? "step" : "", place ? "place" : ""].join(" ").trim(),
    click: place && "openPlace",
    subject: { ...name, step: stepOf(run), place },
    open,
    children: [because(run, id, open), ...toDo(run, id), ...notNow(run, id)],
  };
}

/** The reason, and below it the evidence. */
function because(run: Summary, id: string, open: boolean): Node {
  const { reason, evidence } = run.suggestion;
  const said = reason || run.statusReason || "no reason is given";
  const below = evidenceNodes({ root: run.root, run: run.run }, evidence, id);
  return {
    id: `${id}/why`,
    label: plain(said),
    tooltip: [plain(said, 600)],
    icon: icon("comment"),
    children: below.length ? below : undefined,
    open,
  };
}

function toDo(run: Summary, id: string): Node[] {
  const { suggestion } = run;
  const name = { root: run.root, run: run.run };
  const who: Node[] = suggestion.agents.length
    ? [{ id: `${id}/who`, label: plain(suggestion.agents.join(", ")), description: "who", icon: icon("account") }]
    : [];
  const batches = new Map(suggestion.parallel.flatMap((batch, at) => batch.map((task) => [task, at] as const)));
  const tasks = suggestion.tasks.map((task): Node => ({
    id: `${id}/task/${task}`,
    label: plain(task),
    description: batchSaid(suggestion.parallel, batches.get(task)),
    icon: icon("circle-outline", NOW),
    context: "task-ready",
    subject: { ...name, task },
  }));
  const files = suggestion.produce.map((file, at): Node => ({
    id: `${id}/produce/${at}`,
    label: plain(file.path.split("/").at(-1) ?? file.path),
    description: "to be written",
    tooltip: [plain(file.path, 400), ...(file.example ? [`as ${plain(file.example, 400)}`] : [])],
    icon: icon("new-file"),
    context: "place",
    subject: { ...name, place: { root: run.root, path: file.path, line: null, column: null } },
  }));
  return [...who, ...tasks, ...files];
}

function batchSaid(parallel: readonly (readonly string[])[], at: number | undefined): string {
  if (at === undefined || (parallel.length === 1 && parallel[0]!.length === 1)) return "task";
  const side = parallel[at]!.length > 1 ? "side by side" : "alone";
  return parallel.length === 1 ? `task, ${side}` : `task, batch ${at + 1}, ${side}`;
}

/** What is forbidden now, one row for all that is forbidden for the same reason. */
function notNow(run: Summary, id: string): Node[] {
  const reasons = new Map<string, string[]>();
  for (const { action, because } of run.suggestion.forbidden)
    reasons.set(because, [...(reasons.get(because) ?? []), action]);
  return [...reasons].map(([reason, actions], at) => ({
    id: `${id}/not/${at}`,
    label: `Not now: ${plain(actions.join(", "))}`,
    description: plain(reason),
    tooltip: [`Not now: ${plain(actions.join(", "), 400)}`, plain(reason, 400)],
    icon: icon("circle-slash", FAINT),
  }));
}
