"""Events of the system as hints."""

from __future__ import annotations

import errno
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from phasekeeper.server.watch import watcher as watcher_module
from phasekeeper.server.watch.watcher import Watcher
from watchdog import events

if sys.platform == "linux":
    from watchdog.observers import inotify_c

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


# ---- what has gone deaf --------------------------------------------------------------------------

linux = pytest.mark.skipif(sys.platform != "linux", reason="a fault of watchdog's with inotify")


def kill_reader(root: Path, outside: Path, heard: Heard) -> None:
    """Renames and removals of folders after which watchdog's books hold a folder at no path."""
    for step in (
        lambda: (root / "a").mkdir(),
        lambda: (root / "a").rename(outside / "out"),
        lambda: (root / "a").mkdir(),
        lambda: (root / "a").rename(root / "b"),
    ):
        step()
        # Everything before a save was read when the save is told.
        mark = root / f"mark-{time.monotonic_ns()}"
        mark.write_text("")
        heard.until(mark)
    reader = heard.watcher._observer._inotify_fd
    (outside / "out").rmdir()
    reader.join(LIMIT_S)
    assert not reader.is_alive()


@linux
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_observer_whose_reader_died_of_a_removed_folder_is_replaced_and_counted(tmp_path):
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    with watching(root) as heard:
        kill_reader(root, outside, heard)
        threads = threading.active_count()
        for replaced in (1, 1, 1):
            heard.watcher.replace_deaf()
            assert heard.watcher.faults.replaced == replaced
        assert "ended" in heard.watcher.faults.last
        # What changed meanwhile nobody heard, so all has to be looked at.
        assert heard.watcher.take() == (set(), True)
        heard.said.clear()
        (root / "b" / "a.md").write_text("a")
        heard.until(root / "b" / "a.md")
        for each in threading.enumerate():
            if each.name == "phasekeeper-watcher-end":
                each.join(LIMIT_S)
        assert threading.active_count() <= threads + 1, "the dead observer left threads behind"


@linux
def test_an_observer_that_hangs_is_replaced(tmp_path, monkeypatch):
    hangs, go_on = threading.Event(), threading.Event()
    handle = inotify_c.InotifyFD.handle_event

    def hang(reader: inotify_c.InotifyFD, event: inotify_c.InotifyEvent) -> None:
        if not hangs.is_set():
            hangs.set()
            go_on.wait(LIMIT_S)
        handle(reader, event)

    with watching(tmp_path) as heard:
        monkeypatch.setattr(inotify_c.InotifyFD, "handle_event", hang)
        heard.watcher._canary._limit_s = 0.0
        heard.watcher.replace_deaf()
        assert hangs.wait(LIMIT_S)
        heard.watcher.replace_deaf()
        assert heard.watcher.faults.replaced == 1
        assert "in time" in heard.watcher.faults.last
        (tmp_path / "a.md").write_text("a")
        heard.until(tmp_path / "a.md")
        go_on.set()


@linux
def test_a_folder_that_was_renamed_before_its_creation_was_read_is_watched(tmp_path, monkeypatch):
    hangs, go_on = threading.Event(), threading.Event()
    handle = inotify_c.InotifyFD.handle_event

    def hang(reader: inotify_c.InotifyFD, event: inotify_c.InotifyEvent) -> None:
        hangs.set()
        go_on.wait(LIMIT_S)
        handle(reader, event)

    with watching(tmp_path) as heard:
        monkeypatch.setattr(inotify_c.InotifyFD, "handle_event", hang)
        (tmp_path / "first").write_text("")
        assert hangs.wait(LIMIT_S)
        (tmp_path / "a").mkdir()
        (tmp_path / "a").rename(tmp_path / "b")
        (tmp_path / "a").mkdir()
        go_on.set()
        (tmp_path / "last").write_text("")
        heard.until(tmp_path / "last")
        renewed = heard.watcher.replace_deaf()
        # What was saved in it meanwhile nobody heard.
        assert renewed[tmp_path / "b"]
        (tmp_path / "b/x.md").write_text("x")
        heard.until(tmp_path / "b/x.md")


def test_an_observer_that_hears_is_let_be(tmp_path):
    with watching(tmp_path) as heard:
        observer, told = heard.watcher._observer, threading.Event()
        note = heard.watcher._canary.on_any_event

        def noted(event: events.FileSystemEvent) -> None:
            note(event)
            told.set()

        heard.watcher._canary.on_any_event = noted
        for _ in range(3):
            assert heard.watcher.replace_deaf() == {}
            assert told.wait(LIMIT_S)
            told.clear()
        assert heard.watcher._observer is observer
        assert not heard.watcher.faults.replaced


def test_nothing_is_written_where_is_watched(tmp_path):
    with watching(tmp_path) as heard:
        heard.watcher.replace_deaf()
        assert not list(tmp_path.iterdir())


def test_another_folder_in_the_place_of_a_watched_one_is_watched(tmp_path):
    # As after a mount or its end: no event tells of it where nothing above is watched.
    place = tmp_path / "place"
    place.mkdir()
    with watching(place) as heard:
        place.rename(tmp_path / "away")
        place.mkdir()
        assert heard.watcher.replace_deaf() == {place: True}
        (place / "a.md").write_text("a")
        heard.until(place / "a.md")
        assert not heard.watcher.faults.replaced


def test_a_watched_folder_that_went_and_came_again_is_watched(tmp_path):
    place = tmp_path / "place"
    place.mkdir()
    with watching(place) as heard:
        place.rmdir()
        place.mkdir()
        # The new one may have the number of the old one: then an event tells, or that its watch has ended.
        while place not in (heard.watcher.replace_deaf() or heard.watcher.check()):
            assert heard.said.wait(LIMIT_S)
            heard.said.clear()
            heard.watcher.take()
        (place / "a.md").write_text("a")
        heard.until(place / "a.md")


@linux
def test_a_queue_that_was_too_short_is_counted_once_and_all_has_to_be_looked_at(tmp_path):
    with watching(tmp_path) as heard:
        overflow = inotify_c.InotifyEvent(
            inotify_c.WatchDescriptor(-1), inotify_c.InotifyConstants.IN_Q_OVERFLOW, 0, b""
        )
        heard.watcher._observer._inotify_fd.handle_event(overflow)
        assert heard.watcher.take()[1]
        assert heard.watcher.faults.overflows == 1
        (tmp_path / "a.md").write_text("a")
        heard.until(tmp_path / "a.md")


def test_where_the_system_refuses_every_watch_none_is_replaced(tmp_path, monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "no room")

    with watching(tmp_path) as heard:
        monkeypatch.setattr(watcher_module.Observer, "schedule", refuse)
        heard.watcher._observer.stop()
        heard.watcher._observer.join()
        for _ in range(3):
            heard.watcher.replace_deaf()
        assert heard.watcher.faults.replaced == 1
        assert "fs.inotify.max_user_watches" in heard.watcher.condition
