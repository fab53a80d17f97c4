"""A decision is confirmed by a person on a terminal who types the run's name, and by nothing else."""

from __future__ import annotations

import io
import os
import pty
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

import pytest
from phasekeeper.server.cli.confirm import NotConfirmed, confirm


@contextmanager
def terminal(typed: bytes) -> Iterator[tuple[IO[str], IO[str], int]]:
    """(what a program reads from a terminal, what it writes to, the person's end); `typed` is typed first."""
    person, device = pty.openpty()
    os.write(person, typed)
    with open(device, closefd=False) as source, open(device, "w", closefd=False) as target:
        yield source, target, person
    os.close(device)
    os.close(person)


def test_the_runs_name_typed_on_a_terminal_confirms() -> None:
    with terminal(b"tasks/T1\n") as (source, target, person):
        confirm(["move it to done", "reason: \x1b[31mred"], "tasks/T1", source, target)
        shown = ""
        while "to confirm: " not in shown:
            shown += os.read(person, 4096).decode()
    assert "move it to done" in shown and "Type tasks/T1 to confirm:" in shown
    assert "\x1b" not in shown


@pytest.mark.parametrize("typed", [b"tasks/T2\n", b"\n", b"y\n", b"TASKS/T1\n"])
def test_any_other_word_decides_nothing(typed: bytes) -> None:
    with terminal(typed) as (source, target, _), pytest.raises(NotConfirmed, match="was another"):
        confirm([], "tasks/T1", source, target)


def test_another_name_of_the_run_confirms_and_nothing_that_is_none_of_its_names() -> None:
    with terminal(b"T1\n") as (source, target, _):
        confirm([], "tasks/T1", source, target, is_name=lambda typed: typed == "T1")
    for typed in (b"\n", b"T2\n"):
        with terminal(typed) as (source, target, _), pytest.raises(NotConfirmed, match="was another"):
            confirm([], "tasks/T1", source, target, is_name=lambda typed: typed in ("", "T1"))


@pytest.mark.parametrize("typed", [b"\x04", b"tasks/T1\x04\x04"])
def test_the_end_of_the_input_decides_nothing(typed: bytes) -> None:
    with terminal(typed) as (source, target, _), pytest.raises(NotConfirmed, match="no name was typed"):
        confirm([], "tasks/T1", source, target)


def test_without_a_terminal_on_both_sides_nobody_is_asked() -> None:
    with terminal(b"tasks/T1\n") as (source, target, _):
        for reads, writes in ((source, io.StringIO()), (io.StringIO("tasks/T1\n"), target)):
            with pytest.raises(NotConfirmed, match="run this command on a terminal"):
                confirm([], "tasks/T1", reads, writes)


def test_a_program_without_standard_streams_asks_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(NotConfirmed, match="on a terminal"):
        confirm([], "tasks/T1")
