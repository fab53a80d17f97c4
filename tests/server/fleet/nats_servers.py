"""Real servers of NATS on loopback, from the package that users install, started and killed by the tests."""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import socket
import subprocess
import sysconfig
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import nats
import nats.errors
from nats.aio.client import Client

BINARY = shutil.which("nats-server", path=sysconfig.get_path("scripts")) or "nats-server"
_START_S = 30.0
_LOOK_S = 0.02


def free_ports(count: int) -> list[int]:
    """Ports of loopback that nobody listens at."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Servers:
    """Servers in files of a folder, each one's life its own. `size` is 1, or that of a cluster.

    They tell clients of no other way to them than the one that was taken, so that a line can be cut.
    """

    def __init__(self, folder: Path, size: int) -> None:
        self.folder, self.size = folder, size
        self.ports = free_ports(size)
        routes = free_ports(size) if size > 1 else []
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        for number in range(size):
            self._configuration(number).write_text(self._text(number, routes))

    def _configuration(self, number: int) -> Path:
        return self.folder / f"n{number}.conf"

    def _text(self, number: int, routes: Sequence[int]) -> str:
        store = json.dumps(str(self.folder / f"n{number}"))
        others = [f"nats://127.0.0.1:{port}" for port in routes if port != routes[number]]
        own = f"127.0.0.1:{routes[number]}" if routes else ""
        cluster = f"cluster: {{name: fleet, no_advertise: true, listen: '{own}', routes: {others}}}\n"
        return (
            f"server_name: n{number}\nlisten: '127.0.0.1:{self.ports[number]}'\n"
            f"jetstream: {{store_dir: {store}, sync_interval: always, max_file_store: 256MB}}\n"
            f"{cluster if routes else ''}"
        )

    @property
    def urls(self) -> list[str]:
        return [f"nats://127.0.0.1:{port}" for port in self.ports]

    def start(self, *numbers: int) -> None:
        """Start servers, without a number all; what they say goes to their logs."""
        for number in numbers or range(self.size):
            with (self.folder / f"n{number}.log").open("ab") as log:
                command = [BINARY, "-c", str(self._configuration(number))]
                self._running[number] = subprocess.Popen(command, stdout=log, stderr=log)

    def kill(self, *numbers: int) -> None:
        """End servers without warning, without a number all."""
        for number in numbers or tuple(self._running):
            process = self._running.pop(number)
            process.kill()
            process.wait()

    def pause(self, number: int) -> None:
        self._running[number].send_signal(signal.SIGSTOP)

    def resume(self, number: int) -> None:
        self._running[number].send_signal(signal.SIGCONT)

    def log(self, number: int) -> str:
        return (self.folder / f"n{number}.log").read_text("utf-8", "replace")


async def connection_to(urls: Sequence[str], **options: object) -> Client:
    """A connection to the first server that answers, which goes on to others by itself."""
    clock = asyncio.get_running_loop().time
    until = clock() + _START_S

    async def ignore(_: Exception) -> None: ...

    while True:
        with suppress(OSError, nats.errors.Error):
            return await nats.connect(
                list(urls),
                error_cb=ignore,
                connect_timeout=1,
                max_reconnect_attempts=-1,
                reconnect_time_wait=0.1,
                **options,  # pyright: ignore[reportArgumentType]
            )
        assert clock() < until, "no server of NATS answers"
        await asyncio.sleep(_LOOK_S)
