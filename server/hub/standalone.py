"""A connection that runs by itself: the server without a socket, in the process of the connector."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
import threading
from pathlib import Path

from ..connector.connector import Feed, drain
from .hub import Hub


def alone(kind: str, feed: Feed, stdout: int) -> int:
    """Serve one client on the standard streams in this process; the exit code."""
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    mine, theirs = socket.socketpair()
    out = threading.Thread(target=drain, args=(theirs, stdout), name="phasekeeper-stdout", daemon=True)
    out.start()
    feed.to(theirs)
    code = asyncio.run(_serve(kind, mine))
    out.join()
    return code


async def _serve(kind: str, sock: socket.socket) -> int:
    hub = Hub(asyncio.get_running_loop())
    try:
        return await hub.serve(kind, _folder(), sock)
    finally:
        await hub.stop()


def _folder() -> Path:
    """The folder that the client started this in."""
    try:
        return Path.cwd()
    except OSError:
        return Path(os.path.expanduser("~"))  # noqa: PTH111
