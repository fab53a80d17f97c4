/** Tasks by state or by stage: what waits for what, and who has claimed what. Without a plan, the phases. */

import type { BoardStage, BoardTask, RunPage, TaskBoard } from "./model";
import { phaseWords } from "../graph/picture";
import { taskTitles, type TaskTitles } from "../names";
import { isOver, type Evaluation } from "../protocol";
import { element, icon, plural, type Child } from "./dom";
import type { Context } from "./context";
import { pathElement } from "./decide";
import { timeElement } from "./time";

const STATES: readonly { readonly state: string; readonly title: string }[] = [
  { state: "failed", title: "Failed" },
  { state: "ready", title: "Ready" },
  { state: "claimed", title: "In work" },
  { state: "reported", title: "Reported" },
  { state: "blocked", title: "Waiting" },
  { state: "done", title: "Done" },
  { state: "skipped", title: "Skipped" },
];
const TITLES = new Map(STATES.map(({ state, title }) => [state, title]));
const MOST_FILES = 4;

export function boardPanel({ board, evaluation }: RunPage, context: Context): Child[] {
  if (!board) return [phasesElement(evaluation, context)];
  const left = board.stages.reduce((sum, stage) => sum + stage.more, 0);
  const ties = tiesOf(board);
  return [
    element(
      "div.bar",
      { role: "group", "aria-label": "Order of the tasks" },
      choice("By state", !context.ui.byStage, () => context.update(() => (context.ui.byStage = false))),
      choice("By stage", context.ui.byStage, () => context.update(() => (context.ui.byStage = true))),
      element("span.right", {}, pathElement(board.path, null, context)),
    ),
    context.ui.byStage ? stagesElement(board, ties, context) : columnsElement(board, ties, context),
    left > 0 && element("p.faint", {}, `${plural(left, "more task")} are in the plan and not listed here.`),
  ];
}

const choice = (label: string, pressed: boolean, click: () => void): HTMLElement =>
  element("button.quiet", { type: "button", "aria-pressed": String(pressed), "data-key": label, click }, label);

/** The titles of tasks, and by task those that wait for it. */
interface Ties {
  readonly titles: TaskTitles;
  readonly waiting: ReadonlyMap<string, readonly string[]>;
}

function tiesOf({ stages }: TaskBoard): Ties {
  const waiting = new Map<string, string[]>();
  for (const task of stages.flatMap((stage) => stage.tasks))
    for (const name of task.blockedBy) waiting.set(name, [...(waiting.get(name) ?? []), task.title || task.id]);
  return { titles: taskTitles(stages), waiting };
}

function columnsElement(board: TaskBoard, ties: Ties, context: Context): HTMLElement {
  const several = board.stages.length > 1;
  const tasks = board.stages.flatMap((stage) => stage.tasks.map((task) => ({ task, stage })));
  const known = STATES.map(({ state, title }) => ({
    title,
    state,
    own: tasks.filter(({ task }) => task.state === state),
  }));
  const columns = known.filter(({ own }) => own.length > 0);
  return element(
    "div.columns",
    {},
    ...columns.map(({ title, state, own }) =>
      element(
        `section.column.${state}`,
        { "aria-label": `${title}: ${plural(own.length, "task")}` },
        element("h3", {}, title, element("span.count", {}, String(own.length))),
        element(
          "ul.cards",
          {},
          ...own.map(({ task, stage }) => taskElement(task, ties, context, several ? stage : undefined)),
        ),
      ),
    ),
  );
}

function stagesElement(board: TaskBoard, ties: Ties, context: Context): HTMLElement {
  return element(
    "div.stages",
    {},
    ...board.stages.map((stage) =>
      element(
        "section.stage",
        {},
        element(
          "h3",
          {},
          `${stage.id === stage.title ? "" : `${stage.id} · `}${stage.title}`,
          element("progress", { value: stage.done, max: Math.max(stage.total, 1), "aria-hidden": "true" }),
          element("span.faint", {}, `${stage.done} of ${stage.total} done`),
        ),
        element("ul.cards", {}, ...stage.tasks.map((task) => taskElement(task, ties, context))),
        stage.more > 0 && element("p.faint", {}, `and ${plural(stage.more, "more task")}`),
      ),
    ),
  );
}

function taskElement(task: BoardTask, ties: Ties, context: Context, stage?: BoardStage): HTMLElement {
  const held = ties.waiting.get(task.id) ?? [];
  const { host } = context;
  const title = task.title || task.id;
  const files = task.files.slice(0, MOST_FILES);
  const more = task.files.length - files.length;
  return element(
    `li.task.${task.state}`,
    {},
    element(
      "div.title",
      {},
      icon(task.state in SIGNS ? SIGNS[task.state]! : "dot"),
      host.open && task.path
        ? element("button.open", { type: "button", click: () => host.open!(task.path, null) }, title)
        : element("span", {}, title),
    ),
    element(
      "p.faint",
      {},
      [task.id, stage && `stage ${stage.id}`, !stage && TITLES.get(task.state)?.toLowerCase()]
        .filter(Boolean)
        .join(" · "),
    ),
    task.claimedBy &&
      task.state !== "done" &&
      element(
        "p.fact.claim",
        {},
        icon("person"),
        `${task.claimedBy} has it`,
        task.claimedUntil && timeElement(task.claimedUntil, " · claim ends "),
      ),
    task.failedBy && failureElement(task.failedBy, context),
    task.blockedBy.length > 0 &&
      element("p.fact", {}, `Waits for ${task.blockedBy.map((id) => ties.titles.get(id) || id).join(", ")}`),
    held.length > 0 &&
      element(
        "p.fact",
        {},
        `${plural(held.length, "task")} ${held.length === 1 ? "waits" : "wait"} for it: ${held.join(", ")}`,
      ),
    files.length > 0 && element("p.fact.paths", {}, files.join(", ") + (more > 0 ? ` and ${more} more` : "")),
  );
}

/** The report that says last that a task failed; it leads to its line. */
function failureElement(
  { expression, path, line }: NonNullable<BoardTask["failedBy"]>,
  { host }: Context,
): HTMLElement {
  const words = `Failed: ${expression.replace(/^report /, "")}`;
  return element(
    "p.fact.failure",
    {},
    host.open && path ? element("button.open", { type: "button", click: () => host.open!(path, line) }, words) : words,
  );
}

const SIGNS: Readonly<Record<string, "done" | "failed" | "ready" | "claimed" | "reported" | "blocked" | "skipped">> = {
  done: "done",
  failed: "failed",
  ready: "ready",
  claimed: "claimed",
  reported: "reported",
  blocked: "blocked",
  skipped: "skipped",
};

/** Why there are phases in place of tasks; what a run counts in its state is in no list. */
export function planlessWords({ progress }: Pick<Evaluation, "progress">): string {
  if (!progress) return "This workflow has no plan of tasks. These are its phases.";
  const counted = `${progress.done} of ${plural(progress.total, "task")} ${progress.done === 1 ? "is" : "are"} done`;
  return `There is no plan to show: that ${counted} is counted from the run's state. These are the phases.`;
}

/** Where a workflow has no plan of tasks its phases are the work. */
function phasesElement(run: Evaluation, context: Context): HTMLElement {
  return element(
    "section",
    {},
    element("p.faint", {}, planlessWords(run)),
    element(
      "ol.phases",
      {},
      ...run.phases.map((phase) =>
        element(
          `li.${phase.state}`,
          { "aria-current": phase.state === "current" && !isOver(run) ? "step" : undefined },
          icon(phase.state),
          element(
            "div",
            {},
            element("strong", {}, phase.title || phase.id),
            element(
              "p.faint",
              {},
              [
                phase.title === phase.id ? "" : phase.id,
                phaseWords(phase.state, isOver(run)),
                phase.agents.length ? `by ${phase.agents.join(", ")}` : "",
                phase.restsOn,
              ]
                .filter(Boolean)
                .join(" · "),
            ),
            ...phase.produces.map(({ path, state }) =>
              element(
                "p.fact",
                {},
                pathElement(path, null, { ...context, host: state === "missing" ? {} : context.host }),
                element(`span.state.${state}`, {}, state),
              ),
            ),
          ),
        ),
      ),
    ),
  );
}
