"""What the system says of changes below folders, gathered as hints: paths that may have changed.

Nothing is concluded from an event: not its kind, not its order, not even that there are none. Only writes,
creations, removals and renames are asked for. A read must give no event: the watcher of a big tree opens
folders itself, and one that hears its own reads never comes to rest.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple


class Hints(NamedTuple):
    """Paths that may have changed since the last time; `lost` says that there may be others."""

    paths: frozenset[Path]
    lost: bool


class Watcher:
    """Hints for one root. `heard` is called on any thread as soon as there are some to be taken."""

    def __init__(self, heard: Callable[[], None]) -> None:
        from watchdog.observers import Observer

        self._heard = heard
        self._lock = threading.Lock()
        self._paths: set[str] = set()
        self._lost = False
        self._watches: dict[Path, Any] = {}
        self._observer = Observer()
        self._observer.start()

    def watch(self, folders: Iterable[Path]) -> None:
        """Watch these folders, and what is below them, and no others."""
        wanted = set(folders)
        for folder in self._watches.keys() - wanted:
            self._observer.unschedule(self._watches.pop(folder))
        for folder in wanted - self._watches.keys():
            self._watches[folder] = self._observer.schedule(
                _handler(self._event), str(folder), recursive=True, event_filter=_asked_for()
            )

    def take(self) -> Hints:
        """The hints since the last time."""
        with self._lock:
            paths, lost = self._paths, self._lost
            self._paths, self._lost = set(), False
        return Hints(frozenset(map(Path, paths)), lost)

    def stop(self) -> None:
        """Hear nothing more."""
        self._observer.stop()
        self._observer.join()

    def _event(self, event: Any) -> None:
        paths = [os.fsdecode(path) for path in (event.src_path, event.dest_path) if path]
        with self._lock:
            quiet = not self._paths
            self._paths.update(paths)
        if quiet:
            self._heard()


def _asked_for() -> list[Any]:
    from watchdog import events

    of_files = (
        events.FileCreatedEvent,
        events.FileModifiedEvent,
        events.FileMovedEvent,
        events.FileDeletedEvent,
    )
    return [*of_files, events.DirCreatedEvent, events.DirDeletedEvent, events.DirMovedEvent]


def _handler(event: Callable[[Any], None]) -> Any:
    from watchdog.events import FileSystemEventHandler

    class Handler(FileSystemEventHandler):
        def on_any_event(self, event: Any) -> None:
            told(event)

    told = event
    return Handler()
