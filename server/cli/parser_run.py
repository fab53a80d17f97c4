"""The arguments of what runs for long: the server, its connections, and what tells of them."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

_SERVE = """\
Watches the roots and shows their runs, drawn again when something changed; in
a pipe a line for each change. One server a user serves all editors and
assistants. Where one runs already, this looks through it; it takes its place
when it ends.

exit codes: 0 ended by Ctrl-C, 2 wrong use
"""
_CONNECT = """\
This is what {who} starts. It speaks {protocol} on its standard streams
through the server of this user, which is started when there is none; without
one it runs by itself and says so. PHASEKEEPER_WAIT_S is how many seconds are
waited for the server (default: 2).

exit codes: 0, 1 the server ended before its client
"""
_DOCTOR = """\
The server, its clients and roots, what is watched and found, the folders and
their permissions, versions; and what is wrong, with the command that mends it.

exit codes: 0 nothing is wrong, 1 something is
"""


def add_running(commands: Any, command: Callable[..., argparse.ArgumentParser]) -> None:
    """Add `serve`, `lsp`, `mcp` and `doctor`."""
    serve = command(commands, "serve", "the server, with a live view of the runs", _SERVE)
    serve.add_argument("roots", nargs="*", type=Path, metavar="ROOT", help="folders of work (default: .)")
    _standalone(serve)
    http = "serve assistants over HTTP on this machine, too (default port: 7425)"
    serve.add_argument("--http", nargs="?", type=_port, const=7425, metavar="PORT", help=http)
    journal = "record report files in the journals as they appear"
    serve.add_argument("--journal", action="store_true", help=journal)
    serve.add_argument("--stop", action="store_true", help="end the server that runs")
    serve.add_argument("--background", action="store_true", help=argparse.SUPPRESS)
    for name, who, protocol in (("lsp", "an editor", "LSP"), ("mcp", "a coding assistant", "MCP")):
        about = f"the connection of {who} ({protocol} on stdin and stdout)"
        connect = command(commands, name, about, _CONNECT.format(who=who, protocol=protocol))
        _standalone(connect)
        connect.add_argument("--stdio", action="store_true", help=argparse.SUPPRESS)
    doctor = command(commands, "doctor", "what runs, what is watched and found, and what is wrong", _DOCTOR)
    doctor.add_argument("--json", action="store_true", help="the answer as JSON")


def _standalone(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--standalone", action="store_true", help="in this process alone, without a socket")


def _port(text: str) -> int:
    port = int(text) if text.isascii() and text.isdecimal() and len(text) < 9 else -1
    if not 0 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port, which is a number from 0 to 65535")
    return port
