"""A board that is followed while a member writes more than anybody reads."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from phasekeeper.orchestration.fleet.shared_board import RunSummary, format_summary, summary_key
from phasekeeper.server.fleet import board_watch, nats_bucket
from phasekeeper.server.fleet.board_watch import MOST_A_SECOND, Pace, follow_board
from phasekeeper.server.fleet.bucket import Bucket
from phasekeeper.server.fleet.connection import BOARD, LINK

from tests.server.fleet.machines import Machines

_BOUND = 1500
_LOOK_S = 0.02


def test_a_reader_takes_no_more_a_second_than_it_may() -> None:
    now, waited = [0.0], list[float]()

    async def sleep(seconds: float) -> None:
        waited.append(seconds)
        now[0] += seconds

    async def read(count: int, each_s: float) -> float:
        begun, pace = now[0], Pace(lambda: now[0], sleep)
        for _ in range(count):
            now[0] += each_s
            await pace.keep()
        return now[0] - begun

    assert asyncio.run(read(3000, 0.0)) == pytest.approx(3000 / MOST_A_SECOND)
    waited.clear()
    # A pause behind a few is not made up for by more at once.
    assert asyncio.run(read(100, 2 / MOST_A_SECOND)) == pytest.approx(200 / MOST_A_SECOND)
    assert waited == []


def test_of_a_flood_the_newest_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board_watch, "MOST_A_SECOND", 50)
    monkeypatch.setattr(nats_bucket, "_MOST_WAITING", 10_000)
    monkeypatch.setattr(nats_bucket, "_AT_HAND", 8)
    machines = Machines(tmp_path / "machines", "ann", "bob")

    async def flood(bucket: Bucket) -> None:
        for number in range(400):
            phase, at = f"p{number}", "2030-01-01T00:00:00+00:00"
            row = RunSummary(
                "work/one", "planned", "bob", "c", "active", phase, "do", 0, 1, "r", "a" * 40, at
            )
            key = summary_key("bob", "c", "work/one")
            before = await bucket.get(key)
            assert await bucket.compare_and_set(key, format_summary(row), before.revision if before else 0)

    async def scene() -> None:
        told = list[str | None]()
        watch, leave = follow_board(machines.memberships["ann"], told.append)
        await asyncio.to_thread(LINK.call, machines.memberships["bob"], BOARD, flood)
        phases = list[str]()
        for _ in range(_BOUND):
            phases = [clone.phase for run in watch.index.board().runs for clone in run.clones]
            if phases == ["p399"]:
                break
            await asyncio.sleep(_LOOK_S)
        assert phases == ["p399"] and watch.outage is None
        # What came too fast was passed over.
        assert 0 < len(told) < 400
        leave()

    try:
        asyncio.run(scene())
    finally:
        machines.stop()
