"""A definition or configuration as far as it can be told while it is typed: where a place is, which keys.

A text in the middle of a change is rarely YAML, so only the indentation and what is in braces is looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ....orchestration.definition import root_config
from ....orchestration.definition.model import STRUCTS
from ....orchestration.definition.shapes import Key, Shape, struct
from ....orchestration.findings import Span

GRAMMAR = {**STRUCTS, **root_config.STRUCTS}
DEFINITION, CONFIGURATION = struct("definition"), struct("configuration")
"""The two kinds of files."""
MOST_DEPTH = 12
"""Keys below so many others are looked at by nobody."""
# Possessive, and never begun in the middle of a word: lines may be very long.
_PLAIN = r"[^:#{}\[\],\"' ]"
_KEY = rf"\"[^\"]*\"|'[^']*'|[\w*./-]{_PLAIN}*+(?:[ ]++{_PLAIN}++)*+"
_ENTRY = re.compile(rf"(?P<dash>(?:-[ ]++)*+)(?P<key>{_KEY})[ ]*+:(?=\s|$)")
# A text that is still open, at the begin of a value, goes to the end.
_OPEN_TEXT = r"(?:(?<=: )|(?<=, )|(?<=[\[{])|^ *+)[\"'].*+"
_FLOW_KEY = re.compile(
    rf"\"[^\"]*\"|'[^']*'|{_OPEN_TEXT}|[{{\[]|[}}\]]|,|(?<![\w*.-])([\w*.-]++)[ ]*+:(?=[ ]|$)"
)
_FLOW_VALUE = re.compile(r" *+(\"[^\"]{0,400}+|'[^']{0,400}+|\[[^\]]{0,400}+|[^,{}]{0,400}+)")


class DefinitionKey(NamedTuple):
    """A key of a definition: the keys above it and itself, "-" for a list's item; the value on its line."""

    path: tuple[str, ...]
    line: int
    column: int
    value: str

    @property
    def name(self) -> str:
        return self.path[-1]

    @property
    def span(self) -> Span:
        return Span(self.line, self.column, self.line, self.column + len(self.name))


def names_in(lines: Sequence[str]) -> Iterator[DefinitionKey]:
    """The names given under the top-level keys, in order: phases, artifacts, …"""
    return (key for key in keys_in(lines) if len(key.path) == 2)


def keys_in(lines: Sequence[str]) -> Iterator[DefinitionKey]:
    """Every key, in order."""
    return (key for keys, _ in _outline(lines) for key in keys)


def path_at(lines: Sequence[str], line: int, column: int) -> tuple[str, ...]:
    """The keys that a place stands below: those above it, indented less, and those of its own line."""
    own = lines[line][:column] if line < len(lines) else ""
    *_, (_, path) = _outline([*lines[:line], own])
    return path


def _outline(lines: Sequence[str]) -> Iterator[tuple[list[DefinitionKey], tuple[str, ...]]]:
    """(the keys of a line, the path that its end stands below), for each line."""
    # The lines that others stand below: their indentation, and the keys that each adds to the path.
    above: list[tuple[int, list[str]]] = []
    for number, line in enumerate(lines):
        indent = len(line) - len(line.lstrip(" "))
        outer = [each for each in above if each[0] < indent]
        path = [key for _, keys in outer for key in keys]
        keys: list[DefinitionKey] = []
        dash = ["-"] if line.startswith("-", indent) else []
        start = len(line) - len(line[indent:].lstrip("- ")) if dash else indent
        path += dash
        if match := _ENTRY.match(line, indent):
            name, start = match["key"].strip("\"'"), match.end()
            value = line[start:].partition(" #")[0].strip()
            path.append(name)
            keys.append(DefinitionKey(tuple(path), number, match.start("key"), value.strip("\"'")))
            # A key with a value behind it has nothing below it; in a list it tells only that this is an item.
            above = [*outer, (indent, dash if value else [*dash, name])]
        if match or line.startswith(("{", "["), start):
            path += _flow_keys(line, start, number, path, keys)
        yield keys, tuple(path)


def _flow_keys(
    line: str, start: int, number: int, above: Sequence[str], keys: list[DefinitionKey]
) -> list[str]:
    """The keys that the end of a line in flow style stands below; all of its keys are added to `keys`."""
    # Of each brace that is open the key before the place, of a bracket "-" too.
    levels: list[list[str]] = []
    for match in _FLOW_KEY.finditer(line[start:]):
        token = match[0]
        if token in "{[":
            levels.append(["-"] if token == "[" else [])
        elif token in "}]":
            levels[-1:] = []
        elif levels and (token == "," or match[1]):
            item = ["-"] if levels[-1][:1] == ["-"] else []
            levels[-1] = [*item, match[1]] if match[1] else item
            if match[1] and len(levels) <= MOST_DEPTH:
                path = (*above, *(key for level in levels for key in level))
                value = _FLOW_VALUE.match(line, start + match.end())
                text = value[1].strip(" '\"[]") if value else ""
                keys.append(DefinitionKey(path, number, start + match.start(1), text))
    return [key for level in levels for key in level]


def shape_at(path: Sequence[str], top: Shape = DEFINITION) -> Shape | None:
    """The shape of what may stand at a path in a kind of file; None where that cannot be told."""
    shape: Shape | None = top
    for step in path:
        if shape and shape.kind == "either":
            shape = shape.other
        if shape and shape.kind in ("list", "some"):
            shape = shape.of
            if step == "-":
                continue
        if shape and shape.kind == "struct":
            key = GRAMMAR[shape.name].get(step)
            shape = key.shape if key else None
        else:
            shape = shape.of if shape and shape.kind == "map" else None
    return shape


def keys_of(shape: Shape | None) -> dict[str, Key]:
    """The keys that a map of that shape may have."""
    while shape and shape.kind in ("some", "either"):
        shape = shape.of if shape.kind == "some" else shape.other
    return GRAMMAR[shape.name] if shape and shape.kind == "struct" else {}


def key_about(
    lines: Sequence[str], line: int, column: int, top: Shape = DEFINITION
) -> tuple[Span, str] | None:
    """(its span, what it means) of the key at a place."""
    for key in keys_in(lines[: line + 1]):
        if key.line == line and key.column <= column <= key.span.end_column:
            known = keys_of(shape_at(key.path[:-1], top)).get(key.name)
            return (key.span, known.about) if known else None
    return None
