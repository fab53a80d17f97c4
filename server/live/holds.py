"""Who stands as before because a file may be half saved, and until when."""

from __future__ import annotations

from collections.abc import Callable, Set

from ..disk.file_cache import FileCache
from ..disk.partial_saves import MAX_HOLD_MS
from .dependencies import DependencyIndex


class Holds:
    """The dependants of held files. One stands as before while any of its files is held, so that nobody sees
    the old text of one beside the new of another; `MAX_HOLD_MS` at most, whatever is saved meanwhile.
    """

    def __init__(self, files: FileCache, dependencies: DependencyIndex, now_ms: Callable[[], float]) -> None:
        self._files, self._dependencies, self._now_ms = files, dependencies, now_ms
        self._since_ms: dict[str, float] = {}
        """When each dependant began to stand as before."""

    def dependants(self) -> Set[str]:
        """Who depends on a held file."""
        held = self._dependencies.dependants(self._files.saves.keys()) if self._files.saves.holds else set()
        now = self._now_ms()
        self._since_ms = {each: self._since_ms.get(each, now) for each in held}
        return held

    def concern(self, keys: Set[str]) -> bool:
        """True if any of these keys is about a held file."""
        return bool(self._files.saves.holds) and not keys.isdisjoint(self._files.saves.keys())

    def end_those_over(self) -> None:
        """Take in the files whose grace is over, and all of those who waited for `MAX_HOLD_MS`."""
        self._files.end_holds(self._files.saves.over())
        self.dependants()
        since = self._now_ms() - MAX_HOLD_MS
        keys = {
            key
            for each, at in self._since_ms.items()
            if at <= since
            for key in self._dependencies.keys_of(each)
        }
        self._files.end_holds(self._files.saves.paths_in(keys))

    def wait_ms(self) -> float:
        """Milliseconds until there is something to be taken in; infinite when nothing is held."""
        latest = min(self._since_ms.values(), default=float("inf")) + MAX_HOLD_MS - self._now_ms()
        return max(0.0, min(latest, self._files.saves.wait_ms()))
