"""Completion in workflow definitions and configurations: keys, words and names, by where the cursor is."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ....orchestration.definition.artifact_kinds import KINDS_AND_DIALECTS
from ....orchestration.definition.shapes import Key, Shape
from ....orchestration.markdown.block_outline import split_lines
from ...workspace.definitions import built_in_sources
from . import reference_docs as words
from .declared_names import KIND, DeclaredNames, Items, item, items_of
from .expression_completion import in_expression
from .partial_yaml import CONFIGURATION, keys_of, path_at, shape_at

# Possessive, and never begun in the middle of a word: lines may be very long.
_KEY_BEFORE = re.compile(r"(?<![\w-])[\w-]*+$")


def in_definition(source: str, line: int, column: int) -> Items:
    """The keys that may stand at a place of a definition, where one begins; else the values."""
    lines = split_lines(source)
    path = path_at(lines, line, column)
    shape = shape_at(path)
    text = lines[line][:column] if line < len(lines) else ""
    keys = keys_of(shape)
    if keys and begins_key(text):
        return _keys(keys)
    if shape is not None and shape.kind in ("list", "some", "either") and shape.of and not keys:
        shape = shape.of
    return _values(shape, path, DeclaredNames(lines), text) if shape else ()


def in_configuration(source: str, line: int, column: int) -> Items:
    """The keys that may stand at a place of `.phasekeeper/config.yaml`, and the names of workflows."""
    lines = split_lines(source)
    path = path_at(lines, line, column)
    text = lines[line][:column] if line < len(lines) else ""
    keys = keys_of(shape_at(path, CONFIGURATION))
    if keys:
        return _keys(keys) if begins_key(text) else ()
    names_workflow = path == ("parameters",) if begins_key(text) else path[:1] == ("workflows",) != path
    return _built_ins() if names_workflow else ()


def _keys(keys: Mapping[str, Key]) -> Items:
    needed = {True: "; it is needed", False: ""}
    return [
        item(name, KIND.Property, key.about, f"{name}: ", words.holds(key.shape) + needed[key.required])
        for name, key in keys.items()
    ]


def _built_ins() -> Items:
    return (item(name, KIND.Reference, "built-in workflow") for name in built_in_sources())


def begins_key(text: str) -> bool:
    """True where the word before a place is the first of its line, list item or map entry."""
    match = _KEY_BEFORE.search(text)
    before = text[: match.start() if match else None].rstrip()
    return not before or before[-1] in "{,-"


def _values(shape: Shape, path: tuple[str, ...], declared: DeclaredNames, text: str) -> Items:
    if shape.kind == "word":
        meaning = {**_MEANING, **{word: kind.about for word, kind in KINDS_AND_DIALECTS.items()}}
        return items_of({word: meaning.get(word, "") for word in shape.words})
    if shape.kind == "bool":
        return items_of({"true": "it is so", "false": "as without it"}, KIND.Keyword)
    # The value as far as it is on the line, without the quote that it begins with.
    key = next((step for step in reversed(path) if step != "-"), "")
    value = text.rpartition(f"{key}:")[2].lstrip()
    value = value[1:] if value[:1] in ("'", '"') else value
    if shape.kind == "cel":
        return in_expression(declared, value)
    if shape.kind == "template" and (inside := _in_braces(value)) is not None:
        return in_expression(declared, inside)
    return _names(declared, path, begins_key(text))


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
    "any": "any of its elements", "first": "the first of its elements",
    "run": "in the folder of the run", "root": "below .phasekeeper/runs of the root",
    "checks": "checks that the root declares",
    "folder": "a folder: it is a run, or a run has its name", "file": "a file is a run, or its parts are",
    "plan": "as its plan, its state or its start says",
    "open": "it may do all", "closed": "it may do nothing that it asks for",
    "ids": "ids and states alone", "full": "titles, reasons and questions too",
}  # fmt: skip


# ---- names ------------------------------------------------------------------------------------

_GROUPS = {
    "to": ("phases",), "is": ("phases",), "after": ("phases",), "leads_to": ("phases",), "read": ("phases",),
    "aliases": ("phases",), "action_aliases": ("actions",),
    "allowed": ("phases", "actions"), "forbidden": ("phases", "actions"),
    "produces": ("artifacts",), "of": ("artifacts",), "about": ("artifacts",), "artifact": ("artifacts",),
    "ask": ("questions",), "act": ("actions",), "effects": ("phases", "actions"),
}  # fmt: skip
_FURTHER: Mapping[str, Mapping[str, str]] = {
    "to": {"next": "the next phase in order"},
    "agent": {"person": "a person does it, and is waited for"},
    "forbidden": {"*": "everything that is not allowed", "complete": "to call the run complete"},
    "effects": words.EVENTS,
    "require": words.TYPES,
}


def _names(declared: DeclaredNames, path: tuple[str, ...], is_key: bool) -> Items:
    """The names of the definition that a key holds, and the words that have a meaning there."""
    steps = ["", "", *(step for step in path if step != "-")]
    # Of a map whose names are free the key above says what they are, or what they lead to.
    key = steps[-2] if steps[-2] in ("aliases", "action_aliases", "require") else steps[-1]
    if key in ("forbidden", "effects", "read") and not is_key:
        return
    if key == "extend":
        yield from _built_ins()
    yield from declared.items(*_GROUPS.get(key, ()))
    yield from items_of(_FURTHER.get(key, {}), KIND.Keyword)
