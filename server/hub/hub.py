"""The long-running server of a user: one engine, and a front end for each connection that greets it.

All of it runs on one asyncio loop; what reads files or imports much does so on threads. A connection is
known by its first line (`handshake.Greeting`); then its bytes are LSP, MCP or the live view's. Trust is a
connection's own: the front ends ask it of their clients, nothing is remembered here.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import logging
import os
import socket
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..cache.private_files import cache_folder
from ..connector import command_call, handshake, hook_call
from ..connector.address import PROTOCOL, ServerAddress, runtime_folder
from ..connector.connector import KINDS, MISSING_PACKAGE
from ..connector.pump import exit_trailer
from ..disk.decision_keys import fleet_path
from ..live.engine import Engine
from ..version import VERSION, release
from ..workspace.roots import UsageError
from .process import resident_bytes, return_large_blocks
from .sockets import FREE_DESCRIPTORS, descriptors_above, open_streams, peer_pid

_QUESTIONS = (command_call.KIND, hook_call.KIND)
"""Kinds of greeting that ask one thing."""
FRONT_ENDS = (*KINDS, "view", *_QUESTIONS)
"""Kinds of greeting that begin a connection. A connector's ends with a trailer (`pump.exit_trailer`)."""
MAX_CLIENTS = 512
"""Served at one time, and as many again that have not greeted yet. INFO and STOP are answered beside them."""
_IDLE_S = 600.0
"""A server that a connector started ends after so long without a client."""
_GREETING_S = 5.0
_WARM_UP_S = 1.0
"""The editor's front end is imported once the first client has what it needs, or after so long."""
_DRAIN_S = 5.0
"""So long a client's front end may take to end when the server does."""
_CHECK_S = 10.0

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
    streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None


class Hub:
    """The server, listening or not. Its methods belong to the loop."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, *, is_daemon: bool = False, has_cache: bool = False
    ) -> None:
        """With `has_cache` evaluations are kept across starts, in the user's cache folder."""
        return_large_blocks()
        cache = cache_folder() if has_cache else None
        self.engine = Engine(loop, runtime=Path(runtime_folder()), cache=cache)
        self.clients: dict[int, Client] = {}
        self.stopping = asyncio.Event()
        self.about: dict[str, Any] = {}
        """More about this server for `information`: "http" is the URL for assistants."""
        self.served_roots: Counter[Path] = Counter()
        """The roots that people have it serve (`phasekeeper serve ROOTS`), and by how many views."""
        self.idle_s = _IDLE_S
        self._loop = loop
        self._is_daemon = is_daemon
        self._started = time.time()
        self._served = 0
        self._idle_since = loop.time()
        self._is_leaving = False
        """To end after the last client."""
        self._greeting: set[asyncio.Task[Any]] = set()
        """Connections whose greeting is being read or answered."""
        self._assistants: Any = None
        self._fleet: Any = None
        self.engine.on_opened = self._share
        self._has_front_end = asyncio.Event()

    # ---- one connection

    def add_client(self, kind: str, folder: Path, version: str = VERSION, pid: int | None = None) -> Client:
        """Count a connection as served from now on, until `serve` of it ends."""
        self._served += 1
        client = Client(self._served, kind, folder, version, pid)
        self.clients[client.number] = client
        return client

    async def serve(self, client: Client, sock: socket.socket) -> int:
        """Serve a greeted connection until it ends; its exit code. Closes the socket."""
        client.task = asyncio.current_task()
        code = 1
        writer = None
        try:
            reader, writer = client.streams = await open_streams(sock)
            code = await self._run_front_end(client, reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError) as error:
            _log.info("client %d went away: %s", client.number, error)
        except ModuleNotFoundError as error:
            code = MISSING_PACKAGE
            _log.error("client %d (%s) was ended: %s", client.number, client.kind, error)
        except Exception:
            _log.exception("client %d (%s) was ended", client.number, client.kind)
        finally:
            self._remove_client(client)
            if writer is not None:
                if client.kind in KINDS:
                    writer.write(exit_trailer(code))
                writer.close()
                with suppress(OSError):
                    await asyncio.wait_for(writer.wait_closed(), _DRAIN_S)
        return code

    async def _run_front_end(
        self, client: Client, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> int:
        """Speak the client's protocol until it ends; the exit code. The streams are closed by the caller."""
        if client.kind == "view":
            view_feed = await self._import("hub.view_feed")
            await view_feed.serve_view(self, reader, writer)
            return 0
        if client.kind == command_call.KIND:
            service = await self._import("cli.command_service")
            await service.serve_command(self, reader, writer)
            return 0
        if client.kind == hook_call.KIND:
            service = await self._import("fence.hook_service")
            await service.serve_hook(reader, writer, self.engine.known_runs)
            return 0
        front_end = await (self.assistants() if client.kind == "mcp" else self._import("lsp.server"))
        self._has_front_end.set()
        if client.kind == "lsp":
            return await front_end.serve_lsp(reader, writer, self.engine)
        await front_end.serve(reader, writer, client.folder)
        return 0

    async def _import(self, name: str) -> Any:
        """A module of the server, imported on a thread when the first client needs it."""
        return await asyncio.to_thread(importlib.import_module, f"..{name}", __package__)

    async def assistants(self) -> Any:
        """The one object that serves assistants, created for the first of them."""
        package = await self._import("mcp.server")
        if self._assistants is None:
            self._assistants = package.McpServer(self.engine, lambda: list(+self.served_roots))
        return self._assistants

    def _share(self, root: Path) -> None:
        """Tell the machines of this user's fleets of a root, if it is of a project of theirs."""
        if self._fleet is None:
            if not fleet_path().exists():
                return
            from .fleet_sharing import FleetSharing  # late: imported on machines of a fleet alone

            self._fleet = FleetSharing(self.engine)
        self._fleet.add(root)

    async def page(self, port: int, token: str, otherwise: Any) -> Any:
        """The application that shows runs to browsers, in front of another."""
        package = await self._import("page.http_page")
        return package.HttpPage(self.engine, lambda: list(+self.served_roots), port, token, otherwise)

    def _remove_client(self, client: Client) -> None:
        self.clients.pop(client.number, None)
        if client.kind not in _QUESTIONS:
            # A question keeps no server that nobody else needs.
            self._idle_since = self._loop.time()
        if self._is_leaving and not self.clients:
            self.stopping.set()

    # ---- all connections

    async def listen(self, address: ServerAddress, lock: int, listener: socket.socket, secret: bytes) -> None:
        """Serve whoever connects until `stopping` is set; then end all clients and take the socket away.

        `lock` is the held descriptor of the address' lock, `secret` that of the loopback form.
        """
        stopping = self._loop.create_task(self.stopping.wait())
        accepting = self._loop.create_task(self._accept(listener, secret))
        watching = self._loop.create_task(self._end_when_unneeded(address, lock))
        warming_up = self._loop.create_task(self._warm_up())
        done, _ = await asyncio.wait([stopping, accepting, watching], return_when=asyncio.FIRST_COMPLETED)
        for task in (stopping, accepting, watching, warming_up):
            task.cancel()
        listener.close()
        # Unless the folder was cleared and another server has put its own socket there.
        if _is_same_file(address.lock, lock):
            with suppress(OSError):
                Path(address.endpoint).unlink()
        await self.stop()
        for task in done - {stopping}:
            task.result()

    async def stop(self) -> None:
        """End all clients: their input first, then, after a while, what they still do; then the engine."""
        self.stopping.set()
        for task in self._greeting:
            task.cancel()
        for client in self.clients.values():
            if client.streams is not None:
                # The front end sees the end of its input; what it still says is delivered.
                reader, writer = client.streams
                writer.transport.pause_reading()  # pyright: ignore[reportAttributeAccessIssue]
                reader.feed_eof()
        running = {client.task for client in self.clients.values() if client.task}
        running.discard(asyncio.current_task())  # pyright: ignore[reportArgumentType]
        if running:
            _, late = await asyncio.wait(running, timeout=_DRAIN_S)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        if self._fleet is not None:
            await self._fleet.stop()
        await self.engine.stop()

    async def _accept(self, listener: socket.socket, secret: bytes) -> None:
        listener.setblocking(False)
        while True:
            try:
                sock, _ = await self._loop.sock_accept(listener)
            except OSError as error:
                # Out of descriptors, mostly: some client will end.
                _log.warning("a connection could not be accepted: %s", error)
                await asyncio.sleep(0.1)
                continue
            if len(self._greeting) >= MAX_CLIENTS or descriptors_above(sock) < FREE_DESCRIPTORS:
                sock.close()
                continue
            task = self._loop.create_task(self._welcome(sock, secret))
            self._greeting.add(task)
            task.add_done_callback(self._greeting.discard)

    async def _welcome(self, sock: socket.socket, secret: bytes) -> None:
        """Read the greeting, answer it, and serve the connection on a task of its own."""
        sock.setblocking(False)
        client = None
        try:
            async with asyncio.timeout(_GREETING_S):
                pid = peer_pid(sock)
                greeting = await self._read_greeting(sock)
                is_short = descriptors_above(sock) < 2 * FREE_DESCRIPTORS
                answer, client = await self._answer(greeting, secret, pid, is_short)
                await self._loop.sock_sendall(sock, answer.encode() + b"\n")
            if client is not None:
                client.task = self._loop.create_task(self.serve(client, sock))
        except (OSError, ValueError, TimeoutError) as error:
            _log.info("a connection was refused: %s", error)
        finally:
            if client is None or client.task is None:
                sock.close()
            if client is not None and client.task is None:
                # Nobody is there to be served, so nobody keeps this server from ending.
                self._remove_client(client)

    async def _read_greeting(self, sock: socket.socket) -> handshake.Greeting:
        line = b""
        while b"\n" not in line:
            part = await self._loop.sock_recv(sock, handshake.MAX_LINE)
            line += part
            if not part or len(line) > handshake.MAX_LINE:
                raise ValueError("no greeting")
        first, _, more = line.partition(b"\n")
        greeting = handshake.parse_greeting(first)
        if greeting is None or more:
            await self._loop.sock_sendall(sock, b"no this is not a greeting of Phasekeeper's\n")
            raise ValueError("no greeting")
        return greeting

    async def _answer(
        self, greeting: handshake.Greeting, secret: bytes, pid: int | None, is_short: bool
    ) -> tuple[str, Client | None]:
        """(the answer's line, the client to be served, if any). `is_short`: few descriptors are free."""
        ok = "ok"
        if secret:
            nonce, _, proof = greeting.proof.partition(".")
            if not handshake.is_valid_proof(proof, secret, "connector", nonce):
                return "no the secret is wrong", None
            ok = f"{handshake.make_proof(secret, 'server', nonce)} ok"
        if greeting.kind == handshake.INFO:
            return f"{ok} {json.dumps(await self.information())}", None
        if greeting.kind == handshake.STOP:
            self.stopping.set()
            return f"{ok} {json.dumps({'pid': os.getpid()})}", None
        if greeting.kind not in FRONT_ENDS:
            return f"no there is no {greeting.kind[:40]!r} here", None
        if greeting.kind in _QUESTIONS and greeting.version != VERSION:
            return "no the answers of another version may be others", None
        if self._is_daemon and release(greeting.version) > release(VERSION):
            # This server makes way at once, or, busy, after its last client. One that a person started in a
            # terminal is theirs to end.
            self._is_leaving = True
            if not self.clients:
                self.stopping.set()
        if self.stopping.is_set():
            return f"no {handshake.RESTART}", None
        if len(self.clients) >= MAX_CLIENTS:
            return f"no it serves {MAX_CLIENTS} connections, which is the most", None
        if is_short:
            return (
                f"no its {len(self.clients)} connections need the descriptors there are (`ulimit -n`)",
                None,
            )
        return ok, self.add_client(greeting.kind, Path(greeting.folder), greeting.version, pid)

    async def information(self) -> dict[str, Any]:
        """The server's state, for `phasekeeper doctor`: process, clients, roots."""
        clients = [
            {"kind": c.kind, "folder": str(c.folder), "pid": c.pid, "version": c.version, "since": c.since}
            for c in self.clients.values()
        ]
        roots = []
        for board in self.engine.boards():
            # A root may be dropped meanwhile.
            with suppress(UsageError):
                folders = await self.engine.watched_count(board.root)
                counts = {"runs": len(board.runs), "version": board.version, "folders": folders}
                roots.append({"root": str(board.root), **counts, "conditions": board.conditions})
        return {
            "pid": os.getpid(),
            "version": VERSION,
            "protocol": PROTOCOL,
            "background": self._is_daemon,
            "started": self._started,
            "python": sys.executable,
            "memory": resident_bytes(),
            "clients": clients,
            "served": self._served,
            "roots": roots,
            "watching": await self.engine.watch_faults(),
            "cache": await self.engine.cache_state(),
            **self.about,
        }

    # ---- with time

    async def _warm_up(self) -> None:
        """Import the editor's front end before an editor asks, but not before the first client's own."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._has_front_end.wait(), _WARM_UP_S)
        with suppress(ImportError):
            await self._import("lsp.server")

    async def _end_when_unneeded(self, address: ServerAddress, lock: int) -> None:
        """Return when nobody comes any more, or when nobody can: somebody cleared the folder."""
        while True:
            await asyncio.sleep(min(_CHECK_S, self.idle_s))
            if not (Path(address.endpoint).exists() and _is_same_file(address.lock, lock)):
                _log.warning("%s is gone: this server ends with its last client", address.endpoint)
                self._is_leaving = True
            is_idle = self._is_daemon and self._loop.time() - self._idle_since >= self.idle_s
            if not self.clients and (is_idle or self._is_leaving):
                return


def _is_same_file(path: str, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))  # noqa: PTH116
    except OSError:
        return False
