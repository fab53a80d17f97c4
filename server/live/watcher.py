"""File-system events gathered as hints: paths that may have changed. An adapter of watchdog.

Nothing is concluded from an event: not its kind, not its order, not even that there are none. Only writes,
creations, removals, renames and changes of times or modes are asked for. A read must give no event: the
watcher of a big tree opens folders itself, and one that hears its own reads never comes to rest.

The first event after a pause is passed on at once; what comes while it is worked on is one batch.
"""

from __future__ import annotations

import errno
import logging
import os
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from watchdog import events
from watchdog.observers import Observer

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


class Watcher(events.FileSystemEventHandler):
    """The watched folders of a process. `on_hints` is called on any thread when there are hints to be taken.

    `condition` is empty, or one sentence about why changes may not be heard; then the folders have to be
    looked at from time to time instead. Watchdog calls `on_any_event` on its thread; all else is the owner's.
    """

    def __init__(self, on_hints: Callable[[], None]) -> None:
        self.condition = ""
        self._on_hints = on_hints
        self._lock = threading.Lock()
        self._paths: set[str] = set()
        self._lost = False
        self._replaced: set[Path] = set()
        """Watched folders that came, went or were moved: what is watched there now may be another folder."""
        self._wanted: dict[Path, Mapping[Path, bool]] = {}
        self._watches: dict[Path, tuple[bool, Any]] = {}
        self._observer: Any = None
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
        """Make sure that the watches are alive and that there is room for more. Returns what `watch` does."""
        is_full = _is_full()
        # The threads without which an observer hears nothing.
        threads = (self._observer, getattr(self._observer, "_inotify_fd", None))
        is_dead = any(isinstance(each, threading.Thread) and not each.is_alive() for each in threads)
        if is_dead or (self.condition and not is_full):
            self._restart()
        elif is_full or self._observer:
            self.condition = _NO_ROOM if is_full else ""
        return self._reschedule()

    def take(self) -> tuple[set[str], bool]:
        """(the absolute paths that may have changed since the last time, whether there may be others)."""
        with self._lock:
            hints = self._paths, self._lost
            self._paths, self._lost = set(), False
        return hints

    def stop(self) -> None:
        """Hear nothing more."""
        _INOTIFY_LOG.removeFilter(self._note_overflow)
        if self._observer:
            self._observer.stop()
            self._observer.join()
        self._observer = None

    def _restart(self) -> None:
        if self._observer:
            self.stop()
        _INOTIFY_LOG.addFilter(self._note_overflow)
        self._watches, self.condition = {}, ""
        try:
            self._observer = Observer()
            self._observer.start()
        except OSError as error:
            self.condition = _NO_ROOM if error.errno in _FULL else f"changes are not heard: {error.strerror}"

    def _reschedule(self) -> Mapping[Path, bool]:
        """Bring the watches in line with what all roots want; the folders newly watched."""
        with self._lock:
            replaced, self._replaced = self._replaced, set()
        wanted: dict[Path, bool] = {}
        for folders in self._wanted.values():
            for folder, is_whole in folders.items():
                wanted[folder] = is_whole or wanted.get(folder, False)
        for folder, (is_whole, watch) in list(self._watches.items()):
            if folder in replaced or wanted.get(folder) is not is_whole:
                del self._watches[folder]
                # A folder that is gone has taken its watch with it.
                with suppress(KeyError, OSError):
                    self._observer.unschedule(watch)
        new: dict[Path, bool] = {}
        for folder in [each for each in wanted if self._observer and each not in self._watches]:
            try:
                watch = self._observer.schedule(
                    self, str(folder), recursive=wanted[folder], event_filter=_EVENTS
                )
            except OSError as error:
                if error.errno in _FULL:
                    self.condition = _NO_ROOM
            else:
                self._watches[folder] = (wanted[folder], watch)
                new[folder] = wanted[folder]
        if any(new.values()) and not self.condition and _is_full():
            # The watches below a folder are added one by one, and a refusal of them is not reported.
            self.condition = _NO_ROOM
        return new

    def on_any_event(self, event: events.FileSystemEvent) -> None:
        """Take an event's paths as hints."""
        paths = [os.fsdecode(path) for path in (event.src_path, event.dest_path) if path]
        replaced = set[Path]()
        if event.is_directory and event.event_type in _REPLACING:
            places = set(map(Path, paths))
            replaced = {
                folder for folder in tuple(self._watches) if not places.isdisjoint((folder, *folder.parents))
            }
        self._add(paths, replaced)

    def _add(self, paths: Iterable[str], replaced: Iterable[Path] = (), lost: bool = False) -> None:
        with self._lock:
            is_first = not (self._paths or self._lost)
            self._paths.update(paths)
            self._replaced.update(replaced)
            self._lost |= lost
        if is_first:
            self._on_hints()

    def _note_overflow(self, record: logging.LogRecord) -> bool:
        """Let a record of the log pass; some say that the system's queue of events was too short."""
        if "overflow" in record.getMessage():
            self._add((), lost=True)
        return True


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
    return False
