"""Machines of a fleet in one test: each has a folder for application state of its own."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import sleep
from unittest import mock

from phasekeeper.server.fleet import server_process
from phasekeeper.server.fleet.bucket import FleetUnreachable
from phasekeeper.server.fleet.connection import CLAIMS, LINK
from phasekeeper.server.fleet.membership import Membership, save_membership
from phasekeeper.server.fleet.server_process import (
    Listen,
    ServerProcess,
    add_member,
    create_buckets,
    read_seed,
)

from tests.server.fleet.nats_servers import free_ports

PROJECT = "library"
_BOUND = 1000
_LOOK_S = 0.02


class Machines:
    """One server, as `fleet up` sets it up, and machines that have joined its project."""

    def __init__(self, folder: Path, *names: str) -> None:
        self._folder, self.names = folder, names
        self.listen = Listen(port=free_ports(1)[0])
        with self.on("host"):
            seeds = {name: read_seed(add_member(PROJECT, name)) for name in (*names, server_process.ADMIN)}
        self.memberships = {
            name: Membership(PROJECT, (self.listen.url,), name, seed) for name, seed in seeds.items()
        }
        for name in names:
            with self.on(name):
                save_membership(self.memberships[name])
        self._server: ServerProcess | None = None
        self.start()

    @contextmanager
    def on(self, name: str) -> Iterator[None]:
        """What is called here is called on that machine."""
        state = self._folder / name / "state"
        with mock.patch.dict(os.environ, {"XDG_STATE_HOME": str(state)}):
            yield

    def start(self) -> None:
        with self.on("host"):
            self._server = ServerProcess(self.listen)
            asyncio.run(create_buckets(self.listen, PROJECT))
        for name in self.names:
            self._await_contact(self.memberships[name])

    def _await_contact(self, membership: Membership) -> None:
        """Return when the machine's connection is there, again."""
        for _ in range(_BOUND):
            with suppress(FleetUnreachable):
                LINK.call(membership, CLAIMS, lambda bucket: bucket.get("contact"))
                return
            sleep(_LOOK_S)
        raise AssertionError(f"{membership.member} does not reach the server")

    def stop(self) -> None:
        if self._server:
            self._server.stop()
        self._server = None
