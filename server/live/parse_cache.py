"""What is carried from one look at a root to the next: parse results, and mappings in their order."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable, Mapping
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


def replaced(
    before: Mapping[str, Any],
    changed: Mapping[str, Any],
    removed: Iterable[str],
    order: Callable[[str], Any],
) -> dict[str, Any]:
    """The mapping with some values replaced, added or removed, in order."""
    now = {**before, **changed}
    for key in removed:
        now.pop(key, None)
    new = [key for key in changed if key not in before]
    if not new:
        return now
    keys = [key for key in before if key in now]
    if len(new) > len(keys) // 16:
        return {key: now[key] for key in sorted(now, key=order)}
    for key in new:
        insort(keys, key, key=order)
    return {key: now[key] for key in keys}
