"""A commit whose files are told one by one is never seen without its record."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from phasekeeper.orchestration.updates.commands import Command
from phasekeeper.server.live.live_root import LiveRoot
from phasekeeper.server.workspace.apply import apply_command
from phasekeeper.server.workspace.workspace import Workspace

from tests.roots import put, run_to_end

EXAMPLES = Path(__file__).parents[3] / "examples"
RUN = ".claude/state"
STATE = f"{RUN}/loop.state.json"
GATES = {name: {"status": "passed"} for name in ("lint", "tests", "coverage")}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The loop of the examples at its quality gates, of which one failed before, and without a question."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    root = tmp_path / "root"
    shutil.copytree(EXAMPLES / RUN, root / RUN)
    state = json.loads((root / STATE).read_text())
    for item in state["workQueue"]:
        item.update(priority="S2", status="done")
    put(root / STATE, state)
    put(root / RUN / "gates/pass-3.md", "lint, tests, coverage")
    return root


@pytest.mark.parametrize("grace", [True, False])
def test_what_a_report_wrote_is_not_taken_for_an_edit_of_the_state(root: Path, grace: bool) -> None:
    report(root, "quality", {"stateUpdates": {"gates": GATES}})
    report(root, "checkpoint")
    live = LiveRoot(root)
    run_to_end(live.scan_in_parts())
    passes = json.loads((root / STATE).read_text())["consecutivePasses"]
    report(root, "evaluate")
    assert json.loads((root / STATE).read_text())["consecutivePasses"] == passes + 1
    live.refresh_paths([root / STATE], grace=grace)
    assert not live.runs[RUN].questions and not live.runs[RUN].findings


def report(root: Path, step: str, data: Mapping[str, Any] | None = None) -> None:
    wanted = Command("report", step, "ok", message="done", data=data or {})
    apply_command(Workspace(root), RUN, wanted)
