"""Whether an observer hears: what it has to tell of, and within which time."""

from __future__ import annotations

import os

import pytest
from phasekeeper.server.watch.canary import ANSWER_S, Canary
from watchdog.events import FileAttribEvent

TOLD = FileAttribEvent("touched")


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def canary(tmp_path, clock):
    made = Canary(tmp_path, clock)
    made.prepare()
    yield made
    made.remove()


def overdue_after(canary: Canary, clock: Clock) -> float:
    """The seconds after a touch when an observer that says nothing is found to be deaf."""
    began = clock.now
    while not canary.is_overdue():
        clock.now += ANSWER_S / 4
        assert clock.now - began < 1000, "it is never overdue"
    return clock.now - began


def test_an_observer_that_tells_of_each_touch_is_never_overdue(canary, clock):
    for _ in range(100):
        assert not canary.is_overdue()
        clock.now += ANSWER_S / 2
        canary.on_any_event(TOLD)


def test_an_observer_that_says_nothing_is_overdue_after_its_time(canary, clock):
    assert ANSWER_S < overdue_after(canary, clock) <= 1.5 * ANSWER_S


def test_one_after_another_that_says_nothing_has_ever_more_time(canary, clock):
    times = []
    for _ in range(10):
        times.append(overdue_after(canary, clock))
        canary.prepare()
    assert times[:4] == [1.25, 2.25, 4.25, 8.25]
    assert times[-1] == times[-2] < 61


def test_an_answer_in_time_ends_the_patience_with_those_after_it(canary, clock):
    for _ in range(3):
        overdue_after(canary, clock)
        canary.prepare()
    assert not canary.is_overdue()
    canary.on_any_event(TOLD)
    assert not canary.is_overdue()
    assert overdue_after(canary, clock) == 1.25


def test_an_observer_that_tells_of_other_things_meanwhile_has_more_time_but_not_for_ever(canary, clock):
    assert not canary.is_overdue()
    began = clock.now
    while not canary.is_overdue():
        clock.now += ANSWER_S / 2
        canary.heard_at = clock.now
        assert clock.now - began < 1000, "it is never overdue"
    assert 10 * ANSWER_S < clock.now - began <= 12 * ANSWER_S


def test_its_folder_is_its_own_and_goes_with_it(tmp_path):
    first, second = Canary(tmp_path), Canary(tmp_path)
    folders = {first.prepare(), second.prepare()}
    assert folders == set(tmp_path.iterdir())
    assert len(folders) == 2
    first.remove()
    second.remove()
    assert not list(tmp_path.iterdir())


def test_a_folder_that_was_removed_is_told_and_made_again(canary):
    gone = canary.folder
    (gone / "touched").unlink()
    gone.rmdir()
    with pytest.raises(FileNotFoundError):
        canary.is_overdue()
    assert canary.prepare().is_dir()
    assert not canary.is_overdue()


def test_what_a_killed_process_left_is_cleared_and_what_a_living_one_uses_stays(tmp_path):
    killed, living = Canary(tmp_path), Canary(tmp_path)
    left, used = killed.prepare(), living.prepare()
    assert left
    os.utime(left / "touched", (1, 1))
    begun = Canary(tmp_path).prepare()
    assert set(tmp_path.iterdir()) == {used, begun}


def test_without_a_runtime_folder_a_temporary_one_is_used(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    made = Canary(tmp_path / "missing")
    folder = made.prepare()
    assert folder
    assert folder.parent == tmp_path


def test_where_nothing_can_be_written_no_answer_is_waited_for(tmp_path, monkeypatch, clock):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    made = Canary(None, clock)
    assert made.prepare() is None
    for _ in range(10):
        clock.now += 100
        assert not made.is_overdue()
