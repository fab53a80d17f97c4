"""The bucket of many machines: a key-value bucket of NATS JetStream, written with our own compare-and-set.

A key is a subject of the stream `KV_<name>`, a revision the stream's sequence number. Each write names the
sequence that it expects to be its subject's last. The client's own `create` is not used: under a race it ends
in three ways (errors 10071 and 10164, and KeyNotFoundError from a replica that lags behind), which all mean
"not mine, read again"; issues of the server and its clients: nats-server#7281, nats.py#782, nats.go#2097.

A write whose answer is lost is sent again under the same message id, which the server stores once within its
window of duplicates; that the value there is this very write is seen by that id. Reads go to the leader
(`allow_direct` is off), since a replica may be behind.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from functools import partial
from secrets import token_hex
from typing import Any, TypeVar

import nats.errors
from nats.aio.client import Client
from nats.js import api
from nats.js.errors import APIError, NotFoundError
from nats.js.errors import Error as JetStreamError

from .bucket import HISTORY, MAX_VALUE_BYTES, FleetUnreachable, KeyValue, require_key, require_lease

PATIENCE_S = 12.0
"""A call waits so long for a majority: after a leader was lost another is chosen within 4 to 9 seconds."""
_OFFLINE_S = 2.0
"""And so long for a connection to any server."""
_ATTEMPT_S = 2.0
_AGAIN_S = 0.05
_SILENCE_S = 2.0
"""A watch that hears nothing for so long looks whether its consumer is there still."""
_MOST_WAITING = 16 << 20
"""Bytes that wait for one reader."""
_AT_HAND = 512
"""Messages that a watch takes without another turn of the loop, in which the connection would read more."""
_NOT_MINE = (10071, 10164)
"""The server's codes for another last sequence: of one that is stored, and of one that is on its way."""
_NO_MESSAGE = 10037
_REFUSED = (400, 403, 404)
_NO_PEERS = 10005
"""Servers that begin know too few of the others to keep copies on; they say it as what they refuse."""
_ID = "Nats-Msg-Id"
_EXPECTED = "Nats-Expected-Last-Subject-Sequence"
_HEADER_BYTES = 512

T = TypeVar("T")


class NatsBucket:
    """A `Bucket` over a connection, which belongs to the caller and connects again by itself."""

    def __init__(self, connection: Client, name: str, patience_s: float = PATIENCE_S) -> None:
        self._connection = connection
        self._jetstream = connection.jetstream(timeout=_ATTEMPT_S)
        self._stream = f"KV_{name}"
        self._subjects = f"$KV.{name}."
        self._patience_s = patience_s

    async def get(self, key: str) -> KeyValue | None:
        require_key(key)
        message = await self._last_message(key)
        return KeyValue(key, message.data or b"", message.seq or 0) if message and message.data else None

    async def create(self, key: str, value: bytes) -> int | None:
        return await self._create(key, value, {})

    async def compare_and_set(self, key: str, value: bytes, revision: int) -> int | None:
        return await self._write(key, value, revision, {})

    async def lease(self, key: str, value: bytes, ttl_s: int, revision: int = 0) -> int | None:
        require_lease(value, ttl_s)
        # A value before this one would stand there again when this one ends: the rollup takes it away.
        headers = {"Nats-TTL": str(ttl_s), "Nats-Rollup": "sub"}
        if revision:
            return await self._write(key, value, revision, headers)
        return await self._create(key, value, headers)

    async def history(self, key: str) -> tuple[KeyValue, ...]:
        require_key(key)

        async def entries() -> tuple[KeyValue, ...]:
            config = _consumer(api.DeliverPolicy.ALL)
            subscription = await self._subscribe(key, config)
            try:
                info = await subscription.consumer_info()
                count = info.num_pending + info.delivered.consumer_seq
                messages = [await subscription.next_msg(_ATTEMPT_S) for _ in range(count)]
            finally:
                await self._unsubscribe(subscription)
            return tuple(self._entry(message) for message in messages)

        return (await self._patiently(entries))[-HISTORY:]

    async def watch(self, prefix: str = "") -> AsyncGenerator[KeyValue | None, None]:
        filters = f"{prefix}.>" if prefix else ">"
        seen, is_whole = 0, False
        while True:
            arrivals: asyncio.Queue[Any] = asyncio.Queue(_AT_HAND)
            begin = partial(self._subscribe_from, filters, seen, arrivals)
            subscription, pending = await self._patiently(begin)
            try:
                expected = 1
                if not is_whole and not pending:
                    is_whole = True
                    yield None
                while (message := await self._next_message(subscription, arrivals, expected)) is not None:
                    expected += 1
                    entry = self._entry(message)
                    seen = entry.revision
                    yield entry
                    if not is_whole and message.metadata.num_pending == 0:
                        is_whole = True
                        yield None
            finally:
                await self._unsubscribe(subscription)

    # ---- writing

    async def _create(self, key: str, value: bytes, headers: Mapping[str, str]) -> int | None:
        revision = await self._write(key, value, 0, headers)
        if revision is None:
            # A key that was freed has a last sequence still: that of its empty value.
            newest = await self._last_message(key)
            if newest is not None and not newest.data:
                return await self._write(key, value, newest.seq or 0, headers)
        return revision

    async def _write(self, key: str, value: bytes, revision: int, headers: Mapping[str, str]) -> int | None:
        require_key(key, value)
        message_id = token_hex(16)
        headers = {**headers, _ID: message_id, _EXPECTED: str(revision)}
        attempts = 0

        async def publish() -> int | None:
            nonlocal attempts
            attempts += 1
            try:
                return (await self._jetstream.publish(self._subjects + key, value, headers=dict(headers))).seq
            except APIError as error:
                if error.err_code not in _NOT_MINE:
                    raise
            # The answer to an earlier attempt may be what was lost.
            newest = await self._last_message(key) if attempts > 1 else None
            is_mine = newest is not None and (newest.headers or {}).get(_ID) == message_id
            return newest.seq if newest and is_mine else None

        return await self._patiently(publish)

    async def _patiently(self, call: Callable[[], Awaitable[T]]) -> T:
        return await patiently(self._connection, self._patience_s, call)

    # ---- reading

    async def _last_message(self, key: str) -> api.RawStreamMsg | None:
        async def message() -> api.RawStreamMsg | None:
            try:
                return await self._jetstream.get_msg(self._stream, subject=self._subjects + key)
            except NotFoundError as error:
                # A bucket that is missing is another thing than a key that is free.
                if error.err_code == _NO_MESSAGE:
                    return None
                raise

        return await self._patiently(message)

    async def _subscribe_from(self, filters: str, seen: int, arrivals: asyncio.Queue[Any]) -> tuple[Any, int]:
        """(a subscription to what was written after `seen`, of the first one how many values there are).

        Messages are put into `arrivals`; what it has no room for waits in the client.
        """
        newest = api.DeliverPolicy.LAST_PER_SUBJECT
        config = _consumer(newest) if not seen else _consumer(api.DeliverPolicy.BY_START_SEQUENCE, seen + 1)
        subscription = await self._subscribe(filters, config, partial(_put, arrivals))
        try:
            info = await subscription.consumer_info()
        except BaseException:
            await self._unsubscribe(subscription)
            raise
        return subscription, info.num_pending + info.delivered.consumer_seq

    async def _subscribe(
        self,
        filters: str,
        config: api.ConsumerConfig,
        put: Callable[[Any], Coroutine[Any, Any, None]] | None = None,
    ) -> Any:
        # What comes faster than it is taken is dropped, and read anew: then of each key the newest.
        return await self._jetstream.subscribe(
            self._subjects + filters,
            stream=self._stream,
            config=config,
            cb=put,
            pending_bytes_limit=_MOST_WAITING,
        )

    async def _unsubscribe(self, subscription: Any) -> None:
        """End a subscription, and its consumer too, of which the server has a most."""
        with suppress(nats.errors.Error, OSError, TimeoutError):
            name = (await subscription.consumer_info()).name
            await subscription.unsubscribe()
            await self._jetstream.delete_consumer(self._stream, name)

    async def _next_message(self, subscription: Any, arrivals: asyncio.Queue[Any], expected: int) -> Any:
        """The next message, the `expected`th of its consumer; None where one is missing or the consumer is
        gone, as with the server that it lived on."""
        while True:
            try:
                async with asyncio.timeout(_SILENCE_S):
                    message = await arrivals.get()
            except TimeoutError:
                with suppress(nats.errors.Error, TimeoutError):
                    info = await subscription.consumer_info()
                    if info.delivered.consumer_seq < expected:
                        continue
                return None
            return message if message.metadata.sequence.consumer == expected else None

    def _entry(self, message: Any) -> KeyValue:
        key = message.subject.removeprefix(self._subjects)
        return KeyValue(key, message.data, message.metadata.sequence.stream)


async def _put(arrivals: asyncio.Queue[Any], message: Any) -> None:
    await arrivals.put(message)


async def patiently(connection: Client, patience_s: float, call: Callable[[], Awaitable[T]]) -> T:
    """What `call` returns; it is made again while servers choose a leader or the connection another server.

    Raises FleetUnreachable at last, and at once for what the server refuses.
    """
    clock = asyncio.get_running_loop().time
    until = clock() + patience_s
    offline_until: float | None = None
    while True:
        try:
            return await call()
        except APIError as error:
            if error.code in _REFUSED and error.err_code != _NO_PEERS:
                raise FleetUnreachable(f"the fleet's server refuses: {error.description}") from error
            said = error.description
        except (nats.errors.Error, JetStreamError, OSError, TimeoutError) as error:
            said = str(error)
        if connection.is_connected:
            offline_until = None
        elif offline_until is None:
            offline_until = clock() + _OFFLINE_S
        now = clock()
        if connection.is_closed or now >= until or (offline_until is not None and now >= offline_until):
            raise FleetUnreachable(f"the fleet's server does not answer: {said}")
        await asyncio.sleep(_AGAIN_S)


def _consumer(policy: api.DeliverPolicy, start: int | None = None) -> api.ConsumerConfig:
    """What is delivered to one reader, unacknowledged: it counts for itself what came."""
    return api.ConsumerConfig(
        deliver_policy=policy,
        opt_start_seq=start,
        ack_policy=api.AckPolicy.NONE,
        mem_storage=True,
        num_replicas=1,
        inactive_threshold=30.0,
        max_deliver=1,
    )


async def create_stream(connection: Client, name: str, *, replicas: int, max_bytes: int) -> None:
    """Create the bucket of that name, or let it be where it is. Raises FleetUnreachable.

    Values are in files, on `replicas` servers. A full bucket refuses what is new: it never drops a claim.
    """
    config = api.StreamConfig(
        name=f"KV_{name}",
        subjects=[f"$KV.{name}.>"],
        storage=api.StorageType.FILE,
        num_replicas=replicas,
        max_msgs_per_subject=HISTORY,
        max_msg_size=MAX_VALUE_BYTES + _HEADER_BYTES,
        max_bytes=max_bytes,
        discard=api.DiscardPolicy.NEW,
        allow_rollup_hdrs=True,
        allow_direct=False,
        allow_msg_ttl=True,
        deny_delete=True,
    )
    manager = connection.jetstream(timeout=_ATTEMPT_S)
    await patiently(connection, 4 * PATIENCE_S, lambda: manager.add_stream(config))
