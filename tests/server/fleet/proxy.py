"""A proxy before a server of NATS that cuts the line, and keeps what was published to replay it."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress

_PUBLISH = re.compile(rb"HPUB (\$KV\.\S+) (\S+) (\d+) (\d+)\r\n")
_CHUNK = 1 << 16


class Proxy:
    """Passes bytes between clients and the server at `port` until it is cut."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._lines: set[asyncio.StreamWriter] = set()
        self._listener: asyncio.Server | None = None
        self._is_cut = False
        self.published: list[bytes] = []
        """Every write to a bucket that passed, as it went over the line."""

    async def open(self) -> str:
        """The URL under which clients have the server."""
        self._listener = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return f"nats://127.0.0.1:{self._listener.sockets[0].getsockname()[1]}"

    def cut(self) -> None:
        """End every connection, and let none through from now on."""
        self._is_cut = True
        for line in tuple(self._lines):
            line.transport.abort()

    def mend(self) -> None:
        self._is_cut = False

    async def close(self) -> None:
        self.cut()
        if self._listener:
            self._listener.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if self._is_cut:
                return
            server_reader, server = await asyncio.open_connection("127.0.0.1", self._port)
            self._lines |= {writer, server}
            await asyncio.wait(
                [
                    asyncio.ensure_future(self._pump(reader, server, bytearray())),
                    asyncio.ensure_future(self._pump(server_reader, writer, None)),
                ],
                return_when=asyncio.FIRST_COMPLETED,
            )
            server.transport.abort()
        except OSError:
            pass
        finally:
            writer.transport.abort()
            self._lines -= {writer}

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, kept: bytearray | None
    ) -> None:
        with suppress(OSError):
            while data := await reader.read(_CHUNK):
                if kept is not None:
                    kept += data
                    self._keep_published(kept)
                writer.write(data)
                await writer.drain()

    def _keep_published(self, kept: bytearray) -> None:
        """Take whole publishes out of what was sent, and forget what stands before the last begun one."""
        while match := _PUBLISH.search(kept):
            end = match.end() + int(match[4]) + 2
            if len(kept) < end:
                return
            self.published.append(bytes(kept[match.start() : end]))
            del kept[:end]
        del kept[: max(0, len(kept) - 512)]


async def replay(port: int, published: list[bytes]) -> None:
    """Send writes to the server once more, byte for byte, and return when it has taken them in."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b'CONNECT {"verbose":false,"pedantic":false,"headers":true,"no_responders":true}\r\n')
    writer.write(b"".join(published) + b"PING\r\n")
    await writer.drain()
    while (line := await reader.readline()) != b"PONG\r\n":
        assert line and not line.startswith(b"-ERR"), line
    writer.close()
