/** What waits for a person: each open question with its options. */

import { keyOf, type Question, type Summary } from "../protocol";
import { asked, type Known } from "../store";
import { plain, shown } from "../sanitize";
import { optionSaid } from "./dialog";
import { ASKED, BAD, icon, type Icon, type Node } from "./row";
import { FAILED } from "./recent";
import { namedIn } from "./runs";

export const KIND: Record<Question["kind"], { said: string; icon: Icon }> = {
  approval: { said: "approval", icon: icon("verified", ASKED) },
  escalation: { said: "escalation", icon: icon("bell-dot", ASKED) },
  clarification: { said: "question", icon: icon("question", ASKED) },
};

/** Questions are open while there are few enough to be seen at once. */
const MOST_OPEN = 3;

/** Each open question; `trusted` says whether it can be answered here. */
export function waitingNodes(known: Known, trusted: boolean): Node[] {
  const all = asked(known);
  const open = all.length <= MOST_OPEN;
  return all.map(({ run, question }) => ({ ...questionNode(run, namedIn(known, run), question, trusted), open }));
}

function questionNode(run: Summary, named: string, question: Question, trusted: boolean): Node {
  const subject = { root: run.root, run: run.run, question: question.id };
  const id = `${keyOf(run)}/question/${question.id}`;
  const options = question.options.map((option): Node => {
    const { what, brings } = optionSaid(option);
    return {
      id: `${id}/option/${option.id}`,
      label: plain(what),
      description: brings ? plain(brings) : option.text ? plain(option.id) : undefined,
      tooltip: [
        `${plain(option.id)}: ${plain(option.text || option.id, 400)}`,
        trusted ? "Click to decide; a reason is asked for" : "Not in Restricted Mode",
      ],
      icon: icon("circle-outline"),
      context: "option",
      click: "answerQuestion",
      subject: { ...subject, option: option.id },
    };
  });
  const below = [...options, ...about(question, id)];
  return {
    id,
    label: plain(question.question),
    description: `${named} · ${KIND[question.kind].said}`,
    tooltip: [plain(question.question, 600), `${named}: ${plain(question.id)}`, ...since(question)],
    icon: KIND[question.kind].icon,
    context: "question",
    subject,
    // Without options the answer is words, so a click on the question itself asks for them.
    ...(options.length === 0 && { click: "answerQuestion" as const }),
    children: below.length ? below : undefined,
  };
}

const since = (question: Question): string[] => (question.since ? [`since ${plain(question.since)}`] : []);

function about(question: Question, id: string): Node[] {
  const tasks = question.tasks.length
    ? [{ id: `${id}/tasks`, label: plain(question.tasks.join(", ")), description: "tasks", icon: icon("checklist") }]
    : [];
  const history = question.history.map((entry, at) => ({
    id: `${id}/history/${at}`,
    label: historySaid(entry),
    tooltip: [historySaid(entry, 600)],
    icon: FAILED.has(String(entry["outcome"])) ? icon("close", BAD) : icon("history"),
  }));
  const led = history.length
    ? [
        {
          id: `${id}/history`,
          label: "What led to it",
          description: `${history.length}`,
          icon: icon("history"),
          children: history,
        },
      ]
    : [];
  return [...tasks, ...led];
}

/** One record of what led to a question, on a line; one of another form as its fields in their order. */
export function historySaid(entry: Readonly<Record<string, unknown>>, limit = 200): string {
  const { phase, outcome, iteration, message, tasks } = entry;
  if (typeof phase !== "string" || typeof outcome !== "string") return fields(entry, limit);
  const round = typeof iteration === "number" && iteration > 0 ? ` (${iteration})` : "";
  const why = typeof message === "string" && message ? message : Array.isArray(tasks) ? tasks.join(", ") : "";
  return plain(`${phase}${round}: ${outcome}${why ? ` · ${why}` : ""}`, limit);
}

function fields(entry: Readonly<Record<string, unknown>>, limit: number): string {
  const parts = Object.entries(entry)
    .filter(([, value]) => value !== null && value !== "" && !(Array.isArray(value) && value.length === 0))
    .map(([name, value]) => `${name}: ${typeof value === "string" ? value : shown(value)}`);
  return plain(parts.join(", "), limit);
}
