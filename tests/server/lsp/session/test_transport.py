"""What a connection does with messages that are wrong, too many, too early or late. No process ends of it."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import weakref
from pathlib import Path
from typing import Any

import pytest
from phasekeeper.server.live import worker
from phasekeeper.server.live.engine import Engine
from phasekeeper.server.lsp import server
from phasekeeper.server.lsp.requests import read
from phasekeeper.server.lsp.session import connection
from phasekeeper.server.lsp.session import transport as protocol

from tests.roots import task
from tests.server.lsp.client import BOUND_S, Client, ErrorResponse, client_of, engine_of, run_with


def frame(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


@pytest.mark.parametrize(
    "garbage",
    [
        b"hello\r\n\r\n",
        b"\x00\xff\xfe\x80garbage\n",
        b"Content-Length: -5\r\n\r\n",
        b"Content-Length: ten\r\n\r\n",
        b"Content-Type: x\r\n\r\n",
        b"Content-Length: 99999999999999\r\n\r\n",
        b"A: b\r\n" * 50,
    ],
)
def test_what_is_no_message_ends_this_connection_with_a_reason_and_no_other(root, garbage):
    task(root, "T1")

    async def work() -> None:
        async with engine_of() as engine, client_of(engine) as other, client_of(engine) as client:
            await other.initialize(root)
            client.send_bytes(garbage)
            await asyncio.wait_for(asyncio.wait([client.reading]), 30)
            assert client.errors[0]["error"]["code"] == protocol.PARSE_ERROR
            assert await other.ready(root)

    asyncio.run(work())


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{nonsense", protocol.PARSE_ERROR),
        (b"[" * 100_000, protocol.PARSE_ERROR),
        (b'"text"', protocol.INVALID_REQUEST),
        (b'{"id": 1, "method": "x"}', protocol.INVALID_REQUEST),
        (b'{"jsonrpc": "2.0", "id": 1, "method": 7}', protocol.INVALID_REQUEST),
    ],
)
def test_a_message_that_says_nothing_is_answered_with_an_error_and_the_next_is_heard(root, body, code):
    async def work(client: Client) -> None:
        client.send_bytes(frame(body))
        found = await client.until(lambda: client.errors)
        assert found[0]["error"]["code"] == code
        assert "capabilities" in await client.initialize(root)

    run_with(work)


def test_an_unknown_method_is_answered_and_an_unknown_notification_ignored(root):
    async def work(client: Client) -> None:
        await client.initialize(root)
        client.note("$/nobody", {"a": 1})
        client.note("nobody/knows", [1, 2])
        with pytest.raises(ErrorResponse) as failed:
            await client.request("nobody/asks", {"class": 1, "a-b": 2})
        assert failed.value.code == -32601

    run_with(work)


def test_parameters_of_the_wrong_shape_are_refused_with_a_sentence(root):
    async def work(client: Client) -> None:
        await client.initialize(root)
        with pytest.raises(ErrorResponse) as failed:
            await client.request("textDocument/hover", {"textDocument": 7})
        assert failed.value.code == -32602
        assert failed.value.data is None

    run_with(work)


def test_what_comes_before_initialize_and_after_shutdown_is_refused(root):
    async def work(client: Client) -> None:
        with pytest.raises(ErrorResponse) as early:
            await client.request("phasekeeper/board", {})
        assert early.value.code == protocol.NOT_INITIALIZED
        await client.initialize(root)
        with pytest.raises(ErrorResponse) as twice:
            await client.request("initialize", {"capabilities": {}})
        assert twice.value.code == protocol.INVALID_REQUEST
        assert await client.request("shutdown", None) is None
        with pytest.raises(ErrorResponse) as late:
            await client.request("phasekeeper/board", {})
        assert late.value.code == protocol.INVALID_REQUEST

    run_with(work)


@pytest.mark.parametrize(("with_shutdown", "code"), [(True, 0), (False, 1)])
def test_exit_ends_the_connection_and_says_whether_shutdown_came_before(root, with_shutdown, code):
    async def work() -> None:
        async with engine_of() as engine, client_of(engine) as client:
            await client.initialize(root)
            if with_shutdown:
                await client.request("shutdown", None)
            client.note("exit", None)
            await asyncio.wait_for(asyncio.wait([client.reading]), 30)
            assert await client.exit_status() == code

    asyncio.run(work())


def test_a_request_that_is_cancelled_is_answered_as_cancelled(root, monkeypatch):
    begun = asyncio.Event()

    async def never(connection, params):
        begun.set()
        await asyncio.Event().wait()

    monkeypatch.setitem(read.READ_REQUESTS, "phasekeeper/board", never)

    async def work(client: Client) -> None:
        await client.initialize(root)
        asked = client.ask("phasekeeper/board", {})
        await asyncio.wait_for(begun.wait(), 30)
        client.note("$/cancelRequest", {"id": client.last_id})
        with pytest.raises(ErrorResponse) as failed:
            await asyncio.wait_for(asked, 30)
        assert failed.value.code == -32800
        client.note("$/cancelRequest", {"id": 12345})
        uri = (root / "no.md").as_uri()
        assert await client.request("textDocument/codeLens", {"textDocument": {"uri": uri}}) is None

    run_with(work)


def test_an_error_of_ours_is_logged_once_and_told_without_a_traceback(root, monkeypatch, caplog):
    async def board(connection, params):
        raise RuntimeError("a secret of the server")

    monkeypatch.setitem(read.READ_REQUESTS, "phasekeeper/board", board)

    async def work(client: Client) -> None:
        await client.initialize(root)
        with pytest.raises(ErrorResponse) as failed:
            await client.request("phasekeeper/board", {})
        assert failed.value.code == protocol.INTERNAL_ERROR
        assert "secret" not in failed.value.message and failed.value.data is None

    with caplog.at_level(logging.DEBUG):
        run_with(work)
    assert (
        sum("a secret of the server" in (record.exc_text or record.message) for record in caplog.records) == 1
    )


def test_a_long_document_is_taken_and_the_next_request_answered(root):
    folder = task(root, "T1")

    async def work(client: Client) -> None:
        await client.initialize(root)
        await client.ready(root)
        uri = client.open(folder / "planning/planning.ai.json", json.dumps({"id": "x" * 4_000_000}))
        client.type(uri, 2, '{"id": 1}')
        assert await client.request("textDocument/documentSymbol", {"textDocument": {"uri": uri}}) == []

    run_with(work)


def test_an_editor_that_dies_in_the_middle_of_a_message_leaves_nothing_behind(root):
    async def work() -> None:
        async with engine_of() as engine:
            async with client_of(engine) as client:
                await client.initialize(root)
                await client.ready(root)
                client.send_bytes(b'Content-Length: 100\r\n\r\n{"jsonrpc"')
            async with client_of(engine) as client:
                await client.initialize(root)
                assert await client.ready(root)

    asyncio.run(work())


def test_a_connection_that_is_over_is_not_kept(root, monkeypatch):
    """What it held would be: its texts, and the boards of roots that nobody has open any more."""
    task(root, "T1")
    known = watch_connections(monkeypatch)

    async def work() -> None:
        async with engine_of() as engine:
            await engine.open(root)
            await come_and_go(engine, root)
            await until_collected(known)

    asyncio.run(asyncio.wait_for(work(), 4 * BOUND_S))


def test_what_was_there_at_the_first_look_at_a_root_goes_with_the_root(root, monkeypatch):
    """It is set aside from the search for garbage, and so are the connections that opened the root."""
    task(root, "T1")
    monkeypatch.setattr(worker, "IDLE_S", 0.0)
    monkeypatch.setattr(worker, "RESCAN_S", 0.01)
    known = watch_connections(monkeypatch)

    async def work() -> None:
        async with engine_of() as engine:
            await come_and_go(engine, root)
            while engine.boards():
                await asyncio.sleep(0)
            await until_collected(known)

    asyncio.run(asyncio.wait_for(work(), 4 * BOUND_S))


def watch_connections(monkeypatch: pytest.MonkeyPatch) -> weakref.WeakSet[connection.Connection]:
    """The connections there are, from now on."""
    known = weakref.WeakSet[connection.Connection]()

    def made(*given: Any) -> connection.Connection:
        one = kind(*given)
        known.add(one)
        return one

    kind = connection.Connection
    monkeypatch.setattr(server, "Connection", made)
    return known


async def until_collected(known: weakref.WeakSet[connection.Connection]) -> None:
    """Until none is left. A thread that has answered for one may not have let go of the question yet."""
    while known:
        await asyncio.sleep(0)
        gc.collect()


async def come_and_go(engine: Engine, root: Path) -> None:
    """An editor opens a root and goes."""
    async with client_of(engine) as client:
        await client.initialize(root)
        await client.ready(root)
        await client.request("shutdown", None)
        client.note("exit", None)
        await client.exit_status()


def test_header_names_in_any_case_and_further_headers_are_read(root):
    async def work(client: Client) -> None:
        body = json.dumps({"jsonrpc": "2.0", "id": 900, "method": "nobody/asks"}).encode()
        client.send_bytes(
            b"content-length: %d\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n"
            % len(body)
            + body
        )
        found = await client.until(lambda: client.errors)
        assert found[0]["error"]["code"] == protocol.NOT_INITIALIZED

    run_with(work)
