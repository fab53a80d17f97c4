"""A commit whose files are told one by one is never seen without its record."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from phasekeeper.orchestration.updates.commands import Command
from phasekeeper.server.live.live_root import LiveRoot
from phasekeeper.server.workspace.apply import apply_command
from phasekeeper.server.workspace.workspace import Workspace

from tests.roots import run_to_end
from tests.server.live.quality_gates import GATES, RUN, STATE, loop_at_quality_gates


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return loop_at_quality_gates(tmp_path / "root")


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
