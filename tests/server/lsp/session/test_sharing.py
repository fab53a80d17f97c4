"""What several editors of one root are told: the same bytes where they may be, each its own where not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from phasekeeper.server.lsp.session import publisher
from phasekeeper.server.lsp.view import annotations, shared_root

from tests.roots import put, task
from tests.server.lsp.client import BOUND_S, CAPABILITIES, Client, client_of, engine_of

OURS = {"phasekeeper": {"client": "another"}}


def with_clients(count: int, work: Callable[..., Any]) -> None:
    """Run `work` with so many clients of one engine."""

    async def serve() -> None:
        async with engine_of() as engine, asyncio.timeout(BOUND_S):
            clients = [client_of(engine) for _ in range(count)]
            entered = [await each.__aenter__() for each in clients]
            try:
                await work(*entered)
            finally:
                for each in clients:
                    await each.__aexit__(None, None, None)

    asyncio.run(serve())


def count_calls(monkeypatch, module: Any, name: str) -> list[str]:
    """Note the calls of a function of a module."""
    calls: list[str] = []
    function = getattr(module, name)

    def counted(*arguments: Any) -> Any:
        calls.append(name)
        return function(*arguments)

    monkeypatch.setattr(module, name, counted)
    return calls


def test_a_save_is_annotated_and_encoded_once_for_all_editors(root, monkeypatch):
    review = task(root, "T1") / "review/plan-review.json"

    async def work(*clients: Client) -> None:
        for client in clients:
            await client.initialize(root, **OURS)
            await client.ready(root)
        annotated = count_calls(monkeypatch, shared_root, "annotations_of")
        encoded = count_calls(monkeypatch, publisher, "diagnostics_of")
        put(review, {"ok": False})
        for client in clients:
            found = await client.until(lambda c=client: c.diagnostics.get(review.as_uri()))
            assert [each["code"] for each in found] == ["gate-failed"]
        assert len(annotated) == len(encoded) == 1
        told = [[n for n in c.notes if n["method"] == "phasekeeper/changed"][-1] for c in clients]
        assert told[0]["params"]["changed"] and told == [told[0]] * len(told)

    with_clients(4, work)


def test_columns_are_each_editor_s_own_though_the_findings_are_shared(root):
    review = task(root, "T1") / "review/plan-review.json"
    review.write_text('{"\U0001f600": 1, "ok": false}', encoding="utf-8")

    async def work(utf8: Client, utf16: Client) -> None:
        columns = []
        for client, encoding in ((utf8, "utf-8"), (utf16, "utf-16")):
            capabilities = {**CAPABILITIES, "general": {"positionEncodings": [encoding]}}
            await client.initialize(root, capabilities=capabilities)
            found = await client.until(lambda c=client: c.diagnostics.get(review.as_uri()))
            columns.append(found[0]["range"]["start"]["character"])
        assert columns == [18, 16]

    with_clients(2, work)


def test_unsaved_text_stays_the_editor_s_own_and_leaves_nothing_to_others(root):
    review = task(root, "T1") / "review/plan-review.json"
    uri = review.as_uri()

    async def work(typing: Client, looking: Client) -> None:
        for client in (typing, looking):
            await client.initialize(root)
            await client.ready(root)
        typing.open(review, '\n\n{"ok": false}')
        found = await typing.until(lambda: typing.diagnostics.get(uri))
        assert found[0]["range"]["start"]["line"] == 2
        put(review, {"ok": False})
        found = await looking.until(lambda: looking.diagnostics.get(uri))
        assert found[0]["range"]["start"]["line"] == 0
        assert typing.diagnostics[uri][0]["range"]["start"]["line"] == 2

    with_clients(2, work)


def test_an_editor_that_comes_later_is_told_what_others_know_without_making_it_anew(root, monkeypatch):
    review = task(root, "T1", ok=False) / "review/plan-review.json"

    async def work(first: Client, second: Client) -> None:
        await first.initialize(root)
        await first.until(lambda: first.diagnostics.get(review.as_uri()))
        calls = count_calls(monkeypatch, annotations, "_diagnostic")
        await second.initialize(root)
        await second.until(lambda: second.diagnostics.get(review.as_uri()))
        assert second.diagnostics == first.diagnostics and calls == []

    with_clients(2, work)


def test_a_root_that_all_have_closed_is_looked_at_anew(root):
    review = task(root, "T1", ok=False) / "review/plan-review.json"

    async def work(first: Client, second: Client) -> None:
        await first.initialize(root)
        await first.until(lambda: first.diagnostics.get(review.as_uri()))
        folder = {"uri": root.as_uri(), "name": root.name}
        first.note("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": [folder]}})
        await first.until(lambda: first.diagnostics[review.as_uri()] == [])
        put(review, {"ok": True})
        await second.initialize(root)
        board = await second.ready(root)
        assert board["roots"][0]["runs"][0]["gates"][0]["status"] == "passed"
        assert not second.diagnostics.get(review.as_uri())

    with_clients(2, work)
