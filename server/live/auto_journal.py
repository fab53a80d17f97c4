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
from ..workspace import apply
from ..workspace.apply import StoreError
from ..workspace.roots import UsageError
from ..workspace.workspace import Workspace
from .engine import Engine

_log = logging.getLogger(__name__)


class AutoJournal:
    """Keeps the journals of runs current until it is stopped.

    `on_sentence` is called with what was recorded, or could not be, to be shown to a person.
    """

    def __init__(self, engine: Engine, on_sentence: Callable[[str], None]) -> None:
        self._engine = engine
        self._on_sentence = on_sentence
        self._due: dict[tuple[Path, str], None] = {}
        self._wake = asyncio.Event()
        self._task = asyncio.ensure_future(self._run())

    def add(self, root: Path, runs: Iterable[str]) -> None:
        """Record what these runs of an open root have, which are new or stand otherwise than before."""
        self._due.update(dict.fromkeys((root, run) for run in runs))
        self._wake.set()

    async def stop(self) -> None:
        """Record nothing more; what is being written is finished."""
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _run(self) -> None:
        while await self._wake.wait():
            self._wake.clear()
            while self._due:
                root, run = next(iter(self._due))
                del self._due[root, run]
                await asyncio.shield(self._record(root, run))

    async def _record(self, root: Path, run: str) -> None:
        """Journal the report files of one run, if there are any that no record holds."""
        try:
            if not await self._engine.query(root, run, apply.unrecorded_reports):
                return
            count = await self._engine.write(root, run, apply.record_reports, Workspace(root), run)
            await self._engine.refresh(root, [root / run], grace=True)
        except Exception as error:
            # When the run went, or another writer has it, its next change brings this back. And a mistake
            # about one run is no reason to record nothing more of any.
            is_mistake = not isinstance(error, (UsageError, CommandRefused, StoreError))
            level = logging.ERROR if is_mistake else logging.WARNING
            _log.log(
                level, "the reports of %s in %s were not recorded: %s", run, root, error, exc_info=is_mistake
            )
            why = "; `phasekeeper doctor` says where the log is" if is_mistake else f": {error}"
            self._on_sentence(f"the reports of {run} could not be recorded{why}")
            return
        if count:
            self._on_sentence(f"{count} report{'' if count == 1 else 's'} of {run} recorded")
