"""The page over HTTP: who is let in, what is shown, what is told of changes, and that nothing is written."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from phasekeeper.server.hub.http_listener import load_token, serve_http
from phasekeeper.server.hub.hub import Hub
from phasekeeper.server.page import change_stream, http_page

from tests.roots import TASKS, choosing, loop, put, task
from tests.server.mcp.rig import LIMIT_S, async_test

READ = ("/page/runs", "/page/run", "/page/events", "/page/nothing")


class Served:
    """A server with its page, and a browser."""

    def __init__(self, hub: Hub, http: httpx2.AsyncClient, origin: str, ticket: str) -> None:
        self.hub, self.http, self.origin, self.ticket = hub, http, origin, ticket

    async def get(self, path: str, **headers: str) -> httpx2.Response:
        return await self.http.get(self.origin + path, headers=headers)

    async def exchange(self, secret: str, **headers: str) -> httpx2.Response:
        given = {"origin": self.origin, **headers}
        return await self.http.post(f"{self.origin}/page/session", content=secret, headers=given)

    async def let_in(self) -> None:
        assert (await self.exchange(self.ticket)).status_code == 204

    async def run(self, root: Path, run: str) -> httpx2.Response:
        params = httpx2.QueryParams({"root": str(root), "run": run})
        return await self.get(f"/page/run?{params}")


@asynccontextmanager
async def served(*roots: Path) -> AsyncIterator[Served]:
    hub = Hub(asyncio.get_running_loop())
    try:
        for root in roots:
            await hub.engine.open(root)
            hub.served_roots[root] += 1
        async with serve_http(hub, 0) as (_, sentence), httpx2.AsyncClient(timeout=LIMIT_S) as http:
            origin, _, ticket = sentence.rpartition(" ")[2].partition("/#")
            yield Served(hub, http, origin, ticket)
    finally:
        await hub.stop()


# ---- who is let in ----------------------------------------------------------------------------


@async_test
async def test_the_link_lets_one_browser_in_once(root: Path) -> None:
    async with served(root) as page:
        answer = await page.exchange(page.ticket)
        assert (answer.status_code, answer.content) == (204, b"")
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and "Path=/page" in cookie
        assert (await page.get("/page/runs")).status_code == 200
        assert (await page.exchange(page.ticket)).status_code == 401


@async_test
async def test_without_a_session_nothing_of_a_workspace_is_told(root: Path) -> None:
    task(root, "T1")
    async with served(root) as page:
        for path in READ:
            answer = await page.get(path)
            assert (answer.status_code, b"T1" in answer.content) == (401, False)
        for wrong in ("", "x", "x" * (http_page.MOST_SECRET + 1)):
            assert (await page.exchange(wrong)).status_code == 401
        assert (await page.get("/page/runs", cookie="phasekeeper=x")).status_code == 401
        # The token of assistants is exchanged as well; by itself it opens no page.
        token = load_token()[0]
        assert (await page.get("/page/runs", authorization=f"Bearer {token}")).status_code == 401
        assert (await page.exchange(token)).status_code == 204


@pytest.mark.parametrize("path", ["/", "/page/page.js", *READ])
@async_test
async def test_another_host_another_origin_and_another_site_are_refused(root: Path, path: str) -> None:
    async with served(root) as page:
        await page.let_in()
        assert (await page.get(path, host="evil.example")).status_code == 421
        assert (await page.get(path, origin="http://evil.example")).status_code == 403
        assert (await page.get(path, origin="null")).status_code == 403
        if path in READ:
            for site in ("cross-site", "same-site"):
                assert (await page.get(path, **{"sec-fetch-site": site})).status_code == 403


@async_test
async def test_a_session_begins_for_our_own_origin_alone(root: Path) -> None:
    async with served(root) as page:
        url = f"{page.origin}/page/session"
        assert (await page.http.post(url, content=page.ticket)).status_code == 403
        for origin in ("http://evil.example", page.origin.replace("http:", "https:"), page.origin + "0"):
            assert (await page.exchange(page.ticket, origin=origin)).status_code == 403
        assert (await page.exchange(page.ticket)).status_code == 204


@async_test
async def test_nothing_can_be_written_over_it(root: Path) -> None:
    choosing(root, {"a": "one", "b": "another"})
    load_token()
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    async with served(root) as page:
        await page.let_in()
        for method in ("POST", "PUT", "DELETE", "PATCH"):
            for path in ("/", "/page/page.js", *READ):
                headers = {"origin": page.origin}
                answer = await page.http.request(method, page.origin + path, headers=headers)
                assert answer.status_code == 405
        assert (await page.get("/page/session", origin=page.origin)).status_code == 405
        assert (await page.run(root, "own/T1")).status_code == 200
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before


@async_test
async def test_the_page_loads_its_own_files_alone_and_runs_no_inline_script(root: Path) -> None:
    async with served(root) as page:
        for path, kind in (("/", "html"), ("/page/page.js", "javascript"), ("/page/page.css", "css")):
            answer = await page.get(path)
            assert answer.status_code == 200 and kind in answer.headers["content-type"]
            policy = answer.headers["content-security-policy"]
            assert "default-src 'none'" in policy and "unsafe" not in policy
            assert "frame-ancestors 'none'" in policy
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["cache-control"] == "no-store"
            head = await page.http.head(page.origin + path)
            assert (head.status_code, head.content) == (200, b"")
        html = (await page.get("/")).text
        assert "<script>" not in html and "style=" not in html and "http" not in html


@async_test
async def test_assistants_are_served_as_before(root: Path) -> None:
    async with served(root) as page:
        await page.let_in()
        # A browser's session is none of theirs.
        assert (await page.http.post(f"{page.origin}/mcp", json={})).status_code == 401
        assert (await page.get("/elsewhere")).status_code == 401


# ---- what is shown ----------------------------------------------------------------------------


@async_test
async def test_runs_that_wait_for_a_person_stand_first_and_the_rest_is_counted(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task(root, "T1")
    loop(root)
    async with served(root) as page:
        await page.let_in()
        (shown,) = (await page.get("/page/runs")).json()["roots"]
        assert (shown["root"], shown["more"]) == (str(root), 0)
        assert [run["run"] for run in shown["runs"]] == [".claude/state", f"{TASKS}/T1"]
        monkeypatch.setattr(http_page, "MOST_RUNS", 1)
        (shown,) = (await page.get("/page/runs")).json()["roots"]
        assert ([run["run"] for run in shown["runs"]], shown["more"]) == ([".claude/state"], 1)


@async_test
async def test_a_run_is_shown_as_its_files_are_now(root: Path) -> None:
    choosing(root, {"a": "one: it is short", "b": "another"})
    async with served(root) as page:
        await page.let_in()
        data = (await page.run(root, "own/T1")).json()
        (decision,) = data["decisions"]
        assert [option["id"] for option in decision["options"]] == ["a", "b"]
        assert decision["options"][0]["outcome"].startswith("afterwards: complete")
        command = f'phasekeeper answer own/T1 which a --root {root} --reason "why"'
        assert decision["options"][0]["command"] == command
        put(root / "own/T1/state.json", {"phase": "unheard-of"})
        assert (await page.run(root, "own/T1")).json()["evaluation"]["status"] == "invalid"


@async_test
async def test_only_what_a_person_has_served_is_shown(root: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    task(root, "T1")
    task(elsewhere, "T2")
    async with served(root) as page:
        await page.let_in()
        # Somebody else has it open.
        assert await page.hub.engine.open(elsewhere) == (elsewhere,)
        assert [each["root"] for each in (await page.get("/page/runs")).json()["roots"]] == [str(root)]
        for where, run in (
            (elsewhere, f"{TASKS}/T2"),
            (root, f"{TASKS}/T2"),
            (root, "../elsewhere"),
            (Path("/"), ""),
        ):
            assert (await page.run(where, run)).status_code == 404
        assert (await page.get("/page/run")).status_code == 404
        assert (await page.get("/page/nothing")).status_code == 404


@async_test
async def test_what_goes_wrong_is_answered_without_its_details(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("a secret of the disk")

    task(root, "T1")
    monkeypatch.setattr(http_page, "read_run_page", fail)
    async with served(root) as page:
        await page.let_in()
        answer = await page.run(root, f"{TASKS}/T1")
        assert (answer.status_code, b"secret" in answer.content) == (500, False)


# ---- changes ----------------------------------------------------------------------------------


async def _event(lines: AsyncIterator[str]) -> Any:
    async def next_event() -> Any:
        async for line in lines:
            if line.startswith("data: "):
                return json.loads(line[6:])
        return None

    return await asyncio.wait_for(next_event(), LIMIT_S)


@async_test
async def test_changes_are_told_as_they_come_and_the_stream_ends_with_the_server(root: Path) -> None:
    folder = task(root, "T1")
    async with served(root) as page:
        await page.let_in()
        async with page.http.stream("GET", f"{page.origin}/page/events") as stream:
            lines = stream.aiter_lines()
            assert await _event(lines) == {}
            put(folder / "review/plan-review.json", {"ok": False})
            await page.hub.engine.refresh(root, [folder / "review/plan-review.json"])
            while (event := await _event(lines))["runs"] == []:
                pass
            assert event == {"root": str(root), "runs": [f"{TASKS}/T1"]}
    # Leaving the context did not wait for the browser, which had the stream open.


@async_test
async def test_roots_that_are_served_later_are_followed_too(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_stream, "BEAT_S", 0.01)
    later = tmp_path / "later"
    task(later, "T2")
    async with served(root) as page:
        await page.let_in()
        async with page.http.stream("GET", f"{page.origin}/page/events") as stream:
            lines = stream.aiter_lines()
            assert await _event(lines) == {}
            assert await page.hub.engine.open(later) == (later,)
            page.hub.served_roots[later] += 1
            while (await _event(lines))["root"] != str(later):
                pass
            page.hub.served_roots.subtract([later])
            assert await _event(lines) == {"root": str(later), "runs": []}


@async_test
async def test_too_many_streams_are_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_page, "MOST_STREAMS", 1)
    async with served(root) as page:
        await page.let_in()
        async with page.http.stream("GET", f"{page.origin}/page/events") as stream:
            assert await _event(stream.aiter_lines()) == {}
            assert (await page.get("/page/events")).status_code == 503
