"""Objects of a JSON text with the places of some of their values."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from json.decoder import scanstring  # pyright: ignore[reportAttributeAccessIssue]
from typing import Any, NamedTuple

from ...findings import Span
from ...formats.json_text import DECODER, members, skip_space


class LineIndex:
    """The lines of a part of a text, to tell spans by offsets in it in logarithmic time."""

    def __init__(self, text: str, start: int = 0, end: int | None = None, line: int = 0) -> None:
        end = len(text) if end is None else end
        first = text.rfind("\n", 0, start) + 1
        self._starts = [first, *(match.end() for match in re.compile("\n").finditer(text, start, end))]
        self._line = line

    def span(self, start: int, end: int) -> Span:
        """The span of what stands between two offsets; of what has several lines the first one."""
        line = bisect_right(self._starts, start) - 1
        first = self._starts[line]
        after = self._starts[line + 1] - 1 if line + 1 < len(self._starts) else end
        return Span(self._line + line, start - first, self._line + line, min(end, after) - first)


class LocatedObject(NamedTuple):
    """An element of a list: its value, its place, and, of an object, where values of keys stand.

    `lists` has the offsets of those that are lists.
    """

    value: Any
    span: Span
    places: Mapping[str, Span]
    lists: Mapping[str, int]

    def get(self, key: str) -> Any:
        return self.value.get(key) if isinstance(self.value, dict) else None

    def span_of(self, key: str) -> Span | None:
        return self.places.get(key)


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
    span = lines.span(*place)
    if not isinstance(value, dict):
        return LocatedObject(value, span, {}, {})
    wanted = [key for key in keys if key in value]
    found = _places_of_unique(text, *place, wanted)
    if found is None:
        every = members(text, place[0])
        found = {str(each.key): (each.value, each.end) for each in every if each.key in wanted}
    places = {key: lines.span(*found[key]) for key in wanted}
    return LocatedObject(value, span, places, {k: found[k][0] for k in wanted if isinstance(value[k], list)})


def _places_of_unique(text: str, start: int, end: int, keys: list[str]) -> dict[str, tuple[int, int]] | None:
    """The offsets of the values of keys that stand in an object once, as they are; None if one does not.

    Where the object has the key, and its letters stand in quotes once, behind no backslash that could make
    them part of another text, they are the key.
    """
    found: dict[str, tuple[int, int]] = {}
    if text.find("\\u", start, end) >= 0:
        # A key may be written in other letters.
        return None
    for key in keys:
        quoted = f'"{key}"'
        at = text.find(quoted, start, end)
        if at < 0 or text.find(quoted, at + 1, end) >= 0 or text[at - 1] == "\\":
            return None
        colon = skip_space(text, at + len(quoted))
        if text[colon] != ":":
            return None
        value = skip_space(text, colon + 1)
        if text[value] == '"':
            found[key] = value, scanstring(text, value + 1)[1]
        else:
            found[key] = value, DECODER.raw_decode(text, value)[1]
    return found
