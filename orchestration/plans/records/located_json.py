"""Objects of a JSON text with the places of their values, all in one pass."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ...findings import Span
from ...formats.json_text import Member, members


class LineIndex:
    """The lines of a text, to tell spans by offsets in logarithmic time."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def span(self, start: int, end: int) -> Span:
        """The span of what stands between two offsets; of what has several lines the first one."""
        line = bisect_right(self._starts, start) - 1
        first = self._starts[line]
        after = self._starts[line + 1] - 1 if line + 1 < len(self._starts) else end
        return Span(line, start - first, line, min(end, after) - first)


class LocatedObject(NamedTuple):
    """An element of a list: its value, its place, and, of an object, where the values of its keys stand."""

    value: Any
    span: Span
    fields: Mapping[str, Member]
    lines: LineIndex

    def get(self, key: str) -> Any:
        return self.value.get(key) if isinstance(self.value, dict) else None

    def span_of(self, key: str) -> Span | None:
        member = self.fields.get(key)
        return self.lines.span(member.value, member.end) if member else None


def located_elements(text: str, at: int, values: Any, lines: LineIndex) -> Iterator[LocatedObject]:
    """The elements of the list at an offset of valid JSON; `values` is that list."""
    if not isinstance(values, list):
        return
    for value, member in zip(values, members(text, at), strict=True):
        yield located_object(text, member, value, lines)


def located_object(text: str, member: Member, value: Any, lines: LineIndex) -> LocatedObject:
    """The value of a member with its places; of two equal keys the last one counts."""
    is_object = isinstance(value, dict)
    fields = {str(each.key): each for each in members(text, member.value)} if is_object else {}
    return LocatedObject(value, lines.span(member.start, member.end), fields, lines)
