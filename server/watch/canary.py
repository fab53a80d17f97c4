"""The health of an observer: a file of our own is touched, and the observer has to tell of it in time.

An observer can stop hearing without saying so: a thread of its own ends by an error in its books, or hangs.
What is touched lies in a folder of this process alone, in the runtime folder or a temporary one, never in a
workspace.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from watchdog import events

ANSWER_S = 1.0
"""Within so long an observer tells of the canary. After one that did not, twice as long, up to `_MOST_S`."""
_MOST_S = 60.0
_LATE = 10
"""An observer that tells of other things meanwhile has work, and so many times as long."""
_PREFIX = "canary-"
_STALE_S = 3600.0
"""A folder whose file was not touched for so long is one of a process that was killed."""


class Canary(events.FileSystemEventHandler):
    """A touched file of whose change one observer at a time has to tell.

    `on_any_event` comes on the observer's thread, all else on the owner's. Without any folder to write in
    (`folder` is None) every answer counts as given.
    """

    def __init__(self, place: Path | None, clock: Callable[[], float] = time.monotonic) -> None:
        self.heard_at = clock()
        """When the observer last told of anything; its owner notes what it hears of elsewhere."""
        self.folder: Path | None = None
        self._place, self._clock = place, clock
        self._asked_at: float | None = None
        self._answered_at: float | None = None
        self._limit_s = ANSWER_S
        self._marks, self._mark, self._passed = 0, "", threading.Event()

    def prepare(self) -> Path | None:
        """The folder to be watched by an observer that begins now, created where there is none."""
        self._asked_at = self._answered_at = None
        if self.folder is None or not self.folder.is_dir():
            self.folder = _create_folder(self._place)
        return self.folder

    def is_overdue(self) -> bool:
        """Touch the file, unless its last touch is not answered yet; True if that one is overdue.

        Raises FileNotFoundError when somebody removed the folder.
        """
        if self.folder is None:
            return False
        now = self._clock()
        if self._asked_at is not None and self._answered_at is None:
            since = min(max(self._asked_at, self.heard_at), self._asked_at + _LATE * self._limit_s)
            if now - since <= self._limit_s:
                return False
            self._limit_s = min(2 * self._limit_s, _MOST_S)
            return True
        if self._asked_at is not None and self._answered_at is not None:
            took_s = self._answered_at - self._asked_at
            self._limit_s = ANSWER_S if took_s <= ANSWER_S else self._limit_s
        self._asked_at, self._answered_at = now, None
        os.utime(self.folder / "touched")
        return False

    def pass_mark(self, wait_s: float) -> bool:
        """Write a mark, and wait until `note` has met it; False when it does not in time.

        An observer that tells of the paths in the order of the writes has told then of all that was written
        before.
        """
        if self.folder is None:
            return False
        self._marks += 1
        mark = self.folder / f"mark-{self._marks}"
        self._mark, passed = str(mark), self._passed
        passed.clear()
        try:
            mark.touch()
            mark.unlink()
        except OSError:
            return False
        return passed.wait(wait_s)

    def note(self, path: str) -> bool:
        """Whether a path is of our own folder. On the thread that reads the system's events."""
        if path == self._mark:
            self._passed.set()
        return self.folder is not None and path.startswith(str(self.folder))

    def on_any_event(self, event: events.FileSystemEvent) -> None:
        """The answer: the observer hears."""
        self.heard_at = self._answered_at = self._clock()

    def remove(self) -> None:
        """Leave nothing behind."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
        self.folder = None


def _create_folder(place: Path | None) -> Path | None:
    for parent in (place, Path(tempfile.gettempdir())):
        with suppress(OSError):
            if parent is not None:
                for stale in _stale_folders(parent):
                    shutil.rmtree(stale, ignore_errors=True)
                folder = Path(tempfile.mkdtemp(prefix=f"phasekeeper-{_PREFIX}", dir=parent))
                (folder / "touched").touch()
                return folder
    return None


def _stale_folders(parent: Path) -> Iterator[Path]:
    for folder in parent.glob(f"phasekeeper-{_PREFIX}*"):
        with suppress(OSError):
            if time.time() - (folder / "touched").stat().st_mtime > _STALE_S:
                yield folder
