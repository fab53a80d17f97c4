"""The work of a plan that can be handed out now, what the rest waits for, and the plan as people see it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import repeat

from ..decision.decision import Decision
from ..decision.facts import RunFacts, TraceEntry
from ..decision.task_turns import TaskTurns
from ..expressions.context import Outcome
from ..expressions.language import Expression
from ..findings import Evidence
from ..plans.model import Task
from ..plans.schedule import BLOCKED_MARK, Schedule, TaskBoard, build_schedule
from ..snapshot.snapshot import Snapshot

# Of the tasks that cannot start, this many are named in a reason.
MOST_NAMED = 5


def schedule_tasks(facts: RunFacts, decision: Decision) -> Schedule:
    """The schedule of the plan: tasks that can start in the phase at hand, and what the rest waits for."""
    target, snapshot = facts.workflow.phases.get(decision.to or decision.phase or ""), facts.snapshot
    if snapshot.plan is None or target is None or target.tasks is None or decision.kind.is_final:
        return Schedule()
    outcome = facts.context.items(target.tasks)
    entry = TraceEntry(f"phases.{target.id}.tasks", target.tasks, Outcome(None, outcome.error), "tasks")
    facts.trace.append(entry)
    by_id = snapshot.plan.by_id
    items = outcome.value if isinstance(outcome.value, list) else []
    rows = items if {*map(type, items)} <= {dict} else [item for item in items if isinstance(item, dict)]
    ids = [*map(str, map(dict.get, rows, repeat("id")))]
    tasks = [*filter(None, map(by_id.get, ids))]
    # What is handed out (again) is not finished, whatever was reported of it before.
    finished = TaskTurns(facts).reported_tasks.difference(ids)
    return build_schedule(snapshot.plan, tasks, snapshot.details, finished, snapshot.claims)


def deadlock_reason(schedule: Schedule, snapshot: Snapshot) -> str:
    """The reason why no task that is left can start, or ""; while somebody works on one, some may yet."""
    if schedule.ready or not schedule.blocked or snapshot.claims:
        return ""
    if marked := [task for task, why in schedule.blocked.items() if BLOCKED_MARK in why]:
        more = len(marked) - MOST_NAMED
        named = ", ".join(marked[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
        return f"no task can start: {named} {'is' if len(marked) == 1 else 'are'} marked [-], blocked"
    named = list(schedule.blocked.items())[:MOST_NAMED]
    waits = "; ".join(f"{task} waits for {', '.join(why)}" for task, why in named)
    more = len(schedule.blocked) - len(named)
    return f"no task can start: {waits}" + (f"; and {more} more" if more > 0 else "")


def task_board(
    facts: RunFacts,
    decision: Decision,
    schedule: Schedule,
    tasks: Sequence[Task],
    failed: Mapping[str, Evidence],
) -> TaskBoard | None:
    """The plan as people see it; None when the run has none.

    `tasks` are the relevant ones, `failed` the reports that failed tasks, by the tasks' ids.
    """
    plan, snapshot, workflow = facts.snapshot.plan, facts.snapshot, facts.workflow
    if plan is None:
        return None
    details = zip(tasks, snapshot.details_of(tasks), strict=True)
    agents = next((phase.agents for phase in workflow.phases.values() if phase.tasks is not None), ())
    return TaskBoard(
        path=snapshot.plan_path,
        plan=plan,
        folder=snapshot.folder,
        schedule=schedule,
        stage=facts.stage,
        phase=decision.phase or "",
        agent=agents[0] if agents else None,
        reported=TaskTurns(facts).reported_tasks,
        failed=failed,
        skipped=_stages_named(facts, workflow.skipped_stages),
        checked=_stages_named(facts, workflow.checked_stages),
        claims={claim.task: claim for claim in snapshot.claims},
        files={task.id: each.files for task, each in details if each.files},
    )


def _stages_named(facts: RunFacts, expression: Expression | None) -> frozenset[str]:
    """The ids of the stages that an expression lists; none where it has no value."""
    ids = facts.context.value(expression).value if expression else []
    return frozenset(map(str, ids)) if isinstance(ids, list) else frozenset()


def relevant_tasks(facts: RunFacts) -> tuple[Task, ...]:
    """The tasks whose own files are part of the answer: all of a small plan, else those of the stage."""
    plan = facts.snapshot.plan
    if plan is None:
        return ()
    at_hand = facts.stage
    return facts.snapshot.whole or tuple(t for s in plan.stages if s.id == at_hand for t in s.tasks)
