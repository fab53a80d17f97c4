"""Free ids: the next number behind those that a plan's tasks have."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property

_LAST_NUMBER = re.compile(r"(.*?)(\d{1,9})([a-z]?)")


class FreeIds:
    """The ids behind those that are known, which are looked through once, when a free one is wanted."""

    def __init__(self, known: Iterable[str]) -> None:
        self._known = known

    @cached_property
    def _largest(self) -> dict[str, int]:
        """The largest number behind each beginning."""
        largest: dict[str, int] = {}
        for match in map(_LAST_NUMBER.fullmatch, self._known):
            if match:
                largest[match[1]] = max(int(match[2]), largest.get(match[1], 0))
        return largest

    def behind(self, taken: str) -> str:
        """The next id of the kind of one that is taken, T013 for T004 behind T012; "" for no number."""
        match = _LAST_NUMBER.fullmatch(taken)
        if match is None:
            return ""
        number = max(int(match[2]), self._largest.get(match[1], 0)) + 1
        return f"{match[1]}{number:0{len(match[2])}d}"
