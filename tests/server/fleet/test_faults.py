"""Three servers of a fleet, killed, cut off and replayed to while rivals claim and report tasks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random
from secrets import token_hex

import pytest
from nats.aio.client import Client
from phasekeeper.server.fleet.bucket import FleetUnreachable, KeyValue
from phasekeeper.server.fleet.claim_register import TaskConflict
from phasekeeper.server.fleet.nats_bucket import NatsBucket, create_stream

from tests.server.fleet.nats_servers import Servers, connection_to
from tests.server.fleet.proxy import Proxy, replay
from tests.server.fleet.rivals import Call, Rival, follow, lost_claims, violations

TASKS = [f"f-{number:02}" for number in range(12)]
_BOUND = 1500
_LOOK_S = 0.02


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    servers = Servers(tmp_path_factory.mktemp("cluster"), 3)
    servers.start()
    yield servers
    servers.kill()


@dataclass
class Fleet:
    """Rivals on a cluster, one of them, the last, behind a line that can be cut, and each one's board."""

    servers: Servers
    observer: Client
    name: str
    bucket: NatsBucket
    rivals: list[Rival]
    history: list[Call]
    boards: list[dict[str, tuple[int, bytes]]]
    lines: list[Proxy]

    async def leader(self) -> int:
        info = await self.observer.jetstream().stream_info(f"KV_{self.name}")
        assert info.cluster and info.cluster.leader
        return int(info.cluster.leader.removeprefix("n"))

    async def work(self, rounds: int, *faults: Callable[[], Awaitable[object]]) -> None:
        """Have all rivals work while the faults come one after the other; then no rule is broken."""
        tasks = [asyncio.ensure_future(rival.work(TASKS, rounds)) for rival in self.rivals]
        for fault in faults:
            await fault()
        await asyncio.gather(*tasks)
        assert violations(self.history) == []
        assert await lost_claims(self.bucket, self.rivals, self.history) == []

    async def is_agreed(self) -> bool:
        newest: dict[str, tuple[int, bytes]] = {}
        async for entry in self.bucket.watch():
            if entry is None:
                break
            newest[entry.key] = (entry.revision, entry.value)
        # What has ended stands on boards still: the end of a lease is not told.
        return all(all(board.get(key) == value for key, value in newest.items()) for board in self.boards)


@asynccontextmanager
async def _fleet(servers: Servers, seed: int) -> AsyncIterator[Fleet]:
    observer = await connection_to(servers.urls)
    name, history = f"claims{token_hex(4)}", list[Call]()
    await create_stream(observer, name, replicas=3, max_bytes=1 << 24)
    lines = [Proxy(port) for port in servers.ports]
    cut_off = [await line.open() for line in lines]
    random = Random(seed)
    connections = [await connection_to(servers.urls) for _ in range(3)]
    connections.append(await connection_to(cut_off, dont_randomize=True))
    rivals = [
        Rival(f"m{number}", NatsBucket(connection, name), history, Random(random.random()))
        for number, connection in enumerate(connections)
    ]
    boards = [dict[str, tuple[int, bytes]]() for _ in rivals]
    following = [
        asyncio.ensure_future(follow(rival.bucket, board))
        for rival, board in zip(rivals, boards, strict=True)
    ]
    try:
        yield Fleet(servers, observer, name, NatsBucket(observer, name), rivals, history, boards, lines)
    finally:
        for each in following:
            each.cancel()
        await asyncio.gather(*following, return_exceptions=True)
        for connection in (*connections, observer):
            await connection.close()
        for line in lines:
            await line.close()


async def eventually(holds: Callable[[], Awaitable[bool]]) -> bool:
    for _ in range(_BOUND):
        if await holds():
            return True
        await asyncio.sleep(_LOOK_S)
    return False


def play(servers: Servers, scene: Callable[[Fleet], Awaitable[None]], seed: int = 1) -> None:
    async def run() -> None:
        async with _fleet(servers, seed) as fleet:
            await scene(fleet)
            assert await eventually(fleet.is_agreed), "boards differ"

    asyncio.run(run())


def test_no_claim_is_lost_or_had_twice_when_the_leader_and_then_another_is_killed(
    cluster: Servers,
) -> None:
    async def scene(fleet: Fleet) -> None:
        killed = list[int]()

        async def kill_leader() -> None:
            killed.append(await fleet.leader())
            cluster.kill(killed[0])
            assert await eventually(lambda: is_served(fleet, 15.0))

        async def kill_another() -> None:
            killed.append(await fleet.leader())
            cluster.kill(killed[1])
            with pytest.raises(FleetUnreachable):
                await NatsBucket(fleet.observer, fleet.name, 0.5).create("never", b"1")

        async def restart() -> None:
            cluster.start(*killed)
            assert await eventually(lambda: is_served(fleet, 15.0))

        await fleet.work(30, kill_leader, kill_another, restart)
        assert len({call.rival for call in fleet.history}) == len(fleet.rivals)
        assert await fleet.bucket.get("never") is None

    play(cluster, scene)


async def is_served(fleet: Fleet, patience_s: float) -> bool:
    try:
        await NatsBucket(fleet.observer, fleet.name, patience_s).lease("served", b"yes", 1)
    except FleetUnreachable:
        return False
    return True


def test_one_who_is_cut_off_and_comes_back_breaks_nothing_and_sees_all(cluster: Servers) -> None:
    async def scene(fleet: Fleet) -> None:
        lonely = fleet.rivals[-1]
        assert await lonely.take("f-00", 1)
        cut_token = fleet.history[-1].revision
        for line in fleet.lines:
            line.cut()
        with pytest.raises(FleetUnreachable):
            await lonely.report("f-00", cut_token)
        other = fleet.rivals[0]
        assert await eventually(lambda: _takes(other, "f-00"))
        for line in fleet.lines:
            line.mend()
        assert await eventually(lambda: _is_stale(lonely, "f-00", cut_token))
        await fleet.work(8)

    play(cluster, scene, seed=3)


async def _takes(rival: Rival, task: str) -> bool:
    try:
        return bool(await rival.take(task, 600))
    except TaskConflict:
        return False


async def _is_stale(rival: Rival, task: str, token: int) -> bool:
    """True once the report under a token is refused; one that cannot be asked about is asked again."""
    try:
        await rival.report(task, token)
    except TaskConflict as refusal:
        assert refusal.holder and refusal.holder.member != rival.name
        return True
    except FleetUnreachable:
        return False
    raise AssertionError("a report under a stale token has landed")


def test_messages_that_come_twice_and_late_change_nothing(cluster: Servers) -> None:
    async def scene(fleet: Fleet) -> None:
        await fleet.work(12)
        published = [frame for line in fleet.lines for frame in line.published]
        assert len(published) > 10

        keys = sorted(fleet.boards[0])

        async def table() -> set[KeyValue]:
            return {value for key in keys for value in await fleet.bucket.history(key)}

        before = await table()
        for port in cluster.ports:
            await replay(port, published)
        # What is written now was taken in behind what was replayed.
        assert await fleet.bucket.create("behind", b"1")
        # A lease may have ended meanwhile; nothing has come.
        assert before and await table() <= before

    play(cluster, scene, seed=4)


def test_a_history_that_breaks_a_rule_is_seen() -> None:
    def call(kind: str, rival: str, revision: int, at: float = 0.0, ttl_s: int = 600) -> Call:
        return Call(kind, "f-00", rival, at, at, revision, ttl_s)

    mine = [call("take", "a", 1), call("begin", "a", 2), call("done", "a", 3)]
    assert violations(mine) == []
    assert violations([*mine, call("done", "b", 4)]) == [
        "f-00: done by b again",
        "f-00: b got in between a report of a",
    ]
    assert violations([call("take", "a", 1), call("take", "b", 2, 1.0)]) == ["f-00: b took it while a had it"]
    assert violations([call("take", "a", 1), call("begin", "b", 2)]) == ["f-00: b reported under a's claim"]
    assert violations([call("take", "a", 1), call("take", "b", 1, 700.0)]) == ["f-00: revision 1 twice"]
    assert violations([call("take", "a", 1, ttl_s=1), call("take", "b", 2, 1.0)]) == []
    given_back = [call("take", "a", 1), call("free", "a", 0, 1.0), call("take", "b", 3, 2.0)]
    assert violations(given_back) == []
