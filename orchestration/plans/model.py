"""Plans: a parsed list of work in an artifact. One dialect a module, each `read(text) -> Plan`.

Line numbers are zero-based. A plan keeps what it did not understand: an unknown mark is a task that
is not done, never a task that vanished.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple

from ..findings import Problem, Span

# Status marks of seed 004's plans (reference: workflows, seed 004, "Status marks").
MARKS: Mapping[str, str] = MappingProxyType(
    {" ": "todo", "x": "done", "X": "done", "~": "in_progress", "-": "blocked", "!": "attention"}
)


class Mark(NamedTuple):
    """One place that records progress: what it says and the range of the mark's text, `[x]` and all."""

    status: str
    span: Span


@dataclass(frozen=True, slots=True)
class Task:
    """A row of the plan. `status` is todo, in_progress, done, blocked, attention or unknown.

    `number` is the short name reports use ("03" of "auth-03"). `reference` is the task's mark in the
    plan's Quick Reference list, if it stands there.
    """

    id: str
    number: str
    title: str
    stage: str
    status: str
    file: str
    type: str
    span: Span
    mark: Mark | None = None
    file_span: Span | None = None
    reference: Mark | None = None

    @property
    def done(self) -> bool:
        return self.status == "done"


@dataclass(frozen=True, slots=True)
class Stage:
    """A group of tasks worked on together ("Phase 1: Foundation" of a MASTER_PLAN.md).

    `summary` is the stage's mark in the Progress Summary table.
    """

    id: str
    title: str
    span: Span
    tasks: tuple[Task, ...] = ()
    summary: Mark | None = None

    @property
    def total(self) -> int:
        return len(self.tasks)

    @property
    def done(self) -> int:
        return sum(task.done for task in self.tasks)


class Count(NamedTuple):
    """The plan's own progress line: "4/22 tasks complete"."""

    done: int
    total: int
    span: Span


@dataclass(frozen=True)
class Plan:
    """A whole plan. `problems` are ready to become findings of the plan's file.

    `substance` is a digest of what a person approves: titles, stages, tasks and prose, without any
    status mark or progress figure, so that ticking a task off leaves it as it is.
    """

    title: str
    status: str
    stages: tuple[Stage, ...]
    substance: str
    count: Count | None = None
    problems: tuple[Problem, ...] = ()
    tasks: tuple[Task, ...] = field(init=False, compare=False)
    by_id: Mapping[str, Task] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        tasks = tuple(task for stage in self.stages for task in stage.tasks)
        names: dict[str, Task] = {}
        for task in tasks:
            # Of two rows with one id the open one speaks for both: done is done only when both are.
            if task.id not in names or (names[task.id].done and not task.done):
                names[task.id] = task
        object.__setattr__(self, "tasks", tasks)
        object.__setattr__(self, "by_id", MappingProxyType(names))

    @cached_property
    def names(self) -> Mapping[str, str]:
        """Every name of each task (in small letters) to its id; one that two tasks share is left out."""
        found: dict[str, set[str]] = {}
        for task in self.tasks:
            file = task.file.rsplit("/", 1)[-1]
            for name in (task.id, task.number, task.number.lstrip("0"), file, file.removesuffix(".md")):
                if name:
                    found.setdefault(name.lower(), set()).add(task.id)
        return {name: ids.pop() for name, ids in found.items() if len(ids) == 1}


@dataclass(frozen=True, slots=True)
class TaskFile:
    """What a task's own file says of it (the Meta list and "Files to Change" of seed 004's task files)."""

    title: str = ""
    depends_on: tuple[str, ...] = ()
    parallel_with: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    requires_ux_dx_review: bool = False
    priority: str = ""
    effort: str = ""
    depends_span: Span | None = None
    problems: tuple[Problem, ...] = ()


class Dialect(NamedTuple):
    """A way to write plans. `read` gives None when the text holds no plan of this dialect."""

    read: Callable[[str], Plan | None]
    read_task: Callable[[str], TaskFile]


def dialects() -> Mapping[str, Dialect]:
    """All plan dialects by the word that `kind:` of an artifact uses."""
    from .master_plan import reader

    return {"master-plan": Dialect(reader.read, reader.read_task)}
