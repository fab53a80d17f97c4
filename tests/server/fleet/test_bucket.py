"""The port to what machines share: its two adapters keep the same promises, one of them on a real server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from secrets import token_hex
from typing import NamedTuple

import nats.errors
import pytest
from nats.aio.client import Client
from nats.js.errors import APIError
from phasekeeper.server.fleet.bucket import HISTORY, MAX_VALUE_BYTES, Bucket, FleetUnreachable, KeyValue
from phasekeeper.server.fleet.memory_bucket import MemoryBucket
from phasekeeper.server.fleet.nats_bucket import NatsBucket, create_stream

from tests.server.fleet.nats_servers import Servers, connection_to

_NO_PEERS = 10005
_BOUND = 400
_LOOK_S = 0.02


class Rig(NamedTuple):
    """Two ends of one bucket, as two machines have them, and what lets a second of its clock pass."""

    ours: Bucket
    theirs: Bucket
    pass_second: Callable[[], Awaitable[None]]


Scene = Callable[[Rig], Awaitable[None]]
Play = Callable[[Scene], None]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    servers = Servers(tmp_path_factory.mktemp("nats"), 1)
    servers.start()
    yield servers
    servers.kill()


@asynccontextmanager
async def _in_memory() -> AsyncIterator[Rig]:
    now = 0.0

    async def pass_second() -> None:
        nonlocal now
        now += 1.0

    bucket = MemoryBucket(lambda: now)
    yield Rig(bucket, bucket, pass_second)


@asynccontextmanager
async def _on_server(servers: Servers) -> AsyncIterator[Rig]:
    name = f"bucket{token_hex(4)}"
    ours, theirs = await connection_to(servers.urls), await connection_to(servers.urls)
    try:
        await create_stream(ours, name, replicas=1, max_bytes=1 << 22)
        bucket = NatsBucket(ours, name)

        async def pass_second() -> None:
            # A lease of a second, made now, tells when the server's clock has gone on by one.
            assert await bucket.lease("clock", b"runs", 1)
            assert await _eventually(lambda: _is_free(bucket, "clock"))

        yield Rig(bucket, NatsBucket(theirs, name), pass_second)
    finally:
        await ours.close()
        await theirs.close()


async def _is_free(bucket: Bucket, key: str) -> bool:
    return await bucket.get(key) is None


async def _eventually(holds: Callable[[], Awaitable[bool]]) -> bool:
    for _ in range(_BOUND):
        if await holds():
            return True
        await asyncio.sleep(_LOOK_S)
    return False


@pytest.fixture(params=["memory", "nats"])
def play(request: pytest.FixtureRequest) -> Play:
    """Play a scene over one of the adapters."""

    async def run(scene: Scene) -> None:
        on_server = request.param == "nats"
        async with _on_server(request.getfixturevalue("server")) if on_server else _in_memory() as rig:
            await scene(rig)

    return lambda scene: asyncio.run(run(scene))


def test_a_key_is_created_once_until_it_is_free_again(play: Play) -> None:
    async def scene(rig: Rig) -> None:
        assert await rig.ours.get("task") is None
        first = await rig.ours.create("task", b"ours")
        assert first
        assert await rig.theirs.create("task", b"theirs") is None
        assert await rig.theirs.get("task") == KeyValue("task", b"ours", first)
        freed = await rig.ours.compare_and_set("task", b"", first)
        assert freed and freed > first
        assert await rig.theirs.get("task") is None
        again = await rig.theirs.create("task", b"theirs")
        assert again and again > freed
        assert await rig.ours.create("task", b"ours") is None

    play(scene)


def test_a_write_under_any_other_revision_than_the_newest_is_refused(play: Play) -> None:
    async def scene(rig: Rig) -> None:
        first = await rig.ours.create("task", b"1")
        other = await rig.ours.create("other", b"1")
        assert first and other
        second = await rig.theirs.compare_and_set("task", b"2", first)
        assert second and second > other > first
        for stale in (0, first, other, second + 1):
            assert await rig.ours.compare_and_set("task", b"3", stale) is None
        assert await rig.ours.get("task") == KeyValue("task", b"2", second)
        assert await rig.ours.compare_and_set("never", b"1", first) is None
        assert await rig.ours.compare_and_set("never", b"1", 0)

    play(scene)


def test_of_fifty_who_take_one_key_at_once_one_has_it(play: Play) -> None:
    async def scene(rig: Rig) -> None:
        takers = [(rig.ours, rig.theirs)[number % 2] for number in range(50)]
        calls = (taker.lease("task", b"%d" % number, 60) for number, taker in enumerate(takers))
        revisions = await asyncio.gather(*calls)
        (winner,) = [number for number, revision in enumerate(revisions) if revision]
        assert await rig.ours.get("task") == KeyValue("task", b"%d" % winner, revisions[winner] or 0)
        # They find the same to write over, and one of them does.
        calls = (taker.compare_and_set("task", b"x", revisions[winner] or 0) for taker in takers)
        assert sum(revision is not None for revision in await asyncio.gather(*calls)) == 1

    play(scene)


def test_a_lease_frees_its_key_and_its_revision_is_good_for_nothing_then(play: Play) -> None:
    async def scene(rig: Rig) -> None:
        first = await rig.ours.lease("task", b"ours", 1)
        assert first and await rig.theirs.lease("task", b"theirs", 60) is None
        assert await _passes(rig, lambda: _is_free(rig.theirs, "task"))
        assert await rig.ours.compare_and_set("task", b"late", first) is None
        assert await rig.ours.lease("task", b"late", 60, first) is None
        second = await rig.theirs.lease("task", b"theirs", 60)
        assert second and second > first
        assert await rig.ours.compare_and_set("task", b"late", first) is None
        assert await rig.ours.get("task") == KeyValue("task", b"theirs", second)

    play(scene)


def test_a_lease_that_was_renewed_or_made_to_last_outlives_its_time(play: Play) -> None:
    async def scene(rig: Rig) -> None:
        renewed, lasting = await rig.ours.lease("renewed", b"1", 1), await rig.ours.lease("lasting", b"1", 1)
        assert renewed and lasting
        renewed = await rig.ours.lease("renewed", b"2", 60, renewed)
        lasting = await rig.ours.compare_and_set("lasting", b"2", lasting)
        for _ in range(2):
            await rig.pass_second()
        assert await rig.theirs.get("renewed") == KeyValue("renewed", b"2", renewed or 0)
        assert await rig.theirs.get("lasting") == KeyValue("lasting", b"2", lasting or 0)

    play(scene)


def test_no_earlier_value_stands_there_again_when_a_lease_has_ended(play: Play) -> None:
    async def scene(rig: Rig) -> None:
        first = await rig.ours.create("task", b"for ever")
        assert first and await rig.ours.lease("task", b"a second", 1, first)
        assert [entry.value for entry in await rig.ours.history("task")] == [b"a second"]
        assert await _passes(rig, lambda: _is_free(rig.theirs, "task"))
        assert await rig.ours.history("task") == ()

    play(scene)


async def _passes(rig: Rig, holds: Callable[[], Awaitable[bool]]) -> bool:
    for _ in range(10):
        await rig.pass_second()
        if await holds():
            return True
    return False


def test_a_watch_shows_what_is_there_and_then_each_change_in_order(play: Play) -> None:
    async def scene(rig: Rig) -> None:
        for number in range(3):
            assert await rig.ours.create(f"a.{number}", b"%d" % number)
        assert await rig.ours.create("b.0", b"other")
        first = await rig.ours.get("a.0")
        assert first and await rig.ours.compare_and_set("a.0", b"newer", first.revision)
        seen = rig.theirs.watch("a")
        there = [entry async for entry in _first(seen, 4)]
        assert [entry and (entry.key, entry.value) for entry in there] == [
            ("a.1", b"1"),
            ("a.2", b"2"),
            ("a.0", b"newer"),
            None,
        ]
        newest = await rig.ours.get("a.0")
        assert newest and await rig.ours.compare_and_set("a.0", b"", newest.revision)
        assert await rig.ours.create("b.1", b"other") and await rig.ours.create("a.3", b"3")
        changes = [entry and (entry.key, entry.value) async for entry in _first(seen, 2)]
        assert changes == [("a.0", b""), ("a.3", b"3")]
        await seen.aclose()

    play(scene)


def test_a_watch_of_nothing_says_so_and_waits(play: Play) -> None:
    async def scene(rig: Rig) -> None:
        seen = rig.theirs.watch()
        assert [entry async for entry in _first(seen, 1)] == [None]
        revision = await rig.ours.create("task", b"new")
        assert [entry async for entry in _first(seen, 1)] == [KeyValue("task", b"new", revision or 0)]
        await seen.aclose()

    play(scene)


async def _first(entries: AsyncIterator[KeyValue | None], count: int) -> AsyncIterator[KeyValue | None]:
    for _ in range(count):
        yield await asyncio.wait_for(anext(entries), 20)


def test_the_history_of_a_key_is_its_last_values(play: Play) -> None:
    async def scene(rig: Rig) -> None:
        revision = await rig.ours.create("task", b"0")
        for number in range(1, HISTORY + 3):
            revision = await rig.ours.compare_and_set("task", b"%d" % number, revision or 0)
            assert revision
        entries = await rig.theirs.history("task")
        assert [entry.value for entry in entries] == [b"%d" % number for number in range(3, HISTORY + 3)]
        assert entries[-1].revision == revision
        assert [entry.revision for entry in entries] == sorted(entry.revision for entry in entries)
        assert await rig.theirs.history("never") == ()

    play(scene)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *((key, b"") for key in ("", "a..b", ".a", "a b", "a.*", "a.>", "ä", "a\n", "k" * 201)),
        ("task", b"x" * (MAX_VALUE_BYTES + 1)),
    ],
)
def test_what_can_be_no_key_or_value_is_refused(play: Play, key: str, value: bytes) -> None:
    async def scene(rig: Rig) -> None:
        with pytest.raises(ValueError, match=r"is no key|bytes"):
            await rig.ours.create(key, value)
        assert await rig.ours.create("task", b"x" * MAX_VALUE_BYTES)

    play(scene)


def test_a_lease_without_a_value_or_a_time_is_refused(play: Play) -> None:
    async def scene(rig: Rig) -> None:
        for value, ttl_s in ((b"", 60), (b"ours", 0)):
            with pytest.raises(ValueError, match="lease"):
                await rig.ours.lease("task", value, ttl_s)

    play(scene)


def test_a_bucket_that_nobody_serves_is_out_of_reach_and_no_key_of_it_is_free(server: Servers) -> None:
    async def scene() -> None:
        connection = await connection_to(server.urls)
        try:
            bucket = NatsBucket(connection, "missing", 0.0)
            for call in (bucket.get("task"), bucket.create("task", b"1"), bucket.history("task")):
                with pytest.raises(FleetUnreachable):
                    await call
        finally:
            await connection.close()

    asyncio.run(scene())


def test_a_bucket_is_made_once_there_are_servers_enough_for_its_copies(tmp_path: Path) -> None:
    servers = Servers(tmp_path, 3)

    async def lacks_peers(connection: Client) -> bool:
        try:
            await connection.jetstream(timeout=1).add_stream(name="early", num_replicas=3)
        except APIError as error:
            return error.err_code == _NO_PEERS
        except nats.errors.Error:
            return False
        raise AssertionError("two servers keep three copies")

    async def scene() -> None:
        servers.start(0, 1)
        connection = await connection_to(servers.urls[:2])
        try:
            assert await _eventually(lambda: lacks_peers(connection))
            making = asyncio.create_task(create_stream(connection, "late", replicas=3, max_bytes=1 << 22))
            servers.start(2)
            await making
            assert await NatsBucket(connection, "late").create("task", b"1")
        finally:
            await connection.close()

    try:
        asyncio.run(scene())
    finally:
        servers.kill()
