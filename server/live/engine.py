"""The async façade of all live roots of a process: frozen boards, changes told in order, and acts on runs.

The engine's thread alone watches, reads files and evaluates (`Worker`). What differs goes to the loop as
values that never change, in order; whatever runs on the loop looks at the newest board at once and never
waits for a disk. Writers of a run come one after the other (`writer_queue`), on threads of their own: they
wait for the lock of the run, for seconds where another process holds it, and what else needs a thread (a new
connection, an answer) does not wait behind them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any, ParamSpec, TypeVar

from ...orchestration.evaluation.trace import EvaluationTrace
from ...orchestration.journal.lines import CLAIMS, JOURNAL
from ...orchestration.result.values import Evaluation
from ...orchestration.updates.commands import Command
from ...orchestration.updates.refusals import RecordedRefusal
from ...orchestration.vfs.files import below
from ..checks.check_process import CheckRuns
from ..lru_cache import LruCache
from ..memory import collect_seldom
from ..workspace import apply
from ..workspace.apply import NO_CLAIMS, CommandResult, HeldClaims, StoreError
from ..workspace.decision_proof import SignerOf, signer
from ..workspace.roots import UsageError
from ..workspace.run_reader import ParseCache, Parsed
from ..workspace.workspace import Workspace
from ..writer_queue import WriterQueue, run_in_writer_thread
from .boards import Progress, RootBoard, RootChange
from .worker import Worker

_PROGRESS_S = 0.1
"""Between two reports of a first scan; the last one is always made."""
_WARM_ACTS = 8
"""The parse results of the last so many runs that were acted on are kept."""
_BEHIND = "somebody who looks at this root may not have been told of all changes; the server's log says why"

_log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")
ChangeListener = Callable[[RootChange], None]


class Engine:
    """All live roots of a process. Its methods belong to the loop."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        *,
        watch: bool = True,
        runtime: Path | None = None,
        cache: Path | None = None,
    ) -> None:
        """`runtime` is this user's folder for what running processes need; a temporary one without.

        `cache` is that for evaluations to be kept across starts; without one none are.
        """
        collect_seldom()
        self._loop = loop
        self._boards: dict[Path, RootBoard] = {}
        self._listeners: dict[Path, list[ChangeListener]] = {}
        self.on_opened: Callable[[Path], None] = lambda root: None
        """Called on the loop with each root whose first board is there."""
        self._failed_listeners: set[Path] = set()
        """Roots of which a listener failed."""
        self._results: set[asyncio.Future[Any]] = set()
        self._writers = WriterQueue(StoreError)
        self._acts_parsed = LruCache[tuple[Path, str], Parsed](_WARM_ACTS)
        self.check_runs = CheckRuns()
        """The runs of checks under way, for all front ends."""
        worker = self._worker = Worker(self._post, watch, runtime, cache)
        worker.on_board, worker.on_closed = self._on_board, self._on_closed
        worker.start()

    # ---- roots

    async def open(self, path: Path, progress: Progress | None = None) -> tuple[Path, ...]:
        """The root of `path` and those of its projects, scanned and watched from now on.

        Each call needs a `close` of each root. `progress` is called on the loop during the first scan.
        Raises UsageError for a path that does not exist.
        """
        opened: list[Path] = []
        posted_at = float("-inf")

        def post_progress(done: int, total: int) -> None:
            nonlocal posted_at
            if progress and (done == total or monotonic() - posted_at > _PROGRESS_S):
                posted_at = monotonic()
                self._post(progress, done, total)

        try:
            return await self._submit(lambda result: self._worker.open(path, post_progress, opened, result))
        except asyncio.CancelledError:
            # Whoever wanted it is gone; what was opened for them is closed again.
            self._worker.do(lambda: [self._worker.close(root) for root in opened])
            raise

    def close(self, root: Path) -> None:
        """Somebody needs the root no more; it is dropped some time after the last one.

        There is nothing to wait for, so that whoever is ended in the middle still closes all it has.
        """
        self._worker.do(lambda: self._worker.close(root))

    def board(self, root: Path) -> RootBoard:
        """The newest board of an open root. Raises UsageError for one that is not open."""
        if root not in self._boards:
            raise UsageError(f"{root} is not open")
        return self._boards[root]

    def known_runs(self, root: Path) -> Collection[str] | None:
        """The runs on the newest board of a root, None where it is not open; from any thread."""
        board = self._boards.get(root)
        return list(board.runs) if board else None

    def boards(self) -> tuple[RootBoard, ...]:
        """The newest boards of all open roots, in order of their paths."""
        return tuple(self._boards[root] for root in sorted(self._boards))

    def subscribe(self, root: Path, listener: ChangeListener) -> Callable[[], None]:
        """Call `listener` on the loop with every later change of the root; returns what ends that."""
        self._listeners.setdefault(root, []).append(listener)

        def unsubscribe() -> None:
            with suppress(KeyError, ValueError):
                self._listeners[root].remove(listener)

        return unsubscribe

    async def stop(self) -> None:
        """End checks that run, the thread and all watching; who still waits for something is cancelled."""
        await self.check_runs.close()
        await asyncio.to_thread(self._worker.stop)
        for result in tuple(self._results):
            result.cancel()

    # ---- work on the engine's thread; each raises UsageError for a root that is not open

    async def query(self, root: Path, run: str, question: Callable[[EvaluationTrace], T]) -> T:
        """Ask `question` about the trace of a run's evaluation (`LiveRoot.query`).

        Raises UsageError when it is no run, and what `question` raises.
        """
        return await self._on_thread(lambda: self._worker.open_root(root).live.query(run, question))

    async def evaluate_unsaved(self, root: Path, texts: Mapping[str, str]) -> Mapping[str, Evaluation]:
        """The runs that read any of the unsaved texts, evaluated on them (`LiveRoot.evaluate_unsaved`)."""
        return await self._on_thread(lambda: self._worker.open_root(root).live.evaluate_unsaved(texts))

    async def refresh(self, root: Path, paths: Iterable[Path], *, grace: bool = False) -> None:
        """Look now where `paths` (absolute) may have changed.

        The board shows it when this returns; with `grace`, for who does not know that the saves are done, but
        for what may be half saved.
        """
        hints = list(paths)
        await self._on_thread(lambda: self._worker.refresh(root, hints, grace))

    async def look_again(self, root: Path, run: str | None = None) -> bool:
        """Take in what was saved before this call: the board shows it when this returns.

        For who answers a question about one run, or without one about all (`LiveRoot.look_again`). While a
        file that it is about may be half saved, this waits for it, `MAX_HOLD_MS` at most. True where all runs
        are as their files were: as far as the system tells of changes, of whomever.
        """
        return await self._submit(lambda result: self._worker.look_again(root, run, result))

    async def watched_count(self, root: Path) -> int:
        """The number of watched folders of a root."""
        return await self._on_thread(lambda: len(self._worker.open_root(root).live.watched_folders()))

    async def watch_faults(self) -> Mapping[str, int | str]:
        """What went wrong with watching since the process began, and was made good."""
        return await self._on_thread(self._worker.watch_faults)

    async def cache_state(self) -> Mapping[str, Any]:
        """What the cache on disk was good for since the process began."""
        return await self._on_thread(self._worker.cache_state)

    # ---- acts; the root's board shows the result when they return

    async def act(
        self,
        root: Path,
        run: str,
        act: Command,
        *,
        signed: bool = False,
        claims: HeldClaims = NO_CLAIMS,
        revision: str | None = None,
        sign_with: SignerOf = signer,
    ) -> CommandResult:
        """`apply.apply_command` on a writer's thread. Raises what that raises."""
        try:
            async with self._writers.turn(root, run):
                parsed = ParseCache(self._acts_parsed.get((root, run)))
                # One that is cancelled may still work with them: parse results belong to one thread.
                self._acts_parsed.drop((root, run))
                done = await run_in_writer_thread(
                    apply.apply_command,
                    Workspace(root, parsed=parsed),
                    run,
                    act,
                    signed=signed,
                    claims=claims,
                    revision=revision,
                    sign_with=sign_with,
                )
                self._acts_parsed.keep((root, run), dict(parsed))
        except RecordedRefusal:
            await self.refresh(root, [root / below(_home(self._boards.get(root), run), JOURNAL)])
            raise
        await self.refresh(root, [root / path for path in _written_paths(done)])
        await self.look_again(root, run)
        return done

    async def start(
        self, root: Path, workflow: str, name: str, title: str, actor: str
    ) -> tuple[str, CommandResult]:
        """`apply.start_run` of the workflow of that name: (the new run, how it stands)."""

        def start() -> tuple[str, CommandResult]:
            workspace = Workspace(root)
            return apply.start_run(workspace, workspace.library.workflow(workflow), name, title, actor)

        run, done = await self.write(root, "", start)
        await self.refresh(root, [root / run])
        return run, done

    async def write(
        self, root: Path, run: str, work: Callable[P, T], *arguments: P.args, **keywords: P.kwargs
    ) -> T:
        """Run `work`, which writes a run, on a writer's thread once those before have written it.

        Raises what that raises, and StoreError when its turn does not come in time.
        """
        async with self._writers.turn(root, run):
            return await run_in_writer_thread(work, *arguments, **keywords)

    # ---- between the loop and the thread

    async def _on_thread(self, work: Callable[[], T]) -> T:
        """Run `work` on the engine's thread, and return what it returns. Raises what that raises."""
        return await self._submit(lambda result: result.set_result(work()))

    def _submit(self, job: Callable[[Future[T]], None]) -> asyncio.Future[T]:
        """Have the thread do a job that settles a future; cancelled when the thread has ended."""
        result: Future[T] = Future()
        waiting = asyncio.wrap_future(result, loop=self._loop)
        self._results.add(waiting)
        waiting.add_done_callback(self._results.discard)

        def run() -> None:
            if result.set_running_or_notify_cancel():
                try:
                    job(result)
                except BaseException as error:
                    # Nothing is swallowed: it is raised where the work was asked for.
                    result.set_exception(error)

        if self._worker.is_alive():
            self._worker.do(run)
        else:
            waiting.cancel()
        return waiting

    def _post(self, what: Callable[..., object], *values: object) -> None:
        """Have the loop do something; one that is closed needs to do nothing."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(what, *values)

    def _on_board(self, board: RootBoard, change: RootChange | None) -> None:
        is_new = board.root not in self._boards
        self._boards[board.root] = self._with_condition(board)
        if is_new:
            self.on_opened(board.root)
        if change is None:
            return
        for listener in tuple(self._listeners.get(board.root, ())):
            try:
                listener(change)
            except Exception:
                # A mistake of one front end is nobody else's; the same one again says nothing new.
                if board.root not in self._failed_listeners:
                    _log.exception("somebody who was told of %s failed", board.root)
                self._failed_listeners.add(board.root)
                self._boards[board.root] = self._with_condition(board)

    def _with_condition(self, board: RootBoard) -> RootBoard:
        is_behind = board.root in self._failed_listeners
        return replace(board, conditions=(*board.conditions, _BEHIND)) if is_behind else board

    def _on_closed(self, root: Path) -> None:
        self._boards.pop(root, None)
        self._failed_listeners.discard(root)
        self._listeners.pop(root, None)


def _home(board: RootBoard | None, run: str) -> str:
    """The folder that holds the records of a run, as far as its root's board knows."""
    evaluation = board.runs.get(run) if board else None
    return evaluation.home if evaluation else run


def _written_paths(done: CommandResult) -> set[str]:
    """The files of a root that an act has written."""
    home = done.evaluation.home
    paths = {
        below(home, JOURNAL),
        below(home, CLAIMS),
        *(recovered.path for recovered in done.commit.recovery),
    }
    for entry in done.commit.records:
        files = entry.get("files")
        for item in files if isinstance(files, list) else ():
            paths.add(str(item.get("path")))
    return {path for path in paths if path}
