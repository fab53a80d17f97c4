/** The rows of a plan with its stages and tasks, and the marks beside its lines. */

import { taskTitles, tasksNamed, titleWithId, type TaskTitles } from "../names";
import { isOver, nameOf, type Evaluation, type Plan, type Stage, type Task } from "../protocol";
import { baseName, oneLine, plural } from "../sanitize";
import { BAD, FAINT, GOOD, icon, NOW, placeOf, type Icon, type Row } from "./row";

/** One row for the plan of a run with its stages and tasks; none where it has none. */
export function planRows(run: Evaluation, id: string): Row[] {
  const plan = run.plan;
  if (plan === null || plan.stages.length === 0) return [];
  const progress = run.progress;
  const sum = (count: "done" | "total"): number => plan.stages.reduce((all, stage) => all + stage[count], 0);
  const current = plan.stages.find((stage) => stage.done < stage.total);
  return [
    {
      id: `${id}/plan`,
      label: "Plan",
      description: progress
        ? `${sum("done")} of ${plural(sum("total"), "task")} done` +
          (run.unknownMarks ? `, ${plural(run.unknownMarks, "mark")} unknown` : "")
        : oneLine(baseName(plan.path)),
      tooltip: [oneLine(plan.path, 400)],
      icon: icon("checklist"),
      context: "place",
      subject: { ...nameOf(run), place: { root: run.root, path: plan.path, line: plan.stages[0]!.line, column: null } },
      open: true,
      children: plan.stages.map((stage) =>
        stageRow(run, stage, `${id}/plan`, stage === current, taskTitles(run.plan?.stages)),
      ),
    },
  ];
}

/** The stage that is worked on is open, and every other one in which something can be done. */
function stageRow(run: Evaluation, stage: Stage, id: string, isCurrent: boolean, titles: TaskTitles): Row {
  const own = `${id}/${stage.id}`;
  const done = stage.total > 0 && stage.done === stage.total;
  return {
    id: own,
    label: oneLine(/^\d/.test(stage.id) ? `${stage.id}. ${stage.title}` : stage.title || stage.id, 80),
    description: `${stage.done}/${stage.total}`,
    icon: done
      ? icon("pass", GOOD)
      : icon(stage.done ? "circle-large-filled" : "circle-large-outline", stage.done ? NOW : FAINT),
    context: "place",
    subject: { ...nameOf(run), place: { root: run.root, path: run.plan!.path, line: stage.line, column: null } },
    open: isCurrent || (!done && stage.tasks.some((task) => task.state !== "blocked")),
    children: stage.tasks.map((task) => taskRow(run, task, own, titles)),
  };
}

const TASK: Record<Task["state"], { label: string; icon: Icon }> = {
  done: { label: "done", icon: icon("check", GOOD) },
  failed: { label: "failed", icon: icon("error", BAD) },
  ready: { label: "ready", icon: icon("circle-outline", NOW) },
  claimed: { label: "claimed", icon: icon("person") },
  blocked: { label: "blocked", icon: icon("circle-slash", FAINT) },
  reported: { label: "reported, not checked", icon: icon("eye") },
  skipped: { label: "skipped", icon: icon("debug-step-over", FAINT) },
};

/** How a task stands, and who has claimed it or what blocks it. */
export function taskLabel(task: Task, titles: TaskTitles): string {
  const claim = task.claimedBy && task.state !== "done" ? `claimed by ${oneLine(task.claimedBy)}` : "";
  // That it is claimed is said by whom.
  const parts = task.state === "claimed" && claim ? [claim, failureOf(task)] : [stateOf(task, titles), claim];
  return parts.filter(Boolean).join(" · ");
}

const failureOf = ({ failedBy }: Task): string =>
  failedBy ? `failed: ${oneLine(failedBy.expression.replace(/^report /, ""))}` : "";

function stateOf(task: Task, titles: TaskTitles): string {
  if (task.failedBy) return failureOf(task);
  if (task.state === "blocked" && task.blockedBy.length) return `blocked by ${tasksNamed(task.blockedBy, titles)}`;
  return TASK[task.state].label;
}

function taskRow(run: Evaluation, task: Task, id: string, titles: TaskTitles): Row {
  return {
    id: `${id}/${task.id}`,
    label: oneLine(task.title || task.id, 80),
    description: taskLabel(task, titles),
    tooltip: [
      `${titleWithId(task)}: ${taskLabel(task, titles)}`,
      ...(task.failedBy ? ["Click to open the report that says so"] : []),
      ...(task.agent ? [`for ${oneLine(task.agent)}`] : []),
      ...(task.files.length ? [`changes ${oneLine(task.files.join(", "), 400)}`] : []),
    ],
    icon: task.state === "claimed" && task.failedBy ? icon("person", BAD) : TASK[task.state].icon,
    context: taskContext(run, task),
    click: "openPlace",
    subject: {
      ...nameOf(run),
      task: task.id,
      who: task.claimedBy ?? undefined,
      place: (task.failedBy && placeOf(run.root, task.failedBy)) ?? {
        root: run.root,
        path: run.plan!.path,
        line: task.line,
        column: null,
      },
    },
  };
}

/** What menus look for: what is handed out can be claimed and reported, what is claimed given back and reported. */
function taskContext(run: Evaluation, task: Task): string {
  if (isOver(run)) return task.failedBy ? "place failure" : "place";
  const isReady = run.suggestion.tasks.includes(task.id);
  const isClaimed = task.claimedBy !== null;
  return [
    `place task-${task.state}`,
    isClaimed && task.state !== "claimed" ? "task-claimed" : "",
    isReady && task.state !== "ready" && !isClaimed ? "task-ready" : "",
    isReady || isClaimed ? "task-due" : "",
    task.failedBy ? "failure" : "",
  ]
    .filter(Boolean)
    .join(" ");
}

/** The tasks that a report failed and that are not mended yet, in the order of the plan. */
export const failedTasks = (plan: Plan | null): Task[] =>
  (plan?.stages ?? []).flatMap((stage) => stage.tasks).filter((task) => task.failedBy !== null);

export const MARK_KINDS = ["done", "failed", "ready", "claimed", "blocked", "reported"] as const;
export type MarkKind = (typeof MARK_KINDS)[number];

/** A mark in the gutter beside a task. */
export interface PlanMark {
  /** Zero-based. */
  readonly line: number;
  readonly kind: MarkKind;
  readonly label: string;
}

const hasMark = (state: Task["state"]): state is MarkKind => state !== "skipped";

export function planMarks(plan: Plan): PlanMark[] {
  const titles = taskTitles(plan.stages);
  return plan.stages
    .flatMap((stage) => stage.tasks)
    .flatMap((task): PlanMark[] =>
      hasMark(task.state)
        ? [{ line: task.line - 1, kind: task.state, label: `${titleWithId(task)}: ${taskLabel(task, titles)}` }]
        : [],
    );
}
