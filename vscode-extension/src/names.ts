/** What a person is told in place of ids: titles, and of what has none its id as words. */

import type { Evaluation, Gate } from "./protocol";
import { oneLine } from "./sanitize";

/** A name as words: "Fix iterations" of "fix_iterations". */
export function sentence(name: string): string {
  const words = oneLine(name.replaceAll(/[_-]+/g, " "));
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}

export const gateTitle = ({ title, id }: Pick<Gate, "title" | "id">): string => oneLine(title || sentence(id), 80);

/** The title of a phase or action of a run; `others` are those that the run itself does not list. */
export const stepTitle = (
  id: string,
  phases: Evaluation["phases"] | readonly { readonly id: string; readonly title: string }[],
): string => oneLine(phases.find((phase) => phase.id === id)?.title || wordsOf(id), 80);

/** An id that is made of words, as those: "Apply fix" of "action-apply-fix"; any other, as "4b" or "codegen", as it is. */
const wordsOf = (id: string): string => (/^[a-z]+([_-][a-z]+)+$/.test(id) ? sentence(id.replace(/^action-/, "")) : id);

/** The titles of a run's tasks, by id. */
export type TaskTitles = ReadonlyMap<string, string>;

export const taskTitles = (
  stages: readonly { readonly tasks: readonly { readonly id: string; readonly title: string }[] }[] = [],
): TaskTitles => new Map(stages.flatMap(({ tasks }) => tasks).map(({ id, title }) => [id, title]));

/** So many tasks are named before they are counted. */
const MOST_TASKS = 3;

/** Tasks in a sentence: “A model” and “A route”. */
export function tasksNamed(ids: readonly string[], titles: TaskTitles): string {
  const named = ids
    .slice(0, MOST_TASKS)
    .map((id) => (titles.get(id) ? `“${oneLine(titles.get(id)!, 60)}”` : oneLine(id)));
  const more = ids.length > MOST_TASKS ? [`${ids.length - MOST_TASKS} more`] : [];
  const all = [...named, ...more];
  return all.length < 2 ? all.join("") : `${all.slice(0, -1).join(", ")} and ${all.at(-1)}`;
}

/** What something is called, its id last. */
export const titleWithId = ({ title, id }: { readonly title: string; readonly id: string }): string =>
  !title || title === id ? oneLine(id) : `${oneLine(title)} (${oneLine(id)})`;
