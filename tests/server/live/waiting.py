"""Waiting for what the engine says next."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

from phasekeeper.server.live.engine import Engine


async def next_version(engine: Engine, root: Path, limit_s: float) -> int:
    """The root's version after its next change, or after `limit_s` whatever it is then."""
    changed = asyncio.Event()
    unsubscribe = engine.subscribe(root, lambda _: changed.set())
    try:
        with suppress(TimeoutError):
            await asyncio.wait_for(changed.wait(), limit_s)
    finally:
        unsubscribe()
    return engine.board(root).version
