"""Events of the system as hints."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from phasekeeper.server.live.watcher import Watcher

LIMIT_S = 30


class Heard:
    """A watcher and everything that it has said."""

    def __init__(self) -> None:
        self.paths: set[Path] = set()
        self.lost = False
        self.said = threading.Event()
        self.watcher = Watcher(self.said.set)

    def until(self, path: Path) -> None:
        """Wait until a path was among the hints."""
        while path not in self.paths:
            assert self.said.wait(LIMIT_S), f"nothing was said of {path}"
            self.said.clear()
            paths, has_lost_some = self.watcher.take()
            self.paths.update(map(Path, paths))
            self.lost |= has_lost_some


@contextmanager
def watching(*folders: Path) -> Iterator[Heard]:
    heard = Heard()
    try:
        heard.watcher.watch(folders[0], dict.fromkeys(folders, True))
        yield heard
    finally:
        heard.watcher.stop()


def test_a_saved_file_is_a_hint(tmp_path):
    with watching(tmp_path) as heard:
        (tmp_path / "a.md").write_text("a")
        heard.until(tmp_path / "a.md")


def test_both_ends_of_a_rename_are_hints(tmp_path):
    (tmp_path / "a.md").write_text("a")
    with watching(tmp_path) as heard:
        (tmp_path / "a.md").rename(tmp_path / "b.md")
        heard.until(tmp_path / "a.md")
        heard.until(tmp_path / "b.md")


def test_a_changed_time_or_mode_alone_is_a_hint(tmp_path):
    for name in ("timed", "closed"):
        (tmp_path / name).write_text("")
    with watching(tmp_path) as heard:
        os.utime(tmp_path / "timed", (1, 1))
        heard.until(tmp_path / "timed")
        (tmp_path / "closed").chmod(0o400)
        heard.until(tmp_path / "closed")


def test_reading_is_no_hint(tmp_path):
    (tmp_path / "a.md").write_text("a")
    with watching(tmp_path) as heard:
        (tmp_path / "a.md").read_text()
        list(tmp_path.iterdir())
        (tmp_path / "last").write_text("")
        heard.until(tmp_path / "last")
        assert tmp_path / "a.md" not in heard.paths
