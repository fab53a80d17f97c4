"""Names say what a thing is: no module, class or function is called by a bare participle."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = [path for top in ("orchestration", "tools", "server") for path in sorted((ROOT / top).rglob("*.py"))]

VAGUE = frozenset("brought found given held kept known left looked made meant said seen shown told".split())  # noqa: SIM905
"""Participles that say nothing of what a thing is, wherever they stand at the end of a name."""

VERBS = frozenset(("embed", "feed", "need", "seed", "speed"))
"""What ends as participles do and is none."""


def names(text: str) -> Iterator[tuple[str, bool]]:
    """(name of a class or function, whether it is one that is true or false)."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, isinstance(node.returns, ast.Name) and node.returns.id == "bool"
        elif isinstance(node, ast.ClassDef):
            yield node.name, False


def is_bare_participle(name: str) -> bool:
    """True for `_told`, `Passed` and `parse_held`; not for `told_values`, and not for `is_known`."""
    words = re.findall(r"[A-Z]?[a-z]+", name)
    last = words[-1].lower() if words else ""
    alone = len(words) == 1 and last.endswith("ed") and last not in VERBS
    return alone or (last in VAGUE and words[0] not in ("is", "has", "was"))


@pytest.mark.parametrize("path", [path.relative_to(ROOT).as_posix() for path in FILES])
def test_no_name_of_a_file_is_a_bare_participle(path: str) -> None:
    inside = [name for name, is_truth in names((ROOT / path).read_text("utf-8")) if not is_truth]
    assert [name for name in (Path(path).stem, *inside) if is_bare_participle(name)] == []


def test_a_bare_participle_is_seen() -> None:
    text = "class Passed: ...\ndef _told(): ...\ndef refused() -> bool: ...\ndef told_values(): ..."
    assert [is_bare_participle(name) for name, _ in names(text)] == [True, True, True, False]
    assert [name for name, is_truth in names(text) if is_truth] == ["refused"]
    assert not any(map(is_bare_participle, ("feed", "is_known", "_", "__init__", "read_run", "held_by")))
