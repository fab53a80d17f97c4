"""The server that `fleet up` starts: accounts, what each member may do, and no other address without TLS."""

from __future__ import annotations

import asyncio
import os
import socket
import stat
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from nats.errors import Error as NatsError
from phasekeeper.server.fleet import server_process
from phasekeeper.server.fleet.bucket import FleetUnreachable
from phasekeeper.server.fleet.connection import ANSWERS, BOARD, CLAIMS, connect
from phasekeeper.server.fleet.membership import FleetSetupError, Membership, memberships, save_membership
from phasekeeper.server.fleet.nats_bucket import NatsBucket
from phasekeeper.server.fleet.server_process import (
    Listen,
    ServerProcess,
    add_member,
    folder,
    read_seed,
    require_listen,
)

from tests.server.fleet.machines import PROJECT, Machines


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    made = Machines(tmp_path_factory.mktemp("machines"), "ann", "bob")
    yield made
    made.stop()


def as_member(membership: Membership, scene: Callable[[Any], Awaitable[None]]) -> None:
    async def run() -> None:
        connection = await connect(membership)
        try:
            await scene(connection)
        finally:
            await connection.close()

    asyncio.run(run())


def test_a_member_writes_claims_and_its_own_part_of_the_board(machines: Machines) -> None:
    async def scene(connection: Any) -> None:
        claims, board = NatsBucket(connection, CLAIMS, 2.0), NatsBucket(connection, BOARD, 2.0)
        revision = await claims.lease("run.task", b"mine", 60)
        assert revision and await claims.compare_and_set("run.task", b"", revision)
        assert await board.create("ann.clone.run", b"mine")
        values = board.watch()
        there = [await anext(values), await anext(values)]
        assert [entry and entry.value for entry in there] == [b"mine", None]
        assert [entry.value for entry in await board.history("ann.clone.run")] == [b"mine"]

    as_member(machines.memberships["ann"], scene)


@pytest.mark.parametrize("bucket", [BOARD, ANSWERS])
def test_a_member_writes_nothing_under_another_name(machines: Machines, bucket: str) -> None:
    async def scene(connection: Any) -> None:
        with pytest.raises(FleetUnreachable):
            await NatsBucket(connection, bucket, 0.0).create("ann.clone.forged", b"not ann's")
        patient = NatsBucket(connection, bucket, 2.0)
        assert await patient.get("ann.clone.forged") is None
        assert await patient.lease("bob.clone.own", b"bob's", 60)

    as_member(machines.memberships["bob"], scene)


def test_a_member_makes_changes_and_empties_no_bucket(machines: Machines) -> None:
    async def scene(connection: Any) -> None:
        assert await NatsBucket(connection, CLAIMS, 2.0).create("run.kept", b"1")
        manager = connection.jsm(timeout=0.5)
        for call in (manager.purge_stream, manager.delete_stream):
            with pytest.raises(NatsError):
                await call(f"KV_{CLAIMS}")
        assert await NatsBucket(connection, CLAIMS, 2.0).get("run.kept")

    as_member(machines.memberships["bob"], scene)


def test_a_member_of_another_project_sees_nothing_of_this_one(machines: Machines) -> None:
    with machines.on("host"):
        machines.stop()
        eve = Membership("other", (machines.listen.url,), "eve", read_seed(add_member("other", "eve")))
        machines.start()

    async def scene(connection: Any) -> None:
        with pytest.raises(FleetUnreachable):
            await NatsBucket(connection, CLAIMS, 0.0).get("run.task")

    as_member(eve, scene)


def test_a_key_that_the_server_does_not_know_is_refused(machines: Machines, tmp_path: Path) -> None:
    with machines.on("stranger"):
        stranger = machines.memberships["ann"]._replace(seed=read_seed(add_member(PROJECT, "ann")))
    with pytest.raises(FleetUnreachable):
        asyncio.run(connect(stranger))
    with pytest.raises(FleetUnreachable):
        asyncio.run(connect(stranger._replace(seed="")))


def test_a_membership_that_cannot_be_used_reaches_nobody(machines: Machines, tmp_path: Path) -> None:
    mine = machines.memberships["ann"]
    broken = (mine._replace(seed="SUnone"), mine._replace(servers=("tls://127.0.0.1:1",), ca="/missing.pem"))
    for membership in (*broken, mine._replace(credentials="none", seed="")):
        with pytest.raises(FleetUnreachable, match="answers"):
            asyncio.run(connect(membership))


def test_all_that_is_kept_is_the_users_alone(machines: Machines) -> None:
    with machines.on("host"):
        kept = [path for path in folder().rglob("*") if path.suffix in (".nk", ".conf")]
    assert kept
    assert {stat.S_IMODE(path.stat().st_mode) for path in kept} == {0o600}


def test_an_address_that_others_reach_needs_tls(tmp_path: Path) -> None:
    require_listen(Listen())
    for listen in (Listen("0.0.0.0"), Listen("192.0.2.1"), Listen(certificate="a"), Listen("::", key="a")):
        with pytest.raises(FleetSetupError, match="TLS"):
            require_listen(listen)


def test_a_port_that_somebody_has_is_left_alone(machines: Machines, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_process, "_FREE_S", 0.0)
    with (
        machines.on("host"),
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(FleetSetupError, match="listens at"),
    ):
        ServerProcess(Listen(port=taken.getsockname()[1]))


def test_who_runs_a_server_already_is_told_which_process_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(server_process, "_FREE_S", 0.0)
    folder().mkdir(parents=True)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = Listen(port=taken.getsockname()[1])
        (folder() / "server.pid").write_text(str(os.getpid()))
        with pytest.raises(FleetSetupError, match=rf"as process {os.getpid()}: end that \(`kill"):
            ServerProcess(listen)
        for gone in ("no number", "", "99999999999999999999"):
            (folder() / "server.pid").write_text(gone)
            with pytest.raises(FleetSetupError, match="already; choose another --port"):
                ServerProcess(listen)


@pytest.mark.parametrize(
    "url",
    [
        *(f"nats://{where}" for where in ("192.0.2.1:4222", "localhost.example.org:4222", "127.0.0.1")),
        *("nats://user:word@127.0.0.1:4222", "http://127.0.0.1:4222", "", "tls://:1", "tls://h:1/x"),
        "tls://h:99999",
    ],
)
def test_a_membership_names_servers_off_this_machine_by_tls_alone(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with pytest.raises(FleetSetupError):
        save_membership(Membership(PROJECT, ("tls://fleet.example.org:4222", url), "ann", "SU"))
    assert memberships() == {}


def test_memberships_that_others_can_read_are_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    mine = Membership(PROJECT, ("tls://fleet.example.org:4222",), "ann", "SU")
    save_membership(mine)
    assert memberships() == {PROJECT: mine}
    (path,) = tmp_path.rglob("fleet.json")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o644)
    with pytest.raises(FleetSetupError, match="chmod 600"):
        memberships()
    path.chmod(0o600)
    for broken in ("{", "[]", '{"projects": []}', '{"projects": {"a": {}}}', "[" * 10_000):
        path.write_text(broken)
        with pytest.raises(FleetSetupError, match="join again"):
            memberships()


def test_a_cluster_tells_of_no_server_that_is_used_without_tls(machines: Machines) -> None:
    async def scene(connection: Any) -> None:
        assert [server.uri.hostname for server in connection._server_pool] == ["127.0.0.1"]

    as_member(machines.memberships["ann"], scene)
