"""JSON of much data, made in parts: one call of the encoder lets no other thread on until it is done."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

DEEP = 6
"""Levels that are taken apart; a run of a board lies on the third, a task of a run's plan on the fifth."""


def dump(value: Any, deep: int = DEEP) -> bytearray:
    """`json.dumps(value)` in ASCII, of keys that are texts. For a thread beside the one that must not wait.

    In the levels that are taken apart an iterator is a list whose items are made as they are written: of a
    board of thousands of runs there is one at a time.
    """
    out = bytearray()
    for part in _parts(value, deep):
        out += part.encode()
    return out


def _parts(value: Any, deep: int) -> Iterator[str]:
    is_object = isinstance(value, Mapping)
    if not (deep and (is_object or isinstance(value, (list, tuple, Iterator)))):
        yield json.dumps(value)
        return
    yield "{" if is_object else "["
    comma = ""
    for item in value.items() if is_object else value:
        name, each = (f"{json.dumps(item[0])}: ", item[1]) if is_object else ("", item)
        yield comma + name
        yield from _parts(each, deep - 1)
        comma = ", "
    yield "}" if is_object else "]"
