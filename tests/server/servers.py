"""Servers and connectors as processes, in folders of their own."""

from __future__ import annotations

import json
import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from phasekeeper.server.connector import handshake
from phasekeeper.server.connector.address import FORM, ServerAddress, lock_owner, try_lock
from phasekeeper.server.connector.handshake import INFO, Greeting
from phasekeeper.server.version import VERSION

BOUND_S = 60.0
"""Nothing waited for takes longer, however busy the machine is."""


class Home:
    """A user's folders, short enough for sockets, and the processes started in them."""

    def __init__(self, bound_s: float = BOUND_S) -> None:
        self.bound_s = bound_s
        self.path = Path(tempfile.mkdtemp(prefix="pk-")).resolve()
        self.env = {
            **os.environ,
            "HOME": str(self.path),
            "XDG_RUNTIME_DIR": str(self.path / "run"),
            "XDG_STATE_HOME": str(self.path / "state"),
            "XDG_CACHE_HOME": str(self.path / "cache"),
            "PHASEKEEPER_WAIT_S": str(BOUND_S),
            # Nobody is there to leave a pager.
            "PHASEKEEPER_PAGER": "cat",
        }
        self.processes: list[Any] = []
        self._bounds: list[threading.Timer] = []

    @property
    def address(self) -> ServerAddress:
        return ServerAddress(str(self.path / "run/phasekeeper"), self.env.get(FORM) == "tcp")

    def start(self, *words: str, cwd: Any = None, **env: str) -> Any:
        """A command of ours with pipes."""
        command = [sys.executable, "-I", "-m", "phasekeeper", *words]
        return self.popen(command, cwd or self.path, {**self.env, **env})

    def popen(self, command: list[str], cwd: Path, env: Mapping[str, str]) -> Any:
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, cwd=cwd, env=env)
        self.processes.append(process)
        # What waits for its output sees the end of it, whatever becomes of the process.
        bound = threading.Timer(self.bound_s, process.kill)
        bound.daemon = True
        bound.start()
        self._bounds.append(bound)
        return process

    def server(self, **env: str) -> Any:
        """A server that listens, as a connector starts it."""
        process = self.start("serve", "--background", **env)
        until(lambda: process.poll() is not None or self.answers())
        return process

    def answers(self) -> bool:
        try:
            self.information()
        except OSError:
            return False
        return True

    def ask(self, kind: str, folder: str = "/", version: str = VERSION) -> str:
        return handshake.ask(self.address, Greeting(kind, folder, version), BOUND_S)

    def information(self) -> Mapping[str, Any]:
        return json.loads(self.ask(INFO))

    def joined(self, kind: str = "view", version: str = VERSION) -> socket.socket:
        """A greeted connection."""
        return joined(self.address, Greeting(kind, str(self.path), version))

    def end(self) -> None:
        """End every process that was started here, servers that connectors started among them."""
        pid = lock_owner(self.address)
        lock = None
        with suppress(OSError):
            lock = try_lock(self.address.lock)
        if lock is None and pid is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for bound in self._bounds:
            bound.cancel()
        for process in self.processes:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout, process.stderr):
                with suppress(OSError):
                    pipe.close()
        shutil.rmtree(self.path, ignore_errors=True)


def joined(address: ServerAddress, greeting: Greeting) -> socket.socket:
    """A greeted connection that waits for nothing longer than bounded."""
    sock, secret = reached(address)
    handshake.greet(sock, secret, greeting, BOUND_S)
    sock.settimeout(BOUND_S)
    return sock


def reached(address: ServerAddress) -> tuple[socket.socket, bytes]:
    """A connection that has not been greeted, and the secret."""
    raw, secret = handshake.connect(address, BOUND_S)
    sock = socket.socket(fileno=raw.detach())
    sock.settimeout(BOUND_S)
    return sock, secret


@contextmanager
def homes(bound_s: float = BOUND_S) -> Iterator[Home]:
    home = Home(bound_s)
    try:
        yield home
    finally:
        home.end()


def until(holds: Any) -> None:
    """Wait until something outside this process is so; there is no event to hear of it."""
    end = time.monotonic() + BOUND_S
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError("it did not come about")
        selectors.DefaultSelector().select(0.01)


def frame(**message: Any) -> bytes:
    """A message of LSP."""
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def initialize(root: Path) -> bytes:
    return frame(id=1, method="initialize", params={"rootUri": root.as_uri(), "capabilities": {}})


def message(stream: Any) -> Mapping[str, Any]:
    """The next message of LSP; anything else in the stream is an error."""
    header = stream.readline()
    assert header.startswith(b"Content-Length: "), header
    length = int(header.split(b":")[1])
    while (line := stream.readline()) not in (b"\r\n", b""):
        assert line.startswith(b"Content-"), line
    return json.loads(stream.read(length))


def answer(stream: Any, number: int) -> Mapping[str, Any]:
    """The answer to a request; what the server says meanwhile is passed over."""
    while True:
        said = message(stream)
        if said.get("id") == number and "method" not in said:
            return said
