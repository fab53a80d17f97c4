"""Real repositories of BMAD: no story and no box is lost, damage completes nothing, its script says so too.

Keys and boxes are counted a second time here, by counters that share nothing with the readers. Where
sprint_plan.py differs (recorded, version 6.12.0) a table of examples/conventions/README.md says who is right.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from phasekeeper.orchestration.plans.dialects import DIALECTS
from phasekeeper.orchestration.plans.model import Plan, Task

from tests.corpus.places import CORPUS, table_rows
from tests.corpus.test_checklists import task_lines

pytestmark = pytest.mark.corpus

Status = Callable[[Path], list[dict[str, Any]]]
FOLDER = CORPUS / "conventions/bmad" if CORPUS else Path()
ORACLE: dict[str, Any] = (
    json.loads((CORPUS / "oracle/bmad-sprint_plan-6.12.0.json").read_text("utf-8")) if CORPUS else {}
)
PARTS = DIALECTS["bmad"].parts
PLACES = (
    "[0-9]*-[0-9]*.md", "spec-*.md", "stories/**/*.md", "sprint-artifacts/**/[0-9]*.md",
    "epics/*/stories/**/*.md", "archive/**/[0-9]*.md", "completed/**/[0-9]*.md", "qa/gates/*.yml",
)  # fmt: skip
TRACKERS = sorted(
    each for each in FOLDER.rglob("sprint-status.yaml") if "development_status:" in each.read_text("utf-8")
)
SPRINTS = sorted(
    {each.parent for each in TRACKERS}
    | {each.parent for each in FOLDER.glob("*/docs/stories")}
    | set(FOLDER.glob("3lokai*/docs"))
)


def name_of(folder: Path) -> str:
    return folder.relative_to(FOLDER).as_posix()


def texts_of(folder: Path) -> dict[str, str]:
    files = [folder / "sprint-status.yaml", *(each for place in PLACES for each in folder.glob(place))]
    return {
        each.relative_to(folder).as_posix(): each.read_text("utf-8-sig") for each in files if each.is_file()
    }


def combined(texts: dict[str, str]) -> Plan | None:
    assert PARTS
    return PARTS.combine({name: PARTS.read(name, text) for name, text in texts.items()})


def keys(text: str) -> dict[str, str]:
    """key -> status of the stories below `development_status`, by a look at the lines alone."""
    found: dict[str, str] = {}
    inside = False
    for line in text.splitlines():
        if line[:1] not in ("", " ", "#"):
            inside = line.startswith("development_status:")
        bare = line.strip()
        if inside and line[:1] == " " and bare[:1] != "#" and ":" in bare:
            key, _, value = bare.partition(":")
            if not key.startswith("epic-"):
                found[key] = value.split(" #")[0].strip(" \"'")
    return found


def in_turn(plan: Plan) -> Iterator[Task]:
    left = (task for task in plan.tasks if not task.done and not task.optional)
    return iter(sorted(left, key=lambda task: task.rank))


def test_there_are_many_of_them() -> None:
    assert len(SPRINTS) >= 11
    assert sum(len(keys(each.read_text("utf-8"))) for each in TRACKERS) > 300


@pytest.mark.parametrize("folder", SPRINTS, ids=name_of)
def test_every_key_of_the_tracker_is_a_story_with_the_status_that_it_says(folder: Path) -> None:
    texts = texts_of(folder)
    plan, counted = combined(texts), keys(texts.get("sprint-status.yaml", ""))
    assert plan
    stories = {task.id: task for task in plan.tasks if task.type == "story"}
    if "sprint-status.yaml" in texts:
        assert stories.keys() == counted.keys()
        assert {key: stories[key].word for key in counted} == counted
        done = {key for key, word in counted.items() if word.split(" ")[0] == "done"}
        assert {key for key, task in stories.items() if task.status in ("done", "attention")} == done
    else:
        assert {task.file for task in stories.values()} == {name for name in texts if name.endswith(".md")}


@pytest.mark.parametrize("folder", SPRINTS, ids=name_of)
def test_every_box_of_a_story_is_a_part_of_it_and_no_other_line_is(folder: Path) -> None:
    texts = texts_of(folder)
    plan = combined(texts)
    assert plan
    read: dict[str, dict[int, bool]] = {}
    for task in plan.tasks:
        if task.type == "box":
            read.setdefault(task.file, {})[plan.span(task, task.mark).line] = task.status == "done"
    # What lies in the archive and is no story of the tracker is over.
    for name in texts.keys() - {"sprint-status.yaml"}:
        if name.endswith(".md") and not (name.startswith(("archive/", "completed/")) and name not in read):
            assert read.get(name, {}) == task_lines(texts[name])


@pytest.mark.parametrize("folder", SPRINTS, ids=name_of)
def test_ticking_a_task_changes_its_box_and_statuses_alone(folder: Path) -> None:
    assert PARTS
    draw = random.Random(61)
    texts = texts_of(folder)
    plan = combined(texts)
    assert plan
    left = [task for task in plan.tasks if not task.done and task.type in ("box", "story")]
    for task in draw.sample(left, min(6, len(left))):
        edited = PARTS.edit("tick_tasks", texts, [[task.id]])
        assert edited
        for name, text in edited.items():
            pairs = zip(texts[name].split("\n"), text.split("\n"), strict=True)
            changed = [(old, new) for old, new in pairs if old != new]
            assert all(
                re.sub(r"\[.\]", "[]", old) == re.sub(r"\[.\]", "[]", new)
                or re.search(r"(?i)in-?progress|review|done", new)
                for old, new in changed
            )
            assert len(changed) <= 4
        after = combined({**texts, **edited})
        assert after
        again = after.by_id[task.id]
        assert again.status == "done" or (task.type == "story" and "eview" in again.word)


def test_its_own_script_names_the_same_story_or_the_difference_is_in_the_table() -> None:
    differences: set[tuple[str, str, str, str]] = set()
    for tracker in TRACKERS:
        recorded = ORACLE[f"bmad/{name_of(tracker)}"]["status"]
        plan = combined(texts_of(tracker.parent))
        advice = recorded.get("recommendation") or {}
        theirs = advice.get("story_key") or advice.get("skill") or ("done" if recorded["ok"] else "error")
        first = next(in_turn(plan), None) if plan else None
        open_retrospectives = (
            [t for t in plan.tasks if t.type == "retrospective" and not t.done] if plan else []
        )
        ours = (
            first.id.partition(":")[0] if first else "bmad-retrospective" if open_retrospectives else "done"
        )
        name = name_of(tracker.parent)
        if plan is None:
            ours = "error"
        if ours != theirs:
            differences.add((name, "next", theirs, ours))
        counted = dict.fromkeys(recorded.get("stories", {}), 0)
        for task in plan.tasks if plan else ():
            word = {"drafted": "ready-for-dev"}.get(task.word, task.word)
            if task.type == "story" and word in counted:
                counted[word] += 1
        for word, number in recorded.get("stories", {}).items():
            if counted[word] != number:
                differences.add((name, word, str(number), str(counted[word])))
    assert len(ORACLE) >= 7
    assert differences == {row[:4] for row in table_rows("tracker")}


def test_damage_never_completes_a_sprint() -> None:
    draw = random.Random(62)
    for folder in SPRINTS:
        texts = texts_of(folder)
        whole = combined(texts)
        assert whole
        open_files = {task.file for task in whole.tasks if not task.done and not task.optional}
        for _ in range(12):
            damaged = dict(texts)
            name = draw.choice([*texts])
            at = draw.randrange(len(texts[name]) + 1)
            cut = texts[name][:at]
            flipped = cut + draw.choice("{}[]:-#`x\0\n") + texts[name][at + 1 :]
            damaged[name] = draw.choice([cut, flipped])
            plan = combined(damaged)
            if open_files - {name}:
                assert plan and next(in_turn(plan), None), (folder, name, at)


def test_a_sprint_is_one_run(status: Status) -> None:
    found = {
        each.name: [run for run in status(each) if run["workflow"] == "bmad"]
        for each in FOLDER.iterdir()
        if each.is_dir()
    }
    assert sum(map(len, found.values())) >= 10
    for runs in found.values():
        assert len(runs) <= 1
        assert all(run["suggestion"]["reason"] and run["status"] == "active" for run in runs)
