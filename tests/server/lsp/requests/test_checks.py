"""Checks in an editor: the lens of a gate, the question whether one may run, progress, the log, stopping."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from phasekeeper.orchestration.definition.root_config import PATH, read_config
from phasekeeper.server.checks.present import PresentChecks

from tests.roots import CHECKED, needs, put
from tests.server.lsp.client import CAPABILITIES, Client, ErrorResponse, run_with
from tests.server.lsp.person import messages, pick

OURS = {"trusted": True, "phasekeeper": {"client": "vscode", "decides": True}}
SHOWS = {**CAPABILITIES, "window": {"workDoneProgress": True, "showDocument": {"support": True}}}
LOG = ".phasekeeper/evidence/tests.log"
FOREVER = "import os, time; print(os.getpid(), flush=True); time.sleep(600)\n"


@pytest.fixture
def checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one run, whose gate rests on a check that nobody allowed yet."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    root = tmp_path / "work"
    put(root / "src/app.py", "ONE = 1\n")
    put(root / "check.py", "print('looking'); raise SystemExit('ONE = 1' not in open('src/app.py').read())\n")
    put(root / ".gitignore", ".phasekeeper/evidence/\n")
    put(root / PATH, f"checks:\n  tests: {{run: {[sys.executable, '-I', 'check.py']}, inputs: [src/**]}}\n")
    put(root / ".phasekeeper/workflows/build.yaml", CHECKED)
    put(root / "runs/one/state.json", '{"phase": "code"}')
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init", "-q"], ["add", "--all"], ["commit", "-qm", "all"]):
        subprocess.run([needs("git"), *who, *words], cwd=root, check=True)
    return root


def allow(root: Path) -> None:
    looks, checks = PresentChecks(root), read_config((root / PATH).read_text(encoding="utf-8")).checks
    definition = looks.look(checks, ("runs/*",), "tests").definition
    looks.trust.allow(definition, "Ada", "2026-01-01T00:00:00.000+00:00")


def name(root: Path, **more: Any) -> dict[str, Any]:
    return {"root": str(root), "run": "runs/one", **more}


async def run_lens(client: Client, root: Path) -> dict[str, Any]:
    """The command of the lens that runs checks."""
    uri = client.open(root / "runs/one/state.json")
    lenses = await client.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
    [command] = [each["command"] for each in lenses if each["command"]["command"] == "phasekeeper.runChecks"]
    return command


def command_of(command: dict[str, Any]) -> dict[str, Any]:
    return {"command": command["command"], "arguments": command["arguments"]}


def progress(client: Client) -> list[dict[str, Any]]:
    return [note["params"]["value"] for note in client.notes if note["method"] == "$/progress"]


def test_a_lens_of_a_gate_asks_runs_and_tells_what_came_of_it(checked: Path) -> None:
    async def work(client: Client) -> None:
        await client.initialize(checked, trusted=True, capabilities=SHOWS)
        await client.ready(checked)
        dialogs = pick(client, "Allow tests")
        command = await run_lens(client, checked)
        assert command["title"].startswith("Run check: tests untrusted: no person allowed what it runs")
        assert command["arguments"] == [name(checked, gate="tested")]
        await client.request("workspace/executeCommand", command_of(command))
        [dialog] = dialogs
        assert "check.py" in dialog["message"]
        assert "code of the workspace" in dialog["message"]
        assert messages(client)[-1] == "tests: passed, it passed"
        shown = [value for value in progress(client) if value.get("message", "").startswith("tests: ")]
        assert [value["message"] for value in shown] == [
            "tests: running", "tests: looking", "tests: passed, it passed",
        ]  # fmt: skip
        assert progress(client)[-1]["kind"] == "end"
        assert (await run_lens(client, checked))["title"] == "Run check: tests passed: it passed"

    run_with(work)


def test_a_question_that_is_not_answered_runs_nothing(checked: Path) -> None:
    async def work(client: Client) -> None:
        await client.initialize(checked, trusted=True, capabilities=SHOWS)
        await client.ready(checked)
        pick(client, "Not now")
        await client.request("workspace/executeCommand", command_of(await run_lens(client, checked)))
        assert messages(client)[-1] == "not done: tests is not allowed, so that nothing was run"

    run_with(work)
    assert not (checked / LOG).exists()


def test_of_a_check_that_failed_the_log_is_shown(checked: Path) -> None:
    allow(checked)
    put(checked / "src/app.py", "ONE = 2\n")

    async def work(client: Client) -> None:
        await client.initialize(checked, trusted=True, capabilities=SHOWS)
        await client.ready(checked)
        await client.request("workspace/executeCommand", command_of(await run_lens(client, checked)))
        [shown] = [each["params"] for each in client.asked if each["method"] == "window/showDocument"]
        assert shown["uri"] == (checked / LOG).as_uri()
        assert messages(client)[-1] == "tests: failed, it ended with exit code 1"
        (checked / LOG).write_text("")
        run = name(checked, checks=["tests"])
        [outcome] = (await client.request("phasekeeper/runChecks", run))["outcomes"]
        assert (outcome["ran"], outcome["tail"]) == (True, ["looking"])

    run_with(work)
    assert (checked / LOG).read_text() == "looking\n"


def test_a_person_stops_a_check_in_the_progress_of_the_editor(checked: Path) -> None:
    put(checked / "check.py", FOREVER)
    allow(checked)

    async def work(client: Client) -> None:
        await client.initialize(checked, trusted=True, capabilities=SHOWS)
        await client.ready(checked)
        running = client.ask("workspace/executeCommand", command_of(await run_lens(client, checked)))
        pid = await client.until(lambda: _pid(client))
        [created] = [each for each in client.asked if each["method"] == "window/workDoneProgress/create"]
        client.note("window/workDoneProgress/cancel", {"token": created["params"]["token"]})
        await running
        assert messages(client)[-1] == "not done: the checks were stopped"
        await client.request("phasekeeper/run", name(checked))
        with pytest.raises(ProcessLookupError):
            while True:
                os.kill(pid, 0)

    run_with(work)


def _pid(client: Client) -> int:
    words = (value.get("message", "").removeprefix("tests: ") for value in progress(client))
    return next((int(word) for word in words if word.isdecimal()), 0)


def test_a_client_with_dialogs_of_its_own_shows_the_question_and_the_progress(checked: Path) -> None:
    async def work(client: Client) -> None:
        await client.initialize(checked, **OURS)
        await client.ready(checked)
        asked = await client.request("phasekeeper/gateChecks", name(checked, gate="tested"))
        assert asked["checks"] == ["tests"]
        [question] = asked["questions"]
        assert any("check.py" in line for line in question["lines"])
        run = name(checked, checks=["tests"], workDoneToken="t")
        [outcome] = (await client.request("phasekeeper/runChecks", run))["outcomes"]
        assert (outcome["result"], outcome["ran"]) == ("untrusted", False)
        other = name(checked, check="tests", definition="0" * 16)
        with pytest.raises(ErrorResponse, match="not what was shown"):
            await client.request("phasekeeper/trustCheck", other)
        await client.request("phasekeeper/trustCheck", {**other, "definition": question["definition"]})
        [outcome] = (await client.request("phasekeeper/runChecks", run))["outcomes"]
        assert (outcome["result"], outcome["ran"], outcome["log"]) == ("passed", True, LOG)
        assert "tests: looking" in [value.get("message") for value in progress(client)]
        evaluation = await client.request("phasekeeper/run", name(checked))
        assert evaluation["gates"][0]["status"] == "passed"
        put(checked / "src/app.py", "ONE = 1\nTWO = 2\n")
        evaluation = await client.request("phasekeeper/run", name(checked))
        assert evaluation["gates"][0]["checks"][0]["changed"] == [{"path": "src/app.py", "line": 2}]
        with pytest.raises(ErrorResponse, match="rests on no check"):
            await client.request("phasekeeper/gateChecks", name(checked, gate="named"))
        with pytest.raises(ErrorResponse, match="has to be a list of checks"):
            await client.request("phasekeeper/runChecks", name(checked, checks=["--again"]))

    run_with(work)


def test_a_request_that_is_cancelled_ends_its_checks(checked: Path) -> None:
    put(checked / "check.py", FOREVER)
    allow(checked)

    async def work(client: Client) -> None:
        await client.initialize(checked, **OURS)
        await client.ready(checked)
        running = client.ask("phasekeeper/runChecks", name(checked, checks=["tests"], workDoneToken=7))
        number = client.last_id
        pid = await client.until(lambda: _pid(client))
        client.note("$/cancelRequest", {"id": number})
        with pytest.raises((ErrorResponse, asyncio.CancelledError)):
            await running
        with pytest.raises(ProcessLookupError):
            while True:
                os.kill(pid, 0)
                await client.request("phasekeeper/run", name(checked))

    run_with(work)


@pytest.mark.parametrize("options", [{}, {"trusted": True}])
def test_nothing_runs_and_nothing_is_allowed_for_who_may_not(checked: Path, options: dict[str, Any]) -> None:
    async def work(client: Client) -> None:
        await client.initialize(checked, **options)
        await client.ready(checked)
        with pytest.raises(ErrorResponse, match=r"a person allows a check|only reads"):
            await client.request("phasekeeper/trustCheck", name(checked, check="tests", definition="1"))
        if not options:
            with pytest.raises(ErrorResponse, match="only reads"):
                await client.request("phasekeeper/runChecks", name(checked, checks=["tests"]))

    run_with(work)
