"""The system's services for the server's own process: a log file, signals, memory.

The log is at most two files of a bounded size, in the user's folder for application state.
"""

from __future__ import annotations

import asyncio
import ctypes
import logging
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path

import platformdirs

from ...orchestration.sanitize import plain

_MAX_LOG_BYTES = 2**20
_MAX_MESSAGE = 2_000
"""Characters of one message."""
_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_LARGE_BLOCK = 1 << 20
_M_MMAP_THRESHOLD = -3
"""Of glibc's malloc.h."""


def log_path() -> Path:
    """`server.log` in the user's folder for application state."""
    return platformdirs.user_state_path("phasekeeper", appauthor=False) / "server.log"


def log_to_file(*, redirect_output: bool) -> None:
    """Log to the file; with `redirect_output` whatever the process prints goes there, too.

    Without a file nothing is logged: a server is not kept from running by a full disk.
    """
    try:
        handler: logging.Handler = _PrivateLogFile(log_path(), redirect_output)
    except OSError:
        handler = logging.NullHandler()
    handler.setFormatter(_OneLineFormatter(_FORMAT))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])


class _OneLineFormatter(logging.Formatter):
    """One line a message: what a path or a client says in it cannot look like another entry."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        record.message = plain(record.message, _MAX_MESSAGE)
        return super().formatMessage(record)


class _PrivateLogFile(RotatingFileHandler):
    """A log file only this user can read."""

    def __init__(self, path: Path, redirect_output: bool) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._redirect_output = redirect_output
        super().__init__(path, maxBytes=_MAX_LOG_BYTES, backupCount=1, encoding="utf-8", errors="replace")

    def _open(self) -> TextIOWrapper:
        stream = super()._open()
        os.chmod(self.baseFilename, 0o600)  # noqa: PTH101
        if self._redirect_output:
            os.dup2(stream.fileno(), 1)
            os.dup2(stream.fileno(), 2)
        return stream


def on_termination(loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
    """Call `callback` on the loop on SIGTERM and SIGINT, instead of ending the process."""
    for number in (signal.SIGTERM, signal.SIGINT):
        try:
            loop.add_signal_handler(number, callback)
        except NotImplementedError:
            # Windows: no loop hears signals there; Ctrl-C and Ctrl-Break reach the main thread.
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(callback))


def return_large_blocks() -> bool:
    """Have malloc return blocks of a mebibyte and more to the system when they are freed; whether it will.

    glibc does so at first, but each one that goes has it keep all up to that size from then on: once a board
    of 10,000 runs was written, the process stayed 60 MiB larger. Other C libraries need not be told.
    """
    if sys.platform != "linux":
        return False
    with suppress(OSError, AttributeError):
        return bool(ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE_BLOCK))
    return False


def resident_bytes() -> int | None:
    """Bytes of this process in memory, where the system says."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return None
