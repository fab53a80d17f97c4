"""A pager between a command and a terminal, as git has one: what is longer than the screen is scrolled."""

from __future__ import annotations

import io
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

PAGER = ("PHASEKEEPER_PAGER", "PAGER")
"""Variables that name the program, the first that is set; an empty one or `cat` means none."""
# Of less: end when all fits on the screen, keep colours, leave the text on the screen.
_LESS = "FRX"


class PagedOutput(io.TextIOWrapper):
    """Standard output that a pager shows: a terminal to who prints, even once its reader has seen enough."""

    def isatty(self) -> bool:
        return True

    def write(self, text: str, /) -> int:
        with suppress(BrokenPipeError):
            super().write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(BrokenPipeError):
            super().flush()


def pager_command() -> list[str]:
    """The pager and its arguments; none where nobody wants one or there is none."""
    named = next((os.environ[name] for name in PAGER if name in os.environ), "less")
    words = shlex.split(named)
    return words if words and words[0] != "cat" and shutil.which(words[0]) else []


@contextmanager
def paged_output() -> Iterator[None]:
    """Have what is printed on a terminal go through the pager, which is waited for, if there is one."""
    stdout = sys.stdout
    command = pager_command() if stdout.isatty() and sys.stdin.isatty() else []
    if not command:
        yield
        return
    environment = {"LESS": _LESS, **os.environ}
    try:
        pager = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment)
    except OSError:
        yield
        return
    assert pager.stdin is not None
    out = PagedOutput(pager.stdin, encoding=stdout.encoding, errors="replace", line_buffering=False)
    sys.stdout = out
    try:
        yield
    finally:
        sys.stdout = stdout
        with suppress(OSError):
            out.close()
        while True:
            # Ctrl-C is the pager's while it has the terminal.
            with suppress(KeyboardInterrupt):
                pager.wait()
                break
