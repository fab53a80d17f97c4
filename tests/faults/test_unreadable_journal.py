"""A journal that the disk gives back no more: said with its path on every surface, and nothing passes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli_walkthroughs.driver import Drive
from tests.roots import needs
from tests.server.servers import BOUND_S, homes
from tests.soak.clients import Assistant
from tests.soak.world import World

T1 = ".ai-tools-chain/tasks/T1"
JOURNAL = f"{T1}/.phasekeeper/journal.jsonl"
SAID = f"{JOURNAL} cannot be read: input/output error"


def faulty(journal: Path) -> tuple[str, ...]:
    """What runs a program that cannot read the file."""
    return (
        needs("strace"), "-f", "-qq", "-o", "/dev/null", "-P", str(journal),
        "-e", "trace=read,pread64", "-e", "inject=read,pread64:error=EIO",
    )  # fmt: skip


@pytest.fixture
def root(tmp_path, monkeypatch) -> Path:
    drive = Drive(tmp_path, monkeypatch)
    drive.start("artifact-pipeline", "T1")
    return drive.root.resolve()


def ask(root: Path, *words: str) -> Any:
    command = [*faulty(root / JOURNAL), sys.executable, "-m", "phasekeeper", *words]
    return subprocess.run(
        command,
        cwd=root,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=BOUND_S,
        check=False,
    )


@pytest.mark.parametrize(
    "words", [("status", "--cold"), ("next", "--run", "T1", "--cold"), ("explain", "T1")]
)
def test_where_the_run_stands_is_not_known(root, words):
    done = ask(root, *words)
    assert SAID in done.stdout and "invalid" in done.stdout
    assert "trusted" not in done.stdout + done.stderr and "Traceback" not in done.stderr


def test_check_fails_at_its_path(root):
    done = ask(root, "check", "--format", "json")
    assert done.returncode == 1
    found = json.loads(done.stdout)["findings"]
    assert [(each["code"], each["path"]) for each in found] == [("artifact-unreadable", JOURNAL)]


@pytest.mark.parametrize(
    "words",
    [
        ("report", "T1", "planning", "ok", "--summary", "did all of it and looked"),
        ("redo", "T1", "planning"),
        ("override", "T1", "--to", "codegen", "--reason", "in haste"),
        ("repair", "T1"),
    ],
)
def test_nothing_is_recorded(root, words):
    before = (root / JOURNAL).read_bytes()
    done = ask(root, *words)
    assert done.returncode == 1 and SAID in done.stderr
    assert (root / JOURNAL).read_bytes() == before


def test_the_history_says_so_and_not_that_there_is_none(root):
    done = ask(root, "history", "T1")
    assert done.returncode == 1 and "input/output error" in done.stderr and JOURNAL in done.stderr
    assert "no records" not in done.stderr


def test_an_assistant_is_told_so_and_that_no_gate_passes(root):
    with homes() as home:
        world = World(home)

        class Traced:
            """Starts what cannot read the journal."""

            def start(self, *words, cwd, stdin, stdout, tracer=()):
                return world.start(*words, cwd=cwd, stdin=stdin, stdout=stdout, tracer=faulty(root / JOURNAL))

            forget = world.forget

        assistant = Assistant(Traced(), root, ("--standalone",))
        try:
            assistant.connect()
            said = json.dumps(assistant.call("next_step", run="T1"))
            gate = assistant.call("check_action", run="T1", step="codegen")
        finally:
            assistant.close()
            world.close()
    assert SAID in said and "trusted" not in said
    assert gate["result"]["structuredContent"]["allowed"] is False


def test_once_it_can_be_read_again_all_is_as_before(root):
    words = [sys.executable, "-m", "phasekeeper", "status", "--json", "--cold"]
    before = subprocess.check_output(words, cwd=root, timeout=BOUND_S)
    ask(root, "report", "T1", "planning", "ok", "--summary", "did all of it and looked")
    assert subprocess.check_output(words, cwd=root, timeout=BOUND_S) == before
