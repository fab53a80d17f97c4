"""Answers to assistants: text for a model to read, and the same as data, both within their sizes.

An answer is made from its head downwards, the most important first; what does not fit any more is left out,
and that is told. Text from files is quoted and shown through `display`, so that it is read as data.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from ...orchestration.findings import Evidence
from ...orchestration.result.values import CheckSummary, as_json, json_fields
from ...orchestration.sanitize import plain
from ..check_words import check_command, check_words
from .tool_names import as_tools, plain_tools

TEXT_LIMIT = 2_000
"""Characters of an answer's text (design, section 7)."""
DATA_LIMIT = 4_000
"""Characters of an answer's data as JSON (design, section 7)."""
_TEXT_RESERVE, _DATA_RESERVE = 160, 400
_CHANGED = 3


class Answer(NamedTuple):
    """The answer of an operation. `data` holds `root`, and `run` and `revision` where it is about one."""

    text: str
    data: dict[str, Any]


class AnswerBuilder:
    """An answer in the making. Nothing is ever cut in the middle: a value and its lines fit whole or not."""

    def __init__(self, head: Mapping[str, Any], *lines: str) -> None:
        self._data: dict[str, Any] = dict(head)
        self._lines = list(lines)
        self._left_out: list[str] = []
        self._text_room = TEXT_LIMIT - _TEXT_RESERVE - sum(len(line) + 1 for line in lines)
        self._data_room = DATA_LIMIT - _DATA_RESERVE - size(self._data)

    def say(self, *lines: str, cost: int = 0) -> bool:
        """Take lines, and `cost` characters of data with them, where both fit; whether they do."""
        length = sum(len(line) + 1 for line in lines if line)
        if cost > self._data_room or length > self._text_room:
            return False
        self._data_room -= cost
        self._text_room -= length
        self._lines += filter(None, lines)
        return True

    def caution(self, line: str) -> None:
        """A line that no value says, which is data as well: some assistants hand on data alone."""
        if self.say(line, cost=size(line) + 12):
            self._data.setdefault("words", []).append(line)

    def put(self, name: str, value: Any, *lines: str) -> None:
        """A value under a dotted name, and its lines where they fit; a value that does not is noted."""
        if not self.has_room(name, value):
            self._left_out.append(name)
        else:
            self._data_room -= size(value) + len(name) + 10
            self._place(name, value)
            self.say(*lines)

    def has_room(self, name: str, value: Any) -> bool:
        """True if `put` would take the value."""
        return size(value) + len(name) + 10 <= self._data_room

    def fill(self, name: str, items: Iterable[tuple[Any, str]], start: int = 0, total: int = 0) -> None:
        """As many items as fit, each with its line. Where some of `total` are left, `next` says at which one
        the next page starts; a page that begins behind the last one says so."""
        taken: list[Any] = []
        for item, line in items:
            if not self.say(line, cost=size(item) + 1 + (0 if taken else len(name) + 6)):
                break
            taken.append(item)
        left = start + len(taken)
        if not taken and start < total:
            # What fits under no head is passed over, and named: the next page begins behind it.
            self._left_out.append(f"{name}[{start}]")
            left += 1
        self._place(name, taken)
        if start >= total > 0:
            self.put("note", note := f"start={start} is beyond the end: there are {total}; begin at 0", note)
        elif left < total:
            self._data |= {"next": left, "total": total}

    def answer(self) -> Answer:
        """The answer as it is now."""
        if self._left_out:
            self._data["leftOut"] = self._left_out[:10]
        if "next" in self._data:
            shown, total = self._data["next"], self._data["total"]
            self._lines.append(f"{total - shown} more of {total}: ask again with start={shown}")
        return Answer("\n".join(self._lines), self._data)

    def _place(self, name: str, value: Any) -> None:
        *above, last = name.split(".")
        at = self._data
        for part in above:
            at = at.setdefault(part, {})
        at[last] = value


def size(value: Any) -> int:
    """Characters of a value as JSON."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


Shape = int | tuple[int, "Shape"] | Mapping[str, "Shape"] | Callable[[Any], Any]
"""The part of a value that an answer shows: so many characters of a text (0: all; what is no text stays),
so many items of a list and the shape of each, some attributes and the shape of each, or a function of it.
"""


def excerpt(value: Any, shape: Shape) -> Any:
    """A value of the evaluation as data, as much of it as the shape says, under the names of its JSON."""
    if callable(shape):
        return shape(value)
    if isinstance(shape, tuple):
        return [excerpt(each, shape[1]) for each in value[: shape[0]]]
    if isinstance(shape, int):
        return plain(value, shape) if shape and isinstance(value, str) else value
    keys = json_fields(type(value))
    return {keys[name]: excerpt(getattr(value, name), inner) for name, inner in shape.items()}


def optional(text: str | None, limit: int) -> str | None:
    """Text from a file, safe to show; None where there is none."""
    return plain(text, limit) if text else None


def evidence_data(entry: Evidence, path: int = 160, expression: int = 80, value: int = 80) -> dict[str, Any]:
    """A piece of evidence as data, its members within so many characters; lines count from 1."""
    texts = {"path": optional(entry.path, path), "expression": plain(entry.expression, expression)}
    return {**as_json(entry), **texts, "value": shrunk(entry.value, value)}


def check_data(check: CheckSummary) -> dict[str, Any]:
    """A check as data; lines count from 1."""
    whole = as_json(check)
    changed = [{**each, "path": plain(each["path"], 160)} for each in whole["changed"][:_CHANGED]]
    texts = {"name": plain(check.name, 60), "reason": plain_tools(check.reason, 240), "changed": changed}
    data = {key: each for key, each in whole.items() if key not in ("phrase", "column")}
    return {**data, **texts, "path": optional(check.path, 160), "command": check_command(check)}


def check_lines(checks: Iterable[CheckSummary]) -> Iterator[str]:
    """A line for each check: its result with its age, why, and what a person types where that helps."""
    for check in checks:
        at = f"; declared at {plain(check.path or '', 160)}:{check.span.line + 1}" if check.span else ""
        command = check_command(check)
        yield f"{as_tools(check_words(check))}{at}{f'; a person types {command}' if command else ''}"


def at_place(evidence: Iterable[Mapping[str, Any]]) -> str:
    """Where the first of the evidence stands that stands in a file: " at PATH:LINE"; else ""."""
    return next((f" at {each['path']}:{each['line'] or 1}" for each in evidence if each["path"]), "")


def quote(text: str, limit: int = 160) -> str:
    """Text from a file in quotes that it cannot leave."""
    return '"' + plain(text, limit).replace("\\", "/").replace('"', "'") + '"'


def members_left_out(value: Any, made: Any, path: str = "") -> Iterator[str]:
    """The members of data that `shrunk` left out of it: dotted keys, and of lists how many items."""
    if isinstance(value, Mapping):
        kept = made if isinstance(made, Mapping) else {}
        for key, each in value.items():
            name, shown = f"{path}.{key}" if path else str(key), plain(str(key), 60)
            if shown in kept:
                yield from members_left_out(each, kept[shown], name)
            else:
                yield plain(name, 120)
    elif isinstance(value, (list, tuple)):
        kept_items = made if isinstance(made, list) else []
        for each, shown in zip(value, kept_items, strict=False):
            yield from members_left_out(each, shown, f"{path}[]")
        if len(value) > len(kept_items):
            yield f"{plain(path, 120)}: {len(value) - len(kept_items)} more"


def shrunk(value: Any, limit: int) -> Any:
    """Data as small as `limit` asks, still of the same shape: long texts are cut, then lists to their first
    items; None when even that is too long."""
    for texts, items in ((200, 50), (80, 10), (40, 3), (20, 1)):
        made = _shrunk(value, texts, items, 6)
        if size(made) <= limit:
            return made
    return None


def _shrunk(value: Any, texts: int, items: int, depth: int) -> Any:
    if isinstance(value, str):
        return plain(value, texts)
    if depth == 0 and isinstance(value, (dict, list, tuple)):
        return None
    if isinstance(value, Mapping):
        pairs = list(value.items())[: max(items, 4)]
        return {plain(str(key), 60): _shrunk(each, texts, items, depth - 1) for key, each in pairs}
    if isinstance(value, (list, tuple)):
        return [_shrunk(each, texts, items, depth - 1) for each in value[:items]]
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 53:
        return plain(str(value) if value.bit_length() <= 256 else f"integer of {value.bit_length()} bits", 80)
    return value


def lines_of(text: str, limit: int) -> str:
    """The first lines of a file, as data; each is shown through `plain`, line ends are kept."""
    out: list[str] = []
    room = limit
    for line in islice(text.splitlines(), 200):
        shown = plain(line, 200)
        if len(shown) + 2 > room:
            return "\n".join([*out, "…"])
        out.append(shown)
        room -= len(json.dumps(shown, ensure_ascii=False)) + 1
    return "\n".join(out)
