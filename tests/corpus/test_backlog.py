"""Real boards of Backlog.md: each task file is a task with the status it says, damage completes nothing."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from phasekeeper.orchestration.plans.dialects import DIALECTS

from tests.corpus.places import CORPUS

pytestmark = pytest.mark.corpus

Status = Callable[[Path], list[dict[str, Any]]]
FOLDERS = (
    sorted(each.parent for each in (CORPUS / "conventions/backlog").glob("*/backlog/config.yml"))
    if CORPUS
    else []
)
PARTS = DIALECTS["backlog"].parts


def repository(folder: Path) -> str:
    return folder.parent.name


def task_files(folder: Path) -> dict[str, str]:
    """path -> status of the files that have one, by a look at their lines alone."""
    found: dict[str, str] = {}
    for file in [*folder.glob("tasks/**/*.md"), *folder.glob("completed/**/*.md")]:
        said = [
            line[7:].strip(" '\"")
            for line in file.read_text("utf-8-sig").splitlines()[:40]
            if line.startswith("status:")
        ]
        if said:
            found[file.relative_to(folder).as_posix()] = said[0].lower()
    return found


def test_there_are_many_of_them() -> None:
    assert len(FOLDERS) >= 9
    assert sum(len(task_files(folder)) for folder in FOLDERS) > 100


@pytest.mark.parametrize("folder", FOLDERS, ids=repository)
def test_every_task_file_is_a_task_with_the_status_that_it_says(folder: Path) -> None:
    assert PARTS
    files = [
        "config.yml",
        *(
            file.relative_to(folder).as_posix()
            for kind in ("tasks", "completed")
            for file in folder.glob(f"{kind}/**/*.md")
        ),
    ]
    plan = PARTS.combine({name: PARTS.read(name, (folder / name).read_text("utf-8-sig")) for name in files})
    assert plan
    counted = task_files(folder)
    assert sorted(task.file for task in plan.tasks) == sorted(counted)
    assert len({task.id for task in plan.tasks}) == len(counted)
    done = {path for path, status in counted.items() if status == "done" or path.startswith("completed/")}
    assert {task.file for task in plan.tasks if task.status == "done"} - {
        path for path, status in counted.items() if status == "completed"
    } == done


@pytest.mark.parametrize("folder", FOLDERS, ids=repository)
def test_a_board_is_one_run(folder: Path, status: Status) -> None:
    (run,) = [run for run in status(folder.parent) if run["workflow"] == "backlog"]
    assert run["run"] == "backlog"
    assert run["progress"]["total"] == len(task_files(folder))
    assert run["suggestion"]["reason"]


def test_damage_never_completes_a_board() -> None:
    assert PARTS
    draw = random.Random(41)
    for folder in FOLDERS:
        names = ["config.yml", *task_files(folder)]
        texts = {name: (folder / name).read_text("utf-8-sig") for name in names}
        for _ in range(10):
            damaged = dict(texts)
            name = draw.choice([name for name in names if name != "config.yml"])
            damaged[name] = damaged[name][: draw.randrange(len(damaged[name]))]
            plan = PARTS.combine({name: PARTS.read(name, text) for name, text in damaged.items()})
            whole = PARTS.combine({name: PARTS.read(name, text) for name, text in texts.items()})
            assert whole
            if any(not task.done for task in whole.tasks if task.file != name):
                assert plan
                assert any(not task.done for task in plan.tasks)
