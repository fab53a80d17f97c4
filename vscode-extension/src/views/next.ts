/** The rows of the next steps: what, why, on what evidence, and what may be done now. */

import { keyOf, nameOf, type Requirement, type Suggestion, type Summary } from "../protocol";
import { titleWithId } from "../names";
import { baseName, oneLine } from "../sanitize";
import { stepLabel } from "../step";
import { isOver, missing, runsOf, type State } from "../store";
import {
  BAD,
  evidenceRows,
  FAINT,
  firstPlace,
  icon,
  isFilePath,
  moreRows,
  NOW,
  WAITING,
  type Icon,
  type Row,
} from "./row";
import { byUrgency, titleIn } from "./runs";
import { inEditor } from "../words";

const ICONS: Record<Suggestion["kind"], Icon> = {
  advance: icon("arrow-right", NOW),
  regress: icon("arrow-left", BAD),
  stay: icon("circle-large-outline", NOW),
  act: icon("play", NOW),
  wait: icon("clock", FAINT),
  escalate: icon("bell-dot", WAITING),
  stop: icon("stop-circle", FAINT),
  none: icon("warning", BAD),
};

/** The step and its reason on one line. */
export const stepSentence = ({ suggestion, nextTitle }: Summary): string =>
  [stepLabel(suggestion, nextTitle), oneLine(suggestion.reason, 300)].filter(Boolean).join(": ");

/** What a report is about unless a person says otherwise: the suggested step, else the present phase. */
export const stepOf = (run: Pick<Summary, "suggestion" | "currentPhase">): string =>
  run.suggestion.reports[0]?.step ?? run.currentPhase ?? "";

/** Steps are open while there are few enough to be seen at once. */
const MOST_OPEN = 2;

/** What can be done now. A run that only waits for an answer is among what waits, and has no row here. */
export function nextRows(state: State): Row[] {
  const runs = runsOf(state).filter((run) => !isOver(run) && !onlyWaits(run));
  return [
    ...byUrgency(runs).map((run) => stepRow(run, titleIn(state, run), runs.length <= MOST_OPEN)),
    ...[...state.roots.values()].flatMap((root) => moreRows(root.root, "next", missing(root).going, "going")),
  ];
}

export const onlyWaits = ({ suggestion, questions }: Summary): boolean =>
  questions.length > 0 && (suggestion.kind === "wait" || suggestion.kind === "escalate");

/** Words that say of a step no more than that it is one. */
const SAYS_NOTHING: ReadonlySet<string> = new Set("a and be do done go in is it next now of on the then to".split(" "));

/** Why a step is suggested; "" where that says no more than what the step is called. */
function reasonBeside({ suggestion, statusReason, phaseTitle, nextTitle }: Summary, label: string): string {
  const reason = inEditor(suggestion.reason || statusReason);
  const said = new Set(wordsOf([label, suggestion.phrase, suggestion.suggestedNext, phaseTitle, nextTitle].join(" ")));
  return wordsOf(reason).every((word) => said.has(word) || SAYS_NOTHING.has(word)) ? "" : reason;
}

const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];

function stepRow(run: Summary, title: string, open: boolean): Row {
  const { suggestion } = run;
  const name = nameOf(run);
  const id = `${keyOf(run)}/next`;
  const label = stepLabel(suggestion, run.nextTitle);
  const place = firstPlace(run.root, suggestion.evidence);
  const takesUp = suggestion.overrideTo !== null;
  const works = ["advance", "regress", "stay", "act"].includes(suggestion.kind);
  return {
    id,
    label,
    description: [title, oneLine(reasonBeside(run, label))].filter(Boolean).join(" · "),
    tooltip: [
      `${title}: ${label}`,
      oneLine(inEditor(suggestion.reason), 400),
      ...whatToDo(suggestion),
      ...(takesUp ? ["Click to take it up again"] : place ? ["Click to open the evidence"] : []),
    ],
    icon: ICONS[suggestion.kind],
    iconLabel: suggestion.kind === "regress" ? "goes back" : undefined,
    context: [works ? "step" : "", place ? "place" : ""].join(" ").trim(),
    click: takesUp ? "overrideGate" : place && "openPlace",
    subject: { ...name, step: stepOf(run), place, ...(takesUp && { to: suggestion.overrideTo }) },
    open,
    children: [...evidenceRow(run, id), ...workRows(run, id), ...forbiddenRows(run, id)],
  };
}

function evidenceRow(run: Summary, id: string): Row[] {
  const children = evidenceRows(run, run.suggestion.evidence, id);
  if (children.length === 0) return [];
  return [{ id: `${id}/why`, label: "Evidence", icon: icon("search"), children, open: children.length === 1 }];
}

function workRows(run: Summary, id: string): Row[] {
  const { suggestion } = run;
  const name = nameOf(run);
  const who: Row[] = suggestion.agents.length
    ? [{ id: `${id}/who`, label: oneLine(suggestion.agents.join(", ")), description: "who", icon: icon("account") }]
    : [];
  const batches = new Map(suggestion.parallel.flatMap((batch, at) => batch.map((task) => [task, at] as const)));
  const tasks = suggestion.tasks.map((task): Row => ({
    id: `${id}/task/${task}`,
    label: oneLine(run.taskTitles[task] || task, 80),
    description: [run.taskTitles[task] ? oneLine(task) : "", batchLabel(suggestion.parallel, batches.get(task))]
      .filter(Boolean)
      .join(" · "),
    icon: icon("circle-outline", NOW),
    context: "task-ready task-due",
    subject: { ...name, task },
  }));
  const files = suggestion.produce.map((file, at): Row => ({
    id: `${id}/produce/${at}`,
    label: oneLine(baseName(file.path)),
    description: file.revise ? "to be revised" : "to be written",
    tooltip: [oneLine(file.path, 400), ...(file.example ? [`as ${oneLine(file.example, 400)}`] : [])],
    icon: icon(file.revise ? "edit" : "new-file"),
    ...(isFilePath(file.path) && { context: "place", click: "openPlace" as const }),
    subject: {
      ...name,
      place: { root: run.root, path: file.path, line: null, column: null },
      example: file.example ?? "",
    },
  }));
  return [...who, ...tasks, ...files, ...neededRows(run, id)];
}

/** What a report of the step still needs. What is there needs no mention; its text is asked for when it is made. */
export const needsOf = ({ reports }: Suggestion): readonly Requirement[] =>
  (reports[0]?.brings ?? []).filter(({ kind, met }) => kind !== "report" && !met);

/** What is written at first into a file that a report needs; undefined for one that is not to be made. */
export const exampleFor = (kind: Requirement["kind"]): "" | undefined => (kind === "files" ? "" : undefined);

/** What the definition says of the step, which tells what its files hold. */
const whatToDo = ({ reports }: Suggestion): string[] =>
  reports[0]?.instructions ? [oneLine(reports[0].instructions, 1000)] : [];

/** Each leads to what meets it: its file, its checks, else the report itself. */
function neededRows(run: Summary, id: string): Row[] {
  const [due] = run.suggestion.reports;
  const outcome = oneLine(due?.outcomes[0] ?? "");
  return needsOf(run.suggestion).map(({ kind, phrase, paths }, at): Row => {
    const files = paths.filter(isFilePath).map((path, of) => neededFile(run, kind, path, `${id}/needs/${at}/${of}`));
    const row: Row = {
      id: `${id}/needs/${at}`,
      label: oneLine(inEditor(phrase)),
      description: `${outcome} needs it`,
      tooltip: [
        `A report that says ${outcome} needs that ${oneLine(inEditor(phrase), 600)}`,
        ...whatToDo(run.suggestion),
      ],
      icon: icon("checklist"),
    };
    if (files.length > 1) return { ...row, children: files };
    const [only] = files;
    if (only) return { ...row, context: only.context, click: only.click, subject: only.subject };
    const click = kind === "checks" ? "runCheck" : "reportOutcome";
    return { ...row, click, subject: { ...nameOf(run), ...(due && { step: due.step }) } };
  });
}

function neededFile(run: Summary, kind: Requirement["kind"], path: string, id: string): Row {
  const example = exampleFor(kind);
  const place = { root: run.root, path, line: null, column: null };
  return {
    id,
    label: oneLine(baseName(path)),
    description: oneLine(path),
    tooltip: [oneLine(path, 400)],
    icon: icon("file"),
    context: "place",
    click: "openPlace",
    subject: { ...nameOf(run), place, ...(example !== undefined && { example }) },
  };
}

function batchLabel(parallel: readonly (readonly string[])[], at: number | undefined): string {
  if (at === undefined || (parallel.length === 1 && parallel[0]!.length === 1)) return "task";
  const side = parallel[at]!.length > 1 ? "side by side" : "alone";
  return parallel.length === 1 ? `task, ${side}` : `task, batch ${at + 1}, ${side}`;
}

const MOST_FORBIDDEN = 3;

const named = (ids: readonly string[], titles: Summary["phaseTitles"]): string =>
  oneLine(ids.map((id) => titles?.[id] || id).join(", "));

const moreThan = (count: number, most: number): string => (count > most ? ` and ${count - most} more` : "");

/** What is forbidden now, one row for all that is forbidden for the same reason. */
function forbiddenRows({ suggestion, phaseTitles: titles }: Summary, id: string): Row[] {
  const reasons = new Map<string, string[]>();
  for (const { action, because } of suggestion.forbidden)
    reasons.set(because, [...(reasons.get(because) ?? []), action]);
  return [...reasons].map(([reason, actions], at) => ({
    id: `${id}/not/${at}`,
    label: `Not now: ${named(actions.slice(0, MOST_FORBIDDEN), titles)}${moreThan(actions.length, MOST_FORBIDDEN)}`,
    description: oneLine(reason),
    tooltip: [
      oneLine(reason, 400),
      ...actions.map((id) => `Not now: ${titleWithId({ title: titles?.[id] ?? "", id })}`),
    ],
    icon: icon("circle-slash", FAINT),
  }));
}
