/** The runs: each with its phases, their gates and criteria, its limits, and its plan with stages and tasks. */

import { keyOf, type Criterion, type Evaluation, type Gate, type Limit, type Phase } from "../protocol";
import { type RunName, type Stage, type Summary, type Task } from "../protocol";
import { isOver, type Known } from "../store";
import { plain, plural, tail } from "../sanitize";
import { evidenceNodes, firstPlace } from "./evidence";
import { ASKED, BAD, FAINT, GOOD, NOW, icon, type Icon, type Node } from "./row";

type Whole = (name: RunName) => Promise<Evaluation | null>;

/** Top rows: the runs that go on, then those that are over in one row. Several roots get a row each. */
export function runNodes(known: Known, whole: Whole): Node[] {
  const roots = [...known.roots.values()].filter((root) => root.runs.size > 0);
  if (roots.length === 1) return ofRoot([...roots[0]!.runs.values()], whole, roots[0]!.root);
  return roots.map((root) => ({
    id: root.root,
    label: rootSaid(root.root),
    description: plural(root.runs.size, "run"),
    tooltip: [plain(root.root, 400)],
    icon: icon("root-folder"),
    open: true,
    children: ofRoot([...root.runs.values()], whole, root.root),
  }));
}

function ofRoot(runs: readonly Summary[], whole: Whole, root: string): Node[] {
  const over = runs.filter(isOver);
  const nodes = runs.filter((run) => !isOver(run)).map((run) => runNode(run, whole));
  if (over.length === 0) return nodes;
  const finished: Node = {
    id: `${root}\nfinished`,
    label: "Finished",
    description: `${over.length}`,
    icon: icon("archive"),
    children: over.map((run) => runNode(run, whole)),
  };
  return [...nodes, finished];
}

/** A run's title, and its root where several have runs. */
export function namedIn(known: Known, run: Summary): string {
  const several = [...known.roots.values()].filter((root) => root.runs.size > 0).length > 1;
  return several ? `${titleOf(run)} · ${rootSaid(run.root)}` : titleOf(run);
}

const rootSaid = (root: string): string => plain(tail(root.replaceAll("\\", "/")), 40);

export const titleOf = (run: { title: string; run: string }): string => plain(run.title || tail(run.run), 80);

export function runNode(run: Summary, whole: Whole): Node {
  const { root, run: path } = run;
  return {
    id: keyOf(run),
    label: titleOf(run),
    description: described(run),
    tooltip: [
      titleOf(run),
      plain(path, 400),
      `${plain(run.workflow)}: ${STATUS[run.status].said}`,
      ...(run.statusReason ? [plain(run.statusReason, 400)] : []),
      ...found(run),
    ],
    icon: statusIcon(run),
    spoken: isOver(run) ? undefined : STATUS[run.status].said,
    context: "run",
    subject: { root, run: path },
    children: async () => {
      const evaluation = await whole({ root, run: path });
      return evaluation ? insideRun(evaluation) : [];
    },
  };
}

function described(run: Summary): string {
  const progress = run.progress && run.progress.total > 0 ? `${run.progress.done}/${run.progress.total}` : "";
  const phase = isOver(run) ? STATUS[run.status].said : plain(run.currentPhase ?? "");
  const { error } = run.findingCounts;
  return [phase, progress, error ? plural(error, "error") : "", plain(run.workflow)].filter(Boolean).join(" · ");
}

function found(run: Summary): string[] {
  const { error, warning } = run.findingCounts;
  const counts = [error && plural(error, "error"), warning && plural(warning, "warning")].filter(Boolean);
  return counts.length ? [counts.join(", ")] : [];
}

export const STATUS: Record<Summary["status"], { said: string; icon: Icon }> = {
  active: { said: "active", icon: icon("play-circle", NOW) },
  waiting: { said: "waits for a job", icon: icon("watch") },
  waiting_human: { said: "waits for you", icon: icon("bell-dot", ASKED) },
  blocked: { said: "blocked", icon: icon("circle-slash", BAD) },
  complete: { said: "complete", icon: icon("pass-filled", GOOD) },
  failed: { said: "failed", icon: icon("error", BAD) },
  exited: { said: "ended", icon: icon("stop-circle") },
  invalid: { said: "cannot be told", icon: icon("warning", BAD) },
};

export const statusIcon = (run: Pick<Summary, "status">): Icon => STATUS[run.status].icon;

/** Below a run: phases with gates, limits in use, the plan. */
export function insideRun(run: Evaluation): Node[] {
  const id = keyOf(run);
  const phases = run.phases.map((phase) => phaseNode(run, phase, id));
  const limits = run.limits.filter((limit) => (limit.count ?? 0) > 0).map((limit) => limitNode(limit, id));
  return [...planNodes(run, id), ...phases, ...limits];
}

const PHASE: Record<Phase["state"], { said: string; icon: Icon }> = {
  done: { said: "done", icon: icon("check", GOOD) },
  current: { said: "now", icon: icon("arrow-right", NOW) },
  ahead: { said: "to come", icon: icon("circle-outline", FAINT) },
  skipped: { said: "skipped", icon: icon("debug-step-over", FAINT) },
  detour: { said: "only when needed", icon: icon("git-branch", FAINT) },
};

function phaseNode(run: Evaluation, phase: Phase, id: string): Node {
  const own = `${id}/phase/${phase.id}`;
  const gates = run.gates.filter((gate) => gate.after === phase.id).map((gate) => gateNode(run, gate, own));
  const produces = phase.produces.map((artifact, index): Node => {
    const bad = artifact.state === "invalid" || artifact.state === "unreadable";
    return {
      id: `${own}/artifact/${index}`,
      label: plain(tail(artifact.path)),
      description: artifact.state,
      tooltip: [plain(artifact.path, 400), `${plain(artifact.artifact)}: ${artifact.state}`],
      icon: artifact.state === "valid" ? icon("file", GOOD) : icon("file", bad ? BAD : FAINT),
      ...(artifact.state !== "missing" && { context: "place", click: "openPlace" as const }),
      subject: { ...nameOf(run), place: { root: run.root, path: artifact.path, line: null, column: null } },
    };
  });
  return {
    id: own,
    label: plain(phase.id),
    description: [phase.title === phase.id ? "" : plain(phase.title), phase.state === "current" ? "now" : ""]
      .filter(Boolean)
      .join(" · "),
    tooltip: [
      `${plain(phase.title)}: ${PHASE[phase.state].said}`,
      ...(phase.agents.length ? [`by ${plain(phase.agents.join(", "))}`] : []),
    ],
    icon: PHASE[phase.state].icon,
    spoken: phase.state === "current" ? undefined : PHASE[phase.state].said,
    context: "phase",
    subject: { ...nameOf(run), step: phase.id },
    open: phase.state === "current",
    children: gates.length + produces.length ? [...produces, ...gates] : undefined,
  };
}

export const GATE: Record<Gate["status"], { said: string; icon: Icon }> = {
  passed: { said: "passed", icon: icon("unlock", GOOD) },
  failed: { said: "failed", icon: icon("lock", BAD) },
  open: { said: "not passed yet", icon: icon("lock") },
  waived: { said: "waived by a person", icon: icon("unlock", ASKED) },
  "not-reached": { said: "not reached", icon: icon("lock", FAINT) },
};

function gateNode(run: Evaluation, gate: Gate, id: string): Node {
  const own = `${id}/gate/${gate.id}`;
  return {
    id: own,
    label: `Gate: ${plain(gate.title || gate.id, 80)}`,
    description: GATE[gate.status].said,
    tooltip: [
      `${plain(gate.id)}: ${GATE[gate.status].said}`,
      ...(gate.inForce
        ? gate.forbidden.map((entry) => `not now: ${plain(entry.action)} (${plain(entry.because)})`)
        : []),
    ],
    icon: GATE[gate.status].icon,
    context: "gate",
    subject: { ...nameOf(run), gate: gate.id },
    open: gate.status === "failed" || (gate.status === "open" && gate.inForce),
    children: gate.criteria.map((criterion, index) => criterionNode(run, criterion, `${own}/${index}`)),
  };
}

const met = (criterion: Criterion): { said: string; icon: Icon } =>
  criterion.met === null
    ? { said: "no evidence yet", icon: icon("question", FAINT) }
    : criterion.met
      ? { said: "met", icon: icon("check", GOOD) }
      : { said: "not met", icon: icon("close", BAD) };

function criterionNode(run: Evaluation, criterion: Criterion, id: string): Node {
  const place = firstPlace(run.root, criterion.evidence);
  return {
    id,
    label: plain(criterion.text),
    description: met(criterion).said,
    tooltip: [plain(criterion.text, 400), met(criterion).said],
    icon: met(criterion).icon,
    ...(place && { context: "place", click: "openPlace" as const }),
    subject: { ...nameOf(run), place },
    children: criterion.evidence.length ? evidenceNodes(run, criterion.evidence, id) : undefined,
  };
}

function limitNode(limit: Limit, id: string): Node {
  return {
    id: `${id}/limit/${limit.id}`,
    label: plain(limit.id),
    description: `${limit.count} of ${limit.max ?? "no maximum"}`,
    icon: icon("dashboard", limit.reached ? BAD : undefined),
    spoken: limit.reached ? "reached" : undefined,
  };
}

function planNodes(run: Evaluation, id: string): Node[] {
  const plan = run.plan;
  if (plan === null || plan.stages.length === 0) return [];
  const progress = run.progress;
  const under = plan.stages.find((stage) => stage.done < stage.total);
  return [
    {
      id: `${id}/plan`,
      label: "Plan",
      description: progress ? `${progress.done} of ${plural(progress.total, "task")} done` : plain(tail(plan.path)),
      tooltip: [plain(plan.path, 400)],
      icon: icon("checklist"),
      context: "place",
      subject: { ...nameOf(run), place: { root: run.root, path: plan.path, line: plan.stages[0]!.line, column: null } },
      open: true,
      children: plan.stages.map((stage) => stageNode(run, stage, `${id}/plan`, stage === under)),
    },
  ];
}

/** The stage that is worked on is open, and every other one in which something can be done. */
function stageNode(run: Evaluation, stage: Stage, id: string, worked: boolean): Node {
  const own = `${id}/${stage.id}`;
  const done = stage.total > 0 && stage.done === stage.total;
  return {
    id: own,
    label: plain(/^\d/.test(stage.id) ? `${stage.id}. ${stage.title}` : stage.title || stage.id, 80),
    description: `${stage.done}/${stage.total}`,
    icon: done
      ? icon("pass", GOOD)
      : icon(stage.done ? "circle-large-filled" : "circle-large-outline", stage.done ? NOW : FAINT),
    context: "place",
    subject: { ...nameOf(run), place: { root: run.root, path: run.plan!.path, line: stage.line, column: null } },
    open: worked || (!done && stage.tasks.some((task) => task.state !== "blocked")),
    children: stage.tasks.map((task) => taskNode(run, task, own)),
  };
}

export const TASK: Record<Task["state"], { said: string; icon: Icon }> = {
  done: { said: "done", icon: icon("check", GOOD) },
  ready: { said: "ready", icon: icon("circle-outline", NOW) },
  claimed: { said: "claimed", icon: icon("person") },
  blocked: { said: "blocked", icon: icon("circle-slash", FAINT) },
  reported: { said: "reported, not checked", icon: icon("eye") },
  skipped: { said: "skipped", icon: icon("debug-step-over", FAINT) },
};

/** What is said of a task: its state, and by whom or what it is held. */
export function taskSaid(task: Task): string {
  if (task.state === "claimed" && task.claimedBy) return `claimed by ${plain(task.claimedBy)}`;
  if (task.state === "blocked" && task.blockedBy.length) return `blocked by ${plain(task.blockedBy.join(", "))}`;
  return TASK[task.state].said;
}

export function taskNode(run: Pick<Evaluation, "root" | "run" | "plan">, task: Task, id: string): Node {
  return {
    id: `${id}/${task.id}`,
    label: plain(task.title || task.id, 80),
    description: taskSaid(task),
    tooltip: [
      `${plain(task.id)}: ${taskSaid(task)}`,
      ...(task.agent ? [`for ${plain(task.agent)}`] : []),
      ...(task.files.length ? [`changes ${plain(task.files.join(", "), 400)}`] : []),
    ],
    icon: TASK[task.state].icon,
    context: `place task-${task.state}`,
    click: "openPlace",
    subject: {
      ...nameOf(run),
      task: task.id,
      who: task.claimedBy ?? undefined,
      place: { root: run.root, path: run.plan!.path, line: task.line, column: null },
    },
  };
}

const nameOf = (run: RunName): RunName => ({ root: run.root, run: run.run });
