"""Lists of objects in a JSON text, with the places of their elements; a later text is read by what differs.

An element that stands in both texts is taken over with its value: a text of megabytes with another word in it
costs a comparison of its characters. What follows from the grammar of JSON makes that exact: behind an
object in a list, whatever was read before it, the same characters say the same.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Sequence
from itertools import pairwise
from json.decoder import JSONDecoder, scanstring  # pyright: ignore[reportAttributeAccessIssue]
from typing import Any, NamedTuple

from .json_text import (
    DECODER,
    MAX_JSON_DEPTH,
    ParsedText,
    half_character,
    half_escape,
    read_json,
    refuse_constant,
    skip_space,
)

MOST_NEW_ELEMENTS = 1_000
"""With more of them a text is read as a whole, which is then no slower."""
_FIRST_CHUNK, _LARGEST_CHUNK = 256, 1 << 16
Path = tuple[str, ...]


class ListText(NamedTuple):
    """A list in a text: the way to it, the offsets of its key (start, end) and of what its brackets enclose.

    Of each element `places` has the offsets (start, end), `lines` the line, `columns` the column that it
    begins in, `values` the value.
    """

    path: Path
    key: tuple[int, int]
    opening: int
    closing: int
    places: Sequence[tuple[int, int]]
    lines: Sequence[int]
    columns: Sequence[int]
    values: Sequence[Any]


class ListDocument(NamedTuple):
    """A text, its value, and the lists in it that were looked for, in the order of the text."""

    text: str
    document: ParsedText
    lists: tuple[ListText, ...] = ()


PathsOf = Callable[[Any], Collection[Path]]
"""The ways to the lists that are looked for in a value."""


def read_lists(text: str, paths_of: PathsOf, before: ListDocument | None = None) -> ListDocument:
    """The value of a text, with its lists; sooner where a like text was read before. Never raises."""
    if before is not None and before.lists and not before.document.problems:
        again = _read_again(text, paths_of, before)
        if again is not None:
            return again
    document = read_json(text)
    paths = frozenset(paths_of(document.data)) if document.readable else frozenset[Path]()
    if not paths:
        return ListDocument(text, document)
    found: dict[Path, Any] = {}
    _locate(text, skip_space(text, 0), (), paths, found)
    lists = (
        ListText(
            path,
            key,
            opening,
            closing,
            places,
            *_lines_and_columns(text, places),
            _value_at(document.data, path),
        )
        for path, (key, opening, closing, places) in found.items()
    )
    return ListDocument(text, document, tuple(sorted(lists, key=lambda each: each.opening)))


def _value_at(data: Any, path: Path) -> Any:
    for name in path:
        data = data[name]
    return data


def _locate(text: str, at: int, path: Path, paths: Collection[Path], found: dict[Path, Any]) -> int:
    """Find the lists below the object at an offset of valid JSON. Gives the offset behind the object."""
    at = skip_space(text, at + 1)
    while text[at] != "}":
        key, key_end = scanstring(text, at + 1)
        inner = (*path, key)
        value = skip_space(text, skip_space(text, key_end) + 1)
        if inner in paths and text[value] == "[":
            places, closing = _element_places(text, value + 1)
            found[inner] = ((at, key_end), value + 1, closing, places)
            end = closing + 1
        elif text[value] == "{" and any(each[: len(inner)] == inner for each in paths):
            end = _locate(text, value, inner, paths, found)
        else:
            end = DECODER.raw_decode(text, value)[1]
        at = skip_space(text, end)
        if text[at] == ",":
            at = skip_space(text, at + 1)
    return at + 1


def _element_places(text: str, at: int) -> tuple[list[tuple[int, int]], int]:
    """The offsets of the elements of a list, and of the bracket behind them."""
    places: list[tuple[int, int]] = []
    at = skip_space(text, at)
    while text[at] != "]":
        end = DECODER.raw_decode(text, at)[1]
        places.append((at, end))
        at = skip_space(text, end)
        if text[at] == ",":
            at = skip_space(text, at + 1)
    return places, at


def _lines_and_columns(text: str, places: Sequence[tuple[int, int]]) -> tuple[list[int], list[int]]:
    lines: list[int] = []
    columns: list[int] = []
    line = line_start = at = 0
    for start, _ in places:
        if breaks := text.count("\n", at, start):
            line += breaks
            line_start = text.rfind("\n", at, start) + 1
        lines.append(line)
        columns.append(start - line_start)
        at = start
    return lines, columns


# ---- again


class _NotAlikeError(Exception):
    """The texts differ in another way than by some elements: the new one is read as a whole."""


def _read_again(text: str, paths_of: PathsOf, before: ListDocument) -> ListDocument | None:
    lists: list[ListText] = []
    # The text with nothing in its lists says whether the rest of it is valid.
    rest = [before.text[: before.lists[0].opening]]
    try:
        if not text.startswith(rest[0]):
            return None
        shift = line_shift = 0
        for each, after in pairwise((*before.lists, None)):
            assert each
            lists.append(_elements_again(text, before.text, each, shift, line_shift))
            closing = lists[-1].closing
            shift = closing - each.closing
            if after is None:
                rest.append(text[closing:])
                break
            gap = before.text[each.closing : after.opening]
            if not text.startswith(gap, closing):
                return None
            line_shift = text.count("\n", 0, closing) - before.text.count("\n", 0, each.closing)
            rest.append(gap)
    except (_NotAlikeError, ValueError, RecursionError, IndexError):
        return None
    around = read_json("".join(rest))
    if not around.readable or around.problems:
        return None
    for each in lists:
        _value_at(around.data, each.path[:-1])[each.path[-1]] = each.values
    if {*paths_of(around.data)} != {each.path for each in lists}:
        return None
    return ListDocument(text, around, tuple(lists))


def _elements_again(text: str, old: str, each: ListText, shift: int, line_shift: int) -> ListText:
    """The list in the new text. Raises _NotAlikeError or what the decoder does."""
    if not {*map(type, each.values)} <= {dict}:
        # A number may go on where the texts differ.
        raise _NotAlikeError
    ends = [end for _, end in each.places]
    places: list[tuple[int, int]] = []
    lines: list[int] = []
    columns: list[int] = []
    values: list[Any] = []
    number, old_at, at = 0, each.opening, each.opening + shift
    fresh = 0
    while True:
        same = bisect_right(ends, old_at + common_length(old, old_at, text, at), number)
        if same > number:
            moved = at - old_at
            kept = each.places[number:same]
            places += [(start + moved, end + moved) for start, end in kept] if moved else kept
            kept_lines = each.lines[number:same]
            lines += [line + line_shift for line in kept_lines] if line_shift else kept_lines
            columns += _columns_again(text, at, places[len(columns) :], each.columns[number:same])
            values += each.values[number:same]
            number, old_at = same, ends[same - 1]
            at = old_at + moved
        start = _next_element(text, at, is_first=not values)
        if text[start] == "]":
            break
        value, end = _decode(text, start)
        if (fresh := fresh + 1) > MOST_NEW_ELEMENTS:
            raise _NotAlikeError
        line = (lines[-1] + text.count("\n", places[-1][0], start)) if lines else text.count("\n", 0, start)
        places.append((start, end))
        lines.append(line)
        columns.append(start - text.rfind("\n", 0, start) - 1)
        values.append(value)
        if number < len(ends):
            line_shift += text.count("\n", at, end) - old.count("\n", old_at, ends[number])
            old_at = ends[number]
            number += 1
        at = end
    return ListText(
        each.path,
        (each.key[0] + shift, each.key[1] + shift),
        each.opening + shift,
        start,
        places,
        lines,
        columns,
        values,
    )


def _columns_again(
    text: str, at: int, places: Sequence[tuple[int, int]], columns: Sequence[int]
) -> Sequence[int]:
    """The columns of elements that stand behind an offset as they did: in its line alone they may differ."""
    break_at = text.find("\n", at)
    moved = len(places) if break_at < 0 else bisect_left(places, (break_at,))
    if not moved:
        return columns
    line_start = text.rfind("\n", 0, at) + 1
    return [*(start - line_start for start, _ in places[:moved]), *columns[moved:]]


def common_length(one: str, at: int, other: str, there: int) -> int:
    """The number of characters that two texts have in common from two offsets on."""
    most = min(len(one) - at, len(other) - there)
    same, chunk = 0, _FIRST_CHUNK
    while same < most and one[at + same : at + same + chunk] == other[there + same : there + same + chunk]:
        same += chunk
        chunk = min(chunk * 4, _LARGEST_CHUNK)
    # They differ within the chunk, or it reaches over an end.
    while chunk > 1 and same < most:
        chunk //= 2
        if one[at + same : at + same + chunk] == other[there + same : there + same + chunk]:
            same += chunk
    return min(same, most)


def _next_element(text: str, at: int, is_first: bool) -> int:
    """The offset of the next element, or of the bracket that ends the list."""
    at = skip_space(text, at)
    if text[at] == "]" or is_first:
        return at
    if text[at] != ",":
        raise _NotAlikeError
    at = skip_space(text, at + 1)
    if text[at] == "]":
        raise _NotAlikeError
    return at


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    built = dict(pairs)
    if len(built) != len(pairs):
        raise _NotAlikeError
    return built


_STRICT = JSONDecoder(object_pairs_hook=_unique_keys, parse_constant=refuse_constant)


def _decode(text: str, start: int) -> tuple[Any, int]:
    """The object at an offset, and where it ends; one that asks for a second look is none."""
    if text[start] != "{":
        raise _NotAlikeError
    value, end = _STRICT.raw_decode(text, start)
    piece = text[start:end]
    is_deep = piece.count("[") + piece.count("{") > MAX_JSON_DEPTH // 2
    if is_deep or half_escape(piece) or half_character(piece):
        raise _NotAlikeError
    return value, end
