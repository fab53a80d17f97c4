"""A server tells the machines of its user's fleet how the runs of a root stand."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from phasekeeper.orchestration.fleet.shared_board import SharedRun
from phasekeeper.orchestration.updates.commands import Command
from phasekeeper.server.cli.main import main
from phasekeeper.server.disk.decision_keys import fleet_path
from phasekeeper.server.fleet.board_feed import read_board
from phasekeeper.server.fleet.bucket import FleetUnreachable
from phasekeeper.server.fleet.connection import BOARD, LINK
from phasekeeper.server.fleet.membership import Membership, remove_membership, save_membership
from phasekeeper.server.hub import fleet_sharing
from phasekeeper.server.hub.hub import Hub

from tests.server.fleet.machines import PROJECT, Machines
from tests.server.mcp.rig import Rig, call, text
from tests.server.workspace.test_apply import planned_root

RUN = "work/one"
_CONFIGURATION = "workflows: {{'work/*': planned}}\nfleet: {{project: {}, share: {}}}\n"
_BOUND = 1500
_LOOK_S = 0.02


def clone(root: Path, share: str) -> Path:
    planned_root(root, _CONFIGURATION.format(PROJECT, share))
    who = {
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@b",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@b",
    }
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "first")):
        subprocess.run(["git", *words], cwd=root, check=True, env={**os.environ, **who})
    return root


def board_of(machines: Machines, name: str) -> Sequence[SharedRun]:
    try:
        return LINK.call(machines.memberships[name], BOARD, read_board).runs
    except FleetUnreachable:
        return ()


async def serve(machines: Machines, name: str, root: Path) -> Hub:
    """A server on a machine that has a root open."""
    with machines.on(name):
        hub = Hub(asyncio.get_running_loop())
        await hub.engine.open(root)
        # The membership is read while the machine's folders are at hand.
        await hub._fleet.wait_for_memberships()
    return hub


async def until(holds: Callable[[], bool], what: str) -> None:
    for _ in range(_BOUND):
        if await asyncio.to_thread(holds):
            return
        await asyncio.sleep(_LOOK_S)
    raise AssertionError(what)


async def eventually(machines: Machines, name: str, phases: dict[str, str]) -> SharedRun:
    """The run as a machine sees it once every clone of it is in that status."""
    runs: Sequence[SharedRun] = ()
    for _ in range(_BOUND):
        runs = await asyncio.to_thread(board_of, machines, name)
        if runs and {each.member: each.next for each in runs[0].clones} == phases:
            return runs[0]
        await asyncio.sleep(_LOOK_S)
    raise AssertionError(f"{name} sees {runs}, not {phases}")


def test_each_machine_sees_where_a_run_stands_on_the_others(tmp_path: Path) -> None:
    machines = Machines(tmp_path / "machines", "ann", "bob")
    roots = {"ann": clone(tmp_path / "ann", "full"), "bob": clone(tmp_path / "bob", "ids")}

    async def scene() -> None:
        hubs = {name: await serve(machines, name, roots[name]) for name in machines.names}
        both = await eventually(machines, "bob", {"ann": "stay do", "bob": "stay do"})
        mine, theirs = both.clones
        assert (mine.title, theirs.title) == ("Feature", "")
        assert mine.reason and not theirs.reason
        assert mine.commit and mine.revision == theirs.revision and not both.differs
        wanted = Command("report", "do", "error", tasks=("f-01",), actor="ann", message="it broke")
        with machines.on("ann"):
            await hubs["ann"].engine.act(roots["ann"], RUN, wanted)
        after = await eventually(machines, "bob", {"ann": "wait", "bob": "stay do"})
        assert after.differs
        with machines.on("bob"):
            await _assistant_sees(hubs["bob"], roots["bob"])
        for hub in hubs.values():
            await hub.stop()

    try:
        asyncio.run(scene())
    finally:
        machines.stop()


def test_a_machine_that_leaves_is_told_of_no_more_until_it_joins_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fleet_sharing, "_LOOK_S", _LOOK_S)
    machines = Machines(tmp_path / "machines", "ann", "bob")
    roots = {name: clone(tmp_path / name, "ids") for name in machines.names}

    def leave() -> str:
        with machines.on("ann"):
            assert main(["fleet", "leave", "--project", PROJECT]) == 0
        return capsys.readouterr().out

    def join() -> None:
        with machines.on("ann"):
            save_membership(machines.memberships["ann"])

    async def until_shared(hub: Hub, roots: set[Path]) -> None:
        await until(lambda: shared_roots(hub) == roots, f"not {roots} are shared")

    async def scene() -> None:
        hubs = {name: await serve(machines, name, roots[name]) for name in machines.names}
        await eventually(machines, "bob", {"ann": "stay do", "bob": "stay do"})
        feed = hubs["ann"]._fleet._roots[roots["ann"]]._feed
        said = await asyncio.to_thread(leave)
        assert said.startswith(f"left {PROJECT}\n") and "taken off its board" in said
        await until_shared(hubs["ann"], set())
        await eventually(machines, "bob", {"bob": "stay do"})
        # What changes now is not told, by nobody.
        assert feed._task.done()
        wanted = Command("report", "do", "error", tasks=("f-01",), actor="ann", message="it broke")
        with machines.on("ann"):
            await hubs["ann"].engine.act(roots["ann"], RUN, wanted)
        await eventually(machines, "bob", {"bob": "stay do"})
        join()
        await until_shared(hubs["ann"], {roots["ann"]})
        await eventually(machines, "bob", {"ann": "wait", "bob": "stay do"})
        for hub in hubs.values():
            await hub.stop()

    try:
        asyncio.run(scene())
    finally:
        machines.stop()


def test_what_a_server_told_after_the_command_took_the_rows_off_is_taken_off_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_sharing, "_LOOK_S", _LOOK_S)
    machines = Machines(tmp_path / "machines", "ann", "bob")
    root = clone(tmp_path / "ann", "ids")

    async def scene() -> None:
        hub = await serve(machines, "ann", root)
        await eventually(machines, "bob", {"ann": "stay do"})
        with machines.on("ann"):
            # The command got no further than this.
            assert remove_membership(PROJECT)
        await until(lambda: not board_of(machines, "bob"), "its rows stay")
        assert LINK.call(machines.memberships["bob"], BOARD, read_board).runs == ()
        await hub.stop()

    try:
        asyncio.run(scene())
    finally:
        machines.stop()


def test_a_file_of_memberships_that_cannot_be_read_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(fleet_sharing, "_LOOK_S", _LOOK_S)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    root = clone(tmp_path / "root", "ids")
    save_membership(Membership(PROJECT, ("nats://127.0.0.1:1",), "ann"))

    async def scene() -> None:
        hub = Hub(asyncio.get_running_loop())
        await hub.engine.open(root)
        await hub._fleet.wait_for_memberships()
        fleet_path().write_text("{}")
        await until(lambda: "what is shared stays as it was" in caplog.text, "it is not said")
        assert shared_roots(hub) == {root}
        # Nobody can be told that it is left; it is, all the same.
        fleet_path().unlink()
        await until(lambda: "stay on the board" in caplog.text, "it is not said")
        assert shared_roots(hub) == set()
        await hub.stop()

    asyncio.run(scene())


async def _assistant_sees(hub: Hub, root: Path) -> None:
    """An assistant's `status` with `fleet` shows both clones, and that they differ."""
    async with AsyncExitStack() as stack, Rig(hub.engine, stack).client(root) as client:
        answer = await call(client, "status", fleet=True)
        (run,) = answer["fleet"]
        assert (run["run"], run["differs"]) == (RUN, True)
        assert [(each["member"], each["phase"]) for each in run["clones"]] == [("ann", "mend"), ("bob", "do")]
        assert (
            "work/one: ann: waiting_human, phase mend; bob: active, phase do (clones differ)"
            in await text(client, "status", fleet=True)
        )


def test_a_machine_that_joined_nothing_shares_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    root = clone(tmp_path / "root", "full")

    async def scene() -> None:
        hub = Hub(asyncio.get_running_loop())
        await hub.engine.open(root)
        assert hub.engine.board(root).runs and hub._fleet is None
        await hub.stop()

    asyncio.run(scene())


def shared_roots(hub: Hub) -> set[Path]:
    return set(hub._fleet._roots) if hub._fleet else set()


def test_a_root_that_is_opened_after_the_machine_has_joined_is_shared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    before, after = clone(tmp_path / "before", "ids"), clone(tmp_path / "after", "ids")

    async def scene() -> None:
        hub = Hub(asyncio.get_running_loop())
        await hub.engine.open(before)
        assert shared_roots(hub) == set()
        # Nobody answers there, which changes nothing of it.
        save_membership(Membership(PROJECT, ("nats://127.0.0.1:1",), "ann"))
        await hub.engine.open(after)
        await hub._fleet.wait_for_memberships()
        assert shared_roots(hub) == {after}
        await hub.stop()

    asyncio.run(scene())
