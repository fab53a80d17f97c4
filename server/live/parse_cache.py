"""Parse results carried over from one evaluation of a run to the next: only changed files are parsed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

from ..workspace.run_reader import Parsed


class ParseCache(dict[tuple[str, str], Any]):
    """Parse results of one evaluation; those of the one before are taken over when they are asked for.

    What is in it afterwards is what this evaluation used, and no more.
    """

    def __init__(self, before: Parsed) -> None:
        super().__init__()
        self._before = before

    def __contains__(self, key: object) -> bool:
        if not super().__contains__(key) and key in self._before:
            self[key] = self._before[key]  # type: ignore[index]
        return super().__contains__(key)


class ParseCaches:
    """The parse results of the runs that were evaluated last, at most `limit` of them (LRU)."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._by_run: OrderedDict[Hashable, Parsed] = OrderedDict()

    def begin(self, run: Hashable) -> ParseCache:
        """A cache for one evaluation of the run; `keep` makes it the next one's."""
        return ParseCache(self._by_run.get(run, {}))

    def keep(self, run: Hashable, parsed: Parsed) -> None:
        """Keep what an evaluation used; a plain copy, so that no chain of caches grows."""
        self._by_run[run] = dict(parsed)
        self._by_run.move_to_end(run)
        if len(self._by_run) > self._limit:
            self._by_run.popitem(last=False)

    def drop(self, run: Hashable) -> None:
        """Forget a run's results, if there are any."""
        self._by_run.pop(run, None)
