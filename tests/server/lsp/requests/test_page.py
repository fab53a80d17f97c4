"""The page of a run for an editor: of the files on disk, and a decision on it counts at its revision."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.roots import choosing
from tests.server.lsp.client import Client, run_with
from tests.server.lsp.requests.test_own_messages import refusal

OURS = {"trusted": True, "phasekeeper": {"client": "vscode", "decides": True}}
RUN = "own/T1"


@pytest.fixture(autouse=True)
def choice(root: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
    choosing(root, {"a": "one: it is short", "b": "another"})


def test_what_the_page_shows_can_be_decided_and_then_it_shows_who_decided_why(root: Path) -> None:
    where = {"root": str(root), "run": RUN}

    async def work(client: Client) -> None:
        await client.initialize(root, **OURS)
        await client.ready(root)
        page = await client.request("phasekeeper/page", where)
        (decision,) = page["decisions"]
        assert [option["id"] for option in decision["options"]] == ["a", "b"]
        answer = {
            **where,
            "kind": "answer",
            "question": decision["question"],
            "option": "a",
            "reason": "short",
        }
        assert "changed meanwhile" in await refusal(client, "phasekeeper/decide", {**answer, "revision": "x"})
        await client.request("phasekeeper/decide", {**answer, "revision": page["evaluation"]["revision"]})
        page = await client.request("phasekeeper/page", where)
        assert page["decisions"] == []
        newest = page["timeline"]["entries"][0]
        assert (newest["decided"], newest["why"], newest["channel"]) == (True, "short", "vscode")

    run_with(work)


def test_it_is_about_the_files_on_disk_and_names_those_that_the_editor_holds_otherwise(root: Path) -> None:
    state = root / RUN / "state.json"

    async def work(client: Client) -> None:
        await client.initialize(root, **OURS)
        await client.ready(root)
        client.open(state, json.dumps({"phase": "unheard-of"}))
        page = await client.request("phasekeeper/page", {"root": str(root), "run": RUN})
        assert page["evaluation"]["currentPhase"] == "pick"
        assert page["unsaved"] == [f"{RUN}/state.json"]

    run_with(work)


def test_it_says_which_files_that_it_names_are_not_there(root: Path) -> None:
    definition = root / ".phasekeeper/workflows/choosing.yaml"
    own = json.loads(definition.read_text())
    own["artifacts"] = {name: {"paths": [f"{name}.md"], "kind": "text"} for name in ("plan", "notes")}
    own["questions"]["which"]["about"] = ["plan", "notes"]
    definition.write_text(json.dumps(own))
    (root / RUN / "notes.md").write_text("read me\n")

    async def work(client: Client) -> None:
        await client.initialize(root, **OURS)
        await client.ready(root)
        page = await client.request("phasekeeper/page", {"root": str(root), "run": RUN})
        assert [each["path"] for each in page["decisions"][0]["documents"]] == [
            f"{RUN}/plan.md",
            f"{RUN}/notes.md",
        ]
        assert page["absent"] == [f"{RUN}/plan.md"]

    run_with(work)


def test_a_run_that_is_gone_has_no_page(root: Path) -> None:
    async def work(client: Client) -> None:
        await client.initialize(root)
        await client.ready(root)
        assert await client.request("phasekeeper/page", {"root": str(root), "run": "nothing"}) is None

    run_with(work)
