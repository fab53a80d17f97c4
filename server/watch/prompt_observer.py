"""An inotify observer that tells of each path while it reads the system's queue.

The queue is in the order of the writes, and one thread reads it. Watchdog passes events on by a thread of
each watched folder, and holds back half of a rename for half a second: who has heard of one write there may
not have heard of an earlier one. Whoever was told of a path here was told of all that was written before.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from watchdog.observers.inotify import InotifyEmitter, InotifyObserver, InotifyWatchGroup
from watchdog.observers.inotify_c import InotifyEvent

Note = Callable[[str], None]


def _note_nothing(_: str) -> None: ...


@dataclass
class _PromptGroup(InotifyWatchGroup):
    """The watches of one folder. `note` is called on the reading thread with the path of each event."""

    note: Note = _note_nothing

    def on_event(self, event: InotifyEvent) -> None:
        # What it says first: a folder that came is watched before anybody is told of it.
        super().on_event(event)
        folder = self._active_callbacks_by_watch.get(event.wd)
        if folder is not None:
            self.note(os.fsdecode(os.path.join(folder, event.name) if event.name else folder))  # noqa: PTH118


class PromptObserver(InotifyObserver):
    """Watchdog's observer, with `note` called beside."""

    def __init__(self, note: Note) -> None:
        super().__init__()

        class PromptEmitter(InotifyEmitter):
            def on_thread_start(self) -> None:
                watch: Any = self.watch
                self._inotify = _PromptGroup(
                    self._inotify_fd,
                    os.fsencode(watch.path),
                    is_recursive=watch.is_recursive,
                    event_mask=self.get_event_mask_from_filter(),
                    follow_symlink=watch.follow_symlink,
                    note=note,
                )

        self._emitter_class = PromptEmitter
