"""Completion in workflow definitions: keys, words and names, by where the cursor is."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ....orchestration.definition.artifact_kinds import KINDS_AND_DIALECTS
from ....orchestration.definition.schema import Shape
from ....orchestration.markdown.block_outline import split_lines
from ...workspace.definitions import built_in_sources
from . import reference_docs as words
from .declared_names import KIND, Given, Items, item
from .expression_completion import in_expression
from .partial_yaml import keys_at, place_at

# Possessive, and never begun in the middle of a word: lines may be very long.
_KEY_BEFORE = re.compile(r"(?<![\w-])[\w-]*+$")


_NEEDED = {True: "; it is needed", False: ""}


def in_definition(source: str, line: int, column: int) -> Items:
    """What may stand at a place of a definition: keys, where one begins, else values."""
    lines = split_lines(source)
    path, shape = place_at(lines, line, column)
    text = lines[line][:column] if line < len(lines) else ""
    keys = keys_at(shape)
    if keys and begins_key(text):
        return [
            item(
                name,
                KIND.Property,
                key.about,
                f"{name}: ",
                holds + ("; it is needed" if key.required else ""),
            )
            for name, key in keys.items()
            for holds in (words.holds(key.shape),)
        ]
    if shape is not None and shape.kind in ("list", "some", "either") and shape.of and not keys:
        shape = shape.of
    return _values(shape, path, Given(lines), text) if shape else ()


def begins_key(text: str) -> bool:
    """Whether the word before a place is the first of its line, list item or map entry."""
    match = _KEY_BEFORE.search(text)
    before = text[: match.start() if match else None].rstrip()
    return not before or before[-1] in "{,-"


def _values(shape: Shape, path: tuple[str, ...], given: Given, text: str) -> Items:
    if shape.kind == "word":
        meaning = {**_MEANING, **{word: kind.about for word, kind in KINDS_AND_DIALECTS.items()}}
        return [item(word, KIND.EnumMember, about=meaning.get(word, "")) for word in shape.words]
    if shape.kind == "bool":
        return [
            item("true", KIND.Keyword, about="it is so"),
            item("false", KIND.Keyword, about="as without it"),
        ]
    value = _value(path, text)
    if shape.kind == "cel":
        return list(in_expression(given, value))
    if shape.kind == "template" and (inside := _in_braces(value)) is not None:
        return list(in_expression(given, inside))
    return list(_names(given, path, begins_key(text)))


def _value(path: tuple[str, ...], text: str) -> str:
    """The value that a place is in, as far as it is on the line, without the quote that it begins with."""
    key = next((step for step in reversed(path) if step != "-"), "")
    value = text.rpartition(f"{key}:")[2].lstrip()
    return value[1:] if value[:1] in ("'", '"') else value


def _in_braces(value: str) -> str | None:
    """The expression of a template that a place is in, from its brace on; None outside of one."""
    depth = start = 0
    for at, char in enumerate(value):
        if char == "{":
            depth += 1
            start = at + 1 if depth == 1 else start
        elif char == "}":
            depth = max(0, depth - 1)
    return value[start:] if depth else None


_MEANING: Mapping[str, str] = {
    "fold": "a.b is read as b in a",
    "complete": "it is done", "failed": "it is given up", "exited": "its user ended it",
    "blocked": "nothing can go on", "invalid": "nothing can be said of it",
    "escalation": "it stops all reports until it is answered", "approval": "it is waited for",
    "person": "a person does something", "job": "something is running",
}  # fmt: skip


# ---- names ------------------------------------------------------------------------------------

_GROUPS = {
    "to": ("phases",), "is": ("phases",), "after": ("phases",), "leads_to": ("phases",), "read": ("phases",),
    "aliases": ("phases",), "action_aliases": ("actions",),
    "allowed": ("phases", "actions"), "forbidden": ("phases", "actions"),
    "produces": ("artifacts",), "of": ("artifacts",), "about": ("artifacts",), "artifact": ("artifacts",),
    "ask": ("questions",), "act": ("actions",), "effects": ("phases", "actions"),
}  # fmt: skip
_FURTHER: Mapping[str, tuple[tuple[str, str], ...]] = {
    "to": (("next", "the next phase in order"),),
    "agent": (("person", "a person does it, and is waited for"),),
    "forbidden": (("*", "everything that is not allowed"), ("complete", "to call the run complete")),
    "effects": tuple(words.EVENTS.items()),
    "require": tuple(words.TYPES.items()),
}


def _names(given: Given, path: tuple[str, ...], is_key: bool) -> Items:
    """The names of the definition that a key holds, and the words that have a meaning there."""
    steps = [step for step in path if step != "-"]
    key = steps[-1] if steps else ""
    # Of a map whose names are free the key above says what they are, or what they lead to.
    if len(steps) > 1 and steps[-2] in ("aliases", "action_aliases", "require"):
        key = steps[-2]
    if key in ("forbidden", "effects", "read") and not is_key:
        return
    if key == "extend":
        yield from (item(name, KIND.Reference, "built-in workflow") for name in built_in_sources())
    yield from given.items(*_GROUPS.get(key, ()))
    yield from (item(word, KIND.Keyword, about=about) for word, about in _FURTHER.get(key, ()))
