"""A machine that never heard of a fleet imports nothing of it, whatever it does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.server.workspace.test_apply import planned_root

RUN = "work/one"
_SCRIPT = """
import json, sys
from phasekeeper.server.cli.main import main
codes = [main(words) for words in json.loads(sys.argv[1])]
import phasekeeper.server.hub.hub, phasekeeper.server.mcp.server, phasekeeper.server.lsp.server
ours = [name for name in sys.modules if "fleet" in name or name.split(".")[0] in ("nats", "nkeys", "nacl")]
print(json.dumps([codes, sorted(ours)]), file=sys.stderr)
"""


def _modules(root: Path, tmp_path: Path, *commands: list[str]) -> tuple[list[int], list[str]]:
    """The exit codes of commands that one process carries out, and what it has imported for a fleet."""
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT, json.dumps(commands)],
        cwd=root,
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path / "state"), "PHASEKEEPER_RUNTIME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    codes, ours = json.loads(done.stderr.splitlines()[-1])
    return codes, ours


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    planned_root(root)
    (root / ".git").mkdir()
    return root


def test_reading_claiming_and_reporting_import_nothing_of_a_fleet(root: Path, tmp_path: Path) -> None:
    commands = [
        ["status", "--cold"],
        ["next", "--cold"],
        ["claim", RUN, "f-01", "--as", "ann", "--cold"],
        ["report", RUN, "do", "ok", "--task", "f-02", "--cold"],
    ]
    codes, ours = _modules(root, tmp_path, *commands)
    assert codes == [0, 0, 0, 0]
    assert ours == []


def test_a_project_that_this_machine_has_not_joined_imports_no_nats(root: Path, tmp_path: Path) -> None:
    (root / ".phasekeeper/config.yaml").write_text("workflows: {'work/*': planned}\nfleet: {project: a}\n")
    codes, ours = _modules(root, tmp_path, ["claim", RUN, "f-01", "--as", "ann", "--cold"])
    assert codes == [0]
    assert ours and not [name for name in ours if name.split(".")[0] != "phasekeeper"]
    claims = (root / RUN / ".phasekeeper/claims.jsonl").read_text()
    assert "fence" not in claims
