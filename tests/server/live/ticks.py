"""The clock by which a file system dates files, so that no test has to wait for seconds."""

from __future__ import annotations

import os
from pathlib import Path


class Ticks:
    """The system's clock for times of files, by a file of our own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.touch()

    def now_ns(self) -> int:
        os.utime(self.path)
        return self.path.stat().st_ctime_ns

    def wait(self) -> None:
        """Return in the next tick, some milliseconds later at most."""
        now = self.now_ns()
        while self.now_ns() <= now:
            pass
