"""Reads a MASTER_PLAN.md (reference: workflows, seed 004, "Facts"); its task files: `task_file.py`.

The task rows are the record of progress. Other places repeat it: the Progress Summary table, the Quick
Reference list, the `**Progress**` line and the header's `**Status**` (seed 004, "What real plans show");
where one disagrees, that is a finding at its mark. Acceptance checkboxes of task files and the plan's Exit
Criteria are never progress: real plans leave the former unticked for ever.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ...findings import Severity, Span
from ...markdown import document as markdown
from ...markdown.document import Field, Heading, MarkdownDocument
from ...markdown.inline_text import strip_markup
from ...markdown.tables import Cell, Table, tables
from ...suggestions import misspelling
from ...vfs.files import digest_of
from ..model import Count, Mark, MarkStatus, Plan, Stage, Task
from .rows import (
    MARK_OF,
    PHASE,
    TASK_COLUMNS,
    Notes,
    TaskRows,
    first_section,
    read_mark,
    section_of,
    status_of,
    text_of,
)  # fmt: skip

_HEADER = (MarkStatus.TODO, MarkStatus.IN_PROGRESS, MarkStatus.DONE)
RADIO = re.compile(r"\[(.?)\]([^|\[\]]*)")
"""One of the boxes of the header's Status line, and its words."""

_NOWHERE = Span(0, 0, 0, 0)
_EFFORT = re.compile(r"(?i)\([ \t]*(?:~?\d|[sml]\b|xl\b)[^()]*\)$")
_NUMBERED = re.compile(
    r"(?i)(?:(?:stage|part|step|milestone|sprint)[ \t]+)?(\d+(?:\.\d+)*)[.:)]?[ \t]+(\S.*)"
)
_TITLE_TAIL = re.compile(r"(?i)(?<![ \t])[ \t]++[-–—:]++[ \t]++master plan\b.*$")
_REFERENCE = re.compile(r"[ \t]*+(?:(?:\d+[.)]|[-*+])[ \t]++)?+(\S++)[ \t].*(\[[^\[\]]{0,3}\])")
_TALLY = re.compile(r"(\d{1,9})[ \t]*+/[ \t]*+(\d{1,9})")
_PROGRESS = re.compile(r"(?<!\d)(\d{1,9})[ \t]*+/[ \t]*+(\d{1,9})(?!\d)")
# The row that adds the others up.
_SUM = re.compile(r"(?i)[ \t]*(?:$|[-–—]+$|(?:grand )?totals?\b|sum\b|all\b|overall\b)")
_PERCENT = re.compile(r"(?<![\d.])(\d{1,9}(?:\.\d{1,9})?)[ \t]*+%")


def read(text: str) -> Plan | None:
    """The plan in a MASTER_PLAN.md, or None without a task table; never raises.

    A task table is one whose header has Task ID, File and Status, in any order. A task's span is its id's,
    or its row's when it has none; a stage's is its heading's, or that of its table's first title. Problems
    are in the order of the text.
    """
    document = markdown.read(text, rescue=True)
    every = list(tables(document))
    task_tables = [table for table in every if table.columns.keys() >= TASK_COLUMNS]
    if not task_tables:
        return None
    notes = Notes([], [])
    if document.unclosed is not None:
        message = "opened here and never closed; what follows is read as if it were not there"
        notes.add("artifact-unreadable", message, document.unclosed, Severity.WARNING)
    if document.conflict is not None:
        message = "an unresolved merge; the rows of both sides are read"
        notes.add("artifact-unreadable", message, document.conflict)
    fields = list(markdown.fields(document))
    rows = TaskRows(task_tables, notes)
    stages = [
        Stage(group.id, group.title, group.span, tuple(rows.tasks(group.tables, group.id)))
        for group in _groups(document, task_tables, notes)
    ]
    stages = _with_summaries(document, every, stages, notes)
    stages = _with_references(document, stages, notes)
    _check_stages(stages, notes)
    status = _header_status(document, fields, stages, notes)
    count = _progress_count(fields, stages, notes)
    # Ticking an exit criterion is no change of substance either.
    notes.progress.extend(markdown.checkboxes(document))
    problems = sorted(notes.problems, key=lambda problem: problem.span or _NOWHERE)
    title = next((strip_markup(heading.text) for heading in document.headings if heading.level == 1), "")
    # Each place of progress is one NUL. They are nearly in order already, which the sort makes use of.
    masked = list(document.lines)
    for line, column, _, end in sorted(dict.fromkeys(notes.progress), reverse=True):
        masked[line] = f"{masked[line][:column]}\0{masked[line][end:]}"
    substance = digest_of("\n".join(masked))
    return Plan(_TITLE_TAIL.sub("", title), status, tuple(stages), substance, count, tuple(problems))


def _check_stages(stages: Sequence[Stage], notes: Notes) -> None:
    """Note stages without tasks or tests, and rows that share an id or a file, at the later one."""
    ids: dict[str, Task] = {}
    files: dict[str, Task] = {}
    for task in (task for stage in stages for task in stage.tasks):
        first = ids.setdefault(task.id.lower(), task)
        owner = files.setdefault(task.file, task) if task.file else task
        if first is not task:
            message = f"{task.id} stands in line {first.span.line + 1} already"
            notes.add("duplicate-task", message, task.span)
        elif owner is not task:
            message = f"{owner.id} in line {owner.span.line + 1} names {task.file} already"
            notes.add("duplicate-task", message, task.file_span or task.span)
    for stage in stages:
        if not stage.tasks:
            notes.add("plan-empty", f"phase {stage.id} has no tasks", stage.span)
        # A table without a Type is judged by the names of the files (`04-phase-1-tests.md`).
        elif not any("test" in (task.type or task.file).lower() for task in stage.tasks):
            notes.add("test-task-missing", f"phase {stage.id} has no test task", stage.span)


# --- stages


class _Group(NamedTuple):
    """The task tables of one stage. `id` is "" until it gets the next number."""

    id: str
    title: str
    span: Span
    tables: list[Table]


def _groups(document: MarkdownDocument, every: Sequence[Table], notes: Notes) -> list[_Group]:
    """The stages in order: `## Phase N` headings, and any other heading that holds task tables.

    Tables under one heading, or under headings of one phase number, are one stage, so that a stage is
    never done while a task that names it is open. Stages without a phase number keep their heading's own
    number if it is free, else get the next.
    """
    groups: dict[str, _Group] = {}
    texts = {heading: strip_markup(heading.text) for heading in document.headings}
    phases = {heading: match for heading, text in texts.items() if (match := PHASE.match(text))}
    for heading, owned in _owners(document, every, phases):
        if heading is None:
            groups[""] = _Group("", "Tasks", owned[0].header[0].span, owned)
            continue
        phase = phases.get(heading)
        key = f"phase {phase[1].lower()}" if phase else f"line {heading.span.line}"
        if key not in groups:
            # The title is without its effort: "Core" of "Core (8-10h)", all of "API (public)".
            rest = phase[2].lstrip(":.-–— \t") if phase else texts[heading]
            title = _EFFORT.sub("", rest).rstrip()
            number = phase[1] if phase else ""
            if phase:
                title = title or f"Phase {number}"
            elif match := _NUMBERED.match(title):
                number, title = match.groups()
            groups[key] = _Group(number, title, heading.span, owned)
            continue
        if owned and groups[key].tables:
            message = f"a second heading for phase {groups[key].id}; its tasks count to the first"
            notes.add("duplicate-task", message, heading.span)
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


def _owners(
    document: MarkdownDocument, every: Sequence[Table], phases: Mapping[Heading, re.Match[str]]
) -> Iterator[tuple[Heading | None, list[Table]]]:
    """(heading, its task tables) of every heading that is a stage or holds such tables, in order.

    The `## Phase N` heading above a table owns it, else the outermost one of another level, else the
    nearest heading; a table above all headings has none. A heading without a table is a stage only when
    nothing but a name can follow its number.
    """
    owned: dict[Heading | None, list[Table]] = {None: []}
    owned.update((heading, []) for heading in document.headings)
    path: list[Heading] = []
    number = 0
    for table in every:
        while number < len(document.headings) and document.headings[number].span.line < table.span.line:
            heading = document.headings[number]
            path = [*(above for above in path if above.level < heading.level), heading]
            number += 1
        above = sorted((heading for heading in path if heading in phases), key=lambda h: h.level != 2)
        owned[(above or path[-1:] or [None])[0]].append(table)
    for heading, its in owned.items():
        phase = phases.get(heading) if heading and heading.level == 2 else None
        if its or (phase and phase[2][:1] in ("", *":.-–—(")):
            yield heading, its


# --- the places that repeat the task rows


def _with_summaries(
    document: MarkdownDocument, every: Sequence[Table], stages: list[Stage], notes: Notes
) -> list[Stage]:
    """The stages with their marks in the Progress Summary; a mark or count that is not so is drift."""
    section = section_of(document, "progress summary")
    if section is None:
        return stages
    # Of two stages alike the first counts, a number before a title.
    by_name = {stage.title.lower(): stage for stage in reversed(stages)}
    by_name.update((stage.id.lower(), stage) for stage in stages)
    marks: dict[str, Mark] = {}
    tallies: dict[str, Count] = {}
    for table in every:
        inside, columns = section.start <= table.span.line < section.end, table.columns
        if not inside or not {"phase", "status"} <= columns.keys() or "task id" in columns:
            continue
        for row in table.rows:
            parts = row.parts()
            title = text_of(parts.cell(columns["phase"]))
            match = PHASE.match(title) or _NUMBERED.match(title)
            stage = by_name.get((match[1] if match else title).lower()) or by_name.get(title.lower())
            if stage is None and not _SUM.match(title):
                message = f"{title} stands in the Progress Summary but has no task table"
                notes.add("status-drift", message, row.span, missing="stage")
            if stage is None or stage.id in marks:
                continue
            if cell := parts.cell(columns["status"]):
                mark = marks[stage.id] = read_mark(cell, "the task rows count", notes)
                contradicts = (mark.status == MarkStatus.DONE) != stage.is_complete
                if contradicts and mark.status != MarkStatus.UNKNOWN:
                    rows = f"{stage.done} of its {stage.total} tasks are done"
                    message = f"{MARK_OF[mark.status]} for phase {stage.id}, but {rows}"
                    notes.add("status-drift", message, mark.span)
            total = parts.cell(columns.get("tasks", -1))
            digits = text_of(total)
            if total and (match := _TALLY.fullmatch(digits)) and (place := total.text.find(match[0])) >= 0:
                start = total.start + place
                line = total.line
                tally = Count(int(match[1]), int(match[2]), Span(line, start, line, start + len(match[0])))
                tallies[stage.id] = tally
                notes.progress.append(tally.span)
                if tally[:2] != (stage.done, stage.total):
                    message = (
                        f"{digits} for phase {stage.id}, but {stage.done} of {stage.total} tasks are done"
                    )
                    data: dict[str, Any] = {"total": stage.total} if tally.total != stage.total else {}
                    notes.add("status-drift", message, tally.span, **data)
            if total and digits.isdecimal() and int(digits[-9:]) != stage.total:
                message = f"{digits} tasks for phase {stage.id}, but its table has {stage.total}"
                notes.add("status-drift", message, total.span, total=stage.total)
    return [replace(stage, summary=marks.get(stage.id), tally=tallies.get(stage.id)) for stage in stages]


def _with_references(document: MarkdownDocument, stages: list[Stage], notes: Notes) -> list[Stage]:
    """The stages with each mark (` 1. auth-01  Name  [ ]`) of the first fence under "Quick Reference"."""
    section = section_of(document, "quick reference")
    fences = (f for f in document.fences if section and section.start <= f.start < section.end)
    fence = next(fences, None)
    if fence is None:
        return stages
    tasks = [task for stage in stages for task in stage.tasks]
    by_name = {task.number.lower(): task for task in reversed(tasks)}
    by_name.update((task.id.lower(), task) for task in reversed(tasks))
    marks: dict[Span, Mark] = {}
    for line in range(fence.start, fence.end):
        match = _REFERENCE.match(document.lines[line])
        if match is None:
            continue
        name, cell = match[1], Cell(match[2], line, *match.span(2))
        task = by_name.get(name.lower())
        if task is not None and task.span not in marks:
            mark = marks[task.span] = read_mark(cell, "the task rows count", notes)
            if MarkStatus.UNKNOWN not in (task.status, mark.status) and mark.status != task.status:
                message = f"{MARK_OF[mark.status]} for {task.id}, but its row says {MARK_OF[task.status]}"
                notes.add("status-drift", message, mark.span)
        elif task is None and not name.isalpha():
            notes.progress.append(cell.span)
            message = f"{name} stands in the Quick Reference but has no row in a task table"
            notes.add("status-drift", message, Span(line, match.start(1), line, match.end(1)), missing="row")
    return [
        replace(stage, tasks=tuple(replace(task, reference=marks.get(task.span)) for task in stage.tasks))
        for stage in stages
    ]


def _progress_count(fields: Sequence[Field], stages: Sequence[Stage], notes: Notes) -> Count | None:
    """The first `**Progress**: n/N tasks complete (p%)` line; a figure that is not so is drift."""
    for field in fields:
        match = _PROGRESS.search(field.value) if field.key.lower() == "progress" else None
        if match:
            break
    else:
        return None
    notes.progress.append(field.value_span)
    done, total = sum(stage.done for stage in stages), sum(stage.total for stage in stages)
    for group, rows, what in ((1, done, "tasks are done"), (2, total, "tasks stand in the tables")):
        if int(match[group]) != rows:
            span = field.span_in_value(*match.span(group))
            data: dict[str, Any] = {"total": total} if group == 2 else {}
            notes.add("status-drift", f"{match[group]}, but {rows} {what}", span, **data)
    percent = _PERCENT.search(field.value)
    share = 100 * done / total if total else 0
    # Rounded up, down or to the nearest: all three are in use.
    if percent is not None and abs(float(percent[1]) - share) >= 1:
        message = f"{percent[1]}%, but {done} of {total} tasks are done ({share:.0f}%)"
        notes.add("status-drift", message, field.span_in_value(*percent.span(1)))
    return Count(int(match[1]), int(match[2]), field.span_in_value(*match.span()))


def header_fields(document: MarkdownDocument, fields: Iterable[Field]) -> Iterator[Field]:
    """The fields above the first heading below the title."""
    end = first_section(document)
    return (field for field in fields if field.line < end)


def _header_status(
    document: MarkdownDocument, fields: Sequence[Field], stages: Sequence[Stage], notes: Notes
) -> str:
    """The header's `**Status**`: the one word whose box is ticked, else the first; "" without the line.

    Real plans forget this line, so only a "Complete" over open tasks is drift. The unfilled template has
    a different mark in each of its boxes and says nothing. With a word that is none of the template's (seed
    004) no run is complete.
    """
    status = ""
    for field in header_fields(document, fields):
        key = field.key.lower()
        if key not in ("status", "last updated"):
            continue
        notes.progress.append(field.value_span)
        if key == "status" and not status:
            boxes = [(match[1].strip(), strip_markup(match[2])) for match in RADIO.finditer(field.value)]
            ticked = [word for mark, word in boxes if mark]
            first = boxes[0][1] if boxes else strip_markup(field.value)
            status = ticked[0] if len(ticked) == 1 else first
            if status and status_of(status) not in _HEADER:
                known = "Planning, In Progress, Complete"
                data = {
                    **misspelling(status, known.split(", ")),
                    "want": tuple(known.split(", ")),
                    "status": status,
                }
                message = f"the plan's Status is {status}, which is no known word; known: {known}"
                notes.add("unknown-word", message, field.value_span, **data)
            open_tasks = sum(stage.total - stage.done for stage in stages)
            if status.lower().startswith("complete") and open_tasks:
                notes.add("status-drift", f"{status}, but {open_tasks} tasks are not done", field.value_span)
    return status
