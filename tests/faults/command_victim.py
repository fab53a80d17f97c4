"""Runs under strace: for each command and each n, a child runs the command and meets the fault at its n-th
system call of a kind after it began to write.

strace counts each kind of call of each thread from one and strikes at number STRIKE. So a command goes on to
write in a thread of its own that first makes STRIKE - n idle calls.

Arguments: a folder, and the JSON of a list of [command, system call, n]. The root as it is before lies in
READY/INDEX, and is put in DONE/INDEX afterwards. Prints one JSON object for each.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.faults import commands, victim

STRIKE, STRIKE_OPEN = 60, 500
"""Reading a run opens many files."""
MARK = "-begins-to-write-"
PR_SET_PTRACER, ANYBODY = 0x59616D61, ctypes.c_ulong(-1)
READY, DONE, ROOT, DECOY, WARM = "ready", "done", "root", "decoy", "warm"


def idle(folder: int, file: int) -> dict[str, Callable[[], object]]:
    """One call of each kind that strace sees and that changes nothing."""
    return victim.idle(folder, file) | {
        "mkdirat": lambda: os.mkdir("file", dir_fd=folder),
        "mkdir": lambda: os.mkdir("/"),  # noqa: PTH102
        "unlink": lambda: os.unlink("/nothing"),  # noqa: PTH108
        "link": lambda: os.link("/nothing", "/nothing"),
        "flock": lambda: flock(file),
    }


def flock(file: int) -> None:
    import fcntl

    fcntl.flock(file, fcntl.LOCK_UN)


def in_thread(work: Callable[..., Any], spare: Callable[[], object], before: int) -> Callable[..., Any]:
    """`work`, done in a thread that makes `before` idle calls first."""

    def called(*arguments: Any, **options: Any) -> Any:
        came: list[Any] = []

        def run() -> None:
            for _ in range(before):
                with suppress(OSError):
                    spare()
            with suppress(FileNotFoundError):
                os.unlink(f"/{MARK}")  # noqa: PTH108
            try:
                came.extend((work(*arguments, **options), None))
            except BaseException as error:
                came.extend((None, error))

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        if came[1] is not None:
            raise came[1]
        return came[0]

    return called


def carried_out(root: Path, name: str, spare: Callable[[], object], before: int) -> str:
    command = commands.COMMANDS[name]
    module, begins = command.begins
    with mock.patch.object(module, begins, in_thread(getattr(module, begins), spare, before)):
        return json.dumps(commands.carried_out(command, root))


def wait_for_strace() -> None:
    """Until strace looks on. It comes when everything is imported: it would count and slow that too."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PTRACER, ANYBODY)
    print("ready", flush=True)
    while "TracerPid:\t0\n" in Path("/proc/self/status").read_text():
        os.sched_yield()


def main() -> None:
    place, wanted = Path(sys.argv[1]), json.loads(sys.argv[2])
    # Opened here, because a child's own opening would be counted.
    spare = idle(os.open(place / DECOY, os.O_RDONLY), os.open(place / DECOY / "file", os.O_RDWR))
    with commands.quiet(place / "state"):
        for name in dict.fromkeys(each[0] for each in wanted):
            # Everything is imported and compiled before the first child is made.
            commands.carried_out(commands.COMMANDS[name], place / WARM / name)
        wait_for_strace()
        for index, (name, call, n) in enumerate(wanted):
            before = (STRIKE_OPEN if call == "openat" else STRIKE) - n
            (place / READY / str(index)).rename(place / ROOT)
            status, said, child = victim.in_child(
                lambda name=name, call=call, before=before: carried_out(
                    place / ROOT, name, spare[call], before
                )
            )
            (place / ROOT).rename(place / DONE / str(index))
            # Not by `write`, of which only so many can be made here.
            said = json.dumps({"status": status, "said": said, "child": child})
            os.writev(sys.stdout.fileno(), [said.encode(), b"\n"])


if __name__ == "__main__":
    main()
