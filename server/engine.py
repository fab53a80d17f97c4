"""The live roots of a process, all on one thread; an asyncio loop sees frozen boards and is told of changes.

The engine's thread alone watches, reads files and evaluates. What it finds goes to the loop as values that
never change, in order; whatever runs on the loop looks at the newest board at once and never waits for a
disk. Long looks (a first scan, a rescan) are done in small parts, and what is saved meanwhile comes first.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from ..orchestration.effects import Act
from ..orchestration.evaluate import Steps
from ..orchestration.evaluation import Evaluation
from ..orchestration.files import join
from ..orchestration.findings import Finding
from ..orchestration.snapshot import JOURNAL
from .acting import Done, Token
from .live import Carried, Change, Live
from .reading import CLAIMS, Parsed
from .roots import UsageError
from .workspace import Workspace, open_path

if TYPE_CHECKING:
    from .watcher import Watcher

IDLE_S = 300.0
"""A root that nobody has open is kept for so long: editors come back."""
RESCAN_S = 60.0
"""So often every root is looked at without any hint."""
POLL_S = 3.0
"""So often, when the system does not say what changes."""
_SHARE, _POLL_SHARE = 50, 5
"""A look without a hint is followed by a pause so many times as long."""
_PROGRESS_S = 0.1
_MOST_FAILURES = 100
_ACTED = 8
_DEAF = "changes may not be heard, so folders are looked at every few seconds; the server's log says why"

_log = logging.getLogger(__name__)

T = TypeVar("T")
Told = Callable[[Change], None]
Progress = Callable[[int, int], None]
Look = Generator[None, None, Change | None]


@dataclass(frozen=True, slots=True)
class Board:
    """How one root stands at one version: its runs in order of their paths, and all findings by path.

    `conditions` are sentences about the server itself: why the board may be behind the files. `projects` are
    the roots in it that its configuration names; who has it open opens it anew when they are others.
    """

    root: Path
    version: int
    runs: Mapping[str, Evaluation]
    findings: Mapping[str, tuple[Finding, ...]]
    conditions: tuple[str, ...] = ()
    projects: tuple[Path, ...] = ()


@dataclass
class _Rooted:
    """A root on the engine's thread. `users` is how often it was opened and not closed; `waiting` is called
    when the first scan is done, `look` is the long look at work."""

    live: Live
    users: int = 0
    idle_since: float = field(default_factory=monotonic)
    look: Look | None = None
    began: float = 0.0
    rescan_at: float = 0.0
    is_scanned: bool = False
    failure: str = ""
    conditions: tuple[str, ...] = ()
    waiting: list[Callable[[], None]] = field(default_factory=list)


class Engine:
    """All live roots of a process. Its methods belong to the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, *, watch: bool = True) -> None:
        self._loop = loop
        self._boards: dict[Path, Board] = {}
        self._told: dict[Path, list[Told]] = {}
        self._changed: dict[Path, asyncio.Event] = {}
        self._results: set[asyncio.Future[Any]] = set()
        self._acted: dict[tuple[Path, str], Parsed] = {}
        worker = self._worker = _Worker(self._post, watch)
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
        self._worker.do(lambda: self._worker.open(path, said, opened, _Later(self._post, result)))
        try:
            return await result
        except asyncio.CancelledError:
            # Whoever wanted it is gone; what was opened for him is closed again.
            self._worker.do(lambda: [self._worker.close(root) for root in opened])
            raise

    async def close(self, root: Path) -> None:
        """Somebody needs the root no more; it is dropped some time after the last one."""
        await self._done(lambda: self._worker.close(root))

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
        return await self._done(lambda: self._worker.rooted(root).live.steps(run))

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
        act: Act,
        *,
        signed: bool = False,
        token: Token | None = None,
        revision: str | None = None,
    ) -> Done:
        """`acting.act`; the root's board shows the result when this returns. Raises what that raises."""
        from . import acting

        # Whoever acts on the same run at the same time does without: it belongs to one thread.
        parsed = Carried(self._acted.pop((root, run), {}))
        done = await asyncio.to_thread(
            acting.act,
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

    async def start(self, root: Path, workflow: str, name: str, title: str, actor: str) -> tuple[str, Done]:
        """`acting.start` of the workflow of that name: (the new run, how it stands)."""
        from . import acting

        def made() -> tuple[str, Done]:
            workspace = Workspace(root)
            return acting.start(workspace, workspace.library.workflow(workflow), name, title, actor)

        run, done = await asyncio.to_thread(made)
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
        later = _Later(self._post, result)

        def job() -> None:
            try:
                value = work()
            except BaseException as error:
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

    def _show(self, board: Board, change: Change | None) -> None:
        self._boards[board.root] = board
        if change is None:
            return
        for told in tuple(self._told.get(board.root, ())):
            try:
                told(change)
            except Exception:
                _log.exception("somebody who was told of %s failed", board.root)
        if event := self._changed.pop(board.root, None):
            event.set()

    def _hide(self, root: Path) -> None:
        self._boards.pop(root, None)
        self._told.pop(root, None)


class _Later:
    """A result on the loop, given from the thread."""

    def __init__(self, post: Callable[..., None], result: asyncio.Future[Any]) -> None:
        self._post, self._result = post, result

    def settle(self, value: object) -> None:
        self._post(self._give, value, None)

    def fail(self, error: BaseException) -> None:
        self._post(self._give, None, error)

    def _give(self, value: object, error: BaseException | None) -> None:
        if self._result.done():
            return
        if error is None:
            self._result.set_result(value)
        else:
            self._result.set_exception(error)


class _Worker(threading.Thread):
    """The engine's thread. Everything but `do`, `start` and `stop` runs on it."""

    def __init__(self, post: Callable[..., None], watch: bool) -> None:
        super().__init__(name="phasekeeper-engine", daemon=True)
        self.show: Callable[[Board, Change | None], None]
        self.hide: Callable[[Path], None]
        self._post, self._watch = post, watch
        self._jobs: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._roots: dict[Path, _Rooted] = {}
        self._looks: deque[_Rooted] = deque()
        self._watcher: Watcher | None = None
        self._deaf = ""

    def do(self, job: Callable[[], object]) -> None:
        """Have the thread do something that raises nothing."""
        self._jobs.put(job)

    def stop(self) -> None:
        self._jobs.put(None)
        self.join()

    def run(self) -> None:
        while True:
            try:
                job = self._jobs.get(timeout=self._pause_s())
            except Empty:
                job = self._go_on
            if job is None:
                break
            try:
                job()
            except Exception:
                # Whatever it was, the other roots go on.
                _log.exception("the engine could not do something")
        if self._watcher:
            self._watcher.stop()

    def _pause_s(self) -> float:
        """How long nothing has to be done unless somebody asks."""
        if self._looks:
            return 0.0
        now = monotonic()
        waits = [RESCAN_S, *(rooted.rescan_at - now for rooted in self._roots.values())]
        due = (rooted.live.due_ms() for rooted in self._roots.values())
        return max(0.0, min([*waits, *(wait / 1000 for wait in due if wait is not None)]))

    # ---- long looks, in parts

    def _go_on(self) -> None:
        if self._looks:
            self._look_on(self._looks[0])
            return
        now = monotonic()
        for rooted in list(self._roots.values()):
            if rooted.users == 0 and now - rooted.idle_since > IDLE_S:
                self._drop(rooted)
            elif rooted.rescan_at <= now:
                self._begin(rooted, rooted.live.rescanning())
            elif (due_ms := rooted.live.due_ms()) is not None and due_ms <= 0:
                self._look(rooted, rooted.live.touch)

    def _begin(self, rooted: _Rooted, look: Look) -> None:
        rooted.look, rooted.began = look, monotonic()
        self._looks.append(rooted)

    def _look_on(self, rooted: _Rooted) -> None:
        """One part of a long look."""
        has_failed = False
        try:
            assert rooted.look
            next(rooted.look)
        except StopIteration as end:
            change: Change | None = end.value
        except Exception:
            has_failed = True
            self._note_failure(rooted)
            change = self._tried(rooted, rooted.live.touch)
        else:
            return
        self._looks.popleft()
        rooted.look = None
        if not has_failed:
            rooted.failure = ""
        self._seen_whole(rooted, change)

    def _seen_whole(self, rooted: _Rooted, change: Change | None) -> None:
        took = monotonic() - rooted.began
        if not rooted.is_scanned:
            rooted.is_scanned = True
            # What stays is not looked through for garbage time and again.
            gc.collect()
            gc.freeze()
        self._publish(rooted, change, always=True)
        for ready in rooted.waiting:
            ready()
        rooted.waiting.clear()
        if self._watch and rooted.live.root in self._roots:
            self._touch_new(self._hearing(self._check))
        self._follow(rooted)
        polls = bool(self._condition())
        rooted.rescan_at = monotonic() + (
            max(POLL_S, _POLL_SHARE * took) if polls else max(RESCAN_S, _SHARE * took)
        )
        self._publish(rooted, None)

    # ---- short looks

    def touch(self, root: Path, paths: Iterable[Path]) -> None:
        rooted = self.rooted(root)
        self._look(rooted, lambda: rooted.live.touch(paths))

    def _look(self, rooted: _Rooted, look: Callable[[], Change | None]) -> None:
        self._publish(rooted, self._tried(rooted, look))
        self._follow(rooted)

    def _tried(self, rooted: _Rooted, look: Callable[[], Change | None]) -> Change | None:
        """What a look comes to. A run that cannot be judged is left out, and all others are judged."""
        for _ in range(_MOST_FAILURES):
            try:
                return look()
            except Exception:
                self._note_failure(rooted)
                look = rooted.live.touch
        return None

    def _note_failure(self, rooted: _Rooted) -> None:
        if not rooted.failure:
            _log.exception("%s could not be looked at", rooted.live.root)
        rooted.failure = "something in this root could not be judged; the server's log says what"

    def _heard(self) -> None:
        """There are hints to be taken."""
        assert self._watcher
        hints = self._watcher.take()
        for rooted in list(self._roots.values()):
            self._look(rooted, lambda live=rooted.live: live.touch(hints.paths, grace=True))
            if hints.lost and rooted.look is None:
                self._begin(rooted, rooted.live.rescanning())

    def _follow(self, rooted: _Rooted) -> None:
        """Watch what the root depends on now, and look where nothing was watched before."""
        if rooted.is_scanned:
            live = rooted.live
            self._touch_new(self._hearing(lambda watcher: watcher.watch(live.root, live.watched())))

    def _hearing(self, ask: Callable[[Watcher], Mapping[Path, bool]]) -> Mapping[Path, bool]:
        """What the watcher answers. One that fails is told of, and until it does not all roots are polled."""
        if not self._watch:
            return {}
        try:
            if self._watcher is None:
                from .watcher import Watcher

                self._watcher = Watcher(lambda: self.do(self._heard))
            return ask(self._watcher)
        except Exception:
            if not self._deaf:
                _log.exception("the watcher failed")
            self._deaf = _DEAF
            soon = monotonic() + POLL_S
            for rooted in self._roots.values():
                rooted.rescan_at = min(rooted.rescan_at, soon) if rooted.is_scanned else rooted.rescan_at
            return {}

    def _check(self, watcher: Watcher) -> Mapping[Path, bool]:
        new = watcher.check()
        self._deaf = ""
        return new

    def _condition(self) -> str:
        """Why changes may not be heard; "" when they are."""
        return self._deaf or (self._watcher.condition if self._watcher else "")

    def _touch_new(self, folders: Mapping[Path, bool]) -> None:
        """Look where nothing was watched before."""
        whole = [folder for folder, is_whole in folders.items() if is_whole]
        single = [folder for folder, is_whole in folders.items() if not is_whole]
        for rooted in self._roots.values() if folders else ():
            live = rooted.live
            self._publish(rooted, self._tried(rooted, lambda live=live: live.glance(single)))
            self._publish(rooted, self._tried(rooted, lambda live=live: live.touch(whole)))

    def _publish(self, rooted: _Rooted, change: Change | None, always: bool = False) -> None:
        live = rooted.live
        conditions = tuple(filter(None, (self._condition(), rooted.failure)))
        if rooted.is_scanned and (change or always or conditions != rooted.conditions):
            rooted.conditions = conditions
            board = Board(live.root, live.version, live.runs, live.findings, conditions, live.projects)
            self._post(self.show, board, change)

    # ---- roots

    def open(self, path: Path, progress: Progress | None, opened: list[Path], later: _Later) -> None:
        try:
            opened += (workspace.root for workspace in open_path(path).workspaces)
            roots = [self._rooted_at(root, progress) for root in opened]
        except BaseException as error:
            opened.clear()
            later.fail(error)
            return
        found = tuple(opened)
        for rooted in roots:
            rooted.users += 1

        def ready() -> None:
            if all(rooted.is_scanned for rooted in roots):
                later.settle(found)

        for rooted in roots:
            if not rooted.is_scanned:
                rooted.waiting.append(ready)
        ready()

    def close(self, root: Path) -> None:
        rooted = self._roots.get(root)
        if rooted:
            rooted.users = max(0, rooted.users - 1)
            rooted.idle_since = monotonic()

    def rooted(self, root: Path) -> _Rooted:
        """Raises UsageError for a root that is not open."""
        if root not in self._roots:
            raise UsageError(f"{root} is not open")
        return self._roots[root]

    def _rooted_at(self, root: Path, progress: Progress | None) -> _Rooted:
        rooted = self._roots.get(root)
        if rooted is None:
            rooted = self._roots[root] = _Rooted(Live(root), rescan_at=float("inf"))
            self._start_watching(rooted)
            self._begin(rooted, rooted.live.scanning(progress))
        return rooted

    def _start_watching(self, rooted: _Rooted) -> None:
        """Watched first and looked at then: what changes in between is heard."""
        live = rooted.live

        def begin(watcher: Watcher) -> Mapping[Path, bool]:
            live.prepare()
            return watcher.watch(live.root, live.watched())

        self._hearing(begin)

    def _drop(self, rooted: _Rooted) -> None:
        root = rooted.live.root
        del self._roots[root]
        if rooted.look is not None:
            self._looks.remove(rooted)
        self._hearing(lambda watcher: watcher.watch(root, {}))
        self._post(self.hide, root)


def _written(run: str, done: Done) -> set[str]:
    """The files of a root that an act has written."""
    paths = {join(run, JOURNAL), join(run, CLAIMS), *(mended.path for mended in done.committed.mended)}
    for entry in done.committed.records:
        files = entry.get("files")
        for item in files if isinstance(files, list) else ():
            paths.add(str(item.get("path")))
    return {path for path in paths if path}
