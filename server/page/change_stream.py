"""Changes of the served roots as server-sent events, for one browser. What is not sent yet is gathered."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, MutableMapping
from pathlib import Path
from typing import Any

from ..live.boards import RootChange
from ..live.engine import Engine

BEAT_S = 15.0
"""A line that says nothing is sent so often, which shows a browser that went; then roots are looked for."""
MOST_NAMED = 200
"""Runs named in one event; of more it says only that there are many."""


class ChangeStream:
    """One browser's stream. It belongs to the engine's loop."""

    def __init__(self, engine: Engine, roots: Callable[[], Iterable[Path]]) -> None:
        self._engine = engine
        self._roots = roots
        self._pending: dict[Path, dict[str, None]] = {}
        self._unsubscribe: dict[Path, Callable[[], None]] = {}
        self._wake = asyncio.Event()
        self._ended = False

    def end(self) -> None:
        self._ended = True
        self._wake.set()

    async def events(
        self, receive: Callable[[], Awaitable[MutableMapping[str, Any]]]
    ) -> AsyncIterator[bytes]:
        """The events, from now on, until the stream is ended or the browser goes."""
        gone = asyncio.ensure_future(_disconnect(receive))
        gone.add_done_callback(lambda _: self.end())
        try:
            self._follow_roots()
            # Whoever begins to listen now has read before; what came in between is read again.
            yield b"event: begin\ndata: {}\n\n"
            while not self._ended:
                try:
                    await asyncio.wait_for(self._wake.wait(), BEAT_S)
                except TimeoutError:
                    yield b":\n\n"
                self._wake.clear()
                self._follow_roots()
                for event in self._take_events():
                    yield event
        finally:
            gone.cancel()
            for unsubscribe in self._unsubscribe.values():
                unsubscribe()

    def _follow_roots(self) -> None:
        """Subscribe to the roots that are served now; of new and lost ones it is said that all differs."""
        roots = set(self._roots())
        for root in roots - self._unsubscribe.keys():
            self._unsubscribe[root] = self._engine.subscribe(root, self._on_change)
            self._pending[root] = {}
        for root in self._unsubscribe.keys() - roots:
            self._unsubscribe.pop(root)()
            self._pending[root] = {}

    def _on_change(self, change: RootChange) -> None:
        self._pending.setdefault(change.root, {}).update(dict.fromkeys((*change.changed, *change.removed)))
        self._wake.set()

    def _take_events(self) -> list[bytes]:
        pending, self._pending = self._pending, {}
        return [
            b"data: %s\n\n"
            % json.dumps({"root": str(root), "runs": list(runs) if len(runs) <= MOST_NAMED else []}).encode()
            for root, runs in pending.items()
        ]


async def _disconnect(receive: Callable[[], Awaitable[MutableMapping[str, Any]]]) -> None:
    """Return when the browser goes."""
    while (await receive())["type"] != "http.disconnect":
        pass
