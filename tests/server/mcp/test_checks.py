"""Checks as assistants have them run: only what a person allowed, with progress, until they are cancelled."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest
from phasekeeper.orchestration.definition.root_config import PATH, read_config
from phasekeeper.server.checks.present import PresentChecks

from tests.roots import CHECKED, needs, put
from tests.server.mcp.rig import ERAS, async_test, call, refusal, rig, text

SUM = "import app; print('adding'); raise SystemExit(app.ONE + 1 != 2)\n"


@pytest.fixture
def checked(tmp_path: Path) -> Path:
    """A repository with one run, whose gate rests on a check."""
    root = tmp_path / "work"
    put(root / "src/app.py", "ONE = 1\n")
    put(root / "check.py", f"import sys; sys.path.insert(0, 'src'); {SUM}")
    put(root / ".gitignore", ".phasekeeper/evidence/\n__pycache__/\n")
    declare(root, [sys.executable, "-I", "check.py"])
    put(root / ".phasekeeper/workflows/build.yaml", CHECKED)
    put(root / "runs/one/state.json", '{"phase": "code"}')
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init", "-q"], ["add", "--all"], ["commit", "-qm", "all"]):
        subprocess.run([needs("git"), *who, *words], cwd=root, check=True)
    return root


def declare(root: Path, words: list[str]) -> None:
    put(root / PATH, f"checks:\n  tests: {{run: {words}, inputs: [src/**]}}\n")


def allow(root: Path) -> None:
    """What `phasekeeper trust` keeps when a person has typed the check's name."""
    looks, checks = PresentChecks(root), read_config((root / PATH).read_text(encoding="utf-8")).checks
    definition = looks.look(checks, ("runs/*",), "tests").definition
    looks.trust.allow(definition, "Ada", "2026-01-01T00:00:00.000+00:00")


@pytest.mark.parametrize("era", ERAS)
@async_test
async def test_a_gate_opens_when_its_checks_are_run_and_closes_on_a_save(checked: Path, era: str) -> None:
    allow(checked)
    async with rig(watch=True) as r, r.client(checked, era) as client:
        before = await text(client, "check_gate", gate="tested")
        assert "check tests missing: it has not run here yet" in before
        answer = await call(client, "check_gate", gate="tested", verify=True)
        assert answer["ran"]["tests"] == {
            "result": "passed", "ran": True, "log": ".phasekeeper/evidence/tests.log", "tail": [],
        }  # fmt: skip
        [gate] = answer["gates"]
        assert (gate["status"], gate["checks"][0]["result"]) == ("passed", "passed")
        again = await call(client, "check_gate", verify=True)
        assert again["ran"]["tests"]["ran"] is False
        put(checked / "src/app.py", "ONE = 1\n\nTWO = 3\n")
        step = await call(client, "next_step")
        [check] = step["measured"]
        assert (check["result"], check["reason"]) == ("stale", "src/app.py:2 changed since it ran")
        assert check["command"] == "phasekeeper verify tests"


@async_test
async def test_a_check_that_fails_shows_the_end_of_its_output(checked: Path) -> None:
    allow(checked)
    put(checked / "src/app.py", "ONE = 3\n")
    async with rig() as r, r.client(checked) as client:
        said = await text(client, "check_gate", verify=True)
        assert 'tests ran: failed, it ended with exit code 1\n  | "adding"\n' in said
        assert "gate tested" in said


@async_test
async def test_what_nobody_allowed_does_not_run_and_the_answer_says_what_a_person_types(
    checked: Path,
) -> None:
    put(checked / "check.py", "open('ran', 'w')\n")
    async with rig() as r, r.client(checked) as client:
        said = await text(client, "check_gate", verify=True)
        assert "tests was not run: untrusted, no person allowed what it runs" in said
        assert "a person types phasekeeper trust tests" in said
    assert not (checked / "ran").exists()


@async_test
async def test_where_no_check_is_behind_a_gate_there_is_nothing_to_run(checked: Path) -> None:
    async with rig() as r, r.client(checked) as client:
        assert "rests on no check" in await refusal(client, "check_gate", gate="named", verify=True)
        assert "no gate" in await refusal(client, "check_gate", gate="testde", verify=True)


@pytest.mark.parametrize("era", ERAS)
@async_test
async def test_progress_is_told_and_a_call_that_is_cancelled_ends_the_check(checked: Path, era: str) -> None:
    put(checked / "check.py", "import os, time; print(os.getpid(), flush=True); time.sleep(600)\n")
    allow(checked)
    printed: asyncio.Queue[str] = asyncio.Queue()

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        await printed.put(message or "")

    async with rig() as r, r.client(checked, era) as client:
        arguments = {"gate": "tested", "verify": True}
        calling = asyncio.create_task(
            client.call_tool("check_gate", arguments, progress_callback=on_progress)
        )
        while not (said := await printed.get()).removeprefix("tests: ").isdecimal():
            assert said == "tests: running"
        pid = int(said.removeprefix("tests: "))
        os.kill(pid, 0)
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        result, reason = "running", ""
        while result == "running":
            [gate] = (await call(client, "check_gate", gate="tested"))["gates"]
            result, reason = gate["checks"][0]["result"], gate["checks"][0]["reason"]
        assert (result, reason) == ("failed", "it was ended before it was over")
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@async_test
async def test_who_waits_for_a_change_is_told_of_a_result(checked: Path) -> None:
    allow(checked)
    async with rig(watch=True) as r, r.client(checked) as client, r.client(checked) as other:
        known = await call(client, "next_step")
        waiting = asyncio.create_task(
            text(client, "wait_for_change", run="runs/one", since=known["revision"], timeout=50)
        )
        await call(other, "check_gate", verify=True)
        said = await waiting
        assert said.startswith("changed\n")
        assert "check tests " in said
