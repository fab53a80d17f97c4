"""What the command line records and lets through: nothing that was said is dropped, nothing stuck passes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli_walkthroughs.driver import Drive
from tests.verdicts.runs import Run, plan_run


@pytest.fixture
def drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Drive:
    return Drive(tmp_path, monkeypatch)


def on_disk(drive: Drive, run: Run) -> Drive:
    """The files of a run in memory, on disk."""
    for path, text in run.files.items():
        drive.write(path, text)
    return drive


def test_options_that_are_given_more_than_once_add_up(drive: Drive) -> None:
    on_disk(drive, plan_run("x  "))
    drive.do("report", "f", *drive.with_text("4a", "complete", "--task", "02", "--task", "03"))
    assert drive.records("tasks/f")[-1]["tasks"] == ["f-02", "f-03"]
    words = ["--failed", "f-02", "--failed", "f-03", "--manual", "looks", "--manual", "feel"]
    drive.do("report", "f", *drive.with_text("4b", "fail", *words))
    record = drive.records("tasks/f")[-1]
    assert (record["tasks"], record["manual_criteria"]) == (["f-02", "f-03"], ["looks", "feel"])


def test_a_run_whose_tasks_are_marked_as_blocked_does_not_pass_a_check(drive: Drive) -> None:
    on_disk(drive, plan_run("xx-x"))
    result = drive.run("check", "--gates", "--allow", "waiting")
    assert (result.code, "cannot go on: tasks/f" in result.out) == (1, True)
    result = drive.run("next", "f")
    assert (result.code, "no task can start: f-03 is marked [-]" in result.out) == (1, True)
