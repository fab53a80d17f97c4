"""The same answers by each way in: alone on standard streams, through the server, and over HTTP."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, cast

import httpx2
import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from phasekeeper.server.hub.http_listener import load_token, serve_http
from phasekeeper.server.hub.hub import Hub
from phasekeeper.server.mcp import client as clients
from phasekeeper.server.mcp.uris import resource_uri

from tests.roots import TASKS, loop, plan, put, task
from tests.server.mcp.rig import ERAS, LIMIT_S, async_test, call, refusal, rig
from tests.server.mcp.test_deciding import Person, records
from tests.server.mcp.test_resources import NotificationLog
from tests.server.servers import Home, homes

eras = pytest.mark.parametrize("era", ERAS)
CODE = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n"


@pytest.fixture
def home() -> Iterator[Home]:
    with homes() as made:
        yield made


async def work_on_task(client: Client, root: Path, number: int) -> None:
    """One task from its reviewed plan to its review: a look, a report, and the file that the look names."""
    run = f"{TASKS}/T{number}"
    folder = task(root, f"T{number}")
    step = await call(client, "wait_for_change", since="", timeout=30)
    while run not in [each["run"] for each in step["runs"]]:
        step = await call(client, "wait_for_change", since=step["revision"], timeout=30)
    assert (await call(client, "next_step", run=run))["suggestion"]["suggestedNext"] == "codegen"
    put(folder / "code/diff.patch", CODE)
    put(folder / "code/files/x.py", "b\n")
    after = await call(client, "report", run=run, step="codegen", outcome="ok")
    assert after["suggestion"]["suggestedNext"] == "review"


# ---- standard streams -------------------------------------------------------------------------


def connector_parameters(home: Home, root: Path, *more: str) -> StdioServerParameters:
    words = ["-I", "-m", "phasekeeper", "mcp", *more]
    return StdioServerParameters(command=sys.executable, args=words, cwd=root, env=home.env)


@eras
@async_test
async def test_alone_on_standard_streams(root: Path, home: Home, era: str) -> None:
    async with Client(connector_parameters(home, root, "--standalone"), mode=cast(Any, era)) as client:
        await work_on_task(client, root, 1)


@async_test
async def test_several_assistants_through_the_server_of_the_user(root: Path, home: Home) -> None:
    home.server()
    first, second = connector_parameters(home, root), connector_parameters(home, root)
    async with Client(first, mode="auto") as one, Client(second, mode="legacy") as other:
        await work_on_task(one, root, 1)
        await work_on_task(other, root, 2)
        assert (await call(one, "status"))["revision"] == (await call(other, "status"))["revision"]
    assert len(home.information()["roots"]) == 1


def test_nothing_but_the_protocol_comes_out(root: Path, home: Home) -> None:
    """Whatever is thrown in, every line that comes out is a message; at the end of the input it ends."""
    task(root, "T1")
    process = home.start("mcp", "--standalone", cwd=root)
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    calls = [("status", {"root": "/a\0b"}), ("next_step", {}), ("no_tool", {})]
    sent = [{"id": 1, "method": "initialize", "params": hello}, {"method": "notifications/initialized"}]
    sent += [
        {"id": number, "method": "tools/call", "params": {"name": name, "arguments": given}}
        for number, (name, given) in enumerate(calls, 2)
    ]
    lines = [json.dumps({"jsonrpc": "2.0", **each}).encode() for each in sent]
    rubbish = [b"not json", b"[]", b"\xff\xfe", b'{"jsonrpc": "2.0", "id": {}}', b"[" * 100_000, b"", b"{}"]
    process.stdin.write(b"\n".join([*lines[:2], *rubbish, *lines[2:]]) + b"\n")
    process.stdin.flush()
    answers: dict[Any, Any] = {}
    while not answers.keys() >= {1, 2, 3, 4}:
        answer = json.loads(process.stdout.readline())
        assert answer["jsonrpc"] == "2.0"
        answers[answer.get("id")] = answer
    assert answers[2]["result"]["isError"] is True
    assert answers[3]["result"]["structuredContent"]["run"] == f"{TASKS}/T1"
    assert answers[4]["error"]["code"] == -32602
    out, _ = process.communicate(timeout=LIMIT_S)
    assert (out, process.returncode) == (b"", 0)


_PING = '{"jsonrpc": "2.0", "id": %s, "method": "ping"}'


@pytest.mark.parametrize(
    ("line", "code", "request_id"),
    [
        ("{not json", -32700, None),
        ("[" * 3_000 + "]" * 3_000, -32700, None),
        (
            '{"jsonrpc": "2.0", "id": 7, "method": "ping", "params": {"a": %s}}'
            % ("[" * 3_000 + "]" * 3_000),
            -32700,
            None,
        ),
        ("[]", -32600, None),
        ('"ping"', -32600, None),
        (_PING % "null", -32600, None),
        (_PING % "true", -32600, None),
        (_PING % "{}", -32600, None),
        ('{"jsonrpc": "2.0", "id": "x", "method": 3}', -32600, "x"),
        ('{"jsonrpc": "2.0", "id": 4}', -32600, 4),
    ],
)
@async_test
async def test_a_line_that_is_no_message_is_answered_with_the_error_of_the_protocol(
    root: Path, line: str, code: int, request_id: Any
) -> None:
    async with rig() as r, r.streams(root) as (reader, writer):
        writer.write(f"{line}\n{_PING % 9}\n".encode())
        error = json.loads(await asyncio.wait_for(reader.readline(), LIMIT_S))
        assert (error["jsonrpc"], error["id"], error["error"]["code"]) == ("2.0", request_id, code)
        assert json.loads(await asyncio.wait_for(reader.readline(), LIMIT_S))["id"] == 9


@pytest.mark.parametrize(
    "line",
    ['{"jsonrpc": "2.0", "method": "notifications/x"}', '{"jsonrpc": "2.0", "id": 5, "result": {}}', ""],
)
@async_test
async def test_what_asks_for_nothing_is_not_answered(root: Path, line: str) -> None:
    async with rig() as r, r.streams(root) as (reader, writer):
        writer.write(f"{line}\n{_PING % 9}\n".encode())
        assert json.loads(await asyncio.wait_for(reader.readline(), LIMIT_S))["id"] == 9


@async_test
async def test_a_message_without_an_end_ends_its_connection_alone(root: Path) -> None:
    task(root, "T1")
    async with rig() as r, r.client(root) as client:
        async with r.streams(root) as (reader, writer):
            with suppress(ConnectionError):
                for _ in range(40):
                    writer.write(b"x" * (256 << 10))
                    await writer.drain()
            with suppress(ConnectionError):
                assert await asyncio.wait_for(reader.read(), LIMIT_S) == b""
        assert (await call(client, "next_step"))["run"] == f"{TASKS}/T1"


# ---- HTTP -------------------------------------------------------------------------------------


@asynccontextmanager
async def over_http(*named: Path) -> AsyncIterator[tuple[Hub, str, str]]:
    """A server of named roots with its HTTP port: (it, the address, the token)."""
    hub = Hub(asyncio.get_running_loop())
    hub.served_roots.update(named)
    try:
        async with serve_http(hub, 0):
            yield hub, hub.about["http"], load_token()[0]
    finally:
        await hub.stop()


@async_test
async def test_over_http_whoever_is_told_the_address_is_served(root: Path) -> None:
    hub = Hub(asyncio.get_running_loop())
    async with AsyncExitStack() as stack:
        starting = asyncio.create_task(stack.enter_async_context(serve_http(hub, 0)))
        while "http" not in hub.about:
            await asyncio.sleep(0)
        assert not starting.done()
        async with httpx2.AsyncClient(timeout=httpx2.Timeout(LIMIT_S)) as http:
            assert (await http.post(hub.about["http"], json={})).status_code == 401
        await starting
    await hub.stop()


@asynccontextmanager
async def http_client(url: str, token: str, era: str, **options: Any) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=httpx2.Timeout(LIMIT_S)) as http:
        transport = cast(Any, streamable_http_client(url, http_client=http))
        async with Client(transport, mode=cast(Any, era), **options) as client:
            yield client


@eras
@async_test
async def test_over_http_with_the_roots_of_the_client(root: Path, era: str) -> None:
    loop(root)

    async def roots(_: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=cast(Any, root.as_uri()))])

    person = Person(decision="resolve", reason="over HTTP too")
    async with over_http() as (_, url, token):
        told = {"list_roots_callback": roots, "elicitation_callback": person}
        async with http_client(url, token, era, **told) as client:
            assert len((await client.list_tools()).tools) == 8
            data = await call(client, "request_decision")
            assert data["status"] == "active"
            content = (await client.read_resource(resource_uri(str(root), ".claude/state"))).contents[0]
            assert json.loads(cast(Any, content).text)["status"] == "active"
    assert [entry["why"] for entry in records(root)] == ["over HTTP too"]


@eras
@async_test
async def test_over_http_a_client_without_roots_works_in_what_a_person_has_served(
    root: Path, era: str
) -> None:
    task(root, "T1")
    async with over_http() as (hub, url, token), http_client(url, token, era) as client:
        assert "works in no folder; a person can open a folder" in await refusal(client, "status")
        assert "`phasekeeper serve FOLDER`" in await refusal(client, "next_step", root=str(root))
        hub.served_roots[root] += 1
        assert (await call(client, "next_step", root=str(root)))["run"] == f"{TASKS}/T1"
        assert (await call(client, "next_step"))["run"] == f"{TASKS}/T1"
        hub.served_roots.subtract([root])
        assert "works in no folder" in await refusal(client, "next_step", root=str(root))


@async_test
async def test_over_http_a_record_tells_sessions_apart_without_their_ids(root: Path) -> None:
    run = f"{TASKS}/T1"
    task(root, "T1")
    async with over_http(root) as (_, url, token):
        for number in (1, 2):
            async with http_client(url, token, "legacy") as client:
                await call(client, "escalations", root=str(root), run=run, ask=f"Which of them, {number}?")
    actors = [entry["actor"] for entry in records(root, run)]
    assert len(set(actors)) == 2
    assert all(re.fullmatch(r"\S+ [0-9a-f]{8}", actor) for actor in actors)


@async_test
async def test_over_http_a_caller_without_a_session_keeps_its_claims_token_itself(root: Path) -> None:
    plan(root, "lists", 3, done=1)
    (root / "made.py").write_text("")
    where = {"root": str(root), "run": ".orchestrator/tasks/lists", "agent": "Grace"}
    said = {**where, "step": "4a", "outcome": "complete", "tasks": ["lists-2"], "summary": "wrote made.py"}
    async with over_http(root) as (_, url, token), http_client(url, token, "auto") as client:
        mine = (await call(client, "next_step", **where, claim=True))["claim"]
        assert mine["task"] == "lists-2"
        again = await call(client, "next_step", **where, claim=True, token=mine["token"])
        assert (again["claim"]["task"], again["claim"]["token"]) == ("lists-2", mine["token"])
        other = await call(client, "next_step", **where, claim=True)
        assert (other["claim"]["task"], other["claim"]["token"] != mine["token"]) == ("lists-3", True)
        assert "is claimed by Grace" in await refusal(client, "report", **said)
        assert "is claimed by Grace" in await refusal(client, "report", **said, token=other["claim"]["token"])
        after = await call(client, "report", **said, token=mine["token"])
        assert "4a complete" in after["recorded"]


@async_test
async def test_over_http_subscribers_of_both_eras_are_told(root: Path) -> None:
    folder = task(root, "T1")
    heard = NotificationLog()
    uri = resource_uri(str(root), f"{TASKS}/T1")
    async with over_http(root) as (hub, url, token):
        old = http_client(url, token, "legacy", message_handler=heard)
        async with old as legacy, http_client(url, token, "auto") as modern:
            assert (await legacy.list_resources()).resources
            await legacy.session.subscribe_resource(uri)
            async with modern.listen(resource_subscriptions=[uri]) as events:
                put(folder / "review/plan-review.json", {"ok": False})
                await hub.engine.refresh(root, [folder / "review/plan-review.json"])
                told = await heard.until(types.ResourceUpdatedNotification)
                assert str(told.params.uri) == uri
                event = await asyncio.wait_for(anext(aiter(events)), LIMIT_S)
                assert getattr(event, "uri", None) == uri


@async_test
async def test_over_http_a_session_that_ends_leaves_nothing_behind(root: Path) -> None:
    task(root, "T1")
    async with over_http(root) as (hub, url, token):
        assistants = await hub.assistants()
        async with http_client(url, token, "legacy") as client, http_client(url, token, "legacy") as other:
            await call(client, "status")
            await call(other, "status")
            assert len(assistants._http_sessions) == len(assistants.notifier._sessions) == 2
            assert assistants.open_roots.counts == {root: 2}
        while assistants._http_sessions:
            await asyncio.sleep(0)
        assert (len(assistants.notifier._sessions), assistants.open_roots.counts) == (0, {})


@async_test
async def test_over_http_no_client_has_another_let_go_of_what_it_hears_of(root: Path, monkeypatch) -> None:
    monkeypatch.setattr(clients, "MOST_FOLDERS", 1)
    for name in ("a", "b", "c"):
        task(root / name, "T1")
        (root / name / ".git").mkdir()
    heard = NotificationLog()
    uri = resource_uri(str(root / "a"), f"{TASKS}/T1")
    async with over_http(root) as (hub, url, token):
        old = http_client(url, token, "legacy", message_handler=heard)
        async with old as client, http_client(url, token, "auto") as modern:
            await client.session.subscribe_resource(uri)
            async with modern.listen(resource_subscriptions=[uri]) as events:
                for name in ("b", "c"):
                    await call(modern, "status", root=str(root / name))
                said = await refusal(client, "status", root=str(root / "b"))
                assert "subscribed to 1 folders, which is the most; unsubscribe" in said
                put(root / "a" / TASKS / "T1/review/plan-review.json", {"ok": False})
                await hub.engine.refresh(root / "a", [root / "a" / TASKS])
                await heard.until(types.ResourceUpdatedNotification)
                event = await asyncio.wait_for(anext(aiter(events)), LIMIT_S)
                assert getattr(event, "uri", None) == uri
            await client.session.unsubscribe_resource(uri)
            assert (await call(client, "status", root=str(root / "b")))["root"] == str(root / "b")


@async_test
async def test_over_http_nobody_comes_in_without_the_token_or_from_elsewhere(root: Path) -> None:
    async with over_http() as (_, url, token), httpx2.AsyncClient() as http:
        right = {"Authorization": f"Bearer {token}"}
        ask = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        for headers in ({}, {"Authorization": f"Bearer {token}x"}, {"Authorization": token}):
            assert (await http.post(url, json=ask, headers=headers)).status_code == 401
        evil = {**right, "Origin": "http://evil.example"}
        assert (await http.post(url, json=ask, headers=evil)).status_code == 403
        rebound = {**right, "Host": "evil.example"}
        assert (await http.post(url, json=ask, headers=rebound)).status_code == 421
        big = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"x": "y" * (2 << 20)}}
        assert (await http.post(url, json=big, headers=right)).status_code == 413
