"""The work of a plan that can be handed out now, what the rest waits for, and the plan as people see it."""

from __future__ import annotations

from typing import NamedTuple

from ..decision.decision import Verdict
from ..decision.facts import Seen, Sight
from ..definition.model import Phase
from ..expressions.context import Outcome
from ..plans.model import Task
from ..plans.schedule import Board, Schedule, arrange
from ..snapshot.snapshot import Snapshot
from ..states import RecordKind

# Of the tasks that cannot start, this many are named in a reason.
MOST_NAMED = 5


class HandedOut(NamedTuple):
    """`phase` is the one whose tasks are arranged, None where none are handed out."""

    phase: Phase | None = None
    schedule: Schedule = Schedule()


def hand_out(sight: Sight, verdict: Verdict) -> HandedOut:
    """What of the plan can be started in the phase at hand, and what the rest waits for."""
    target, snapshot = sight.workflow.phases.get(verdict.to or verdict.phase or ""), sight.snapshot
    if snapshot.plan is None or target is None or target.tasks is None or verdict.kind.is_final:
        return HandedOut()
    outcome = sight.context.items(target.tasks)
    seen = Seen(f"phases.{target.id}.tasks", target.tasks, Outcome(None, outcome.error), "tasks")
    sight.trace.append(seen)
    by_id = snapshot.plan.by_id
    items = outcome.value if isinstance(outcome.value, list) else []
    ids = (str(item.get("id")) for item in items if isinstance(item, dict))
    tasks = [by_id[name] for name in ids if name in by_id]
    # What is handed out (again) is not finished, whatever was reported of it before.
    finished = reported(sight) - {task.id for task in tasks}
    return HandedOut(target, arrange(snapshot.plan, tasks, snapshot.details, finished, snapshot.claims))


def reported(sight: Sight) -> frozenset[str]:
    """The tasks that some report of handed-out work names."""
    phases = {phase.id for phase in sight.workflow.phases.values() if phase.tasks is not None}
    named: set[str] = set()
    for entry in sight.records:
        if entry["kind"] == RecordKind.REPORT and entry["phase"] in phases:
            named.add(str(entry["task"]))
            named.update(map(str, entry["tasks"] if isinstance(entry["tasks"], list) else ()))
    return frozenset(named)


def stuck(handed: HandedOut, snapshot: Snapshot) -> str:
    """Why none of the tasks that are left can start, or ""; while somebody works on one, it is not stuck."""
    schedule = handed.schedule
    if schedule.ready or not schedule.blocked or snapshot.claims:
        return ""
    named = list(schedule.blocked.items())[:MOST_NAMED]
    waits = "; ".join(f"{task} waits for {', '.join(why)}" for task, why in named)
    more = len(schedule.blocked) - len(named)
    return f"no task can start: {waits}" + (f"; and {more} more" if more > 0 else "")


def board_of(sight: Sight, verdict: Verdict, schedule: Schedule) -> Board | None:
    """The plan as people see it; None when the run has none."""
    plan, snapshot, workflow = sight.snapshot.plan, sight.snapshot, sight.workflow
    if plan is None:
        return None
    ids = sight.context.value(workflow.skipped_stages).value if workflow.skipped_stages else []
    agents = next((phase.agents for phase in workflow.phases.values() if phase.tasks is not None), ())
    return Board(
        path=snapshot.plan_path,
        plan=plan,
        folder=snapshot.run,
        schedule=schedule,
        stage=sight.stage,
        phase=verdict.phase or "",
        agent=agents[0] if agents else None,
        reported=reported(sight),
        skipped=frozenset(map(str, ids)) if isinstance(ids, list) else frozenset(),
        claims={claim.task: claim for claim in snapshot.claims},
        files={task.file: files for task in looked_at(sight) if (files := snapshot.details(task).files)},
    )


def looked_at(sight: Sight) -> tuple[Task, ...]:
    """The tasks whose own files are part of the answer: all of a small plan, else those of the stage."""
    plan = sight.snapshot.plan
    if plan is None:
        return ()
    at_hand = sight.stage
    return sight.snapshot.whole or tuple(t for s in plan.stages if s.id == at_hand for t in s.tasks)
