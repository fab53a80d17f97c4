"""The guard of a root: the runs whose gates hold assistants back, as its configuration has it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from ..findings import Problem
from ..formats.yaml_text import Node, locate_yaml, typed_value
from ..suggestions import did_you_mean, misspelling
from ..vfs.glob import fits
from .shapes import TEXT, Key, list_of, word

EVERY_RUN = "**"
GUARD = {
    "runs": Key(list_of(TEXT), "patterns of their folders; ** is every run", required=True),
    "fail": Key(word("open", "closed"), "what an assistant may do where no verdict can be had"),
}
"""The grammar of the key `guard`."""


@dataclass(frozen=True)
class Guard:
    """The runs whose gates hold assistants back, by patterns of their folders. With `fails_closed` an
    assistant may do nothing of what it asks for where no verdict can be had."""

    runs: tuple[str, ...] = ()
    fails_closed: bool = False

    def covers(self, run: str) -> bool:
        """True if a run is guarded."""
        return any(pattern in (run, EVERY_RUN) or fits(pattern, run) for pattern in self.runs)

    def with_other(self, other: Guard) -> Guard:
        """The stricter of both: what one of them guards is guarded."""
        runs = tuple(dict.fromkeys((*self.runs, *other.runs)))
        return Guard(runs, self.fails_closed or other.fails_closed)


def read_guard(node: Node | None, wrong: list[Problem]) -> Guard:
    """The guard that a node declares; one that is written wrongly guards every run."""
    if node is None or (node.kind == "scalar" and typed_value(node) is None):
        return Guard()
    entries, known = _entries(node, wrong), tuple(GUARD)
    for key in entries:
        if key not in known:
            said = f"unknown key {key!r} of guard{did_you_mean(key, known)}"
            wrong.append(Problem("parameter-invalid", said, node.keys[key], data=misspelling(key, known)))
    runs, fail = entries.get("runs"), entries.get("fail")
    listed = runs.value if runs and isinstance(runs.value, list) else []
    patterns = [_pattern(each, wrong) for each in listed]
    if not patterns and isinstance(node.value, dict):
        place = runs.span if runs else node.span
        wrong.append(Problem("parameter-invalid", "guard needs runs: a list of patterns, as ['**']", place))
    if fail and fail.value not in ("open", "closed"):
        wrong.append(Problem("parameter-invalid", "fail must be open or closed", fail.span))
    is_whole = bool(patterns) and all(patterns)
    return Guard(tuple(patterns) if is_whole else (EVERY_RUN,), fail is not None and fail.value != "open")


def _entries(node: Node, wrong: list[Problem]) -> Mapping[str, Node]:
    if isinstance(node.value, Mapping):
        return node.value
    wrong.append(Problem("parameter-invalid", "guard must be a map", node.span))
    return {}


def _pattern(node: Node, wrong: list[Problem]) -> str:
    if isinstance(node.value, str) and node.value.strip():
        return node.value
    wrong.append(Problem("parameter-invalid", "a pattern of runs must be a text", node.span))
    return ""


def with_guard(text: str, guard: Guard) -> str:
    """The text of a configuration with this guard in place of its own; all else stays byte for byte."""
    lines = text.splitlines(keepends=True)
    key, value = locate_yaml(text, ("guard",), key=True), locate_yaml(text, ("guard",))
    if key and value:
        # A value that ends at the beginning of a line has none of it.
        end = max(value.end_line + (value.end_column > 0), key.line + 1)
        before, after = lines[: key.line], lines[end:]
    else:
        before, after = lines, []
    if before and not before[-1].endswith("\n"):
        before[-1] += "\n"
    fail = ", fail: closed" if guard.fails_closed else ""
    own = f"guard: {{runs: {json.dumps(list(guard.runs))}{fail}}}\n" if guard.runs else ""
    return "".join((*before, own, *after))
