"""A socket as the two ends that front ends read and write, with bounds that keep one client from filling
the server's memory: a line that is too long ends its connection, and so does not reading what is sent."""

from __future__ import annotations

import asyncio
import logging
import socket

LONGEST = 64 * 2**20
"""Bytes of one line, and half of those read ahead."""
MOST_UNREAD = 64 * 2**20
"""Bytes that wait for a client that does not read."""
_BUFFER = 2**20

_log = logging.getLogger(__name__)


class BoundedWriter(asyncio.StreamWriter):
    """A writer that gives up on a client that reads nothing while `MOST_UNREAD` bytes wait for it."""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self.transport.is_closing():
            return
        super().write(data)
        if self.transport.get_write_buffer_size() > MOST_UNREAD:
            _log.warning("a client that reads nothing was ended")
            self.transport.abort()


async def opened(sock: socket.socket) -> tuple[asyncio.StreamReader, BoundedWriter]:
    """The two ends of a connected socket."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=LONGEST, loop=loop)
    protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
    sock.setblocking(False)
    transport, _ = await loop.connect_accepted_socket(lambda: protocol, sock)
    writer = BoundedWriter(transport, protocol, reader, loop)
    transport.set_write_buffer_limits(high=_BUFFER)
    return reader, writer
