"""Neovim itself as the client: what a person who opens a plan, or saves a report, gets to see."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.roots import EXAMPLES, needs
from tests.server.servers import homes
from tests.tools.fixes.test_fixes import plan

HERE = Path(__file__).parent / "nvim"
BOUND_S = 300
HOME = ("HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "PHASEKEEPER_WAIT_S")
STANDALONE = [sys.executable, "-m", "phasekeeper", "lsp", "--standalone"]


def observations(root: Path, scenario: str, command: list[str], **more: str) -> list[tuple[str, Any]]:
    """What a scenario says it saw, in order."""
    out = root.parent / f"{scenario}.jsonl"
    environment = os.environ | {
        "PHASEKEEPER_COMMAND": json.dumps(command),
        "PHASEKEEPER_CLIENT": str(HERE / "client.lua"),
        "PHASEKEEPER_ROOT": str(root),
        "PHASEKEEPER_SEEN": str(out),
        "XDG_STATE_HOME": str(root.parent / "state"),
        "XDG_CACHE_HOME": str(root.parent / "cache"),
        **more,
    }
    words = [
        needs("nvim"),
        "--headless",
        "-u",
        "NONE",
        "-i",
        "NONE",
        "-n",
        "-S",
        str(HERE / f"{scenario}.lua"),
    ]
    done = subprocess.run(
        words, env=environment, cwd=root, capture_output=True, text=True, timeout=BOUND_S, check=False
    )
    said = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    assert done.returncode == 0, (done.stdout, done.stderr, said)
    return [(entry["what"], entry["value"]) for entry in said]


def values_of(found: list[tuple[str, Any]], what: str) -> list[Any]:
    return [value for name, value in found if name == what]


def put_drift(root: Path) -> None:
    plan(root, below="**Progress**: 2/2 tasks complete (100%)\n")


def test_a_drift_is_seen_mended_by_an_action_and_gone(root: Path) -> None:
    put_drift(root)
    found = observations(root, "drift", STANDALONE)
    assert {d["code"] for d in values_of(found, "seen")[0]} == {"status-drift"}
    assert values_of(found, "encoding") == ["utf-16"]
    assert values_of(found, "marked") == ["2"]
    assert values_of(found, "offered")[0][0] == "Bring the plan's summaries in step with its task rows"
    assert "**Progress**: 1/2 tasks complete (50%)" in values_of(found, "text")[0]
    assert values_of(found, "left") == [[]]
    assert values_of(found, "stopped") == [True]


def test_the_same_is_seen_through_the_server_that_all_editors_share(root: Path) -> None:
    put_drift(root)
    with homes() as home:
        shared = [sys.executable, "-m", "phasekeeper", "lsp"]
        found = observations(root, "drift", shared, **{name: home.env[name] for name in HOME})
        assert values_of(found, "left") == [[]]
        assert values_of(found, "stopped") == [True]
        # The editor went; the server did not.
        assert home.answers()


def test_a_report_that_fails_shuts_the_gate_and_the_third_asks_a_person(root: Path) -> None:
    shutil.copytree(EXAMPLES / ".orchestrator", root / ".orchestrator")
    shutil.copytree(EXAMPLES / ".phasekeeper", root / ".phasekeeper")
    began = int(time.time()) - 10_000
    reports = root / ".orchestrator/tasks/reading-lists/reports"
    for name in ("07-4b-phase-2.md", "08-F1-phase-2.md"):
        (reports / name).unlink()
    for number, path in enumerate(sorted(reports.iterdir())):
        os.utime(path, (began + 60 * number, began + 60 * number))
    found = observations(root, "escalation", STANDALONE, PHASEKEEPER_AT=str(began + 1000))
    first, second, third = values_of(found, "shut")
    for shut in (first, second, third):
        [failed] = [d for d in shut if d["code"] == "gate-failed"]
        # The verdict stands on the fifth line of the report that was just saved.
        assert failed["line"] == 4
        assert "gate “After 4b failed” is shut" in failed["message"]
    assert any(
        title.startswith("next: go back to “Failure analysis” (4b failed (1 of 3)")
        for title in values_of(found, "lenses")[0]
    )
    [asked] = [d for d in values_of(found, "escalated")[0] if d["code"] == "person-awaited"]
    assert asked["message"].startswith("escalation: 4b failed")
    assert any(title.startswith("escalation: ") for title in values_of(found, "plan lenses")[0])
    assert values_of(found, "stopped") == [True]
