"""The live roots of a process, all on one thread; an asyncio loop sees frozen boards and is told of changes.

The engine's thread alone watches, reads files and evaluates. What it finds goes to the loop as values that
never change, in order; whatever runs on the loop looks at the newest board at once and never waits for a
disk. Long looks (a first scan, a rescan) are done in small parts, and what is saved meanwhile comes first.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar

from ...orchestration.evaluation.evaluate import EvaluationTrace
from ...orchestration.result.values import Evaluation
from ...orchestration.snapshot.snapshot import JOURNAL
from ...orchestration.updates.commands import Command
from ...orchestration.vfs.files import join
from ..workspace.apply import ClaimToken, CommandResult
from ..workspace.roots import UsageError
from ..workspace.run_reader import CLAIMS, Parsed
from ..workspace.workspace import Workspace
from .boards import Board, Progress, RootChange
from .parse_cache import Carried
from .worker import Later, Worker
from .writer_threads import writing

_PROGRESS_S = 0.1
_ACTED = 8
_BEHIND = "somebody who looks at this root may not have been told of all changes; the server's log says why"

_log = logging.getLogger(__name__)

T = TypeVar("T")
Told = Callable[[RootChange], None]


class Engine:
    """All live roots of a process. Its methods belong to the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, *, watch: bool = True) -> None:
        self._loop = loop
        self._boards: dict[Path, Board] = {}
        self._told: dict[Path, list[Told]] = {}
        self._changed: dict[Path, asyncio.Event] = {}
        # Roots of which somebody failed when it was told.
        self._behind: set[Path] = set()
        self._results: set[asyncio.Future[Any]] = set()
        self._acted: dict[tuple[Path, str], Parsed] = {}
        worker = self._worker = Worker(self._post, watch)
        worker.show, worker.hide = self._show, self._hide
        worker.start()

    async def open(self, path: Path, progress: Progress | None = None) -> tuple[Path, ...]:
        """The root of `path` and those of its projects, looked at and watched from now on.

        Each call needs a `close` of each root. `progress` hears on the loop of (runs judged, runs in all).
        Raises UsageError for a path that does not exist.
        """
        opened: list[Path] = []
        said = None if progress is None else self._reporting(progress)
        result = self._result()
        self._worker.do(lambda: self._worker.open(path, said, opened, Later(self._post, result)))
        try:
            return await result
        except asyncio.CancelledError:
            # Whoever wanted it is gone; what was opened for him is closed again.
            self._worker.do(lambda: [self._worker.close(root) for root in opened])
            raise

    def close(self, root: Path) -> None:
        """Somebody needs the root no more; it is dropped some time after the last one.

        There is nothing to wait for, so that whoever is ended in the middle still closes all it has.
        """
        self._worker.do(lambda: self._worker.close(root))

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

    async def ask(self, root: Path, run: str, question: Callable[[EvaluationTrace], T]) -> T:
        """What a question about how a run's evaluation comes about is answered, on the engine's thread.

        Raises UsageError when it is no run, and what `question` raises.
        """
        return await self._done(lambda: self._worker.rooted(root).live.ask(run, question))

    async def unsaved(self, root: Path, overlay: Mapping[str, str]) -> Mapping[str, Evaluation]:
        """The runs that unsaved texts (root-relative path to text) have a part in, judged on them."""
        return await self._done(lambda: self._worker.rooted(root).live.unsaved(overlay))

    async def touch(self, root: Path, paths: Iterable[Path]) -> None:
        """Look now where `paths` (absolute) may have changed; the board shows it when this returns."""
        hints = list(paths)
        await self._done(lambda: self._worker.touch(root, hints))

    async def act(
        self,
        root: Path,
        run: str,
        act: Command,
        *,
        signed: bool = False,
        token: ClaimToken | None = None,
        revision: str | None = None,
    ) -> CommandResult:
        """`apply.act`; the root's board shows the result when this returns. Raises what that raises."""
        from ..workspace import apply as acting

        # Whoever acts on the same run at the same time does without: it belongs to one thread.
        parsed = Carried(self._acted.pop((root, run), {}))
        done = await writing(
            acting.apply_command,
            Workspace(root, parsed=parsed),
            run,
            act,
            signed=signed,
            token=token,
            revision=revision,
        )
        self._acted[root, run] = dict(parsed)
        if len(self._acted) > _ACTED:
            del self._acted[next(iter(self._acted))]
        await self.touch(root, [root / path for path in _written(run, done)])
        return done

    async def start(
        self, root: Path, workflow: str, name: str, title: str, actor: str
    ) -> tuple[str, CommandResult]:
        """`apply.start` of the workflow of that name: (the new run, how it stands)."""
        from ..workspace import apply as acting

        def made() -> tuple[str, CommandResult]:
            workspace = Workspace(root)
            return acting.start_run(workspace, workspace.library.workflow(workflow), name, title, actor)

        run, done = await writing(made)
        await self.touch(root, [root / run])
        return run, done

    async def watched(self, root: Path) -> int:
        """How many folders of a root are watched. Raises UsageError for one that is not open."""
        return await self._done(lambda: len(self._worker.rooted(root).live.watched()))

    async def stop(self) -> None:
        """End the thread and all watching; who still waits for something is cancelled."""
        await asyncio.to_thread(self._worker.stop)
        for result in tuple(self._results):
            result.cancel()

    # ---- between the loop and the thread

    async def _done(self, work: Callable[[], T]) -> T:
        """What `work` gives on the engine's thread."""
        result = self._result()
        later = Later(self._post, result)

        def job() -> None:
            try:
                value = work()
            except BaseException as error:
                # Nothing is swallowed: it is raised where the work was asked for.
                later.fail(error)
            else:
                later.settle(value)

        self._worker.do(job)
        return await result

    def _result(self) -> asyncio.Future[Any]:
        result = self._loop.create_future()
        self._results.add(result)
        result.add_done_callback(self._results.discard)
        if not self._worker.is_alive():
            result.cancel()
        return result

    def _post(self, what: Callable[..., object], *values: object) -> None:
        """Have the loop do something; one that is closed needs to do nothing."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(what, *values)

    def _reporting(self, progress: Progress) -> Progress:
        last = [0.0]

        def report(done: int, total: int) -> None:
            if done == total or monotonic() - last[0] > _PROGRESS_S:
                last[0] = monotonic()
                self._post(progress, done, total)

        return report

    def _show(self, board: Board, change: RootChange | None) -> None:
        self._boards[board.root] = self._with_condition(board)
        if change is None:
            return
        for told in tuple(self._told.get(board.root, ())):
            try:
                told(change)
            except Exception:
                # A mistake of one front end is nobody else's; the same one again says nothing new.
                if board.root not in self._behind:
                    _log.exception("somebody who was told of %s failed", board.root)
                self._behind.add(board.root)
                self._boards[board.root] = self._with_condition(board)
        if event := self._changed.pop(board.root, None):
            event.set()

    def _with_condition(self, board: Board) -> Board:
        behind = board.root in self._behind
        return replace(board, conditions=(*board.conditions, _BEHIND)) if behind else board

    def _hide(self, root: Path) -> None:
        self._boards.pop(root, None)
        self._behind.discard(root)
        self._told.pop(root, None)


def _written(run: str, done: CommandResult) -> set[str]:
    """The files of a root that an act has written."""
    paths = {join(run, JOURNAL), join(run, CLAIMS), *(mended.path for mended in done.commit.recovery)}
    for entry in done.commit.records:
        files = entry.get("files")
        for item in files if isinstance(files, list) else ():
            paths.add(str(item.get("path")))
    return {path for path in paths if path}
