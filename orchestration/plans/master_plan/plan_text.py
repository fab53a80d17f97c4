"""The text of a plan by sections: what one says alone is read once, and used again while it is the same.

Lines of a section are counted from its first; `PlanText` knows where each stands.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple, TypeVar, TypeVarTuple

from ...findings import Span
from ...markdown import document as markdown
from ...markdown.document import Field, MarkdownDocument
from ...markdown.inline_text import name_of, strip_markup
from ...markdown.sections import read_section, split_sections
from ...markdown.tables import Cell, Table, tables
from ..model import Count, Mark
from .rows import PHASE, TASK_COLUMNS, Notes, read_mark, text_of

NUMBERED = re.compile(r"(?i)(?:(?:stage|part|step|milestone|sprint)[ \t]+)?(\d+(?:\.\d+)*)[.:)]?[ \t]+(\S.*)")
"""A title that begins with a number."""

_REFERENCE = re.compile(r"[ \t]*+(?:(?:\d+[.)]|[-*+])[ \t]++)?+(\S++)[ \t].*(\[[^\[\]]{0,3}\])")
_TALLY = re.compile(r"(\d{1,9})[ \t]*+/[ \t]*+(\d{1,9})")
_PROGRESS = re.compile(r"(?<!\d)(\d{1,9})[ \t]*+/[ \t]*+(\d{1,9})(?!\d)")
_READ_MARK = "the task rows count"
_T = TypeVar("_T")
_Arguments = TypeVarTuple("_Arguments")


class Memory:
    """What was computed of parts of a text: taken from the reading before where that has it."""

    def __init__(self, before: Mapping[Any, Any]) -> None:
        self._before = before
        self.used: dict[Any, Any] = {}

    def get(self, key: Hashable, compute: Callable[[*_Arguments], _T], *arguments: *_Arguments) -> _T:
        """The value of a key: what `compute` makes of the arguments, which the key tells apart."""
        if key not in self.used:
            self.used[key] = self._before[key] if key in self._before else compute(*arguments)
        return self.used[key]


class SectionHeading(NamedTuple):
    """A heading: its text without markup, the name to look it up by, and its number if it is a phase's."""

    level: int
    text: str
    name: str
    span: Span
    phase: re.Match[str] | None


class SummaryEntry(NamedTuple):
    """A row of a Progress Summary: the stage that it is about by its title or `number`, and what it says.

    `mark` is None without a cell for it; `notes` are those of the mark. `total` is the cell of the count, and
    `digits` its text.
    """

    title: str
    number: str
    span: Span
    mark: Mark | None
    notes: Notes
    total: Cell | None
    digits: str
    tally: Count | None


class ReferenceEntry(NamedTuple):
    """A line of a Quick Reference: the name of a task and its mark; `notes` are those of the mark."""

    name: str
    span: Span
    mark: Mark
    notes: Notes


class PlanSection:
    """A section of a plan. Two are the same only if they are one object."""

    def __init__(self, document: MarkdownDocument) -> None:
        self.document = document
        self.tables = tuple(tables(document))
        self.boxes = tuple(markdown.checkboxes(document))
        self.fields = tuple(markdown.fields(document))
        self.headings = tuple(map(_heading, document.headings))

    @cached_property
    def progress(self) -> tuple[Field, re.Match[str]] | None:
        """The first `**Progress**: n/N` line, and its figures."""
        fields = (field for field in self.fields if field.key.lower() == "progress")
        found = ((field, match) for field in fields if (match := _PROGRESS.search(field.value)))
        return next(found, None)

    @cached_property
    def summaries(self) -> Mapping[int, Sequence[SummaryEntry]]:
        """The entries of each table that could be a Progress Summary, by its number."""
        return {
            number: [*map(_SummaryColumns(table.columns).entry, table.rows)]
            for number, table in enumerate(self.tables)
            if {"phase", "status"} <= table.columns.keys() and "task id" not in table.columns
        }

    @cached_property
    def references(self) -> Sequence[Sequence[ReferenceEntry]]:
        """The lines of each fence that read like those of a Quick Reference."""
        return [[*_reference_entries(self.document, f.start, f.end)] for f in self.document.fences]

    def text_without(self, noted: Sequence[tuple[Hashable, Sequence[Span]]]) -> str:
        """The text with one NUL for each place of progress: its boxes, and those noted."""
        places = [*self.boxes, *chain.from_iterable(each for _, each in noted)]
        lines = list(self.document.lines)
        # They are nearly in order already, which the sort makes use of.
        for line, column, _, end in sorted(dict.fromkeys(places), reverse=True):
            lines[line] = f"{lines[line][:column]}\0{lines[line][end:]}"
        return "\n".join(lines)


def _heading(heading: markdown.Heading) -> SectionHeading:
    text = strip_markup(heading.text)
    return SectionHeading(heading.level, text, name_of(heading.text), heading.span, PHASE.match(text))


class _SummaryColumns:
    def __init__(self, columns: Mapping[str, int]) -> None:
        self.phase, self.status, self.tasks = (columns.get(each, -1) for each in ("phase", "status", "tasks"))

    def entry(self, row: Any) -> SummaryEntry:
        parts, notes = row.parts(), Notes([], [])
        title = text_of(parts.cell(self.phase))
        match = PHASE.match(title) or NUMBERED.match(title)
        status, total = parts.cell(self.status), parts.cell(self.tasks)
        mark = read_mark(status, _READ_MARK, notes) if status else None
        digits, tally = text_of(total), None
        if total and (figures := _TALLY.fullmatch(digits)) and (place := total.text.find(figures[0])) >= 0:
            start = total.start + place
            span = Span(total.line, start, total.line, start + len(figures[0]))
            tally = Count(int(figures[1]), int(figures[2]), span)
        return SummaryEntry(title, match[1] if match else title, row.span, mark, notes, total, digits, tally)


def _reference_entries(document: MarkdownDocument, start: int, end: int) -> Iterator[ReferenceEntry]:
    for line in range(start, end):
        if match := _REFERENCE.match(document.lines[line]):
            notes = Notes([], [])
            mark = read_mark(Cell(match[2], line, *match.span(2)), _READ_MARK, notes)
            yield ReferenceEntry(match[1], Span(line, match.start(1), line, match.end(1)), mark, notes)


class PlacedHeading(NamedTuple):
    """A heading at its line in the whole text; `end` is the line after its body."""

    line: int
    end: int
    heading: SectionHeading

    @property
    def span(self) -> Span:
        return self.heading.span._replace(line=self.line, end_line=self.line)


class PlacedTable(NamedTuple):
    """A table: the number of its section and of it in that, and the section's first line."""

    section: int
    number: int
    start: int
    table: Table

    @property
    def line(self) -> int:
        return self.start + self.table.span.line


class PlanText:
    """The sections of a text, and where they stand."""

    def __init__(self, text: str, memory: Memory) -> None:
        self.sections = _read_sections(text, memory)
        self.starts: list[int] = []
        line = 0
        for section in self.sections:
            self.starts.append(line)
            line += len(section.document.lines) + 1
        self.length = line - 1
        self.tables = [
            PlacedTable(index, number, start, table)
            for index, (start, section) in enumerate(self.sections_in_place())
            for number, table in enumerate(section.tables)
        ]
        self.task_tables = [each for each in self.tables if each.table.columns.keys() >= TASK_COLUMNS]

    def sections_in_place(self) -> Iterator[tuple[int, PlanSection]]:
        """(first line, section) of each section."""
        return zip(self.starts, self.sections, strict=True)

    @cached_property
    def headings(self) -> list[PlacedHeading]:
        """All headings, in order."""
        found = [
            (start + h.span.line, h) for start, section in self.sections_in_place() for h in section.headings
        ]
        ends = [self.length] * len(found)
        open_: list[int] = []
        for index, (line, heading) in enumerate(found):
            while open_ and found[open_[-1]][1].level >= heading.level:
                ends[open_.pop()] = line
            open_.append(index)
        return [PlacedHeading(line, end, heading) for (line, heading), end in zip(found, ends, strict=True)]

    def section_of(self, title: str) -> range:
        """The lines of the body of the first heading whose name begins with a title; none without one."""
        for line, end, heading in self.headings:
            if heading.name.startswith(title):
                return range(line, end)
        return range(0)

    def header_fields(self) -> Iterator[tuple[int, Field]]:
        """(number of the section, field) of the fields above the first heading below the title."""
        end = next((each.line for each in self.headings if each.heading.level > 1), self.length)
        above = range(bisect_right(self.starts, end - 1))
        fields = ((index, field) for index in above for field in self.sections[index].fields)
        return ((index, field) for index, field in fields if self.starts[index] + field.line < end)

    def text_without(
        self, places: Mapping[int, Sequence[tuple[Hashable, Sequence[Span]]]], memory: Memory
    ) -> str:
        """The text with one NUL for each place of progress; `places` has those of sections by their numbers,
        part by part, each with what it is known by."""
        parts: list[str] = []
        for index, section in enumerate(self.sections):
            noted = places.get(index, ())
            key = ("text without", section, *[known_by for known_by, _ in noted])
            parts.append(memory.get(key, section.text_without, noted))
        return "\n\n".join(parts)


def _read_sections(text: str, memory: Memory) -> list[PlanSection]:
    """The sections of a text; one with an open fence, a comment without end or the like is one section."""
    texts = split_sections(text)
    sections: list[PlanSection] = []
    for number, each in enumerate(texts, 1):
        is_last = number == len(texts)
        section = memory.get((each, is_last), _section, each, is_last)
        if section is None:
            return [PlanSection(markdown.read(text, rescue=True))]
        sections.append(section)
    return sections


def _section(text: str, is_last: bool) -> PlanSection | None:
    document = read_section(text, is_last)
    return PlanSection(document) if document else None
