"""Streamable HTTP for this machine alone: loopback, with Host and Origin checks and a bearer token."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings

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
        if scope["type"] == "lifespan" or self._known(scope):
            return await self._app(scope, receive, send)
        if scope["type"] != "http":
            return None
        headers = [(b"www-authenticate", b'Bearer realm="phasekeeper"'), (b"content-length", b"0")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        return await send({"type": "http.response.body", "body": b""})

    def _known(self, scope: Scope) -> bool:
        given = [value for name, value in scope.get("headers", ()) if name.lower() == b"authorization"]
        if scope["type"] != "http" or len(given) != 1:
            return False
        kind, _, brought = given[0].partition(b" ")
        return kind.lower() == b"bearer" and hmac.compare_digest(brought.strip(), self._token)
