"""Real files of Task Master: every task is read, damage completes nothing, and its own `next` says the same.

Where it differs (recorded, April 2026), a table of examples/conventions/README.md says who is right and why.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from phasekeeper.orchestration.plans.dialects import DIALECTS

from tests.corpus.places import CORPUS, table_rows

pytestmark = pytest.mark.corpus

Status = Callable[[Path], list[dict[str, Any]]]
FOLDER = CORPUS / "conventions/taskmaster" if CORPUS else Path()
FILES = sorted(FOLDER.glob("*/.taskmaster/tasks/tasks.json"))
ORACLE: dict[str, Any] = (
    json.loads((CORPUS / "oracle/taskmaster-findNextTask.json").read_text("utf-8")) if CORPUS else {}
)
KIND = DIALECTS["task-master"]


def repository(file: Path) -> str:
    return file.parents[2].name


def counted(tasks: list[dict[str, Any]]) -> tuple[int, int]:
    """(tasks and subtasks, those that say that they are done), without a look at anything else."""
    below = [counted(task.get("subtasks") or []) for task in tasks]
    done = sum(task.get("status") in ("done", "completed") for task in tasks)
    return len(tasks) + sum(n for n, _ in below), done + sum(n for _, n in below)


def test_there_are_many_of_them() -> None:
    assert len(FILES) >= 9
    assert (
        sum(counted(tag["tasks"])[0] for file in FILES for tag in json.loads(file.read_bytes()).values())
        > 700
    )


@pytest.mark.parametrize("file", FILES, ids=repository)
def test_every_task_is_read_and_none_is_made_up(file: Path) -> None:
    assert KIND.units
    text = file.read_text("utf-8-sig")
    for tag, data in json.loads(text).items():
        plan = KIND.for_unit(tag).read(text)
        assert plan
        assert (len(plan.tasks), sum(task.status == "done" for task in plan.tasks)) == counted(data["tasks"])


def test_its_own_next_task_is_the_first_that_is_ready_or_the_difference_is_in_the_table(
    status: Status,
) -> None:
    differences: set[tuple[str, str, str]] = set()
    for file in FILES:
        recorded = ORACLE[repository(file)]["next"]
        runs = {run["run"].rpartition("#")[2]: run for run in status(file.parents[2])}
        assert runs.keys() == recorded.keys()
        for tag, told in recorded.items():
            theirs = str(told["id"]) if told else "none"
            ours = (runs[tag]["suggestion"]["tasks"] or ["none"])[0]
            # A task that has parts is done by its parts here.
            if ours != theirs and not ours.startswith(f"{theirs}."):
                differences.add((f"{repository(file)}#{tag}", theirs, ours))
    assert len(ORACLE) >= 9
    assert differences == {row[:3] for row in table_rows("tag")}


def test_ticking_a_task_changes_its_status_alone() -> None:
    draw = random.Random(21)
    for file in FILES:
        text = file.read_text("utf-8-sig")
        for tag in json.loads(text):
            plan = KIND.for_unit(tag).read(text)
            left = [task for task in plan.tasks if not task.done] if plan else []
            for task in draw.sample(left, min(3, len(left))):
                after = KIND.for_unit(tag).edit("tick_tasks", text, ([task.id],))
                changed = [
                    pair
                    for pair in zip(text.split("\n"), after.split("\n"), strict=True)
                    if pair[0] != pair[1]
                ]
                assert 1 <= len(changed) <= 2
                assert all(
                    '"done"' in new and re.sub('"done"', old.split('"')[3].join('""'), new) == old
                    for old, new in changed
                )


def test_damage_never_completes_a_tag() -> None:
    assert KIND.units
    draw = random.Random(22)
    for file in FILES:
        text = file.read_text("utf-8-sig")
        open_tags = {
            tag
            for tag, data in json.loads(text).items()
            if counted(data["tasks"])[0] > counted(data["tasks"])[1]
        }
        for _ in range(15):
            at = draw.randrange(len(text))
            damaged = draw.choice([text[:at], text[:at] + draw.choice('{}[],:"x\0') + text[at + 1 :]])
            for unit in KIND.units(damaged) or ():
                plan = None if KIND.fault(damaged) else KIND.for_unit(unit).read(damaged)
                is_complete = plan is not None and all(
                    stage.is_complete for stage in plan.stages if stage.total
                )
                assert not (is_complete and plan and plan.tasks and unit in open_tags)
