"""What clients are served over: lines on a byte stream, and Streamable HTTP for this machine alone.

HTTP is on loopback, with checks of Host and Origin and a bearer token.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings

_log = logging.getLogger(__name__)

LINE_LIMIT = 4 << 20
"""Bytes of one message; a connection that sends a longer one is ended."""
BODY_LIMIT = 1 << 20
"""Bytes of one request."""
MOST_SESSIONS = 1_000
SESSION_IDLE_S = 1_800.0

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


def secured_app(server: Server[Any], port: int, token: str) -> App:
    """The ASGI application of a server at `/mcp`, for 127.0.0.1:`port`. Every request needs `token`."""
    if len(token) < 16:
        raise ValueError("a token needs at least 16 characters")
    names = ("127.0.0.1", "localhost", "[::1]")
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[f"{name}:{port}" for name in names],
        allowed_origins=[f"http://{name}:{port}" for name in names],
    )
    app = server.streamable_http_app(
        transport_security=security,
        max_request_body_size=BODY_LIMIT,
        max_sessions=MOST_SESSIONS,
        session_idle_timeout=SESSION_IDLE_S,
    )
    return _Bearer(app, token)


class _Bearer:
    """Lets nobody through who does not bring the token; the answer does not say what was wrong with it."""

    def __init__(self, app: App, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or self._has_token(scope):
            return await self._app(scope, receive, send)
        if scope["type"] != "http":
            return None
        headers = [(b"www-authenticate", b'Bearer realm="phasekeeper"'), (b"content-length", b"0")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        return await send({"type": "http.response.body", "body": b""})

    def _has_token(self, scope: Scope) -> bool:
        headers = [value for name, value in scope.get("headers", ()) if name.lower() == b"authorization"]
        if scope["type"] != "http" or len(headers) != 1:
            return False
        scheme, _, token = headers[0].partition(b" ")
        return scheme.lower() == b"bearer" and hmac.compare_digest(token.strip(), self._token)


class LineReader:
    """The messages of a client, one a line; it ends with the stream and at a line that is too long."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader

    def __aiter__(self) -> LineReader:
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


class LineWriter:
    """Writes messages to a client; what is written once it is gone is dropped."""

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
