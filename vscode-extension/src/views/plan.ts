/** Marks beside the lines of a plan: how each task stands. */

import type { Plan, Task } from "../protocol";
import { taskSaid } from "./runs";

export const KINDS = ["done", "ready", "claimed", "blocked", "reported"] as const;
export type MarkKind = (typeof KINDS)[number];

export interface Mark {
  /** Zero-based. */
  readonly line: number;
  readonly kind: MarkKind;
  readonly said: string;
}

const isMarked = (state: Task["state"]): state is MarkKind => state !== "skipped";

export function marksOf(plan: Plan): Mark[] {
  return plan.stages
    .flatMap((stage) => stage.tasks)
    .flatMap((task) =>
      isMarked(task.state) ? [{ line: task.line - 1, kind: task.state, said: `${task.id}: ${taskSaid(task)}` }] : [],
    );
}
