"""Real exports of beads: every issue is read, what is ready has no blocker, damage completes nothing."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from phasekeeper.orchestration.plans.dialects import DIALECTS

from tests.corpus.places import CORPUS

pytestmark = pytest.mark.corpus

Status = Callable[[Path], list[dict[str, Any]]]
FILES = sorted((CORPUS / "conventions/beads").glob("*/.beads/issues.jsonl")) if CORPUS else []
READ = DIALECTS["beads"].read


def repository(file: Path) -> str:
    return file.parents[1].name


def issues(file: Path) -> dict[str, dict[str, Any]]:
    return {data["id"]: data for data in map(json.loads, file.read_text("utf-8").splitlines())}


def test_there_are_many_of_them() -> None:
    assert len(FILES) >= 5
    assert sum(len(issues(file)) for file in FILES) > 600


@pytest.mark.parametrize("file", FILES, ids=repository)
def test_every_issue_is_read_and_none_is_made_up(file: Path) -> None:
    plan, known = READ(file.read_text("utf-8")), issues(file)
    assert plan
    assert [task.id for task in plan.tasks] == [*known]
    assert {task.id for task in plan.tasks if task.status == "done"} == {
        name for name, data in known.items() if data["status"] == "closed"
    }


@pytest.mark.parametrize("file", FILES, ids=repository)
def test_what_is_ready_is_open_without_an_open_blocker(file: Path, status: Status) -> None:
    known = issues(file)

    def is_blocked(name: str) -> bool:
        needs = known[name].get("dependencies") or []
        above = [each["depends_on_id"] for each in needs if each["type"] == "parent-child"]
        own = [each["depends_on_id"] for each in needs if each["type"] in ("blocks", "waits-for")]
        return any(known.get(each, {"status": "open"})["status"] != "closed" for each in own) or any(
            each in known and is_blocked(each) for each in above
        )

    (run,) = [run for run in status(file.parents[1]) if run["workflow"] == "beads"]
    ready = run["suggestion"]["tasks"]
    assert all(known[name]["status"] in ("open", "in_progress") and not is_blocked(name) for name in ready)
    # Whoever is not among them has an open part, or is blocked.
    parts = {
        each["depends_on_id"]
        for data in known.values()
        if data["status"] not in ("closed", "cancelled")
        for each in data.get("dependencies") or []
        if each["type"] == "parent-child"
    }
    parts |= {
        name.rpartition(".")[0]
        for name, data in known.items()
        if data["status"] not in ("closed", "cancelled")
    }
    left = {
        name
        for name, data in known.items()
        if data["status"] == "open" and data["issue_type"] not in ("event", "convoy", "agent")
    }
    assert {name for name in left if not is_blocked(name) and name not in parts} <= set(ready)


def test_damage_never_completes_a_project() -> None:
    draw = random.Random(31)
    for file in FILES:
        text = file.read_text("utf-8")
        left = {
            name
            for name, data in issues(file).items()
            if data["status"] not in ("closed", "cancelled")
            and data["issue_type"] not in ("event", "convoy", "agent")
        }
        for _ in range(15):
            at = draw.randrange(len(text))
            plan = READ(text[:at] + draw.choice('{}[],:"x') + text[at + 1 :])
            assert plan
            assert not left or any(task.counts and not task.done for task in plan.tasks)
