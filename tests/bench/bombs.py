"""How long a root is waited for beside one that asks for too much: `python -m tests.bench.bombs [BOMB…]`.

The same question about a small root is asked with it alone, then while a bomb is opened and stays open. Wall
time, for it is a wait; each figure is in milliseconds, the last column how many times as long the median is.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter

from phasekeeper.server.live.engine import Engine
from phasekeeper.server.workspace.roots import UsageError

from tests.bombs.bombs import BOMBS

RUN = ".ai-tools-chain/tasks/T1"
USUAL = ("every-run-uses-its-budget", "plans-just-within-bounds", "many-large-definitions", "a-long-journal")
QUESTIONS, PAUSE_S = 200, 0.02


async def measure(name: str) -> tuple[list[float], list[float]]:
    """(waits alone, waits beside the bomb), in seconds."""
    with tempfile.TemporaryDirectory() as folder:
        healthy, bomb = Path(folder).resolve() / "healthy", Path(folder).resolve() / "bomb"
        (healthy / RUN).mkdir(parents=True)
        (healthy / RUN / "state.json").write_text('{"phase": "planning"}')
        for root in (healthy, bomb):
            (root / ".git").mkdir(parents=True)
        BOMBS[name](bomb)
        engine = Engine(asyncio.get_running_loop())
        try:
            await engine.open(healthy)
            alone = await _waits(engine, healthy)
            opening = asyncio.ensure_future(engine.open(bomb))
            beside = await _waits(engine, healthy)
            opening.cancel()
            await asyncio.gather(opening, return_exceptions=True)
        finally:
            await engine.stop()
        return alone, beside


async def _waits(engine: Engine, root: Path) -> list[float]:
    waits = []
    for number in range(QUESTIONS):
        (root / RUN / "state.json").write_text(f'{{"phase": "planning", "n": {number}}}')
        began = perf_counter()
        await engine.look_again(root, RUN)
        waits.append(perf_counter() - began)
        await asyncio.sleep(PAUSE_S)
    return waits


def main() -> None:
    print(f"{'beside':32} {'alone':>8} {'median':>8} {'p95':>8} {'worst':>8} {'times':>6}")
    for name in sys.argv[1:] or USUAL:
        try:
            alone, beside = asyncio.run(measure(name))
        except UsageError as error:
            print(f"{name:32} {error}")
            continue
        usual, now, p95 = median(alone), median(beside), quantiles(beside, n=20)[-1]
        figures = " ".join(f"{each * 1000:8.2f}" for each in (usual, now, p95, max(beside)))
        print(f"{name:32} {figures} {now / usual:6.2f}")


if __name__ == "__main__":
    main()
