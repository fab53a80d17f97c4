"""Which tasks a report may name: those handed out whose dependencies are met, or left unfinished before.

Tasks are taken in the order that the plan allows, in the stage under work, and after a failed quality gate
only those that failed (seed 004, phase 4 and gate 3). The definition says which are handed out (`tasks:`).
"""

from __future__ import annotations

from collections.abc import Sequence

from ..definition.model import Phase
from ..journal.journal import FAILURES, Record
from ..plans.schedule import unmet_dependencies
from ..states import RecordKind
from .facts import RunFacts

# Of the tasks that may be reported, this many are named in a refusal.
_MOST_NAMED = 8


def task_turn_problem(facts: RunFacts, phase: Phase, names: Sequence[str]) -> str:
    """Why a report of the phase may not name these tasks (ids) now; "" when it may."""
    plan = facts.snapshot.plan
    if plan is None or phase.tasks is None:
        return ""
    handed_out, newest = _handed_out(facts, phase), _newest_reports(facts, (phase.id,))
    reported = reported_tasks(facts) | set(names)
    for name in names:
        task = plan.by_id.get(name)
        if task is None:
            continue
        # Work left unfinished, and in the ordinary phase what the plan marks as done, is no other work.
        is_left = name in newest and newest[name]["outcome"] != phase.outcomes[0]
        is_same = task.stage == facts.stage and (is_left or (task.done and not phase.detour))
        if name not in handed_out and not is_same:
            named = ", ".join(handed_out[:_MOST_NAMED]) or "none"
            return f"{name} is no task of {phase.id} now; those that are: {named}"
        waits = unmet_dependencies(plan, facts.snapshot.details(task), reported)
        if waits:
            return f"{name} waits for {', '.join(waits)}"
    return ""


def _handed_out(facts: RunFacts, phase: Phase) -> list[str]:
    assert phase.tasks is not None
    value = facts.context.items(phase.tasks).value
    items = value if isinstance(value, list) else []
    return [str(item.get("id")) for item in items if isinstance(item, dict)]


def reported_tasks(facts: RunFacts) -> frozenset[str]:
    """The tasks whose newest report of handed-out work is no failure."""
    phases = tuple(phase.id for phase in facts.workflow.phases.values() if phase.tasks is not None)
    newest = _newest_reports(facts, phases)
    return frozenset(name for name, entry in newest.items() if entry["outcome"] not in FAILURES)


def _newest_reports(facts: RunFacts, phases: Sequence[str]) -> dict[str, Record]:
    """Task -> the newest report of any of the phases that names it."""
    newest: dict[str, Record] = {}
    for entry in facts.context.records.pick({"kind": RecordKind.REPORT.value, "phase": list(phases)}):
        tasks = entry["tasks"] if isinstance(entry["tasks"], list) else []
        for name in filter(None, (entry["task"], *tasks)):
            newest[str(name)] = entry
    return newest
