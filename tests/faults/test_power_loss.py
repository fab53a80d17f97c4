"""The power fails at any moment of a commit, and the disk keeps as little as it may."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from phasekeeper.server.store.commit import StoreError
from phasekeeper.server.store.repair import repair

from tests.faults.power import IGNORED, Call, Recorder, Tree, states
from tests.faults.scenario import RUN, SITUATIONS, act, broken_promises, in_memory, prepare

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="descriptors are named by /proc")


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=in_memory(tmp_path)) as folder:
        yield Path(folder).resolve()


def tree_of(root: Path) -> dict[str, bytes | None]:
    found = [path for path in sorted(root.rglob("*")) if path.name not in IGNORED]
    return {path.relative_to(root).as_posix(): None if path.is_dir() else path.read_bytes() for path in found}


def put_back(root: Path, tree: Tree) -> None:
    for path in root.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    for path, data in sorted(tree.items()):
        if data is None:
            (root / path).mkdir(parents=True, exist_ok=True)
        else:
            (root / path).write_bytes(data)


def recorded(root: Path) -> tuple[Tree, Mapping[str, int], list[Call]]:
    before = tree_of(root)
    numbers = {path: (root / path).stat().st_ino for path, data in before.items() if data is not None}
    recorder = Recorder(root)
    with recorder.recording():
        act(root)
    return before, numbers, recorder.calls


@pytest.mark.parametrize("situation", SITUATIONS)
def test_whatever_a_power_loss_leaves_is_recovered(root: Path, situation: str) -> None:
    prepare(root, situation)
    before, numbers, calls = recorded(root)
    tried = 0
    for done in range(len(calls) + 1):
        for tree in states(before, numbers, calls[:done]):
            put_back(root, tree)
            broken = broken_promises(root, acknowledged=done == len(calls), clear=lambda: repair(root, RUN))
            assert broken == [], (situation, calls[done - 1], sorted(tree))
            tried += 1
    assert tried > 50


@pytest.mark.parametrize("flushed", ["state.json", "n.md", "journal.jsonl", "notes", ".phasekeeper"])
def test_a_flush_left_out_is_noticed(root: Path, flushed: str) -> None:
    """The model would be worth nothing if it let a writer pass that saves itself a flush."""
    prepare(root, "first")
    before, numbers, calls = recorded(root)
    fewer = [call for call in calls if call.kind != "flush" or not fits(call.path, flushed)]
    assert len(fewer) < len(calls)
    assert any(
        harmed(root, tree, acknowledged=done == len(fewer))
        for done in range(len(fewer) + 1)
        for tree in states(before, numbers, fewer[:done])
    )


def fits(path: str, name: str) -> bool:
    """Whether a path is a file or folder of this name, or the temporary file of one."""
    last = path.rpartition("/")[2]
    return last == name or last.startswith(f".{name}.phasekeeper-")


def harmed(root: Path, tree: Tree, acknowledged: bool) -> bool:
    put_back(root, tree)
    try:
        return bool(broken_promises(root, acknowledged, clear=lambda: repair(root, RUN)))
    except StoreError:
        return True
