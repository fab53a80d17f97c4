"""Judging runs and definitions on the texts that an editor has not saved."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from pathlib import Path
from typing import Any

from ...live.engine import Engine
from . import open_definitions as definitions
from .documents import Document
from .root_view import View

Spawn = Callable[[Coroutine[Any, Any, Any]], "asyncio.Task[Any]"]


class Judging:
    """One look a root at a time, and one more for all that comes meanwhile. `judged` hears of the paths where
    something may be said otherwise now."""

    def __init__(
        self,
        engine: Engine,
        spawn: Spawn,
        documents_of: Callable[[View], Sequence[tuple[Document, str]]],
        judged: Callable[[View, Iterable[str]], None],
    ) -> None:
        self._engine, self._spawn = engine, spawn
        self._documents_of, self._judged = documents_of, judged
        self._at_work: dict[Path, asyncio.Task[None]] = {}
        self._stale: set[Path] = set()

    def judge(self, view: View) -> None:
        """Have the root's runs judged on the texts that the editor holds; once more for what comes then."""
        self._stale.add(view.root)
        if view.root not in self._at_work:
            task = self._at_work[view.root] = self._spawn(self._judge(view))
            # Also for one that was cancelled before it began.
            task.add_done_callback(lambda ended: self._rest(view.root, ended))

    def _rest(self, root: Path, task: asyncio.Task[None] | None) -> None:
        if self._at_work.get(root) is task:
            self._at_work.pop(root, None)

    async def _judge(self, view: View) -> None:
        try:
            while view.root in self._stale:
                self._stale.discard(view.root)
                open_here = self._documents_of(view)
                overlay = {path: each.text.source for each, path in open_here if each.changed}
                judged = await self._engine.unsaved(view.root, overlay) if overlay else {}
                linted = await definitions.lint_open(view.root, self._documents_of(view))
                runs = {*view.unsaved, *judged}
                touched = {*view.linted, *linted}
                if not runs and not touched:
                    continue
                view.unsaved, view.linted = judged, linted
                self._judged(view, touched | view.refresh(runs))
        finally:
            # At once: what is stale from the next moment on, nobody would look at.
            self._rest(view.root, asyncio.current_task())
