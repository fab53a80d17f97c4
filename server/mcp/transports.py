"""The transports of clients: lines on a byte stream, and Streamable HTTP for this machine alone.

HTTP is on loopback, with checks of Host and Origin and a bearer token.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import ValidationError

from ..loopback import loopback_hosts, loopback_origins

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
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=loopback_hosts(port),
        allowed_origins=loopback_origins(port),
    )
    app = server.streamable_http_app(
        transport_security=security,
        max_request_body_size=BODY_LIMIT,
        max_sessions=MOST_SESSIONS,
        session_idle_timeout=SESSION_IDLE_S,
    )

    async def bearer(scope: Scope, receive: Receive, send: Send) -> None:
        """Let nobody through without the token; the answer does not say what is wrong with the one sent."""
        if scope["type"] == "lifespan":
            return await app(scope, receive, send)
        if scope["type"] != "http":
            return None
        sent = [value for name, value in scope.get("headers", ()) if name.lower() == b"authorization"]
        scheme, _, credentials = sent[0].partition(b" ") if len(sent) == 1 else (b"", b"", b"")
        if scheme.lower() == b"bearer" and hmac.compare_digest(credentials.strip(), token.encode()):
            return await app(scope, receive, send)
        headers = [(b"www-authenticate", b'Bearer realm="phasekeeper"'), (b"content-length", b"0")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        return await send({"type": "http.response.body", "body": b""})

    return bearer


async def read_lines(
    reader: asyncio.StreamReader, answer: Callable[[str], Awaitable[None]] | None = None
) -> AsyncIterator[str]:
    """The messages of a client, one a line; they end with the stream and at a line that is too long.

    A line that is no message is answered with the error that JSON-RPC 2.0 (section 5.1) has for it, by
    `answer`: the SDK would drop it, and the client wait for ever.
    """
    try:
        while (line := await reader.readline()) and len(line) <= LINE_LIMIT:
            text = line.decode("utf-8", "replace").strip()
            if text and (error := message_error(text)) and answer:
                await answer(error)
            elif text:
                yield text
    except (ValueError, ConnectionError) as error:
        _log.warning("an assistant's connection ended: %s", error)


def message_error(text: str) -> str:
    """The answer to a line that is no message of JSON-RPC 2.0, ready to be sent; "" for one that is.

    Its id is that of the request where it can be read, else null.
    """
    try:
        message = types.jsonrpc_message_adapter.validate_json(text, by_name=False)
        if not isinstance(message, types.JSONRPCNotification) or '"id"' not in text:
            return ""
    except ValidationError as error:
        if any(each["type"] == "json_invalid" for each in error.errors(include_input=False)):
            return _error_line(None, types.PARSE_ERROR, "this line is no JSON, or is nested too deeply")
    request = json.loads(text)
    named = request.get("id") if isinstance(request, dict) else None
    if isinstance(request, dict) and "id" in request and named is None and "method" in request:
        return _error_line(None, types.INVALID_REQUEST, "the id of a request is a text or a number, not null")
    if isinstance(request, dict) and "id" not in request and "method" in request:
        # A notification; a member of its parameters has that name.
        return ""
    given = named if isinstance(named, (str, int)) and not isinstance(named, bool) else None
    what = "this is no request, notification or response of JSON-RPC 2.0"
    return _error_line(given, types.INVALID_REQUEST, what)


def _error_line(request: str | int | None, code: int, message: str) -> str:
    fault = {"code": code, "message": message}
    return json.dumps({"jsonrpc": "2.0", "id": request, "error": fault}) + "\n"


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
