"""Requests of our own that an editor sends right after `initialized` wait for their root."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from phasekeeper.server.live.engine import Engine
from phasekeeper.server.lsp.requests import read
from phasekeeper.server.lsp.requests.read import READ_REQUESTS
from phasekeeper.server.lsp.requests.write import WRITE_REQUESTS
from phasekeeper.server.lsp.session import connection

from tests.roots import TASKS, loop, task
from tests.server.lsp.client import BOUND_S, Client, ErrorResponse, run_with
from tests.server.lsp.requests.test_own_messages import refusal
from tests.server.servers import frame, message

RUN, LOOP = f"{TASKS}/T1", ".claude/state"
OURS = {"trusted": True, "phasekeeper": {"client": "vscode", "decides": True}}
PARAMS: dict[str, dict[str, Any]] = {
    "phasekeeper/board": {},
    "phasekeeper/recent": {},
    "phasekeeper/run": {"run": RUN},
    "phasekeeper/lost": {"run": RUN, "workflow": "artifact-pipeline"},
    "phasekeeper/history": {"run": RUN},
    "phasekeeper/graph": {"run": RUN},
    "phasekeeper/report": {"run": RUN, "step": "plan_review", "outcome": "ok"},
    "phasekeeper/claim": {"run": RUN, "task": "nought", "who": "ann"},
    "phasekeeper/release": {"run": RUN, "task": "nought"},
    "phasekeeper/start": {"workflow": "artifact-pipeline", "name": "T2"},
    "phasekeeper/redo": {"run": RUN, "phase": "planning", "reason": "again"},
    "phasekeeper/prepareDecision": {"run": LOOP, "kind": "override", "to": "execute"},
    "phasekeeper/decide": {"run": LOOP, "kind": "override", "to": "execute", "reason": "r", "revision": "x"},
}

REFUSED = {f"phasekeeper/{name}" for name in ("claim", "decide")}
"""Those that are refused in the end: there is no such task, and the run is another one."""


@pytest.fixture(autouse=True)
def work(root: Path, tmp_path_factory, monkeypatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
    task(root, "T1")
    loop(root)
    return root


class SlowLook:
    """A first look at a root that takes until it is let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.go_on = asyncio.Event(), asyncio.Event()
        opened = Engine.open

        async def open_slowly(engine: Engine, *arguments: Any) -> tuple[Path, ...]:
            self.begun.set()
            await self.go_on.wait()
            return await opened(engine, *arguments)

        monkeypatch.setattr(Engine, "open", open_slowly)


def test_every_request_of_ours_is_tried():
    assert set(PARAMS) == {*READ_REQUESTS, *WRITE_REQUESTS}


@pytest.mark.parametrize("method", PARAMS)
def test_a_request_right_after_initialized_is_answered_once_its_root_was_looked_at(root, monkeypatch, method):
    async def work(client: Client) -> None:
        look = SlowLook(monkeypatch)
        await client.initialize(root, **OURS)
        asked = client.ask(method, {"root": str(root), **PARAMS[method]})
        await look.begun.wait()
        # What comes behind it is answered, so it was not held up by the messages before.
        with pytest.raises(ErrorResponse):
            await client.request("phasekeeper/none", {})
        assert not asked.done()
        look.go_on.set()
        try:
            answer = await asyncio.wait_for(asked, BOUND_S)
        except ErrorResponse as refused:
            # For what it asks, not for its root.
            assert "is no root" not in refused.message
            assert method in REFUSED
            return
        assert method not in REFUSED
        if method == "phasekeeper/board":
            assert [each["root"] for each in answer["roots"]] == [str(root)]

    run_with(work)


@pytest.mark.parametrize("method", ["phasekeeper/report", "phasekeeper/prepareDecision", "phasekeeper/run"])
def test_a_root_that_takes_too_long_is_told_as_such(root, monkeypatch, method):
    monkeypatch.setattr(connection, "ROOT_WAIT_S", 0.0)

    async def work(client: Client) -> None:
        look = SlowLook(monkeypatch)
        await client.initialize(root, **OURS)
        said = await refusal(client, method, {"root": str(root), **PARAMS[method]})
        assert "some are still looked at for the first time: ask again" in said
        look.go_on.set()

    run_with(work)


def test_a_board_shows_what_is_there_when_another_root_takes_too_long(root, monkeypatch):
    monkeypatch.setattr(read, "BOARD_WAIT_S", 0.0)

    async def work(client: Client) -> None:
        look = SlowLook(monkeypatch)
        await client.initialize(root, **OURS)
        assert await client.request("phasekeeper/board", {}) == {"version": 1, "roots": []}
        look.go_on.set()

    run_with(work)


def test_a_root_that_nobody_opens_is_refused_at_once(root, tmp_path):
    async def work(client: Client) -> None:
        await client.initialize(root, **OURS)
        await client.ready(root)
        params = {"root": str(tmp_path / "other"), **PARAMS["phasekeeper/report"]}
        said = await refusal(client, "phasekeeper/report", params)
        assert said.endswith("is no root that this connection has open")

    run_with(work)


def test_a_client_that_sends_all_its_messages_at_once_is_answered(home):
    root = home.path / "work"
    (root / ".git").mkdir(parents=True)
    task(root, "T1")
    process = home.start("lsp", cwd=root)
    params = {"rootUri": root.as_uri(), "capabilities": {}, "initializationOptions": OURS}
    report = {"root": str(root), **PARAMS["phasekeeper/report"]}
    process.stdin.write(
        frame(id=1, method="initialize", params=params)
        + frame(method="initialized", params={})
        + frame(id=2, method="phasekeeper/report", params=report)
        + frame(id=3, method="phasekeeper/board", params={})
    )
    process.stdin.flush()
    answers: dict[int, Any] = {}
    while {2, 3} - set(answers):
        said = message(process.stdout)
        if "method" not in said:
            answers[said["id"]] = said
    assert answers[2]["result"]["recorded"] == "plan_review ok"
    assert [each["root"] for each in answers[3]["result"]["roots"]] == [str(root)]
