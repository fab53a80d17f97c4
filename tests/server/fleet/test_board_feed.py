"""The board is told as it changes: once a change, the newest after an outage, and nothing twice."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from phasekeeper.orchestration.fleet import board_index
from phasekeeper.orchestration.fleet.shared_board import RunSummary
from phasekeeper.server.fleet import board_feed
from phasekeeper.server.fleet.board_feed import BoardFeed, read_board
from phasekeeper.server.fleet.bucket import FleetUnreachable
from phasekeeper.server.fleet.memory_bucket import MemoryBucket

_BOUND = 2000


def summary(run: str, phase: str = "4a", at: str = "12:00") -> RunSummary:
    return RunSummary(run, "master-plan", "ann", "c", "active", phase, "stay", 1, 2, phase, "abc", at)


class FragileBucket(MemoryBucket):
    """A bucket whose servers can be lost, and that counts what is written."""

    is_lost = False
    written = 0

    async def compare_and_set(self, key: str, value: bytes, revision: int) -> int | None:
        self._require()
        return await super().compare_and_set(key, value, revision)

    async def create(self, key: str, value: bytes) -> int | None:
        self._require()
        return await super().create(key, value)

    def _require(self) -> None:
        if self.is_lost:
            raise FleetUnreachable("lost")
        self.written += 1

    async def connect(self) -> FragileBucket:
        if self.is_lost:
            raise FleetUnreachable("lost")
        return self


async def told(bucket: MemoryBucket, wanted: dict[str, str]) -> None:
    """Return once the board has these runs in these phases."""
    runs: dict[str, str] = {}
    for _ in range(_BOUND):
        runs = {run.run: run.clones[0].phase for run in (await read_board(bucket)).runs}
        if runs == wanted:
            return
        await asyncio.sleep(0)
    raise AssertionError(f"the board has {runs}, not {wanted}")


def play(scene: Callable[[FragileBucket, BoardFeed], Awaitable[None]]) -> None:
    async def run() -> None:
        bucket = FragileBucket()
        feed = BoardFeed("ann", "c", bucket.connect)
        try:
            await scene(bucket, feed)
        finally:
            await feed.stop()

    asyncio.run(run())


def test_each_change_is_one_message_and_what_is_the_same_none() -> None:
    async def scene(bucket: FragileBucket, feed: BoardFeed) -> None:
        feed.update([summary("a"), summary("b")])
        await told(bucket, {"a": "4a", "b": "4a"})
        assert bucket.written == 2
        feed.update([summary("a", at="13:00"), summary("b", "4b")])
        await told(bucket, {"a": "4a", "b": "4b"})
        feed.update([], ["a"])
        await told(bucket, {"b": "4b"})
        assert bucket.written == 4

    play(scene)


def test_after_an_outage_the_newest_is_told_and_nothing_in_between(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board_feed, "_AGAIN_S", 0.0)

    async def scene(bucket: FragileBucket, feed: BoardFeed) -> None:
        feed.update([summary("a"), summary("gone")])
        await told(bucket, {"a": "4a", "gone": "4a"})
        bucket.is_lost = True
        for phase in ("4b", "5a", "5b"):
            feed.update([summary("a", phase)])
            await asyncio.sleep(0)
        feed.update([summary("new")], ["gone"])
        before = bucket.written
        bucket.is_lost = False
        await told(bucket, {"a": "5b", "new": "4a"})
        assert bucket.written == before + 3

    play(scene)


def test_a_start_tells_only_what_differs_and_takes_away_what_is_gone() -> None:
    async def scene(bucket: FragileBucket, feed: BoardFeed) -> None:
        feed.update([summary("same"), summary("changed"), summary("gone")])
        await told(bucket, {"same": "4a", "changed": "4a", "gone": "4a"})
        await feed.stop()
        before = bucket.written
        again = BoardFeed("ann", "c", bucket.connect)
        again.update([summary("same", at="14:00"), summary("changed", "4b")])
        await told(bucket, {"same": "4a", "changed": "4b"})
        assert bucket.written == before + 2
        await again.stop()

    play(scene)


def test_two_servers_of_one_clone_come_to_the_same() -> None:
    async def scene(bucket: FragileBucket, feed: BoardFeed) -> None:
        other = BoardFeed("ann", "c", bucket.connect)
        feed.update([summary("a")])
        other.update([summary("a")])
        await told(bucket, {"a": "4a"})
        other.update([summary("a", "4b")])
        await told(bucket, {"a": "4b"})
        feed.update([summary("a", "5a")])
        await told(bucket, {"a": "5a"})
        await other.stop()

    play(scene)


def test_what_others_write_there_is_no_row() -> None:
    async def scene(bucket: FragileBucket, feed: BoardFeed) -> None:
        for number, raw in enumerate((b"garbage", b"{}", b"[" * 5000, b"\xff")):
            await bucket.create(f"eve.c.{number}", raw)
        forged = board_feed.format_summary(summary("a"))
        await bucket.create("eve.c.forged", forged)
        feed.update([summary("b")])
        await told(bucket, {"b": "4a"})
        assert (await read_board(bucket)).unread == 5

    play(scene)


def test_the_board_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board_index, "MAX_ROWS", 3)

    async def scene(bucket: FragileBucket, feed: BoardFeed) -> None:
        feed.update([summary(f"run-{number}") for number in range(5)])
        while bucket.written < 5:
            await asyncio.sleep(0)
        board = await read_board(bucket)
        assert (len(board.runs), board.unread) == (3, 2)
        monkeypatch.setattr(board_index, "MAX_ROWS", 5)
        monkeypatch.setattr(board_index, "MAX_BOARD_BYTES", 1)
        assert await read_board(bucket) == ((), 5)

    play(scene)
