"""The task rows of master plans: which columns a task table has, and the task that a row of it describes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..findings import Span
from ..tables import Parts, Row, Table
from ..wording import plain
from . import MARKS, Mark, Task
from .master_plan_cells import STATUSES, Notes, file_in, mark_in, text_of

_DIGITS = re.compile(r"\d+")
_TRAILING_DIGITS = re.compile(r"(?<!\d)\d+$")


class Columns(NamedTuple):
    """Where the cells of a task stand in its rows, -1 where there is none; `count` is all the table has."""

    count: int
    id: int
    file: int
    status: int
    title: int
    type: int


class TaskTable(NamedTuple):
    """A table of tasks."""

    table: Table
    columns: Columns


def columns_in(table: Table, names: dict[str, int]) -> Columns | None:
    """The columns of a table with these titles, if its header has Task ID, File and Status, in any order."""
    if not {"task id", "file", "status"} <= names.keys():
        return None
    optional = (names.get("description", -1), names.get("type", -1))
    return Columns(len(table.header), names["task id"], names["file"], names["status"], *optional)


# An ordinary row has every cell of its header, an id of one word without markup, a `.md` file in
# backticks and a known mark. One regular expression then reads it whole; nine of ten rows of real plans
# are so, and any other is read cell by cell.
_ANY = r"[^|\\]*+"
_ID = r"[ \t]*+(?P<id>[^\s|*_~\\`\[<]++)[ \t]*+"
_FILE = r"[ \t]*+`(?P<file>(?!\./)[^\s|\\`\[<]+\.md)`[ \t]*+"
_STATUS = rf"[ \t]*+(?P<status>\[[{re.escape(''.join(MARKS))}]\])[ \t]*+"
_TITLE, _TYPE = rf"(?P<title>{_ANY})", rf"(?P<type>{_ANY})"
_WIDEST = 20


def ordinary_rows(columns: Columns) -> re.Pattern[str] | None:
    """What matches the ordinary rows of tables with these columns, None when they are very many."""
    if columns.count > _WIDEST:
        return None
    known = {columns.id: _ID, columns.file: _FILE, columns.status: _STATUS}
    known |= {columns.title: _TITLE, columns.type: _TYPE}
    cells = r"\|".join(known.get(index, _ANY) for index in range(columns.count))
    absent = "".join(group for index, group in ((columns.title, "(?P<title>)"), (columns.type, "(?P<type>)")) if index < 0)
    return re.compile(rf"[ \t]*+\|{cells}\|[ \t]*+{absent}")


class RowReader:
    pass
