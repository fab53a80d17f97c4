"""When the cache of a root is written: while nothing else is to be done, in small parts, and at the end."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from time import monotonic, thread_time
from typing import Protocol

from .boards import RootChange

FIRST_S = 3.0
"""So long after a root was opened it is first written: what was saved right before is settled then."""
PAUSE_S = 120.0
"""Between two times, and `_REST` times as long as the last one took: the file is written whole."""
END_S = 2.0
"""So long a server that ends writes at most; what is not done then is judged anew at the next start."""
_PART_S = 0.01
"""A part takes so long, and so long a rest follows it."""
_REST = 50

_log = logging.getLogger(__name__)


class SavedRoot(Protocol):
    """What is needed here of a `LiveRoot`."""

    @property
    def has_unsaved_runs(self) -> bool: ...

    def save_in_parts(self) -> Iterator[RootChange | None]: ...


class CacheWriter:
    """The writer of one root's cache. Belongs to the engine's thread."""

    def __init__(self, root: SavedRoot, clock: Callable[[], float] = monotonic) -> None:
        self._root, self._clock = root, clock
        self._parts: Iterator[RootChange | None] | None = None
        self._due_at, self._began_at = clock() + FIRST_S, 0.0

    def wait_s(self) -> float:
        """Seconds until a part is to be written; infinite when none is."""
        if self._parts is None and not self._root.has_unsaved_runs:
            return float("inf")
        return max(0.0, self._due_at - self._clock())

    def write_part(self) -> Iterator[RootChange]:
        """Write for a short time, and rest; yields what differs from what was known."""
        if self._parts is None:
            self._parts, self._began_at = self._root.save_in_parts(), self._clock()
        began, parts, self._parts = thread_time(), self._parts, None
        try:
            for change in parts:
                if change is not None:
                    yield change
                if thread_time() - began > _PART_S:
                    # Only now: whatever is raised before ends the attempt.
                    self._parts, self._due_at = parts, self._clock() + _PART_S
                    return
        except OSError as error:
            _log.warning("the cache could not be written: %s", error)
            self._due_at = float("inf")
            return
        finally:
            if self._parts is None and self._due_at < float("inf"):
                took_s = self._clock() - self._began_at
                self._due_at = self._clock() + max(PAUSE_S, _REST * took_s)

    def finish(self) -> None:
        """Write what is not written yet, `END_S` at most."""
        end = self._clock() + END_S
        if self._due_at == float("inf") or not (self._parts or self._root.has_unsaved_runs):
            return
        try:
            for _ in self._parts or self._root.save_in_parts():
                if self._clock() > end:
                    return
        except OSError as error:
            _log.warning("the cache could not be written: %s", error)
