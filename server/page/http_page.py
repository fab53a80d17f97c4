"""The page of runs for a browser of this machine: an ASGI application that reads, and never writes.

    GET  /                  the page itself, without anything of a workspace in it
    GET  /page/page.js, /page/page.css
    POST /page/session      a ticket or the token in the body; 204 with the cookie of a session
    GET  /page/runs         {roots: [{root, runs, more}]}
    GET  /page/run          ?root=&run=: `rendering/run_page.py`, 404 where it is not there
    GET  /page/events       server-sent events: {root, runs} whenever runs of a root differ

Only roots that people have the server serve are shown. Each request names a host of this machine; one of
another origin, or that a browser says another site made, is refused before anything else is looked at.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs

from ...orchestration.rendering.run_page import run_line
from ..live.boards import RootBoard
from ..live.engine import Engine
from ..loopback import loopback_hosts, loopback_origins
from ..workspace.roots import UsageError
from .browser_sessions import BrowserSessions
from .change_stream import ChangeStream
from .run_page_reader import read_run_page

MOST_RUNS = 200
"""Runs of a root in a list, those that wait for a person first."""
MOST_STREAMS = 64
MOST_SECRET = 1_024
"""Bytes of what is exchanged for a session."""
_READERS = 2
"""Pages made at one time."""
_ASSETS = {
    "/": ("page.html", "text/html"),
    "/page/page.js": ("page.js", "text/javascript"),
    "/page/page.css": ("page.css", "text/css"),
}
_HEADERS: Mapping[str, str] = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}

_log = logging.getLogger(__name__)

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class HttpResponse(NamedTuple):
    status: int
    body: bytes = b""
    kind: str = "text/plain"
    headers: Mapping[str, str] = {}


class HttpPage:
    """The page over an engine, in front of the application `otherwise`. It belongs to the engine's loop."""

    def __init__(
        self,
        engine: Engine,
        served_roots: Callable[[], Iterable[Path]],
        port: int,
        token: str,
        otherwise: App,
    ) -> None:
        self.sessions = BrowserSessions(token, port)
        self._engine = engine
        self._served_roots = served_roots
        self._hosts, self._origins = loopback_hosts(port), loopback_origins(port)
        self._otherwise = otherwise
        self._streams: set[ChangeStream] = set()
        self._reading = asyncio.Semaphore(_READERS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        if scope["type"] != "http" or not (path == "/" or path.startswith("/page/")):
            await self._otherwise(scope, receive, send)
            return
        request = _Request.of(scope)
        refused = self._refusal(request)
        if refused is None and request.path == "/page/events":
            await self._stream(receive, send)
            return
        try:
            answer = refused or await self._answer(request, receive)
        except UsageError as error:
            answer = HttpResponse(404, str(error).encode())
        except Exception:
            _log.exception("%s could not be answered", path)
            answer = HttpResponse(500, b"this could not be answered; the server's log says why")
        await _respond(send, answer, with_body=request.method != "HEAD")

    def close(self) -> None:
        """End all streams of changes, so that no browser keeps the server."""
        for stream in self._streams:
            stream.end()

    # ---- who asks

    def _refusal(self, request: _Request) -> HttpResponse | None:
        """Why a request is not answered at all, the outer reasons first."""
        if request.single("host") not in self._hosts:
            return HttpResponse(421, b"this is no host of this machine")
        origin, is_exchange = request.single("origin"), request.path == "/page/session"
        if origin not in self._origins and (origin is not None or is_exchange):
            return HttpResponse(403, b"this is another origin")
        if request.path in _ASSETS:
            return None if request.method in ("GET", "HEAD") else _WRONG_METHOD
        if request.single("sec-fetch-site") not in (None, "same-origin", "none"):
            return HttpResponse(403, b"another site asks")
        if is_exchange:
            return None if request.method == "POST" else _WRONG_METHOD
        if not self.sessions.is_open(request.single("cookie") or ""):
            return HttpResponse(
                401, b"no session: use the link that `phasekeeper serve --http` shows, or its token"
            )
        return None if request.method in ("GET", "HEAD") else _WRONG_METHOD

    # ---- answers

    async def _answer(self, request: _Request, receive: Receive) -> HttpResponse:
        if request.path in _ASSETS:
            name, kind = _ASSETS[request.path]
            return HttpResponse(200, await asyncio.to_thread(_asset, name), kind)
        if request.path == "/page/session":
            cookie = self.sessions.exchange(await _short_body(receive))
            return (
                HttpResponse(204, headers={"set-cookie": cookie})
                if cookie
                else HttpResponse(401, b"this lets nobody in")
            )
        if request.path == "/page/runs":
            boards = [self._engine.board(root) for root in self._open_roots()]
            return _json_answer(await asyncio.to_thread(_runs, boards))
        if request.path == "/page/run":
            return await self._run(request.query)
        return HttpResponse(404, b"there is no such page")

    async def _run(self, query: Mapping[str, str]) -> HttpResponse:
        run = query.get("run", "")
        root = next((root for root in self._open_roots() if str(root) == query.get("root")), None)
        if root is None:
            return HttpResponse(
                404, b"this root is not served: `phasekeeper serve FOLDER --http PORT` serves one"
            )
        await self._engine.look_again(root, run)
        if run not in self._engine.board(root).runs:
            return HttpResponse(404, b"this run is not there any more")
        async with self._reading:
            data = await asyncio.to_thread(read_run_page, root, run)
        return _json_answer(data) if data else HttpResponse(404, b"this run is not there any more")

    def _open_roots(self) -> list[Path]:
        """The served roots in order, as far as they are open."""
        opened = {board.root for board in self._engine.boards()}
        return sorted(opened.intersection(self._served_roots()))

    async def _stream(self, receive: Receive, send: Send) -> None:
        if len(self._streams) >= MOST_STREAMS:
            await _respond(send, HttpResponse(503, b"too many pages are open"))
            return
        stream = ChangeStream(self._engine, self._open_roots)
        self._streams.add(stream)
        try:
            headers = _raw_headers({**_HEADERS, "content-type": "text/event-stream"})
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            async for event in stream.events(receive):
                await send({"type": "http.response.body", "body": event, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        except OSError:
            # The browser went; an ASGI server says so when something is sent.
            _log.debug("a page was closed")
        finally:
            self._streams.discard(stream)


_WRONG_METHOD = HttpResponse(405, b"this page is read-only")


class _Request(NamedTuple):
    method: str
    path: str
    query: Mapping[str, str]
    headers: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, scope: Scope) -> _Request:
        pairs = ((name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"])
        text = scope.get("query_string", b"").decode("latin-1")
        query = {name: values[0] for name, values in parse_qs(text, max_num_fields=8).items()}
        return cls(
            scope["method"], scope["path"], query, tuple((name.lower(), value) for name, value in pairs)
        )

    def single(self, name: str) -> str | None:
        """A header that stands there once; one that is there twice says nothing that can be believed."""
        values = [value for each, value in self.headers if each == name]
        return None if not values else values[0] if len(values) == 1 else ""


@cache
def _asset(name: str) -> bytes:
    return Path(__file__).with_name("assets").joinpath(name).read_bytes()


def _runs(boards: Iterable[RootBoard]) -> dict[str, Any]:
    roots: list[dict[str, Any]] = []
    for board in boards:
        lines = sorted(map(run_line, board.runs.values()), key=lambda line: (line["rank"], line["run"]))
        more = max(len(lines) - MOST_RUNS, 0)
        roots.append({"root": str(board.root), "runs": lines[:MOST_RUNS], "more": more})
    return {"roots": roots}


def _json_answer(data: Mapping[str, Any]) -> HttpResponse:
    return HttpResponse(
        200, json.dumps(data, ensure_ascii=False).encode("utf-8", "replace"), "application/json"
    )


async def _short_body(receive: Receive) -> str:
    """The body of a request, "" where it is longer than any secret."""
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > MOST_SECRET:
            return ""
        if not message.get("more_body"):
            return body.decode("utf-8", "replace").strip()


async def _respond(send: Send, answer: HttpResponse, *, with_body: bool = True) -> None:
    kind = {"content-type": f"{answer.kind}; charset=utf-8"} if answer.body else {}
    length = {"content-length": str(len(answer.body))} if answer.status != 204 else {}
    headers = _raw_headers({**_HEADERS, **kind, **length, **answer.headers})
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body if with_body else b""})


def _raw_headers(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in headers.items()]
