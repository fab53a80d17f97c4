"""Parse results carried over from one evaluation of a run to the next: only changed files are parsed."""

from __future__ import annotations

from typing import Any

from ..workspace.run_reader import Parsed


class ParseCache(dict[tuple[str, str], Any]):
    """Parse results of one evaluation; those of the one before are taken over when they are asked for.

    What is in it afterwards is what this evaluation used, and no more. It is kept as a plain copy, so that no
    chain of caches grows.
    """

    def __init__(self, before: Parsed | None) -> None:
        super().__init__()
        self._before = before or {}

    def __contains__(self, key: object) -> bool:
        if not super().__contains__(key) and key in self._before:
            self[key] = self._before[key]  # type: ignore[index]
        return super().__contains__(key)
