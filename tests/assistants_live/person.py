"""A person at a terminal: types a command that was told, reads what it shows, and types the run's name."""

from __future__ import annotations

import os
import pty
import re
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path

BOUND_S = 120
_ASKED = re.compile(r"Type (\S.*) to confirm: $")


def decide(command: str, reason: str, cwd: Path, env: Mapping[str, str]) -> str:
    """Run a command of a decision with a reason of one's own; what the terminal showed. It has to succeed."""
    words = shlex.split(command)
    assert words[-2:] == ["--reason", "why"], command
    person, device = pty.openpty()
    try:
        with subprocess.Popen(
            [*words[:-1], reason], stdin=device, stdout=device, stderr=device, cwd=cwd, env=env
        ) as ran:
            os.close(device)
            shown = _answered(person)
            code = ran.wait(BOUND_S)
    finally:
        os.close(person)
    # After it another question may be open, which its code says.
    assert code in (0, 3) and "answered: " in shown, f"{command} ended with {code}: {shown}"
    return shown


def _answered(person: int) -> str:
    """What is shown until the program ends; the name it asks for is typed."""
    shown, typed = "", False
    while data := _read(person):
        shown += data.decode("utf-8", "replace").replace("\r\n", "\n")
        if not typed and (asked := _ASKED.search(shown)):
            os.write(person, asked[1].encode() + b"\n")
            typed = True
    return shown


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65_536)
    except OSError:
        # Linux says so when the last writer of a terminal closed it.
        return b""
