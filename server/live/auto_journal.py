"""Report files are journalled as they appear, for who asked for it (design, section 6).

Watching alone never writes. The records are those that the next command would have written before its own.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from ...orchestration.updates.commands import CommandRefused
from ..store.folder import StoreError
from ..workspace import apply
from ..workspace.roots import UsageError
from ..workspace.workspace import Workspace
from .boards import RootChange
from .engine import Engine
from .writer_threads import writing

_log = logging.getLogger(__name__)


class AutoJournal:
    """Keeps the journals of some roots current until it is stopped. `said` hears what was recorded."""

    def __init__(self, engine: Engine, roots: Iterable[Path], said: Callable[[str], None]) -> None:
        self._engine = engine
        self._said = said
        self._due: dict[tuple[Path, str], None] = {}
        self._news = asyncio.Event()
        self._ends: dict[Path, Callable[[], None]] = {}
        self.follow(roots)
        self._work = asyncio.ensure_future(self._run())

    def follow(self, roots: Iterable[Path]) -> None:
        """Keep these roots current, and no others; they are open."""
        wanted = list(roots)
        for root in [root for root in self._ends if root not in wanted]:
            self._ends.pop(root)()
        for root in [root for root in wanted if root not in self._ends]:
            self._ends[root] = self._engine.subscribe(root, self._told)
            self._due.update(dict.fromkeys((root, run) for run in self._engine.board(root).runs))
        self._news.set()

    async def stop(self) -> None:
        """Record nothing more; what is being written is finished."""
        for end in self._ends.values():
            end()
        self._work.cancel()
        with suppress(asyncio.CancelledError):
            await self._work

    def _told(self, change: RootChange) -> None:
        self._due.update(dict.fromkeys((change.root, run) for run in change.changed))
        self._news.set()

    async def _run(self) -> None:
        while await self._news.wait():
            self._news.clear()
            while self._due:
                root, run = next(iter(self._due))
                del self._due[root, run]
                await asyncio.shield(self._keep(root, run))

    async def _keep(self, root: Path, run: str) -> None:
        """Journal the report files of one run, if there are any that no record holds."""
        try:
            if not await self._engine.ask(root, run, apply.unrecorded_reports):
                return
            recorded = await writing(apply.record_reports, Workspace(root), run)
            await self._engine.touch(root, [root / run])
        except (UsageError, CommandRefused, StoreError) as error:
            # The run went, or another writer has it; its next change brings this back.
            _log.warning("the reports of %s in %s were not recorded: %s", run, root, error)
            self._said(f"the reports of {run} could not be recorded: {error}")
            return
        except Exception:
            # A mistake about one run is no reason to record nothing more of any.
            _log.exception("the reports of %s in %s were not recorded", run, root)
            self._said(
                f"the reports of {run} could not be recorded; `phasekeeper doctor` says where the log is"
            )
            return
        if recorded:
            self._said(f"{recorded} report{'' if recorded == 1 else 's'} of {run} recorded")
