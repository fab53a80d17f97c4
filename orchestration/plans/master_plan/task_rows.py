"""The task tables of master plans, and the task that each of their rows describes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...findings import Span
from ...markdown.inline_text import plain
from ...markdown.tables import Parts, Row, Table
from ..model import MARKS, Mark, Task
from .columns import STATUSES, Notes, Titled, file_in, mark_in, text_of

_DIGITS = re.compile(r"\d+")
_TRAILING_DIGITS = re.compile(r"(?<!\d)\d+$")


class Columns(NamedTuple):
    """Where the cells of a task stand among the `width` of a row; -1 where a table has no such column."""

    width: int
    id: int
    file: int
    status: int
    title: int
    type: int


class TaskTable(NamedTuple):
    """A table whose rows are tasks."""

    table: Table
    columns: Columns


class Ordinary(NamedTuple):
    """What matches the ordinary rows of the tables with some columns; None when there are too many."""

    columns: Columns
    pattern: re.Pattern[str] | None


def task_table(titled: Titled) -> TaskTable | None:
    """The table as one of tasks, when its header has Task ID, File and Status, in any order."""
    table, names = titled
    if not {"task id", "file", "status"} <= names.keys():
        return None
    optional = (names.get("description", -1), names.get("type", -1))
    columns = Columns(len(table.header), names["task id"], names["file"], names["status"], *optional)
    return TaskTable(table, columns)


# An ordinary row has all cells of its header, an id of one word that ends in digits and has no markup, a
# `.md` file in backticks and a known mark. Most rows of real plans are so, and one match reads all there
# is to know of them; any other row is read cell by cell, with the same result where both can read it.
_ANY = r"[^|\\]*+"
_ID = r"[ \t]*+(?P<id>(?:[^\s\d|*_~\\`\[<]++|\d++(?=[^\s|]))*+(?P<number>\d++))[ \t]*+"
_FILE = r"[ \t]*+`(?P<file>(?!\./)[^\s|\\`\[<]+\.md)`[ \t]*+"
_STATUS = rf"[ \t]*+(?P<status>\[[{re.escape(''.join(MARKS))}]\])[ \t]*+"
_GROUPS = ("id", "number", "title", "status", "file")
_TITLE, _TYPE = rf"(?P<title>{_ANY})", rf"(?P<type>{_ANY})"
# So that a hostile header makes no huge pattern.
_WIDEST = 20


def ordinary_rows(owned: Sequence[TaskTable]) -> Ordinary:
    """The ordinary rows of the largest table; a plan's tables nearly always have the same columns."""
    columns = max(owned, key=lambda owned: len(owned.table.rows)).columns
    if columns.width > _WIDEST:
        return Ordinary(columns, None)
    known = {columns.title: _TITLE, columns.type: _TYPE}
    known |= {columns.id: _ID, columns.file: _FILE, columns.status: _STATUS}
    cells = r"\|".join(known.get(index, _ANY) for index in range(columns.width))
    absent = ("(?P<title>)" if columns.title < 0 else "") + ("(?P<type>)" if columns.type < 0 else "")
    return Ordinary(columns, re.compile(rf"[ \t]*+\|{cells}\|[ \t]*+{absent}"))


def tasks_in(owned: Sequence[TaskTable], stage: str, ordinary: Ordinary, notes: Notes) -> Iterator[Task]:
    """The tasks of a stage in order; a row that lacks something is a task too, and told."""
    number = 1
    # Types are a few words, said in row after row.
    types: dict[str, str] = {}
    for table, columns in owned:
        pattern = ordinary.pattern if columns == ordinary.columns else None
        for row in table.rows:
            match = pattern.fullmatch(row.text) if pattern else None
            if match:
                said = match["type"]
                type_ = types[said] if said in types else types.setdefault(said, plain(said.strip()))
                yield _ordinary_task(row.line, match, stage, type_, notes)
            else:
                parts = row.parts()
                # A row of nothing but empty cells is a gap, not work.
                if not any(map(str.strip, parts.texts)):
                    continue
                yield _task(row, parts, columns, f"{stage}-row-{number}", stage, notes)
            number += 1


def _ordinary_task(line: int, match: re.Match[str], stage: str, type_: str, notes: Notes) -> Task:
    name, number, title, status, file = match.group(*_GROUPS)
    at, file_at, status_at = match.start("id"), match.start("file"), match.start("status")
    span = Span(line, at, line, at + len(name))
    file_span = Span(line, file_at, line, file_at + len(file))
    mark = Mark(STATUSES[status], Span(line, status_at, line, status_at + len(status)))
    notes.progress.append(mark.span)
    return Task(name, number, plain(title.strip()), stage, mark.status, file, type_, span, mark, file_span)


def _task(row: Row, parts: Parts, columns: Columns, fallback: str, stage: str, notes: Notes) -> Task:
    id_cell, file_cell = parts.cell(columns.id), parts.cell(columns.file)
    status_cell = parts.cell(columns.status)
    file, file_span = file_in(file_cell, row) if file_cell else ("", None)
    name = text_of(id_cell)
    count = len(parts.texts)
    if not (id_cell and file_cell and status_cell) or count > row.columns:
        notes.add("task-unreadable", f"this row has {count} cells, its header {row.columns}", row.span)
    elif not name:
        notes.add("task-unreadable", "this row has no task id", id_cell.span, missing="id")
    elif not file:
        notes.add("task-unreadable", "this row names no file", file_cell.span, missing="file")
    mark = mark_in(status_cell, "the task counts as not done", notes) if status_cell else None
    return Task(
        id=name or file.rpartition("/")[2].removesuffix(".md") or fallback,
        number=_short(name, file) or fallback,
        title=text_of(parts.cell(columns.title)),
        stage=stage,
        status=mark.status if mark else "unknown",
        file=file,
        type=text_of(parts.cell(columns.type)),
        span=id_cell.span if id_cell and name else row.span,
        mark=mark,
        file_span=file_span,
    )


def _short(name: str, file: str) -> str:
    """The number reports use: the digits that end the id, else those the file begins with, else the id."""
    digits = _TRAILING_DIGITS.search(name) or _DIGITS.match(file.rpartition("/")[2])
    return digits[0] if digits else name
