"""The server's side of the live view: rows of the roots that somebody looks at, sent as they change.

One line of JSON asks (`serve_view`), lines of JSON answer, each with one of these members:

    scanning, done, total                   a first look at a folder is under way
    roots                                   the roots that are shown, whenever they differ
    root, version, problems, rows, removed  changed runs of a root as `RunRow`s, names of those gone
    sentence                                a sentence to be shown
    error                                   why the request cannot be met; the last line

What changes while a viewer is slow is gathered, so that it costs the server one row a run at most.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...orchestration.findings import Severity
from ...orchestration.result.phrases import in_sentence
from ...orchestration.result.values import Evaluation
from ..live.boards import RootChange
from ..workspace.roots import CONFIGURATION, UsageError
from .run_row import RunRow

if TYPE_CHECKING:
    from ..live.auto_journal import AutoJournal
    from .hub import Hub

_DISCARD = 2**16
ROWS = 200
"""Rows in one line: a big root is shown in parts."""
_PROGRESS_STEP = 500
"""A first look is quick unless there are thousands of runs; progress is told after so many."""
_OWN = (CONFIGURATION.as_posix(), f"{CONFIGURATION.parent.as_posix()}/workflows/")


def run_row(root: Path, e: Evaluation) -> RunRow:
    """The row of an evaluation. Texts are as the files have them; who prints them escapes them."""
    progress = e.progress
    return RunRow(
        str(root),
        e.run,
        e.title,
        e.workflow,
        e.status,
        e.current_phase,
        progress.done if progress else None,
        progress.total if progress else None,
        in_sentence(e.suggestion.phrase),
        e.suggestion.reason,
        tuple((question.id, question.question) for question in e.questions),
        tuple(gate.id for gate in e.gates if gate.status == "failed"),
        sum(each.severity is Severity.ERROR and not each.overridden for each in e.findings),
        e.revision,
    )


async def serve_view(hub: Hub, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Serve one viewer until it goes.

    It asks for `roots` (folders in them), and whether to `journal` what appears there and to serve assistants
    at a port (`http`) while it looks.
    """
    try:
        request = json.loads(await reader.readline())
        roots, journal, http = tuple(request["roots"]), bool(request.get("journal")), request.get("http")
    except (ValueError, KeyError, TypeError, AttributeError):
        return
    feed = asyncio.ensure_future(_ViewFeed(hub, writer).run(roots, journal, http))
    disconnect = asyncio.ensure_future(_disconnect(reader))
    try:
        await asyncio.wait([feed, disconnect], return_when=asyncio.FIRST_COMPLETED)
    finally:
        disconnect.cancel()
        feed.cancel()
    with suppress(asyncio.CancelledError):
        await feed


async def _disconnect(reader: asyncio.StreamReader) -> None:
    """Return when the viewer goes. What it says meanwhile is discarded."""
    while await reader.read(_DISCARD):
        pass


class _ViewFeed:
    """The changes one viewer has not been told yet, and the roots open for the folders it asked for."""

    def __init__(self, hub: Hub, writer: asyncio.StreamWriter) -> None:
        self._hub = hub
        self._engine = hub.engine
        self._writer = writer
        self._wake = asyncio.Event()
        self._pending: dict[Path, dict[str, None]] = {}
        """Shown root -> its runs whose rows have to be sent, in order."""
        self._opened: dict[str, tuple[Path, ...]] = {}
        """Folder asked for -> the root it lies in, and that root's projects."""
        self._unsubscribe: dict[Path, Callable[[], None]] = {}
        self._auto_journal: AutoJournal | None = None

    async def run(self, roots: Iterable[str], journal: bool, http: int | None) -> None:
        """Send what the viewer asked for, and then each change, until cancelled or an error is sent."""
        async with AsyncExitStack() as stack:
            stack.callback(lambda: [self._close(self._opened.pop(path)) for path in list(self._opened)])
            try:
                for path in roots:
                    await self._open(path)
                await self._send(roots=[*map(str, self._pending)])
                await self._send_rows()
                if journal:
                    from ..live.auto_journal import AutoJournal

                    self._auto_journal = AutoJournal(self._engine, lambda text: self._write(sentence=text))
                    stack.push_async_callback(self._auto_journal.stop)
                    for root in self._pending:
                        self._auto_journal.add(root, self._engine.board(root).runs)
                if http is not None:
                    from .http_listener import serve_http

                    for sentence in await stack.enter_async_context(serve_http(self._hub, http)):
                        self._write(sentence=sentence)
            except UsageError as error:
                await self._send(error=str(error))
                return
            while await self._wake.wait():
                self._wake.clear()
                await self._reopen_changed_projects()
                await self._send_rows()

    # ---- roots

    async def _open(self, path: str) -> None:
        """Open what a folder belongs to; what it was opened to before is closed."""
        roots = await self._engine.open(Path(path), lambda done, total: self._progress(path, done, total))
        before, self._opened[path] = self._opened.get(path, ()), roots
        for root in roots:
            self._hub.served_roots[root] += 1
            if root not in self._unsubscribe:
                self._unsubscribe[root] = self._engine.subscribe(root, self._on_change)
                runs = self._engine.board(root).runs
                self._pending[root] = dict.fromkeys(runs)
                if self._auto_journal:
                    self._auto_journal.add(root, runs)
        self._close(before)

    def _close(self, roots: Iterable[Path]) -> None:
        still_open = {root for each in self._opened.values() for root in each}
        for root in roots:
            self._hub.served_roots.subtract([root])
            if root not in still_open and root in self._unsubscribe:
                self._unsubscribe.pop(root)()
                del self._pending[root]
            self._engine.close(root)

    async def _reopen_changed_projects(self) -> None:
        """Open the folders anew whose roots have other projects than when they were opened."""
        before = list(self._pending)
        for path, (root, *projects) in list(self._opened.items()):
            if self._engine.board(root).projects != tuple(projects):
                with suppress(UsageError):
                    await self._open(path)
        if list(self._pending) != before:
            await self._send(roots=[*map(str, self._pending)])

    # ---- messages

    def _on_change(self, change: RootChange) -> None:
        self._pending[change.root].update(dict.fromkeys((*change.changed, *change.removed)))
        if self._auto_journal:
            self._auto_journal.add(change.root, change.changed)
        self._wake.set()

    def _progress(self, path: str, done: int, total: int) -> None:
        if done % _PROGRESS_STEP == 0:
            self._write(scanning=path, done=done, total=total)

    def _write(self, **message: Any) -> None:
        self._writer.write(json.dumps(message).encode() + b"\n")

    async def _send(self, **message: Any) -> None:
        self._write(**message)
        await self._writer.drain()

    async def _send_rows(self) -> None:
        for root, pending in list(self._pending.items()):
            runs = list(pending)
            pending.clear()
            board = self._engine.board(root)
            about = {"root": str(root), "version": board.version}
            # Its configuration and its own definitions may be wrong, too.
            problems = [*board.conditions] + [
                f"{path}: {each.message}"
                for path, findings in board.findings.items()
                for each in findings
                if path.startswith(_OWN) and each.severity is Severity.ERROR
            ]
            for at in range(0, max(1, len(runs)), ROWS):
                part = runs[at : at + ROWS]
                rows = [run_row(root, board.runs[run])._asdict() for run in part if run in board.runs]
                removed = [run for run in part if run not in board.runs]
                await self._send(**about, problems=problems, rows=rows, removed=removed)
