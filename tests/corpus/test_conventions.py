"""Folders of ten conventions: those that are read in place, no other is claimed, none stops the program."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.corpus.places import CORPUS

pytestmark = pytest.mark.corpus

Status = Callable[[Path], list[dict[str, Any]]]
FOLDERS = sorted(CORPUS.glob("conventions/*/*")) if CORPUS else []
MARKDOWN = (".orchestrator/tasks/{}/MASTER_PLAN.md",)
STATES = (".ai-tools-chain/tasks/{}/state.json", ".workflow/.scratchpad/skill-tuning-{}/state.json")
SESSION = (".phasekeeper/sessions/{}/session.json",)


def below(corpus: Path, suffix: str) -> list[Path]:
    found = sorted(file for file in corpus.glob(f"conventions/*/*/**/*{suffix}") if file.is_file())
    assert len(found) > 50
    return found


def copied(files: list[Path], places: tuple[str, ...], root: Path) -> Path:
    """Every file where a run is looked for, under the name that such a run's file has."""
    for number, file in enumerate(files):
        for place in places:
            there = root / place.format(number)
            there.parent.mkdir(parents=True)
            shutil.copyfile(file, there)
    return root


LISTS = ("spec-kit", "openspec", "kiro", "agent-os", "spec-workflow")
READ_IN_PLACE = {*LISTS, "plan-file", "task-master", "beads", "backlog", "bmad"}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: f"{folder.parent.name}/{folder.name}")
def test_a_folder_holds_runs_of_its_own_convention_or_none(status: Status, folder: Path) -> None:
    # Some repositories use two conventions side by side.
    runs = status(folder)
    assert {run["workflow"] for run in runs} <= READ_IN_PLACE
    assert all(
        (folder / run["run"].rpartition("#")[0]).is_file() or (folder / run["run"]).is_dir() for run in runs
    )


@pytest.mark.parametrize("convention", LISTS)
def test_every_unit_of_a_convention_is_a_run_and_none_is_invalid(status: Status, convention: str) -> None:
    assert CORPUS
    runs = [run for folder in FOLDERS if folder.parent.name == convention for run in status(folder)]
    units = [
        each.parent
        for each in (CORPUS / "conventions" / convention).rglob("tasks.md")
        if not {"archive", "templates", "commands"} & {*each.parts}
    ]
    assert len(runs) >= len(units) >= 8
    assert {run["workflow"] for run in runs} == {convention}
    assert "invalid" not in {run["status"] for run in runs}
    assert all(run["suggestion"]["reason"] for run in runs)


def test_no_other_document_is_taken_for_a_master_plan(corpus: Path, tmp_path: Path, status: Status) -> None:
    assert status(copied(below(corpus, ".md"), MARKDOWN, tmp_path)) == []


def test_a_state_with_another_s_phase_is_never_given_a_phase(
    corpus: Path, tmp_path: Path, status: Status
) -> None:
    files = below(corpus, ".json")
    runs = status(copied(files, STATES + SESSION, tmp_path))
    with_phase = {number for number, file in enumerate(files) if has_phase(file)}
    # In the pipeline's own folder a file with a phase is its state file, with a phase that it does not know.
    assert {run["run"] for run in runs} == {f".ai-tools-chain/tasks/{number}" for number in with_phase}
    assert {(run["currentPhase"], run["status"]) for run in runs} == {(None, "invalid")}
    assert all("unknown-phase" in [found["code"] for found in run["findings"]] for run in runs)


def has_phase(file: Path) -> bool:
    data = json.loads(file.read_text(encoding="utf-8-sig"))
    return isinstance(data, dict) and "phase" in data


def test_repositories_with_files_cut_and_swapped_are_read_all_the_same(
    tmp_path: Path, status: Status
) -> None:
    draw = random.Random(16)
    seen: set[str] = set()
    for number, folder in enumerate(draw.sample(FOLDERS, 16)):
        root = tmp_path / str(number)
        shutil.copytree(folder, root)
        files = sorted(file for file in root.rglob("*") if file.is_file() and file.stat().st_size)
        one, other, cut = (draw.choice(files) for _ in range(3))
        texts = one.read_bytes(), other.read_bytes()
        one.write_bytes(texts[1])
        other.write_bytes(texts[0])
        content = cut.read_bytes()
        cut.write_bytes(content[: draw.randrange(len(content))])
        runs = status(root)
        seen |= {run["workflow"] for run in runs}
        assert all(run["suggestion"]["reason"] and run["statusReason"] for run in runs)
        # What cannot be read is never complete, and is told.
        for run in (run for run in runs if run["status"] == "complete"):
            assert "artifact-unreadable" not in {found["code"] for found in run["findings"]}, run["run"]
    assert len(seen) >= 5
