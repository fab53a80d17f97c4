"""Findings that decide nothing: what is there too early, what tasks wait for, what the configuration says."""

from __future__ import annotations

from collections.abc import Sequence

from ..decision.facts import RunFacts
from ..definition.model import Phase
from ..definition.root_config import PATH
from ..findings import Finding, finding
from ..plans.model import Plan, Task
from ..plans.schedule import dependency_problems
from ..snapshot.snapshot import Snapshot
from ..suggestions import did_you_mean, misspelling


def advisory_findings(facts: RunFacts, phase: Phase | None, tasks: Sequence[Task]) -> None:
    """Tell the sight of it. `tasks` are those whose own files are part of the answer."""
    if phase is not None and not phase.terminal and not phase.detour:
        _ahead(facts, phase)
    if facts.snapshot.plan is not None:
        facts.findings += _of_tasks(facts.snapshot, facts.snapshot.plan, tasks)
    _unknown_parameters(facts)


def _ahead(facts: RunFacts, current: Phase) -> None:
    """Artifacts of later phases that exist: information, never a reason to skip (seed 002, row 6)."""
    phases = facts.workflow.phases.values()
    here = {name for phase in phases if phase.order <= current.order for name in phase.produces}
    for phase in phases:
        for name in phase.produces if phase.order > current.order and not phase.detour else ():
            held = facts.held(name)
            if held.exists and name not in here:
                said = f"{name} of phase {phase.id} exists, the run is in {current.id}"
                facts.tell("phase-ahead", held.path, said)


def _of_tasks(snapshot: Snapshot, plan: Plan, tasks: Sequence[Task]) -> list[Finding]:
    """What is wrong with task files, looked for once for the same tasks."""
    memory = snapshot.memory
    if memory.get("tasks looked at") != tasks:
        memory["tasks looked at"], memory["task findings"] = tasks, _task_findings(plan, tasks, snapshot)
    return memory["task findings"]


def _task_findings(plan: Plan, tasks: Sequence[Task], snapshot: Snapshot) -> list[Finding]:
    def path(task: Task) -> str:
        return f"{snapshot.run}/{task.file}" if snapshot.run else task.file

    wrong = dependency_problems(plan, tasks, snapshot.details)
    found = [finding(p, path(task) if p.span else snapshot.plan_path) for task, p in wrong]
    return found + [finding(p, path(task)) for task in tasks for p in snapshot.details(task).problems]


def _unknown_parameters(facts: RunFacts) -> None:
    workflow, config = facts.workflow, facts.snapshot.config
    for name in config.of(workflow.name):
        if name not in workflow.parameters:
            known = list(workflow.parameters)
            message = f"{workflow.name} has no parameter {name!r}{did_you_mean(name, known)}"
            place = config.places.get((workflow.name, name))
            facts.tell("parameter-invalid", PATH, message, place, data=misspelling(name, known))
