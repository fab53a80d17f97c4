"""Roots that assistants work in: opened once for all of them, told of as long as somebody holds them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from weakref import WeakValueDictionary

from ..live.engine import Engine
from ..workspace.roots import UsageError
from .client import Caller
from .notifications import Changes

AGAIN_S = 30.0
"""A folder may come to belong to another root; so often that is looked at again."""
MOST_HELD = 32
"""Folders that one caller holds. For one more the first is let go that no subscription is about."""


@dataclass
class Shared:
    """What all callers share: how often each root is held, who hears of it, and one lock a run."""

    engine: Engine
    changes: Changes
    counts: dict[Path, int] = field(default_factory=dict)
    ends: dict[Path, Callable[[], None]] = field(default_factory=dict)
    locks: WeakValueDictionary[tuple[Path, str], asyncio.Lock] = field(default_factory=WeakValueDictionary)


@dataclass
class Keeping:
    """What one caller holds."""

    shared: Shared
    caller: Caller

    async def hold(self, folder: Path) -> tuple[Path, ...]:
        """The root of a folder and its projects, open and told of.

        Raises UsageError for no such folder, and where there is no room for one more.
        """
        now = asyncio.get_running_loop().time()
        caller = self.caller
        if folder in caller.held and now - caller.looked_at[folder] < AGAIN_S:
            root, *projects = caller.held[folder]
            if self.shared.engine.board(root).projects == tuple(projects):
                return caller.held[folder]
        roots = await self.shared.engine.open(folder)
        for root in roots:
            self._follow(root)
        if caller.has_ended:
            # The client went away meanwhile, and nobody else would let go of them.
            self._close(roots)
            raise UsageError("the connection has ended")
        before = caller.held.pop(folder, ())
        caller.held[folder], caller.looked_at[folder] = roots, now
        self._close(before)
        while len(caller.held) > MOST_HELD:
            pinned = set(caller.pins.values())
            oldest = next((each for each in caller.held if each not in pinned), folder)
            del caller.looked_at[oldest]
            self._close(caller.held.pop(oldest))
            if oldest == folder:
                raise UsageError(
                    f"this connection is subscribed to {MOST_HELD} folders, which is the most; "
                    "unsubscribe from one first"
                )
        return roots

    def _follow(self, root: Path) -> None:
        shared = self.shared
        shared.counts[root] = shared.counts.get(root, 0) + 1
        if root not in shared.ends:
            shared.changes.knows(root, frozenset(shared.engine.board(root).runs))
            shared.ends[root] = shared.engine.subscribe(root, shared.changes.told)

    def _close(self, roots: tuple[Path, ...]) -> None:
        shared = self.shared
        for root in roots:
            shared.counts[root] -= 1
            if shared.counts[root] == 0:
                del shared.counts[root]
                shared.ends.pop(root)()
                shared.changes.knows_no_more(root)
            shared.engine.close(root)

    def let_go(self) -> None:
        """The caller is gone."""
        self.caller.has_ended = True
        held, self.caller.held = self.caller.held, {}
        for roots in held.values():
            self._close(roots)

    @asynccontextmanager
    async def alone(self, root: Path, run: str) -> AsyncIterator[None]:
        """Claims on one run are made one after the other, so that each sees those before it."""
        locks = self.shared.locks
        lock = locks.get((root, run)) or locks.setdefault((root, run), asyncio.Lock())
        async with lock:
            yield
