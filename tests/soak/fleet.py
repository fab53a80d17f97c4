"""Rivals on three servers of a fleet through random faults, round after round, each history checked."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random

from tests.server.fleet.nats_servers import Servers
from tests.server.fleet.test_faults import Fleet, eventually, is_served, play


def play_rounds(count: int, seed: int) -> None:
    """Raises AssertionError for a claim that is lost, had twice, or reported under a stale token."""
    random = Random(seed)
    with tempfile.TemporaryDirectory(prefix="phasekeeper-fleet-") as folder:
        servers = Servers(Path(folder), 3)
        servers.start()
        try:
            for number in range(count):
                faults = [random.choice(_FAULTS) for _ in range(3)]
                play(servers, lambda fleet, faults=faults: _round(fleet, faults, random), seed + number)
                print(
                    f"round {number + 1}: {', '.join(fault.__name__.strip('_') for fault in faults)}",
                    flush=True,
                )
        finally:
            servers.kill()


async def _round(fleet: Fleet, faults: list[Fault], random: Random) -> None:
    async def fault(one: Fault) -> None:
        await one(fleet, random)
        assert await eventually(lambda: is_served(fleet, 15.0))

    await fleet.work(60, *((lambda one=one: fault(one)) for one in faults))


async def _kill_leader(fleet: Fleet, random: Random) -> None:
    leader = await fleet.leader()
    fleet.servers.kill(leader)
    assert await eventually(lambda: is_served(fleet, 15.0))
    fleet.servers.start(leader)


async def _kill_two(fleet: Fleet, random: Random) -> None:
    killed = random.sample(range(3), 2)
    fleet.servers.kill(*killed)
    fleet.servers.start(*killed)


async def _pause_one(fleet: Fleet, random: Random) -> None:
    paused = random.randrange(3)
    fleet.servers.pause(paused)
    await asyncio.sleep(random.uniform(0.5, 8.0))
    fleet.servers.resume(paused)


async def _cut_line(fleet: Fleet, random: Random) -> None:
    for line in fleet.lines:
        line.cut()
    await asyncio.sleep(random.uniform(0.5, 4.0))
    for line in fleet.lines:
        line.mend()


Fault = Callable[[Fleet, Random], Awaitable[None]]
_FAULTS: tuple[Fault, ...] = (_kill_leader, _kill_two, _pause_one, _cut_line)
