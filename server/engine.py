"""The live roots of a process, all on one thread; an asyncio loop sees frozen boards and is told of changes.

The engine's thread alone reads files and evaluates. What it finds goes to the loop as values that never
change, in order; whatever runs on the loop looks at the newest board at once and never waits for a disk.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TypeVar

from ..orchestration.effects import Act
from ..orchestration.evaluate import Steps
from ..orchestration.evaluation import Evaluation
from ..orchestration.findings import Finding
from .acting import Done, Token
from .live import Change, Live
from .roots import UsageError
from .workspace import Workspace, open_path

IDLE_S = 300.0
"""A root that nobody has open is kept for so long: editors come back."""
RESCAN_S = 60.0
"""So often every root is looked at without any hint."""

_log = logging.getLogger(__name__)

T = TypeVar("T")
Told = Callable[[Change], None]
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Board:
    """How one root stands at one version: its runs in order of their paths, and all findings by path."""

    root: Path
    version: int
    runs: Mapping[str, Evaluation]
    findings: Mapping[str, tuple[Finding, ...]]


@dataclass
class _Rooted:
    """A root on the engine's thread. `users` is how often it was opened and not closed."""

    live: Live
    watcher: object = None
    users: int = 0
    idle_since: float = field(default_factory=monotonic)


class Engine:
    """All live roots of a process. Its methods belong to the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, *, watch: bool = True) -> None:
        self._loop = loop
        self._watch = watch
        self._boards: dict[Path, Board] = {}
        self._told: dict[Path, list[Told]] = {}
        self._changed: dict[Path, asyncio.Event] = {}
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._roots: dict[Path, _Rooted] = {}
        self._thread = threading.Thread(target=self._work, name="phasekeeper-engine", daemon=True)
        self._thread.start()

    # ---- on the loop

    async def open(self, path: Path, progress: Progress | None = None) -> tuple[Path, ...]:
        """The root of `path` and those of its projects, looked at and watched from now on.

        Each call needs a `close` of each root. `progress` hears on the loop of (runs judged, runs in all).
        Raises UsageError for a path that does not exist.
        """
        said = None if progress is None else self._reporting(progress)
        return await self._done(lambda: self._open(path, said))

    async def close(self, root: Path) -> None:
        """Somebody needs the root no more; it is dropped some time after the last one."""
        await self._done(lambda: self._close(root))

    def board(self, root: Path) -> Board:
        """The newest board of an open root. Raises UsageError for one that is not open."""
        if root not in self._boards:
            raise UsageError(f"{root} is not open")
        return self._boards[root]

    def boards(self) -> tuple[Board, ...]:
        """The newest boards of all open roots, in order of their paths."""
        return tuple(self._boards[root] for root in sorted(self._boards))

    def subscribe(self, root: Path, told: Told) -> Callable[[], None]:
        """`told` hears every later change of the root, in order, on the loop. Returns what ends that."""
        self._told.setdefault(root, []).append(told)

        def end() -> None:
            with suppress(KeyError, ValueError):
                self._told[root].remove(told)

        return end

    async def wait(self, root: Path, version: int, timeout_s: float) -> int:
        """The root's version as soon as it is not `version`, or after `timeout_s` whatever it is then."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while self.board(root).version == version:
                    await self._changed.setdefault(root, asyncio.Event()).wait()
        return self.board(root).version

    async def steps(self, root: Path, run: str) -> Steps:
        """How a run's evaluation comes about. Raises UsageError when it is no run."""
        return await self._done(lambda: self._rooted(root).live.steps(run))

    async def unsaved(self, root: Path, overlay: Mapping[str, str]) -> Mapping[str, Evaluation]:
        """The runs that unsaved texts (root-relative path to text) have a part in, judged on them."""
        return await self._done(lambda: self._rooted(root).live.unsaved(overlay))

    async def touch(self, root: Path, paths: Iterable[Path]) -> None:
        """Look now where `paths` (absolute) may have changed; the board shows it when this returns."""
        hints = list(paths)
        await self._done(lambda: self._publish(root, self._rooted(root).live.touch(hints)))

    async def act(
        self,
        root: Path,
        run: str,
        act: Act,
        *,
        signed: bool = False,
        token: Token | None = None,
        revision: str | None = None,
    ) -> Done:
        """`acting.act`; the root's board shows the result when this returns. Raises what that raises."""
        from . import acting

        done = await asyncio.to_thread(
            acting.act, Workspace(root), run, act, signed=signed, token=token, revision=revision
        )
        await self.touch(root, [root / run])
        return done

    async def start(self, root: Path, workflow: str, name: str, title: str, actor: str) -> tuple[str, Done]:
        """`acting.start` of the workflow of that name: (the new run, how it stands)."""
        from . import acting

        def made() -> tuple[str, Done]:
            workspace = Workspace(root)
            return acting.start(workspace, workspace.library.workflow(workflow), name, title, actor)

        run, done = await asyncio.to_thread(made)
        await self.touch(root, [root / run])
        return run, done

    async def stop(self) -> None:
        """End the thread and all watching."""
        self._jobs.put(None)
        await asyncio.to_thread(self._thread.join)

    async def _done(self, work: Callable[[], T]) -> T:
        """What `work` gives on the engine's thread."""
        result: asyncio.Future[T] = self._loop.create_future()

        def job() -> None:
            try:
                value = work()
            except BaseException as error:
                self._tell(_fail, result, error)
            else:
                self._tell(_settle, result, value)

        self._jobs.put(job)
        return await result

    def _reporting(self, progress: Progress) -> Progress:
        return lambda done, total: self._tell(progress, done, total)

    def _show(self, board: Board, change: Change) -> None:
        self._boards[board.root] = board
        for told in tuple(self._told.get(board.root, ())):
            told(change)
        if event := self._changed.pop(board.root, None):
            event.set()

    def _hide(self, root: Path) -> None:
        self._boards.pop(root, None)
        self._told.pop(root, None)

    # ---- on the engine's thread

    def _tell(self, what: Callable[..., object], *values: object) -> None:
        # A loop that is closed needs to know nothing.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(what, *values)

    def _work(self) -> None:
        last = monotonic()
        while True:
            try:
                job = self._jobs.get(timeout=max(0.0, last + RESCAN_S - monotonic()))
            except Empty:
                last = monotonic()
                self._look_everywhere()
                continue
            if job is None:
                break
            job()
        for rooted in self._roots.values():
            _stop_watching(rooted)

    def _look_everywhere(self) -> None:
        for root, rooted in list(self._roots.items()):
            if rooted.users == 0 and monotonic() - rooted.idle_since > IDLE_S:
                _stop_watching(self._roots.pop(root))
                self._tell(self._hide, root)
            else:
                self._look_again(root, rooted.live.rescan)

    def _look_again(self, root: Path, look: Callable[[], Change | None]) -> None:
        try:
            self._publish(root, look())
        except Exception:
            _log.exception("%s could not be looked at", root)

    def _open(self, path: Path, progress: Progress | None) -> tuple[Path, ...]:
        roots = tuple(workspace.root for workspace in open_path(path).workspaces)
        for root in roots:
            self._rooted_at(root, progress).users += 1
        return roots

    def _rooted_at(self, root: Path, progress: Progress | None) -> _Rooted:
        rooted = self._roots.get(root)
        if rooted is None:
            rooted = self._roots[root] = _Rooted(Live(root))
            self._start_watching(root, rooted)
            self._publish(root, rooted.live.scan(progress))
        return rooted

    def _start_watching(self, root: Path, rooted: _Rooted) -> None:
        if not self._watch:
            return
        from .watcher import Watcher

        watcher = rooted.watcher = Watcher(lambda: self._jobs.put(heard))

        def heard() -> None:
            hints = watcher.take()
            look = rooted.live.rescan if hints.lost else lambda: rooted.live.touch(hints.paths)
            self._look_again(root, look)

        watcher.watch(rooted.live.watched())

    def _close(self, root: Path) -> None:
        rooted = self._rooted(root)
        rooted.users = max(0, rooted.users - 1)
        rooted.idle_since = monotonic()

    def _rooted(self, root: Path) -> _Rooted:
        if root not in self._roots:
            raise UsageError(f"{root} is not open")
        return self._roots[root]

    def _publish(self, root: Path, change: Change | None) -> None:
        if change is not None:
            live = self._roots[root].live
            self._tell(self._show, Board(root, live.version, live.runs, live.findings), change)


def _stop_watching(rooted: _Rooted) -> None:
    from .watcher import Watcher

    if isinstance(rooted.watcher, Watcher):
        rooted.watcher.stop()


def _settle(result: asyncio.Future[T], value: T) -> None:
    if not result.done():
        result.set_result(value)


def _fail(result: asyncio.Future[T], error: BaseException) -> None:
    if not result.done():
        result.set_exception(error)
