"""The file that a server without a terminal writes to: at most two of a bounded size."""

from __future__ import annotations

import logging
import os
from logging.handlers import RotatingFileHandler
from pathlib import Path

import platformdirs

from ...orchestration.sanitize import plain

MOST_BYTES = 2**20
_MOST_SAID = 2_000
_FORM = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def path() -> Path:
    """`server.log` in the user's folder for application state."""
    return platformdirs.user_state_path("phasekeeper", appauthor=False) / "server.log"


def to_file(*, streams: bool) -> None:
    """Log to the file; with `streams` whatever the process prints goes there too. Without a file nothing
    is logged: a server is not kept from running by a full disk."""
    try:
        handler: logging.Handler = _File(path(), streams)
    except OSError:
        handler = logging.NullHandler()
    handler.setFormatter(_Lines(_FORM))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])


class _Lines(logging.Formatter):
    """One line a message: what a path or a client says in it cannot look like another entry."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        record.message = plain(record.message, _MOST_SAID)
        return super().formatMessage(record)


class _File(RotatingFileHandler):
    """A log file only this user can read."""

    def __init__(self, file: Path, streams: bool) -> None:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._streams = streams
        super().__init__(file, maxBytes=MOST_BYTES, backupCount=1, encoding="utf-8", errors="replace")
        self._claim()

    def doRollover(self) -> None:  # noqa: N802 - logging's name
        super().doRollover()
        self._claim()

    def _claim(self) -> None:
        os.chmod(self.baseFilename, 0o600)  # noqa: PTH101
        if self._streams and self.stream is not None:
            os.dup2(self.stream.fileno(), 1)
            os.dup2(self.stream.fileno(), 2)
