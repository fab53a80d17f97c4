"""Assistants, and the page of runs in a browser, over HTTP on this machine's loopback.

The token is made once and kept, so that what is configured with it goes on working.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import socket
import stat
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs

from ..connector.address import reason
from ..workspace.roots import UsageError

if TYPE_CHECKING:
    import uvicorn

    from .hub import Hub

_log = logging.getLogger(__name__)

_POLL_S = 0.01
_STOP_S = 2
_MIN_TOKEN = 16


@asynccontextmanager
async def serve_http(hub: Hub, port: int) -> AsyncIterator[tuple[str, str]]:
    """Serve assistants and browsers on a port, 0 for any, while the context lasts.

    Gives a sentence for each that says where; that for browsers has a link which lets one in once.

    A server has one such port at most. Raises UsageError when that cannot be. At the end requests that are
    under way are given a moment.
    """
    if "http" in hub.about:
        raise UsageError(f"assistants are served at {hub.about['http']} already")
    token, path = load_token()
    sock = _bind(port)
    port = sock.getsockname()[1]
    hub.about["http"] = url = f"http://127.0.0.1:{port}/mcp"

    def on_end(work: asyncio.Task[None]) -> None:
        # Nobody is served any more, whatever the reason is.
        hub.about.pop("http", None)
        if not work.cancelled() and (error := work.exception()) is not None:
            _log.error("serving assistants over HTTP ended", exc_info=error)

    try:
        app = (await hub.assistants()).http_app(port, token)
        page = await hub.page(port, token, app)
        server = await asyncio.to_thread(_make_server, page)
        serving = asyncio.ensure_future(server.serve(sockets=[sock]))
        serving.add_done_callback(on_end)
        while not (server.started or serving.done()):
            await asyncio.sleep(_POLL_S)
        if serving.done():
            await serving
            raise RuntimeError("it ended at once")
    except BaseException as error:
        sock.close()
        hub.about.pop("http", None)
        if not isinstance(error, Exception):
            raise
        _log.exception("assistants could not be served over HTTP")
        why = f"{type(error).__name__}: {error}; `phasekeeper doctor` says where the log is"
        raise UsageError(f"assistants cannot be served at {url}, {why}") from None
    try:
        link = f"http://127.0.0.1:{port}/#{page.sessions.new_ticket()}"
        yield f"assistants reach {url} with the bearer token in {path}", f"a browser is let in once: {link}"
    finally:
        page.close()
        server.should_exit = True
        # How it ended was told when it did.
        await asyncio.wait([serving])


def _make_server(app: object) -> uvicorn.Server:
    """uvicorn, which leaves the process' signals and logs alone."""
    import uvicorn

    class QuietServer(uvicorn.Server):
        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

    settings = uvicorn.Config(
        app,  # pyright: ignore[reportArgumentType]
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_STOP_S,
    )
    settings.load()
    return QuietServer(settings)


def _bind(port: int) -> socket.socket:
    sock = socket.socket(socket.AF_INET)
    if os.name == "posix":
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind(("127.0.0.1", port))
        # Who is told the address before the server is up waits, and is not refused.
        sock.listen()
    except (OSError, OverflowError, TypeError) as error:
        sock.close()
        why = (getattr(error, "strerror", None) or str(error)).lower()
        raise UsageError(f"port {port} of 127.0.0.1 cannot be used: {why}; name another one") from None
    return sock


def load_token() -> tuple[str, Path]:
    """The token and its file, `http.token` in the user's folder for application state.

    Made where there is none. Raises UsageError for one that others could know.
    """
    path = platformdirs.user_state_path("phasekeeper", appauthor=False) / "http.token"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileExistsError):
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="ascii") as file:
                file.write(secrets.token_urlsafe(32) + "\n")
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        with os.fdopen(descriptor, encoding="ascii", errors="replace") as file:
            status, token = os.fstat(file.fileno()), file.read(1024).strip()
    except OSError as error:
        raise UsageError(f"{path} cannot be used: {reason(error)}") from None
    is_open = os.name == "posix" and (status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o077)
    if is_open or len(token) < _MIN_TOKEN:
        raise UsageError(f"{path} is open to others or too short; remove it, and a new one is made")
    return token, path
