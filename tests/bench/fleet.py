"""`python -m tests.bench.fleet [--machines 200] [--runs 100] [--rate 50] [--seconds 20] [--own-runs]`:
the shared board.

Three servers of NATS with three copies of everything on this machine, `sync_interval: always`, and simulated
servers of ours, each with the feed that a real one has. First every machine tells all its runs, then changes
come at a rate, and another machine follows the board. What is measured is the way from a change to that one's
board, and what following costs in memory. All share this machine's processors. Every machine has the same
runs; with `--own-runs` each has others.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
from collections.abc import Mapping
from pathlib import Path
from time import perf_counter
from typing import Any

from phasekeeper.orchestration.fleet.board_index import BoardIndex
from phasekeeper.orchestration.fleet.shared_board import RunSummary
from phasekeeper.server.fleet.board_feed import BoardFeed
from phasekeeper.server.fleet.nats_bucket import NatsBucket, create_stream
from phasekeeper.server.hub.process import resident_bytes

from tests.bench.machine import machine
from tests.server.fleet.nats_servers import Servers, connection_to

_BUCKET = "board"
_SETTLE_S = 180.0


def _summary(member: str, run: int, phase: str) -> RunSummary:
    return RunSummary(
        f".orchestrator/tasks/run-{run:04}", "master-plan", member, "clone", "active", phase, "stay 4a",
        3, 12, f"{run:016x}", "a" * 40, "2030-01-01T12:00:00+00:00", ("approve",),
    )  # fmt: skip


class _Observer:
    """A machine that follows the board: when each change came, by the phase that it names."""

    def __init__(self, bucket: NatsBucket) -> None:
        self.seen: dict[str, float] = {}
        self.index = BoardIndex()
        self.rows = 0
        self._task = asyncio.ensure_future(self._follow(bucket))

    async def _follow(self, bucket: NatsBucket) -> None:
        is_whole = False
        async for value in bucket.watch():
            if value is None:
                self.index.sort()
                is_whole = True
                continue
            run = self.index.put(value.key, value.value)
            if not is_whole:
                self.rows += 1
            elif run and (line := self.index.line(run)):
                phases = (clone.phase for clone in self.index.shared_run(line.run).clones)
                for phase in phases:
                    self.seen.setdefault(phase, perf_counter())

    def stop(self) -> None:
        self._task.cancel()


async def _until(holds: Any, what: str) -> None:
    until = perf_counter() + _SETTLE_S
    while not holds():
        assert perf_counter() < until, what
        await asyncio.sleep(0.02)


async def _measure(servers: Servers, options: argparse.Namespace) -> None:
    connections = [await connection_to(servers.urls) for _ in range(options.machines)]
    await create_stream(connections[0], _BUCKET, replicas=3, max_bytes=1 << 27)

    async def bucket_of(number: int) -> NatsBucket:
        return NatsBucket(connections[number], _BUCKET)

    def first_run(number: int) -> int:
        return number * options.runs if options.own_runs else 0

    feeds = [
        BoardFeed(f"m{number}", "clone", lambda number=number: bucket_of(number))
        for number in range(options.machines)
    ]
    total, begun = options.machines * options.runs, perf_counter()
    for number, feed in enumerate(feeds):
        feed.update([_summary(f"m{number}", first_run(number) + run, "4a") for run in range(options.runs)])
    await _until(lambda: not any(feed._due for feed in feeds), "the first telling")
    first_s = perf_counter() - begun
    print(f"first telling of {total:,} runs: {first_s:.1f} s, {total / first_s:,.0f} a second")
    before, begun = resident_bytes(), perf_counter()
    observer = _Observer(NatsBucket(await connection_to(servers.urls), _BUCKET))
    await _until(lambda: observer.rows == total, "the first look")
    took, grown = perf_counter() - begun, (resident_bytes() or 0) - (before or 0)
    print(f"first look of another machine: {took:.1f} s; its memory grows by {grown / 2**20:.0f} MiB")
    sent: dict[str, float] = {}
    for count in range(options.rate * options.seconds):
        number, run = count % options.machines, count // options.machines % options.runs
        phase = f"change-{count}"
        sent[phase] = perf_counter()
        feeds[number].update([_summary(f"m{number}", first_run(number) + run, phase)])
        await asyncio.sleep(max(0.0, begun_at(sent) + (count + 1) / options.rate - perf_counter()))
    await _until(lambda: all(phase in observer.seen for phase in sent), "the last change")
    delays = sorted((observer.seen[phase] - at) * 1000 for phase, at in sent.items())
    p50, p99 = statistics.median(delays), delays[int(len(delays) * 0.99)]
    rate = f"{len(delays):,} changes at {options.rate} a second"
    print(f"{rate}: p50 {p50:.1f} ms, p99 {p99:.1f} ms, most {delays[-1]:.1f} ms")
    observer.stop()
    for feed in feeds:
        await feed.stop()
    for connection in connections:
        await connection.close()


def begun_at(sent: Mapping[str, float]) -> float:
    return next(iter(sent.values()))


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m tests.bench.fleet", description=__doc__)
    for name, default in {"machines": 200, "runs": 100, "rate": 50, "seconds": 20}.items():
        options.add_argument(f"--{name}", type=int, default=default)
    options.add_argument("--own-runs", action="store_true")
    print(machine())
    with tempfile.TemporaryDirectory(prefix="phasekeeper-fleet-") as folder:
        servers = Servers(Path(folder), 3)
        servers.start()
        try:
            asyncio.run(_measure(servers, options.parse_args()))
        finally:
            servers.kill()


if __name__ == "__main__":
    main()
