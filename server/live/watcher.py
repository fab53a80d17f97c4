"""What the system says of changes in folders, gathered as hints: paths that may have changed.

Nothing is concluded from an event: not its kind, not its order, not even that there are none. Only writes,
creations, removals and renames are asked for. A read must give no event: the watcher of a big tree opens
folders itself, and one that hears its own reads never comes to rest.

The first event after a pause is passed on at once; what comes while it is worked on is one batch.
"""

from __future__ import annotations

import errno
import logging
import os
import tempfile
import threading
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from watchdog import events
from watchdog.observers import Observer

_ASKED_FOR: list[type[events.FileSystemEvent]] = [
    events.FileCreatedEvent,
    events.FileModifiedEvent,
    events.FileMovedEvent,
    events.FileDeletedEvent,
    events.DirCreatedEvent,
    events.DirDeletedEvent,
    events.DirMovedEvent,
]
_TURNS = ("created", "deleted", "moved")
_FULL = (errno.ENOSPC, errno.EMFILE, errno.ENOMEM)
# A folder made below a watched one is met twice, by its event and on the walk. Its one watch stands.
warnings.filterwarnings("ignore", "Callback with id", RuntimeWarning, r"watchdog\.observers\.inotify")
# Where watchdog says that events were lost, and nowhere else.
_LOST = logging.getLogger("watchdog.observers.inotify_c")


class Hints(NamedTuple):
    """Paths that may have changed since the last time; `lost` says that there may be others."""

    paths: frozenset[Path]
    lost: bool


class Watcher:
    """The watched folders of a process. `heard` is called on any thread when there are hints to be taken.

    `condition` is empty, or one sentence about why changes may not be heard; then the folders have to be
    looked at from time to time instead.
    """

    def __init__(self, heard: Callable[[], None]) -> None:
        self.condition = ""
        self._heard = heard
        self._lock = threading.Lock()
        self._paths: set[str] = set()
        self._lost = False
        # Watched folders that came, went or were moved: what is watched there now may be another folder.
        self._turned: set[Path] = set()
        self._wanted: dict[Path, Mapping[Path, bool]] = {}
        self._watches: dict[Path, tuple[bool, Any]] = {}
        self._handler = _Handler(self._event)
        self._overflow = _Overflow(self._lose)
        _LOST.addHandler(self._overflow)
        self._observer: Any = None
        self._begin_again()

    def watch(self, root: Path, folders: Mapping[Path, bool]) -> Mapping[Path, bool]:
        """Watch for a root these folders and no others, all that is below those that are True included.

        Returns those that were not watched until now: what changed there before nobody heard.
        """
        if folders:
            self._wanted[root] = folders
        else:
            self._wanted.pop(root, None)
        return self._bring_about()

    def check(self) -> Mapping[Path, bool]:
        """Make sure that the watches are alive and that there is room for more. Returns what `watch` does."""
        is_full = _is_full()
        dead = not all(thread.is_alive() for thread in _threads(self._observer))
        if dead or (self.condition and not is_full):
            self._begin_again()
        elif is_full or self._observer:
            self.condition = _told(is_full)
        return self._bring_about()

    def take(self) -> Hints:
        """The hints since the last time."""
        with self._lock:
            paths, lost = self._paths, self._lost
            self._paths, self._lost = set(), False
        return Hints(frozenset(map(Path, paths)), lost)

    def stop(self) -> None:
        """Hear nothing more."""
        _LOST.removeHandler(self._overflow)
        self._end()

    def _end(self) -> None:
        if self._observer:
            self._observer.stop()
            self._observer.join()
        self._observer, self._watches = None, {}

    def _begin_again(self) -> None:
        self._end()
        try:
            self._observer = Observer()
            self._observer.start()
        except OSError as error:
            self.condition = _told(error.errno in _FULL) or f"changes are not heard: {error.strerror}"
        else:
            self.condition = ""

    def _bring_about(self) -> Mapping[Path, bool]:
        with self._lock:
            turned, self._turned = self._turned, set()
        wanted: dict[Path, bool] = {}
        for folders in self._wanted.values():
            for folder, whole in folders.items():
                wanted[folder] = whole or wanted.get(folder, False)
        for folder, (whole, watch) in list(self._watches.items()):
            if folder in turned or wanted.get(folder) is not whole:
                del self._watches[folder]
                # A folder that is gone has taken its watch with it.
                with suppress(KeyError, OSError):
                    self._observer.unschedule(watch)
        new = {
            folder: whole
            for folder, whole in wanted.items()
            if self._observer and folder not in self._watches and self._begin(folder, whole)
        }
        if any(new.values()) and not self.condition:
            # The watches below a folder are added one by one, and a refusal of them is not told.
            self.condition = _told(_is_full())
        return new

    def _begin(self, folder: Path, whole: bool) -> bool:
        try:
            watch = self._observer.schedule(
                self._handler, str(folder), recursive=whole, event_filter=_ASKED_FOR
            )
        except OSError as error:
            if error.errno in _FULL:
                self.condition = _told(True)
            return False
        self._watches[folder] = (whole, watch)
        return True

    def _event(self, event: events.FileSystemEvent) -> None:
        paths = [os.fsdecode(path) for path in (event.src_path, event.dest_path) if path]
        turned = set[Path]()
        if event.is_directory and event.event_type in _TURNS:
            places = [Path(path) for path in paths]
            turned = {
                folder
                for folder in tuple(self._watches)
                if any(folder == place or place in folder.parents for place in places)
            }
        with self._lock:
            is_first = not (self._paths or self._lost)
            self._paths.update(paths)
            self._turned |= turned
        if is_first:
            self._heard()

    def _lose(self) -> None:
        with self._lock:
            is_first = not (self._paths or self._lost)
            self._lost = True
        if is_first:
            self._heard()


class _Handler(events.FileSystemEventHandler):
    def __init__(self, told: Callable[[events.FileSystemEvent], None]) -> None:
        self._told = told

    def on_any_event(self, event: events.FileSystemEvent) -> None:
        self._told(event)


class _Overflow(logging.Handler):
    """The system's queue of events was too short, which watchdog tells in its log only."""

    def __init__(self, lose: Callable[[], None]) -> None:
        super().__init__(logging.WARNING)
        self._lose = lose

    def emit(self, record: logging.LogRecord) -> None:
        if "overflow" in record.getMessage():
            self._lose()


def _threads(observer: Any) -> list[threading.Thread]:
    """The threads without which an observer hears nothing."""
    if observer is None:
        return []
    reader = getattr(observer, "_inotify_fd", None)
    return [observer, reader] if isinstance(reader, threading.Thread) else [observer]


def _is_full() -> bool:
    """Whether the system refuses to watch one folder more."""
    with suppress(OSError), tempfile.TemporaryDirectory(prefix="phasekeeper-") as folder:
        try:
            probe = Observer()
        except OSError as error:
            return error.errno in _FULL
        try:
            probe.schedule(events.FileSystemEventHandler(), folder, event_filter=_ASKED_FOR)
            probe.start()
        except OSError as error:
            return error.errno in _FULL
        finally:
            probe.stop()
    return False


def _told(is_full: bool) -> str:
    if not is_full:
        return ""
    return (
        "the system watches no more folders for this user, so they are looked at every few seconds; "
        "raise fs.inotify.max_user_watches and max_user_instances to be told at once"
    )
