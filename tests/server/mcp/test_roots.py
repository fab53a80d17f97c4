"""Which root a call is about: the argument, else the client's own roots, else the connection's folder."""

from __future__ import annotations

import asyncio
import errno
import os
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError
from phasekeeper.server.disk import safe_open
from phasekeeper.server.mcp import client as clients
from phasekeeper.server.mcp.client import ClientSession
from phasekeeper.server.mcp.uris import resource_uri

from tests.roots import TASKS, put, task
from tests.server.mcp.rig import ERAS, async_test, call, refusal, rig, text

eras = pytest.mark.parametrize("era", ERAS)


class Roots:
    """A client that tells its roots, and how often it was asked."""

    def __init__(self, *folders: Path | str) -> None:
        self.folders = folders
        self.asked = 0

    async def __call__(self, context: Any) -> types.ListRootsResult:
        self.asked += 1
        uris = [folder if isinstance(folder, str) else folder.as_uri() for folder in self.folders]
        return types.ListRootsResult(roots=[types.Root(uri=uri) for uri in uris])  # pyright: ignore


def two(root: Path) -> tuple[Path, Path]:
    for name in ("a", "b"):
        (root / name / ".git").mkdir(parents=True)
        task(root / name, f"T-{name}")
    return root / "a", root / "b"


@eras
@async_test
async def test_a_client_s_roots_come_before_the_folder_of_its_connection(root: Path, era: str) -> None:
    a, b = two(root)
    told = Roots(b)
    async with rig() as r, r.client(a, era, list_roots_callback=told) as client:
        assert (await call(client, "status"))["root"] == str(b)
        assert (await call(client, "next_step"))["run"] == f"{TASKS}/T-b"
        assert told.asked == 1
        assert (await call(client, "next_step", root=str(a)))["run"] == f"{TASKS}/T-a"
    async with rig() as r, r.client(a, era) as client:
        assert (await call(client, "status"))["root"] == str(a)


@eras
@async_test
async def test_several_roots_with_runs_are_refused_with_the_list(root: Path, era: str) -> None:
    a, b = two(root)
    (root / "empty" / ".git").mkdir(parents=True)
    told = Roots(a, b, root / "empty", "file:///nowhere/at/all")
    async with rig() as r, r.client(root, era, list_roots_callback=told) as client:
        said = await refusal(client, "status")
        assert f"name one with root=: {a}; {b}" in said
        assert (await call(client, "status", root=str(b)))["root"] == str(b)


@async_test
async def test_of_several_roots_the_one_with_runs_is_meant(root: Path) -> None:
    a, _ = two(root)
    (root / "empty" / ".git").mkdir(parents=True)
    async with rig() as r, r.client(root, list_roots_callback=Roots(root / "empty", a)) as client:
        assert (await call(client, "status"))["root"] == str(a)


@async_test
async def test_roots_that_change_are_asked_for_again(root: Path) -> None:
    a, b = two(root)
    told = Roots(a)
    async with rig() as r, r.client(a, "legacy", list_roots_callback=told) as client:
        assert (await call(client, "status"))["root"] == str(a)
        told.folders = (b,)
        await client.session.send_roots_list_changed()
        assert (await call(client, "status"))["root"] == str(b)


@eras
@async_test
async def test_lists_and_prompts_are_of_the_same_root_before_any_tool_was_called(
    root: Path, era: str
) -> None:
    """A list cannot ask for roots in the newer protocol, a prompt can."""
    a, _ = two(root)
    told = Roots(a)
    async with rig() as r, r.client(a, era, list_roots_callback=told) as client:
        names = [each.name for each in (await client.list_resources()).resources]
        assert names == ["evaluation schema", f"runs of {a}", f"{TASKS}/T-a"]
        ref = types.PromptReference(type="ref/prompt", name="next")
        completed = await client.complete(ref, {"name": "run", "value": "T"})
        assert completed.completion.values == [f"{TASKS}/T-a"]
    async with rig() as r, r.client(root, era, list_roots_callback=told) as client:
        asked = (await client.get_prompt("next", {})).messages[0].content
        assert isinstance(asked, types.TextContent)
        assert f"{TASKS}/T-a" in asked.text


class Odd(types.ListRootsResult):
    """What a client sends whose workspace lies on no disk."""

    def model_dump(self, **_: Any) -> dict[str, Any]:
        return {"roots": [{"uri": "memory://somewhere/else"}]}


@async_test
async def test_a_client_whose_roots_are_no_files_works_in_the_folder_of_its_connection(root: Path) -> None:
    a, _ = two(root)

    async def told(_: Any) -> Any:
        return Odd(roots=[])

    async with rig() as r, r.client(a, "legacy", list_roots_callback=told) as client:
        assert (await call(client, "status"))["root"] == str(a)


@async_test
async def test_a_home_that_nobody_has_is_no_root(root: Path) -> None:
    async with rig() as r, r.client(root) as client:
        assert "absolute path" in await refusal(client, "status", root="~nobody-of-that-name/work")


_WRITING = (
    ("report", {"run": "T-b", "step": "plan_review", "outcome": "done"}),
    ("escalations", {"run": "T-b", "ask": "May I?"}),
    ("next_step", {"run": "T-b", "claim": True}),
    ("request_decision", {"run": "T-b"}),
    ("status", {}),
    ("check_gate", {"run": "T-b"}),
    ("check_action", {"run": "T-b", "step": "test"}),
    ("wait_for_change", {"run": "T-b", "since": "x"}),
)


@eras
@async_test
async def test_nothing_is_read_or_recorded_outside_of_what_a_connection_works_in(
    root: Path, era: str
) -> None:
    """The folder in which the connector was started, the client's own folders, those a person has served."""
    a, b = two(root)
    (a / "link").symlink_to(b)
    before = {path: path.read_bytes() for path in b.rglob("*") if path.is_file()}
    async with rig() as r, r.client(a, era, list_roots_callback=Roots(a)) as client:
        for tool, arguments in _WRITING:
            for named in (b, b / TASKS, a / "link", a / ".." / "b"):
                said = await refusal(client, tool, root=str(named), **arguments)
                assert f"lies outside of this connection, which works in {a}" in said, tool
                assert "`phasekeeper serve FOLDER`" in said
        for uri in (resource_uri(str(b)), resource_uri(str(b), f"{TASKS}/T-b", "history")):
            with pytest.raises(MCPError, match="lies outside of this connection"):
                await client.read_resource(uri)
        with pytest.raises(MCPError, match="lies outside of this connection"):
            await client.get_prompt("next", {"root": str(b)})
        assert r.hold_counts() == {a: 1}
    assert {path: path.read_bytes() for path in b.rglob("*") if path.is_file()} == before


@async_test
async def test_nothing_is_subscribed_to_outside_of_what_a_connection_works_in(root: Path) -> None:
    a, b = two(root)
    async with rig() as r, r.client(a, "legacy") as client:
        with pytest.raises(MCPError, match="lies outside of this connection"):
            await client.session.subscribe_resource(resource_uri(str(b)))
        assert r.hold_counts() == {a: 1}
    async with (
        rig() as r,
        r.client(a) as client,
        client.listen(resource_subscriptions=[resource_uri(str(b))]),
    ):
        assert b not in r.hold_counts()


@eras
@async_test
async def test_a_client_is_asked_for_its_roots_when_a_call_names_another_folder(root: Path, era: str) -> None:
    a, b = two(root)
    told = Roots(b)
    async with rig() as r, r.client(a, era, list_roots_callback=told) as client:
        assert (await call(client, "next_step", root=str(b / TASKS / "T-b")))["root"] == str(b)
        content = (await client.read_resource(resource_uri(str(b), f"{TASKS}/T-b"))).contents[0]
        assert isinstance(content, types.TextResourceContents)
        assert told.asked == 1


@eras
@async_test
async def test_the_root_around_a_connection_s_folder_is_its_own_with_all_below(root: Path, era: str) -> None:
    put(root / ".phasekeeper/config.yaml", "projects: [packages/*]\n")
    task(root, "T1")
    task(root / "packages/shop", "T2")
    (root / "docs").mkdir()
    async with rig() as r, r.client(root / "docs", era) as client:
        for named in (root, root / TASKS, root / "packages/shop"):
            assert (await call(client, "status", root=str(named)))["root"] in (str(root), str(named))


@async_test
async def test_a_connection_in_the_home_folder_works_in_no_folder_below_it(root: Path, monkeypatch) -> None:
    """Some clients start their connectors there whatever they work in."""
    a, _ = two(root)
    monkeypatch.setenv("HOME", str(root))
    for folder in (root, Path(root.anchor)):
        async with rig() as r, r.client(folder) as client:
            assert "lies outside" in await refusal(client, "status", root=str(a))
    async with rig() as r, r.client(root, list_roots_callback=Roots(a)) as client:
        assert (await call(client, "status", root=str(a)))["root"] == str(a)


@async_test
async def test_what_one_caller_looked_at_is_not_remembered_without_bound(root: Path, monkeypatch) -> None:
    monkeypatch.setattr(clients, "MOST_FOLDERS", 1)
    a, b = two(root)
    async with rig() as r:
        client = ClientSession(r.assistants.open_roots, a, "one")
        for folder in (a, b, a / ".." / "b"):
            await client.hold(folder)
        assert client._holds.keys() == {a / ".." / "b"}
        client.close()
        assert r.hold_counts() == {}


@async_test
async def test_a_folder_in_a_run_means_the_root_around_it_and_a_worktree_is_its_own(root: Path) -> None:
    a, b = two(root)
    (b / ".git").rmdir()
    put(b / ".git", "gitdir: ../a/.git/worktrees/b\n")
    async with rig() as r, r.client(a / TASKS / "T-a") as client:
        assert (await call(client, "status"))["root"] == str(a)
    async with rig() as r, r.client(root) as client:
        assert (await call(client, "status", root=str(b / TASKS)))["root"] == str(b)


@async_test
async def test_runs_of_projects_are_named_from_the_root(root: Path) -> None:
    put(root / ".phasekeeper/config.yaml", "projects: [packages/*]\n")
    task(root / "packages/shop", "T1")
    task(root / "packages/bill", "T1")
    async with rig() as r, r.client(root) as client:
        names = [each["run"] for each in (await call(client, "status"))["runs"]]
        assert names == [f"packages/bill/{TASKS}/T1", f"packages/shop/{TASKS}/T1"]
        assert "more than one run" in await refusal(client, "next_step", run="T1")
        data = await call(client, "next_step", run=names[1])
        assert (data["root"], data["run"]) == (str(root / "packages/shop"), f"{TASKS}/T1")
        assert (await call(client, "next_step", root=data["root"], run=data["run"]))["root"] == data["root"]


@async_test
async def test_projects_that_the_configuration_comes_to_name_are_known_at_the_next_call(root: Path) -> None:
    config = put(root / ".phasekeeper/config.yaml", "projects: []\n")
    task(root, "T1")
    task(root / "packages/shop", "T2")
    async with rig() as r, r.client(root) as client:
        assert [each["run"] for each in (await call(client, "status"))["runs"]] == [f"{TASKS}/T1"]
        put(config, "projects: [packages/*]\n")
        await r.assistants.open_roots.engine.refresh(root, [config])
        names = [each["run"] for each in (await call(client, "status"))["runs"]]
        assert names == [f"{TASKS}/T1", f"packages/shop/{TASKS}/T2"]


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
@async_test
async def test_no_link_leads_out_of_the_root(root: Path) -> None:
    secret = put(root.parent / "secret.md", "# the secret\n")
    folder = task(root, "T1")
    (folder / "planning/planning.ai.json").unlink()
    (folder / "planning/planning.ai.json").symlink_to(secret)
    (root / TASKS / "T2").symlink_to(root.parent)
    async with rig() as r, r.client(root) as client:
        for tool in ("status", "next_step", "check_gate"):
            assert "the secret" not in await text(client, tool, **({} if tool == "status" else {"run": "T1"}))
        assert [each["run"] for each in (await call(client, "status"))["runs"]] == [f"{TASKS}/T1"]


@async_test
async def test_a_broken_definition_is_told_and_hides_no_other_run(root: Path) -> None:
    task(root, "T1")
    put(root / ".phasekeeper/workflows/mine.yaml", "workflow: mine\nphases: 7\n")
    async with rig() as r, r.client(root) as client:
        said = await text(client, "status")
        assert "a definition cannot be used, .phasekeeper/workflows/mine.yaml" in said
        assert f"{TASKS}/T1: active" in said


@async_test
async def test_runs_that_are_missing_because_a_folder_cannot_be_listed_are_not_said_to_be_absent(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task(root, "T1")
    listed = safe_open.list_folder

    def list_folder(of: str, folder: str) -> safe_open.FolderNames:
        if folder == TASKS:
            raise OSError(errno.EMFILE, "Too many open files")
        return listed(of, folder)

    monkeypatch.setattr(safe_open, "list_folder", list_folder)

    said = f"runs may be missing, {TASKS}: too many open files"
    async with rig() as r, r.client(root) as client:
        assert said in await text(client, "status")
        assert said in await refusal(client, "report", run="T1", step="codegen", outcome="ok")


@async_test
async def test_who_leaves_lets_go_of_what_was_open(root: Path) -> None:
    a, b = two(root)
    async with rig() as r:
        async with r.client(root) as client, r.client(b) as other:
            await call(client, "status", root=str(b))
            await call(client, "status", root=str(a))
            await call(other, "status")
            assert r.hold_counts() == {a: 1, b: 2}
        assert r.hold_counts() == {}


@async_test
async def test_a_call_that_is_ended_while_it_lets_go_leaves_nothing_open(root: Path) -> None:
    """A root and its project: whoever waits between the two may be ended there."""
    (root / "packages/a/.git").mkdir(parents=True)
    put(root / ".phasekeeper/config.yaml", "projects: [packages/*]\n")
    async with rig() as r:
        client = ClientSession(r.assistants.open_roots, root, "one")
        await client.hold(root)
        assert list(r.hold_counts().values()) == [1, 1]
        roots, opened = client._holds[root]
        client._holds[root] = roots, opened - clients.REOPEN_AFTER_S
        calling = asyncio.ensure_future(client.hold(root))
        while not calling.done() and 2 not in r.hold_counts().values():
            await asyncio.sleep(0)
        calling.cancel()
        await asyncio.wait([calling])
        assert list(r.hold_counts().values()) == [1, 1]
        client.close()
        assert r.hold_counts() == {}


@async_test
async def test_a_stream_of_changes_that_is_cut_off_leaves_nothing_open(root: Path) -> None:
    a, b = two(root)
    async with rig() as r, r.client(root) as client:
        await call(client, "status", root=str(a))
        await call(client, "status", root=str(b))
        uris = [resource_uri(str(a)), resource_uri(str(b))]
        async with client.listen(resource_subscriptions=uris):
            while r.hold_counts() != {a: 2, b: 2}:
                await asyncio.sleep(0)
        while r.hold_counts()[a] == 2:
            await asyncio.sleep(0)
        await call(client, "status", root=str(a))
        assert r.hold_counts() == {a: 1, b: 1}
