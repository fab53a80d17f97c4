"""Garbage while much is read: what stays is not traversed again, and what goes is collected all the same."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from phasekeeper.server.cli.main import main
from phasekeeper.server.memory import YOUNG_OBJECTS, collect_seldom, freezing_parts

from tests.roots import run_to_end


class Node:
    """Garbage that only the collector finds."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def own_thresholds() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)
    gc.unfreeze()


def test_what_stays_is_frozen_and_what_goes_is_collected() -> None:
    gone: list[weakref.ref[Node]] = []

    def parts() -> Generator[None, None, list[list[int]]]:
        kept: list[list[int]] = []
        for number in range(YOUNG_OBJECTS):
            kept += ([number] for _ in range(10))
            gone.append(weakref.ref(Node()))
            yield
        return kept

    before = gc.get_freeze_count()
    gc.set_threshold(700, 10, 10)
    kept = run_to_end(freezing_parts(parts()))
    assert len(kept) == 10 * YOUNG_OBJECTS
    assert gc.get_freeze_count() - before > len(kept) / 2
    alive = sum(each() is not None for each in gone)
    assert alive < len(gone) / 20


def test_parts_that_are_given_up_are_ended() -> None:
    ended: list[str] = []

    def parts() -> Generator[None, None, None]:
        try:
            while True:
                yield
        finally:
            ended.append("here")

    work = freezing_parts(parts())
    next(work)
    work.close()
    assert ended == ["here"]


def test_collections_are_seldom_and_older_objects_as_often_as_before() -> None:
    gc.set_threshold(700, 7, 8)
    collect_seldom()
    assert gc.get_threshold()[0] == YOUNG_OBJECTS
    assert gc.get_threshold()[1:] == (7, 8)


def test_a_command_looks_for_garbage_as_seldom(tmp_path: Path) -> None:
    gc.set_threshold(700, 7, 8)
    (tmp_path / ".git").mkdir()
    main(["status", "--root", str(tmp_path)])
    assert gc.get_threshold()[0] == YOUNG_OBJECTS
