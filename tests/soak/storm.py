"""A storm of renames and removals of watched folders, and how far the server's boards are behind the files.

Each round does a few things to folders of one root, those that kill watchdog's reader among them, and then
changes a file of each task of that root, and of another root that nobody touches otherwise. All has to be
shown.
"""

from __future__ import annotations

import asyncio
import os
import random
import shutil
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from time import perf_counter

from phasekeeper.server.live.boards import RootBoard
from phasekeeper.server.live.engine import Engine
from phasekeeper.server.workspace.workspace import Workspace

from tests.roots import TASKS, put, task

NAMES = ("a", "b", "c")
MOVED = ("T2", "T3")
"""Tasks that are created, renamed and removed; `T1` stays in its place."""
SEEN_S = 30.0
"""Shorter than the time after which the server looks at everything without any hint."""


class Storm:
    """Two roots with a task each, and a place outside of them; all that is random comes of the seed."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.busy, self.quiet, self.outside = (folder / name for name in ("busy", "quiet", "outside"))
        self.behind_s: list[float] = []
        """Seconds from a change to the board that shows it, of every change."""
        self._random = random.Random(seed)
        self._is_ok = True
        self._moved_out = 0
        for root in (self.busy, self.quiet):
            task(root, "T1")
        self.outside.mkdir()

    @asynccontextmanager
    async def served(self) -> AsyncIterator[None]:
        """An engine that has both roots open."""
        self._engine = Engine(asyncio.get_running_loop(), runtime=self.outside)
        try:
            for root in (self.busy, self.quiet):
                await self._engine.open(root)
            yield
        finally:
            await self._engine.stop()

    async def round(self) -> None:
        """A few changes of folders; then a change in each root, waited for."""
        for _ in range(self._random.randint(1, 6)):
            change = self._random.choice(
                (self._create, self._remove, self._rename, self._rename, self._leave)
            )
            with suppress(OSError):
                change()
        self._is_ok = not self._is_ok
        moved = [self._follow_moved(name) for name in MOVED if (self.busy / TASKS / name).is_dir()]
        await asyncio.gather(*(self._follow(root) for root in (self.busy, self.quiet)), *moved)

    async def kill_reader(self) -> None:
        """Remove a folder that left, after another one of its name was renamed: watchdog's reader dies of it.

        Each step is read before the next.
        """
        shutil.rmtree(self.busy / TASKS / "T1/deep", ignore_errors=True)
        away = self.outside / "away"
        for step in (
            lambda: (self.busy / TASKS / "T1/deep/a").mkdir(parents=True),
            lambda: (self.busy / TASKS / "T1/deep/a").rename(away),
            lambda: (self.busy / TASKS / "T1/deep/a").mkdir(),
            lambda: (self.busy / TASKS / "T1/deep/a").rename(self.busy / TASKS / "T1/deep/b"),
            away.rmdir,
        ):
            step()
            self._is_ok = not self._is_ok
            await self._follow(self.busy)
        self._is_ok = not self._is_ok
        await asyncio.gather(*(self._follow(root) for root in (self.busy, self.quiet)))

    async def settle(self) -> None:
        """Compare the boards with a first look at the files. Raises AssertionError when they differ."""
        for root in (self.busy, self.quiet):
            workspace = Workspace(root)
            cold = {match.run: workspace.evaluate(match) for match in workspace.matches}
            await self._until(root, lambda board, cold=cold: board.runs == cold)

    async def faults(self) -> Mapping[str, int | str]:
        """What the engine counted."""
        return await self._engine.watch_faults()

    def summary(self) -> str:
        """The quantiles of `behind_s`."""
        sorted_s = sorted(self.behind_s)
        at = [sorted_s[min(len(sorted_s) - 1, int(len(sorted_s) * share))] for share in (0.5, 0.99, 0.999, 1)]
        return "behind by {:.3f} (median), {:.3f} (99 %), {:.3f} (99.9 %), {:.3f} s (most)".format(*at)

    # ---- changes of folders

    def _folder(self) -> Path:
        """A place for a folder in the busy root, deep or not, there or not."""
        top = self.busy / TASKS / self._random.choice(("T1/deep", *MOVED))
        return top.joinpath(*self._random.choices(NAMES, k=self._random.randint(0, 2)))

    def _create(self) -> None:
        put(self._folder() / "state.json", {"phase": "planning"})

    def _remove(self) -> None:
        gone = [*self.outside.glob("out-*"), self._folder()]
        shutil.rmtree(self._random.choice(gone))

    def _rename(self) -> None:
        self._folder().rename(self._folder())

    def _leave(self) -> None:
        self._moved_out += 1
        self._folder().rename(self.outside / f"out-{self._moved_out}")

    # ---- changes that have to be shown

    async def _follow(self, root: Path) -> None:
        """Save a file, by a new one in its place, and wait until the board shows it."""
        run = f"{TASKS}/T1"
        review = root / run / "review/plan-review.json"
        put(review.with_name("new"), {"ok": self._is_ok})
        began = perf_counter()
        os.replace(review.with_name("new"), review)  # noqa: PTH105
        wanted = "advance" if self._is_ok else "regress"
        await self._until(root, lambda board: board.runs[run].suggestion.kind == wanted)
        self.behind_s.append(perf_counter() - began)

    async def _follow_moved(self, name: str) -> None:
        """As `_follow`, in a task whose folder may have been another's before."""
        phase = "codegen" if self._is_ok else "planning"
        put(self.busy / TASKS / name / "state.json", {"phase": phase})
        began = perf_counter()
        run = f"{TASKS}/{name}"
        await self._until(
            self.busy, lambda board: run in board.runs and board.runs[run].current_phase == phase
        )
        self.behind_s.append(perf_counter() - began)

    async def _until(self, root: Path, holds: Callable[[RootBoard], bool]) -> None:
        changed = asyncio.Event()
        unsubscribe = self._engine.subscribe(root, lambda _: changed.set())
        try:
            async with asyncio.timeout(SEEN_S):
                while not holds(self._engine.board(root)):
                    changed.clear()
                    await changed.wait()
        finally:
            unsubscribe()
