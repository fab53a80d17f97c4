"""Places in a text, between the engine's (lines and code points from zero) and an editor's.

An editor counts columns in UTF-8, UTF-16 or UTF-32 code units, whichever it agreed on when it connected
(LSP 3.17, PositionEncodingKind). Nothing else in the project converts columns. Lines end with LF, CRLF or
CR alone, as in the protocol; a form feed or U+2028 is no end, which is why `str.splitlines` is not used.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise

from lsprotocol import types as lsp

from ....orchestration.findings import Span

UTF8 = lsp.PositionEncodingKind.Utf8
UTF16 = lsp.PositionEncodingKind.Utf16
UTF32 = lsp.PositionEncodingKind.Utf32
_LINE_END = re.compile(r"\r\n|\r|\n")
# A byte order mark is a column to the editor and none to the engine.
_BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True)
class EncodedText:
    """A text, and the code units in which an editor counts its columns."""

    source: str
    encoding: lsp.PositionEncodingKind = UTF16

    @cached_property
    def _starts(self) -> list[int]:
        """Where each line begins."""
        if "\r" in self.source:
            return [0, *(match.end() for match in _LINE_END.finditer(self.source))]
        return [0, *accumulate(len(line) + 1 for line in self.source.split("\n")[:-1])]

    @property
    def line_count(self) -> int:
        return len(self._starts)

    def line(self, number: int) -> str:
        """A line without its end, "" behind the last one."""
        if not 0 <= number < len(self._starts):
            return ""
        end = self._starts[number + 1] if number + 1 < len(self._starts) else len(self.source)
        return self.source[self._starts[number] : end].rstrip("\r\n")

    def lines_with_ends(self) -> list[str]:
        """The text cut behind each line end; the last line is "" where the text ends with one."""
        return [self.source[start:end] for start, end in pairwise([*self._starts, len(self.source)])]

    def range(self, span: Span | None) -> lsp.Range:
        """The editor's range of a span; of the whole first line where there is none. It stays in the text."""
        if span is None:
            span = Span(0, 0, 0, max(len(self.line(0)), 1))
        return lsp.Range(
            self._position(span.line, span.column), self._position(span.end_line, span.end_column)
        )

    def _position(self, line: int, column: int) -> lsp.Position:
        last = self.line_count - 1
        if line > last:
            line, column = last, len(self.line(last))
        text = self.line(line)
        shifted = column + (line == 0 and text.startswith(_BYTE_ORDER_MARK))
        return lsp.Position(line, _units(text[: max(shifted, 0)], self.encoding))

    def line_and_column(self, position: lsp.Position) -> tuple[int, int]:
        """The engine's (line, column) of an editor's position; one behind a line's end is its end."""
        line = min(max(position.line, 0), self.line_count - 1)
        text = self.line(line)
        column = _code_points(text, position.character, self.encoding)
        return line, max(column - (line == 0 and text.startswith(_BYTE_ORDER_MARK)), 0)

    def offset_of(self, position: lsp.Position) -> int:
        """Where in the source a position is; behind the last line it is the end."""
        if position.line >= self.line_count:
            return len(self.source)
        line = self.line(position.line)
        return self._starts[position.line] + _code_points(line, position.character, self.encoding)

    def position_at(self, offset: int) -> lsp.Position:
        """The editor's position of an offset in the source."""
        line = bisect_right(self._starts, offset) - 1
        return lsp.Position(line, _units(self.source[self._starts[line] : offset], self.encoding))

    def with_change(self, change: lsp.TextDocumentContentChangePartial) -> EncodedText:
        """The text with the editor's change made."""
        start, end = sorted((self.offset_of(change.range.start), self.offset_of(change.range.end)))
        return EncodedText(f"{self.source[:start]}{change.text}{self.source[end:]}", self.encoding)


def _units(text: str, encoding: lsp.PositionEncodingKind) -> int:
    """The number of code units of a piece of a line."""
    if encoding == UTF32 or text.isascii():
        return len(text)
    codec, bytes_of_unit = ("utf-8", 1) if encoding == UTF8 else ("utf-16-le", 2)
    return len(text.encode(codec, "surrogatepass")) // bytes_of_unit


def _code_points(line: str, units: int, encoding: lsp.PositionEncodingKind) -> int:
    """The number of characters of so many code units of a line; one that is cut in the middle is left out."""
    if encoding == UTF32 or line.isascii():
        return min(max(units, 0), len(line))
    units_so_far = 0
    for number, character in enumerate(line):
        units_so_far += _units(character, encoding)
        if units_so_far > units:
            return number
    return len(line)
