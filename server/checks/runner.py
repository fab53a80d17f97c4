"""One run of a program under a supervisor: bounded in time and output, and nothing left when it is over."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from .. import supervisor

HEAD_BYTES = TAIL_BYTES = 128 * 1024
"""So much of the output is kept from its beginning and from its end."""
_CHUNK = 64 * 1024
_END_S = 2 * supervisor.GRACE_S + 3
"""A supervisor that takes longer to end what it runs is ended itself."""

STOPPED = "it was ended before it was over"
"""The problem of a run that somebody stopped: it says nothing of the files."""

Printed = Callable[[bytes], None]


class ProgramResult(NamedTuple):
    """What came of a program. `code` is negative where a signal ended it, None where it was never started.

    `problem` says in a sentence why it counts as failed whatever its code; `log` is the bounded output.
    """

    code: int | None
    problem: str
    log: bytes
    seconds: float


class BoundedOutput:
    """The head and the tail of an output of any length; `left_out` bytes between them are gone."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self.left_out = 0

    def add(self, chunk: bytes) -> None:
        room = HEAD_BYTES - len(self._head)
        self._head += chunk[:room]
        if rest := chunk[room:] if room > 0 else chunk:
            self._tail.append(rest)
            self._tail_size += len(rest)
        while self._tail and self._tail_size - len(self._tail[0]) >= TAIL_BYTES:
            gone = len(self._tail.popleft())
            self._tail_size -= gone
            self.left_out += gone

    def text(self) -> bytes:
        """What is kept, with a line where something was left out."""
        tail = b"".join(self._tail)
        cut = max(len(tail) - TAIL_BYTES, 0)
        left_out = self.left_out + cut
        gap = b"\n[... %d bytes of output are left out ...]\n" % left_out if left_out else b""
        return bytes(self._head) + gap + tail[cut:]


def run_program(
    words: Sequence[str],
    root: Path,
    timeout_s: float,
    environment: Mapping[str, str],
    on_output: Printed = lambda chunk: None,
    stop: threading.Event | None = None,
) -> ProgramResult:
    """Run a program in `root` to its end, its time limit, or until `stop` is set. Never raises for its sake.

    The child is a supervisor, which ends the program with all that came from it; also when this process dies.
    """
    started = time.monotonic()
    child = subprocess.Popen(
        [sys.executable, "-I", supervisor.__file__, *words],
        cwd=root,
        env=dict(environment),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=os.name == "posix",
    )
    output = BoundedOutput()
    reader = threading.Thread(target=_read_output, args=(child, output, on_output), daemon=True)
    reader.start()
    try:
        why = _wait(child, started + timeout_s, timeout_s, stop)
    finally:
        _end(child)
        assert child.stdout
        with child.stdout:
            said = child.stdout.read(_CHUNK).splitlines()
        # One that was killed said nothing of the end; then its group is ended here.
        _kill_group(said[0] if len(said) == 1 else b"")
        reader.join(_END_S)
        for stream in (child.stdin, child.stderr):
            with suppress(OSError):
                assert stream
                stream.close()
    code, problem = _outcome(said, words[0])
    return ProgramResult(code, why or problem, output.text(), time.monotonic() - started)


def _wait(child: subprocess.Popen[bytes], end: float, timeout_s: float, stop: threading.Event | None) -> str:
    """Wait for the supervisor; why it is ended before that, "" if it need not be."""
    while True:
        left_s = end - time.monotonic()
        if stop is not None and stop.is_set():
            return STOPPED
        if left_s <= 0:
            return f"it took longer than {timeout_s:g} s and was ended"
        with suppress(subprocess.TimeoutExpired):
            child.wait(left_s if stop is None else min(left_s, 0.1))
            return ""


def _end(child: subprocess.Popen[bytes]) -> None:
    """Close the supervisor's standard input, which has it end everything, and wait for that."""
    with suppress(OSError):
        assert child.stdin
        child.stdin.close()
    try:
        child.wait(_END_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def _read_output(child: subprocess.Popen[bytes], output: BoundedOutput, on_output: Printed) -> None:
    assert child.stderr
    descriptor = child.stderr.fileno()
    with suppress(OSError, ValueError):
        while chunk := os.read(descriptor, _CHUNK):
            output.add(chunk)
            on_output(chunk)


def _outcome(said: Sequence[bytes], program: str) -> tuple[int | None, str]:
    """(the exit code, why the run counts as failed whatever that is) by what the supervisor said."""
    try:
        told: Any = json.loads(said[-1])
        if "missing" in told:
            return None, f"{program} cannot be started: {told['missing']}"
        code, left = int(told["code"]), [str(name) for name in told["left"]]
    except (ValueError, KeyError, TypeError, IndexError):
        return None, "it was killed together with the process that ran it"
    if code < 0:
        return code, f"it was ended by signal {-code}"
    if left:
        ended = f"it ended with exit code {code} and " if code else "it "
        return code, f"{ended}left {', '.join(left)} running behind it, which was ended"
    return code, ""


def _kill_group(said: bytes) -> None:
    """Kill the group whose number a supervisor said, if it said one."""
    with suppress(ValueError, KeyError, TypeError, ProcessLookupError, PermissionError):
        group = int(json.loads(said)["pid"])
        if sys.platform != "win32":
            os.killpg(group, signal.SIGKILL)
