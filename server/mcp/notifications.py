"""Notifications of changed resources, in both eras of the protocol.

Clients of 2026-07-28 listen on a stream of their own, which the SDK serves from a bus. Those before it
subscribe to URIs; for them the session of each is kept as long as its connection lives. Changes from the
engine are queued on the loop and published by one task, in order.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Set
from contextlib import suppress

import mcp_types as types
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ResourcesListChanged, ResourceUpdated

from ...orchestration.sanitize import plain
from ..live.boards import RootChange
from .uris import PARTS, resource_uri

_log = logging.getLogger(__name__)

MOST_SESSIONS = 2_000
PATIENCE_S = 2.0
_NOTICED = ("debug", "info", "notice")
"""Levels at which a notice is heard."""
MOST_SUBSCRIPTIONS = 500
"""URIs that one session may subscribe to."""


class ChangeNotifier:
    """Notifies all clients. All of it belongs to the loop."""

    def __init__(self) -> None:
        self.bus = InMemorySubscriptionBus()
        self.levels: dict[str, types.LoggingLevel] = {}
        """Sessions that asked for messages, and from which level."""
        self._sessions: OrderedDict[str, tuple[ServerSession, set[str]]] = OrderedDict()
        self._queue: asyncio.Queue[RootChange] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None

    # ---- sessions of the handshake era

    def subscriptions(self, key: str, session: ServerSession) -> set[str]:
        """Keep a session as the newest; the URIs that it is subscribed to, to be changed by the caller."""
        _, uris = self._sessions.pop(key, (session, set()))
        self._sessions[key] = session, uris
        while len(self._sessions) > MOST_SESSIONS:
            self.forget(next(iter(self._sessions)))
        return uris

    def forget(self, key: str) -> None:
        self._sessions.pop(key, None)
        self.levels.pop(key, None)

    # ---- publishing

    def notify(self, change: RootChange) -> None:
        """Queue a change of a root; called on the loop."""
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._publish_all())
        self._queue.put_nowait(change)

    async def _publish_all(self) -> None:
        while True:
            change = await self._queue.get()
            try:
                await self._publish(change)
            except Exception:
                _log.exception("a change of %s could not be published", change.root)

    async def _publish(self, change: RootChange) -> None:
        if change.added or change.removed:
            await self.bus.publish(ResourcesListChanged())
            for key, (session, _) in list(self._sessions.items()):
                await self._send(key, session.send_resource_list_changed())
        uris = [resource_uri(str(change.root))]
        for run in (*change.changed, *change.removed):
            uris += [resource_uri(str(change.root), run, part) for part in PARTS]
        for uri in uris:
            await self.bus.publish(ResourceUpdated(uri=uri))
        for key, (session, subscribed) in list(self._sessions.items()):
            for uri in subscribed.intersection(uris):
                await self._send(key, session.send_resource_updated(uri))
            if subscribed and self.levels.get(key) in _NOTICED:
                await self._log(key, session, subscribed, change)

    async def _log(self, key: str, session: ServerSession, subscribed: Set[str], change: RootChange) -> None:
        """Say how the runs stand now that a client subscribed to and that changed."""
        for run, e in change.changed.items():
            if not subscribed.isdisjoint(resource_uri(str(change.root), run, part) for part in PARTS):
                data = {"run": plain(run, 300), "status": e.status, "next": plain(e.suggestion.phrase, 200)}
                data["reason"] = plain(e.suggestion.reason, 300)
                params = types.LoggingMessageNotificationParams(
                    level="notice", logger="phasekeeper", data=data
                )
                await self._send(
                    key, session.send_notification(types.LoggingMessageNotification(params=params))
                )

    async def _send(self, key: str, sending: Awaitable[None]) -> None:
        """Notify one client. One that stopped reading is sent no more: the others do not wait for it."""
        try:
            await asyncio.wait_for(sending, PATIENCE_S)
        except Exception as error:
            # One that is about to end; the others are notified nevertheless.
            _log.info("a client could not be notified of a change: %r", error)
            self.forget(key)

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
