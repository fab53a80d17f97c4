"""The board of all machines in an editor: pages, every change, and servers that are lost and come back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from phasekeeper.orchestration.fleet.messages import key_token
from phasekeeper.orchestration.fleet.shared_board import RunSummary, format_summary, summary_key
from phasekeeper.server.disk.decision_keys import fleet_path
from phasekeeper.server.fleet import connection, nats_bucket
from phasekeeper.server.fleet.bucket import Bucket
from phasekeeper.server.fleet.connection import BOARD, LINK
from phasekeeper.server.fleet.server_process import ADMIN, add_member, read_seed
from phasekeeper.server.lsp.requests import fleet

from tests.roots import put
from tests.server.fleet.machines import PROJECT, Machines
from tests.server.lsp.client import BOUND_S, Client, ErrorResponse, client_of, engine_of, run_with

_BOUND = 1500
_LOOK_S = 0.02


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    machines = Machines(tmp_path_factory.mktemp("fleet"), "ann", "bob")
    yield machines
    machines.stop()


@pytest.fixture(autouse=True)
def on_bob(machines: Machines, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The editor is on bob's machine, and the board is empty."""
    monkeypatch.setattr(connection, "_AGAIN_S", 0.05)
    monkeypatch.setattr(nats_bucket, "_SILENCE_S", 0.3)
    monkeypatch.setattr(nats_bucket, "_OFFLINE_S", 0.3)
    with machines.on("bob"):
        yield
    LINK.call(machines.memberships["ann"], BOARD, _clear)


async def _clear(bucket: Bucket) -> None:
    async with aclosing(bucket.watch()) as values:
        async for value in values:
            if value is None:
                return
            if value.value:
                await bucket.compare_and_set(value.key, b"", value.revision)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "clone"
    put(root / ".phasekeeper/config.yaml", f"fleet: {{project: {PROJECT}}}\n")
    (root / ".git").mkdir()
    return root


def row(run: str, phase: str = "4a", **over: Any) -> RunSummary:
    at = "2026-11-30T10:00:00+00:00"
    base = RunSummary(run, "master-plan", "ann", "c", "active", phase, "stay", 1, 2, phase, "abc", at)
    return base._replace(**over)


async def tell(machines: Machines, *rows: RunSummary) -> None:
    """Have ann's machine tell of runs."""

    async def write(bucket: Bucket) -> None:
        for each in rows:
            await _put(bucket, summary_key(each.member, each.clone, each.run), format_summary(each))

    await asyncio.to_thread(LINK.call, machines.memberships["ann"], BOARD, write)


async def _put(bucket: Bucket, key: str, value: bytes) -> None:
    there = await bucket.get(key)
    if there:
        assert await bucket.compare_and_set(key, value, there.revision)
    else:
        assert await bucket.create(key, value)


def notes(client: Client) -> list[dict[str, Any]]:
    return [note["params"] for note in client.notes if note["method"] == "phasekeeper/fleetChanged"]


async def board(client: Client, **more: Any) -> Any:
    return await client.request("phasekeeper/fleetBoard", {"project": PROJECT, **more})


async def read_board(client: Client, **more: Any) -> Any:
    """The board once it was read."""
    if not (page := await board(client, **more))["isRead"]:
        await client.until(lambda: any(note["isRead"] for note in notes(client)))
        page = await board(client, **more)
    assert page["isRead"]
    return page


def look(project: Path, work: Callable[[Client], Awaitable[None]]) -> None:
    async def begin(client: Client) -> None:
        await client.initialize(project, phasekeeper={"client": "another"})
        await client.ready(project)
        await work(client)

    run_with(begin)


def test_an_editor_is_shown_the_runs_of_another_machine_and_told_of_every_change(
    machines: Machines, project: Path
) -> None:
    async def work(client: Client) -> None:
        joined = await client.request("phasekeeper/fleet", {})
        assert joined == {
            "fleets": [{"project": PROJECT, "member": "bob", "roots": [str(project)]}],
            "problem": "",
        }
        await tell(machines, row("a", questions=("approve",), title="Lend"), row("b"))
        page = await read_board(client)
        assert [run["run"] for run in page["runs"]] == ["a", "b"]
        assert page["counts"] == {"runs": 2, "going": 2, "questions": 1, "differing": 0, "unread": 0}
        assert page["runs"][0]["newest"]["member"] == "ann"
        await tell(machines, row("b", "4b"))
        change = await client.until(lambda: next((note for note in notes(client) if note["changed"]), None))
        (changed,) = change["changed"]
        assert (changed["run"], changed["newest"]["phase"], change["removed"]) == ("b", "4b", [])
        assert change["version"] > page["version"]
        one = await client.request("phasekeeper/fleetRun", {"project": PROJECT, "run": "a"})
        (clone,) = one["clones"]
        assert (clone["title"], clone["questions"], clone["root"]) == ("Lend", ["approve"], None)
        await asyncio.to_thread(LINK.call, machines.memberships["ann"], BOARD, _clear)
        await client.until(lambda: {run for note in notes(client) for run in note["removed"]} == {"a", "b"})
        assert (await board(client))["runs"] == []

    look(project, work)


def test_who_asks_right_after_the_start_is_answered_once_the_root_was_looked_at(project: Path) -> None:
    async def work(client: Client) -> None:
        await client.initialize(project, phasekeeper={"client": "another"})
        joined = client.ask("phasekeeper/fleet", {})
        page = client.ask("phasekeeper/fleetBoard", {"project": PROJECT})
        assert [each["project"] for each in (await joined)["fleets"]] == [PROJECT]
        assert (await page)["project"] == PROJECT

    run_with(work)


def test_a_clone_that_the_editor_has_open_is_known_by_its_root(machines: Machines, project: Path) -> None:
    own = row("a", member="bob", clone=key_token(str(project)))

    async def work(client: Client) -> None:
        key = summary_key("bob", own.clone, "a")
        write = machines.memberships["bob"], BOARD, lambda bucket: _put(bucket, key, format_summary(own))
        await asyncio.to_thread(LINK.call, *write)
        await tell(machines, row("a", "5a"))
        page = await read_board(client)
        assert (page["runs"][0]["differs"], page["counts"]["differing"]) == (True, 1)
        one = await client.request("phasekeeper/fleetRun", {"project": PROJECT, "run": "a"})
        assert [(each["member"], each["root"]) for each in one["clones"]] == [
            ("ann", None),
            ("bob", str(project)),
        ]
        free = machines.memberships["bob"], BOARD, lambda bucket: _put(bucket, key, b"")
        await asyncio.to_thread(LINK.call, *free)

    look(project, work)


def test_pages_are_bounded_and_a_change_of_more_than_a_page_is_asked_for_anew(
    machines: Machines, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet, "MOST_RUNS", 3)
    monkeypatch.setattr(fleet, "PAUSE_S", 1.0)

    async def work(client: Client) -> None:
        await tell(machines, *(row(f"r-{number}") for number in range(12)))
        first = await read_board(client, limit=5)
        assert len(first["runs"]) == 5
        after = await board(client, limit=50, after=first["next"])
        names = [run["run"] for run in (*first["runs"], *after["runs"])]
        assert (names, after["next"]) == ([f"r-{number}" for number in range(12)], None)
        with pytest.raises(ErrorResponse, match="no cursor"):
            await board(client, after="r-5")
        # Of what comes within a pause more is different than a page has.
        begun = len(notes(client))
        await tell(machines, *(row(f"r-{number}", "4b") for number in range(12)))
        await client.until(lambda: any(note["anew"] for note in notes(client)[begun:]))
        assert all(len(note["changed"]) <= 3 for note in notes(client))

    look(project, work)


def test_what_is_no_summary_is_counted_and_shown_to_nobody(machines: Machines, project: Path) -> None:
    async def work(client: Client) -> None:
        async def write(bucket: Bucket) -> None:
            await _put(bucket, "ann.c.garbage", b"<script>")
            forged = row("a", member="bob")
            await _put(bucket, summary_key("ann", "c", "a"), format_summary(forged))

        await asyncio.to_thread(LINK.call, machines.memberships["ann"], BOARD, write)
        page = await read_board(client)
        assert (page["runs"], page["counts"]["unread"]) == ([], 2)

    look(project, work)


def test_a_board_is_followed_once_for_all_editors_and_only_while_one_shows_it(
    machines: Machines, project: Path
) -> None:
    async def readers() -> int:
        """How many read the board, as NATS says."""

        async def count(bucket: Any) -> int:
            info = await bucket._jetstream.stream_info("KV_board")
            return info.state.consumer_count

        return await asyncio.to_thread(LINK.call, admin, BOARD, count)

    async def until_readers(wanted: int) -> None:
        for _ in range(_BOUND):
            if await readers() == wanted:
                return
            await asyncio.sleep(_LOOK_S)
        raise AssertionError(f"the board is not read by {wanted}")

    async def scene() -> None:
        async with engine_of() as engine, client_of(engine) as one, client_of(engine) as other:
            for client in (one, other):
                await client.initialize(project, phasekeeper={"client": "another"})
                await client.ready(project)
            # Those of the test before have gone by then.
            await until_readers(0)
            for client in (one, other):
                await read_board(client)
            await until_readers(1)
            await tell(machines, row("a"))
            for client in (one, other):
                await client.until(lambda client=client: any(note["changed"] for note in notes(client)))
            await one.request("phasekeeper/fleetHidden", {"project": PROJECT})
            assert await readers() == 1
            await tell(machines, row("b"))
            await other.until(lambda: "b" in {r["run"] for note in notes(other) for r in note["changed"]})
            assert "b" not in {run["run"] for note in notes(one) for run in note["changed"]}
            # Whoever goes shows nothing any more.
            await other.close()
            await until_readers(0)

    with machines.on("host"):
        seed = read_seed(add_member(PROJECT, ADMIN))
    admin = machines.memberships["ann"]._replace(member=ADMIN, seed=seed)
    asyncio.run(asyncio.wait_for(scene(), 4 * BOUND_S))


def test_servers_that_are_lost_are_told_of_with_the_time_and_the_board_comes_back(
    machines: Machines, project: Path
) -> None:
    async def work(client: Client) -> None:
        await tell(machines, row("a"), row("b"))
        assert len((await read_board(client))["runs"]) == 2
        await asyncio.to_thread(machines.stop)
        lost = await client.until(lambda: next((note for note in notes(client) if note["outage"]), None))
        assert lost["outage"]["since"][:4].isdigit() and lost["outage"]["why"]
        page = await board(client)
        assert (page["outage"], [run["run"] for run in page["runs"]]) == (lost["outage"], ["a", "b"])
        count = len(notes(client))
        await asyncio.to_thread(machines.start)
        await client.until(lambda: any(not note["outage"] and note["anew"] for note in notes(client)[count:]))
        assert (await board(client))["outage"] is None
        await tell(machines, row("a", "5b"))
        await client.until(
            lambda: any(run["newest"]["phase"] == "5b" for note in notes(client) for run in note["changed"])
        )

    look(project, work)


def test_a_project_that_is_not_joined_has_no_board(machines: Machines, project: Path, tmp_path: Path) -> None:
    async def work(client: Client) -> None:
        put(project / ".phasekeeper/config.yaml", "fleet: {project: elsewhere}\n")
        assert await client.request("phasekeeper/fleet", {}) == {"fleets": [], "problem": ""}
        for method in ("fleetBoard", "fleetRun"):
            with pytest.raises(
                ErrorResponse, match="no root that this connection has open is of the project"
            ):
                await client.request(f"phasekeeper/{method}", {"project": PROJECT})
            with pytest.raises(ErrorResponse, match="has not joined elsewhere: phasekeeper fleet join URL"):
                await client.request(f"phasekeeper/{method}", {"project": "elsewhere"})
        assert await client.request("phasekeeper/fleetHidden", {"project": PROJECT}) == {}

    look(project, work)


def test_a_machine_that_joined_nothing_is_asked_for_nothing(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "nowhere"))

    async def work(client: Client) -> None:
        assert await client.request("phasekeeper/fleet", {}) == {"fleets": [], "problem": ""}
        with pytest.raises(ErrorResponse, match="this machine has joined no fleet"):
            await board(client)

    look(project, work)


def test_memberships_that_others_can_read_are_told_of(project: Path, tmp_path: Path) -> None:
    async def work(client: Client) -> None:
        path.chmod(0o644)
        answer = await client.request("phasekeeper/fleet", {})
        path.chmod(0o600)
        assert answer["fleets"] == [] and str(path) in answer["problem"]

    path = fleet_path()
    look(project, work)
