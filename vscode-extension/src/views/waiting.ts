/** What waits for a person: each open question with its options. */

import { keyOf, type Question, type Summary } from "../protocol";
import { asked, type Known } from "../store";
import { plain, shown } from "../text";
import { ASKED, icon, type Icon, type Node } from "./node";
import { titleOf } from "./runs";

export const KIND: Record<Question["kind"], { said: string; icon: Icon }> = {
  approval: { said: "approval", icon: icon("verified", ASKED) },
  escalation: { said: "escalation", icon: icon("bell-dot", ASKED) },
  clarification: { said: "question", icon: icon("question", ASKED) },
};

export function waitingNodes(known: Known): Node[] {
  return asked(known).map(({ run, question }) => questionNode(run, question));
}

function questionNode(run: Summary, question: Question): Node {
  const subject = { root: run.root, run: run.run, question: question.id };
  const id = `${keyOf(run)}/question/${question.id}`;
  const options = question.options.map((option): Node => ({
    id: `${id}/option/${option.id}`,
    label: plain(option.text || option.id),
    description: option.text ? plain(option.id) : undefined,
    tooltip: [plain(option.text || option.id, 400), "Click to decide; a reason is asked for"],
    icon: icon("circle-outline"),
    context: "option",
    click: "answerQuestion",
    subject: { ...subject, option: option.id },
  }));
  return {
    id,
    label: plain(question.question),
    description: `${titleOf(run)} · ${KIND[question.kind].said}`,
    tooltip: [plain(question.question, 600), `${titleOf(run)}: ${plain(question.id)}`, ...since(question)],
    icon: KIND[question.kind].icon,
    context: "question",
    subject,
    // Without options the answer is words, so a click on the question itself asks for them.
    ...(options.length === 0 && { click: "answerQuestion" as const }),
    open: true,
    children: [...options, ...about(question, id)].length ? [...options, ...about(question, id)] : undefined,
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
    icon: icon("history"),
  }));
  return [...tasks, ...history];
}

/** One failure of an escalation's history on a line: its fields in their order. */
export function historySaid(entry: Readonly<Record<string, unknown>>, limit = 200): string {
  const parts = Object.entries(entry)
    .filter(([, value]) => value !== null && value !== "" && !(Array.isArray(value) && value.length === 0))
    .map(([name, value]) => `${name}: ${typeof value === "string" ? value : shown(value)}`);
  return plain(parts.join(", "), limit);
}
