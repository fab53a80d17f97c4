"""Objects of a JSON text with the places of some of their values."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from ...findings import Span
from ...formats.json_text import DECODER, members


class LineIndex:
    """The lines of a part of a text, to tell spans by offsets in it in logarithmic time."""

    def __init__(self, text: str, start: int = 0, end: int | None = None, line: int = 0) -> None:
        end = len(text) if end is None else end
        first = text.rfind("\n", 0, start) + 1
        self._starts = [first, *(match.end() for match in re.compile("\n").finditer(text, start, end))]
        self._line = line

    def below(self, line: int) -> LineIndex:
        """The same lines, counted from one of them."""
        index = LineIndex.__new__(LineIndex)
        index._starts, index._line = self._starts, self._line - line
        return index

    def span(self, start: int, end: int) -> Span:
        """The span of what stands between two offsets; of what has several lines the first one."""
        line = bisect_right(self._starts, start) - 1
        first = self._starts[line]
        after = self._starts[line + 1] - 1 if line + 1 < len(self._starts) else end
        return Span(self._line + line, start - first, self._line + line, min(end, after) - first)


class LocatedObject(NamedTuple):
    """An element of a list: its value, its offsets, and, of an object, those of the values of some keys."""

    value: Any
    lines: LineIndex
    place: tuple[int, int]
    places: Mapping[str, tuple[int, int]]

    @property
    def span(self) -> Span:
        return self.lines.span(*self.place)

    def get(self, key: str) -> Any:
        return self.value.get(key) if isinstance(self.value, dict) else None

    def span_of(self, key: str) -> Span | None:
        place = self.places.get(key)
        return self.lines.span(*place) if place else None


def located_elements(
    text: str, at: int, values: list[Any], lines: LineIndex, keys: tuple[str, ...]
) -> Iterator[LocatedObject]:
    """The elements of the list at an offset of valid JSON; `values` is that list."""
    for value, member in zip(values, members(text, at), strict=True):
        yield located_object(text, (member.start, member.end), value, lines, keys)


def located_object(
    text: str, place: tuple[int, int], value: Any, lines: LineIndex, keys: tuple[str, ...]
) -> LocatedObject:
    """A value between two offsets, with the places of values of some keys; of equal keys the last counts."""
    if not isinstance(value, dict):
        return LocatedObject(value, lines, place, {})
    places = _places_of_unique(text, *place, keys)
    if places is None or any((key in value) is not (key in places) for key in keys):
        every = members(text, place[0])
        places = {str(each.key): (each.value, each.end) for each in every if each.key in keys}
    return LocatedObject(value, lines, place, places)


def _places_of_unique(
    text: str, start: int, end: int, keys: tuple[str, ...]
) -> dict[str, tuple[int, int]] | None:
    """The offsets of the values of keys that stand in an object once, as they are; None if one stands twice.

    Where the object has the key, and it stands in quotes before a colon once, behind no backslash that could
    make it part of another text, that is the key.
    """
    found: dict[str, tuple[int, int]] = {}
    if text.find("\\u", start, end) >= 0:
        # A key may be written in other letters.
        return None
    for match in _key_pattern(keys).finditer(text, start, end):
        key, value = match[1], match.end()
        if key in found:
            return None
        is_plain = match[2] is not None
        found[key] = match.span(2) if is_plain else (value, DECODER.raw_decode(text, value)[1])
    return found


@cache
def _key_pattern(keys: tuple[str, ...]) -> re.Pattern[str]:
    """A key, and its value where that is plain: a text without escapes, a number, a word, an empty list."""
    space = r"[ \t\r\n]*+"
    plain = rf'"[^"\\]*+"|\[{space}\]|[-0-9][-+.eE0-9]*+|true|false|null'
    return re.compile(rf'"(?<!\\")({"|".join(map(re.escape, keys))})"{space}:{space}({plain})?')
