"""Connections to the servers of a fleet: one a project, opened when it is needed, on one loop of their own.

Commands and writers run on threads, NATS on an event loop. The loop runs on a thread that ends with the
process; a connection that is lost connects again by itself. Where nobody answered, nobody is asked again for
a while, so that work without a network goes on as on one machine.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import suppress
from threading import Lock, Thread
from time import monotonic
from typing import Any, TypeVar
from urllib.parse import urlsplit

from .bucket import Bucket, FleetUnreachable
from .membership import Membership, is_loopback

CLAIMS, BOARD, ANSWERS = "claims", "board", "answers"
"""The buckets of a project."""
_SEED = "-----BEGIN USER NKEY SEED-----"
_CONNECT_S = 2.0
_CALL_S = 30.0
_FOLLOW_PATIENCE_S = 12.0
_AGAIN_S = 5.0
"""Nobody is asked again so soon after nobody answered."""

_log = logging.getLogger(__name__)
# asyncio warns, on stderr, each time that a server ends a connection with TLS.
logging.getLogger("asyncio").addFilter(lambda record: "eof_received" not in record.getMessage())

T = TypeVar("T")


async def connect(membership: Membership) -> Any:
    """A connection for a member, with TLS off loopback. Raises FleetUnreachable."""
    try:
        import nats
        import nats.errors
        from nkeys import NkeysError
    except ImportError:
        raise FleetUnreachable("a fleet needs more: pip install 'phasekeeper[fleet]'") from None

    errors: list[Exception] = []
    each_failed = asyncio.Event()

    async def note(error: Exception) -> None:
        # The last one says why it does not come about: a refused key, a certificate that nobody knows.
        errors.append(error)
        del errors[: -len(membership.servers)]
        if len(errors) >= len(membership.servers):
            each_failed.set()
        _log.debug("fleet: %s", error)

    try:
        connecting = asyncio.ensure_future(
            nats.connect(
                list(membership.servers),
                name=f"phasekeeper {membership.member}",
                inbox_prefix=f"_INBOX.{membership.member}".encode(),
                connect_timeout=int(_CONNECT_S),
                allow_reconnect=True,
                max_reconnect_attempts=-1,
                reconnect_time_wait=0.2,
                ping_interval=5,
                max_outstanding_pings=2,
                error_cb=note,
                **_credentials(membership),
            )
        )
        # The client tries for ever, also once every server has refused.
        failing = asyncio.ensure_future(each_failed.wait())
        limit_s = _CONNECT_S * len(membership.servers)
        await asyncio.wait([connecting, failing], timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
        failing.cancel()
        if not connecting.done():
            connecting.cancel()
            raise TimeoutError("no answer")
        connection = connecting.result()
    except (nats.errors.Error, NkeysError, OSError, TimeoutError, ValueError) as error:
        said = str(errors[-1] if errors else error)
        raise FleetUnreachable(f"no server of {membership.project} answers: {said}") from error
    _keep_to_safe_servers(connection, membership)
    return connection


def _credentials(membership: Membership) -> dict[str, Any]:
    """The client's options that say who we are, and how we know the servers."""
    from nats.aio.client import RawCredentials

    options: dict[str, Any] = {}
    if any(urlsplit(url).scheme == "tls" for url in membership.servers):
        options["tls"] = ssl.create_default_context(cafile=membership.ca or None)
    if membership.seed:
        options["nkeys_seed_str"] = membership.seed
    if membership.credentials:
        if _SEED not in membership.credentials:
            raise ValueError("the credentials hold no key")
        options["user_credentials"] = RawCredentials(membership.credentials)
    return options


def _keep_to_safe_servers(connection: Any, membership: Membership) -> None:
    """Forget servers that a server without TLS told of, unless they are on this machine."""
    if not any(urlsplit(url).scheme == "tls" for url in membership.servers):
        pool = connection._server_pool
        pool[:] = [server for server in pool if is_loopback(server.uri.hostname or "")]


class FleetLink:
    """The connections of this process, one a project; `call` is for every thread but the loop's own."""

    def __init__(self) -> None:
        self._lock, self._connecting = Lock(), asyncio.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._connections: dict[Membership, Any] = {}
        self._silent_until: dict[Membership, float] = {}
        self._lost: set[Membership] = set()
        """Those whose connection was seen to be lost, until it is back."""

    def call(
        self,
        membership: Membership,
        bucket: str,
        work: Callable[[Bucket], Awaitable[T]],
        patience_s: float = 12.0,
        limit_s: float = _CALL_S,
    ) -> T:
        """What `work` returns of a bucket of the project, within `limit_s`. Raises FleetUnreachable, and what
        `work` raises."""
        if monotonic() < self._silent_until.get(membership, 0.0):
            raise FleetUnreachable(f"no server of {membership.project} answered a moment ago")
        done = asyncio.run_coroutine_threadsafe(
            self._run(membership, bucket, work, patience_s), self._start()
        )
        try:
            return done.result(limit_s)
        except TimeoutError:
            done.cancel()
            raise FleetUnreachable(f"the servers of {membership.project} do not answer") from None

    def follow(
        self,
        membership: Membership,
        bucket: str,
        read: Callable[[Bucket], Awaitable[None]],
        on_outage: Callable[[str], None],
    ) -> Future[None]:
        """Have `read` read a bucket until the future is cancelled, anew each time that it was out of reach.

        Both are called on the link's loop, `on_outage` with the reason. What else `read` raises ends it.
        """
        return asyncio.run_coroutine_threadsafe(
            self._follow(membership, bucket, read, on_outage), self._start()
        )

    def close(self) -> None:
        """End every connection."""
        if self._loop:
            with suppress(TimeoutError):
                asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(_CONNECT_S)

    async def _run(
        self, membership: Membership, bucket: str, work: Callable[[Bucket], Awaitable[T]], patience_s: float
    ) -> T:
        # Who does not wait for it leaves it to whoever asks next.
        connection = await asyncio.shield(self._connection(membership))
        from .nats_bucket import NatsBucket  # late: without the package `connect` has said what to install

        if membership in self._lost and not connection.is_connected:
            raise FleetUnreachable(f"the connection to the servers of {membership.project} is lost")
        self._lost.discard(membership)
        try:
            return await work(NatsBucket(connection, bucket, patience_s))
        except FleetUnreachable:
            self._lost |= set() if connection.is_connected else {membership}
            raise

    async def _follow(
        self,
        membership: Membership,
        bucket: str,
        read: Callable[[Bucket], Awaitable[None]],
        on_outage: Callable[[str], None],
    ) -> None:
        while True:
            try:
                await self._run(membership, bucket, read, _FOLLOW_PATIENCE_S)
            except FleetUnreachable as error:
                on_outage(str(error))
            await asyncio.sleep(_AGAIN_S)

    async def _connection(self, membership: Membership) -> Any:
        async with self._connecting:
            connection = self._connections.get(membership)
            if connection is None or connection.is_closed:
                try:
                    connection = self._connections[membership] = await connect(membership)
                except FleetUnreachable:
                    self._silent_until[membership] = monotonic() + _AGAIN_S
                    raise
            return connection

    async def _close(self) -> None:
        for connection in self._connections.values():
            await connection.close()
        self._connections.clear()

    def _start(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                Thread(target=self._loop.run_forever, name="fleet", daemon=True).start()
            return self._loop


LINK = FleetLink()
"""The link of this process."""
