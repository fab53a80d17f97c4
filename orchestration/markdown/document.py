"""Markdown with positions: headings, checkbox items, fields and fences of one text (tables: tables.py).

pyromark says which lines are document structure and which are only quoted (fences, HTML comments,
block quotes); what stands on a line is read here, from the line itself. pyromark is given a skeleton of
the text (skeleton.py), in which words are one letter and lines of words one line. So
its byte offsets are character offsets, its work does not grow with prose or with tables, and nothing a
person wrote inside a line can shift a block. A text that no line of which can change another is read
without it.

Lines end in LF, CRLF or CR; a byte order mark is dropped. Everything takes time linear in the text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

import pyromark

from ..findings import Span
from .block_outline import conflict_in, front_matter, is_flat, skeleton_of, split_lines
from .inline_text import name_of


class Heading(NamedTuple):
    """A heading. `end` is the line after its body: the next heading of its level or above, or the end.

    `text` is as written, `span` is its range. The body begins at line `start`.
    """

    level: int
    text: str
    span: Span
    start: int
    end: int


class Field(NamedTuple):
    """A line `**Key**: value`, bulleted or not. `value` keeps its emphasis and begins at `column`.

    The place is kept as a column, because few fields are ever asked for their span.
    """

    key: str
    value: str
    line: int
    column: int

    @property
    def value_span(self) -> Span:
        return self.span_in_value(0, len(self.value))

    def span_in_value(self, start: int, end: int) -> Span:
        """The span of `value[start:end]`."""
        return Span(self.line, self.column + start, self.line, self.column + end)


class Fence(NamedTuple):
    """A fenced block: the words after its marks, and its lines from `start` to before `end`."""

    info: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class MarkdownDocument:
    """A text by lines.

    `kinds` has one of TEXT .. HIDDEN a line. `unclosed` is where a fence or comment was opened that never
    ends, `conflict` the first mark of an unresolved merge; both sides of a merge are read.
    """

    lines: tuple[str, ...]
    kinds: bytes
    headings: tuple[Heading, ...]
    fences: tuple[Fence, ...]
    unclosed: Span | None = None
    conflict: Span | None = None


# What a line is part of. Table rows may stand on LAZY lines (a paragraph that runs on under a block quote
# without its mark, or under an HTML tag), because a row there still looks like work. HIDDEN lines lie in a
# comment or code span that runs over several lines of a paragraph.
TEXT, CODE, INDENTED, HTML, QUOTE, LAZY, HEADING, FRONT, HIDDEN = range(9)

# HTML blocks that run on to an end mark of their own, not to the next empty line (CommonMark 4.6, 1-5).
_RAW_ENDS = ("</pre>", "</script>", "</style>", "</textarea>")
_HTML_ENDS = {
    "<!--": ("-->",),
    "<?": ("?>",),
    "<![cdata[": ("]]>",),
    **dict.fromkeys(("<pre", "<script", "<style", "<textarea"), _RAW_ENDS),
}
_CONTAINERS = " \t>*+-0123456789.)"
BULLET = re.compile(r"[ \t]*+(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
_BOX = re.compile(
    r"[ \t]*+(?=[-*+0-9])(?:(?:[-*+]|\d{1,9}[.)])[ \t]++)*+(?:[-*+]|\d{1,9}[.)])?+"
    r"\[([^\[\]]{0,3})\](?![(\[])"
)
FIELD = re.compile(
    r"[ \t]*+(?:(?:[-*+]|\d{1,9}[.)])[ \t]++)?+(?:\*\*|__)(?P<key>[^*\n]{1,120}?)"
    r"(?::[ \t]*+(?:\*\*|__)|(?:\*\*|__)[ \t]*+:)[ \t]*+(?P<value>.*)"
)
_LIST_MARK = re.compile(r"[ \t]*+(?:(?:[-*+]|\d{1,9}[.)])[ \t]++)?+")
_KEY_LENGTH = 160


def read(text: str, *, rescue: bool = False) -> MarkdownDocument:
    """The structure of a text; never raises.

    With `rescue`, a fence or comment that never ends is passed over, so that it does not hide the work
    below it; without, everything below it stays quoted, so that nothing quoted counts as said.
    """
    lines = split_lines(text)
    if is_flat(lines):
        return _flat(lines)
    conflict = conflict_in(lines)
    skeleton = skeleton_of(lines, conflict is not None)
    scan = _Scan(lines, skeleton)
    unclosed = scan.unclosed
    # Each round blanks the line that opens a block without end, and all below that would open one like it.
    # Eight rounds bound what a text that opens fences of ever shorter length can cost.
    rounds = 8 if rescue else 0
    while scan.unclosed is not None and rounds:
        first, column, _, end_column = scan.unclosed
        opening = lines[first][column:end_column].lower()
        skeleton[first] = ""
        for number in range(first, len(lines)):
            if lines[number].lstrip(_CONTAINERS).lower().startswith(opening):
                skeleton[number] = ""
        scan = _Scan(lines, skeleton)
        rounds -= 1
    kinds, fences = bytes(scan.kinds), tuple(scan.fences)
    return MarkdownDocument(tuple(lines), kinds, _with_ends(scan.headings, lines), fences, unclosed, conflict)


def _flat(lines: list[str]) -> MarkdownDocument:
    """The structure of a flat text, which is in its headings and fences alone."""
    headings = []
    fences = []
    kinds = bytearray(len(lines))
    opened = -1
    for number, line in enumerate(lines):
        if line[:3] == "```":
            if opened >= 0:
                kinds[opened : number + 1] = bytes([CODE]) * (number + 1 - opened)
                fences.append(Fence(lines[opened][3:].strip(), opened + 1, number))
            opened = -1 if opened >= 0 else number
        elif line[:1] == "#" and opened < 0:
            headings.append((line.index(" "), _heading_span(number, line, 0), number + 1))
            kinds[number] = HEADING
    return MarkdownDocument(tuple(lines), bytes(kinds), _with_ends(headings, lines), tuple(fences))


class _Scan:
    """One pass over pyromark's events: what each line is, the headings, the fences."""

    def __init__(self, lines: list[str], skeleton: list[str]) -> None:
        self.lines = lines
        # A line of words below a line of words is part of the same block, whichever that is. So one line
        # stands for all of them, and a table is as little work as a single row.
        bounds = zip(["", *skeleton], skeleton, strict=False)
        self.numbers = [n for n, (above, line) in enumerate(bounds) if line != "x" or above != "x"]
        self.skeleton = [skeleton[number] for number in self.numbers]
        self.starts = [0, *accumulate(len(line) + 1 for line in self.skeleton)]
        self.numbers.append(len(lines))
        self.kinds = bytearray(len(lines))
        self._mark(0, front_matter(lines), FRONT)
        self.last = next((number for number in range(len(lines) - 1, 0, -1) if lines[number].strip()), 0)
        self.headings: list[tuple[int, Span, int]] = []
        self.fences: list[Fence] = []
        self.unclosed: Span | None = None
        self._events()

    def _events(self) -> None:
        quoted_to = 0
        events: Iterator[tuple[Any, Any]] = pyromark.events_with_range("\n".join(self.skeleton))
        for event, place in events:
            # Most events are text; a hostile file has millions of them.
            if type(event) is str or "Text" in event or "End" in event or place["start"] < quoted_to:
                continue
            if "Start" not in event:
                if "Code" in event or "InlineHtml" in event:
                    first, end = self._lines(place)
                    self._mark(first + 1, end, HIDDEN)
            elif (kind := event["Start"]) == "HtmlBlock":
                self._html(*self._lines(place))
            elif type(kind) is str:
                continue
            elif "BlockQuote" in kind:
                quoted_to = place["end"]
                for number in range(*self._lines(place)):
                    marked = self.lines[number].lstrip(" \t-*+").startswith(">")
                    self.kinds[number] = QUOTE if marked else LAZY
            elif "CodeBlock" in kind:
                self._code(kind["CodeBlock"], *self._lines(place))
            elif "Heading" in kind:
                column = place["start"] - self.starts[bisect_right(self.starts, place["start"]) - 1]
                first, end = self._lines(place)
                line = self.lines[first]
                is_rule = end - first > 2 or "|" in line or FIELD.match(line)
                # A rule straight below a table or a list of fields makes it a heading to CommonMark.
                if line[column : column + 1] == "#" or not is_rule:
                    self._mark(first, end, HEADING)
                    level = int(kind["Heading"]["level"][1])
                    self.headings.append((level, _heading_span(first, line, column), end))

    def _lines(self, place: dict[str, int]) -> tuple[int, int]:
        """The first line of a range, and the line after its last."""
        first = bisect_right(self.starts, place["start"]) - 1
        end = max(first + 1, bisect_right(self.starts, place["end"] - 1))
        return self.numbers[first], self.numbers[end]

    def _mark(self, first: int, end: int, kind: int) -> None:
        self.kinds[first:end] = bytes([kind]) * (end - first)

    def _code(self, kind: object, first: int, end: int) -> None:
        if kind == "Indented":
            self._mark(first, end, INDENTED)
            return
        self._mark(first, end, CODE)
        line = self.lines[first]
        opening = line.lstrip(_CONTAINERS)
        info = opening.lstrip(opening[0])
        column, length = len(line) - len(opening), len(opening) - len(info)
        last = self.lines[end - 1].strip(" \t")
        closed = end - first > 1 and len(last) >= length and not last.strip(opening[0])
        self.fences.append(Fence(info.strip(), first + 1, end - 1 if closed else end))
        if not closed:
            self._note_unclosed(first, end, column, column + length)

    def _html(self, first: int, end: int) -> None:
        line = self.lines[first]
        column = len(line) - len(line.lstrip(_CONTAINERS))
        opening = next((o for o in _HTML_ENDS if line[column : column + len(o)].lower() == o), "")
        self._mark(first, end, HTML if opening else LAZY)
        if opening:
            text = "\n".join(self.lines[first:end]).lower()
            if not any(mark in text for mark in _HTML_ENDS[opening]):
                self._note_unclosed(first, end, column, column + len(opening))

    def _note_unclosed(self, first: int, end: int, column: int, end_column: int) -> None:
        """Note a block without end, if it runs to the end of the text and so hides all that follows."""
        if self.unclosed is None and end > self.last:
            self.unclosed = Span(first, column, first, end_column)


def _heading_span(number: int, line: str, column: int) -> Span:
    """Where the text of a heading stands that begins at a column, without its marks."""
    end = len(line)
    if line[column : column + 1] == "#":
        column = len(line) - len(line[column:].lstrip("#"))
        bare = line[column:].rstrip().rstrip("#")
        if not bare or bare[-1] in " \t":
            end = column + len(bare)
    return trimmed_span(number, line, column, end)


def _with_ends(headings: list[tuple[int, Span, int]], lines: list[str]) -> tuple[Heading, ...]:
    """The headings with their texts and the ends of their bodies."""
    ends = [len(lines)] * len(headings)
    open_: list[int] = []
    for index, (level, span, _) in enumerate(headings):
        while open_ and headings[open_[-1]][0] >= level:
            ends[open_.pop()] = span.line
        open_.append(index)
    return tuple(
        Heading(level, lines[span.line][span.column : span.end_column], span, start, end)
        for (level, span, start), end in zip(headings, ends, strict=True)
    )


def trimmed_span(line: int, text: str, start: int, end: int) -> Span:
    """The span of text[start:end] without the white space around it."""
    bare, left = _trim(text, start, end)
    return Span(line, left, line, left + len(bare))


def _trim(text: str, start: int, end: int) -> tuple[str, int]:
    """text[start:end] without the white space around it, and where that begins."""
    part = text[start:end]
    bare = part.strip()
    return bare, start + part.index(bare)


# --- lines


def unquoted_lines(
    document: MarkdownDocument, start: int = 0, end: int | None = None
) -> Iterator[tuple[int, str]]:
    """(line, text) of every line that is prose, a list item or a table row, not quoted in any way."""
    for number in range(start, len(document.lines) if end is None else end):
        if document.kinds[number] == TEXT and document.lines[number].strip():
            yield number, document.lines[number]


def fields(document: MarkdownDocument, names: Collection[str] = (), front: bool = False) -> Iterator[Field]:
    """Every `**Key**: value` or `**Key:** value` line, in order; none in fences, quotes, comments, headings.

    Keys whose `name_of` is in `names` are read without emphasis too, `- key: value`; with `front` also in
    front matter.
    """
    for number, line in enumerate(document.lines):
        kind = document.kinds[number]
        if ":" in line and (kind == TEXT or (front and kind == FRONT)):
            match = FIELD.match(line)
            if not match:
                field = plain_field(number, line, 0, names)
            else:
                field = _field(number, line, match["key"], match.start("value"))
            if field and field.key:
                yield field


def _field(number: int, line: str, key: str, start: int) -> Field:
    """The field of a line whose value is all from a column on."""
    value, column = _trim(line, start, len(line))
    return Field(key.strip(), value, number, column)


def plain_field(number: int, line: str, start: int, names: Collection[str]) -> Field | None:
    """The field `key: value` in a line from a column on, if `name_of` the key is one of the names."""
    colon = line.find(":", start, start + _KEY_LENGTH)
    mark = _LIST_MARK.match(line, start)
    first = mark.end() if mark else start
    if colon < first or name_of(line[first:colon]) not in names:
        return None
    return _field(number, line, line[first:colon], colon + 1)


def checkboxes(document: MarkdownDocument) -> Iterator[Span]:
    """The box of every list item with one, in order; its marker is any of `- * + 1. 1)`, nested or indented.

    A bracket of more than one character, one before `(` or `[`, and `[P]` are labels, no boxes
    (spec-kit's legend). Any other single character is a mark, known or not.
    """
    for number, line in enumerate(document.lines):
        if "[" not in line or document.kinds[number] not in (TEXT, INDENTED, LAZY):
            continue
        match = _BOX.match(line)
        mark = match[1].replace("\ufe0f", "").strip() if match else "P"
        if match and len(mark) <= 1 and mark != "P":
            yield Span(number, match.start(1) - 1, number, match.end(1) + 1)
