"""No pattern takes the square of a text: a line of a workspace may have a million characters."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import phasekeeper.orchestration
import phasekeeper.server
import pytest

from tests.bombs.pumped_texts import pumped_texts

CPU_S = 5
"""Seconds of the processor for a text: the square of its length takes minutes, one pass milliseconds."""
_METHODS = ("match", "fullmatch", "search", "finditer", "findall", "sub", "split")
_SEARCHING = frozenset({"search", "finditer", "findall", "sub", "split"})
# Patterns that another module is given, and what it does with them.
_GIVEN = {"_DEPENDS": "search", "_BLOCKED": "search"}

pytestmark = pytest.mark.skipif(
    not hasattr(signal, "setitimer"), reason="no clock of the processor ends a call"
)


def modules() -> list[str]:
    packages = (phasekeeper.orchestration, phasekeeper.server)
    return [
        each.name
        for package in packages
        for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        if not each.name.endswith("__main__")
    ]


def patterns(module: ModuleType) -> Iterator[tuple[str, re.Pattern[Any], set[str]]]:
    """Each pattern of a module by its name, and "search" or "match" for how the module uses it."""
    assert module.__file__
    called: dict[str, set[str]] = {}
    for node in ast.walk(ast.parse(Path(module.__file__).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr in _METHODS:
            called.setdefault(node.value.id, set()).add("search" if node.attr in _SEARCHING else node.attr)
    for name, value in vars(module).items():
        if isinstance(value, re.Pattern):
            yield name, value, called.get(name) or {_GIVEN.get(name, "match")}
        elif is_dataclass(value) and not isinstance(value, type):
            # A grammar or a dialect, whose patterns are matched where an item begins.
            of_value = ((each.name, getattr(value, each.name)) for each in fields(value))
            yield from (
                (f"{name}.{key}", each, {"match"}) for key, each in of_value if isinstance(each, re.Pattern)
            )


@contextmanager
def processor_time(seconds: int, what: str) -> Iterator[None]:
    def end(*_: object) -> None:
        raise AssertionError(f"{what} takes the square of its text, or worse")

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@pytest.mark.parametrize("name", modules())
def test_a_long_text_is_looked_at_in_one_pass(name: str) -> None:
    for pattern_name, pattern, methods in patterns(importlib.import_module(name)):
        for text in pumped_texts(pattern):
            subject = text.encode() if isinstance(pattern.pattern, bytes) else text
            for method in sorted(methods):
                with processor_time(CPU_S, f"{pattern_name}.{method} of {text[:20]!r}…"):
                    getattr(pattern, method)(subject)


@pytest.mark.parametrize("slow", ["[ \t]*-?[ \t]*:", "(?:a+)+b", "a+b"])
def test_a_pattern_that_takes_the_square_is_found(slow: str) -> None:
    with pytest.raises(AssertionError, match="the square"):
        for text in pumped_texts(re.compile(slow)):
            with processor_time(1, slow):
                re.compile(slow).search(text)
