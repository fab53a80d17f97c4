"""Whole commands, as people run them, are killed or refused at each system call with which they write."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.faults import commands
from tests.faults.command_victim import DECOY, DONE, MARK, READY, ROOT, STRIKE, STRIKE_OPEN, WARM
from tests.faults.commands import ACKNOWLEDGED, COMMANDS, Result, tree
from tests.faults.promises import ALIKE, broken_promises, is_well_said, prepared, ways
from tests.faults.scenario import in_memory
from tests.roots import needs

VICTIM = Path(__file__).with_name("command_victim.py")
CALLS = {
    "signal=KILL": (
        "openat", "write", "fsync", "renameat", "ftruncate", "unlinkat", "unlink", "mkdirat", "mkdir", "link",
    ),
    "error=ENOSPC": ("openat", "write", "mkdirat", "link"),
    "error=EIO": ("write", "fsync", "ftruncate", "flock"),
    "error=EACCES": ("openat", "renameat", "unlinkat", "mkdirat"),
}  # fmt: skip
"""What may fail with what; a process may end before any call that changes something."""
TRACED = sorted({call for calls in CALLS.values() for call in calls})
LIMIT_S = 300


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=in_memory(tmp_path)) as name:
        folder = Path(name).resolve()
        for each in (DECOY, READY, DONE, WARM, "before"):
            (folder / each).mkdir()
        (folder / DECOY / "file").touch()
        with commands.quiet(folder / "state"):
            yield folder


def traced(place: Path, wanted: list[Struck], *options: str) -> list[dict[str, Any]]:
    """Each command of `wanted` under strace, with the fault in `options` at the n-th call of a kind."""
    strace = needs("strace")
    for index, (name, _, _) in enumerate(wanted):
        shutil.copytree(place / "before" / name, place / READY / str(index))
    for each in (WARM, DONE):
        shutil.rmtree(place / each)
        (place / each).mkdir()
    for name in {each.name for each in wanted}:
        shutil.copytree(place / "before" / name, place / WARM / name)
    victim = [sys.executable, "-I", str(VICTIM), str(place), json.dumps(wanted)]
    with subprocess.Popen(victim, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout
        assert running.stdout.readline() == "ready\n"
        trace = [strace, "-f", "-qq", "-e", f"trace={','.join(TRACED)}", *options, "-p", str(running.pid)]
        with subprocess.Popen(trace, stderr=subprocess.PIPE, text=True) as tracing:
            results = [json.loads(line) for line in running.stdout]
            _, said = tracing.communicate(timeout=LIMIT_S)
    assert len(results) == len(wanted), said
    return results


def calls_of(place: Path, names: list[str], log: Path) -> dict[str, list[str]]:
    """The system calls that each command makes once it begins to write, as strace shows them."""
    for result in traced(place, [Struck(name, "fsync", 1) for name in names], "-o", str(log)):
        assert Result(*json.loads(json.loads(result["said"]))).code in ACKNOWLEDGED, result
    found: dict[str, list[str]] = {}
    thread, waiting, calls = "", list(names), list[str]()
    for line in log.read_text().splitlines():
        number, _, call = line.partition(" ")
        if MARK in call:
            thread = number
            found[waiting.pop(0)] = calls = []
        elif number == thread:
            calls.append(call.strip())
    return found


class Struck(NamedTuple):
    """A system call to strike: the n-th of its kind since the command began to write."""

    name: str
    call: str
    n: int


def to_strike(name: str, calls: list[str], kinds: Sequence[str]) -> Iterator[Struck]:
    """The calls of some kinds; of those that open a file, those that may make it."""
    numbers: Counter[str] = Counter()
    for line in calls:
        call = line.partition("(")[0]
        numbers[call] += 1
        if call in kinds and (call != "openat" or "O_CREAT" in line):
            yield Struck(name, call, numbers[call])
    assert numbers.pop("openat", 0) < STRIKE_OPEN and max(numbers.values()) < STRIKE


@pytest.mark.parametrize("fault", CALLS)
def test_a_command_survives_a_fault_at_each_system_call_with_which_it_writes(
    place: Path, tmp_path: Path, fault: str
) -> None:
    names = [name for name in COMMANDS if fault == "signal=KILL" or name not in ALIKE]
    for name in names:
        prepared(place / "before" / name, place / ROOT, name)
    known = {name: ways(place / "before" / name, place / ROOT, name) for name in names}
    calls = calls_of(place, names, tmp_path / "log")
    wanted = [struck for name in names for struck in to_strike(name, calls[name], CALLS[fault])]
    assert {struck.name for struck in wanted} == set(names)
    killed = fault.startswith("signal")
    few = ",".join({struck.call for struck in wanted} - {"openat"})
    options = (
        "-e",
        f"inject={few}:{fault}:when={STRIKE}",
        "-e",
        f"inject=openat:{fault}:when={STRIKE_OPEN}",
        "-o",
        os.devnull,
    )
    judged: dict[object, list[str]] = {}
    print(fault, len(wanted))  # pytest -s shows how many faults there were
    results = traced(place, wanted, *options)
    for index, (struck, result) in enumerate(zip(wanted, results, strict=True)):
        assert (result["status"] == signal.SIGKILL) is killed, (struck, result)
        assert killed or result["said"], (struck, result)
        said = None if killed else Result(*json.loads(json.loads(result["said"])))
        (place / DONE / str(index)).rename(place / ROOT)
        assert said is None or said.code in ACKNOWLEDGED or is_well_said(said), (struck, said)
        key = struck.name, said and said.code, frozenset(tree(place / ROOT).items())
        if key not in judged:
            judged[key] = broken_promises(
                place / ROOT,
                COMMANDS[struck.name],
                said is not None and said.code in ACKNOWLEDGED,
                known[struck.name],
            )
        shutil.rmtree(place / ROOT)
        assert judged[key] == [], (fault, struck, calls[struck.name], result)
