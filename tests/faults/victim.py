"""Runs under strace: for each kind of call and each n, a child commits and meets the fault at the n-th.

strace counts each kind of call of each process from one and strikes at number STRIKE. A child that makes
STRIKE - n idle calls first meets it at the n-th call of the commit; so one strace serves them all.

Arguments: root, JSON of name of system call -> how many n. The run as it is before lies in READY/CALL-n,
and is put in DONE/CALL-n afterwards. Prints one JSON object for each.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from phasekeeper.server.store.commit import StoreError

from tests.faults.scenario import act

STRIKE = 60
DECOY, TASKS, READY, DONE = "decoy", "tasks", "ready", "done"


def idle(folder: int, file: int) -> dict[str, Callable[[], object]]:
    """One call of each kind that strace sees and that changes nothing of the run."""
    return {
        "openat": lambda: os.open("nothing", os.O_RDONLY, dir_fd=folder),
        "write": lambda: os.write(file, b"-"),
        "fsync": lambda: os.fsync(folder),
        "close": lambda: os.close(os.dup(folder)),
        "renameat": lambda: os.rename("nothing", "nothing", src_dir_fd=folder, dst_dir_fd=folder),
        "ftruncate": lambda: os.ftruncate(file, 0),
        "unlinkat": lambda: os.unlink("nothing", dir_fd=folder),
    }


def each(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return [(call, n) for call, count in counts.items() for n in range(1, count + 1)]


def in_child(work: Callable[[], str]) -> tuple[int, str, int]:
    """(exit status, what `work` said, process id); a process of its own has counters of its own."""
    out, into = os.pipe()
    child = os.fork()
    if not child:
        os.close(out)
        os.write(into, json.dumps(work()).encode())
        os._exit(0)
    os.close(into)
    with os.fdopen(out) as said:
        text = said.read()
    return os.waitpid(child, 0)[1], text, child


def commit(root: Path, spare: Callable[[], object], before: int) -> str:
    """What came of a commit after `before` idle calls: "" when it was acknowledged, else the refusal."""
    for _ in range(before):
        with suppress(FileNotFoundError):
            spare()
    try:
        act(root)
    except StoreError as error:
        return str(error)
    return ""


def main() -> None:
    root, counts = Path(sys.argv[1]), json.loads(sys.argv[2])
    # Opened here, because a child's own opening would be counted.
    spare = idle(os.open(root / DECOY, os.O_RDONLY), os.open(root / DECOY / "file", os.O_RDWR))
    for call, n in each(counts):
        at = f"{call}-{n}"
        (root / READY / at).rename(root / TASKS)
        status, said, child = in_child(lambda call=call, n=n: commit(root, spare[call], STRIKE - n))
        (root / TASKS).rename(root / DONE / at)
        print(json.dumps({"at": at, "status": status, "said": said, "child": child}), flush=True)


if __name__ == "__main__":
    main()
