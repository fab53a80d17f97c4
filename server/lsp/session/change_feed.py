"""Telling an editor that shows boards what differs, encoded once for all of them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from ...live.boards import RootChange
from ..view.pages import RunCounts
from ..view.shared_root import SharedRoot
from .payloads import changed_json, exceeds_page, merge_changes
from .transport import encode_json

_SUMMARIES = 2
"""The level of a change on which its runs lie: each is written in one go."""
_WRITTEN_AT_ONCE = 4
"""A change of so few runs is written sooner than a thread is woken for it."""
_log = logging.getLogger(__name__)


class ChangeFeed:
    """The changes that one editor is to be told of: an editor that stopped reading makes them no more."""

    def __init__(
        self,
        shared_root: Callable[[Path], SharedRoot | None],
        wait_for_diagnostics: Callable[[], Awaitable[None]],
        send: Callable[[bytearray], None],
    ) -> None:
        self._shared_root, self._wait, self._send = shared_root, wait_for_diagnostics, send
        self._pending: dict[Path, RootChange] = {}
        self.reads_pages = False
        """Whether the client asks anew when much differs, and keeps counts of what it does not hold."""
        self._wake = asyncio.Event()

    def add(self, change: RootChange) -> None:
        """Have a change sent; it becomes one with what is not sent yet of its root."""
        before = self._pending.get(change.root)
        self._pending[change.root] = merge_changes(before, change) if before else change
        self._wake.set()

    async def run(self) -> None:
        """Send changes in their order, after the diagnostics, and without holding up the messages."""
        while await self._wake.wait():
            self._wake.clear()
            while self._pending:
                await self._wait()
                change = self._pending.pop(next(iter(self._pending)))
                try:
                    params = await asyncio.shield(self._json_of(change))
                except Exception:
                    # The next one says by its version that this one was missed.
                    _log.exception("a change of %s could not be sent", change.root)
                else:
                    self._send(params)

    def _json_of(self, change: RootChange) -> asyncio.Future[bytearray]:
        """The JSON of a change: from a thread, as it may be megabytes, and the same for all editors."""
        shared = self._shared_root(change.root)
        counts = shared.counts if shared else RunCounts()
        anew = self.reads_pages and exceeds_page(change)
        encode = partial(_encode, counts=counts, anew=anew)
        return shared.encoded_change(change, encode) if shared and not anew else encode(change)


def _encode(change: RootChange, counts: RunCounts, anew: bool) -> asyncio.Future[bytearray]:
    loop = asyncio.get_running_loop()
    work = partial(encode_json, changed_json, change, counts, anew, deep=_SUMMARIES)
    if not anew and len(change.changed) > _WRITTEN_AT_ONCE:
        return loop.run_in_executor(None, work)
    made: asyncio.Future[bytearray] = loop.create_future()
    made.set_result(work())
    return made
