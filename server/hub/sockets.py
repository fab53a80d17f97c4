"""Accepted sockets: whose process is at the other end, and the streams that front ends read and write.

The streams have bounds that keep one client from filling the server's memory: a line that is too long ends
its connection, and so does not reading what is sent.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys

MAX_LINE = 64 * 2**20
"""Bytes of one line, and half of those read ahead."""
MAX_UNREAD = 64 * 2**20
"""Bytes that wait for a client that does not read."""
FREE_DESCRIPTORS = 16
"""So many no connection takes: what cannot be opened for want of one is unreadable to who evaluates."""
_BUFFER = 2**20
_SOL_LOCAL, _LOCAL_PEERCRED, _LOCAL_PEERPID = 0, 1, 2
"""Of macOS' <sys/un.h>; FreeBSD and DragonFly have the first two alike."""
_XUCRED = 256
"""Room for a `struct xucred` of any of them; the system says how much of it there is."""
_BSD = ("darwin", "freebsd", "dragonfly")

_log = logging.getLogger(__name__)


def peer_pid(sock: socket.socket) -> int | None:
    """The process at the other end of a local socket, by the system's credentials; None where it has none.

    Raises ValueError when it is another user's, and that or OSError where the system should say and does not.
    Where it never does, and for what is no local socket, others are kept out by the folder or a secret.
    """
    if sock.family != getattr(socket, "AF_UNIX", None):
        return None
    pid = None
    if sys.platform.startswith("linux"):
        # struct ucred: pid, uid, gid.
        data = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        pid, uid = _number(data, 0), _number(data, 4)
    elif sys.platform.startswith(_BSD):
        # struct xucred: version (0), uid, groups. The process has an option of its own, on macOS alone.
        data = sock.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED)
        if _number(data, 0) != 0:
            raise ValueError("the system's credentials of a user have an unknown version")
        uid = _number(data, 4)
        if sys.platform == "darwin":
            pid = _number(sock.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID, 4), 0)
    else:
        return None
    if uid != os.geteuid():
        raise ValueError(f"user {uid} is somebody else")
    return pid


def _number(data: bytes, at: int) -> int:
    if len(data) < at + 4:
        raise ValueError("the system's credentials of a user are cut short")
    return int.from_bytes(data[at : at + 4], sys.byteorder)


def descriptors_above(sock: socket.socket) -> float:
    """How many descriptors the process may have above that of a new connection, which has the lowest free
    number: about as many as are free. Infinite where there is no such limit."""
    if sys.platform == "win32":
        return float("inf")
    import resource

    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return float("inf") if limit == resource.RLIM_INFINITY else limit - sock.fileno()


class BoundedWriter(asyncio.StreamWriter):
    """A writer that gives up on a client that reads nothing while `MAX_UNREAD` bytes wait for it."""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self.transport.is_closing():
            return
        super().write(data)
        if self.transport.get_write_buffer_size() > MAX_UNREAD:
            _log.warning("a client that reads nothing was ended")
            self.transport.abort()


async def open_streams(sock: socket.socket) -> tuple[asyncio.StreamReader, BoundedWriter]:
    """The streams of a connected socket, which belongs to them from now on."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=MAX_LINE, loop=loop)
    protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
    sock.setblocking(False)
    transport, _ = await loop.connect_accepted_socket(lambda: protocol, sock)
    writer = BoundedWriter(transport, protocol, reader, loop)
    transport.set_write_buffer_limits(high=_BUFFER)
    return reader, writer
