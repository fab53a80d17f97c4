"""Tables of a Markdown document, with the place of every cell.

A line scanner of our own, because a reader that makes every cell of a large table an event is slow, and
because work must not vanish with a delimiter row of the wrong width or an empty line between rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from .findings import Span
from .markdown import BULLET, DELIMITER, FIELD, HIDDEN, INDENTED, LAZY, TEXT, Document, within

_TICKS = re.compile(r"`+")


class Cell(NamedTuple):
    """One cell, trimmed, with `\\|` read as `|`. An empty cell has an empty span inside its bars."""

    text: str
    span: Span


class Row(NamedTuple):
    """One row of a table; its cells are split when they are asked for. `columns` is what the header has."""

    line: int
    text: str
    columns: int

    @property
    def span(self) -> Span:
        return within(self.line, self.text, 0, len(self.text))

    def cells(self) -> tuple[Cell, ...]:
        """All cells, also those beyond the header's.

        A bar inside a code span ends a cell, as in GitHub's tables; but in a row that has too many cells
        only because of such bars, they are text.
        """
        cells = _cells(self.line, self.text, _bars(self.text))
        if len(cells) > self.columns and "`" in self.text:
            spared = _cells(self.line, self.text, _outside_code(self.text, _bars(self.text)))
            cells = spared if len(spared) == self.columns else cells
        return cells


class Table(NamedTuple):
    """A table; `rows` are those below the delimiter row."""

    header: tuple[Cell, ...]
    rows: tuple[Row, ...]
    span: Span


def tables(document: Document) -> Iterator[Table]:
    """Every table, in order: a delimiter row under a row, whether or not their cells are as many.

    Rows go on over empty lines and over lines without a bar; another header row ends them after an empty
    line. A repeated header and further delimiter rows are no rows.
    """
    number = 1
    while number < len(document.lines):
        if _is_delimiter(document, number) and _is_row(document, number - 1):
            header = Row(number - 1, document.lines[number - 1], 0).cells()
            rows, end = _rows(document, number + 1, header)
            last = (
                rows[-1].span
                if rows
                else within(number, document.lines[number], 0, len(document.lines[number]))
            )
            start = header[0].span
            yield Table(header, tuple(rows), Span(start.line, start.column, last.end_line, last.end_column))
            number = end
        number += 1


def _is_delimiter(document: Document, number: int) -> bool:
    line = document.lines[number]
    return "|" in line and DELIMITER.fullmatch(line) is not None and _may_hold_rows(document, number)


def _may_hold_rows(document: Document, number: int) -> bool:
    kind = document.kinds[number]
    return kind in (TEXT, INDENTED, HIDDEN) or (kind == LAZY and document.lines[number].lstrip()[:1] == "|")


def _is_row(document: Document, number: int) -> bool:
    line = document.lines[number]
    if "|" not in line or not _may_hold_rows(document, number):
        return False
    return line.lstrip()[0] == "|" or not (BULLET.match(line) or FIELD.match(line))


def _rows(document: Document, number: int, header: tuple[Cell, ...]) -> tuple[list[Row], int]:
    rows: list[Row] = []
    # The header stands two lines above the first row.
    title = "".join(document.lines[number - 2].split()).lower()
    below_blank = False
    end = number
    while number < len(document.lines):
        line = document.lines[number]
        if not line.strip():
            below_blank = True
        elif not _goes_on(document, number, below_blank):
            break
        elif _is_row(document, number):
            end = number + 1
            row = Row(number, line, len(header))
            if not _is_delimiter(document, number) and "".join(line.split()).lower() != title:
                rows.append(row)
            below_blank = False
        number += 1
    return rows, end


def _goes_on(document: Document, number: int, below_blank: bool) -> bool:
    """Whether a table goes on at a line. Below an empty line only rows do, and no header of another table."""
    if not _may_hold_rows(document, number) or BULLET.match(document.lines[number]):
        return False
    if not below_blank:
        return True
    below = number + 1
    is_header = below < len(document.lines) and _is_delimiter(document, below)
    return document.lines[number].lstrip()[0] == "|" and not is_header


def _bars(text: str) -> list[int]:
    """Where the bars between cells stand; `\\|` is none."""
    bars = []
    at = text.find("|")
    while at >= 0:
        if at == 0 or text[at - 1] != "\\":
            bars.append(at)
        at = text.find("|", at + 1)
    return bars


def _outside_code(text: str, bars: list[int]) -> list[int]:
    """The bars that stand in no code span: between two runs of equally many backticks."""
    runs = [match.span() for match in _TICKS.finditer(text)]
    partners: dict[int, int] = {}
    later: dict[int, int] = {}
    for index in range(len(runs) - 1, -1, -1):
        length = runs[index][1] - runs[index][0]
        if length in later:
            partners[index] = later[length]
        later[length] = index
    outside = []
    index, covered = 0, 0
    for bar in bars:
        while index < len(runs) and runs[index][0] < bar:
            if index in partners:
                index = partners[index]
                covered = runs[index][1]
            index += 1
        if bar >= covered:
            outside.append(bar)
    return outside


def _cells(line: int, text: str, bars: list[int]) -> tuple[Cell, ...]:
    edges = [-1, *bars, len(text)]
    # The bars at the two ends of a row are its frame, not cells.
    if bars and not text[: bars[0]].strip():
        edges.pop(0)
    if len(edges) > 2 and bars and not text[bars[-1] + 1 :].strip():
        edges.pop()
    cells = []
    for left, right in pairwise(edges):
        part = text[left + 1 : right]
        bare = part.strip()
        # An empty cell lies one blank inside its left bar, where its text would begin.
        start = left + 1 + (part.index(bare) if bare else min(1, len(part)))
        cells.append(Cell(bare.replace("\\|", "|"), Span(line, start, line, start + len(bare))))
    return tuple(cells)
