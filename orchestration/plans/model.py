"""The value of a plan (a parsed list of work in an artifact), and what a dialect of plans has to offer.

Line numbers are zero-based. A plan keeps what it did not understand: an unknown mark is a task that
is not done, never a task that vanished.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

from ..findings import Problem, Span


class MarkStatus(StrEnum):
    """The status of a task by its mark."""

    TODO = "todo"
    IN_PROGRESS = "in_progress"
    DONE = "done"
    BLOCKED = "blocked"
    ATTENTION = "attention"
    UNKNOWN = "unknown"


STATUS_MEANING: Mapping[MarkStatus, str] = MappingProxyType({
    MarkStatus.TODO: "not done", MarkStatus.DONE: "done", MarkStatus.IN_PROGRESS: "in progress",
    MarkStatus.BLOCKED: "blocked", MarkStatus.ATTENTION: "needs attention",
    MarkStatus.UNKNOWN: "no known mark; it counts as not done",
})  # fmt: skip
"""Each status in a person's words."""


class Mark(NamedTuple):
    """One place that records progress: what it says and the range of the mark's text, `[x]` and all."""

    status: MarkStatus
    span: Span


@dataclass(frozen=True, slots=True)
class Task:
    """One task of a plan.

    `number` is the short name reports use ("03" of "auth-03"). `reference` is the task's mark in the
    plan's Quick Reference list, if it stands there.
    """

    id: str
    number: str
    title: str
    stage: str
    status: MarkStatus
    file: str
    type: str
    span: Span
    mark: Mark | None = None
    file_span: Span | None = None
    reference: Mark | None = None

    @property
    def done(self) -> bool:
        return self.status is MarkStatus.DONE


class Count(NamedTuple):
    """A count that a plan writes down: "4/22 tasks complete"."""

    done: int
    total: int
    span: Span


@dataclass(frozen=True, slots=True)
class Stage:
    """A group of tasks worked on together ("Phase 1: Foundation" of a MASTER_PLAN.md).

    `summary` is the stage's mark in the Progress Summary table, `tally` its "2/4" there.
    """

    id: str
    title: str
    span: Span
    tasks: tuple[Task, ...] = ()
    summary: Mark | None = None
    tally: Count | None = None

    @property
    def total(self) -> int:
        return len(self.tasks)

    @property
    def done(self) -> int:
        return sum(task.done for task in self.tasks)

    @property
    def is_complete(self) -> bool:
        return 0 < self.done == self.total


@dataclass(frozen=True)
class Plan:
    """A whole plan. `problems` are ready to become findings of the plan's file.

    `substance` is a digest of what a person approves: titles, stages, tasks and prose, without any
    status mark or progress figure, so that ticking a task off leaves it as it is. `claims` are other ids (in
    small letters) that the tasks' own files give, each to the id of its row; one that two give is left out.
    """

    title: str
    status: str
    stages: tuple[Stage, ...]
    substance: str
    count: Count | None = None
    problems: tuple[Problem, ...] = ()
    claims: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks of all stages, in order."""
        return tuple(task for stage in self.stages for task in stage.tasks)

    @cached_property
    def by_id(self) -> Mapping[str, Task]:
        """Tasks by id. Of two rows with one id the open one speaks for both: done only when both are."""
        names: dict[str, Task] = {}
        for task in self.tasks:
            if task.id not in names or (names[task.id].done and not task.done):
                names[task.id] = task
        return MappingProxyType(names)

    @cached_property
    def names(self) -> Mapping[str, str]:
        """Every name of each task (in small letters) to its id; one that two tasks share is left out."""
        found: dict[str, set[str]] = {}
        for task in self.tasks:
            file = task.file.rsplit("/", 1)[-1]
            for name in (task.id, task.number, task.number.lstrip("0"), file, file.removesuffix(".md")):
                if name:
                    found.setdefault(name.lower(), set()).add(task.id)
        aliases = {name: task for name, task in self.claims.items() if name not in found}
        return aliases | {name: ids.pop() for name, ids in found.items() if len(ids) == 1}


@dataclass(frozen=True, slots=True)
class TaskFile:
    """The content of a task's own file (the Meta list and "Files to Change" of seed 004's task files).

    `deletes` are those of the `files` that the task takes away, `empty` those that may be empty. `status` is
    what its Status says, None where it says none.
    """

    id: str = ""
    id_span: Span | None = None
    depends_on: tuple[str, ...] = ()
    parallel_with: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    deletes: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()
    requires_ux_dx_review: bool = False
    depends_span: Span | None = None
    status: Mark | None = None
    status_text: str = ""
    problems: tuple[Problem, ...] = ()


class PlanEdit(StrEnum):
    """The changes of a plan that effects may ask for; expressions have a function of each name."""

    CHECK_TASKS = "check_tasks"
    SET_STATUS = "set_status"
    APPEND_STAGE = "append_stage"


@dataclass(frozen=True, slots=True)
class Dialect:
    """One way to write plans: everything the product asks of it. A new one is a value of this class and a
    line in `dialects.DIALECTS`.

    - `about` names it in completion; `lacks` completes "holds no ..." for a text that is no such plan.
    - `read` gives None when the text holds no plan of this dialect; `read_task` reads a task's own file.
    - `marks` has what the characters of a box say, the one that is written before its variants; `mark_place`
      matches the text before a cursor where a mark is to be completed.
    - `columns`: a text has a table with these columns exactly if `read` finds a plan in it.
    - `edits` are text to text, each with the arguments of its function in expressions, and `new_files` tells
      file -> text of the task files that an edit of the old text names anew. Both raise ValueError.

    What is None is not offered: `sync_summaries` repairs the places that repeat the tasks' progress;
    `new_tasks` gives `{id, number, file, title, ...}` of tasks that `append_stage` would create for
    `{title, type}`; `draft_task` is the shortest task file that `read_task` finds nothing wrong with.
    """

    about: str
    lacks: str
    read: Callable[[str], Plan | None]
    marks: Mapping[str, MarkStatus]
    mark_place: re.Pattern[str]
    read_task: Callable[[str], TaskFile] = lambda text: TaskFile()
    columns: frozenset[str] = frozenset()
    edits: Mapping[PlanEdit, Callable[..., str]] = field(default_factory=dict)
    new_files: Mapping[PlanEdit, Callable[..., dict[str, str]]] = field(default_factory=dict)
    sync_summaries: Callable[[str], str] | None = None
    new_tasks: Callable[[str, Sequence[Mapping[str, object]]], list[dict[str, str]]] | None = None
    draft_task: Callable[[Task, str], str] | None = None

    @property
    def mark_of(self) -> Mapping[MarkStatus, str]:
        """The character that is written for each status."""
        marks: dict[MarkStatus, str] = {}
        for mark, status in self.marks.items():
            marks.setdefault(status, mark)
        return marks

    def edit(self, name: str, text: str, arguments: Sequence[Any]) -> str:
        """The text after an edit. Raises ValueError when there is no such edit, or it cannot be made."""
        if name not in self.edits:
            raise ValueError(f"plans of this kind have no edit {name!r}")
        return self.edits[PlanEdit(name)](text, *arguments)

    def files_of_edit(self, name: str, text: str, arguments: Sequence[Any]) -> dict[str, str]:
        """file -> text of the task files that an edit of the text names anew; most edits name none."""
        draft = self.new_files.get(PlanEdit(name))
        return draft(text, *arguments) if draft else {}
