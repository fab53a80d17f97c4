"""Each workflow followed by the text of `next` alone, from `start` and the example; nothing is refused."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.cli_walkthroughs.driver import Drive
from tests.cli_walkthroughs.follower import follow
from tests.roots import EXAMPLES


@pytest.fixture
def drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Drive:
    return Drive(tmp_path, monkeypatch)


def end_of(drive: Drive, run: str, option: str) -> str:
    """Follow a run, and answer each question that is asked on the way with an option; its status."""
    for _ in range(20):
        out = follow(drive, run)
        evaluation = drive.evaluation(run)
        if evaluation["suggestion"]["kind"] == "wait" and (
            found := re.search(r"running: ([\w, -]+); each", out)
        ):
            for child in found[1].split(", "):
                assert end_of(drive, child, option) == "complete"
        elif not evaluation["questions"]:
            return evaluation["status"]
        for question in evaluation["questions"]:
            # Nothing but the run changes here.
            assert question["id"] != "definition"
            options = [each["id"] for each in question["options"]]
            chosen = option if option in options else options[0]
            assert drive.decide("answer", run, question["id"], chosen, "--reason", "it is").code in (0, 3)
    raise AssertionError(f"{run} is asked again and again")


@pytest.mark.parametrize(
    ("workflow", "option"),
    [
        ("artifact-pipeline", "accepted"), ("phase-loop", "resolve"), ("skill-tuning", "complete"),
        ("component-design", "retry"), ("master-plan", "approve"),
    ],
)  # fmt: skip
def test_a_new_run_is_followed_to_its_end(drive: Drive, workflow: str, option: str) -> None:
    run = drive.start(workflow, "one")
    assert end_of(drive, run, option) == "complete"


@pytest.mark.parametrize(
    ("run", "option"),
    [
        (".ai-tools-chain/tasks/late-fees", "accepted"), (".claude/state", "resolve"),
        (".workflow/.scratchpad/skill-tuning-book-finder", "complete"),
        (".phasekeeper/sessions/lending-design", "retry"), (".orchestrator/tasks/reading-lists", "adopt"),
    ],
)  # fmt: skip
def test_an_example_is_followed_to_its_end(drive: Drive, run: str, option: str) -> None:
    shutil.copytree(EXAMPLES, drive.root, ignore=shutil.ignore_patterns("*.py"), dirs_exist_ok=True)
    drive.time_passes(3600)
    assert end_of(drive, run, option) == "complete"


def test_a_report_without_its_text_is_refused_with_a_form_to_copy(drive: Drive) -> None:
    shutil.copytree(EXAMPLES, drive.root, ignore=shutil.ignore_patterns("*.py"), dirs_exist_ok=True)
    said = drive.refused("report", "reading-lists", "F1", "ok").splitlines()
    assert said[0].startswith("phasekeeper: nothing was recorded: a report of F1 comes with its text")
    assert said[0].endswith("Fill this in and hand it in with --report FILE:")
    assert said[1:5] == ["", "# Failure Analysis", "", "**Phase**: 2"]


def test_an_end_that_only_the_state_claims_is_taken_back_by_the_command_that_is_shown(drive: Drive) -> None:
    run = drive.start("skill-tuning", "one")
    state = drive.json(f"{run}/state.json")
    drive.write(f"{run}/state.json", {**state, "status": "completed"})
    out = drive.run("next", "--run", run).out
    assert "  report: " not in out
    command = re.search(r"fix: roll back to running:\n +phasekeeper (redo .*)", out)
    assert command
    drive.do(*command[1].split())
    assert drive.json(f"{run}/state.json")["status"] == "running"
