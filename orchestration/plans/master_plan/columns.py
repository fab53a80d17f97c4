"""What the tables of master plans have in common: columns by title, status marks, names of files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ...findings import Problem, Severity, Span
from ...markdown.document import Document, Heading
from ...markdown.inline_text import name_of, plain
from ...markdown.tables import Cell, Row, Table
from ..model import MARKS, Mark

MARK_OF = {status: f"[{mark}]" for mark, status in reversed(list(MARKS.items()))}
PHASE = re.compile(r"(?i)phase[ \t]+(\d+(?:\.\d+)*[a-z]?|[a-z]|[ivx]+)(?![\w.]*\w)[ \t]*(.*)")

STATUSES = {f"[{mark}]": status for mark, status in MARKS.items()}
_KNOWN_MARKS = ", ".join(f"[{mark}]" for mark in MARKS)
_MARK = re.compile(r"\[(.)\]")
_LINK_TARGET = re.compile(r"\[([^\[\]]*)\]\(<?([^()<>\s]*)>?[^()]*\)")
_NO_NAME = frozenset({"", "-", "–", "—", "n/a", "none", "tbd"})


class Titled(NamedTuple):
    """A table with its `columns_of`."""

    table: Table
    names: Mapping[str, int]


class Notes(NamedTuple):
    """What reading a plan adds up: problems, and the places that record progress."""

    problems: list[Problem]
    progress: list[Span]

    def add(self, code: str, message: str, span: Span, severity: Severity | None = None, **data: Any) -> None:
        """Note a problem; `data` is that of its finding."""
        self.problems.append(Problem(code, message, span, severity, data))


def columns_of(table: Table) -> dict[str, int]:
    """The columns of a table by their titles in lower case; the first of two alike."""
    names: dict[str, int] = {}
    for index, cell in enumerate(table.header):
        names.setdefault(name_of(cell.text), index)
    return names


def text_of(cell: Cell | None) -> str:
    return plain(cell.text) if cell else ""


def file_in(cell: Cell, row: Row) -> tuple[str, Span | None]:
    """The file a cell names, out of its backticks or link, and where the name stands."""
    name = plain(cell.text)
    if "](" in cell.text:
        name = _target_in(cell.text, name)
    name = name.removeprefix("./")
    if name.lower() in _NO_NAME:
        return "", None
    at = row.text.find(name, cell.start, cell.end)
    return name, Span(row.line, at, row.line, at + len(name)) if at >= 0 else cell.span


def _target_in(text: str, name: str) -> str:
    """The target of a link when that is a `.md` file and the link's words are not."""
    link = _LINK_TARGET.search(text)
    return link[2] if link and link[2].endswith(".md") and not name.endswith(".md") else name


def mark_in(cell: Cell, consequence: str, notes: Notes) -> Mark:
    """The status a cell gives and the place of its brackets; of the whole cell when no mark is known."""
    span = cell.span
    notes.progress.append(span)
    status = STATUSES.get(cell.text)
    if status is not None:
        return Mark(status, span)
    match = _MARK.fullmatch(plain(cell.text))
    status = MARKS.get(match[1], "unknown") if match else "unknown"
    if status == "unknown":
        said = f"`{cell.text}`" if cell.text else "an empty cell"
        notes.add("marker-unknown", f"{said} is none of {_KNOWN_MARKS}; {consequence}", span)
        return Mark(status, span)
    start, end = cell.text.index("["), cell.text.rindex("]") + 1
    return Mark(status, Span(cell.line, cell.start + start, cell.line, cell.start + end))


def section_of(document: Document, title: str) -> Heading | None:
    """The first section whose heading begins with a title, case ignored."""
    named = (heading for heading in document.headings if name_of(heading.text).startswith(title))
    return next(named, None)
