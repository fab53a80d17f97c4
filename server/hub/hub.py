"""The long-running server of a user: one engine, and a front end for each connection that greets it.

All of it runs on one asyncio loop; what reads files or imports much does so on threads. A connection is
known by its first line (`address.Greeting`); then its bytes are LSP, MCP or the live view's. Trust is a
connection's own: the front ends ask it of their clients, nothing is remembered here.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import logging
import os
import secrets
import socket
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..connector import address as places
from ..connector.address import Address, Greeting, Listening
from ..connector.connector import RESTART
from ..live.engine import Engine
from ..version import VERSION
from ..workspace.roots import UsageError
from .malloc import give_back_large
from .peer_credentials import peer
from .socket_streams import opened

IDLE_S = 600.0
"""A server that a connector started ends after so long without a client."""
MOST_CLIENTS = 512
"""Served at one time, and as many again that have not greeted yet. Questions are answered beside them."""
_GREETING_S = 5.0
_WARM_S = 1.0
"""The editor's front end is imported once the first client has what it needs, or after so long."""
_DRAIN_S = 5.0
"""So long a client's front end may take to end when the server does."""
_LOOK_S = 10.0
_REMEMBERED = 256

_log = logging.getLogger(__name__)


@dataclass(eq=False)
class Client:
    """One connection being served."""

    number: int
    kind: str
    folder: Path
    version: str
    pid: int | None
    since: float = field(default_factory=time.time)
    task: asyncio.Task[Any] | None = None
    ends: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    def hang_up(self) -> None:
        """Let the front end see the end of its input; what it still says is delivered."""
        if self.ends is not None:
            reader, writer = self.ends
            writer.transport.pause_reading()  # pyright: ignore[reportAttributeAccessIssue]
            reader.feed_eof()


class Hub:
    """The server, listening or not. Its methods belong to the loop."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, *, background: bool = False, idle_s: float = IDLE_S
    ) -> None:
        give_back_large()
        self.engine = Engine(loop)
        self.clients: dict[int, Client] = {}
        self.started = time.time()
        self.stopping = asyncio.Event()
        self.about: dict[str, Any] = {}
        self.named: Counter[Path] = Counter()
        """The roots that people have it serve (`phasekeeper serve ROOTS`), and by how many views."""
        self._loop = loop
        self._background = background
        self.idle_s = idle_s
        self._leaving = False
        self._served = 0
        # A connection's number is asked for when its server may be gone, and another has taken its place.
        self._mark = secrets.token_hex(8)
        self._quiet_since = loop.time()
        self._ended: dict[int, int] = {}
        self._arriving: set[asyncio.Task[Any]] = set()
        self._assistants: Any = None
        self._warm = asyncio.Event()

    # ---- one connection

    async def serve(
        self, kind: str, folder: Path, sock: socket.socket, version: str = VERSION, pid: int | None = None
    ) -> int:
        """Serve one greeted connection until it ends; its exit code. Closes the socket."""
        client = self._known(kind, folder, version, pid)
        return await self._serve(client, sock)

    def _known(self, kind: str, folder: Path, version: str, pid: int | None) -> Client:
        self._served += 1
        client = Client(self._served, kind, folder, version, pid)
        self.clients[client.number] = client
        return client

    async def _serve(self, client: Client, sock: socket.socket) -> int:
        client.task = asyncio.current_task()
        code = 1
        writer = None
        try:
            reader, writer = client.ends = await opened(sock)
            code = await _FRONTS[client.kind](self, client, reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError) as error:
            _log.info("client %d went away: %s", client.number, error)
        except Exception:
            _log.exception("client %d (%s) was ended", client.number, client.kind)
        finally:
            # Before the connection closes, so that whoever sees it closed can ask how it ended.
            self._forget(client, code)
            if writer is not None:
                writer.close()
                with suppress(OSError):
                    await asyncio.wait_for(writer.wait_closed(), _DRAIN_S)
        return code

    def _forget(self, client: Client, code: int) -> None:
        self.clients.pop(client.number, None)
        self._ended[client.number] = code
        while len(self._ended) > _REMEMBERED:
            del self._ended[next(iter(self._ended))]
        self._quiet_since = self._loop.time()
        if self._leaving and not self.clients:
            self.stopping.set()

    async def front(self, name: str) -> Any:
        """A front end's package, imported on a thread when the first client needs it."""
        return await asyncio.to_thread(importlib.import_module, f"..{name}", __package__)

    async def assistants(self) -> Any:
        """The one object that serves assistants, made for the first of them."""
        package = await self.front("mcp")
        if self._assistants is None:
            self._assistants = package.Assistants(self.engine, lambda: list(+self.named))
        return self._assistants

    def warmed(self) -> None:
        """The first client has its front end; what others may need can be imported."""
        self._warm.set()

    # ---- all connections

    async def listen(self, address: Address, lock: int, listening: Listening) -> None:
        """Serve whoever connects until `stopping` is set; then end all clients and take the socket away."""
        tasks = [
            self._loop.create_task(work)
            for work in (self._accept(listening), self._prepare(), self._look_after(address, lock))
        ]
        stop = self._loop.create_task(self.stopping.wait())
        done, _ = await asyncio.wait([stop, *tasks[::2]], return_when=asyncio.FIRST_COMPLETED)
        for task in (*tasks, stop):
            task.cancel()
        listening.socket.close()
        self._remove(address, lock)
        await self.stop()
        for task in done - {stop}:
            task.result()

    async def stop(self) -> None:
        """End all clients: their input first, then, after a while, what they still do; then the engine."""
        self.stopping.set()
        for task in self._arriving:
            task.cancel()
        for client in self.clients.values():
            client.hang_up()
        tasks = {client.task for client in self.clients.values() if client.task is not asyncio.current_task()}
        running = [task for task in tasks if task is not None]
        if running:
            _, late = await asyncio.wait(running, timeout=_DRAIN_S)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        await self.engine.stop()

    async def _accept(self, listening: Listening) -> None:
        listening.socket.setblocking(False)
        while True:
            try:
                sock, _ = await self._loop.sock_accept(listening.socket)
            except OSError as error:
                # Out of descriptors, mostly: some client will end.
                _log.warning("a connection could not be accepted: %s", error)
                await asyncio.sleep(0.1)
                continue
            if len(self._arriving) >= MOST_CLIENTS:
                sock.close()
                continue
            task = self._loop.create_task(self._arrived(sock, listening.secret))
            self._arriving.add(task)
            task.add_done_callback(self._arriving.discard)

    async def _arrived(self, sock: socket.socket, secret: bytes) -> None:
        """Read the greeting, answer it, and serve the connection on a task of its own."""
        sock.setblocking(False)
        client = None
        try:
            async with asyncio.timeout(_GREETING_S):
                pid = peer(sock)
                greeting = await self._greeting(sock)
                answer, client = await self._answer(greeting, secret, pid)
                await self._loop.sock_sendall(sock, answer.encode() + b"\n")
        except (OSError, ValueError, TimeoutError) as error:
            _log.info("a connection was refused: %s", error)
            self._unreached(sock, client)
            return
        except asyncio.CancelledError:
            self._unreached(sock, client)
            raise
        if client is None:
            sock.close()
        else:
            client.task = self._loop.create_task(self._serve(client, sock))

    def _unreached(self, sock: socket.socket, client: Client | None) -> None:
        """Nobody is there to be served; what would keep this server from ending is forgotten."""
        sock.close()
        if client is not None:
            self._forget(client, 1)

    async def _greeting(self, sock: socket.socket) -> Greeting:
        line = b""
        while b"\n" not in line:
            part = await self._loop.sock_recv(sock, places.MAX_LINE)
            line += part
            if not part or len(line) > places.MAX_LINE:
                raise ValueError("no greeting")
        first, _, more = line.partition(b"\n")
        greeting = places.read_greeting(first)
        if greeting is None or more:
            await self._loop.sock_sendall(sock, b"no this is not a greeting of Phasekeeper's\n")
            raise ValueError("no greeting")
        return greeting

    async def _answer(self, greeting: Greeting, secret: bytes, pid: int | None) -> tuple[str, Client | None]:
        """The answer's line, and the client to be served."""
        before = ""
        if secret:
            nonce, _, said = greeting.proof.partition(".")
            if not places.proves(said, secret, "connector", nonce):
                return "no the secret is wrong", None
            before = places.proof(secret, "server", nonce) + " "
        if greeting.kind in _QUESTIONS:
            return f"{before}ok {await _QUESTIONS[greeting.kind](self, greeting)}", None
        if greeting.kind not in _FRONTS:
            return f"no there is no {greeting.kind[:40]!r} here", None
        if self.stopping.is_set() or self._makes_way(greeting.version):
            return f"no {RESTART}", None
        if len(self.clients) >= MOST_CLIENTS:
            return f"no it serves {MOST_CLIENTS} connections, which is the most", None
        client = self._known(greeting.kind, Path(greeting.folder), greeting.version, pid)
        return f"{before}ok {client.number}-{self._mark}", client

    def _makes_way(self, version: str) -> bool:
        """Whether a client's newer version ends this server now. Busy, it ends after its last client; a
        server that a person started in a terminal is theirs to end."""
        if not self._background or release(version) <= release(VERSION):
            return False
        if self.clients:
            self._leaving = True
            return False
        self.stopping.set()
        return True

    def _remove(self, address: Address, lock: int) -> None:
        """Take the socket away, unless the folder was cleared and another server has put its own there."""
        if _same(address.lock, lock):
            with suppress(OSError):
                places.remove(address)

    # ---- with time

    async def _prepare(self) -> None:
        """Import the editor's front end before an editor asks, but not before the first client's own."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._warm.wait(), _WARM_S)
        with suppress(ImportError):
            await self.front("lsp")

    async def _look_after(self, address: Address, lock: int) -> None:
        """End when nobody comes any more, or when nobody can: somebody cleared the folder."""
        while True:
            await asyncio.sleep(min(_LOOK_S, self.idle_s))
            if not (Path(address.place).exists() and _same(address.lock, lock)):
                _log.warning("%s is gone: this server ends with its last client", address.place)
                self._leaving = True
            quiet = self._loop.time() - self._quiet_since
            idle = self._background and quiet >= self.idle_s
            if not self.clients and (idle or self._leaving):
                return

    # ---- questions

    async def information(self) -> dict[str, Any]:
        """What runs, for `doctor`: process, clients, roots."""
        clients = [
            {"kind": c.kind, "folder": str(c.folder), "pid": c.pid, "version": c.version, "since": c.since}
            for c in self.clients.values()
        ]
        roots = []
        for board in self.engine.boards():
            # A root may be dropped meanwhile.
            with suppress(UsageError):
                folders = await self.engine.watched(board.root)
                about = {"runs": len(board.runs), "version": board.version, "folders": folders}
                roots.append({"root": str(board.root), **about, "conditions": board.conditions})
        return {
            "pid": os.getpid(),
            "version": VERSION,
            "protocol": places.PROTOCOL,
            "background": self._background,
            "started": self.started,
            "python": sys.executable,
            "memory": memory(),
            "clients": clients,
            "served": self._served,
            "roots": roots,
            **self.about,
        }

    async def ended(self, name: str) -> int:
        """The exit code of a connection that is over or about to be; 1 for one that nobody remembers.

        Raises ValueError for one that was not of this server.
        """
        said, _, mark = name.partition("-")
        if mark != self._mark:
            raise ValueError("a connection of another server was asked for")
        number = int(said)
        client = self.clients.get(number)
        if client is not None and client.task is not None:
            await asyncio.wait([client.task], timeout=_GREETING_S / 2)
        return self._ended.get(number, 1)


async def _info(hub: Hub, _: Greeting) -> str:
    return json.dumps(await hub.information())


async def _ended(hub: Hub, greeting: Greeting) -> str:
    return str(await hub.ended(greeting.folder))


async def _stop(hub: Hub, _: Greeting) -> str:
    hub.stopping.set()
    return str(os.getpid())


_QUESTIONS: Mapping[str, Callable[[Hub, Greeting], Awaitable[str]]] = {
    "info": _info,
    "ended": _ended,
    "stop": _stop,
}


# ---- front ends --------------------------------------------------------------------------------


async def _lsp(hub: Hub, client: Client, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int:
    package = await hub.front("lsp")
    hub.warmed()
    return await package.serve_lsp(reader, writer, hub.engine) or 0


async def _mcp(hub: Hub, client: Client, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int:
    assistants = await hub.assistants()
    hub.warmed()
    await assistants.serve(reader, writer, client.folder)
    return 0


async def _view(hub: Hub, client: Client, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int:
    package = await hub.front("hub.view_feed")
    await package.serve_view(hub, reader, writer)
    return 0


Front = Callable[[Hub, Client, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[int]]
_FRONTS: Mapping[str, Front] = {"lsp": _lsp, "mcp": _mcp, "view": _view}


# ---- small questions to the system -------------------------------------------------------------


def release(version: str) -> tuple[int, ...]:
    """The numbers a version begins with: what decides which of two is newer."""
    numbers = []
    for part in version.split("."):
        if not part.isdecimal():
            break
        numbers.append(int(part[:9]))
    return tuple(numbers)


def memory() -> int | None:
    """Bytes of this process in memory, where the system says."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return None


def _same(path: str, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))  # noqa: PTH116
    except OSError:
        return False
