"""A workflow definition as far as it can be told while it is typed: where a place is, which names there are.

A text in the middle of a change is rarely YAML, so only the indentation is looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ....orchestration.definition.schema import STRUCTS, Key, Shape, struct

# Possessive, and never begun in the middle of a word: lines may be very long.
_PLAIN = r"[^:#{}\[\],\"' ]"
_KEY = rf"\"[^\"]*\"|'[^']*'|[\w*./-]{_PLAIN}*+(?:[ ]++{_PLAIN}++)*+"
_ENTRY = re.compile(rf"(?P<dash>(?:-[ ]+)*)(?P<key>{_KEY})[ ]*+:(?=\s|$)")
_FLOW_NAME = re.compile(r"[{}\[\]]|(?<![\w-])([\w-]++)[ ]*+:[ ]")
# A text that is still open, at the begin of a value, goes to the end.
_OPEN_TEXT = r"(?:(?<=: )|(?<=, )|(?<=[\[{])|^ *+)[\"'].*+"
_FLOW_KEY = re.compile(
    rf"\"[^\"]*\"|'[^']*'|{_OPEN_TEXT}|[{{\[]|[}}\]]|,|(?<![\w*.-])([\w*.-]++)[ ]*+:(?=[ ]|$)"
)
_LINE_KEY = re.compile(r"(?<![\w-])([\w-]++)[ ]*+:(?=\s|$)")


class Place(NamedTuple):
    """Where in a definition something stands: the keys above it, the innermost last, "-" for a list's item.

    `shape` is what may stand there, None where that cannot be told.
    """

    path: tuple[str, ...]
    shape: Shape | None


class Named(NamedTuple):
    """A name that a definition gives: what of (`phases`, `artifacts`, …), and where its key stands."""

    group: str
    name: str
    line: int
    column: int


def names_in(lines: Sequence[str]) -> Iterator[Named]:
    """The names given under the top-level keys, in order."""
    group, depth = "", 0
    for number, line in enumerate(lines):
        indent = len(line) - len(line.lstrip(" "))
        match = _ENTRY.match(line, indent)
        if match is None or match["dash"]:
            continue
        key = match["key"].strip("\"'")
        if indent == 0:
            group, depth = key, 0
            yield from _in_flow(line, match.end(), number, group)
        elif group and (not depth or indent == depth):
            depth = indent
            yield Named(group, key, number, match.start("key"))


def _in_flow(line: str, start: int, number: int, group: str) -> Iterator[Named]:
    """The names of a map that is written in one line: `parameters: {rounds: {default: 3}}`."""
    depth = 0
    for match in _FLOW_NAME.finditer(line[start:]):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(match[0], 0)
        if match[1] and depth == 1:
            yield Named(group, match[1], number, start + match.start(1))


def place_at(lines: Sequence[str], line: int, column: int) -> Place:
    """What stands around a place: the keys above it that are indented less, and those of its own line."""
    text = lines[line][:column] if line < len(lines) else ""
    path = _own_keys(text)
    indent = len(text) - len(text.lstrip(" "))
    for above in reversed(lines[:line]):
        depth = len(above) - len(above.lstrip(" "))
        match = _ENTRY.match(above, depth)
        if match is None or depth >= indent or above.lstrip().startswith("#"):
            continue
        # A key with a value behind it has nothing below it; in a list it tells only that this is an item.
        key = [] if above[match.end() :].strip() else [match["key"].strip("\"'")]
        path[:0] = [*(["-"] if match["dash"] else []), *key]
        indent = depth
    return Place(tuple(path), _shape(path))


def _own_keys(text: str) -> list[str]:
    """The keys of the line itself that the place stands below: `- {when: x, to: ` gives ["-", "to"]."""
    found: list[str] = []
    rest = text.lstrip(" ")
    if rest.startswith("-"):
        found.append("-")
        rest = rest.lstrip("- ")
    match = _ENTRY.match(rest)
    if match is None and not rest.startswith(("{", "[")):
        return found
    if match is not None:
        found.append(match["key"].strip("\"'"))
        rest = rest[match.end() :]
    return found + _in_braces(rest)


def _in_braces(text: str) -> list[str]:
    stack: list[list[str]] = []
    for match in _FLOW_KEY.finditer(text):
        token = match[0]
        if token in "{[":
            stack.append(["-"] if token == "[" else [])
        elif token in "}]":
            stack[-1:] = []
        elif token == "," and stack:
            stack[-1] = stack[-1][:1] if stack[-1][:1] == ["-"] else []
        elif match[1] and stack:
            stack[-1] = [*(["-"] if stack[-1][:1] == ["-"] else []), match[1]]
    return [key for level in stack for key in level]


def _shape(path: Sequence[str]) -> Shape | None:
    """What may stand at a path: the shapes of `STRUCTS`, followed."""
    shape: Shape | None = struct("definition")
    for step in path:
        shape = _below(shape, step)
    return shape


def _below(shape: Shape | None, step: str) -> Shape | None:
    if shape is None:
        return None
    if shape.kind == "struct":
        key = STRUCTS[shape.name].get(step)
        return key.shape if key else None
    if shape.kind in ("list", "some"):
        return shape.of if step == "-" else _below(shape.of, step)
    if shape.kind == "either":
        return _below(shape.other, step)
    return shape.of if shape.kind == "map" else None


def keys_at(shape: Shape | None) -> dict[str, Key]:
    """The keys that a map of that shape may have."""
    if shape is None:
        return {}
    if shape.kind == "struct":
        return STRUCTS[shape.name]
    if shape.kind == "some":
        return keys_at(shape.of)
    return keys_at(shape.other) if shape.kind == "either" else {}


def key_about(lines: Sequence[str], line: int, column: int) -> tuple[tuple[int, int], str] | None:
    """((start, end), what it means) of the key at a place."""
    text = lines[line].rstrip("\r") if line < len(lines) else ""
    for match in _LINE_KEY.finditer(text):
        if match.start(1) <= column <= match.end(1):
            shape = _shape(place_at(lines, line, match.end()).path[:-1])
            key = keys_at(shape).get(match[1])
            return ((match.start(1), match.end(1)), key.about) if key else None
    return None
