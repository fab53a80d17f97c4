"""What is carried from one look at a root to the next: parse results, and mappings in their order."""

from __future__ import annotations

from typing import Any

from ..workspace.run_reader import Parsed


class Carried(dict[tuple[str, str], Any]):
    """Parse results of one evaluation; what the one before it knew is taken over when it is asked for."""

    def __init__(self, before: Parsed) -> None:
        super().__init__()
        self._before = before

    def __contains__(self, key: object) -> bool:
        if not super().__contains__(key) and key in self._before:
            self[key] = self._before[key]  # type: ignore[index]
        return super().__contains__(key)
