"""Notifications of changes, in both eras of the protocol.

Clients of 2026-07-28 listen on a stream of their own, which the SDK serves from a bus. Those before it
subscribe to addresses; for them the session of each is kept as long as its connection lives. What the engine
tells on the loop is published there by one task, in order.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable
from contextlib import suppress
from pathlib import Path

from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ResourcesListChanged, ResourceUpdated

from ..live.boards import RootChange
from .uris import PARTS, address

_log = logging.getLogger(__name__)

MOST_SESSIONS = 2_000
PATIENCE_S = 2.0
MOST_ADDRESSES = 500
"""Addresses that one session may subscribe to."""


class Changes:
    """Who is told of what. All of it belongs to the loop."""

    def __init__(self) -> None:
        self.bus = InMemorySubscriptionBus()
        self._sessions: OrderedDict[str, tuple[ServerSession, set[str]]] = OrderedDict()
        self._known: dict[Path, frozenset[str]] = {}
        self._queue: asyncio.Queue[RootChange] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None

    # ---- sessions of the handshake era

    def meet(self, key: str, session: ServerSession) -> set[str]:
        """Keep a session; the addresses that it is subscribed to."""
        _, uris = self._sessions.pop(key, (session, set()))
        self._sessions[key] = session, uris
        while len(self._sessions) > MOST_SESSIONS:
            self._sessions.popitem(last=False)
        return uris

    def forget(self, key: str) -> None:
        self._sessions.pop(key, None)

    # ---- telling

    def told(self, change: RootChange) -> None:
        """The engine's word, on the loop."""
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._publish_all())
        self._queue.put_nowait(change)

    async def _publish_all(self) -> None:
        while True:
            change = await self._queue.get()
            try:
                await self._publish(change)
            except Exception:
                _log.exception("a change of %s could not be told", change.root)

    async def _publish(self, change: RootChange) -> None:
        if self.is_new(change):
            await self.bus.publish(ResourcesListChanged())
            for key, (session, _) in list(self._sessions.items()):
                await self._tell(key, session.send_resource_list_changed())
        uris = [address(str(change.root))]
        for run in (*change.changed, *change.removed):
            uris += [address(str(change.root), run, part) for part in PARTS]
        for uri in uris:
            await self.bus.publish(ResourceUpdated(uri=uri))
        wanted = set(uris)
        for key, (session, subscribed) in list(self._sessions.items()):
            for uri in subscribed & wanted:
                await self._tell(key, session.send_resource_updated(uri))

    async def _tell(self, key: str, telling: Awaitable[None]) -> None:
        """Tell one client. One that stopped reading is told no more: the others do not wait for it."""
        try:
            await asyncio.wait_for(telling, PATIENCE_S)
        except TimeoutError:
            self.forget(key)
        except Exception as error:
            # It is about to end. The others are told nevertheless.
            _log.info("a client could not be told of a change: %r", error)
            self.forget(key)

    def is_new(self, change: RootChange) -> bool:
        """Whether runs appeared or went away."""
        before = self._known.get(change.root)
        known = (before or frozenset()) | frozenset(change.changed)
        self._known[change.root] = known.difference(change.removed)
        return before is None or bool(change.removed) or known != before

    def knows(self, root: Path, runs: frozenset[str]) -> None:
        """The runs of a root that was just opened."""
        self._known.setdefault(root, runs)

    def knows_no_more(self, root: Path) -> None:
        """Nobody follows a root any more."""
        self._known.pop(root, None)

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
