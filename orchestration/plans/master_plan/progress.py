"""The places of a master plan that repeat the progress of its task rows, and where they disagree with them.

They are the Progress Summary table, the Quick Reference list, the `**Progress**` line and the header's
`**Status**` (reference: workflows, seed 004, "What real plans show"). The rows always win.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from ...findings import Span
from ...markdown.document import Field, MarkdownDocument
from ...markdown.inline_text import strip_markup
from ...markdown.line_edits import within_value
from ...markdown.tables import Cell
from ..model import Count, Mark, MarkStatus, Stage, Task
from .rows import MARK_OF, PHASE, Notes, TitledTable, read_mark, section_of, text_of

_REFERENCE = re.compile(r"[ \t]*+(?:(?:\d+[.)]|[-*+])[ \t]++)?+(\S++)[ \t].*(\[[^\[\]]{0,3}\])")
_PROGRESS = re.compile(r"(?<!\d)(\d{1,9})[ \t]*+/[ \t]*+(\d{1,9})(?!\d)")
_PERCENT = re.compile(r"(?<![\d.])(\d{1,9}(?:\.\d{1,9})?)[ \t]*+%")
RADIO = re.compile(r"\[(.?)\]([^|\[\]]*)")
"""One of the boxes of the header's Status line, and its words."""


def with_summaries(
    document: MarkdownDocument, every: Sequence[TitledTable], stages: list[Stage], notes: Notes
) -> list[Stage]:
    """The stages with their marks in the Progress Summary; a mark or count that is not so is drift."""
    section = section_of(document, "progress summary")
    if section is None:
        return stages
    # Of two stages alike the first counts, a number before a title.
    by_name = {stage.title.lower(): stage for stage in reversed(stages)}
    by_name.update((stage.id.lower(), stage) for stage in stages)
    marks: dict[str, Mark] = {}
    for table, names in every:
        inside = section.start <= table.span.line < section.end
        if not inside or not {"phase", "status"} <= names.keys() or "task id" in names:
            continue
        for row in table.rows:
            parts = row.parts()
            title = text_of(parts.cell(names["phase"]))
            match = PHASE.match(title)
            stage = by_name.get((match[1] if match else title).lower())
            if stage is None or stage.id in marks:
                continue
            cell = parts.cell(names["status"])
            if cell:
                marks[stage.id] = read_mark(cell, "the task rows count", notes)
                _check_summary(stage, marks[stage.id], notes)
            total = parts.cell(names.get("tasks", -1))
            digits = text_of(total)
            if total and digits.isdecimal() and int(digits[-9:]) != stage.total:
                message = f"{digits} tasks for phase {stage.id}, but its table has {stage.total}"
                notes.add("status-drift", message, total.span)
    return [replace(stage, summary=marks.get(stage.id)) for stage in stages]


def _check_summary(stage: Stage, mark: Mark, notes: Notes) -> None:
    if mark.status != MarkStatus.UNKNOWN and (mark.status == MarkStatus.DONE) != stage.is_complete:
        rows = f"{stage.done} of its {stage.total} tasks are done"
        message = f"{MARK_OF[mark.status]} for phase {stage.id}, but {rows}"
        notes.add("status-drift", message, mark.span)


def with_references(document: MarkdownDocument, stages: list[Stage], notes: Notes) -> list[Stage]:
    """The stages with each task's mark in the first fence under "Quick Reference"."""
    lines = list(_reference_lines(document))
    if not lines:
        return stages
    tasks = [task for stage in stages for task in stage.tasks]
    by_name = {task.number.lower(): task for task in reversed(tasks)}
    by_name.update((task.id.lower(), task) for task in reversed(tasks))
    marks: dict[Span, Mark] = {}
    for name, name_span, cell in lines:
        task = by_name.get(name.lower())
        if task is not None and task.span not in marks:
            marks[task.span] = read_mark(cell, "the task rows count", notes)
            _check_reference(task, marks[task.span], notes)
        elif task is None and not name.isalpha():
            notes.progress.append(cell.span)
            message = f"{name} stands in the Quick Reference but has no row in a task table"
            notes.add("status-drift", message, name_span, missing="row")
    return [
        replace(stage, tasks=tuple(replace(task, reference=marks.get(task.span)) for task in stage.tasks))
        for stage in stages
    ]


def _reference_lines(document: MarkdownDocument) -> Iterator[tuple[str, Span, Cell]]:
    """(name, its place, mark) of every line ` 1. auth-01  Name  [ ]`."""
    section = section_of(document, "quick reference")
    inside = (f for f in document.fences if section and section.start <= f.start < section.end)
    for fence in islice(inside, 1):
        for line in range(fence.start, fence.end):
            match = _REFERENCE.match(document.lines[line])
            if match is not None:
                name = Span(line, match.start(1), line, match.end(1))
                yield match[1], name, Cell(match[2], line, *match.span(2))


def _check_reference(task: Task, mark: Mark, notes: Notes) -> None:
    if MarkStatus.UNKNOWN not in (task.status, mark.status) and mark.status != task.status:
        message = f"{MARK_OF[mark.status]} for {task.id}, but its row says {MARK_OF[task.status]}"
        notes.add("status-drift", message, mark.span)


def progress_count(fields: Sequence[Field], stages: Sequence[Stage], notes: Notes) -> Count | None:
    """The first `**Progress**: n/N tasks complete (p%)` line; a figure that is not so is drift."""
    lines = ((field, _PROGRESS.search(field.value)) for field in fields if field.key.lower() == "progress")
    field, match = next(((field, match) for field, match in lines if match), (None, None))
    if field is None or match is None:
        return None
    notes.progress.append(field.value_span)
    done, total = sum(stage.done for stage in stages), sum(stage.total for stage in stages)
    for group, rows, what in ((1, done, "tasks are done"), (2, total, "tasks stand in the tables")):
        if int(match[group]) != rows:
            span = within_value(field, *match.span(group))
            notes.add("status-drift", f"{match[group]}, but {rows} {what}", span)
    percent = _PERCENT.search(field.value)
    share = 100 * done / total if total else 0
    # Rounded up, down or to the nearest: all three are in use.
    if percent is not None and abs(float(percent[1]) - share) >= 1:
        message = f"{percent[1]}%, but {done} of {total} tasks are done ({share:.0f}%)"
        notes.add("status-drift", message, within_value(field, *percent.span(1)))
    return Count(int(match[1]), int(match[2]), within_value(field, *match.span()))


def header_fields(document: MarkdownDocument, fields: Sequence[Field]) -> Iterator[Field]:
    """The fields above the first heading below the title."""
    end = next((h.span.line for h in document.headings if h.level > 1), len(document.lines))
    return (field for field in fields if field.line < end)


def header_status(
    document: MarkdownDocument, fields: Sequence[Field], stages: Sequence[Stage], notes: Notes
) -> str:
    """The header's `**Status**`: the one word whose box is ticked, else the first; "" without the line.

    Real plans forget this line, so only a "Complete" over open tasks is drift. The unfilled template has
    a different mark in each of its boxes and says nothing.
    """
    status = ""
    for field in header_fields(document, fields):
        key = field.key.lower()
        if key not in ("status", "last updated"):
            continue
        notes.progress.append(field.value_span)
        if key == "status" and not status:
            status = _ticked_word(field.value)
            complete = status.lower().startswith("complete")
            still = sum(stage.total - stage.done for stage in stages) if complete else 0
            if still:
                notes.add("status-drift", f"{status}, but {still} tasks are not done", field.value_span)
    return status


def _ticked_word(value: str) -> str:
    boxes = [(match[1].strip(), strip_markup(match[2])) for match in RADIO.finditer(value)]
    ticked = [word for mark, word in boxes if mark]
    if len(ticked) == 1:
        return ticked[0]
    return boxes[0][1] if boxes else strip_markup(value)
