"""The board in pages: what a sidebar shows first, the rest behind a cursor, and what changes meanwhile."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from phasekeeper.server.lsp.requests import read
from phasekeeper.server.lsp.session import payloads
from phasekeeper.server.lsp.view import pages

from tests.roots import put
from tests.server.lsp.client import Client, ErrorResponse, run_with

OURS = {"phasekeeper": {"client": "another", "pages": True}}


SESSIONS = ".phasekeeper/sessions"


def standing(root: Path, name: str, status: str = "active") -> None:
    """A session that owes its document, or is over."""
    put(root / f"docs/{name}.md", "# It\n")
    state = {
        "type": "ComponentDesignSessions",
        "session_id": name,
        "state": {"artifact_path": f"docs/{name}.md"},
    }
    put(
        root / SESSIONS / name / "session.json", {"id": name, "status": status, "display_name": name, **state}
    )


def names(page: Any) -> list[str]:
    return [run["run"].rpartition("/")[2] for run in page["roots"][0]["runs"]]


async def page(client: Client, root: Path, **more: Any) -> Any:
    return await client.request("phasekeeper/board", {"root": str(root), **more})


def test_pages_hold_every_run_once_and_the_ones_that_are_over_last(root):
    for name, phase in (("T1", "complete"), ("T2", "active"), ("T10", "active"), ("T3", "complete")):
        standing(root, name, phase)

    async def work(client: Client) -> None:
        await client.initialize(root, **OURS)
        whole = (await client.ready(root))["roots"][0]
        over = {run["run"].rpartition("/")[2] for run in whole["runs"] if run["status"] == "complete"}
        assert over == {"T1", "T3"} and "next" not in whole
        first = await client.request("phasekeeper/board", {"limit": 1})
        seen, cursor = names(first), first["roots"][0]["next"]
        assert first["roots"][0]["counts"] == {"runs": 4, "going": 2, "questions": 0}
        while cursor:
            after = await page(client, root, limit=1, after=cursor)
            seen, cursor = seen + names(after), after["roots"][0]["next"]
        assert seen == ["T2", "T10", "T1", "T3"]

    run_with(work)


def test_a_cursor_whose_run_is_gone_goes_on_behind_its_place(root):
    for name in ("T1", "T2", "T3"):
        standing(root, name, "active")

    async def work(client: Client) -> None:
        await client.initialize(root, **OURS)
        await client.ready(root)
        first = await page(client, root, limit=2)
        assert names(first) == ["T1", "T2"]
        shutil.rmtree(root / SESSIONS / "T2")
        after = await page(client, root, limit=2, after=first["roots"][0]["next"])
        assert names(after) == ["T3"] and after["roots"][0]["next"] is None
        with pytest.raises(ErrorResponse, match="is no cursor"):
            await page(client, root, after="T2")
        with pytest.raises(ErrorResponse, match="no root that this connection has open"):
            await page(client, root / "elsewhere", limit=2)

    run_with(work)


def test_the_run_around_a_file_is_found_on_whatever_page_it_is(root):
    for name in ("T1", "T2"):
        standing(root, name, "active")

    async def work(client: Client) -> None:
        await client.initialize(root, **OURS)
        await client.ready(root)
        assert names(await page(client, root, around=f"{SESSIONS}/T2/notes/x.md")) == ["T2"]
        assert names(await page(client, root, around=f"{SESSIONS}/T2")) == ["T2"]
        assert names(await page(client, root, around="README.md")) == []

    run_with(work)


def test_changes_carry_the_counts_of_all_runs_and_many_of_them_are_asked_for_anew(root, monkeypatch):
    for name in ("T1", "T2"):
        standing(root, name, "active")

    async def work(client: Client) -> None:
        await client.initialize(root, **OURS)
        await client.ready(root)
        standing(root, "T1", "complete")
        change = await client.until(lambda: told(client, 1))
        assert change["counts"] == {"runs": 2, "going": 1, "questions": 0}
        assert [run["run"] for run in change["changed"]] == [f"{SESSIONS}/T1"] and change["anew"] is False
        monkeypatch.setattr(payloads, "MOST_RUNS", 0)
        shutil.rmtree(root / SESSIONS / "T2")
        change = await client.until(lambda: [c for c in changes(client) if c["anew"]])
        assert change[0]["changed"] == change[0]["removed"] == []
        assert change[0]["counts"] == {"runs": 1, "going": 0, "questions": 0}

    run_with(work)


def test_a_client_that_reads_no_pages_is_told_everything(root, monkeypatch):
    standing(root, "T1", "active")
    monkeypatch.setattr(payloads, "MOST_RUNS", 0)

    async def work(client: Client) -> None:
        await client.initialize(root, phasekeeper={"client": "another"})
        await client.ready(root)
        standing(root, "T1", "complete")
        change = await client.until(lambda: told(client, 1))
        assert len(change["changed"]) == 1 and change["anew"] is False

    run_with(work)


def changes(client: Client) -> list[Any]:
    return [note["params"] for note in client.notes if note["method"] == "phasekeeper/changed"]


def told(client: Client, over: int) -> Any:
    """The first change by which so many runs are over."""
    ends = (c for c in changes(client) if sum(run["status"] == "complete" for run in c["changed"]) == over)
    return next(ends, None)


def test_a_page_is_no_longer_than_the_bound(root, monkeypatch):
    monkeypatch.setattr(pages, "MOST_RUNS", 1)
    for name in ("T1", "T2"):
        standing(root, name, "active")

    async def work(client: Client) -> None:
        await client.initialize(root, **OURS)
        await client.ready(root)
        assert names(await page(client, root, limit=read.MOST_EVENTS)) == ["T1"]

    run_with(work)
