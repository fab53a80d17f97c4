"""A short storm of renames and removals of watched folders; `make soak` has a long one, and measures."""

from __future__ import annotations

import asyncio
import sys

import pytest

from tests.soak.storm import Storm


@pytest.fixture
def storm(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return Storm(tmp_path.resolve(), seed=1)


def test_every_change_is_shown_in_a_storm_of_renames_and_removals(storm):
    async def test() -> None:
        async with storm.served():
            for _ in range(20):
                await storm.round()
            await storm.settle()

    asyncio.run(test())


@pytest.mark.skipif(sys.platform != "linux", reason="a fault of watchdog's with inotify")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_every_change_is_shown_although_the_reader_of_events_died_of_it(storm):
    async def test() -> None:
        async with storm.served():
            for _ in range(3):
                await storm.kill_reader()
            await storm.settle()
            assert (await storm.faults())["replaced"] == 3

    asyncio.run(test())
