"""The process between us and a check, or a server of a fleet: it starts it, and leaves nothing of it running.

Run as a file, with the standard library alone: `python -I supervisor.py PROGRAM ARGUMENT...`. It ends
everything as soon as its standard input ends, however whoever holds the other end did: so the program never
outlives the command that runs it. On its standard output stand the
program's number and then, as another line of JSON, what came of it; what the program prints goes to its
standard error.

On POSIX the program leads a process group of its own. On Linux the supervisor is also the parent of whatever
loses its own ("child subreaper"), so that a process which left the group is found, too.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

GRACE_S = 2.0
"""So long after it was asked to end a program may clean up."""
_SETTLE_S = 0.25
"""So long after the program ended its children may take to end by themselves."""
_POLL_S = 0.01
_SUBREAPER = 36
_NEW_GROUP = 0x200
_MOST_NAMED = 3


class Process(NamedTuple):
    """A process as `/proc` shows it. `state` "Z": it ended, and its parent was not told yet."""

    pid: int
    parent: int
    state: str
    name: str


def main(arguments: list[str]) -> int:
    """Run a program to its end, or to the end of standard input."""
    _adopt_orphans()
    is_posix = os.name == "posix"
    try:
        program = subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=2,
            stderr=2,
            start_new_session=is_posix,
            creationflags=0 if is_posix else _NEW_GROUP,
        )
    except (OSError, ValueError) as error:
        _tell({"missing": (getattr(error, "strerror", None) or str(error)).lower()})
        return 0
    _tell({"pid": program.pid})
    asked = threading.Event()
    threading.Thread(target=_end_with_owner, args=(program, asked), daemon=True).start()
    code = program.wait()
    left = [] if asked.is_set() else _left_behind(program.pid)
    _kill_all(program.pid)
    _reap()
    _tell({"code": code, "left": left, "asked": asked.is_set()})
    return 0


def _tell(what: dict[str, object]) -> None:
    with suppress(OSError):
        os.write(1, json.dumps(what).encode("ascii") + b"\n")


def _end_with_owner(program: subprocess.Popen[bytes], asked: threading.Event) -> None:
    """Nothing is ever written on standard input: it ends when whoever holds the other end does."""
    with suppress(OSError):
        while os.read(0, 1024):
            pass
    asked.set()
    if os.name == "posix":
        _signal_group(program.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            program.wait(GRACE_S)
    _kill_all(program.pid)


def _adopt_orphans() -> None:
    if sys.platform == "linux":
        with suppress(OSError, AttributeError, ImportError):
            import ctypes

            ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)


def _signal_group(group: int, number: int) -> bool:
    """True if somebody of the group was there."""
    if sys.platform == "win32":
        return False
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _left_behind(group: int) -> list[str]:
    """The names of processes that the program left behind and that do not end by themselves."""
    end = time.monotonic() + _SETTLE_S
    while True:
        if sys.platform == "linux":
            _reap()
            left = [each.name for each in _descendants()]
        else:
            left = ["a process"] if _signal_group(group, 0) else []
        if not left or time.monotonic() >= end:
            return left[:_MOST_NAMED]
        time.sleep(_POLL_S)


def _kill_all(group: int) -> None:
    """Kill the group, and whatever else came from the program, until nothing is left."""
    if sys.platform == "win32":
        words = ["taskkill", "/F", "/T", "/PID", str(group)]
        with suppress(OSError, subprocess.SubprocessError):
            subprocess.run(words, capture_output=True, check=False, timeout=10)
        return
    _signal_group(group, signal.SIGKILL)
    end = time.monotonic() + GRACE_S
    while sys.platform == "linux" and time.monotonic() < end and (left := _descendants()):
        for each in left:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(each.pid, signal.SIGKILL)
        time.sleep(_POLL_S)


def _reap() -> None:
    """Take leave of the adopted children that ended. To be called once the program was waited for."""
    if sys.platform == "linux":
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _descendants() -> list[Process]:
    """The living processes below this one."""
    children: dict[int, list[Process]] = {}
    for each in _processes():
        children.setdefault(each.parent, []).append(each)
    found, waiting = list[Process](), [os.getpid()]
    while waiting:
        below = children.get(waiting.pop(), [])
        waiting += [each.pid for each in below]
        found += [each for each in below if each.state not in ("Z", "X")]
    return found


def _processes() -> Iterator[Process]:
    """Every process that can be seen."""
    for number in os.listdir("/proc"):  # noqa: PTH208 - little is imported here
        if not number.isdecimal():
            continue
        try:
            with open(f"/proc/{number}/stat", "rb") as file:  # noqa: PTH123
                head, _, tail = file.read().rpartition(b")")
        except OSError:
            continue
        state, parent = tail.split()[:2]
        name = head.partition(b"(")[2].decode("utf-8", "replace")
        yield Process(int(number), int(parent), state.decode(), name)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
