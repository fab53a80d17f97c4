"""The key of decisions: made once, whole, and for this user alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from phasekeeper.server.disk import decision_keys as decide

PROGRAM = (
    "from phasekeeper.server.disk.decision_keys import make_key; print((make_key().secret or b'').hex())"
)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def test_a_key_is_made_once_and_only_its_user_can_read_it() -> None:
    key = decide.make_key()
    path = decide.key_path()
    assert key.secret == path.read_bytes() == decide.make_key().secret and len(path.read_bytes()) == 32
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert [entry.name for entry in path.parent.iterdir()] == ["decision.key"]


def test_processes_that_make_it_at_one_moment_agree_on_one_key() -> None:
    children = [subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE) for _ in range(4)]
    made = {child.communicate(timeout=60)[0].strip() for child in children}
    assert made == {decide.key_path().read_bytes().hex().encode()}


def test_the_one_who_comes_second_takes_the_first_ones_key(monkeypatch: pytest.MonkeyPatch) -> None:
    first = b"f" * 32
    link = os.link

    def late(made: Path, path: Path) -> None:
        path.write_bytes(first)
        path.chmod(0o600)
        link(made, path)

    monkeypatch.setattr(os, "link", late)
    assert decide.make_key().secret == first
    assert len(list(decide.key_path().parent.iterdir())) == 1


def test_a_key_that_comes_right_behind_the_first_look_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    path, load = decide.key_path(), decide.load_key

    def load_before() -> decide.DecisionKey:
        found = load()
        if not path.exists():
            path.parent.mkdir(parents=True)
            path.write_bytes(b"f" * 32)
            path.chmod(0o600)
        return found

    monkeypatch.setattr(decide, "load_key", load_before)
    assert decide.make_key().secret == b"f" * 32


def test_a_key_that_others_can_read_is_refused_and_left_alone() -> None:
    path = decide.key_path()
    path.parent.mkdir(parents=True)
    path.write_bytes(b"k" * 32)
    path.chmod(0o644)
    key = decide.make_key()
    assert key.secret is None and "can be read or written by others" in (key.reason or "")
    assert path.read_bytes() == b"k" * 32


def test_where_no_key_can_be_made_there_is_a_reason(state: Path) -> None:
    state.write_text("a file where the folder should be", encoding="utf-8")
    key = decide.make_key()
    assert key.secret is None and "cannot be made" in (key.reason or "")
