"""Messages of one line each over a byte stream, as the SDK's stdio transport takes them."""

from __future__ import annotations

import asyncio
import logging

_log = logging.getLogger(__name__)

LINE_LIMIT = 4 << 20
"""Bytes of one message; a connection that sends a longer one is ended."""


class Lines:
    """What a client sends, line by line; it ends at the end of the stream and at a line that is too long."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader

    def __aiter__(self) -> Lines:
        return self

    async def __anext__(self) -> str:
        while True:
            try:
                line = await self._reader.readline()
            except (ValueError, ConnectionError) as error:
                _log.warning("an assistant's connection ended: %s", error)
                raise StopAsyncIteration from None
            if not line or len(line) > LINE_LIMIT:
                raise StopAsyncIteration
            if text := line.decode("utf-8", "replace").strip():
                return text


class Sink:
    """Where answers go. Once the client is gone they go nowhere."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def write(self, text: str) -> None:
        if not self._writer.is_closing():
            self._writer.write(text.encode("utf-8", "backslashreplace"))

    async def flush(self) -> None:
        try:
            await self._writer.drain()
        except ConnectionError as error:
            _log.info("an assistant went away: %s", error)
