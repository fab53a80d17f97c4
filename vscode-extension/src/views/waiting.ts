/** The rows of what waits for a person: each open question with its options and what led to it. */

import { keyOf, nameOf, type Option, type Question, type Summary } from "../protocol";
import { sentence, tasksNamed, titleWithId } from "../names";
import { formatValue, oneLine, plural } from "../sanitize";
import { missing, openQuestions, type State } from "../store";
import { FAILED_OUTCOMES, formatMinute } from "./recent";
import { BAD, icon, moreRows, WAITING, type Icon, type Row } from "./row";
import { titleIn } from "./runs";

export const KIND: Record<Question["kind"], { label: string; icon: Icon }> = {
  approval: { label: "approval", icon: icon("verified", WAITING) },
  escalation: { label: "escalation", icon: icon("bell-dot", WAITING) },
  clarification: { label: "question", icon: icon("question", WAITING) },
};

/** Questions are open while there are few enough to be seen at once. */
const MOST_OPEN = 3;

/** The label of an option, and what follows from it: its text has one before the colon and one behind. */
export function optionLabels(option: Option): { readonly label: string; readonly consequence: string } {
  const [label, ...rest] = option.text.split(": ");
  return { label: label || option.id, consequence: rest.join(": ") };
}

export const waitingText = (count: number): string =>
  `${plural(count, "thing")} ${count === 1 ? "waits" : "wait"} for you`;

/** Each open question; `trusted` says whether it can be answered here. */
export function waitingRows(state: State, trusted: boolean): Row[] {
  const all = newestFirst(openQuestions(state));
  const open = all.length <= MOST_OPEN;
  return [
    ...all.map(({ run, question }) => ({ ...questionRow(run, titleIn(state, run), question, trusted), open })),
    ...[...state.roots.values()].flatMap((root) => moreRows(root.root, "waiting", missing(root).questions, "going")),
  ];
}

/** A question without the end that says nothing: its options are below. */
const shortQuestion = ({ question }: Question): string => oneLine(question.replace(/\s*How to go on\?\s*$/, ""));

/** What came up last stands first; what has no time behind it. */
const newestFirst = (all: ReturnType<typeof openQuestions>): ReturnType<typeof openQuestions> =>
  [...all].sort((one, other) => (other.question.since ?? "").localeCompare(one.question.since ?? ""));

function questionRow(run: Summary, title: string, question: Question, trusted: boolean): Row {
  const subject = { ...nameOf(run), question: question.id };
  const id = `${keyOf(run)}/question/${question.id}`;
  const options = question.options.map((option): Row => {
    const { label, consequence } = optionLabels(option);
    return {
      id: `${id}/option/${option.id}`,
      label: oneLine(label),
      description: consequence ? oneLine(consequence) : undefined,
      tooltip: [
        oneLine(option.text || option.id, 400),
        trusted ? "Click to decide; a reason is asked for" : "Not in Restricted Mode",
      ],
      icon: icon("circle-outline"),
      context: "option",
      click: "answerQuestion",
      subject: { ...subject, option: option.id },
    };
  });
  const children = [...options, ...contextRows(run, question, id)];
  return {
    id,
    label: title,
    description: shortQuestion(question),
    iconLabel: KIND[question.kind].label,
    tooltip: [`${title}: ${oneLine(question.question, 600)}`, kindLine(question)],
    icon: KIND[question.kind].icon,
    // Its menu has words of its own.
    context: question.kind === "approval" ? "approval" : "question",
    subject,
    // Without options the answer is words, so a click on the question itself asks for them.
    ...(options.length === 0 && { click: "answerQuestion" as const }),
    children: children.length ? children : undefined,
  };
}

/** What is asked for, and since when: "Approval, asked 2026-11-30 20:53". */
function kindLine({ kind, since }: Question): string {
  const asked = formatMinute(since ?? undefined);
  return `${sentence(KIND[kind].label)}${asked && `, asked ${asked}`}`;
}

function contextRows({ taskTitles, phaseTitles }: Summary, question: Question, id: string): Row[] {
  const tasks = question.tasks.length
    ? [
        {
          id: `${id}/tasks`,
          label: tasksNamed(question.tasks, new Map(Object.entries(taskTitles))),
          description: question.tasks.length === 1 ? "task" : "tasks",
          tooltip: question.tasks.map((task) => titleWithId({ title: taskTitles[task] ?? "", id: task })),
          icon: icon("checklist"),
        },
      ]
    : [];
  const history = question.history.map((entry, at) => ({
    id: `${id}/history/${at}`,
    label: historyLabel(entry, phaseTitles),
    tooltip: [historyLabel(entry, phaseTitles, 600)],
    icon: FAILED_OUTCOMES.has(String(entry["outcome"])) ? icon("close", BAD) : icon("history"),
  }));
  const historyRows = history.length
    ? [
        {
          id: `${id}/history`,
          label: "History",
          description: `${history.length}`,
          icon: icon("history"),
          children: history,
        },
      ]
    : [];
  return [...tasks, ...historyRows];
}

/** One record of what led to a question, on a line; one of another form as its fields in their order. */
function historyLabel(entry: Readonly<Record<string, unknown>>, titles: Summary["phaseTitles"], limit = 200): string {
  const { phase, outcome, iteration, message, tasks } = entry;
  if (typeof phase !== "string" || typeof outcome !== "string") return fields(entry, limit);
  const round = typeof iteration === "number" && iteration > 0 ? ` (${iteration})` : "";
  const why = typeof message === "string" && message ? message : Array.isArray(tasks) ? tasks.join(", ") : "";
  return oneLine(`${titles?.[phase] || phase}${round}: ${outcome}${why ? ` · ${why}` : ""}`, limit);
}

function fields(entry: Readonly<Record<string, unknown>>, limit: number): string {
  const parts = Object.entries(entry)
    .filter(([, value]) => value !== null && value !== "" && !(Array.isArray(value) && value.length === 0))
    .map(([name, value]) => `${name}: ${typeof value === "string" ? value : formatValue(value)}`);
  return oneLine(parts.join(", "), limit);
}

/** What stands above the questions where none can be answered. */
export const restrictedMessage = (state: State, trusted: boolean): string | undefined =>
  trusted || openQuestions(state).length === 0
    ? undefined
    : "Restricted Mode: answers are recorded once you trust this folder.";
