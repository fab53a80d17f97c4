"""Threads of their own for those who write. They wait for the lock of a run, for seconds where somebody else
holds it; what else needs a thread (a new connection, an answer) does not wait behind them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

MOST_WRITERS = 32
"""At one time, in all roots; more wait for their turn."""

P = ParamSpec("P")
T = TypeVar("T")

_writers = ThreadPoolExecutor(MOST_WRITERS, "phasekeeper-writer")


async def writing(work: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
    """What `work` gives, on a thread for writers. Raises what that raises."""
    return await asyncio.get_running_loop().run_in_executor(_writers, partial(work, *given, **named))
