"""A commit is killed, or refused, at every system call it makes on the files and folders of its run."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from phasekeeper.server.store.log_file import WrittenFile
from phasekeeper.server.store.recovery import run_tag, temporary_name

from tests.faults.scenario import JOURNAL, NOTE, RUN, SITUATIONS, STATE, broken_promises, in_memory, prepare
from tests.faults.victim import DECOY, DONE, READY, STRIKE, TASKS, each
from tests.roots import needs

VICTIM = Path(__file__).with_name("victim.py")
CALLS = ("openat", "write", "fsync", "close", "renameat", "ftruncate", "unlinkat")
FAULTS = ("signal=KILL", "error=ENOSPC", "error=EIO", "error=EACCES")
ONCE = FAULTS[::2]
LIMIT_S = 120


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=in_memory(tmp_path)) as folder:
        for name in (DECOY, READY, DONE):
            (Path(folder) / name).mkdir()
        (Path(folder) / DECOY / "file").touch()
        yield Path(folder).resolve()


def watched(root: Path) -> list[str]:
    """strace's options for all that a commit touches; it does not find files by what they become."""
    tag = run_tag(root, RUN)
    made = [WrittenFile(seq, n, path, "", "") for seq in range(1, 6) for n, path in ((0, STATE), (1, NOTE))]
    temporary = [str(Path(item.path).with_name(temporary_name(tag, item))) for item in made]
    names = [RUN, STATE, JOURNAL, f"{RUN}/.phasekeeper", f"{RUN}/notes", NOTE, DECOY, f"{DECOY}/file"]
    return [part for name in (*names, *temporary) for part in ("-P", str(root / name))]


def trace(root: Path, counts: Mapping[str, int], *options: str) -> list[dict[str, Any]]:
    """One commit under strace for each call that is counted; with the fault in `options` at that call."""
    strace = needs("strace")
    for call, n in each(counts):
        shutil.copytree(root / "before", root / READY / f"{call}-{n}")
    victim = [sys.executable, "-I", str(VICTIM), str(root), json.dumps(counts)]
    done = subprocess.run(
        [strace, "-f", "-qq", "-e", f"trace={','.join(CALLS)}", *options, *watched(root), *victim],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(results) == sum(counts.values()), done.stderr
    return results


def judged(root: Path, result: Mapping[str, Any]) -> list[str]:
    (root / DONE / result["at"]).rename(root / TASKS)
    broken = broken_promises(root, acknowledged=result["said"] == '""')
    shutil.rmtree(root / TASKS)
    return broken


def calls_of_a_commit(root: Path, log: Path) -> Counter[str]:
    result = trace(root, {"fsync": 1}, "-o", str(log))[0]
    assert result["said"] == '""' and judged(root, result) == []
    made = Counter(re.findall(rf"^{result['child']} +(\w+)\(", log.read_text(), re.MULTILINE))
    made["fsync"] -= STRIKE - 1
    return made


@pytest.mark.parametrize("situation", SITUATIONS)
def test_a_commit_survives_a_fault_at_each_of_its_system_calls(
    root: Path, situation: str, tmp_path: Path
) -> None:
    prepare(root, situation)
    (root / TASKS).rename(root / "before")
    counts = calls_of_a_commit(root, tmp_path / "log")
    assert counts["fsync"] > 3 and counts["renameat"] > 1 and max(counts.values()) < STRIKE
    for fault in FAULTS:
        killed = fault.startswith("signal")
        # The system gives one error when it closes a file; the store treats all alike.
        struck = {call: n for call, n in counts.items() if call != "close" or fault in ONCE}
        # strace is quicker with the filter in the kernel, but then it sends no signals.
        quicker = () if killed else ("--seccomp-bpf",)
        inject = ("-e", f"inject={','.join(struck)}:{fault}:when={STRIKE}", "-o", os.devnull)
        for result in trace(root, struck, *quicker, *inject):
            assert (result["status"] == signal.SIGKILL) is killed, (fault, result)
            # One that ended by anything but a refusal said nothing.
            assert killed or result["said"], (fault, result)
            assert judged(root, result) == [], (fault, result)
