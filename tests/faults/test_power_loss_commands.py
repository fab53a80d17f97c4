"""The power fails at any moment of a whole command, and the disk keeps as little as it may."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from phasekeeper.server.disk import decision_keys as decide

from tests.faults import commands
from tests.faults.commands import ACKNOWLEDGED, COMMANDS, T1, carried_out
from tests.faults.power import Call, Recorder, Tree, states
from tests.faults.promises import ALIKE, broken_promises, prepared, ways
from tests.faults.scenario import in_memory
from tests.faults.test_power_loss import put_back, tree_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="descriptors are named by /proc")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=in_memory(tmp_path)) as name:
        folder = Path(name).resolve()
        with commands.quiet(folder / "state"):
            decide.make_key()
            yield folder


def traced(place: Path, name: str) -> tuple[Tree, dict[str, int], list[Call]]:
    """What a root holds, the numbers of its files, and what a command asks of the system there."""
    root = place / "root"
    (place / "ready").rename(root)
    before = tree_of(root)
    numbers = {path: (root / path).stat().st_ino for path, data in before.items() if data is not None}
    recorder = Recorder(root)
    with recorder.recording():
        assert carried_out(COMMANDS[name], root).code in ACKNOWLEDGED
    return before, numbers, recorder.calls


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in ALIKE])
def test_whatever_a_power_loss_leaves_of_a_command_is_mended_by_the_next(place: Path, name: str) -> None:
    prepared(place / "ready", place / "root", name)
    known = ways(place / "ready", place / "root", name)
    before, numbers, calls = traced(place, name)
    seen: set[tuple[bool, frozenset[tuple[str, bytes | None]]]] = set()
    for done in range(len(calls) + 1):
        acknowledged = done == len(calls)
        for tree in states(before, numbers, calls[:done]):
            if (key := (acknowledged, frozenset(tree.items()))) in seen:
                continue
            seen.add(key)
            put_back(place / "root", tree)
            broken = broken_promises(place / "root", COMMANDS[name], acknowledged, known)
            assert broken == [], (name, calls[done - 1 : done], sorted(tree))
    print(name, len(calls), len(seen))  # pytest -s shows how many states there were
    assert len(seen) > 5


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("start", ".ai-tools-chain/tasks"),
        ("start", ".ai-tools-chain/tasks/T2"),
        ("answer", T1),
        ("report that spawns", ".phasekeeper/sessions"),
        ("claim", f"{commands.M1}/.phasekeeper"),
        ("init", "."),
    ],
)
def test_the_flush_of_a_folder_with_a_new_name_in_it_cannot_be_left_out(
    place: Path, name: str, folder: str
) -> None:
    prepared(place / "ready", place / "root", name)
    known = ways(place / "ready", place / "root", name)
    before, numbers, calls = traced(place, name)
    fewer = [call for call in calls if (call.kind, call.path) != ("flush", folder)]
    assert len(fewer) < len(calls)
    assert any(lost(place / "root", tree, known.after) for tree in states(before, numbers, fewer))


def lost(root: Path, tree: Tree, wanted: Tree) -> bool:
    """Whether something that was acknowledged is not there any more."""
    put_back(root, tree)
    return any(commands.tree(root).get(path) != raw for path, raw in wanted.items())
