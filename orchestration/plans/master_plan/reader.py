"""Reads a MASTER_PLAN.md (reference: workflows, seed 004, "Facts"); its task files: `task_file.py`.

The task rows are the record of progress. Other places repeat it: the Progress Summary table, the Quick
Reference list, the `**Progress**` line and the header's `**Status**` (seed 004, "What real plans show");
where one disagrees, that is a finding at its mark. Acceptance checkboxes of task files and the plan's Exit
Criteria are never progress: real plans leave the former unticked for ever.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...findings import Problem, Severity, Span
from ...markdown.document import Field, MarkdownDocument
from ...markdown.inline_text import strip_markup
from ...suggestions import misspelling
from ...vfs.files import digest_of
from ..model import Count, Mark, MarkStatus, Plan, Stage, Task
from .plan_text import NUMBERED, Memory, PlacedHeading, PlacedTable, PlanText, SummaryEntry
from .rows import MARK_OF, Notes, StageRows, TaskRows, first_section, status_of

_HEADER = (MarkStatus.TODO, MarkStatus.IN_PROGRESS, MarkStatus.DONE)
RADIO = re.compile(r"\[(.?)\]([^|\[\]]*)")
"""One of the boxes of the header's Status line, and its words."""

_NOWHERE = Span(0, 0, 0, 0)
_EFFORT = re.compile(r"(?i)\([ \t]*(?:~?\d|[sml]\b|xl\b)[^()]*\)$")
_TITLE_TAIL = re.compile(r"(?i)(?<![ \t])[ \t]++[-–—:]++[ \t]++master plan\b.*$")
# The row that adds the others up.
_SUM = re.compile(r"(?i)[ \t]*(?:$|[-–—]+$|(?:grand )?totals?\b|sum\b|all\b|overall\b)")
_PERCENT = re.compile(r"(?<![\d.])(\d{1,9}(?:\.\d{1,9})?)[ \t]*+%")


def read(text: str, before: Plan | None = None) -> Plan | None:
    """The plan in a MASTER_PLAN.md, or None without a task table; never raises.

    A task table is one whose header has Task ID, File and Status, in any order. A task's place is its id's,
    or its row's when it has none; a stage's span is its heading's, or that of its table's first title.
    Problems are in the order of the text.

    With a plan that was read `before` the sections that it has too are not read again; the plan is the same.
    """
    memory = Memory(before.memory if before else {})
    source = PlanText(text, memory)
    if not source.task_tables:
        return None
    notes = _PlanNotes(source)
    document = source.sections[0].document
    if document.unclosed is not None:
        message = "opened here and never closed; what follows is read as if it were not there"
        notes.add("artifact-unreadable", message, document.unclosed, Severity.WARNING)
    if document.conflict is not None:
        message = "an unresolved merge; the rows of both sides are read"
        notes.add("artifact-unreadable", message, document.conflict)
    groups = _groups(source, notes)
    rows = TaskRows([each.table for each in source.task_tables])
    read_rows = [_stage_rows(group, source, rows, notes, memory) for group in groups]
    stages = [
        Stage(group.id, group.title, group.span, its.tasks)
        for group, its in zip(groups, read_rows, strict=True)
    ]
    stages = _with_summaries(source, stages, notes)
    references = _references(source, stages, notes)
    _check_stages(stages, read_rows, notes)
    status = _header_status(source, stages, notes)
    count = _progress_count(source, stages, notes)
    problems = sorted(notes.problems, key=lambda problem: problem.span or _NOWHERE)
    title = next((each.heading.text for each in source.headings if each.heading.level == 1), "")
    substance = digest_of(source.text_without(notes.places, memory))
    return Plan(
        _TITLE_TAIL.sub("", title), status, tuple(stages), substance, count, tuple(problems), references,
        memory=memory.used,
    )  # fmt: skip


class _PlanNotes:
    """Findings of reading a whole plan: problems, and the places of progress of each section."""

    def __init__(self, source: PlanText) -> None:
        self.starts = source.starts
        self.problems: list[Problem] = []
        self.places: dict[int, list[tuple[Hashable, Sequence[Span]]]] = {}

    def add(self, code: str, message: str, span: Span, severity: Severity | None = None, **data: Any) -> None:
        """Note a problem at a place of the text."""
        self.problems.append(Problem(code, message, span, severity, data))

    def add_progress(self, section: int, span: Span) -> None:
        """Note a place of progress in a section."""
        self.places.setdefault(section, []).append((span, (span,)))

    def add_all(self, section: int, notes: Notes, known_by: Hashable) -> None:
        """Take over the notes of a part of a section; what it is `known_by` tells them all."""
        if notes.problems:
            start = self.starts[section]
            self.problems += (p._replace(span=_move_down(p.span, start)) for p in notes.problems)
        self.places.setdefault(section, []).append((known_by, notes.progress))


def _move_down(span: Span | None, lines: int) -> Span:
    """The span some lines further down."""
    line, column, end_line, end_column = span or _NOWHERE
    return Span(line + lines, column, end_line + lines, end_column)


def _stage_rows(
    group: _Group, source: PlanText, rows: TaskRows, notes: _PlanNotes, memory: Memory
) -> StageRows:
    """The rows of a stage: those read before, where it has the same tables, as far below its first line."""
    line = group.span.line
    tables = [(each.start - line, each.table) for each in group.tables]
    places = ((each.start - line, source.sections[each.section], each.number) for each in group.tables)
    key = ("rows", group.id, *places)
    found = memory.get(key, rows.read, tables, group.id)
    for number, (table, its) in enumerate(zip(group.tables, found.notes, strict=True)):
        notes.add_all(table.section, its, (found, number))
    return found


def _check_stages(stages: Sequence[Stage], rows: Sequence[StageRows], notes: _PlanNotes) -> None:
    """Note stages without tasks or tests, and rows that share an id or a file, at the later one."""
    ids = frozenset[str]().union(*(its.ids for its in rows))
    files = frozenset[str]().union(*(its.files for its in rows))
    if (len(ids), len(files)) != (sum(len(its.tasks) for its in rows), sum(its.file_count for its in rows)):
        _check_duplicates(stages, notes)
    for stage, its in zip(stages, rows, strict=True):
        if not stage.tasks:
            notes.add("plan-empty", f"phase {stage.id} has no tasks", stage.span)
        elif not its.has_test:
            notes.add("test-task-missing", f"phase {stage.id} has no test task", stage.span)


def _check_duplicates(stages: Sequence[Stage], notes: _PlanNotes) -> None:
    ids: dict[str, tuple[Stage, Task]] = {}
    files: dict[str, tuple[Stage, Task]] = {}
    for here in ((stage, task) for stage in stages for task in stage.tasks):
        stage, task = here
        first, same_id = ids.setdefault(task.id.lower(), here)
        owner, same_file = files.setdefault(task.file, here) if task.file else here
        if same_id is not task:
            line = first.span_of(same_id.place).line + 1
            notes.add("duplicate-task", f"{task.id} stands in line {line} already", stage.span_of(task.place))
        elif same_file is not task:
            line = owner.span_of(same_file.place).line + 1
            message = f"{same_file.id} in line {line} names {task.file} already"
            notes.add("duplicate-task", message, stage.span_of(task.file_place or task.place))


# --- stages


class _Group(NamedTuple):
    """The task tables of one stage. `id` is "" until it gets the next number."""

    id: str
    title: str
    span: Span
    tables: list[PlacedTable]


def _groups(source: PlanText, notes: _PlanNotes) -> list[_Group]:
    """The stages in order: `## Phase N` headings, and any other heading that holds task tables.

    Tables under one heading, or under headings of one phase number, are one stage, so that a stage is
    never done while a task that names it is open. Stages without a phase number keep their heading's own
    number if it is free, else get the next.
    """
    groups: dict[str, _Group] = {}
    for placed, owned in _owners(source):
        if placed is None:
            span = _move_down(owned[0].table.header[0].span, owned[0].start)
            groups[""] = _Group("", "Tasks", span, owned)
            continue
        phase = placed.heading.phase
        key = f"phase {phase[1].lower()}" if phase else f"line {placed.line}"
        if key not in groups:
            # The title is without its effort: "Core" of "Core (8-10h)", all of "API (public)".
            rest = phase[2].lstrip(":.-–— \t") if phase else placed.heading.text
            title = _EFFORT.sub("", rest).rstrip()
            number = phase[1] if phase else ""
            if phase:
                title = title or f"Phase {number}"
            elif match := NUMBERED.match(title):
                number, title = match.groups()
            groups[key] = _Group(number, title, placed.span, owned)
            continue
        if owned and groups[key].tables:
            message = f"a second heading for phase {groups[key].id}; its tasks count to the first"
            notes.add("duplicate-task", message, placed.span)
        groups[key].tables.extend(owned)
    taken = {group.id for key, group in groups.items() if key.startswith("phase")}
    numbers = (group.id for group in groups.values() if group.id.isdecimal())
    last = max((int(number) for number in numbers if len(number) < 10), default=0)
    for key, group in groups.items():
        if not key.startswith("phase"):
            if not group.id or group.id in taken:
                last += 1
                groups[key] = group._replace(id=str(last))
            taken.add(groups[key].id)
    return list(groups.values())


def _owners(source: PlanText) -> Iterator[tuple[PlacedHeading | None, list[PlacedTable]]]:
    """(heading, its task tables) of every heading that is a stage or holds such tables, in order.

    The `## Phase N` heading above a table owns it, else the outermost one of another level, else the
    nearest heading; a table above all headings has none. A heading without a table is a stage only when
    nothing but a name can follow its number.
    """
    headings = source.headings
    owned: list[list[PlacedTable]] = [[] for _ in range(len(headings) + 1)]
    path: list[int] = []
    number = 0
    for table in source.task_tables:
        while number < len(headings) and headings[number].line < table.line:
            level = headings[number].heading.level
            path = [*(above for above in path if headings[above].heading.level < level), number]
            number += 1
        phases = [above for above in path if headings[above].heading.phase]
        above = sorted(phases, key=lambda each: headings[each].heading.level != 2)
        owned[(above or path[-1:] or [-1])[0]].append(table)
    if owned[-1]:
        yield None, owned[-1]
    for placed, its in zip(headings, owned, strict=False):
        phase = placed.heading.phase if placed.heading.level == 2 else None
        if its or (phase and phase[2][:1] in ("", *":.-–—(")):
            yield placed, its


# --- the places that repeat the task rows


def _with_summaries(source: PlanText, stages: list[Stage], notes: _PlanNotes) -> list[Stage]:
    """The stages with their marks in the Progress Summary; a mark or count that is not so is drift."""
    lines = source.section_of("progress summary")
    # Of two stages alike the first counts, a number before a title.
    by_name = {stage.title.lower(): stage for stage in reversed(stages)} if lines else {}
    by_name.update((stage.id.lower(), stage) for stage in stages if lines)
    marks: dict[str, Mark] = {}
    tallies: dict[str, Count] = {}
    for table in source.tables if lines else ():
        entries = (
            source.sections[table.section].summaries.get(table.number, ()) if table.line in lines else ()
        )
        for entry in entries:
            stage = by_name.get(entry.number.lower()) or by_name.get(entry.title.lower())
            if stage is None and not _SUM.match(entry.title):
                message = f"{entry.title} stands in the Progress Summary but has no task table"
                notes.add("status-drift", message, _move_down(entry.span, table.start), missing="stage")
            if stage is None or stage.id in marks:
                continue
            if entry.mark:
                marks[stage.id] = Mark(entry.mark.status, _move_down(entry.mark.span, table.start))
            if entry.tally:
                done, total, span = entry.tally
                tallies[stage.id] = Count(done, total, _move_down(span, table.start))
            _check_summary(entry, table, stage, notes)
    return [
        Stage(stage.id, stage.title, stage.span, stage.tasks, marks.get(stage.id), tallies.get(stage.id))
        for stage in stages
    ]


def _check_summary(entry: SummaryEntry, table: PlacedTable, stage: Stage, notes: _PlanNotes) -> None:
    """Take over the notes of a stage's entry in the Progress Summary, and note what of it is not so."""
    mark, tally, digits = entry.mark, entry.tally, entry.digits
    if mark:
        notes.add_all(table.section, entry.notes, mark.span)
        contradicts = (mark.status == MarkStatus.DONE) != stage.is_complete
        if contradicts and mark.status != MarkStatus.UNKNOWN:
            rows = f"{stage.done} of its {stage.total} tasks are done"
            message = f"{MARK_OF[mark.status]} for phase {stage.id}, but {rows}"
            notes.add("status-drift", message, _move_down(mark.span, table.start))
    if tally:
        notes.add_progress(table.section, tally.span)
        if tally[:2] != (stage.done, stage.total):
            message = f"{digits} for phase {stage.id}, but {stage.done} of {stage.total} tasks are done"
            data: dict[str, Any] = {"total": stage.total} if tally.total != stage.total else {}
            notes.add("status-drift", message, _move_down(tally.span, table.start), **data)
    if entry.total and digits.isdecimal() and int(digits[-9:]) != stage.total:
        message = f"{digits} tasks for phase {stage.id}, but its table has {stage.total}"
        notes.add("status-drift", message, _move_down(entry.total.span, table.start), total=stage.total)


def _references(
    source: PlanText, stages: Sequence[Stage], notes: _PlanNotes
) -> Mapping[tuple[str, int], Mark]:
    """Each mark (` 1. auth-01  Name  [ ]`) of the first fence under "Quick Reference", by its task's row."""
    lines = source.section_of("quick reference")
    fences = (
        (index, number)
        for index, (start, section) in enumerate(source.sections_in_place() if lines else ())
        for number, fence in enumerate(section.document.fences)
        if start + fence.start in lines
    )
    fence = next(fences, None)
    if fence is None:
        return {}
    index, number = fence
    tasks = [task for stage in stages for task in stage.tasks]
    by_name = {task.number.lower(): task for task in reversed(tasks)}
    by_name.update((task.id.lower(), task) for task in reversed(tasks))
    marks: dict[tuple[str, int], Mark] = {}
    start = source.starts[index]
    for name, span, mark, its in source.sections[index].references[number]:
        task = by_name.get(name.lower())
        if task is not None and task.row not in marks:
            placed = marks[task.row] = Mark(mark.status, _move_down(mark.span, start))
            notes.add_all(index, its, mark.span)
            if MarkStatus.UNKNOWN not in (task.status, mark.status) and mark.status != task.status:
                message = f"{MARK_OF[mark.status]} for {task.id}, but its row says {MARK_OF[task.status]}"
                notes.add("status-drift", message, placed.span)
        elif task is None and not name.isalpha():
            notes.add_progress(index, its.progress[0])
            message = f"{name} stands in the Quick Reference but has no row in a task table"
            notes.add("status-drift", message, _move_down(span, start), missing="row")
    return marks


def _progress_count(source: PlanText, stages: Sequence[Stage], notes: _PlanNotes) -> Count | None:
    """The first `**Progress**: n/N tasks complete (p%)` line; a figure that is not so is drift."""
    found = ((index, section.progress) for index, section in enumerate(source.sections))
    index, progress = next((each for each in found if each[1]), (0, None))
    if progress is None:
        return None
    field, match = progress
    start = source.starts[index]
    notes.add_progress(index, field.value_span)

    def place(start_of: int, end: int) -> Span:
        return _move_down(field.span_in_value(start_of, end), start)

    done, total = sum(stage.done for stage in stages), sum(stage.total for stage in stages)
    for group, rows, what in ((1, done, "tasks are done"), (2, total, "tasks stand in the tables")):
        if int(match[group]) != rows:
            data: dict[str, Any] = {"total": total} if group == 2 else {}
            message = f"{match[group]}, but {rows} {what}"
            notes.add("status-drift", message, place(*match.span(group)), **data)
    percent = _PERCENT.search(field.value)
    share = 100 * done / total if total else 0
    # Rounded up, down or to the nearest: all three are in use.
    if percent is not None and abs(float(percent[1]) - share) >= 1:
        message = f"{percent[1]}%, but {done} of {total} tasks are done ({share:.0f}%)"
        notes.add("status-drift", message, place(*percent.span(1)))
    return Count(int(match[1]), int(match[2]), place(*match.span()))


def header_fields(document: MarkdownDocument, fields: Iterable[Field]) -> Iterator[Field]:
    """The fields above the first heading below the title."""
    end = first_section(document)
    return (field for field in fields if field.line < end)


def _header_status(source: PlanText, stages: Sequence[Stage], notes: _PlanNotes) -> str:
    """The header's `**Status**`: the one word whose box is ticked, else the first; "" without the line.

    Real plans forget this line, so only a "Complete" over open tasks is drift. The unfilled template has
    a different mark in each of its boxes and says nothing. With a word that is none of the template's (seed
    004) no run is complete.
    """
    status = ""
    for index, field in source.header_fields():
        key = field.key.lower()
        if key not in ("status", "last updated"):
            continue
        notes.add_progress(index, field.value_span)
        if key == "status" and not status:
            boxes = [(match[1].strip(), strip_markup(match[2])) for match in RADIO.finditer(field.value)]
            ticked = [word for mark, word in boxes if mark]
            first = boxes[0][1] if boxes else strip_markup(field.value)
            status = ticked[0] if len(ticked) == 1 else first
            span = _move_down(field.value_span, source.starts[index])
            if status and status_of(status) not in _HEADER:
                known = "Planning, In Progress, Complete"
                data = {
                    **misspelling(status, known.split(", ")),
                    "want": tuple(known.split(", ")),
                    "status": status,
                }
                message = f"the plan's Status is {status}, which is no known word; known: {known}"
                notes.add("unknown-word", message, span, **data)
            open_tasks = sum(stage.total - stage.done for stage in stages)
            if status.lower().startswith("complete") and open_tasks:
                notes.add("status-drift", f"{status}, but {open_tasks} tasks are not done", span)
    return status
