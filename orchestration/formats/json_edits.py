"""Values of a JSON text changed in place: all that is not changed keeps its bytes.

State files belong to other programs and to people, who read their diffs; so a change of one value may not
lay the file out anew. What is added looks like what stands beside it: indentation, line ends, the space
behind a colon, objects on one line. A byte order mark is no part of the text here.

A change costs time linear in the text for each level of its path, however many changes there are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from math import isfinite
from typing import Any, NamedTuple

from .json_text import DECODER, MAX_JSON_DEPTH, Member, half_character, members, read_json, skip_space

Path = tuple[str | int, ...]
_Change = tuple[Path, object]

_LINE_END = re.compile(r"\r\n|\n|\r")
_INDENTED = re.compile(r"[\r\n]([ \t]++)[^\s]")
# An escape of a character beyond ASCII, which a writer that keeps such characters would not make.
_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*+\\u(?!00[0-7])[0-9a-fA-F]{4}")


def set_values(text: str, changes: Sequence[_Change]) -> str:
    """The text with each path's value set, one change after the other.

    A text step names a key, a number the item of a list. A key that is there keeps its place (of two equal
    keys the last one counts and is changed), another one comes last in its object; objects on the way are
    made. A value on the way that cannot hold the next step (null, a number, a text, a list without that
    item or asked for a key) is replaced by an object, in which a number is the key of its digits. An empty
    path replaces the whole value.

    A value that is the same already keeps its bytes, and so do the items of a list that grew at its
    end and lost items in front, or that grew in front. NaN and the infinities are written as null.

    Raises ValueError when the text is no JSON object, or when the result could not be read again (nested
    too deep, half a surrogate pair, a number of more than 4300 digits).
    """
    return _apply_changes(text, _object(text), changes)


def merge_values(text: str, updates: Mapping[str, object]) -> str:
    """The text with `updates` merged in at every depth: objects into objects, all else is set.

    null is set, lists are replaced. Layout and errors are those of `set_values`.
    """
    data = _object(text)
    return _apply_changes(text, data, list(_leaves(updates, data, ())))


def create(value: object) -> str:
    """A new document: two blanks a level, a line end at the end. Raises ValueError as `set_values` does."""
    return _encode(_plain(value, 0), _Style("\n", "  ", ": ", False), "") + "\n"


def _object(text: str) -> dict[str, Any]:
    document = read_json(text)
    if isinstance(document.data, dict):
        return document.data
    unread = () if document.readable else document.problems
    raise ValueError(unread[0].message if unread else "the text is no JSON object")


def _leaves(updates: Mapping[str, object], data: Mapping[str, Any], path: Path) -> Iterator[_Change]:
    """The changes by which the updates are merged into the data."""
    for name, value in updates.items():
        below = data.get(name)
        if isinstance(value, Mapping) and isinstance(below, dict):
            yield from _leaves(value, below, (*path, name))
        else:
            yield (*path, name), value


# --- what the changes make of the data

# What was changed below a value, by key or index; None where the value itself was set.
_Touched = dict[Any, Any]


def _apply_changes(text: str, data: dict[str, Any], changes: Sequence[_Change]) -> str:
    # The value stands in a container of its own, so that the empty path is like any other.
    made: dict[str, Any] = {"": DECODER.decode(text)}
    touched: _Touched = {}
    for path, value in changes:
        _set(made, touched, ("", *path), _plain(value, len(path)))
    if not touched:
        return text
    style = _style_of(text)
    at = skip_space(text, 0)
    parts = []
    done = 0
    for edit in sorted(_edits(_ValuePosition(text, style, at, ""), data, made[""], touched[""])):
        parts += text[done : edit.start], edit.text
        done = edit.end
    return "".join((*parts, text[done:]))


def _set(container: Any, touched: _Touched | None, path: Path, value: object) -> None:
    key: Any = path[0]
    for step in path[1:]:
        below = container[key] if isinstance(container, list) else container.get(key)
        is_item = isinstance(below, list) and isinstance(step, int) and 0 <= step < len(below)
        if not is_item and not isinstance(below, dict):
            below = container[key] = {}
        # Below a value that was set as a whole nothing has a place in the text yet.
        touched = touched.setdefault(key, {}) if touched is not None else None
        container = below
        key = step if isinstance(below, list) else str(step)
    container[key] = value
    if touched is not None:
        touched[key] = None


def _plain(value: object, depth: int) -> object:
    """A copy of nothing but what JSON has, to be put `depth` levels deep."""
    nested = isinstance(value, (Mapping, list, tuple))
    if depth + nested > MAX_JSON_DEPTH:
        raise ValueError(f"nested more than {MAX_JSON_DEPTH} levels deep")
    if isinstance(value, Mapping):
        return {_whole(str(name)): _plain(item, depth + 1) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, depth + 1) for item in value]
    if isinstance(value, float) and not isfinite(value):
        return None
    return _whole(value) if isinstance(value, str) else value


def _whole(text: str) -> str:
    problem = half_character(text)
    if problem:
        raise ValueError(problem.message)
    return text


# --- the text


class _Style(NamedTuple):
    """The style of a document. `unit` is one level of indentation."""

    line_end: str
    unit: str
    colon: str
    escaped: bool

    @property
    def comma(self) -> str:
        """The separator of values on one line."""
        return "," if self.colon.endswith(":") else ", "


class _ValuePosition(NamedTuple):
    """Where a value begins. `indent` is that of the line it begins in, None in a container of one line."""

    text: str
    style: _Style
    start: int
    indent: str | None


class _Edit(NamedTuple):
    start: int
    end: int
    text: str


class _Members(NamedTuple):
    """The last member of a container, those that are wanted by key or index, and how all of them stand.

    `gap` is between two of them, `indent` that of each line.
    """

    first: Member
    last: Member
    wanted: dict[Any, Member]
    gap: str
    indent: str | None


def _style_of(text: str) -> _Style:
    start = skip_space(text, 0) + 1
    line_end = _LINE_END.search(text)
    first = next(members(text, start - 1), None)
    colon = _colon(text, first, ": ") if first else ": "
    unit = _indent_in(text[start : first.start]) if first else None
    if unit is None:
        deeper = _INDENTED.search(text)
        unit = deeper[1] if deeper else "  "
    escaped = text.isascii() and _ESCAPE.search(text) is not None
    return _Style(line_end[0] if line_end else "\n", unit, colon, escaped)


def _colon(text: str, member: Member, other: str) -> str:
    colon = text[member.key_end : member.value]
    return other if _LINE_END.search(colon) else colon


def _indent_in(space: str) -> str | None:
    """The indentation behind the last line end in white space; None without a line end."""
    last = _last_line(space)
    return last.lstrip("\r\n") if _LINE_END.match(last) else None


def _last_line(space: str) -> str:
    """White space from its last line end on, so that an empty line between two members is not copied."""
    breaks = [match.start() for match in _LINE_END.finditer(space)]
    return space[breaks[-1] :] if breaks else space


def _members(place: _ValuePosition, wanted: Container[Any]) -> _Members:
    """The members of the container at a place, which has some."""
    text = place.text
    first = before = last = None
    found: dict[Any, Member] = {}
    for index, member in enumerate(members(text, place.start)):
        first, before, last = first or member, last, member
        key = index if member.key is None else member.key
        if key in wanted:
            found[key] = member
    assert first is not None and last is not None
    left, right = "", text[place.start + 1 : first.start]
    if before is not None:
        left, right = text[before.end : last.start].split(",")
    elif not right:
        right = place.style.comma[1:]
    left, right = _last_line(left), _last_line(right)
    indents = (indent for indent in (_indent_in(right), _indent_in(left)) if indent is not None)
    return _Members(first, last, found, f"{left},{right}", next(indents, None))


# --- edits


def _edits(place: _ValuePosition, old: Any, new: Any, touched: _Touched | None) -> Iterator[_Edit]:
    """The edits that make the value `old` at a place the value `new`, which differ only where touched."""
    text, style = place.text, place.style
    if touched is None or type(old) is not type(new) or not old:
        if _exact(old) == _exact(new):
            return
        kept = _matches(old, new)
        if kept:
            yield from _window(place, new, kept)
            return
        end = DECODER.raw_decode(text, place.start)[1]
        indent = None if _on_one_line(text, place.start, end) else place.indent
        yield _Edit(place.start, end, _encode(new, style, indent))
        return
    inside = _members(place, touched)
    for key, member in inside.wanted.items():
        inner = place._replace(start=member.value, indent=inside.indent)
        yield from _edits(inner, old[key], new[key], touched[key])
    colon = _colon(text, inside.last, style.colon)
    added = [
        f"{inside.gap}{_string(name, style)}{colon}{_encode(new[name], style, inside.indent)}"
        for name in touched
        if name not in inside.wanted
    ]
    yield _Edit(inside.last.end, inside.last.end, "".join(added))


class _Match(NamedTuple):
    """`size` items that a list keeps: from `old` to the end of the old one, from `new` on in the new one."""

    old: int
    new: int
    size: int


def _matches(old: Any, new: Any) -> _Match | None:
    """The items of a list that grew at its end or lost items in front, or that grew in front; None otherwise.

    Only the first place where the new list could begin is looked at, so that it stays linear for a list of a
    million equal items.
    """
    if not (isinstance(old, list) and isinstance(new, list) and old and new):
        return None
    before, after = [_exact(item) for item in old], [_exact(item) for item in new]
    count, more = len(before), len(after) - len(before)
    first = next((n for n in range(max(0, -more), count) if before[n] == after[0]), count)
    if first < count and before[first:] == after[: count - first]:
        return _Match(first, 0, count - first)
    return _Match(0, more, count) if more > 0 and before == after[more:] else None


def _window(place: _ValuePosition, new: list[Any], kept: _Match) -> Iterator[_Edit]:
    """The edits of a list that keeps some of its items."""
    first, last, begin, gap, indent = _members(place, (kept.old,))
    one_line = _on_one_line(place.text, last.value, last.end)
    items = [
        _encode(item, place.style, None if one_line else indent)
        for item in (*new[: kept.new], *new[kept.new + kept.size :])
    ]
    ahead, behind = items[: kept.new], items[kept.new :]
    yield _Edit(first.start, begin[kept.old].start, "".join(f"{item}{gap}" for item in ahead))
    yield _Edit(last.end, last.end, "".join(f"{gap}{item}" for item in behind))


def _on_one_line(text: str, start: int, end: int) -> bool:
    """A test for a container with members, all on one line."""
    is_container = text[start] in "{[" and text[skip_space(text, start + 1)] not in "]}"
    return is_container and not _LINE_END.search(text, start, end)


def _exact(value: Any) -> object:
    """A key that is equal only for values that are one in JSON too, where true is not 1 and 1 is not 1.0."""
    is_container = isinstance(value, (dict, list))
    return json.dumps(value, sort_keys=True) if is_container else (type(value), value)


def _string(value: object, style: _Style) -> str:
    return json.dumps(value, ensure_ascii=style.escaped)


def _encode(value: Any, style: _Style, indent: str | None) -> str:
    """A value in a document's style, on one line without an indent."""
    if not isinstance(value, (dict, list)) or not value:
        return _string(value, style)
    inner = None if indent is None else indent + style.unit
    brackets = "{}" if isinstance(value, dict) else "[]"
    if isinstance(value, dict):
        parts = [f"{_string(k, style)}{style.colon}{_encode(v, style, inner)}" for k, v in value.items()]
    else:
        parts = [_encode(item, style, inner) for item in value]
    if inner is None:
        return f"{brackets[0]}{style.comma.join(parts)}{brackets[1]}"
    lead = style.line_end + inner
    return f"{brackets[0]}{lead}{f',{lead}'.join(parts)}{style.line_end}{indent}{brackets[1]}"
