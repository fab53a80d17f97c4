"""`phasekeeper serve`: the server and a live view of some roots, until Ctrl-C.

The view is always a client: of the server in this process, or of the one that runs already. When that one
ends, this process takes its place.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import time
from argparse import Namespace
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...connector.address import ServerAddress, find_address, try_lock
from ...connector.connector import interpreter
from ...connector.handshake import RESTART, STOP, Greeting, GreetingRefused, ask, listen, open_connection
from ...connector.other_servers import other_servers
from ...hub.entry_points import hung_server, take_server_lock
from ...hub.hub import Hub
from ...hub.process import log_to_file, on_termination
from ...hub.sockets import MAX_LINE
from ...terminal.drawn_screen import screen_for
from ...terminal.screen_keys import ScreenKeys
from ...version import VERSION
from ...workspace.roots import UsageError

_STOP_S = 10.0
_POLL_S = 0.02


def serve(options: Namespace) -> int:
    """Serve and show until Ctrl-C (0), or until what was asked for turns out wrong (2)."""
    if options.stop:
        return stop()
    roots = options.roots or [Path()]
    for root in roots:
        if not root.exists():
            raise UsageError(f"{str(root)!r} does not exist or cannot be opened.")
    log_to_file(redirect_output=False)
    # The server looks for the root around each path; its current folder is another.
    whole = [str(root.resolve()) for root in roots]
    request = {"roots": whole, "journal": options.journal, "http": options.http}
    try:
        return asyncio.run(_Serve(request, standalone=options.standalone).run())
    except BrokenPipeError:
        raise
    except OSError as error:
        raise UsageError(f"{error}; `phasekeeper serve --standalone` needs no socket") from None


def stop() -> int:
    """End the servers of this user that run, those of other releases too; 0."""
    try:
        address = find_address()
    except OSError as error:
        raise UsageError(str(error)) from None
    ended = [_stop_one(each) for each in (address, *other_servers(address))]
    sys.stdout.write("".join(ended) or "no server runs\n")
    return 0


def _stop_one(address: ServerAddress) -> str:
    """The line that a server ended; "" where none runs. Raises UsageError for one that does not end."""
    try:
        said = json.loads(ask(address, Greeting(STOP, "/", VERSION), _STOP_S))
    except OSError:
        if not _has_ended(address):
            raise UsageError(hung_server(address)) from None
        return ""
    except GreetingRefused as error:
        raise UsageError(f"the server does not end: {error}") from None
    # 0.1.0 answers with the number alone.
    pid = said["pid"] if isinstance(said, dict) else said
    if not _has_ended(address):
        raise UsageError(f"the server (process {pid}) is told to end and still finishes something")
    return f"the server (process {pid}) ended\n"


def _has_ended(address: ServerAddress) -> bool:
    """True when no server is left; one that is ending is waited for."""
    until = time.monotonic() + _STOP_S
    while (lock := try_lock(address.lock)) is None and time.monotonic() < until:
        time.sleep(_POLL_S)
    if lock is not None:
        os.close(lock)
    return lock is not None


class _Serve:
    """The command while it runs."""

    def __init__(self, request: Mapping[str, Any], *, standalone: bool) -> None:
        self._request = request
        self._standalone = standalone
        self._end = asyncio.Event()
        self._screen = screen_for(sys.stdout, request["roots"])
        command = (*interpreter(), "-m", "phasekeeper")
        self._keys = ScreenKeys(self._screen, sys.stdin, command, self._end.set)

    async def run(self) -> int:
        on_termination(asyncio.get_running_loop(), self._keys.interrupt)
        ending = asyncio.ensure_future(self._end.wait())
        code: int | None = None
        with self._screen, self._keys.listen():
            while code is None and not ending.done():
                view = asyncio.ensure_future(self._once())
                await asyncio.wait([view, ending], return_when=asyncio.FIRST_COMPLETED)
                view.cancel()
                with suppress(asyncio.CancelledError):
                    code = await view
        ending.cancel()
        return code or 0

    async def _once(self) -> int | None:
        """Serve and look, or join and look; None when the server that was joined is gone."""
        if self._standalone:
            hub = Hub(asyncio.get_running_loop(), has_cache=True)
            mine, theirs = socket.socketpair()
            return await self._look_at_own(hub, _alone(hub, theirs), mine)
        address = find_address()
        lock = await asyncio.to_thread(take_server_lock, address, self._end.is_set)
        if lock is None:
            try:
                return await self._look(await asyncio.to_thread(_reach, address), own=False)
            except TimeoutError:
                raise TimeoutError(hung_server(address)) from None
            except GreetingRefused as error:
                if str(error) != RESTART:
                    raise UsageError(f"the server refused: {error}") from None
            except OSError:
                # It has just ended.
                pass
            await asyncio.sleep(_POLL_S)
            return None
        try:
            hub = Hub(asyncio.get_running_loop(), has_cache=True)
            return await self._look_at_own(hub, hub.listen(address, lock, *listen(address)), address)
        finally:
            os.close(lock)

    async def _look_at_own(
        self, hub: Hub, work: Coroutine[Any, Any, None], to: ServerAddress | socket.socket
    ) -> int:
        """Look at the server of this process until it ends or the view does; then both have ended."""
        working = asyncio.ensure_future(work)
        try:
            sock = await asyncio.to_thread(_reach, to) if isinstance(to, ServerAddress) else to
            return await self._look(sock, own=True) or 0
        finally:
            hub.stopping.set()
            await working

    async def _look(self, sock: socket.socket, *, own: bool) -> int | None:
        """Show what the server says until it ends: None, or the code to end with."""
        self._screen.server(own)
        with sock:
            reader, writer = await asyncio.open_connection(sock=sock, limit=2 * MAX_LINE)
            writer.write(json.dumps(self._request).encode() + b"\n")
            while line := await _line(reader):
                if (code := self._screen.handle(json.loads(line))) is not None:
                    return code
                self._keys.refresh()
            writer.close()
        return None


async def _line(reader: asyncio.StreamReader) -> bytes:
    """The next line; b"" when the server is gone, however it went."""
    try:
        return await reader.readline()
    except ConnectionError:
        return b""


async def _alone(hub: Hub, sock: socket.socket) -> None:
    """The server without a socket, for the view alone."""
    view = asyncio.ensure_future(hub.serve(hub.add_client("view", Path("/")), sock))
    stopping = asyncio.ensure_future(hub.stopping.wait())
    await asyncio.wait([view, stopping], return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    await hub.stop()


def _reach(address: ServerAddress) -> socket.socket:
    sock, _ = open_connection(address, Greeting("view", str(Path.cwd()), VERSION), 10.0)
    return socket.socket(fileno=sock.detach())
