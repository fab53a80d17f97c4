"""A loop whose work is done and whose quality gates are to be reported."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.roots import put

EXAMPLES = Path(__file__).parents[3] / "examples"
RUN = ".claude/state"
STATE = f"{RUN}/loop.state.json"
GATES = {name: {"status": "passed"} for name in ("lint", "tests", "coverage")}


def loop_at_quality_gates(root: Path) -> Path:
    """The loop of the examples at its quality gates, of which one failed before, and without a question."""
    shutil.copytree(EXAMPLES / RUN, root / RUN)
    state = json.loads((root / STATE).read_text())
    for item in state["workQueue"]:
        item.update(priority="S2", status="done")
    put(root / STATE, state)
    put(root / RUN / "gates/pass-3.md", "lint, tests, coverage")
    return root
