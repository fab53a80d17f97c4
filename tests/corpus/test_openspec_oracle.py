"""What OpenSpec itself says of real changes (recorded, version 1.13.2) beside what is said here.

Each difference stands in a table of examples/conventions/README.md, with who is right and why.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.corpus.places import CORPUS, table_rows

pytestmark = pytest.mark.corpus

Status = Callable[[Path], list[dict[str, Any]]]
ORACLE: dict[str, Any] = (
    json.loads((CORPUS / "oracle/openspec-1.13.2.json").read_text("utf-8")) if CORPUS else {}
)


def tool_next(change: dict[str, Any]) -> str:
    """The step that OpenSpec names: the first artifact that is ready, else to apply, else to archive."""
    artifacts = change["status"]["json"]["artifacts"]
    ready = next((each["id"] for each in artifacts if each["status"] == "ready"), "")
    return ready or ("archive" if change["apply"]["json"]["state"] == "all_done" else "apply")


def differences(status: Status) -> set[tuple[str, str, str, str]]:
    """(repository/change, what about, what OpenSpec says, what is said here), where the two differ."""
    assert CORPUS
    found: set[tuple[str, str, str, str]] = set()
    for repository, recorded in ORACLE.items():
        runs = {
            run["run"].rpartition("/")[2]: run
            for run in status(CORPUS / "conventions/openspec" / repository)
            if run["workflow"] == "openspec"
        }
        assert runs.keys() == {change["name"] for change in recorded["list"]["changes"]}
        for change in recorded["list"]["changes"]:
            run, told = runs[change["name"]], recorded["changes"][change["name"]]
            name = f"{repository}/{change['name']}"
            progress = run["progress"] or {"done": 0, "total": 0}
            pairs = (
                (
                    "progress",
                    f"{change['completedTasks']} of {change['totalTasks']}",
                    f"{progress['done']} of {progress['total']}",
                ),
                ("next", tool_next(told), run["suggestion"]["suggestedNext"] or run["currentPhase"]),
            )
            found |= {(name, what, theirs, ours) for what, theirs, ours in pairs if theirs != ours}
    return found


def test_every_difference_from_openspec_is_in_the_table_and_no_other(status: Status) -> None:
    assert len(ORACLE) >= 8
    assert differences(status) == {row[:4] for row in table_rows("change")}
