/** What a command is about that was called by a key: the selected row of the view that has the focus, else the file in front. */

import { nameOf, type Summary } from "../protocol";
import { isOver, runAt, type State } from "../store";
import type { Row, Subject } from "../views/row";
import { isNamed } from "./pick";

/** The arguments of our key bindings: the view that has the focus, "" for none of ours. */
export interface Pressed {
  readonly view: string;
}

export const isPressed = (argument: unknown): argument is Pressed =>
  typeof argument === "object" && argument !== null && "view" in argument && typeof argument.view === "string";

/** What a view has selected, and which row is above another. */
export interface Selecting {
  readonly selected: readonly Row[];
  getParent(row: Row): Row | undefined;
}

/** By command: the rows that it is about as they are, as the menus offer it; of any other row it takes the run. */
const WHOLE: Readonly<Record<string, RegExp>> = {
  answerQuestion: /\b(approval|question|option)\b/,
  claimTask: /\btask-ready\b/,
  reportOutcome: /\b(step|task-due)\b/,
};

/** The subject of a command, by the rows that are selected in a view, else by the file in front. */
export function pressedOn(
  command: string,
  state: State,
  view: Selecting | undefined,
  file: string | undefined,
): Partial<Subject> {
  const rows = view?.selected ?? [];
  const whole = rows.filter((row) => WHOLE[command]?.test(row.context ?? ""));
  const [row] = whole.length ? whole : rows;
  const named = view && row && whole.length ? row.subject : runAbove(view, row);
  if (!named || !isNamed(named)) return fileSubject(command, state, file);
  if (!whole.length) return nameOf(named);
  const tasks = whole.flatMap(({ subject }) =>
    subject?.task !== undefined && subject.root === named.root && subject.run === named.run ? [subject.task] : [],
  );
  return tasks.length > 1 ? { ...named, tasks } : named;
}

/** What a row is about, else the nearest one above it that is about something. */
function runAbove(view: Selecting | undefined, row: Row | undefined): Partial<Subject> | undefined {
  for (let each = row; each; each = view?.getParent(each)) if (each.subject?.run) return each.subject;
  return undefined;
}

/** The run of the file in front, where there is something in it for the command: others are asked for. */
function fileSubject(command: string, state: State, file: string | undefined): Partial<Subject> {
  const run = file ? runAt(state, file) : undefined;
  return run && hasSomething(command, run) ? nameOf(run) : {};
}

const hasSomething = (command: string, run: Summary): boolean =>
  command === "answerQuestion" ? run.questions.length > 0 : command === "showGraph" || !isOver(run);
