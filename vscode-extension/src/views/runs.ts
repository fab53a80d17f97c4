/** The rows of the runs: each with its plan, its phases with gates and criteria, and its limits. */

import { gateWord } from "../gate";
import { gateTitle, sentence, stepTitle } from "../names";
import {
  canOverride,
  keyOf,
  nameOf,
  type Check,
  type Criterion,
  type Evaluation,
  type Gate,
  type Limit,
  type LostRun,
  type Phase,
  type RunName,
  type Summary,
} from "../protocol";
import { baseName, oneLine, plural } from "../sanitize";
import { isOver, missing, runsOf, type Root, type State } from "../store";
import { inEditor } from "../words";
import { planRows } from "./plan";
import {
  BAD,
  evidenceRows,
  FAINT,
  firstPlace,
  GOOD,
  icon,
  isFilePath,
  moreRows,
  NOW,
  WAITING,
  type Icon,
  type Row,
} from "./row";

type FetchEvaluation = (name: RunName) => Promise<Evaluation | null>;

/** How the runs are listed. */
export interface RunList {
  /** Words that all have to fit: `@waiting`, `@failed`, `@active`, `@done`, or a part of what a run is called. */
  readonly filter: string;
  readonly groupByWorkflow: boolean;
  readonly hidesFinished: boolean;
}

export const PLAIN_LIST: RunList = { filter: "", groupByWorkflow: false, hidesFinished: false };

/** What stands in the way of a run: a failed gate in force, errors, or that nothing can be told of it. */
export const isFailing = (run: Summary): boolean =>
  run.status === "failed" ||
  run.status === "blocked" ||
  run.status === "invalid" ||
  run.findingCounts.error > 0 ||
  run.gates.some((gate) => gate.inForce && gate.status === "failed");

/** What waits for a person first, then what fails, then what goes on, then what waits for a job. */
function urgency(run: Summary): number {
  if (run.questions.length > 0 || run.status === "waiting_human") return 0;
  if (isFailing(run)) return 1;
  return run.status === "waiting" ? 3 : 2;
}

export const byUrgency = (runs: readonly Summary[]): Summary[] =>
  [...runs].sort((one, other) => urgency(one) - urgency(other));

const KINDS: Readonly<Record<string, (run: Summary) => boolean>> = {
  "@waiting": (run) => urgency(run) === 0 && !isOver(run),
  "@failed": isFailing,
  "@active": (run) => run.status === "active",
  "@done": isOver,
};

/** The words before `@` that a filter knows. */
export const FILTER_KINDS = Object.keys(KINDS);

/** Whether every word of a filter fits a run. */
export function fitsFilter(run: Summary, filter: string): boolean {
  const text = [run.title, run.run, run.workflow, run.phaseTitle, run.currentPhase].join("\n").toLowerCase();
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  return words.every((word) => KINDS[word]?.(run) ?? text.includes(word));
}

/** Where no run fits a filter: that it is so, which words it does not know, and a click clears it. */
function noMatchRows(state: State, { filter, hidesFinished }: RunList): Row[] {
  const fitting = runsOf(state).filter((run) => fitsFilter(run, filter));
  if (!filter || fitting.some((run) => !hidesFinished || !isOver(run))) return [];
  const isPartly = [...state.roots.values()].some((root) => missing(root).runs > 0);
  const [unknown] = filter
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word.startsWith("@") && !KINDS[word]);
  const label = fitting.length
    ? "Only finished runs fit, which are hidden"
    : isPartly
      ? "None of the runs shown so far fits"
      : "No run fits";
  const words = unknown && `${oneLine(unknown, 40)} is no state; there are ${FILTER_KINDS.join(", ")}`;
  const clear = "Click to clear the filter";
  return [
    {
      id: "no match",
      label,
      description: words ?? clear,
      tooltip: [`${label}: ${oneLine(filter)}`, ...(words ? [words] : []), clear],
      icon: icon("search-stop", FAINT),
      click: "clearFilter",
    },
  ];
}

/** Runs that went because of what a file says now, above the others; a click opens that file. */
const lostRows = (lost: readonly LostRun[]): Row[] =>
  lost.map((run) => ({
    id: `${keyOf(run)}\nlost`,
    label: titleOf(run),
    description: `no run any more: ${oneLine(run.because)}`,
    tooltip: [
      titleOf(run),
      oneLine(run.path, 400),
      `No run any more: ${oneLine(run.because, 400)}`,
      "Click to open the file; once that is put back, the run is there again",
    ],
    icon: icon("warning", BAD),
    context: "place",
    click: "openPlace",
    subject: { ...nameOf(run), place: { root: run.root, path: run.path, line: null, column: null } },
  }));

/** Top rows: the runs that go on, then those that are over in one row. Several roots get a row each. */
export function runRows(
  state: State,
  fetch: FetchEvaluation,
  list: RunList = PLAIN_LIST,
  lost: readonly LostRun[] = [],
): Row[] {
  const roots = [...state.roots.values()].filter((root) => root.counts.runs > 0);
  if (roots.length === 0) return lostRows(lost);
  const none = [...lostRows(lost), ...noMatchRows(state, list)];
  if (roots.length === 1) return [...none, ...rootRows(roots[0]!, fetch, list)];
  const rows = roots.map((root) => ({
    id: root.root,
    label: rootName(root.root),
    description: plural(root.counts.runs, "run"),
    tooltip: [oneLine(root.root, 400)],
    icon: icon("root-folder"),
    open: true,
    children: rootRows(root, fetch, list),
  }));
  return [...none, ...rows];
}

function rootRows(root: Root, fetch: FetchEvaluation, list: RunList): Row[] {
  const runs = [...root.runs.values()].filter((run) => fitsFilter(run, list.filter));
  const over = runs.filter(isOver).map((run) => runRow(run, fetch));
  const more = missing(root);
  const on = byUrgency(runs.filter((run) => !isOver(run)));
  const going = [
    ...(list.groupByWorkflow ? workflowRows(root, on, fetch) : on.map((run) => runRow(run, fetch))),
    ...moreRows(root.root, "runs", more.going, "going"),
  ];
  if (list.hidesFinished || over.length + more.over === 0) return going;
  const finished: Row = {
    id: `${root.root}\nfinished`,
    label: "Finished",
    description: `${over.length + more.over}`,
    icon: icon("archive"),
    children: [...over, ...moreRows(root.root, "runs", more.over, "over")],
  };
  return [...going, finished];
}

/** A row for each workflow with its runs, the most urgent first. */
function workflowRows(root: Root, runs: readonly Summary[], fetch: FetchEvaluation): Row[] {
  const groups = new Map<string, Summary[]>();
  for (const run of runs) groups.set(run.workflow, [...(groups.get(run.workflow) ?? []), run]);
  return [...groups].map(([workflow, members]) => ({
    id: `${root.root}\nworkflow/${workflow}`,
    label: oneLine(workflow, 80),
    description: plural(members.length, "run"),
    icon: icon("list-tree"),
    open: true,
    children: members.map((run) => runRow(run, fetch)),
  }));
}

/** A run's title, and its root where several have runs. */
export function titleIn(state: State, run: Summary): string {
  const several = [...state.roots.values()].filter((root) => root.counts.runs > 0).length > 1;
  return several ? `${titleOf(run)} · ${rootName(run.root)}` : titleOf(run);
}

const rootName = (root: string): string => oneLine(baseName(root.replaceAll("\\", "/")), 40);

export const titleOf = (run: { title: string; run: string }): string => oneLine(run.title || baseName(run.run), 80);

function runRow(run: Summary, fetch: FetchEvaluation): Row {
  return {
    id: keyOf(run),
    label: titleOf(run),
    description: runDescription(run),
    tooltip: [
      titleOf(run),
      oneLine(run.run, 400),
      `${oneLine(run.workflow)}: ${STATUS[run.status].label}`,
      ...(run.statusReason ? [oneLine(run.statusReason, 400)] : []),
      ...findingCounts(run),
    ],
    icon: runIcon(run),
    iconLabel: isOver(run) ? undefined : STATUS[run.status].label,
    context: runContext(run),
    subject: nameOf(run),
    revision: run.revision,
    children: async () => {
      const evaluation = await fetch(nameOf(run));
      return evaluation ? runDetails(evaluation) : [];
    },
  };
}

/**
 * What menus look for: with a run that is over nothing more is done, but that an inconsistent one goes back, and that
 * one which a person stopped is taken up again.
 */
const runContext = (run: Summary): string =>
  [
    "run",
    isOver(run) ? "" : "going",
    canOverride(run) ? "overridable" : "",
    isOver(run) && run.findingCounts.error === 0 ? "" : "revertible",
  ]
    .filter(Boolean)
    .join(" ");

/** A run that could go on and has errors, or whose gate has failed, does not look like a healthy one. */
function runIcon(run: Summary): Icon {
  const { icon: usual } = STATUS[run.status];
  return run.status === "active" && isFailing(run) ? icon("warning", BAD) : usual;
}

function runDescription(run: Summary): string {
  const progress = run.progress && run.progress.total > 0 ? `${run.progress.done}/${run.progress.total}` : "";
  const phase = whereOf(run);
  const { error } = run.findingCounts;
  const errors = error ? plural(error, "error") : "";
  const unknown = run.unknownMarks ? `${plural(run.unknownMarks, "mark")} unknown` : "";
  return [errors, progress, phase, unknown].filter(Boolean).join(" · ");
}

/** Where a run stands: in which phase, or how it ended. The phase that was last in one that is over is past. */
export const whereOf = (run: Summary): string =>
  isOver(run) ? endOf(run) : oneLine(run.phaseTitle || (run.currentPhase ?? ""), 60);

/** How a run ended, and what became of it where the server says more than that. */
function endOf(run: Summary): string {
  const { label } = STATUS[run.status];
  return endReason(run) ? `${label}: ${endReason(run, 80)}` : label;
}

const endReason = ({ statusReason }: Summary, limit = 400): string =>
  statusReason.startsWith("the run is ") ? "" : oneLine(inEditor(statusReason), limit);

const ENDINGS: Partial<Record<Summary["status"], string>> = {
  complete: "it is complete",
  failed: "it failed",
  exited: "it was ended",
};

/** How a run ended, as a sentence: "it failed, the budget is spent". */
export const endedWords = (run: Summary): string =>
  [ENDINGS[run.status] ?? STATUS[run.status].label, endReason(run)].filter(Boolean).join(", ");

function findingCounts(run: Summary): string[] {
  const { error, warning } = run.findingCounts;
  const counts = [error && plural(error, "error"), warning && plural(warning, "warning")].filter(Boolean);
  return counts.length ? [counts.join(", ")] : [];
}

export const STATUS: Record<Summary["status"], { label: string; icon: Icon }> = {
  active: { label: "active", icon: icon("play-circle", NOW) },
  waiting: { label: "waits for a job", icon: icon("clock") },
  waiting_human: { label: "waits for you", icon: icon("bell-dot", WAITING) },
  blocked: { label: "blocked", icon: icon("circle-slash", BAD) },
  complete: { label: "complete", icon: icon("pass-filled", GOOD) },
  failed: { label: "failed", icon: icon("error", BAD) },
  exited: { label: "ended", icon: icon("stop-circle") },
  invalid: { label: "cannot be told", icon: icon("warning", BAD) },
};

/** Below a run: phases with gates, limits in use, the plan. */
export function runDetails(run: Evaluation): Row[] {
  const id = keyOf(run);
  const phases = run.phases.map((phase) => phaseRow(run, phase, id));
  const limits = run.limits.filter((limit) => (limit.count ?? 0) > 0).map((limit) => limitRow(limit, id));
  return [...planRows(run, id), ...phases, ...limits];
}

/** Of a run that is over: nothing is done now where it ended, and nothing is to come. */
const ENDED: Partial<Record<Phase["state"], { label: string; icon: Icon }>> = {
  current: { label: "ended here", icon: icon("stop-circle") },
  ahead: { label: "not reached", icon: icon("circle-outline", FAINT) },
  detour: { label: "not needed", icon: icon("git-branch", FAINT) },
};

const PHASE: Record<Phase["state"], { label: string; icon: Icon }> = {
  done: { label: "done", icon: icon("check", GOOD) },
  current: { label: "now", icon: icon("arrow-right", NOW) },
  ahead: { label: "to come", icon: icon("circle-outline", FAINT) },
  skipped: { label: "skipped", icon: icon("debug-step-over", FAINT) },
  detour: { label: "only when needed", icon: icon("git-branch", FAINT) },
};

/** Whether a phase's title has its id in it, as a word or the beginning of one: "Test" has `test`. */
const saysId = ({ title, id }: Phase): boolean => !title || ` ${wordsIn(title)}`.includes(` ${wordsIn(id)}`);

const wordsIn = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, " ")
    .trim();

function phaseRow(run: Evaluation, phase: Phase, id: string): Row {
  const own = `${id}/phase/${phase.id}`;
  const isCurrent = phase.state === "current";
  const shown = (isOver(run) ? ENDED[phase.state] : undefined) ?? PHASE[phase.state];
  const gates = run.gates.filter((gate) => gate.after === phase.id).map((gate) => gateRow(run, gate, own));
  const produces = phase.produces.map((artifact, index): Row => {
    const bad = artifact.state === "invalid" || artifact.state === "unreadable";
    return {
      id: `${own}/artifact/${index}`,
      label: oneLine(baseName(artifact.path)),
      description: artifact.state,
      tooltip: [oneLine(artifact.path, 400), `${oneLine(artifact.artifact)}: ${artifact.state}`],
      icon: artifact.state === "valid" ? icon("file", GOOD) : icon("file", bad ? BAD : FAINT),
      ...(isFilePath(artifact.path) && { context: "place", click: "openPlace" as const }),
      subject: {
        ...nameOf(run),
        place: { root: run.root, path: artifact.path, line: null, column: null },
        // What was never to be written in a run that is over is not offered to be.
        ...(!isOver(run) && {
          example: run.suggestion.produce.find(({ path }) => path === artifact.path)?.example ?? "",
        }),
      },
    };
  });
  return {
    id: own,
    label: oneLine(phase.title || phase.id),
    description: [isCurrent ? shown.label : "", saysId(phase) ? "" : oneLine(phase.id)].filter(Boolean).join(" · "),
    tooltip: [
      `${oneLine(phase.title)}: ${shown.label}${onWhat(phase)}`,
      ...(phase.agents.length ? [`by ${oneLine(phase.agents.join(", "))}`] : []),
    ],
    icon: shown.icon,
    iconLabel: isCurrent ? undefined : shown.label,
    context: "phase",
    subject: { ...nameOf(run), step: phase.id },
    open: isCurrent,
    children: gates.length + produces.length ? [...produces, ...gates] : undefined,
  };
}

export const GATE: Record<Gate["status"], Icon> = {
  passed: icon("unlock", GOOD),
  failed: icon("lock", BAD),
  open: icon("lock"),
  waived: icon("unlock", WAITING),
  "not-reached": icon("lock", FAINT),
};

/** Behind a verdict, on what it rests: ", as codex reported; no file shows it". */
const onWhat = ({ restsOn }: Pick<Gate, "restsOn">): string => (restsOn ? `, ${oneLine(restsOn, 200)}` : "");

function gateRow(run: Evaluation, gate: Gate, id: string): Row {
  const own = `${id}/gate/${gate.id}`;
  return {
    id: own,
    label: `Gate: ${gateTitle(gate)}`,
    description: `${gateWord(run, gate)}${onWhat(gate)}`,
    tooltip: [
      `${gateTitle(gate)}: ${gateWord(run, gate)}${onWhat(gate)}`,
      ...(gate.inForce
        ? gate.forbidden.map((entry) => `not now: ${stepTitle(entry.action, run.phases)} (${oneLine(entry.because)})`)
        : []),
    ],
    icon: GATE[gate.status],
    // One with checks that the root declares has a button that runs them.
    context: !isOver(run) && gate.checks.some((check) => check.line !== null) ? "gate checked" : "gate",
    subject: { ...nameOf(run), gate: gate.id },
    open: gate.status === "failed" || (gate.status === "open" && gate.inForce),
    children: [
      ...gate.criteria.map((criterion, index) => criterionRow(run, criterion, `${own}/${index}`)),
      ...gate.checks.map((check) => checkRow(run, check, `${own}/check/${check.name}`)),
    ],
  };
}

export const CHECK: Record<Check["result"], Icon> = {
  passed: icon("pass", GOOD),
  failed: icon("error", BAD),
  stale: icon("history", WAITING),
  missing: icon("circle-outline", WAITING),
  running: icon("sync", NOW),
  untrusted: icon("shield", WAITING),
};

/** A check of a gate: its result and why; a click opens what made it stale, else where it is declared. */
function checkRow(run: Evaluation, check: Check, id: string): Row {
  const [changed] = check.changed;
  const at = changed ? { path: changed.path, line: changed.line, column: null } : check;
  const place = at.path === null ? undefined : { root: run.root, path: at.path, line: at.line, column: at.column };
  const measured = check.measuredAt ? [`measured ${new Date(check.measuredAt).toLocaleString()}`] : [];
  return {
    id,
    label: `Check: ${oneLine(check.name, 80)}`,
    description: `${check.result}: ${oneLine(inEditor(check.reason))}`,
    tooltip: [oneLine(check.phrase, 400), ...measured],
    icon: CHECK[check.result],
    iconLabel: check.result,
    ...(place && { context: "place", click: "openPlace" as const }),
    subject: { ...nameOf(run), place },
  };
}

export const criterionLabel = ({ met }: Criterion): string =>
  met === null ? "no evidence yet" : met ? "met" : "not met";

function criterionRow(run: Evaluation, criterion: Criterion, id: string): Row {
  const { met, basis } = criterion;
  const label = criterionLabel(criterion);
  const place = firstPlace(run.root, criterion.evidence);
  return {
    id,
    label: oneLine(criterion.text),
    description: label,
    tooltip: [oneLine(criterion.text, 400), basis ? `${label}: ${basis}` : label],
    icon: met === null ? icon("question", FAINT) : met ? icon("check", GOOD) : icon("close", BAD),
    ...(place && { context: "place", click: "openPlace" as const }),
    subject: { ...nameOf(run), place },
    children: criterion.evidence.length ? evidenceRows(run, criterion.evidence, id) : undefined,
  };
}

function limitRow(limit: Limit, id: string): Row {
  return {
    id: `${id}/limit/${limit.id}`,
    label: sentence(limit.id),
    description: limit.max === null ? `${limit.count}, no maximum` : `${limit.count} of at most ${limit.max}`,
    icon: icon("dashboard", limit.reached ? BAD : undefined),
    iconLabel: limit.reached ? "reached" : undefined,
  };
}
