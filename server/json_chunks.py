"""JSON of much data, made in parts: one call of the encoder lets no other thread on until it is done."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_DEEP = 6
"""Levels that are taken apart; a run of a board lies on the third, a task of a run's plan on the fifth."""


def dumped(value: Any, deep: int = _DEEP) -> bytearray:
    """`json.dumps(value)` in ASCII, of keys that are texts. For a thread beside the one that must not wait.

    In the levels that are taken apart an iterator is a list whose items are made as they are written: of a
    board of thousands of runs there is one at a time.
    """
    out = bytearray()
    for part in _parts(value, deep):
        out += part.encode()
    return out


def _parts(value: Any, deep: int) -> Iterator[str]:
    if deep and isinstance(value, Mapping):
        named = ((f"{json.dumps(key)}: ", each) for key, each in value.items())
        yield from _in_between("{", named, "}", deep)
    elif deep and isinstance(value, (list, tuple, Iterator)):
        yield from _in_between("[", (("", each) for each in value), "]", deep)
    else:
        yield json.dumps(value)


def _in_between(begin: str, items: Iterable[tuple[str, Any]], end: str, deep: int) -> Iterator[str]:
    yield begin
    comma = ""
    for name, value in items:
        yield comma + name
        yield from _parts(value, deep - 1)
        comma = ", "
    yield end
