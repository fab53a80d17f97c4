"""The engine's thread: it alone watches, reads files and evaluates. What it finds it posts as values.

Long looks (a first scan, a rescan) are done in small parts, and what is saved meanwhile comes first. Whatever
fails is logged once with its traceback and told in the conditions of the boards; all else goes on.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING, Any

from ..workspace.roots import UsageError
from ..workspace.workspace import open_path
from .boards import Board, Progress, RootChange
from .live_root import Live

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
_MOST_FAILURES = 100
_FAILED = "the server could not do something, so folders are looked at anew; the server's log says why"
_DEAF = "changes may not be heard, so folders are looked at every few seconds; the server's log says why"

_log = logging.getLogger(__name__)

Look = Generator[None, None, RootChange | None]


@dataclass
class Rooted:
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


class Later:
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


class Worker(threading.Thread):
    """The engine's thread. Everything but `do`, `start` and `stop` runs on it."""

    def __init__(self, post: Callable[..., None], watch: bool) -> None:
        super().__init__(name="phasekeeper-engine", daemon=True)
        self.show: Callable[[Board, RootChange | None], None]
        self.hide: Callable[[Path], None]
        self._post, self._watch = post, watch
        self._jobs: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._roots: dict[Path, Rooted] = {}
        self._looks: deque[Rooted] = deque()
        self._watcher: Watcher | None = None
        self._deaf = self._failed = ""
        self._rests = False

    def do(self, job: Callable[[], object]) -> None:
        """Have the thread do something that raises nothing."""
        self._jobs.put(job)

    def stop(self) -> None:
        self._jobs.put(None)
        self.join()

    def run(self) -> None:
        while True:
            try:
                job = self._next()
                if job is None:
                    break
                job()
            except Exception:
                self._note_own_failure()
        if self._watcher:
            self._watcher.stop()

    def _next(self) -> Callable[[], object] | None:
        """What is to be done next; None when nothing is any more."""
        try:
            return self._jobs.get(timeout=self._pause_s())
        except Empty:
            return self._go_on

    def _note_own_failure(self) -> None:
        """Whatever it was, the thread goes on; what was not seen because of it is seen by the next looks."""
        if not self._failed:
            _log.exception("the engine could not do something")
        self._failed, self._rests = _FAILED, True
        self._rescan_soon()
        for rooted in list(self._roots.values()):
            self._publish(rooted, None)

    def _rescan_soon(self) -> None:
        soon = monotonic() + POLL_S
        for rooted in self._roots.values():
            rooted.rescan_at = min(rooted.rescan_at, soon) if rooted.is_scanned else rooted.rescan_at

    def _pause_s(self) -> float:
        """How long nothing has to be done unless somebody asks."""
        if self._rests:
            # What just failed would fail again at once.
            self._rests = False
            return POLL_S
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

    def _begin(self, rooted: Rooted, look: Look) -> None:
        rooted.look, rooted.began = look, monotonic()
        self._looks.append(rooted)

    def _look_on(self, rooted: Rooted) -> None:
        """One part of a long look."""
        has_failed = False
        try:
            assert rooted.look
            next(rooted.look)
        except StopIteration as end:
            change: RootChange | None = end.value
        except Exception:
            has_failed = True
            self._note_failure(rooted)
            change = self._tried(rooted, rooted.live.touch)
        else:
            return
        self._looks.popleft()
        rooted.look = None
        if not has_failed:
            rooted.failure = self._failed = ""
        self._seen_whole(rooted, change)

    def _seen_whole(self, rooted: Rooted, change: RootChange | None) -> None:
        took = monotonic() - rooted.began
        if not rooted.is_scanned:
            rooted.is_scanned = True
            _set_aside()
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

    def _look(self, rooted: Rooted, look: Callable[[], RootChange | None]) -> None:
        self._publish(rooted, self._tried(rooted, look))
        self._follow(rooted)

    def _tried(self, rooted: Rooted, look: Callable[[], RootChange | None]) -> RootChange | None:
        """What a look comes to. A run that cannot be judged is left out, and all others are judged."""
        for _ in range(_MOST_FAILURES):
            try:
                return look()
            except Exception:
                self._note_failure(rooted)
                look = rooted.live.touch
        return None

    def _note_failure(self, rooted: Rooted) -> None:
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

    def _follow(self, rooted: Rooted) -> None:
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
            self._rescan_soon()
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

    def _publish(self, rooted: Rooted, change: RootChange | None, always: bool = False) -> None:
        live = rooted.live
        conditions = tuple(filter(None, (self._condition(), self._failed, rooted.failure)))
        if rooted.is_scanned and (change or always or conditions != rooted.conditions):
            rooted.conditions = conditions
            board = Board(live.root, live.version, live.runs, live.findings, conditions, live.projects)
            self._post(self.show, board, change)

    # ---- roots

    def open(self, path: Path, progress: Progress | None, opened: list[Path], later: Later) -> None:
        try:
            opened += (workspace.root for workspace in open_path(path).workspaces)
            roots = [self._rooted_at(root, progress) for root in opened]
        except BaseException as error:
            # Nothing is swallowed: it is raised where the root was asked for.
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

    def rooted(self, root: Path) -> Rooted:
        """Raises UsageError for a root that is not open."""
        if root not in self._roots:
            raise UsageError(f"{root} is not open")
        return self._roots[root]

    def _rooted_at(self, root: Path, progress: Progress | None) -> Rooted:
        rooted = self._roots.get(root)
        if rooted is None:
            rooted = self._roots[root] = Rooted(Live(root), rescan_at=float("inf"))
            self._start_watching(rooted)
            self._begin(rooted, rooted.live.scanning(progress))
        return rooted

    def _start_watching(self, rooted: Rooted) -> None:
        """Watched first and looked at then: what changes in between is heard."""
        live = rooted.live

        def begin(watcher: Watcher) -> Mapping[Path, bool]:
            live.prepare()
            return watcher.watch(live.root, live.watched())

        self._hearing(begin)

    def _drop(self, rooted: Rooted) -> None:
        root = rooted.live.root
        del self._roots[root]
        if rooted.look is not None:
            self._looks.remove(rooted)
        self._hearing(lambda watcher: watcher.watch(root, {}))
        # What was there at the first look, connections that are over among it, may be garbage by now.
        gc.unfreeze()
        _set_aside()
        self._post(self.hide, root)


def _set_aside() -> None:
    """What stays is not looked through for garbage time and again, until a root is dropped."""
    gc.collect()
    gc.freeze()
