"""The board of a project, followed once for everybody of this process who looks at it, while anybody does.

It is read on the loop of `connection.LINK`: the whole of it there, each later row where who looks is. While
the servers are out of reach it stays as it was, and says since when; then it is read anew.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from time import monotonic
from typing import Any, NamedTuple

from ...orchestration.fleet.board_index import BoardIndex
from .bucket import Bucket, KeyValue
from .connection import BOARD, LINK
from .membership import Membership

MOST_A_SECOND = 1000
"""So many rows are taken in, however many a member writes; of more each row's newest counts in the end."""
_AT_ONCE = 50
_log = logging.getLogger(__name__)

Listener = Callable[[str | None], None]
"""Called with the run that has changed, "" where none has but the rest may, None where any may have."""


class Outage(NamedTuple):
    """Since when the servers are out of reach (an ISO time of this machine), and why."""

    since: str
    why: str


class Pace:
    """Keeps a reader to `MOST_A_SECOND`, some at once. `clock` gives seconds."""

    def __init__(
        self,
        clock: Callable[[], float] = monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._clock, self._sleep = clock, sleep
        self._begun, self._taken = clock(), 0

    async def keep(self) -> None:
        """Count one, and wait where there were too many."""
        self._taken += 1
        if self._taken == _AT_ONCE:
            rest_s = self._begun + _AT_ONCE / MOST_A_SECOND - self._clock()
            if rest_s > 0:
                await self._sleep(rest_s)
            self._begun, self._taken = self._clock(), 0


class BoardWatch:
    """One board. It belongs to the loop that it was created on."""

    def __init__(self, membership: Membership) -> None:
        self.index = BoardIndex()
        self.is_read = False
        """True once all of the board was there."""
        self.outage: Outage | None = None
        self.listeners: list[Listener] = []
        self._loop = asyncio.get_running_loop()
        self._following = LINK.follow(membership, BOARD, self._read, self._report_outage)
        self._following.add_done_callback(self._report_end)

    def stop(self) -> None:
        """Follow it no more."""
        self._following.cancel()

    # ---- on the link's loop

    async def _read(self, bucket: Bucket) -> None:
        index: BoardIndex | None = BoardIndex(self.index.version)
        pace = Pace()
        async with aclosing(bucket.watch()) as values:
            async for value in values:
                if value is None and index is not None:
                    index.sort()
                    self._call(self._replace, index)
                    # From here on it is the other loop's.
                    index = None
                elif value is not None and index is not None:
                    index.put(value.key, value.value)
                elif value is not None:
                    self._call(self._put, value)
                    await pace.keep()

    def _report_outage(self, why: str) -> None:
        self._call(self._lose, why)

    def _report_end(self, following: Future[None]) -> None:
        if not following.cancelled() and (error := following.exception()):
            _log.error("the board cannot be followed: %r", error, exc_info=error)
            self._call(self._lose, "it cannot be followed; the server's log says why")

    def _call(self, function: Callable[..., None], *arguments: Any) -> None:
        # The other loop may have ended.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(function, *arguments)

    # ---- on the loop of who looks

    def _replace(self, index: BoardIndex) -> None:
        index.version = max(index.version, self.index.version) + 1
        self.index, self.is_read, self.outage = index, True, None
        self._tell(None)

    def _put(self, value: KeyValue) -> None:
        self._tell(self.index.put(value.key, value.value))

    def _lose(self, why: str) -> None:
        since = self.outage.since if self.outage else datetime.now(UTC).isoformat(timespec="seconds")
        before, self.outage = self.outage, Outage(since, why)
        if before != self.outage:
            self._tell("")

    def _tell(self, run: str | None) -> None:
        for listener in tuple(self.listeners):
            listener(run)


_WATCHES: dict[tuple[asyncio.AbstractEventLoop, Membership], BoardWatch] = {}


def follow_board(membership: Membership, listener: Listener) -> tuple[BoardWatch, Callable[[], None]]:
    """(the board of a project, how to be told of its changes no more): the last who goes ends it."""
    key = asyncio.get_running_loop(), membership
    watch = _WATCHES.get(key) or _WATCHES.setdefault(key, BoardWatch(membership))
    watch.listeners.append(listener)

    def leave() -> None:
        watch.listeners.remove(listener)
        if not watch.listeners:
            del _WATCHES[key]
            watch.stop()

    return watch, leave
