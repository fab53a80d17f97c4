"""Which tasks a report may name: those handed out whose dependencies are met, or left unfinished before.

Tasks are taken in the order that the plan allows, in the stage under work, and after a failed quality gate
only those that failed (seed 004, phase 4 and gate 3). The definition says which are handed out (`tasks:`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice

from ..definition.model import Phase
from ..journal.branches import FAILURES
from ..journal.journal import Record
from ..plans.schedule import unmet_dependencies
from ..states import RecordKind
from .facts import RunFacts

# Of the tasks that may be reported, this many are named in a refusal.
_MOST_NAMED = 8


class TaskTurns:
    """The tasks that reports may name as a run stands, looked up once for all of them."""

    def __init__(self, facts: RunFacts):
        self._facts = facts
        self._handed_out: dict[str, dict[str, None]] = {}
        self._left: dict[str, frozenset[str]] = {}

    def problem(self, phase: Phase, names: Sequence[str]) -> str:
        """Why a report of the phase may not name these tasks (ids) now; "" when it may."""
        facts, plan = self._facts, self._facts.snapshot.plan
        if plan is None or phase.tasks is None:
            return ""
        handed_out = self.tasks_of(phase)
        for name in names:
            task = plan.by_id.get(name)
            if task is None:
                continue
            # Work left unfinished, and in the ordinary phase what the plan marks as done, is no other work.
            is_known = name in self._unfinished_tasks(phase) or (task.done and not phase.detour)
            if name not in handed_out and not (task.stage == facts.stage and is_known):
                named = ", ".join(islice(handed_out, _MOST_NAMED)) or "none"
                return f"{name} is no task of {phase.id} now; those that are: {named}"
            waits = unmet_dependencies(plan, facts.snapshot.details(task), self.reported_tasks)
            if waits := [each for each in waits if each not in names]:
                return f"{name} waits for {', '.join(waits)}"
        return ""

    @cached_property
    def reported_tasks(self) -> frozenset[str]:
        """The tasks whose newest report of handed-out work is no failure."""
        phases = [phase.id for phase in self._facts.workflow.phases.values() if phase.tasks is not None]
        newest = self._newest_reports(phases)
        return frozenset(name for name, entry in newest.items() if entry["outcome"] not in FAILURES)

    @cached_property
    def failed_tasks(self) -> dict[str, Record]:
        """Task -> the newest report that says that it failed, until its work is reported again as done.

        A verdict that fails a stage names the tasks that failed (seed 004, gate 3); one that passes it later
        takes that back.
        """
        failed: dict[str, Record] = {}
        phases = self._facts.workflow.phases
        for entry in self._facts.context.records.pick({"kind": RecordKind.REPORT.value}):
            named = [*map(str, _tasks_named(entry))]
            phase = phases.get(str(entry["phase"]))
            if entry["outcome"] in FAILURES:
                failed.update((name, entry) for name in named)
            elif phase and phase.tasks is not None:
                for name in named:
                    failed.pop(name, None)
            else:
                verdict = (entry["phase"], entry["stage"])
                failed = {n: by for n, by in failed.items() if (by["phase"], by["stage"]) != verdict}
        return failed

    def tasks_of(self, phase: Phase) -> dict[str, None]:
        """The ids of the tasks that a phase hands out, in order."""
        if phase.id not in self._handed_out:
            value = self._facts.context.items(phase.tasks).value if phase.tasks else None
            items = value if isinstance(value, list) else []
            ids = (str(item.get("id")) for item in items if isinstance(item, dict))
            self._handed_out[phase.id] = dict.fromkeys(ids)
        return self._handed_out[phase.id]

    def _unfinished_tasks(self, phase: Phase) -> frozenset[str]:
        """The tasks whose newest report of the phase does not say that they are done."""
        if phase.id not in self._left:
            newest = self._newest_reports([phase.id])
            left = (name for name, entry in newest.items() if entry["outcome"] != phase.outcomes[0])
            self._left[phase.id] = frozenset(left)
        return self._left[phase.id]

    def _newest_reports(self, phases: list[str]) -> dict[str, Record]:
        """Task -> the newest report of any of the phases that names it."""
        newest: dict[str, Record] = {}
        for entry in self._facts.context.records.pick({"kind": RecordKind.REPORT.value, "phase": phases}):
            for name in _tasks_named(entry):
                newest[str(name)] = entry
        return newest


def _tasks_named(entry: Record) -> Iterator[object]:
    """The tasks that a report names."""
    tasks = entry["tasks"] if isinstance(entry["tasks"], list) else []
    return filter(None, (entry["task"], *tasks))
