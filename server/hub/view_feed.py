"""The server's side of the live view: rows of the roots that somebody looks at, sent as they change.

One line of JSON asks (`Wanted`), lines of JSON answer. What changes while a viewer is slow is gathered, so
that a viewer costs the server one row a run at most.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ...orchestration.findings import Severity
from ...orchestration.result.values import Evaluation
from ..live.live_root import Change
from ..workspace.roots import CONFIGURATION, UsageError

if TYPE_CHECKING:
    from ..live.auto_journal import Journalling
    from ..live.engine import Board, Engine
    from .hub import Hub

_THROWN_AWAY = 2**16
ROWS = 200
"""Rows in one line: a big root is shown in parts."""
_OWN = (CONFIGURATION.as_posix(), f"{CONFIGURATION.parent.as_posix()}/workflows/")


class Wanted(NamedTuple):
    """What a viewer asks for: folders in roots, and what the server is to do while it looks."""

    roots: tuple[str, ...]
    journal: bool = False
    http: int | None = None


class Row(NamedTuple):
    """One run as it is shown; `asked` has (id, text) of questions, `shut` the gates that failed."""

    root: str
    run: str
    title: str
    workflow: str
    status: str
    phase: str | None
    done: int | None
    total: int | None
    next: str
    reason: str
    asked: tuple[tuple[str, str], ...]
    shut: tuple[str, ...]
    errors: int
    revision: str


def row(root: Path, e: Evaluation) -> Row:
    """The row of an evaluation. Texts are as the files have them; who prints them escapes them."""
    from ..terminal.run_views import next_words

    progress = e.progress
    return Row(
        str(root),
        e.run,
        e.title,
        e.workflow,
        e.status,
        e.current_phase,
        progress.done if progress else None,
        progress.total if progress else None,
        next_words(e.suggestion),
        e.suggestion.reason,
        tuple((question.id, question.question) for question in e.questions),
        tuple(gate.id for gate in e.gates if gate.status == "failed"),
        sum(found.severity is Severity.ERROR and not found.overridden for found in e.findings),
        e.revision,
    )


async def serve_view(hub: Hub, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Serve one viewer until it goes."""
    try:
        asked = json.loads(await reader.readline())
        wanted = Wanted(tuple(asked["roots"]), bool(asked.get("journal")), asked.get("http"))
    except (ValueError, KeyError, TypeError):
        return
    viewing = _Viewing(hub, writer)
    work = asyncio.ensure_future(viewing.run(wanted))
    gone = asyncio.ensure_future(_gone(reader))
    try:
        await asyncio.wait([work, gone], return_when=asyncio.FIRST_COMPLETED)
    finally:
        gone.cancel()
        work.cancel()
    with suppress(asyncio.CancelledError):
        await work


async def _gone(reader: asyncio.StreamReader) -> None:
    """Until the viewer goes. What it says meanwhile is thrown away and not gathered."""
    while await reader.read(_THROWN_AWAY):
        pass


class _Viewing:
    """What one viewer has not been told yet, and the roots that are open for the folders it asked for."""

    def __init__(self, hub: Hub, writer: asyncio.StreamWriter) -> None:
        self._hub = hub
        self._engine: Engine = hub.engine
        self._writer = writer
        self._news = asyncio.Event()
        self._dirty: dict[Path, dict[str, None]] = {}
        self._held: dict[str, tuple[Path, ...]] = {}
        self._ends: dict[Path, Callable[[], None]] = {}
        self._journalling: Journalling | None = None

    async def run(self, wanted: Wanted) -> None:
        async with AsyncExitStack() as stack:
            stack.callback(self._let_go)
            try:
                for path in wanted.roots:
                    await self._open(path)
                await self._say_roots()
                await self._send()
                await self._extras(stack, wanted)
            except UsageError as error:
                await self._say(error=str(error))
                return
            while await self._news.wait():
                self._news.clear()
                await self._look_for_projects()
                await self._send()

    # ---- roots

    async def _open(self, path: str) -> None:
        """Open what a folder belongs to; what it was opened to before is closed."""
        roots = await self._engine.open(Path(path), lambda done, total: self._progress(path, done, total))
        before, self._held[path] = self._held.get(path, ()), roots
        for root in roots:
            self._hub.named[root] += 1
            if root not in self._ends:
                self._ends[root] = self._engine.subscribe(root, self._told)
                self._dirty[root] = dict.fromkeys(self._engine.board(root).runs)
        self._close(before)
        if self._journalling:
            self._journalling.follow(self._dirty)

    def _close(self, roots: Iterable[Path]) -> None:
        held = {root for each in self._held.values() for root in each}
        for root in roots:
            self._hub.named.subtract([root])
            if root not in held and root in self._ends:
                self._ends.pop(root)()
                del self._dirty[root]
            self._engine.close(root)

    def _let_go(self) -> None:
        held, self._held = self._held, {}
        for roots in held.values():
            self._close(roots)

    async def _look_for_projects(self) -> None:
        """Open the folders anew whose roots have other projects than when they were opened."""
        before = tuple(self._dirty)
        for path, (root, *projects) in list(self._held.items()):
            if self._engine.board(root).projects != tuple(projects):
                with suppress(UsageError):
                    await self._open(path)
        if tuple(self._dirty) != before:
            await self._say_roots()

    def _progress(self, path: str, done: int, total: int) -> None:
        # A first look is quick unless there are thousands of runs.
        if done % 500 == 0:
            self._writer.write(_line({"scanning": path, "done": done, "total": total}))

    async def _extras(self, stack: AsyncExitStack, wanted: Wanted) -> None:
        if wanted.journal:
            from ..live.auto_journal import Journalling

            self._journalling = Journalling(self._engine, self._dirty, self._said)
            stack.push_async_callback(self._journalling.stop)
        if wanted.http is not None:
            from .http_listener import OverHttp

            over_http = OverHttp(self._hub)
            stack.push_async_callback(over_http.stop)
            self._said(await over_http.start(wanted.http))

    def _told(self, change: Change) -> None:
        dirty = self._dirty[change.root]
        dirty.update(dict.fromkeys((*change.changed, *change.removed)))
        self._news.set()

    def _said(self, text: str) -> None:
        self._writer.write(_line({"said": text}))

    async def _say_roots(self) -> None:
        await self._say(roots=[str(root) for root in self._dirty])

    async def _say(self, **message: Any) -> None:
        self._writer.write(_line(message))
        await self._writer.drain()

    async def _send(self) -> None:
        for root, dirty in list(self._dirty.items()):
            runs = list(dirty)
            dirty.clear()
            board = self._engine.board(root)
            wrong = [*board.conditions, *_own(board)]
            parts = [runs[at : at + ROWS] for at in range(0, len(runs), ROWS)] or [[]]
            for part in parts:
                await self._say(
                    root=str(root), version=board.version, wrong=wrong, **_rows(root, board.runs, part)
                )


def _own(board: Board) -> Iterator[str]:
    """What is wrong with the root itself: its configuration and its own definitions."""
    for path, each in board.findings.items():
        if path.startswith(_OWN):
            yield from (f"{path}: {found.message}" for found in each if found.severity is Severity.ERROR)


def _rows(root: Path, runs: Mapping[str, Evaluation], names: Iterable[str]) -> dict[str, Any]:
    rows = [row(root, runs[name])._asdict() for name in names if name in runs]
    return {"rows": rows, "removed": [name for name in names if name not in runs]}


def _line(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"
