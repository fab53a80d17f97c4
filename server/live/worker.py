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
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import asdict
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING, Any

from ..memory import MEMORY_CHECK_S, freeze_garbage, memory_exceeded, release_memory
from ..workspace.roots import UsageError
from ..workspace.workspace import open_path
from .boards import Progress, RootBoard, RootChange
from .cache_writer import CacheWriter
from .cached_live_root import CachedLiveRoot
from .live_root import Refresh
from .open_root import OpenRoot

if TYPE_CHECKING:
    from ..watch.watcher import Watcher

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
_MAX_ROUNDS = 50
"""So many folders, each met on the look into the one before, are watched before other work goes on."""
_FAILED = "the server could not do something, so folders are looked at anew; the server's log says why"
_UNWATCHED = "changes may not be heard, so folders are looked at every few seconds; the server's log says why"

_log = logging.getLogger(__name__)


class Worker(threading.Thread):
    """The engine's thread. Everything but `do`, `start` and `stop` runs on it.

    `on_board(board, change)` and `on_closed(root)` are called on the loop, by `post`.
    """

    def __init__(
        self, post: Callable[..., None], watch: bool, runtime: Path | None, cache: Path | None
    ) -> None:
        super().__init__(name="phasekeeper-engine", daemon=True)
        self.on_board: Callable[[RootBoard, RootChange | None], None]
        self.on_closed: Callable[[Path], None]
        self._post, self._watch, self._runtime = post, watch, runtime
        self._cache, self._cache_faults = cache, Counter[str]()
        self._jobs: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._roots: dict[Path, OpenRoot[CachedLiveRoot]] = {}
        self._refreshing: deque[OpenRoot[CachedLiveRoot]] = deque()
        self._watcher: Watcher | None = None
        self._watcher_check_at = 0.0
        self._watch_failure = self._own_failure = ""
        self._is_backing_off = False
        self._memory_check_at = 0.0

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
        for writer in filter(None, [root.cache_writer for root in self._roots.values()]):
            writer.finish()
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
        now = monotonic()
        if any(not self._rests(root) for root in self._refreshing):
            return 0.0
        rests = [
            root.share.rests_until - now for root in self._roots.values() if self._has_waiting_work(root)
        ]
        waits = rests + [
            min(root.rescan_at - now, root.live.wait_ms() / 1000) for root in self._roots.values()
        ]
        waits += [root.cache_wait_s() for root in self._roots.values()]
        if self._watcher and waits:
            waits.append(self._watcher_check_at - now)
        return max(0.0, min([RESCAN_S, *waits]))

    # ---- long refreshes, in parts

    def _do_what_is_due(self) -> None:
        overdue = [root for root in self._roots.values() if root.is_scanned and root.live.wait_ms() <= 0]
        for root in overdue:
            self._refresh(root, partial(root.live.refresh_paths, grace=True))
        for root in [each for each in self._roots.values() if not self._rests(each)]:
            self._catch_up(root)
        if refreshing := next((root for root in self._refreshing if not self._rests(root)), None):
            # Its next part comes behind those of the others.
            self._refreshing.remove(refreshing)
            self._refreshing.append(refreshing)
            self._go_on_refreshing(refreshing)
            return
        now = monotonic()
        for root in list(self._roots.values()):
            if root.users == 0 and now - root.idle_since > IDLE_S:
                self._drop(root)
            elif root.rescan_at <= now and root.refresh is None:
                self._begin(root, root.live.refresh_all_in_parts(grace=True))
        for root in [each for each in self._roots.values() if each.cache_wait_s() <= 0][:1]:
            for change in root.write_cache_part():
                self._publish(root, change)

    def _begin(self, root: OpenRoot[CachedLiveRoot], refresh: Refresh) -> None:
        root.refresh, root.refresh_began = refresh, monotonic()
        if root.is_scanned:
            root.share.slowest_s = 0.0
        self._refreshing.append(root)

    def _go_on_refreshing(self, root: OpenRoot[CachedLiveRoot]) -> None:
        """One part of a long refresh, and what follows the last one."""
        try:
            assert root.refresh
            with root.share.measure():
                next(root.refresh)
            self._bound_memory(root)
            return
        except StopIteration as end:
            change: RootChange | None = end.value
            root.failure = self._own_failure = ""
        except Exception:
            root.note_failure()
            change = root.try_refresh(partial(root.live.refresh_paths, grace=True))
        self._refreshing.remove(root)
        root.refresh = None
        took_s = monotonic() - root.refresh_began
        if not root.is_scanned:
            root.is_scanned = True
            freeze_garbage()
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

    def look_again(self, path: Path, run: str | None, result: Future[bool]) -> None:
        """Look again, before a question about a run or all of them is answered (`LiveRoot.look_again`).

        `result` is set once no run that is asked about stands as before; it is True where all is known that
        was written before in any run. Raises UsageError when the root is not open.
        """
        root = self.open_root(path)
        if self._rests(root):
            root.questions.append(lambda: self._answer(path, run, result))
            return
        has_all = False
        # What checks read is not looked at by stat.
        if run is None or root.live.checks.are_declared or root.live.needs_all_heard(run):
            has_all = self._watcher is not None and self._watcher.catch_up()
            self._take_hints()
            has_all = has_all and not (root.has_missed_changes or root.refresh or self._watch_condition())
        self._refresh(root, partial(root.live.look_again, run, heard_all=has_all))
        self._call_when_released(root, run, lambda: result.set_result(has_all))

    def _answer(self, path: Path, run: str | None, result: Future[bool]) -> None:
        """Do what `look_again` left until the root had rested."""
        try:
            if not result.cancelled():
                self.look_again(path, run, result)
        except UsageError as error:
            result.set_exception(error)

    def _rests(self, root: OpenRoot[CachedLiveRoot]) -> bool:
        """True while the root is behind the others, because it took long."""
        return len(self._roots) > 1 and root.share.is_resting(monotonic())

    def _has_waiting_work(self, root: OpenRoot[CachedLiveRoot]) -> bool:
        return bool(root.hints or root.questions or root.refresh)

    def _catch_up(self, root: OpenRoot[CachedLiveRoot]) -> None:
        """Look where something may have changed while the root rested, and answer what was asked then."""
        if root.hints:
            hints, root.hints = root.hints, set()
            self._refresh(root, partial(root.live.refresh_paths, hints, grace=True))
        questions, root.questions = root.questions, []
        for answer in questions:
            answer()

    def _call_when_released(
        self, root: OpenRoot[CachedLiveRoot], run: str | None, ready: Callable[[], None]
    ) -> None:
        """Call `ready` once what is held now, of a run or of all, is not held any more."""
        root.waiting.append((root.live.held_runs(run), ready))
        root.call_released()

    def _take_hints(self) -> None:
        paths, has_lost_some = self._watcher.take() if self._watcher else (set[str](), False)
        # Who asked before this was its turn may have taken them.
        for root in list(self._roots.values()) if paths or has_lost_some else ():
            if self._rests(root):
                root.hints |= paths
            else:
                self._refresh(root, partial(root.live.refresh_paths, paths, grace=True))
            root.has_missed_changes |= has_lost_some and root.refresh is not None
            if has_lost_some and root.refresh is None:
                self._begin(root, root.live.refresh_all_in_parts(grace=True))

    def _refresh(self, root: OpenRoot[CachedLiveRoot], refresh: Callable[[], RootChange | None]) -> None:
        self._publish(root, root.try_refresh(refresh))
        self._update_watches(root)
        root.live.pack_idle_runs()  # whoever waits for the change has it by now

    def _publish(
        self, root: OpenRoot[CachedLiveRoot], change: RootChange | None, always: bool = False
    ) -> None:
        """Post the root's board when it differs from the one before, once the root was scanned."""
        live = root.live
        if root.is_scanned:
            change = root.with_share_findings(change)
        conditions = tuple(filter(None, (self._watch_condition(), self._own_failure, root.failure)))
        if root.is_scanned and (change or always or conditions != root.conditions):
            root.conditions = conditions
            board = RootBoard(live.root, live.version, live.runs, live.findings, conditions, live.projects)
            self._post(self.on_board, board, change)
        root.call_released()

    # ---- watching

    def _update_watches(self, root: OpenRoot[CachedLiveRoot]) -> None:
        """Watch what the root depends on now, and look where nothing was watched before.

        A folder that is met on that look may have been filled before it was watched, so this goes on until
        no watch is new.
        """
        changed: list[OpenRoot[CachedLiveRoot]] = [root]
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
                from ..watch.watcher import Watcher

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

    def cache_state(self) -> Mapping[str, Any]:
        """The cache's folder, the count of runs that are packed, and how often it was not used, by reason."""
        lives = [root.live for root in self._roots.values()]
        faults = sum((Counter[str](live.cache_faults) for live in lives), self._cache_faults)
        runs = sum(len(live.cached_runs) for live in lives)
        return {"folder": str(self._cache or ""), "runs": runs, "faults": dict(faults)}

    def _watch_condition(self) -> str:
        """Why changes may not be heard; "" when they are."""
        return self._watch_failure or (self._watcher.condition if self._watcher else "")

    def _refresh_newly_watched(self, folders: Mapping[Path, bool]) -> None:
        for root in self._roots.values() if folders else ():
            self._publish(root, root.try_refresh(partial(root.live.refresh_folders, folders)))

    # ---- roots

    def open(
        self, path: Path, progress: Progress, opened: list[Path], result: Future[tuple[Path, ...]]
    ) -> None:
        """Open the root of `path` and those of its projects; `result` has them once all were scanned.

        Those opened are in `opened` at once, for who is cancelled meanwhile.
        """
        if why := self._memory_exceeded():
            raise UsageError(f"{path} is not opened: {why}")
        found = [workspace.root for workspace in open_path(path).workspaces]
        roots = [self._roots.get(root) or self._begin_root(root, progress) for root in found]
        # The same objects for all who have it open: they are keys, looked up for each of them with each save.
        paths = tuple(root.live.root for root in roots)
        opened += paths

        unready = [root for root in roots if not root.is_scanned]

        def ready(root: OpenRoot[CachedLiveRoot]) -> None:
            unready.remove(root)
            if not unready and not result.done():
                result.set_result(paths)

        def refuse(why: str) -> None:
            for each in paths:
                self.close(each)
            if not result.done():
                result.set_exception(UsageError(why))

        for root in roots:
            root.users += 1
            if not root.is_scanned:
                root.on_refused.append(refuse)
                root.on_scanned.append(partial(ready, root))
        if not unready:
            result.set_result(paths)

    def close(self, path: Path) -> None:
        """One user less; the root is dropped IDLE_S after the last one."""
        root = self._roots.get(path)
        if root:
            root.users = max(0, root.users - 1)
            root.idle_since = monotonic()

    def open_root(self, path: Path) -> OpenRoot[CachedLiveRoot]:
        """Raises UsageError for a root that is not open."""
        if path not in self._roots:
            raise UsageError(f"{path} is not open")
        return self._roots[path]

    def _begin_root(self, path: Path, progress: Progress) -> OpenRoot[CachedLiveRoot]:
        live = CachedLiveRoot(path, cache=self._cache)
        writer = CacheWriter(live) if self._cache else None
        root = self._roots[path] = OpenRoot(live, rescan_at=float("inf"), cache_writer=writer)

        def begin_watching(watcher: Watcher) -> Mapping[Path, bool]:
            live.read_definitions()
            return watcher.watch(path, live.watched_folders())

        # Watched first and looked at then: what changes in between is heard.
        self._with_watcher(begin_watching)
        self._begin(root, live.scan_in_parts(progress, grace=True))
        return root

    # ---- memory

    def _bound_memory(self, root: OpenRoot[CachedLiveRoot]) -> None:
        """Drop caches where too much memory is held; where that is not enough, give up the first scan of the
        root at work. Whoever wanted it is refused, and the others go on."""
        if monotonic() < self._memory_check_at:
            return
        self._memory_check_at = monotonic() + MEMORY_CHECK_S
        if (why := self._memory_exceeded()) and not root.is_scanned:
            root.on_scanned.clear()
            for refuse in root.on_refused:
                refuse(f"{root.live.root} is not opened: {why}")
            self._drop(root)
            release_memory()

    def _memory_exceeded(self) -> str:
        return memory_exceeded([root.live.drop_caches for root in self._roots.values()])

    def _drop(self, root: OpenRoot[CachedLiveRoot]) -> None:
        path = root.live.root
        self._cache_faults.update(root.live.cache_faults)
        del self._roots[path]
        if root.refresh is not None:
            self._refreshing.remove(root)
        for ready in [*root.on_scanned, *(ready for _, ready in root.waiting), *root.questions]:
            ready()
        self._with_watcher(lambda watcher: watcher.watch(path, {}))
        # What was there at the first scan, connections that are over among it, may be garbage by now.
        gc.unfreeze()
        freeze_garbage()
        self._post(self.on_closed, path)
