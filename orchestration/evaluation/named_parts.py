"""The phases, tasks and stages that a command names, looked up in the workflow and the plan."""

from __future__ import annotations

from collections.abc import Sequence

from ..plans.schedule import resolve, similar_tasks
from ..suggestions import did_you_mean, suggestion_text
from .trace import CommandRefused, EvaluationTrace


class InvalidCommand(CommandRefused):
    """The command names something unknown, or leaves out what is needed."""


def phase_named(trace: EvaluationTrace, name: str) -> str:
    phases = trace.facts.workflow.phases
    if name not in phases:
        raise InvalidCommand(f"unknown phase {name!r}{guess(trace, name, list(phases))}")
    return name


def guess(trace: EvaluationTrace, word: str, names: Sequence[str]) -> str:
    """A guess at what was meant, or where the names of the workflow stand."""
    listed = f"; `phasekeeper workflow show {trace.facts.workflow.name}` lists them"
    return did_you_mean(word, names) or listed


def _why_no_plan(trace: EvaluationTrace) -> str:
    """Why a run without a plan has none, and what to do then."""
    declared = trace.facts.workflow.plan
    if declared is None:
        return "this run has no plan; leave `--task` out"
    return f"the plan {trace.facts.artifact(declared.id).path} cannot be read; make or mend it first"


def task_named(trace: EvaluationTrace, name: str) -> str:
    plan = trace.facts.snapshot.plan
    if plan is None:
        raise CommandRefused(f"{name!r} is no task: {_why_no_plan(trace)}")
    found = resolve(plan, name)
    if found is None:
        close = suggestion_text(similar_tasks(plan, name)) or did_you_mean(name, list(plan.by_id))
        raise InvalidCommand(f"{name!r} is no task of the plan{close}")
    return found


def stage_named(trace: EvaluationTrace, stage: str, tasks: Sequence[str]) -> str:
    """The stage that is reported on: as said, else that of the tasks, else the one under work."""
    plan = trace.facts.snapshot.plan
    stages = [each.id for each in plan.stages] if plan else []
    if stage and stages and stage not in stages:
        raise CommandRefused(f"the plan has no stage {stage!r}; it has {', '.join(stages)}")
    of_tasks = {plan.by_id[task].stage for task in tasks} if plan else set()
    named = of_tasks | ({stage} if stage else set())
    if len(named) > 1:
        raise CommandRefused(f"one report is of one stage, not of {', '.join(sorted(named))}")
    return next(iter(named), "") or trace.facts.stage
