"""A root on the engine's thread: who has it open, what is at work in it, and its share of the thread.

Evaluating is never interrupted. So a root whose part took long is not gone on with for `REST` times as long,
which leaves most of the thread to the others; alone it need not rest.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import monotonic, thread_time
from typing import Generic, Protocol, TypeVar

from ...orchestration.findings import Finding, Severity
from .boards import RootChange
from .cache_writer import CacheWriter


class RefreshedRoot(Protocol):
    """What is needed here of a `LiveRoot`."""

    root: Path
    version: int
    findings: Mapping[str, tuple[Finding, ...]]

    def held_runs(self, run: str | None = None) -> Set[str]: ...

    def refresh_paths(
        self, paths: Iterable[Path | str] = (), *, grace: bool = False
    ) -> RootChange | None: ...


L = TypeVar("L", bound=RefreshedRoot)
PART_S = 0.1
"""Seconds of the thread's processor time that a part may take without a rest; a usual run takes 1 to 5 ms."""
SLOW_S = 0.5
"""A part that took longer is told as a finding, until the root was looked at whole without one."""
REST, MOST_REST_S = 4, 5.0
_MAX_FAILURES = 100

_log = logging.getLogger(__name__)


class TimeShare:
    """What one root used of the thread. `rests_until` is when it may go on, by the monotonic clock."""

    def __init__(self) -> None:
        self.rests_until = 0.0
        self.slowest_s = 0.0

    @contextmanager
    def measure(self) -> Iterator[None]:
        """Work for the root goes on in here; a long part is followed by a rest."""
        began = thread_time()
        try:
            yield
        finally:
            self.note(thread_time() - began)

    def note(self, used_s: float) -> None:
        """A part took so many seconds of processor time."""
        self.slowest_s = max(self.slowest_s, used_s)
        if used_s > PART_S:
            self.rests_until = monotonic() + min(REST * used_s, MOST_REST_S)

    def is_resting(self, now: float) -> bool:
        return now < self.rests_until

    def findings(self) -> tuple[Finding, ...]:
        """The finding that the root is slow, if it is."""
        if self.slowest_s <= SLOW_S:
            return ()
        message = (
            "to judge a run of this root, or its definitions, takes so long that its changes are shown after "
            "those of other roots; make what is read smaller"
        )
        return (Finding("root-slow", "", message, severity=Severity.WARNING),)


@dataclass
class OpenRoot(Generic[L]):
    """A root on the engine's thread."""

    live: L
    users: int = 0
    """The count of openings that were not closed."""
    idle_since: float = field(default_factory=monotonic)
    refresh: Generator[None, None, RootChange | None] | None = None
    """The long refresh at work."""
    has_missed_changes: bool = False
    """Another long refresh follows the one at work, which may have passed what changed unheard."""
    refresh_began: float = 0.0
    rescan_at: float = 0.0
    is_scanned: bool = False
    failure: str = ""
    conditions: tuple[str, ...] = ()
    on_scanned: list[Callable[[], None]] = field(default_factory=list)
    on_refused: list[Callable[[str], None]] = field(default_factory=list)
    """Called with the reason when the first scan is given up."""
    share: TimeShare = field(default_factory=TimeShare)
    hints: set[str] = field(default_factory=set)
    """Paths that may have changed while it rests."""
    questions: list[Callable[[], None]] = field(default_factory=list)
    """Questions that were asked while it rests."""
    cache_writer: CacheWriter | None = None
    """Without one there is no cache on disk."""
    waiting: list[tuple[Set[str], Callable[[], None]]] = field(default_factory=list)
    """What is to be called once none of these stands as before."""

    def try_refresh(self, refresh: Callable[[], RootChange | None]) -> RootChange | None:
        """Do a refresh, and return what differs. A run whose evaluation raises is left out, no other is."""
        for _ in range(_MAX_FAILURES):
            try:
                with self.share.measure():
                    return refresh()
            except Exception:
                self.note_failure()
                refresh = partial(self.live.refresh_paths, grace=True)
        return None

    def note_failure(self) -> None:
        if not self.failure:
            _log.exception("%s could not be looked at", self.live.root)
        self.failure = "something in this root could not be judged; the server's log says what"

    def with_share_findings(self, change: RootChange | None) -> RootChange | None:
        """The change, with the finding that the root is slow where that differs from what its board says."""
        live, found = self.live, self.share.findings()
        # Nobody else reports about the folder itself.
        if live.findings.get("", ()) == found:
            return change
        change = change or RootChange(live.root, live.version + 1, {}, (), {})
        live.version = change.version
        others = {path: each for path, each in live.findings.items() if path}
        live.findings = {"": found, **others} if found else others
        return change._replace(findings={**change.findings, "": found})

    def cache_wait_s(self) -> float:
        """Seconds until a part of the cache on disk is to be written; infinite when none is."""
        is_free = self.is_scanned and self.refresh is None
        return self.cache_writer.wait_s() if self.cache_writer and is_free else float("inf")

    def write_cache_part(self) -> Iterator[RootChange]:
        """Write such a part; yields what differs from what was known."""
        yield from self.cache_writer.write_part() if self.cache_writer else ()

    def call_released(self) -> None:
        held = self.live.held_runs() if self.waiting else frozenset()
        told = [each for each in self.waiting if held.isdisjoint(each[0])]
        self.waiting = [each for each in self.waiting if not held.isdisjoint(each[0])]
        for _, ready in told:
            ready()
