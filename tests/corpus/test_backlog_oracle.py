"""What Backlog.md itself lists of real boards (recorded, version 1.52.0) beside what is said here.

Each difference stands in a table of examples/conventions/README.md, with who is right and why.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.corpus.oracles import BACKLOG_ANSWERS
from tests.corpus.places import CORPUS, table_rows

pytestmark = pytest.mark.corpus

Status = Callable[[Path], list[dict[str, Any]]]
ORACLE: dict[str, Any] = json.loads(BACKLOG_ANSWERS.read_text("utf-8"))


def board(status: Status, repository: str) -> tuple[dict[str, str], set[str]]:
    """(id -> "open" or "done" of the tasks that are not put away as completed, those that can start).

    Backlog.md compares ids without their case and shows them in capitals.
    """
    assert CORPUS
    runs = status(CORPUS / "conventions/backlog" / repository)
    (run,) = [run for run in runs if run["workflow"] == "backlog"]
    tasks = [task for stage in run["plan"]["stages"] for task in stage["tasks"]]
    active = [task for task in tasks if "/completed/" not in task["path"]]
    listed = {task["id"].upper(): "done" if task["state"] == "done" else "open" for task in active}
    return listed, {name.upper() for name in run["suggestion"]["tasks"]}


def differences(status: Status) -> set[tuple[str, str, str, str]]:
    """(board, what about, what Backlog.md says, what is said here), where the two differ."""
    found: set[tuple[str, str, str, str]] = set()
    for repository, told in ORACLE.items():
        listed, ready = board(status, repository)
        if listed and not told.get("status"):
            found.add((repository, "list", "none", f"{len(listed)} tasks"))
            continue
        theirs = {name: "done" if word == "Done" else "open" for name, word in told["status"].items()}
        for name in theirs.keys() | listed.keys():
            pair = theirs.get(name, "not listed"), listed.get(name, "not listed")
            found |= {(repository, name, *pair)} if pair[0] != pair[1] else set()
        for name in (ready ^ set(told["ready"])) & theirs.keys() & listed.keys():
            ours = "ready" if name in ready else "not ready"
            found.add((repository, name, "not ready" if name in ready else "ready", ours))
    return found


def test_every_difference_from_backlog_is_in_the_table_and_no_other(status: Status) -> None:
    assert len(ORACLE) >= 9
    # One that has two tasks of one id it does not list at all.
    assert [name for name, told in ORACLE.items() if "refuses" in told] == ["ANUcybernetics__llms-unplugged"]
    assert sum(len(told.get("status", ())) for told in ORACLE.values()) > 60
    assert differences(status) == {row[:4] for row in table_rows("board")}
