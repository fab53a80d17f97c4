"""Writers of this process in the order in which they came: one at a time writes a run.

The lock of a run is taken by polling: of several who wait any may get it, and one may wait in vain while
others pass. Whoever writes through this server waits here first, without a thread, and then only for writers
of other processes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import ParamSpec, TypeVar
from weakref import WeakValueDictionary

QUEUE_S = 60.0
"""So long a writer waits for its turn. Each before it takes some milliseconds, or ten seconds where another
process has the lock."""
_MAX_WRITERS = 32
"""At one time, in all roots; more wait for their turn."""
_writers = ThreadPoolExecutor(_MAX_WRITERS, "phasekeeper-writer")

P = ParamSpec("P")
T = TypeVar("T")


async def run_in_writer_thread(work: Callable[P, T], *arguments: P.args, **keywords: P.kwargs) -> T:
    """Run `work` on a thread for writers, and return what it returns. Raises what that raises."""
    return await asyncio.get_running_loop().run_in_executor(_writers, partial(work, *arguments, **keywords))


class WriterQueue:
    """The writers of each run, first come, first served. Belongs to one loop."""

    def __init__(self, refusal: type[Exception]) -> None:
        """`refusal` is raised, with a sentence, where a turn does not come in time."""
        self._refusal = refusal
        # One that nobody holds or waits for goes.
        self._locks = WeakValueDictionary[tuple[Path, str], asyncio.Lock]()

    @asynccontextmanager
    async def turn(self, root: Path, run: str) -> AsyncIterator[None]:
        """The time in which nobody else of this queue writes the run.

        Raises the refusal when its turn does not come within `QUEUE_S`.
        """
        lock = self._locks.setdefault((root, run), asyncio.Lock())
        try:
            async with asyncio.timeout(QUEUE_S):
                # Those who wait get it in their order.
                await lock.acquire()
        except TimeoutError:
            after = f"after {QUEUE_S:g} s nothing was changed. Run it again"
            raise self._refusal(f"{run or '.'} is being written by others of this server; {after}") from None
        try:
            yield
        finally:
            lock.release()
