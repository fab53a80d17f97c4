"""File-system events gathered as hints: paths that may have changed. An adapter of watchdog.

Nothing is concluded from an event: not its kind, not its order, not even that there are none. Only writes,
creations, removals, renames and changes of times or modes are asked for. A read must give no event: the
watcher of a big tree opens folders itself, and one that hears its own reads never comes to rest.

The first event after a pause is passed on at once; what comes while it is worked on is one batch.

An observer can go deaf and tell nobody: its reading thread ends by a KeyError after renames and removals of
folders, a watched folder is unmounted, another one is put in its place, the system's
queue is too short. So its owner has what is deaf replaced, time and again.
"""

from __future__ import annotations

import errno
import logging
import os
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from watchdog import events
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver

from .canary import Canary

_RENEW_SHARE = 20
"""Folders are watched anew after a pause so many times as long as the last time took."""
_MARK_S = 0.25
"""So long a question waits for all that was written before it to be heard of."""
_MOST_NOTED = 20_000
"""Paths that were read and not yet passed on; more have whoever asks look by other means."""
_STOP_S = 5.0
"""An observer that hangs is left alone after so long."""
_EVENTS: list[type[events.FileSystemEvent]] = [
    events.FileCreatedEvent,
    events.FileModifiedEvent,
    events.FileAttribEvent,
    events.FileMovedEvent,
    events.FileDeletedEvent,
    events.DirAttribEvent,
    events.DirCreatedEvent,
    events.DirDeletedEvent,
    events.DirMovedEvent,
]
_REPLACING = ("created", "deleted", "moved")
_FULL = (errno.ENOSPC, errno.EMFILE, errno.ENOMEM)
_NO_ROOM = (
    "the system watches no more folders for this user, so they are looked at every few seconds; "
    "raise fs.inotify.max_user_watches and max_user_instances to be told at once"
)
# A folder created below a watched one is met twice, by its event and on the walk. Its one watch stands.
warnings.filterwarnings("ignore", "Callback with id", RuntimeWarning, r"watchdog\.observers\.inotify")
# Where watchdog says that events were lost, and nowhere else.
_INOTIFY_LOG = logging.getLogger("watchdog.observers.inotify_c")

_log = logging.getLogger(__name__)


@dataclass
class WatchFaults:
    """What went wrong with watching since the process began, and was made good."""

    replaced: int = 0
    """Observers that had gone deaf."""
    overflows: int = 0
    """Times that the system's queue of events was too short."""
    last: str = ""
    """Why the last observer was replaced."""


class _Watch(NamedTuple):
    """A watched folder: whether all below it is, watchdog's handle, and which folder it was."""

    is_whole: bool
    observed: Any
    identity: tuple[int, int] | None


class Watcher(events.FileSystemEventHandler):
    """The watched folders of a process. `on_hints` is called on any thread when there are hints to be taken.

    `condition` is empty, or one sentence about why changes may not be heard; then the folders have to be
    looked at from time to time instead. Watchdog calls `on_any_event` on its thread; all else is the owner's.
    """

    def __init__(self, on_hints: Callable[[], None], place: Path | None = None) -> None:
        """`place` is a folder of our own for the canary; a temporary one without."""
        self.condition = ""
        self.faults = WatchFaults()
        self._on_hints = on_hints
        self._lock = threading.Lock()
        self._paths: set[str] = set()
        self._lost = False
        self._noted: set[str] = set()
        """Paths that were read from the system's queue, of which events will come."""
        self._replaced: set[Path] = set()
        """Watched folders that came, went or were moved: what is watched there now may be another folder."""
        self._arrived: set[Path] = set()
        """Folders that came or were moved to a place below watched ones since they were watched anew."""
        self._renew_at = 0.0
        self._wanted: dict[Path, Mapping[Path, bool]] = {}
        self._watches: dict[Path, _Watch] = {}
        self._observer: Any = None
        self._is_prompt = sys.platform == "linux"
        self._canary = Canary(place)
        _INOTIFY_LOG.addFilter(self._note_overflow)
        self._restart()

    def watch(self, root: Path, folders: Mapping[Path, bool]) -> Mapping[Path, bool]:
        """Watch for a root these folders and no others, all that is below those that are True included.

        Returns those that were not watched until now: what changed there before nobody heard.
        """
        is_as_before = self._wanted.get(root) is folders and folders.keys() <= self._watches.keys()
        if is_as_before and not self._replaced:
            return {}
        if folders:
            self._wanted[root] = folders
        else:
            self._wanted.pop(root, None)
        return self._reschedule()

    def check(self) -> Mapping[Path, bool]:
        """Make sure that there is room for more watches. Returns what `watch` does."""
        is_full = _is_full()
        if self.condition and not is_full:
            self._restart()
        elif is_full or self._observer:
            self.condition = _NO_ROOM if is_full else ""
        return self._reschedule()

    def replace_deaf(self) -> Mapping[Path, bool]:
        """Replace what does not hear any more. Returns what `watch` does.

        After a whole observer was replaced, `take` says that there may be changes that were not heard.
        Costs a stat of each watched folder and touches a file.
        """
        if self._observer is None:
            return {}
        if why := self._fault():
            self.faults.replaced += 1
            self.faults.last = why
            _log.warning("the watcher was replaced: %s", why)
            self._restart()
            self._reschedule()
            self._add((), lost=True)
            return {}
        ended = {each.watch for each in tuple(self._observer.emitters) if not each.is_alive()}
        replaced = {
            folder
            for folder, watch in self._watches.items()
            if watch.observed in ended or watch.identity != _identity(folder)
        }
        with self._lock:
            self._replaced |= replaced
        return {**self._renew_arrived(), **(self._reschedule() if replaced else {})}

    def _renew_arrived(self) -> Mapping[Path, bool]:
        """Watch anew the folders that came or were moved, and return them: they have to be looked at.

        Of a folder that is renamed and followed by another of its name before its creation is read, watchdog
        watches the other one under both names, and the first not at all. To watch a path once more sets that
        right, and costs nothing where it is right.
        """
        began = monotonic()
        if began < self._renew_at:
            return {}
        with self._lock:
            arrived, self._arrived = self._arrived, set()
        tops = {path for path in arrived if arrived.isdisjoint(path.parents) and path.is_dir()}
        for emitter in tuple(self._observer.emitters) if tops else ():
            group: Any = getattr(emitter, "_inotify", None)
            whole = (
                Path(emitter.watch.path)
                if emitter.watch.is_recursive and hasattr(group, "_add_all_callbacks")
                else None
            )
            for path in tops if whole else ():
                if whole in path.parents:
                    # What goes meanwhile, or is full, is told by other means.
                    with suppress(OSError), group._lock:
                        if group.is_active:
                            group._add_all_callbacks(os.fsencode(path))
        self._renew_at = monotonic() + _RENEW_SHARE * (monotonic() - began)
        return dict.fromkeys(tops, True)

    def _fault(self) -> str:
        """Why the observer is deaf; "" when it hears."""
        # The threads without which an observer hears nothing.
        threads = (self._observer, getattr(self._observer, "_inotify_fd", None))
        if any(isinstance(each, threading.Thread) and not each.is_alive() for each in threads):
            return "a thread of its own had ended by an error"
        try:
            return "it did not tell of a change in time" if self._canary.is_overdue() else ""
        except OSError:
            return "the folder that shows whether it hears was removed"

    def take(self) -> tuple[set[str], bool]:
        """(the absolute paths that may have changed since the last time, whether there may be others)."""
        with self._lock:
            hints = self._paths, self._lost
            self._paths, self._lost = set(), False
        return hints

    def catch_up(self) -> bool:
        """Have `take` give all that was written until now; False where that cannot be said.

        Events that are still on their way come as hints once more, when they come.
        """
        if self.condition or not self._is_prompt or not self._canary.pass_mark(_MARK_S):
            return False
        with self._lock:
            self._paths |= self._noted
            has_all = len(self._noted) < _MOST_NOTED
            self._noted = set()
        return has_all

    def _note(self, path: str) -> None:
        if not self._canary.note(path) and len(self._noted) < _MOST_NOTED:
            with self._lock:
                self._noted.add(path)

    def _new_observer(self) -> BaseObserver:
        if self._is_prompt:
            from .prompt_observer import PromptObserver

            return PromptObserver(self._note)
        return Observer()

    def stop(self) -> None:
        """Hear nothing more."""
        _INOTIFY_LOG.removeFilter(self._note_overflow)
        if self._observer:
            _stop_apart(self._observer).join(_STOP_S)
        self._observer = None
        self._canary.remove()

    def _restart(self) -> None:
        if self._observer:
            _stop_apart(self._observer)
        self._observer = None
        self._watches, self.condition = {}, ""
        try:
            observer = self._new_observer()
            observer.start()
            self._observer = observer
            if folder := self._canary.prepare():
                observer.schedule(self._canary, str(folder), event_filter=_EVENTS)
        except OSError as error:
            self._canary.remove()
            self.condition = _NO_ROOM if error.errno in _FULL else f"changes are not heard: {error.strerror}"

    def _reschedule(self) -> Mapping[Path, bool]:
        """Bring the watches in line with what all roots want; the folders newly watched."""
        with self._lock:
            replaced, self._replaced = self._replaced, set()
        wanted: dict[Path, bool] = {}
        for folders in self._wanted.values():
            for folder, is_whole in folders.items():
                wanted[folder] = is_whole or wanted.get(folder, False)
        for folder, watch in list(self._watches.items()):
            if folder in replaced or wanted.get(folder) is not watch.is_whole:
                del self._watches[folder]
                # A folder that is gone has taken its watch with it.
                with suppress(KeyError, OSError):
                    self._observer.unschedule(watch.observed)
        new: dict[Path, bool] = {}
        for folder in [each for each in wanted if self._observer and each not in self._watches]:
            # Before it is watched: another that is put in its place meanwhile is found to be another.
            identity = _identity(folder)
            try:
                observed = self._observer.schedule(
                    self, str(folder), recursive=wanted[folder], event_filter=_EVENTS
                )
            except OSError as error:
                if error.errno in _FULL:
                    self.condition = _NO_ROOM
            else:
                self._watches[folder] = _Watch(wanted[folder], observed, identity)
                new[folder] = wanted[folder]
        if any(new.values()) and not self.condition and _is_full():
            # The watches below a folder are added one by one, and a refusal of them is not reported.
            self.condition = _NO_ROOM
        return new

    def on_any_event(self, event: events.FileSystemEvent) -> None:
        """Take an event's paths as hints."""
        self._canary.heard_at = monotonic()
        paths = [os.fsdecode(path) for path in (event.src_path, event.dest_path) if path]
        replaced = set[Path]()
        if event.is_directory and event.event_type in ("created", "moved"):
            with self._lock:
                self._arrived.add(Path(paths[-1]))
        if event.is_directory and event.event_type in _REPLACING:
            places = set(map(Path, paths))
            replaced = {
                folder for folder in tuple(self._watches) if not places.isdisjoint((folder, *folder.parents))
            }
        self._add(paths, replaced)

    def _add(self, paths: Collection[str], replaced: Iterable[Path] = (), lost: bool = False) -> None:
        with self._lock:
            self._noted.difference_update(paths)
            is_first = not (self._paths or self._lost)
            self._paths.update(paths)
            self._replaced.update(replaced)
            self._lost |= lost
        if is_first:
            self._on_hints()

    def _note_overflow(self, record: logging.LogRecord) -> bool:
        """Let a record of the log pass; some say that the system's queue of events was too short."""
        said = record.getMessage()
        if "overflow" in said:
            # Said once, and once more for each folder that is watched whole.
            self.faults.overflows += "reconciling" not in said
            self._add((), lost=True)
        return True


def _identity(folder: Path) -> tuple[int, int] | None:
    """Which folder stands at a path; None when there is none."""
    try:
        found = os.stat(folder)  # noqa: PTH116
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _stop_apart(observer: Any) -> threading.Thread:
    """Stop an observer on a thread of its own; the thread. One that hangs keeps nobody waiting.

    One whose books are wrong raises when it is stopped, and would leave threads and descriptors behind.
    """

    def stop() -> None:
        emitters = tuple(observer.emitters)
        for emitter in emitters:
            group: Any = getattr(emitter, "_inotify", None)
            with suppress(Exception):
                emitter.stop()
            # What the emitter waits at; whoever joins its thread would wait as well.
            with suppress(Exception):
                group._move_event_grouper.close()
        parts: tuple[Any, ...] = (observer, getattr(observer, "_inotify_fd", None))
        for part in parts:
            with suppress(Exception):
                part.stop()
        observer.event_queue.put(observer.stop_event)
        with suppress(RuntimeError):
            observer.join()

    thread = threading.Thread(target=stop, name="phasekeeper-watcher-end", daemon=True)
    thread.start()
    return thread


def _is_full() -> bool:
    """True if the system refuses to watch one folder more."""
    with suppress(OSError), tempfile.TemporaryDirectory(prefix="phasekeeper-") as folder:
        probe = None
        try:
            probe = Observer()
            probe.schedule(events.FileSystemEventHandler(), folder, event_filter=_EVENTS)
            probe.start()
        except OSError as error:
            return error.errno in _FULL
        finally:
            if probe:
                probe.stop()
                if probe.is_alive():
                    probe.join()
    return False
