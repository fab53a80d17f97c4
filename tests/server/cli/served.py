"""A server that carries out commands of others, and those commands."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import signal
import socket
import struct
import subprocess
import termios
import threading
from collections.abc import Sequence
from pathlib import Path

from tests.server.servers import BOUND_S, Home

WITHOUT_ENGINE = (
    "import sys; sys.modules['phasekeeper.server.cli.parser'] = None; "
    "from phasekeeper.server.cli.main import main; sys.exit(main())"
)
"""A command line that cannot look itself."""


class Served:
    """A server of a user, and the folders that somebody has it watch."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.process = home.server()
        self._views: list[socket.socket] = []

    def watch(self, *folders: Path) -> None:
        """Have the roots of folders open until the end; returns when their runs are known."""
        view = self.home.joined("view")
        self._views.append(view)
        view.sendall(json.dumps({"roots": [*map(str, folders)]}).encode() + b"\n")
        stream = view.makefile("rb")
        while "rows" not in (said := json.loads(stream.readline())):
            assert "error" not in said, said
        stream.close()

    def end(self) -> None:
        for view in self._views:
            view.close()


def on_terminal(command: Sequence[str], folder: Path, env: dict[str, str], columns: int) -> tuple[int, bytes]:
    """(exit code, all that a command writes to its terminal)."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder, env=env, start_new_session=True
    )
    os.close(theirs)
    # What it started holds the terminal too.
    bound = threading.Timer(BOUND_S, os.killpg, (process.pid, signal.SIGKILL))
    bound.start()
    said = b""
    try:
        while chunk := os.read(ours, 65536):
            said += chunk
    except OSError:
        # Linux: nobody has the terminal open any more.
        pass
    code = process.wait()
    bound.cancel()
    os.close(ours)
    return code, said
