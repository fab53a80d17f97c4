"""Turns records of tasks, whatever they were read from, into a plan, and tells what is wrong between them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple

from ...findings import Problem, Span
from ...partitions import partition
from ...vfs.files import digest_of
from ..model import MarkStatus, Plan, RowPlace, Stage, StageTasks, Task, TaskFile

OPEN = frozenset((MarkStatus.TODO, MarkStatus.IN_PROGRESS, MarkStatus.UNKNOWN))
"""Statuses of tasks that can be worked on."""


ONE_STAGE: Mapping[str, str] = MappingProxyType({"tasks": "Tasks"})
"""The stages of a plan that knows none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRecord:
    """One task as its file has it.

    `word` is its status in a word. `place` is that of its id, or of the whole where it has none, in one line;
    `mark` that of its status. `depends_on` are the ids that it names itself, at `depends_span`; `waits` what
    it waits for besides, as its open parts. `blockers` say in words why it cannot be begun. `parent` is the
    id of the task that it is a part of. One that is `optional` holds nothing up and is no work. Of one that
    has a `file` of its own all places are in that, and `problems` are of it; `unticked` criteria are open.
    `number` is its short name, the id where it has none; `stage` the stage that it is in.
    `depends_places` are those of single dependencies, where they are known.
    """

    id: str
    title: str
    status: MarkStatus
    place: Span
    word: str = ""
    mark: Span | None = None
    depends_on: tuple[str, ...] = ()
    depends_span: Span | None = None
    waits: tuple[str, ...] = ()
    blockers: tuple[str, ...] = ()
    parent: str = ""
    type: str = ""
    file: str = ""
    rank: int = 0
    optional: bool = False
    unticked: int = 0
    problems: tuple[Problem, ...] = ()
    number: str = ""
    stage: str = "tasks"
    depends_places: Mapping[str, Span] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def is_closed(self) -> bool:
        return self.status in (MarkStatus.DONE, MarkStatus.CANCELLED)


_Found = tuple[TaskRecord, Problem]
_Replacements = Sequence[tuple[str, str]]


def plan_of_records(
    records: Sequence[TaskRecord],
    span: Span,
    problems: Iterable[Problem],
    of_parts: str = "",
    of_cancelled: str = "nobody will do it",
    title: str = "",
    stages: Mapping[str, str] = ONE_STAGE,
    mend: Callable[[str, TaskRecord], _Replacements] = lambda code, record: (),
    before: Plan | None = None,
    lines: Sequence[int] = (),
) -> Plan:
    """The plan that has these tasks, by the titles of its `stages`, in order. `span` is above them all.

    `mend` gives (title, text) of what may take the place of an id that is there twice, or of the status of
    what is done while a part of it is open, by the code of the finding.

    `of_parts` says what its own tool does with open parts of what is done, `of_cancelled` what it does with
    what waits for a cancelled task. `lines` has the line that the places of each record are counted from, the
    first one without it. With `lines` the plan keeps what was made of its records, and what the plan `before`
    keeps of those that are still the same objects is taken over.
    """
    last: _Memory = before.memory.get(_RECORDS, _NOTHING) if before else _NOTHING
    is_kept, lines = bool(lines), lines or [0] * len(records)
    line_of = _LineOf(records, lines)
    parts = partition(records, [each.records for each in last.parts], RecordPart)
    between = [*_duplicates(parts, line_of), *_drift(parts, of_parts), *_ahead(parts)]
    between += _cancelled_dependencies(parts, of_cancelled)
    between = [
        (record, _with_replacements(move_down(problem, line_of(record)), mend(problem.code, record)))
        for record, problem in between
    ]
    found = [*problems, *(problem for record, problem in between if not record.file)]
    in_files: dict[str, list[Problem]] = {}
    for record, problem in between:
        in_files.setdefault(record.id, []).extend([problem] if record.file else [])
    dropped = frozenset(record.id for part in parts for record in part.cancelled_records)
    placed = [*_placed_parts(parts, lines, span.line, dropped, in_files, last)]
    grouped: dict[str, list[Task]] = {name: [] for name in stages}
    for task in chain.from_iterable(part.tasks for part in placed) if len(stages) > 1 else ():
        grouped[task.stage].append(task)
    if len(stages) == 1:
        grouped = {name: [*chain.from_iterable(part.tasks for part in placed)] for name in stages}
    known = {stage.id: stage.tasks for stage in before.stages} if before else {}
    details: dict[str, TaskFile] = {}
    for part in placed:
        details.update(zip(part.records.ids, part.details, strict=True))
    return Plan(
        title=title,
        status="",
        stages=tuple(
            Stage(name, stages[name], span, StageTasks.after(tasks, known.get(name)))
            for name, tasks in grouped.items()
            if tasks
        ),
        substance=digest_of("\n".join(part.substance for part in parts)),
        problems=tuple(sorted(found, key=lambda each: each.span or Span(0, 0, 0, 0))),
        details=details,
        memory={_RECORDS: _Memory(placed, dropped)} if is_kept else {},
    )


class RecordPart(tuple[TaskRecord, ...]):
    """Some records in a row, with what is told from them alone: once, however often others change."""

    @cached_property
    def ids(self) -> tuple[str, ...]:
        return tuple(record.id for record in self)

    @cached_property
    def open_ids(self) -> frozenset[str]:
        return frozenset(record.id for record in self if not record.is_closed)

    @cached_property
    def done(self) -> tuple[TaskRecord, ...]:
        return tuple(record for record in self if record.status is MarkStatus.DONE)

    @cached_property
    def cancelled_records(self) -> tuple[TaskRecord, ...]:
        """Those that were cancelled."""
        return tuple(record for record in self if record.status is MarkStatus.CANCELLED)

    @cached_property
    def open_parts(self) -> tuple[TaskRecord, ...]:
        """Those that another one waits for as its parts."""
        return tuple(each for each in self if each.parent and not (each.is_closed or each.optional))

    @cached_property
    def has_files(self) -> bool:
        return any(record.file for record in self)

    @cached_property
    def substance(self) -> str:
        """What a person approves of the tasks."""
        return "\n".join(map(_substance_of, self))


class _PlacedPart(NamedTuple):
    """Records where they stand: the line that each is counted from, and what was made of each there."""

    records: RecordPart
    lines: Sequence[int]
    above: int
    tasks: Sequence[Task]
    details: Sequence[TaskFile]


class _Memory(NamedTuple):
    """What a plan keeps of its records for the next one; `dropped` are the ids of cancelled ones."""

    parts: Sequence[_PlacedPart]
    dropped: frozenset[str]


_RECORDS = "records"
_NOTHING = _Memory((), frozenset())


def _placed_parts(
    parts: Sequence[RecordPart],
    lines: Sequence[int],
    above: int,
    dropped: frozenset[str],
    in_files: Mapping[str, Sequence[Problem]],
    last: _Memory,
) -> Iterator[_PlacedPart]:
    """The parts with what is made of them below the line of their stage.

    What was made of the part before it, and of each record of the one that stood in its place, is taken over
    where nothing else differs that it is made of.
    """
    is_like = dropped == last.dropped
    known = {id(each.records): each for each in last.parts}
    same_place = last.parts if len(last.parts) == len(parts) else [None] * len(parts)
    at = 0
    for part, beside in zip(parts, same_place, strict=True):
        own = tuple(lines[at : at + len(part)])
        at += len(part)
        old = known.get(id(part), beside) if is_like and not part.has_files else None
        if old is None or old.above != above or len(old.records) != len(part):
            tasks = [_task(record, line - above) for record, line in zip(part, own, strict=True)]
            details = [
                _detail(record, line, dropped, in_files.get(record.id, ()))
                for record, line in zip(part, own, strict=True)
            ]
            yield _PlacedPart(part, own, above, tasks, details)
        elif old.records is part and old.lines == own:
            yield old
        else:
            yield _placed_again(part, own, dropped, old)


def _placed_again(
    part: RecordPart, lines: Sequence[int], dropped: frozenset[str], old: _PlacedPart
) -> _PlacedPart:
    tasks, details = [*old.tasks], [*old.details]
    for number, (record, line) in enumerate(zip(part, lines, strict=True)):
        if record is not old.records[number]:
            tasks[number] = _task(record, line - old.above)
            details[number] = _detail(record, line, dropped, ())
        elif line != old.lines[number]:
            tasks[number] = _lower_task(tasks[number], line - old.lines[number])
            details[number] = _detail(record, line, dropped, ())
    return _PlacedPart(part, lines, old.above, tasks, details)


class _LineOf:
    """The line that the places of a record are counted from; it is asked for where something is wrong."""

    def __init__(self, records: Sequence[TaskRecord], lines: Sequence[int]) -> None:
        self._records, self._lines = records, lines

    @cached_property
    def _by_record(self) -> Mapping[int, int]:
        return dict(zip(map(id, self._records), self._lines, strict=True))

    def __call__(self, record: TaskRecord) -> int:
        return self._by_record[id(record)]


def move_down(problem: Problem, lines: int) -> Problem:
    """The problem some lines further down."""
    return problem._replace(span=_lower(problem.span, lines)) if lines and problem.span else problem


def _lower(span: Span, lines: int) -> Span:
    return Span(span.line + lines, span.column, span.end_line + lines, span.end_column)


def _substance_of(record: TaskRecord) -> str:
    """What a person approves of a task."""
    return f"{record.id}\0{record.title}\0{' '.join(record.depends_on)}\0{record.parent}"


def _with_replacements(problem: Problem, replacements: _Replacements) -> Problem:
    return problem._replace(data={"replacements": tuple(replacements)}) if replacements else problem


def _task(record: TaskRecord, line: int) -> Task:
    """The task of a record whose places are counted from so many lines below the stage's."""

    def place(span: Span) -> RowPlace:
        return RowPlace(span.line + line, span.column, span.end_column)

    return Task(
        record.id, record.number or record.id, record.title or record.id, record.stage, record.status,
        record.file, record.type,
        place(record.place), place(record.mark) if record.mark else None,
        optional=record.optional, word=record.word, rank=record.rank,
    )  # fmt: skip


def _lower_task(task: Task, lines: int) -> Task:
    place, mark = task.place, task.mark
    return replace(
        task,
        place=place._replace(line=place.line + lines),
        mark=mark._replace(line=mark.line + lines) if mark else None,
    )


def _detail(record: TaskRecord, line: int, dropped: Collection[str], in_file: Sequence[Problem]) -> TaskFile:
    """What a task waits for. One that was cancelled meets nothing: nobody did it."""
    return TaskFile(
        depends_on=tuple(dict.fromkeys((*record.depends_on, *record.waits))),
        depends_span=_lower(record.depends_span, line) if record.depends_span else None,
        depends_places=record.depends_places,
        problems=(*record.problems, *in_file),
        unticked=record.unticked,
        blockers=(*record.blockers, *(f"cancelled {name}" for name in record.depends_on if name in dropped)),
    )


def _duplicates(parts: Sequence[RecordPart], line_of: Callable[[TaskRecord], int]) -> Iterator[_Found]:
    if len(set[str]().union(*(part.ids for part in parts))) == sum(map(len, parts)):
        return
    first: dict[str, TaskRecord] = {}
    for record in chain.from_iterable(parts):
        same = first.setdefault(record.id, record)
        if same is not record:
            is_open = not (same.is_closed and record.is_closed)
            counts = "; one of them is open, so it counts as not done" if is_open else ""
            line = line_of(same) + same.place.line
            message = f"{record.id} stands in line {line + 1} already{counts}"
            yield record, Problem("duplicate-task", message, record.place)


def _drift(parts: Sequence[RecordPart], of_parts: str) -> Iterator[_Found]:
    """Tasks that are done while a part of them is open."""
    seen = f"; {of_parts}" if of_parts else ""
    open_parts: dict[str, list[str]] = {}
    for record in chain.from_iterable(part.open_parts for part in parts):
        open_parts.setdefault(record.parent, []).append(record.id)
    for record in chain.from_iterable(part.done for part in parts) if open_parts else ():
        if record.id in open_parts:
            left = [each.removeprefix(f"{record.id}:") for each in open_parts[record.id]]
            named = ", ".join(left[:5]) + (f" and {len(left) - 5} more" if len(left) > 5 else "")
            message = f"{record.id} is {record.word}, but {named} in it is open{seen}"
            yield record, Problem("status-drift", message, record.mark or record.place)


def _ahead(parts: Sequence[RecordPart]) -> Iterator[_Found]:
    open_ids = set[str]().union(*(part.open_ids for part in parts))
    for record in chain.from_iterable(part.done for part in parts):
        if left := [name for name in record.depends_on if name in open_ids]:
            message = f"{record.id} is done, but it depends on {', '.join(left)}"
            yield record, Problem("task-ahead", message, record.depends_span)


def _cancelled_dependencies(parts: Sequence[RecordPart], of_cancelled: str) -> Iterator[_Found]:
    dropped = {record.id: record.word for part in parts for record in part.cancelled_records}
    for record in chain.from_iterable(parts) if dropped else ():
        left = [name for name in record.depends_on if name in dropped]
        if left and not record.is_closed:
            message = f"{record.id} waits for {', '.join(left)}, which is {dropped[left[0]]}; {of_cancelled}"
            yield record, Problem("dependency-cancelled", message, record.depends_span)
