"""The engine's thread: it alone watches, reads files and evaluates. What differs it posts as values.

Long refreshes (a first scan, a rescan) are done in small parts, and what is saved meanwhile comes first.
Whatever fails is logged once with its traceback and shown in the conditions of the boards; all else goes on.

The way of a save: the watcher calls `do(self._take_hints)`, each root refreshes those paths (`LiveRoot`), and
what differs is posted to the loop with the new board (`on_board`).
"""

from __future__ import annotations

import gc
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Set
from concurrent.futures import Future
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING

from ..workspace.roots import UsageError
from ..workspace.workspace import open_path
from .boards import Progress, RootBoard, RootChange
from .live_root import LiveRoot, Refresh

if TYPE_CHECKING:
    from .watcher import Watcher

IDLE_S = 300.0
"""A root that nobody has open is kept for so long: editors come back."""
RESCAN_S = 60.0
"""So often every root is looked at without any hint."""
POLL_S = 3.0
"""So often, when the system does not say what changes."""
WATCHER_CHECK_S = 0.5
"""So often it is asked whether the watcher still hears."""
_SHARE, _POLL_SHARE = 50, 5
"""A rescan is followed by a pause so many times as long."""
_MAX_FAILURES = 100
_MAX_ROUNDS = 50
"""So many folders, each met on the look into the one before, are watched before other work goes on."""
_FAILED = "the server could not do something, so folders are looked at anew; the server's log says why"
_UNWATCHED = "changes may not be heard, so folders are looked at every few seconds; the server's log says why"

_log = logging.getLogger(__name__)


@dataclass
class OpenRoot:
    """A root on the engine's thread."""

    live: LiveRoot
    users: int = 0
    """The count of openings that were not closed."""
    idle_since: float = field(default_factory=monotonic)
    refresh: Refresh | None = None
    """The long refresh at work."""
    has_missed_changes: bool = False
    """Another long refresh follows the one at work, which may have passed what changed unheard."""
    refresh_began: float = 0.0
    rescan_at: float = 0.0
    is_scanned: bool = False
    failure: str = ""
    conditions: tuple[str, ...] = ()
    on_scanned: list[Callable[[], None]] = field(default_factory=list)
    waiting: list[tuple[Set[str], Callable[[], None]]] = field(default_factory=list)
    """What is to be called once none of these stands as before."""


class Worker(threading.Thread):
    """The engine's thread. Everything but `do`, `start` and `stop` runs on it.

    `on_board(board, change)` and `on_closed(root)` are called on the loop, by `post`.
    """

    def __init__(self, post: Callable[..., None], watch: bool, runtime: Path | None = None) -> None:
        super().__init__(name="phasekeeper-engine", daemon=True)
        self.on_board: Callable[[RootBoard, RootChange | None], None]
        self.on_closed: Callable[[Path], None]
        self._post, self._watch, self._runtime = post, watch, runtime
        self._jobs: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._roots: dict[Path, OpenRoot] = {}
        self._refreshing: deque[OpenRoot] = deque()
        self._watcher: Watcher | None = None
        self._watcher_check_at = 0.0
        self._watch_failure = self._own_failure = ""
        self._is_backing_off = False

    def do(self, job: Callable[[], object]) -> None:
        """Have the thread do something that raises nothing."""
        self._jobs.put(job)

    def stop(self) -> None:
        """End the thread after the jobs it has; returns when it has ended."""
        self._jobs.put(None)
        self.join()

    def run(self) -> None:
        while True:
            try:
                self._replace_deaf_watcher()
                try:
                    job = self._jobs.get(timeout=self._pause_s())
                except Empty:
                    job = self._do_what_is_due
                if job is None:
                    break
                job()
            except Exception:
                # The thread goes on; what was missed because of it is found by the next rescans.
                if not self._own_failure:
                    _log.exception("the engine could not do something")
                self._own_failure, self._is_backing_off = _FAILED, True
                self._rescan_soon()
                for root in list(self._roots.values()):
                    self._publish(root, None)
        if self._watcher:
            self._watcher.stop()

    def _rescan_soon(self) -> None:
        soon = monotonic() + POLL_S
        for root in self._roots.values():
            root.rescan_at = min(root.rescan_at, soon) if root.is_scanned else root.rescan_at

    def _pause_s(self) -> float:
        """The seconds for which nothing has to be done unless somebody asks."""
        if self._is_backing_off:
            # What just failed would fail again at once.
            self._is_backing_off = False
            return POLL_S
        if self._refreshing:
            return 0.0
        now = monotonic()
        waits = [min(root.rescan_at - now, root.live.wait_ms() / 1000) for root in self._roots.values()]
        if self._watcher and waits:
            waits.append(self._watcher_check_at - now)
        return max(0.0, min([RESCAN_S, *waits]))

    # ---- long refreshes, in parts

    def _do_what_is_due(self) -> None:
        overdue = [root for root in self._roots.values() if root.is_scanned and root.live.wait_ms() <= 0]
        for root in overdue:
            self._refresh(root, partial(root.live.refresh_paths, grace=True))
        if self._refreshing:
            self._go_on_refreshing(self._refreshing[0])
            return
        now = monotonic()
        for root in list(self._roots.values()):
            if root.users == 0 and now - root.idle_since > IDLE_S:
                self._drop(root)
            elif root.rescan_at <= now:
                self._begin(root, root.live.refresh_all_in_parts(grace=True))

    def _begin(self, root: OpenRoot, refresh: Refresh) -> None:
        root.refresh, root.refresh_began = refresh, monotonic()
        self._refreshing.append(root)

    def _go_on_refreshing(self, root: OpenRoot) -> None:
        """One part of a long refresh, and what follows the last one."""
        try:
            assert root.refresh
            next(root.refresh)
            return
        except StopIteration as end:
            change: RootChange | None = end.value
            root.failure = self._own_failure = ""
        except Exception:
            self._note_failure(root)
            change = self._try(root, partial(root.live.refresh_paths, grace=True))
        self._refreshing.popleft()
        root.refresh = None
        took_s = monotonic() - root.refresh_began
        if not root.is_scanned:
            root.is_scanned = True
            _freeze_garbage_collector()
        self._publish(root, change, always=True)
        for ready in root.on_scanned:
            self._call_when_released(root, None, ready)
        root.on_scanned.clear()
        if self._watch and root.live.root in self._roots:
            self._refresh_newly_watched(self._with_watcher(self._check))
        self._update_watches(root)
        least_s, share = (POLL_S, _POLL_SHARE) if self._watch_condition() else (RESCAN_S, _SHARE)
        pause_s = 0.0 if root.has_missed_changes else max(least_s, share * took_s)
        root.rescan_at, root.has_missed_changes = monotonic() + pause_s, False
        self._publish(root, None)

    # ---- short refreshes

    def refresh(self, path: Path, hints: Iterable[Path], grace: bool) -> None:
        """Look now where `hints` (absolute) may have changed. Raises UsageError when the root is not open."""
        root = self.open_root(path)
        self._refresh(root, partial(root.live.refresh_paths, hints, grace=grace))

    def look_again(self, path: Path, run: str | None, result: Future[None]) -> None:
        """Look again, before a question about a run or all of them is answered (`LiveRoot.look_again`).

        `result` is set once no run that is asked about stands as before. Raises UsageError when the root is
        not open.
        """
        root = self.open_root(path)
        if run is None:
            self._take_hints()
        self._refresh(root, partial(root.live.look_again, run))
        self._call_when_released(root, run, lambda: result.set_result(None))

    def _call_when_released(self, root: OpenRoot, run: str | None, ready: Callable[[], None]) -> None:
        """Call `ready` once what is held now, of a run or of all, is not held any more."""
        root.waiting.append((root.live.held_runs(run), ready))
        self._call_released(root)

    def _call_released(self, root: OpenRoot) -> None:
        held = root.live.held_runs() if root.waiting else frozenset()
        told = [each for each in root.waiting if held.isdisjoint(each[0])]
        root.waiting = [each for each in root.waiting if not held.isdisjoint(each[0])]
        for _, ready in told:
            ready()

    def _take_hints(self) -> None:
        paths, has_lost_some = self._watcher.take() if self._watcher else (set[str](), False)
        # Who asked before this was its turn may have taken them.
        for root in list(self._roots.values()) if paths or has_lost_some else ():
            self._refresh(root, partial(root.live.refresh_paths, paths, grace=True))
            root.has_missed_changes |= has_lost_some and root.refresh is not None
            if has_lost_some and root.refresh is None:
                self._begin(root, root.live.refresh_all_in_parts(grace=True))

    def _refresh(self, root: OpenRoot, refresh: Callable[[], RootChange | None]) -> None:
        self._publish(root, self._try(root, refresh))
        self._update_watches(root)

    def _try(self, root: OpenRoot, refresh: Callable[[], RootChange | None]) -> RootChange | None:
        """Do a refresh, and return what differs. A run whose evaluation raises is left out, no other is."""
        for _ in range(_MAX_FAILURES):
            try:
                return refresh()
            except Exception:
                self._note_failure(root)
                refresh = partial(root.live.refresh_paths, grace=True)
        return None

    def _note_failure(self, root: OpenRoot) -> None:
        if not root.failure:
            _log.exception("%s could not be looked at", root.live.root)
        root.failure = "something in this root could not be judged; the server's log says what"

    def _publish(self, root: OpenRoot, change: RootChange | None, always: bool = False) -> None:
        """Post the root's board when it differs from the one before, once the root was scanned."""
        live = root.live
        conditions = tuple(filter(None, (self._watch_condition(), self._own_failure, root.failure)))
        if root.is_scanned and (change or always or conditions != root.conditions):
            root.conditions = conditions
            board = RootBoard(live.root, live.version, live.runs, live.findings, conditions, live.projects)
            self._post(self.on_board, board, change)
        self._call_released(root)

    # ---- watching

    def _update_watches(self, root: OpenRoot) -> None:
        """Watch what the root depends on now, and look where nothing was watched before.

        A folder that is met on that look may have been filled before it was watched, so this goes on until
        no watch is new.
        """
        changed: list[OpenRoot] = [root]
        for _ in range(_MAX_ROUNDS):
            new: dict[Path, bool] = {}
            for live in [each.live for each in changed if each.is_scanned]:
                new |= self._with_watcher(
                    lambda watcher, live=live: watcher.watch(live.root, live.watched_folders())
                )
            if not new:
                return
            self._refresh_newly_watched(new)
            changed = list(self._roots.values())
        self._rescan_soon()

    def _with_watcher(self, ask: Callable[[Watcher], Mapping[Path, bool]]) -> Mapping[Path, bool]:
        """Ask the watcher, and return its answer. While it fails, that is shown and all roots are polled."""
        if not self._watch:
            return {}
        try:
            if self._watcher is None:
                from .watcher import Watcher

                self._watcher = Watcher(lambda: self.do(self._take_hints), self._runtime)
            return ask(self._watcher)
        except Exception:
            if not self._watch_failure:
                _log.exception("the watcher failed")
            self._watch_failure = _UNWATCHED
            self._rescan_soon()
            return {}

    def _check(self, watcher: Watcher) -> Mapping[Path, bool]:
        new = watcher.check()
        self._watch_failure = ""
        return new

    def _replace_deaf_watcher(self) -> None:
        """Have the watcher hear again, `WATCHER_CHECK_S` after the last time that was asked."""
        now = monotonic()
        if self._watcher and self._roots and now >= self._watcher_check_at:
            self._watcher_check_at = now + WATCHER_CHECK_S
            self._refresh_newly_watched(self._with_watcher(lambda watcher: watcher.replace_deaf()))

    def watch_faults(self) -> Mapping[str, int | str]:
        """What went wrong with watching and was made good (`WatchFaults`)."""
        return asdict(self._watcher.faults) if self._watcher else {}

    def _watch_condition(self) -> str:
        """Why changes may not be heard; "" when they are."""
        return self._watch_failure or (self._watcher.condition if self._watcher else "")

    def _refresh_newly_watched(self, folders: Mapping[Path, bool]) -> None:
        for root in self._roots.values() if folders else ():
            self._publish(root, self._try(root, partial(root.live.refresh_folders, folders)))

    # ---- roots

    def open(
        self, path: Path, progress: Progress, opened: list[Path], result: Future[tuple[Path, ...]]
    ) -> None:
        """Open the root of `path` and those of its projects; `result` has them once all were scanned.

        Those opened are in `opened` at once, for who is cancelled meanwhile.
        """
        paths = tuple(workspace.root for workspace in open_path(path).workspaces)
        roots = [self._roots.get(root) or self._begin_root(root, progress) for root in paths]
        opened += paths

        unready = [root for root in roots if not root.is_scanned]

        def ready(root: OpenRoot) -> None:
            unready.remove(root)
            if not unready:
                result.set_result(paths)

        for root in roots:
            root.users += 1
            if not root.is_scanned:
                root.on_scanned.append(partial(ready, root))
        if not unready:
            result.set_result(paths)

    def close(self, path: Path) -> None:
        """One user less; the root is dropped IDLE_S after the last one."""
        root = self._roots.get(path)
        if root:
            root.users = max(0, root.users - 1)
            root.idle_since = monotonic()

    def open_root(self, path: Path) -> OpenRoot:
        """Raises UsageError for a root that is not open."""
        if path not in self._roots:
            raise UsageError(f"{path} is not open")
        return self._roots[path]

    def _begin_root(self, path: Path, progress: Progress) -> OpenRoot:
        live = LiveRoot(path)
        root = self._roots[path] = OpenRoot(live, rescan_at=float("inf"))

        def begin_watching(watcher: Watcher) -> Mapping[Path, bool]:
            live.read_definitions()
            return watcher.watch(path, live.watched_folders())

        # Watched first and looked at then: what changes in between is heard.
        self._with_watcher(begin_watching)
        self._begin(root, live.scan_in_parts(progress, grace=True))
        return root

    def _drop(self, root: OpenRoot) -> None:
        path = root.live.root
        del self._roots[path]
        if root.refresh is not None:
            self._refreshing.remove(root)
        for ready in [*root.on_scanned, *(ready for _, ready in root.waiting)]:
            ready()
        self._with_watcher(lambda watcher: watcher.watch(path, {}))
        # What was there at the first scan, connections that are over among it, may be garbage by now.
        gc.unfreeze()
        _freeze_garbage_collector()
        self._post(self.on_closed, path)


def _freeze_garbage_collector() -> None:
    """Have what exists now not traversed for garbage time and again, until a root is dropped."""
    gc.collect()
    gc.freeze()
