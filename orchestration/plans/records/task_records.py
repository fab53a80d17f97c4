"""Turns records of tasks, whatever they were read from, into a plan, and tells what is wrong between them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple

from ...findings import Problem, Span
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
    what waits for a cancelled task. Where the plan `before` keeps its records (`RECORDS`), what was made of
    those that are still the same is taken over. `lines` has the line that the places of each record are
    counted from, the first one without it.
    """
    lines = lines or [0] * len(records)
    line_of = _LineOf(records, lines)
    between = [*_duplicates(records, line_of), *_drift(records, of_parts), *_ahead(records)]
    between += _cancelled_dependencies(records, of_cancelled)
    between = [
        (record, _with_replacements(move_down(problem, line_of(record)), mend(problem.code, record)))
        for record, problem in between
    ]
    found = [*problems, *(problem for record, problem in between if not record.file)]
    in_files: dict[str, list[Problem]] = {}
    for record, problem in between:
        in_files.setdefault(record.id, []).extend([problem] if record.file else [])
    earlier = _EarlierRecords.of(before, records)
    changed = [(new, old) for new, old in zip(records, earlier.records, strict=True) if new is not old]
    grouped: dict[str, list[Task]] = {name: [] for name in stages}
    for record, task in zip(records, _tasks(records, lines, earlier, span.line), strict=True):
        grouped[record.stage].append(task)
    known = {stage.id: stage.tasks for stage in before.stages} if before else {}
    is_said = before is not None and all(
        old and _substance_of(new) == _substance_of(old) for new, old in changed
    )
    return Plan(
        title=title,
        status="",
        stages=tuple(
            Stage(name, stages[name], span, StageTasks.after(tasks, known.get(name)))
            for name, tasks in grouped.items()
            if tasks
        ),
        substance=before.substance
        if is_said and before
        else digest_of("\n".join(map(_substance_of, records))),
        problems=tuple(sorted(found, key=lambda each: each.span or Span(0, 0, 0, 0))),
        details=_details(records, lines, in_files, earlier),
    )


RECORDS = "records"
"""Under this word a plan may keep the records that it was made of, with their lines, for the next one."""


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


class _EarlierRecords(NamedTuple):
    """The records of the plan before, for each of these, with what was made of them; None for what is new."""

    records: Sequence[TaskRecord | None]
    lines: Sequence[int]
    tasks: Sequence[Task | None]
    details: Mapping[str, TaskFile]
    above: int = 0

    @classmethod
    def of(cls, before: Plan | None, records: Sequence[TaskRecord]) -> _EarlierRecords:
        last, lines = before.memory.get(RECORDS, ((), ())) if before else ((), ())
        if before and len(before.stages) == 1 and len(last) == len(records):
            has_details = len(before.details) == len(records) and not any(map(_is_dropped, last))
            known = before.details if has_details else {}
            return cls(last, lines, before.tasks, known, before.stages[0].span.line)
        nothing = [None] * len(records)
        return cls(nothing, [0] * len(records), nothing, {})


def _substance_of(record: TaskRecord) -> str:
    """What a person approves of a task."""
    return f"{record.id}\0{record.title}\0{' '.join(record.depends_on)}\0{record.parent}"


def _is_dropped(record: TaskRecord) -> bool:
    return record.status is MarkStatus.CANCELLED


def _with_replacements(problem: Problem, replacements: _Replacements) -> Problem:
    return problem._replace(data={"replacements": tuple(replacements)}) if replacements else problem


def _tasks(
    records: Sequence[TaskRecord], lines: Sequence[int], earlier: _EarlierRecords, above: int
) -> Iterator[Task]:
    """The tasks of records below the line of their stage; those of before are taken over, and moved."""
    before = zip(earlier.records, earlier.lines, earlier.tasks, strict=True)
    for record, line, (old, old_line, task) in zip(records, lines, before, strict=True):
        if task is None or record is not old:
            yield _task(record, line - above)
        else:
            lower = (line - above) - (old_line - earlier.above)
            yield _lower_task(task, lower) if lower else task


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


def _details(
    records: Sequence[TaskRecord],
    lines: Sequence[int],
    in_files: Mapping[str, Sequence[Problem]],
    earlier: _EarlierRecords,
) -> Mapping[str, TaskFile]:
    """What each task waits for. A task that was cancelled meets nothing: nobody did it."""
    dropped = {each.id for each in records if _is_dropped(each)}
    known = earlier.details if not dropped else {}
    return {
        each.id: known[each.id]
        if each is old and line == old_line and not each.file and each.id in known
        else _detail(each, line, dropped, in_files.get(each.id, ()))
        for each, line, old, old_line in zip(records, lines, earlier.records, earlier.lines, strict=True)
    }


def _detail(record: TaskRecord, line: int, dropped: Collection[str], in_file: Sequence[Problem]) -> TaskFile:
    return TaskFile(
        depends_on=tuple(dict.fromkeys((*record.depends_on, *record.waits))),
        depends_span=_lower(record.depends_span, line) if record.depends_span else None,
        depends_places=record.depends_places,
        problems=(*record.problems, *in_file),
        unticked=record.unticked,
        blockers=(*record.blockers, *(f"cancelled {name}" for name in record.depends_on if name in dropped)),
    )


def _duplicates(records: Sequence[TaskRecord], line_of: Callable[[TaskRecord], int]) -> Iterator[_Found]:
    if len({record.id for record in records}) == len(records):
        return
    first: dict[str, TaskRecord] = {}
    for record in records:
        same = first.setdefault(record.id, record)
        if same is not record:
            is_open = not (same.is_closed and record.is_closed)
            counts = "; one of them is open, so it counts as not done" if is_open else ""
            line = line_of(same) + same.place.line
            message = f"{record.id} stands in line {line + 1} already{counts}"
            yield record, Problem("duplicate-task", message, record.place)


def _drift(records: Sequence[TaskRecord], of_parts: str) -> Iterator[_Found]:
    """Tasks that are done while a part of them is open."""
    seen = f"; {of_parts}" if of_parts else ""
    open_parts: dict[str, list[str]] = {}
    for record in records:
        if record.parent and not (record.is_closed or record.optional):
            open_parts.setdefault(record.parent, []).append(record.id)
    for record in records if open_parts else ():
        if record.status is MarkStatus.DONE and record.id in open_parts:
            parts = [each.removeprefix(f"{record.id}:") for each in open_parts[record.id]]
            named = ", ".join(parts[:5]) + (f" and {len(parts) - 5} more" if len(parts) > 5 else "")
            message = f"{record.id} is {record.word}, but {named} in it is open{seen}"
            yield record, Problem("status-drift", message, record.mark or record.place)


def _ahead(records: Sequence[TaskRecord]) -> Iterator[_Found]:
    open_ids = {each.id for each in records if not each.is_closed}
    for record in records:
        if record.status is not MarkStatus.DONE or not record.depends_on:
            continue
        if left := [name for name in record.depends_on if name in open_ids]:
            message = f"{record.id} is done, but it depends on {', '.join(left)}"
            yield record, Problem("task-ahead", message, record.depends_span)


def _cancelled_dependencies(records: Sequence[TaskRecord], of_cancelled: str) -> Iterator[_Found]:
    dropped = {each.id: each.word for each in records if _is_dropped(each)}
    for record in records if dropped else ():
        left = [name for name in record.depends_on if name in dropped]
        if left and not record.is_closed:
            message = f"{record.id} waits for {', '.join(left)}, which is {dropped[left[0]]}; {of_cancelled}"
            yield record, Problem("dependency-cancelled", message, record.depends_span)
