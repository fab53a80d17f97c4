"""Markdown with positions: headings, tables, checkbox items, fields and fences of one text.

pyromark says which lines are document structure and which are only quoted (fences, HTML comments,
block quotes); what stands on a line is read here, from the line itself. pyromark is given a skeleton of
the text, line for line: the marks that open blocks stay, the words become one letter. So its byte
offsets are character offsets, its work does not grow with prose or with the cells of a table, and
nothing a person wrote inside a line can shift a block.

Lines end in LF, CRLF or CR; a byte order mark is dropped. Everything takes time linear in the text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import NamedTuple
from unicodedata import category

import pyromark

from .findings import Span


class Heading(NamedTuple):
    """A heading. `end` is the line after its body: the next heading of its level or above, or the end.

    `text` is as written, `span` is its range. The body begins at line `start`.
    """

    level: int
    text: str
    span: Span
    start: int
    end: int


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
        return _within(self.line, self.text, 0, len(self.text))

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


class Checkbox(NamedTuple):
    """A list item with a box. `mark` is what stands in it, trimmed (" " when nothing does)."""

    mark: str
    text: str
    span: Span
    indent: int


class Field(NamedTuple):
    """A line `**Key**: value`, bulleted or not. `value` keeps its emphasis."""

    key: str
    value: str
    key_span: Span
    value_span: Span


class Fence(NamedTuple):
    """A fenced block: the words after its marks, and its lines from `start` to before `end`."""

    info: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Document:
    """A text by lines. `unclosed` is where a fence or comment was opened that never ends."""

    lines: tuple[str, ...]
    kinds: bytes
    headings: tuple[Heading, ...]
    fences: tuple[Fence, ...]
    unclosed: Span | None = None


# What a line is part of. Table rows may stand on LAZY lines (a paragraph that runs on under a block quote
# without its mark, or under an HTML tag), because a row there still looks like work. HIDDEN lines lie in a
# comment or code span that runs over several lines of a paragraph.
TEXT, CODE, INDENTED, HTML, QUOTE, LAZY, HEADING, FRONT, HIDDEN = range(9)

# HTML blocks that run on to an end mark of their own, not to the next empty line (CommonMark 4.6, 1-5).
_HTML_ENDS = {
    "<!--": ("-->",),
    "<?": ("?>",),
    "<![cdata[": ("]]>",),
    "<pre": ("</pre>", "</script>", "</style>", "</textarea>"),
    "<script": ("</pre>", "</script>", "</style>", "</textarea>"),
    "<style": ("</pre>", "</script>", "</style>", "</textarea>"),
    "<textarea": ("</pre>", "</script>", "</style>", "</textarea>"),
}
_CONTAINERS = " \t>*+-0123456789.)"
_FENCE = re.compile(r"(`{3,}|~{3,})(.*)")
_WORDS = re.compile(r"(?m)^([ \t>*+\-#=_0-9.)~]*+)[^\n<>`]++$")
_DELIMITER = re.compile(r"(?m)^[ \t]*+(?=[|:\- \t]*+$)(?=[^\n]*\|)(?=[^\n]*-)[^\n]+$")
_BULLET = re.compile(r"[ \t]*+(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
_BOX = re.compile(
    r"[ \t]*+(?=[-*+0-9])(?:(?:[-*+]|\d{1,9}[.)])[ \t]++)*+(?:[-*+]|\d{1,9}[.)])?+"
    r"\[([^\[\]]{0,3})\](?![(\[])(.*)"
)
_FIELD = re.compile(
    r"[ \t]*+(?:(?:[-*+]|\d{1,9}[.)])[ \t]++)?+(?:\*\*|__)(?P<key>[^*\n]{1,120}?)"
    r"(?::[ \t]*+(?:\*\*|__)|(?:\*\*|__)[ \t]*+:)[ \t]*+(?P<value>.*)"
)
_FRONT_KEY = re.compile(r"[A-Za-z_][\w-]*[ \t]*:")
_TICKS = re.compile(r"`+")


def read(text: str, *, rescue: bool = False) -> Document:
    """The structure of a text; never raises.

    With `rescue`, a fence or comment that never ends is passed over, so that it does not hide the work
    below it; without, everything below it stays quoted, so that nothing quoted counts as said.
    """
    lines = split_lines(text)
    skeleton = _skeleton(lines)
    scan = _Scan(lines, skeleton)
    unclosed = scan.unclosed
    # Each round passes over every opening like the one found. Eight rounds bound what a text that opens
    # fences of ever shorter length can cost.
    rounds = 8 if rescue else 0
    while scan.unclosed is not None and rounds:
        _pass_over(lines, skeleton, scan.unclosed)
        scan = _Scan(lines, skeleton)
        rounds -= 1
    return Document(tuple(lines), bytes(scan.kinds), scan.finished_headings(), tuple(scan.fences), unclosed)


def split_lines(text: str) -> list[str]:
    """The lines without their ends. A form feed or U+2028 is no end, as in editors."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.removeprefix("\ufeff").split("\n")


def _skeleton(lines: list[str]) -> list[str]:
    front = _front_matter(lines)
    text = "\n".join([""] * front + lines[front:])
    # The delimiter row of a table can look like a list item or the underline of a heading.
    text = _DELIMITER.sub("x", text)
    text = _WORDS.sub(r"\1x", text)
    return text.encode("ascii", "replace").decode("ascii").split("\n")


def _front_matter(lines: list[str]) -> int:
    """How many lines at the start are YAML front matter.

    A plan may begin with a rule `---` and have others below it; only `key:` after the first makes it
    front matter, and a table row within makes it none.
    """
    if lines[0].rstrip() != "---" or len(lines) < 2 or not _FRONT_KEY.match(lines[1]):
        return 0
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() in ("---", "..."):
            return number + 1
        if line.startswith("|"):
            break
    return 0


def _pass_over(lines: list[str], skeleton: list[str], opened: Span) -> None:
    """Blank the line that opens a block without end, and all below that would open one like it."""
    opening = lines[opened.line][opened.column : opened.end_column].lower()
    for number in range(opened.line, len(lines)):
        if lines[number].lstrip(_CONTAINERS).lower().startswith(opening):
            skeleton[number] = ""
    skeleton[opened.line] = ""


class _Scan:
    """One pass over pyromark's events: what each line is, the headings, the fences."""

    def __init__(self, lines: list[str], skeleton: list[str]) -> None:
        self.lines = lines
        self.skeleton = skeleton
        self.starts = [0, *accumulate(len(line) + 1 for line in skeleton)]
        self.kinds = bytearray(len(lines))
        self.kinds[: _front_matter(lines)] = bytes([FRONT]) * _front_matter(lines)
        self.headings: list[tuple[int, str, Span, int]] = []
        self.fences: list[Fence] = []
        self.unclosed: Span | None = None
        self._events()

    def _events(self) -> None:
        quoted_to = 0
        for event, place in pyromark.events_with_range("\n".join(self.skeleton)):
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
                self._quote(*self._lines(place))
            elif "CodeBlock" in kind:
                self._code(kind["CodeBlock"], *self._lines(place))
            elif "Heading" in kind:
                self._heading(int(kind["Heading"]["level"][1]), place["start"], *self._lines(place))

    def _lines(self, place: dict[str, int]) -> tuple[int, int]:
        """The first line of a range, and the line after its last."""
        first = bisect_right(self.starts, place["start"]) - 1
        return first, max(first + 1, bisect_right(self.starts, place["end"] - 1))

    def _mark(self, first: int, end: int, kind: int) -> None:
        self.kinds[first:end] = bytes([kind]) * (end - first)

    def _quote(self, first: int, end: int) -> None:
        for number in range(first, end):
            self.kinds[number] = QUOTE if self.lines[number].lstrip(" \t-*+").startswith(">") else LAZY

    def _code(self, kind: object, first: int, end: int) -> None:
        if kind == "Indented":
            self._mark(first, end, INDENTED)
            return
        self._mark(first, end, CODE)
        opening = _FENCE.search(self.lines[first])
        assert opening is not None
        marks = opening[1]
        last = self.lines[end - 1].strip(_CONTAINERS)
        closed = end - first > 1 and len(last) >= len(marks) and not last.strip(marks[0])
        self.fences.append(Fence(opening[2].strip(), first + 1, end - 1 if closed else end))
        if not closed:
            self._opened(first, end, *opening.span(1))

    def _html(self, first: int, end: int) -> None:
        line = self.lines[first]
        column = len(line) - len(line.lstrip(_CONTAINERS))
        opening = next((o for o in _HTML_ENDS if line[column : column + len(o)].lower() == o), "")
        self._mark(first, end, HTML if opening else LAZY)
        if opening:
            text = "\n".join(self.lines[first:end]).lower()
            if not any(mark in text for mark in _HTML_ENDS[opening]):
                self._opened(first, end, column, column + len(opening))

    def _opened(self, first: int, end: int, column: int, end_column: int) -> None:
        """Note a block without end, if it runs to the end of the text and so hides all that follows."""
        if self.unclosed is None and not any(line.strip() for line in self.lines[end:]):
            self.unclosed = Span(first, column, first, end_column)

    def _heading(self, level: int, start: int, first: int, end: int) -> None:
        line = self.lines[first]
        column = start - self.starts[first]
        if line[column : column + 1] == "#":
            text = line[column:].lstrip("#")
            column = len(line) - len(text.lstrip(" \t"))
            text = text.strip()
            bare = text.rstrip("#")
            if bare != text and bare[-1:] in ("", " ", "\t"):
                text = bare.rstrip()
        elif end - first > 2 or "|" in line or _FIELD.match(line):
            # A rule straight below a table or a list of fields makes it a heading to CommonMark.
            return
        else:
            text = line[column:].strip()
        self._mark(first, end, HEADING)
        self.headings.append((level, text, Span(first, column, first, column + len(text)), end))

    def finished_headings(self) -> tuple[Heading, ...]:
        """The headings with the ends of their bodies."""
        ends = [len(self.lines)] * len(self.headings)
        open_: list[int] = []
        for index, (level, _, span, _) in enumerate(self.headings):
            while open_ and self.headings[open_[-1]][0] >= level:
                ends[open_.pop()] = span.line
            open_.append(index)
        return tuple(Heading(*heading, end) for heading, end in zip(self.headings, ends, strict=True))


def _within(line: int, text: str, start: int, end: int) -> Span:
    """The span of text[start:end] without the white space around it."""
    part = text[start:end]
    bare = part.strip()
    left = start + part.index(bare)
    return Span(line, left, line, left + len(bare))


# --- tables


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
                else _within(number, document.lines[number], 0, len(document.lines[number]))
            )
            start = header[0].span
            yield Table(header, tuple(rows), Span(start.line, start.column, last.end_line, last.end_column))
            number = end
        number += 1


def _is_delimiter(document: Document, number: int) -> bool:
    line = document.lines[number]
    return "|" in line and _DELIMITER.fullmatch(line) is not None and _may_hold_rows(document, number)


def _may_hold_rows(document: Document, number: int) -> bool:
    kind = document.kinds[number]
    return kind in (TEXT, INDENTED, HIDDEN) or (kind == LAZY and document.lines[number].lstrip()[:1] == "|")


def _is_row(document: Document, number: int) -> bool:
    line = document.lines[number]
    if "|" not in line or not _may_hold_rows(document, number):
        return False
    return line.lstrip()[0] == "|" or not (_BULLET.match(line) or _FIELD.match(line))


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
    if not _may_hold_rows(document, number) or _BULLET.match(document.lines[number]):
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


# --- lines


def said(document: Document) -> Iterator[tuple[int, str]]:
    """(line, text) of every line that is prose, a list item or a table row, not quoted in any way."""
    for number, line in enumerate(document.lines):
        if document.kinds[number] == TEXT and line.strip():
            yield number, line


def fields(document: Document) -> Iterator[Field]:
    """Every `**Key**: value` line outside fences, quotes, comments and headings, in order.

    `**Key:** value` is read too.
    """
    for number, line in said(document):
        match = _FIELD.match(line)
        if match is not None and match["key"].strip():
            key = _within(number, line, *match.span("key"))
            value = _within(number, line, *match.span("value"))
            if not match["value"].strip():
                value = Span(number, match.end(), number, match.end())
            yield Field(match["key"].strip(), match["value"].strip(), key, value)


def checkboxes(document: Document) -> Iterator[Checkbox]:
    """Every list item with a box, in order, under any of the markers `- * + 1. 1)`, nested or indented.

    A bracket of more than one character, one before `(` or `[`, and `[P]` are labels, no boxes
    (spec-kit's legend). Any other single character is a mark, known or not.
    """
    for number, line in enumerate(document.lines):
        if document.kinds[number] not in (TEXT, INDENTED) or "[" not in line:
            continue
        match = _BOX.match(line)
        if match is None:
            continue
        mark = match[1].replace("\ufe0f", "").strip()
        if len(mark) <= 1 and mark != "P":
            start, end = match.span(1)
            indent = len(line) - len(line.lstrip())
            yield Checkbox(mark or " ", match[2].strip(), Span(number, start - 1, number, end + 1), indent)


# --- words

_LINK = re.compile(r"!?\[([^\[\]]*)\]\(([^()]*)\)")
_EMPHASIS = re.compile(
    r"(?<![\s*])\*++|(?<!\*)\*++(?=\S)|~~|(?<!\w)_++|(?<=[^\W_])_++(?!\w)|\\(?=[!-/:-@\[-`{-~])"
)


def plain(text: str) -> str:
    """A cell, value or title without comments, links, emphasis and code marks, trimmed.

    What stands in a code span stays as it is, so that `src/**/*.ts` keeps its stars.
    """
    parts = _LINK.sub(r"\1", without_comments(text)).split("`")
    whole = len(parts) % 2 == 1
    return "".join(
        part if whole and index % 2 else _EMPHASIS.sub("", part) for index, part in enumerate(parts)
    ).strip()


def without_comments(text: str) -> str:
    """The text without `<!-- .. -->`; an unclosed one stays."""
    kept = []
    at = 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        kept.append(text[at:start])
        at = end + 3
    return "".join(kept) + text[at:]


_REMARK = re.compile(r"(?<!\s)\s++[-–—]+(?=\s)|(?<!\s)\s*+\(")
_GAPS = re.compile(r"[\s-]++")


def name_of(text: str) -> str:
    """A title or key to compare by: plain, without emoji, in lower case, single blanks."""
    return " ".join(_without_emoji(plain(text)).lower().split())


def split_remark(value: str) -> tuple[str, str]:
    """A plain value without emoji, cut before the remark that follows ` - `, ` — ` or `(`; and the remark."""
    text = _without_emoji(plain(value)).strip()
    cut = _REMARK.search(text)
    end = cut.start() if cut else len(text)
    return text[:end].strip(), text[end:].strip()


def word_of(text: str) -> str:
    """A value as one lower-case word: final punctuation goes, blanks and hyphens inside become `_`.

    So "NOT PASS" is the word `not_pass`, which is no "pass".
    """
    return _GAPS.sub("_", text.strip().rstrip(".!,;:").strip().lower())


def _without_emoji(text: str) -> str:
    if text.isascii():
        return text
    return "".join(c for c in text if category(c) not in ("So", "Sk", "Mn", "Cf"))
