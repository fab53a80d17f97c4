"""Tables of a Markdown document, with the place of every cell.

A line scanner of our own, because a reader that makes every cell of a large table an event is slow, and
because work must not vanish with a delimiter row of the wrong width or an empty line between rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from ..findings import Span
from .block_outline import is_delimiter
from .document import BULLET, FIELD, HIDDEN, INDENTED, LAZY, TEXT, MarkdownDocument, trimmed_span
from .inline_text import name_of

# What can stand before the first letter of a row.
_FRAME = "|: \t\v\f\x1c\x1d\x1e\x1f"
_TICKS = re.compile(r"`+")
_BAR = re.compile(r"(?<!\\)\|")


class Cell(NamedTuple):
    """One cell, trimmed, with `\\|` read as `|`. An empty cell has an empty range inside its bars.

    The range is kept as numbers, because few of a plan's cells are ever asked for their span.
    """

    text: str
    line: int
    start: int
    end: int

    @property
    def span(self) -> Span:
        return Span(self.line, self.start, self.line, self.end)


class Parts(NamedTuple):
    """The texts between the bars of one row, not trimmed; the first part begins at column `start`."""

    line: int
    start: int
    texts: list[str]

    def cell(self, index: int) -> Cell | None:
        """The cell at an index, None beyond the row."""
        if not 0 <= index < len(self.texts):
            return None
        start = self.start + sum(map(len, self.texts[:index])) + index
        return _cell(self.line, start, self.texts[index])


class Row(NamedTuple):
    """One row of a table; its cells are split when they are asked for. `columns` is what the header has."""

    line: int
    text: str
    columns: int

    @property
    def span(self) -> Span:
        return trimmed_span(self.line, self.text, 0, len(self.text))

    def cells(self) -> tuple[Cell, ...]:
        """All cells, also those beyond the header's."""
        line, start, texts = self.parts()
        cells = []
        for text in texts:
            cells.append(_cell(line, start, text))
            start += len(text) + 1
        return tuple(cells)

    def parts(self) -> Parts:
        """The texts between the bars, for who needs few of the cells.

        A bar inside a code span ends a cell, as in GitHub's tables; but in a row that has too many cells
        only because of such bars, they are text.
        """
        # Nearly no row has a bar that is escaped.
        texts = _BAR.split(self.text) if "\\" in self.text else self.text.split("|")
        parts = _strip_frame(self.line, texts)
        if len(parts.texts) > self.columns and "`" in self.text:
            bars = [-1, *_bars_outside_code(self.text), len(self.text)]
            spared = _strip_frame(self.line, [self.text[left + 1 : right] for left, right in pairwise(bars)])
            parts = spared if len(spared.texts) == self.columns else parts
        return parts


@dataclass(frozen=True)
class Table:
    """A table; `rows` are those below the delimiter row."""

    header: tuple[Cell, ...]
    rows: tuple[Row, ...]
    span: Span

    @cached_property
    def columns(self) -> dict[str, int]:
        """The columns by `name_of` their titles; the first of two alike."""
        return {name_of(cell.text): index for index, cell in reversed(list(enumerate(self.header)))}


def tables(document: MarkdownDocument, start: int = 0, end: int | None = None) -> Iterator[Table]:
    """Every table that begins in some lines, in order.

    A delimiter row under a row makes one, whether or not their cells are as many.
    Rows go on over empty lines and over lines without a bar; another header row ends them after an empty
    line. A repeated header and further delimiter rows are no rows.
    """
    number = start + 1
    while number < (len(document.lines) if end is None else end):
        is_below = is_delimiter(document.lines[number]) and _may_hold_rows(document, number)
        if is_below and _is_row(document, number - 1):
            header = Row(number - 1, document.lines[number - 1], 0).cells()
            rows, below = _rows(document, number + 1, header)
            last = (rows[-1] if rows else Row(number, document.lines[number], 0)).span
            first = header[0]
            yield Table(header, tuple(rows), Span(first.line, first.start, last.end_line, last.end_column))
            number = below
        number += 1


def _may_hold_rows(document: MarkdownDocument, number: int) -> bool:
    kind = document.kinds[number]
    return kind in (TEXT, INDENTED, HIDDEN) or (kind == LAZY and document.lines[number].lstrip()[:1] == "|")


def _is_row(document: MarkdownDocument, number: int) -> bool:
    line = document.lines[number]
    if "|" not in line or not _may_hold_rows(document, number):
        return False
    return line.lstrip()[0] == "|" or not (BULLET.match(line) or FIELD.match(line))


def _rows(document: MarkdownDocument, number: int, header: tuple[Cell, ...]) -> tuple[list[Row], int]:
    rows: list[Row] = []
    lines, kinds, columns = document.lines, document.kinds, len(header)
    # The header stands two lines above the first row.
    title = _squeeze(lines[number - 2])
    initial = title.lstrip(_FRAME)[:1]
    unsure = {"", "-", initial, initial.upper()}
    below_blank = False
    end = number
    while number < len(lines):
        line = lines[number]
        # Nearly every line: a row for sure, without a closer look.
        ordinary = line[:1] == "|" and kinds[number] == TEXT and not below_blank
        if not ordinary and not line.strip():
            below_blank = True
        elif not (ordinary or _goes_on(document, number, below_blank)):
            break
        elif ordinary or _is_row(document, number):
            end = number + 1
            # A look at one letter spares most rows the closer looks.
            first = line.lstrip(_FRAME)[:1]
            work = first.isascii() and first not in unsure
            if work or not (is_delimiter(line) or _squeeze(line) == title):
                rows.append(Row(number, line, columns))
            below_blank = False
        number += 1
    return rows, end


def _squeeze(line: str) -> str:
    return "".join(line.split()).lower()


def _goes_on(document: MarkdownDocument, number: int, below_blank: bool) -> bool:
    """Continuation of a table at a line. Below an empty line only rows do, and no header of another table."""
    if not _may_hold_rows(document, number) or BULLET.match(document.lines[number]):
        return False
    if not below_blank:
        return True
    below = document.lines[number + 1 : number + 2]
    is_header = below and is_delimiter(below[0]) and _may_hold_rows(document, number + 1)
    return document.lines[number].lstrip()[0] == "|" and not is_header


def _bars_outside_code(text: str) -> list[int]:
    """The bars that stand in no code span: between two runs of equally many backticks."""
    runs = [match.span() for match in _TICKS.finditer(text)]
    partners: dict[int, int] = {}
    later: dict[int, int] = {}
    for index, (start, end) in reversed(list(enumerate(runs))):
        if end - start in later:
            partners[index] = later[end - start]
        later[end - start] = index
    outside = []
    index, covered = 0, 0
    for bar in (match.start() for match in _BAR.finditer(text)):
        while index < len(runs) and runs[index][0] < bar:
            if index in partners:
                index = partners[index]
                covered = runs[index][1]
            index += 1
        if bar >= covered:
            outside.append(bar)
    return outside


def _strip_frame(line: int, texts: list[str]) -> Parts:
    """The parts of a row without what stands outside the bars at its two ends, which are its frame."""
    start = 0
    if len(texts) > 1 and not texts[0].strip():
        start = len(texts.pop(0)) + 1
    if len(texts) > 1 and not texts[-1].strip():
        texts.pop()
    return Parts(line, start, texts)


def _cell(line: int, start: int, text: str) -> Cell:
    bare = text.strip()
    # An empty cell lies one blank inside its left bar, where its text would begin.
    first = start + (text.index(bare) if bare else min(1, len(text)))
    return Cell(bare.replace("\\|", "|"), line, first, first + len(bare))
