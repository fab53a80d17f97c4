"""Which tasks can start, which may run side by side, and what the others wait for.

Rules of seed 004, "Parallel Execution Rules", in the order they outrank each other (reference,
seed 004, row 13): a dependency, then a shared file, then "Parallel With"; without any of them tasks
are independent. A dependency that cannot be found counts as not done.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter

from ..findings import Evidence, Problem, Severity
from ..graphs import find_cycles
from ..journal.journal import Claim
from ..states import TaskStatus
from ..suggestions import did_you_mean, nearest, suggestion_text
from .model import MarkStatus, Plan, Stage, Task, TaskFile

BLOCKED_MARK = "mark [-]"
"""What a task waits for that is marked as blocked in the plan."""

MOST_READY = 500
"""Of a plan with more tasks that can start so many are handed out; nobody chooses among thousands."""
_LATER = (f"its turn, behind {MOST_READY} others",)
_ID = attrgetter("id")

Details = Callable[[Task], TaskFile]


@dataclass(frozen=True, slots=True)
class TaskState:
    """A task as it stands.

    `blocked_by` holds task ids, "mark [-]", "stage N", "phase P", or what the plan says in words.
    `line` is the row in the plan, zero-based. `failed_by` is the report that says that it failed.
    """

    id: str
    title: str
    state: TaskStatus
    blocked_by: tuple[str, ...]
    claimed_by: str | None
    failed_by: Evidence | None
    path: str
    line: int
    files: tuple[str, ...]
    agent: str | None


@dataclass(frozen=True, slots=True)
class StageState:
    id: str
    title: str
    done: int
    total: int
    line: int
    tasks: tuple[TaskState, ...]


@dataclass(frozen=True, slots=True)
class Schedule:
    """`ready` can start now, in plan order; `batches` follow each other; `blocked` maps the rest to why.

    `batches` end with the one that makes them `MOST_READY` tasks. `claimed` are those that somebody is at
    work on.
    """

    ready: tuple[str, ...] = ()
    batches: tuple[tuple[str, ...], ...] = ()
    blocked: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    claimed: tuple[str, ...] = ()


# "Task 02" and "task #2: The cart" name a task as "02" does (seed 004, "Depends On").
_IN_WORDS = re.compile(r"(?i)(?:tasks?[ \t]+#?|#)?([^\s:#]+)(?::.*|[ \t]+[-–—][ \t].*)?")
_NUMBER = re.compile(r"\d+")
# So many unknown references are compared with the ids of the plan: each takes as long as it has tasks.
_MOST_SUGGESTED = 100
_LONGEST_NUMBER = 100


def resolve(plan: Plan, reference: str) -> str | None:
    """The id of the task that a reference means: its id, its number ("03", "3", "Task 03") or its file."""
    if reference in plan.by_id:
        return reference
    name = _file_or_id(reference)
    if name in plan.by_id:
        return name
    if found := plan.names.get(name.lower()):
        return found
    said = _IN_WORDS.fullmatch(reference.strip())
    return plan.names.get(_file_or_id(said[1]).lower()) if said else None


def _file_or_id(reference: str) -> str:
    return reference.strip().strip("`").rsplit("/", 1)[-1]


def dependency(plan: Plan, detail: TaskFile, reference: str) -> str | None:
    """The id of the task that a task's own file means by a reference.

    A file that says it is another task than its row does was written where all files had such ids.
    """
    claims = plan.claims
    own = claims.get(_file_or_id(reference).lower()) if claims and detail.id.lower() in claims else None
    return own or resolve(plan, reference)


def claimed_ids(plan: Plan, details: Details) -> dict[str, str]:
    """Id in a task's own file (in small letters) -> id of its row, where they differ and one file says so."""
    claimed: dict[str, set[str]] = {}
    for task in plan.tasks:
        if name := details(task).id.lower():
            claimed.setdefault(name, set()).add(task.id)
    unique = ((name, ids.pop()) for name, ids in claimed.items() if len(ids) == 1)
    return {name: task for name, task in unique if name != task.lower()}


def identity_problem(plan: Plan, task: Task, detail: TaskFile) -> Problem | None:
    """The problem of a task's own file that says it is another task than its row says."""
    said, row = detail.id, task.id
    if said == row:
        return None
    base = task.file.rpartition("/")[2].removesuffix(".md").lower()
    if not said or said.lower() in (row.lower(), base) or row.lower() == base:
        return None
    number, own = _last_number(said), _last_number(row)
    if number and own and int(number) == int(own) and (said == number or row == own):
        # One of the two is the number alone.
        return None
    if sum(each.file == task.file for each in plan.tasks) > 1:
        # Two rows that name one file are a fault of their own.
        return None
    other = said in plan.by_id
    means = "; it is another task's id" if other else f"; {said} is taken for {row} where it is named"
    severity = Severity.ERROR if other else None
    return Problem(
        "task-mismatch", f"the row says {row}, its file says {said}{means}", detail.id_span, severity,
        {"id": row},
    )  # fmt: skip


def _last_number(text: str) -> str:
    """The digits that stand last in a text; "" where there are none, or more than an id has."""
    digits = (_NUMBER.findall(text[-_LONGEST_NUMBER:]) or [""])[-1]
    return digits if len(digits) < _LONGEST_NUMBER else ""


def similar_tasks(plan: Plan, reference: str) -> list[str]:
    """The ids that a reference which means no task may have meant, the nearest first."""
    close = nearest(reference, [*plan.by_id]) or nearest(reference.lower(), [*plan.names])
    same = plan.names.get(_last_number(reference).lstrip("0"))
    return list(dict.fromkeys([*([same] if same else []), *(plan.names.get(n.lower(), n) for n in close)]))


def build_schedule(
    plan: Plan, tasks: Sequence[Task], details: Details, finished: Collection[str], claims: Sequence[Claim]
) -> Schedule:
    """The schedule of the tasks to hand out; `finished` are done for those that depend on them.

    What comes behind `MOST_READY` tasks that can start waits for its turn: it is not looked at.
    """
    claimed = {claim.task for claim in claims}
    claimed_tasks = [plan.by_id[task_id] for task_id in sorted(claimed) if task_id in plan.by_id]
    holders = {name: task.id for task in claimed_tasks for name in details(task).files}
    open_tasks = [task for task in tasks if task.id not in claimed] if claimed else tasks
    waits: dict[str, tuple[str, ...]] = {}
    blocked: dict[str, tuple[str, ...]] = {}
    ready, looked_at = [], 0
    for task in open_tasks:
        if len(ready) == MOST_READY:
            break
        looked_at += 1
        detail = details(task)
        waits[task.id] = needs(plan, task, detail, finished)
        shared = [holders[name] for name in detail.files if name in holders]
        why = tuple(dict.fromkeys([*waits[task.id], *shared]))
        if why:
            blocked[task.id] = why
        else:
            ready.append(task.id)
    later = dict.fromkeys(map(_ID, open_tasks[looked_at:]), _LATER)
    for name in later.keys() & waits.keys():
        del later[name]
    blocked |= later
    in_work = tuple(task.id for task in tasks if task.id in claimed) if claimed else ()
    return Schedule(tuple(ready), _batches(open_tasks[:looked_at], waits, details), blocked, in_work)


def needs(plan: Plan, task: Task, detail: TaskFile, finished: Collection[str]) -> tuple[str, ...]:
    """Unmet needs of a task: its own mark (seed 004: `[-]` is blocked) or words, then its dependencies."""
    mark = (BLOCKED_MARK,) if task.status is MarkStatus.BLOCKED and not detail.blockers else ()
    return (*mark, *detail.blockers, *unmet_dependencies(plan, detail, finished))


def unmet_dependencies(plan: Plan, detail: TaskFile, finished: Collection[str]) -> tuple[str, ...]:
    """The ids of unfinished tasks that a task depends on, and references that no task answers to."""
    found = ((dependency(plan, detail, reference), reference) for reference in detail.depends_on)
    waits = (
        task or name for task, name in found if task not in finished and not (task and plan.by_id[task].done)
    )
    return tuple(dict.fromkeys(waits))


def _batches(
    tasks: Sequence[Task], waits: Mapping[str, Sequence[str]], details: Details
) -> tuple[tuple[str, ...], ...]:
    """Tasks in batches: each batch needs only what earlier ones finish, and no file is in a batch twice.

    What waits in a circle, or for something that is no task here, is never free; all else goes on.
    """
    by_id = {task.id: task for task in tasks}
    order = {name: position for position, name in enumerate(by_id)}
    missing = {name: len(waits[name]) for name in by_id}
    dependants: dict[str, list[str]] = {}
    for name in by_id:
        for needed in waits[name]:
            dependants.setdefault(needed, []).append(name)
    free = [name for name, count in missing.items() if not count]
    batches: list[tuple[str, ...]] = []
    listed = 0
    while free and listed < MOST_READY:
        batch, later = _without_shared_files(free, lambda name: details(by_id[name]).files)
        batches.append(tuple(batch))
        listed += len(batch)
        for name in batch:
            for dependant in dependants.get(name, ()):
                missing[dependant] -= 1
                later += [dependant] if not missing[dependant] else []
        free = sorted(later, key=order.__getitem__)
    return tuple(batches)


def _without_shared_files(
    names: Iterable[str], files: Callable[[str], Iterable[str]]
) -> tuple[list[str], list[str]]:
    """(the first tasks that share no file, the others)."""
    batch: list[str] = []
    later: list[str] = []
    used: set[str] = set()
    for name in names:
        own = files(name)
        if used.isdisjoint(own):
            batch.append(name)
            used.update(own)
        else:
            later.append(name)
    return batch, later


def cycles(plan: Plan, tasks: Iterable[Task], details: Details) -> list[list[str]]:
    """Circles of dependencies among the tasks, each once, its members in plan order."""
    edges: dict[str, list[str]] = {}
    order: dict[str, int] = {}
    is_in_order = True
    for task in tasks:
        position = order.setdefault(task.id, len(order))
        detail = details(task)
        if not detail.depends_on:
            # It is in no circle.
            continue
        needed = (dependency(plan, detail, reference) for reference in detail.depends_on)
        # A file that says it is another task does not depend on itself by naming its row.
        known = identity_problem(plan, task, detail) is None
        own = [name for name in needed if name is not None and (known or name != task.id)]
        edges[task.id] = own
        is_in_order = is_in_order and all(order.get(name, position) < position for name in own)
    return [] if is_in_order else find_cycles(edges)


def dependency_problems(plan: Plan, tasks: Sequence[Task], details: Details) -> list[tuple[Task, Problem]]:
    """Faults in ids and dependencies of tasks: another id, none such, a circle; in the task's file."""
    found: list[tuple[Task, Problem]] = []
    unknown = 0
    for task in tasks:
        detail = details(task)
        if problem := identity_problem(plan, task, detail):
            found.append((task, problem))
        for reference in detail.depends_on:
            if dependency(plan, detail, reference) is None:
                close = ""
                if (unknown := unknown + 1) <= _MOST_SUGGESTED:
                    similar = [each for each in similar_tasks(plan, reference) if each != task.id]
                    close = suggestion_text(similar) or did_you_mean(reference, [*plan.by_id])
                message = f"{task.id} depends on {reference!r}, which is no task of the plan{close}"
                data = {"name": reference, "task": task.id}
                place = detail.place_of(reference)
                found.append((task, Problem("dangling-dependency", message, place, data=data)))
    for group in cycles(plan, tasks, details):
        task = plan.by_id[group[0]]
        message = f"{' → '.join([*group, group[0]])} depend on each other in a circle; none of them can start"
        data = {"tasks": group}
        found.append((task, Problem("plan-cycle", message, details(task).depends_span, data=data)))
    return found


@dataclass(frozen=True)
class TaskBoard:
    """The plan as people see it. `stages` is made when it is looked at: a plan may have 10,000 tasks.

    `files` are those that the tasks' own files name, by the tasks' ids. Those of tasks that are far off are
    not read for the board either: its revision does not cover them. `failed` has the reports that failed
    tasks, by the tasks' ids; `skipped` and `checked` are ids of stages. `listed` are the ids of the tasks
    that its stages list, None for all; their counts are of all tasks either way.
    """

    path: str
    plan: Plan
    folder: str
    schedule: Schedule
    stage: str
    phase: str
    agent: str | None
    reported: frozenset[str]
    failed: Mapping[str, Evidence]
    skipped: frozenset[str]
    checked: frozenset[str]
    claims: Mapping[str, Claim]
    files: Mapping[str, tuple[str, ...]]
    listed: frozenset[str] | None = None

    @property
    def whole(self) -> bool:
        """True if the stages list all their tasks."""
        return self.listed is None

    @cached_property
    def stages(self) -> tuple[StageState, ...]:
        return tuple(
            StageState(
                s.id, s.title, self._done(s), s.total, s.span.line,
                tuple(map(self._task, self._board_tasks(s))),
            )
            for s in self.plan.stages
        )  # fmt: skip

    def _done(self, stage: Stage) -> int:
        """How many tasks of a stage are done, marked or not where the stage passed its check."""
        if stage.id not in self.checked or stage.done == stage.total:
            return stage.done
        return sum(self._task(task).state is TaskStatus.DONE for task in stage.tasks)

    @property
    def done_without_mark(self) -> int:
        """How many tasks are done that the plan does not mark yet."""
        return sum(max(0, self._done(s) - s.done) for s in self.plan.stages if s.id in self.checked)

    def _board_tasks(self, stage: Stage) -> Iterable[Task]:
        listed = self.listed
        return stage.tasks if listed is None else (task for task in stage.tasks if task.id in listed)

    def task(self, name: str) -> TaskState | None:
        """One task by its id, without a look at the others."""
        found = self.plan.by_id.get(name)
        return self._task(found) if found else None

    def _task(self, task: Task) -> TaskState:
        claim, blocked_by = self.claims.get(task.id), self.schedule.blocked.get(task.id, ())
        failed_by = self.failed.get(task.id)
        if task.stage in self.skipped or task.status is MarkStatus.CANCELLED:
            state, blocked_by = TaskStatus.SKIPPED, ()
        elif task.done and not failed_by:
            # A mark in the plan, which anybody sets, does not make up for a failure.
            state, blocked_by = TaskStatus.DONE, ()
        elif claim and (task.id in self.schedule.claimed or task.id not in self.reported):
            # Who reported it is not at work on it any more, unless it is handed out again.
            state, blocked_by = TaskStatus.CLAIMED, ()
        elif failed_by:
            state = TaskStatus.FAILED
        elif blocked_by:
            state = TaskStatus.BLOCKED
        elif task.id in self._ready:
            state = TaskStatus.READY
        elif task.id in self.reported:
            state = TaskStatus.DONE if task.stage in self.checked else TaskStatus.REPORTED
        else:
            behind = self.stage and task.stage != self.stage
            state = TaskStatus.BLOCKED
            blocked_by = (f"stage {self.stage}" if behind else f"phase {self.phase}",)
        path = f"{self.folder}/{task.file}" if self.folder and task.file else task.file
        actor, files = claim.actor if claim else None, self.files.get(task.id, ())
        line = self.plan.span(task).line
        return TaskState(
            task.id, task.title, state, blocked_by, actor, failed_by, path, line, files, self.agent
        )

    @cached_property
    def _ready(self) -> frozenset[str]:
        return frozenset(self.schedule.ready)
