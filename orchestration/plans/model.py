"""The value of a plan (a parsed list of work in an artifact), and what a dialect of plans has to offer.

Line numbers are zero-based. A plan keeps what it did not understand: an unknown mark is a task that
is not done, never a task that vanished.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from itertools import chain
from types import MappingProxyType
from typing import Any, NamedTuple

from ..findings import Problem, Span
from ..partitions import SIZE, is_same, partition


class MarkStatus(StrEnum):
    """The status of a task by its mark."""

    TODO = "todo"
    IN_PROGRESS = "in_progress"
    DONE = "done"
    BLOCKED = "blocked"
    ATTENTION = "attention"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"


STATUS_MEANING: Mapping[MarkStatus, str] = MappingProxyType({
    MarkStatus.TODO: "not done", MarkStatus.DONE: "done", MarkStatus.IN_PROGRESS: "in progress",
    MarkStatus.BLOCKED: "blocked", MarkStatus.ATTENTION: "needs attention",
    MarkStatus.CANCELLED: "cancelled; it is not counted",
    MarkStatus.UNKNOWN: "no known mark; it counts as not done",
})  # fmt: skip
"""Each status in a person's words."""


_CLOSED = frozenset((MarkStatus.DONE, MarkStatus.CANCELLED))


class Mark(NamedTuple):
    """One place that records progress: what it says and the range of the mark's text, `[x]` and all."""

    status: MarkStatus
    span: Span


class RowPlace(NamedTuple):
    """A range in one line of a stage. `line` is counted from the stage's, so that a stage that moves
    leaves its tasks as they are; `Plan.span` tells where it stands.
    """

    line: int
    column: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Task:
    """One task of a plan.

    `number` is the short name reports use ("03" of "auth-03"). `place` is that of its id, or of its row where
    it has none; `mark` that of its status mark, `file_place` that of its file. `word` is its status where the
    plan says it in a word; `rank` its turn among those that can start, the lowest first.
    """

    id: str
    number: str
    title: str
    stage: str
    status: MarkStatus
    file: str
    type: str
    place: RowPlace
    mark: RowPlace | None = None
    file_place: RowPlace | None = None
    optional: bool = False
    word: str = ""
    rank: int = 0

    @property
    def done(self) -> bool:
        """True if nothing of it is left to do: it is done or cancelled."""
        return self.status in _CLOSED

    @property
    def counts(self) -> bool:
        """True if it is one of those that are counted: not cancelled, and not optional and open."""
        return self.status is MarkStatus.DONE or not (self.optional or self.status is MarkStatus.CANCELLED)

    @property
    def row(self) -> tuple[str, int]:
        """What tells the rows of a plan apart, also those that share an id."""
        return self.stage, self.place.line


class StageTasks(tuple[Task, ...]):
    """The tasks of a stage, in order, with what is counted and looked up in them: once, however often the
    rest of the plan is read anew. Of a long stage it is put together from its `partitions`.
    """

    _partitions: tuple[StageTasks, ...] = ()

    @classmethod
    def after(cls, tasks: Sequence[Task], before: StageTasks | None) -> StageTasks:
        """The tasks, with the partitions of the stage `before` that hold the same ones."""
        if before is not None and is_same(tasks, before):
            return before
        stage = cls(tasks)
        if len(stage) > 2 * SIZE:
            stage._partitions = tuple(partition(stage, before._partitions if before else (), cls))
        return stage

    @property
    def partitions(self) -> tuple[StageTasks, ...]:
        """The tasks in parts, each of which may be that of an earlier stage; of few tasks they are one."""
        return self._partitions or (self,)

    @cached_property
    def done(self) -> int:
        if self._partitions:
            return sum(part.done for part in self._partitions)
        return sum(task.status is MarkStatus.DONE for task in self)

    @cached_property
    def total(self) -> int:
        """The number of tasks that count."""
        if self._partitions:
            return sum(part.total for part in self._partitions)
        return sum(task.counts for task in self)

    @cached_property
    def unknown(self) -> int:
        """The number of tasks whose mark nobody knows."""
        if self._partitions:
            return sum(part.unknown for part in self._partitions)
        return sum(task.status is MarkStatus.UNKNOWN for task in self)

    @cached_property
    def files(self) -> tuple[str, ...]:
        """The file of each task, "" for one that names none."""
        if self._partitions:
            return tuple(chain.from_iterable(part.files for part in self._partitions))
        return tuple(task.file for task in self)

    @cached_property
    def by_id(self) -> Mapping[str, Task]:
        """Tasks by id. Of two rows with one id the open one speaks for both: done only when both are."""
        return _merged_by_id(self, self._partitions) if self._partitions else _by_id(self)

    @cached_property
    def names(self) -> Mapping[str, frozenset[str]]:
        """Every name of the tasks (in small letters) to the ids of those that have it."""
        if self._partitions:
            return _merged_names(self._partitions)
        found: dict[str, frozenset[str]] = {}
        for task in self:
            file = task.file.rsplit("/", 1)[-1]
            own = frozenset((task.id,))
            for name in (task.id, task.number, task.number.lstrip("0"), file, file.removesuffix(".md")):
                if name:
                    name = name.lower()
                    found[name] = found[name] | own if name in found else own
        return found


def _by_id(tasks: Iterable[Task]) -> dict[str, Task]:
    found: dict[str, Task] = {}
    for task in tasks:
        if task.id not in found or (found[task.id].done and not task.done):
            found[task.id] = task
    return found


def _merged_by_id(tasks: Iterable[Task], groups: Sequence[StageTasks]) -> dict[str, Task]:
    """The tasks of some groups by id; `tasks` are all of them."""
    found: dict[str, Task] = {}
    for group in groups:
        found.update(group.by_id)
    is_unique = len(found) == sum(len(group.by_id) for group in groups)
    return found if is_unique else _by_id(tasks)


def _merged_names(groups: Iterable[StageTasks]) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for group in groups:
        names = group.names
        for name in found.keys() & names.keys():
            names = {**names, name: found[name] | names[name]}
        found.update(names)
    return found


NO_TASKS = StageTasks()


class Count(NamedTuple):
    """A count that a plan writes down: "4/22 tasks complete"."""

    done: int
    total: int
    span: Span


@dataclass(frozen=True, slots=True)
class Stage:
    """A group of tasks worked on together ("Phase 1: Foundation" of a MASTER_PLAN.md).

    `tasks` have their places counted from the first line of `span`. `summary` is the stage's mark in the
    Progress Summary table, `tally` its "2/4" there.
    """

    id: str
    title: str
    span: Span
    tasks: StageTasks = NO_TASKS
    summary: Mark | None = None
    tally: Count | None = None

    @property
    def total(self) -> int:
        return self.tasks.total

    @property
    def done(self) -> int:
        return self.tasks.done

    def span_of(self, place: RowPlace) -> Span:
        """The span of a place in the text."""
        line = self.span.line + place.line
        return Span(line, place.column, line, place.end_column)

    @property
    def is_complete(self) -> bool:
        return 0 < self.done == self.total


@dataclass(frozen=True)
class Plan:
    """A whole plan. `problems` are ready to become findings of the plan's file.

    `substance` is a digest of what a person approves: titles, stages, tasks and prose, without any
    status mark or progress figure, so that ticking a task off leaves it as it is. `references` are the marks
    of tasks in the plan's Quick Reference list, by the rows of the tasks. `claims` are other ids (in
    small letters) that the tasks' own files give, each to the id of its row; one that two give is left out.
    `details` has what the plan itself says of tasks that have no file of their own, by their ids.
    `problems_of_files` are those of a plan that is spread over files, by the names of the files.
    `memory` is what its dialect may go on from when it reads a later text; it is no part of the value.
    """

    title: str
    status: str
    stages: tuple[Stage, ...]
    substance: str
    count: Count | None = None
    problems: tuple[Problem, ...] = ()
    references: Mapping[tuple[str, int], Mark] = field(default_factory=lambda: MappingProxyType({}))
    claims: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    details: Mapping[str, TaskFile] = field(default_factory=lambda: MappingProxyType({}))
    problems_of_files: Mapping[str, tuple[Problem, ...]] = field(default_factory=lambda: MappingProxyType({}))
    memory: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks of all stages, in order."""
        return tuple(chain.from_iterable(stage.tasks for stage in self.stages))

    @cached_property
    def _stages(self) -> Mapping[str, Stage]:
        return {stage.id: stage for stage in self.stages}

    def span(self, task: Task, place: RowPlace | None = None) -> Span:
        """The span in the text of a task's place, or of another place in its stage."""
        return self._stages[task.stage].span_of(place or task.place)

    def tasks_at(self, line: int) -> Iterator[Task]:
        """The tasks whose row is a line of the text."""
        stages = (stage for stage in self.stages if stage.span.line <= line)
        return (task for s in stages for task in s.tasks if s.span.line + task.place.line == line)

    def reference(self, task: Task) -> Mark | None:
        """The mark of a task in the Quick Reference, if it stands there."""
        return self.references.get(task.row)

    @cached_property
    def by_id(self) -> Mapping[str, Task]:
        """Tasks by id. Of two rows with one id the open one speaks for both: done only when both are."""
        return MappingProxyType(_merged_by_id(self.tasks, [stage.tasks for stage in self.stages]))

    @cached_property
    def names(self) -> Mapping[str, str]:
        """Every name of each task (in small letters) to its id; one that two tasks share is left out."""
        found = _merged_names(stage.tasks for stage in self.stages)
        unique = {name: next(iter(ids)) for name, ids in found.items() if len(ids) == 1}
        aliases = {name: task for name, task in self.claims.items() if name not in found}
        return aliases | unique


@dataclass(frozen=True)
class TaskFile:
    """The content of a task's own file (the Meta list and "Files to Change" of seed 004's task files).

    `deletes` are those of the `files` that the task takes away, `empty` those that may be empty. `status` is
    what its Status says, None where it says none. `blockers` say in words what else it waits for, `unticked`
    how many of its criteria are not ticked, `depends_places` where single dependencies stand.
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
    blockers: tuple[str, ...] = ()
    unticked: int = 0
    depends_places: Mapping[str, Span] = field(default_factory=lambda: MappingProxyType({}))

    @cached_property
    def facts(self) -> Mapping[str, Any]:
        """What guards see of it."""
        return {
            "depends_on": list(self.depends_on),
            "parallel_with": list(self.parallel_with),
            "files": list(self.files),
            "deletes": list(self.deletes),
            "empty": list(self.empty),
            "requires_ux_dx_review": self.requires_ux_dx_review,
            "unticked": self.unticked,
            "ticked": not self.unticked,
        }

    def place_of(self, dependency: str) -> Span | None:
        """Where a dependency is named: its own place where that is known, else that of them all."""
        return self.depends_places.get(dependency, self.depends_span)


class PlanEdit(StrEnum):
    """The changes of a plan that effects may ask for; expressions have a function of each name."""

    CHECK_TASKS = "check_tasks"
    TICK_TASKS = "tick_tasks"
    SET_STATUS = "set_status"
    APPEND_STAGE = "append_stage"
    COMPLETE_PLAN = "complete_plan"


class FileParts(NamedTuple):
    """How a plan is read that is spread over files.

    `read` gives what one file says by its path and text, kept for each of them; `combine` makes the plan of
    that by file (None: it cannot be read), paths being from the run's folder or with "/" from the root.
    `edit` gives path -> text of the files that an edit changes, by the name of the edit, all texts and the
    edit's arguments. Raises ValueError.
    """

    read: Callable[[str, str], Any]
    combine: Callable[[Mapping[str, Any]], Plan | None]
    edit: Callable[[str, Mapping[str, str], Sequence[Any]], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Dialect:
    """One way to write plans: everything the product asks of it. A new one is a value of this class and a
    line in `dialects.DIALECTS`.

    - `about` names it in completion; `lacks` completes "holds no ..." for a text that is no such plan.
    - `read` gives None when the text holds no plan of this dialect; `read_again` gives what `read` does, and
      may take what did not change from a plan that was read before. `read_task` reads a task's own file.
    - `marks` has what the characters of a box say, the one that is written before its variants; `mark_place`
      matches the text before a cursor where a mark is to be completed.
    - `parts` is how a plan is read that is spread over all files of its artifact; `read` is not asked then.
      Each task names its file, in which its places are, and `details` of the plan has what that says.
    - `form` is markdown, json or journal (lines of JSON): it says how large a text may be.
    - `fault` says at its place why nothing in a text can be read, before `read` is asked.
    - `columns`: a text has a table with these columns exactly if `read` finds a plan in it.
    - `edits` are text to text, each with the arguments of its function in expressions, and `new_files` tells
      file -> text of the task files that an edit of the old text names anew. Both raise ValueError.

    - `units` gives the names of the plans in a text that may hold several, () where it holds none, None where
      all of it is one, as it is of other dialects; `of_unit` gives the dialect of one of them.

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
    read_again: Callable[[str, Plan], Plan | None] | None = None
    draft_task: Callable[[Task, str], str] | None = None
    units: Callable[[str], Sequence[str] | None] | None = None
    of_unit: Callable[[str], Dialect] | None = None
    parts: FileParts | None = None
    form: str = "markdown"
    fault: Callable[[str], Problem | None] = lambda text: None

    @property
    def mark_of(self) -> Mapping[MarkStatus, str]:
        """The character that is written for each status."""
        marks: dict[MarkStatus, str] = {}
        for mark, status in self.marks.items():
            marks.setdefault(status, mark)
        return marks

    def for_unit(self, unit: str) -> Dialect:
        """The dialect of one plan of a text; itself where a text is one plan."""
        return self.of_unit(unit) if self.of_unit and unit else self

    def read_after(self, text: str, before: Plan | None) -> Plan | None:
        """What `read` gives; sooner where a plan is known that was read `before` from a like text."""
        return self.read_again(text, before) if self.read_again and before else self.read(text)

    def edit(self, name: str, text: str, arguments: Sequence[Any]) -> str:
        """The text after an edit. Raises ValueError when there is no such edit, or it cannot be made."""
        if name not in self.edits:
            raise ValueError(f"plans of this kind have no edit {name!r}")
        return self.edits[PlanEdit(name)](text, *arguments)

    def files_of_edit(self, name: str, text: str, arguments: Sequence[Any]) -> dict[str, str]:
        """file -> text of the task files that an edit of the text names anew; most edits name none."""
        draft = self.new_files.get(PlanEdit(name))
        return draft(text, *arguments) if draft else {}
