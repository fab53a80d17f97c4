"""Free ids: the next number behind those that a plan's tasks have."""

from __future__ import annotations

import re
from collections.abc import Iterable

_LAST_NUMBER = re.compile(r"(.*?)(\d{1,9})([a-z]?)")


def free_id(taken: str, known: Iterable[str]) -> str:
    """The next id of the kind of one that is taken, T013 for T004 behind T012; "" for no number."""
    match = _LAST_NUMBER.fullmatch(taken)
    if match is None:
        return ""
    start = match[1]
    numbers = [int(same[2]) for same in map(_LAST_NUMBER.fullmatch, known) if same and same[1] == start]
    return f"{start}{max([*numbers, int(match[2])]) + 1:0{len(match[2])}d}"
