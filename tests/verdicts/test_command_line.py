"""What the command line records and lets through: nothing that was said is dropped, nothing stuck passes."""

from __future__ import annotations

import re
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


def test_the_third_report_without_a_change_asks_a_person(drive: Drive) -> None:
    declared = "## Meta\n\n## Files to Change\n\n| File | Action |\n|---|---|\n| `src/a.py` | create |\n"
    run = plan_run("x ", t02=declared).write("/src/a.py", "A = 1\n").report("4a", "complete", "02", data={})
    on_disk(drive, run.report("4b", "fail", "02").report("F1", "ok"))
    report = ("report", "f", "F2", "complete", "--task", "02")
    first = drive.run(*report)
    assert (first.code, "refusal 1 of 3 in a row of F2; then a person is asked" in first.err) == (1, True)
    again = (*report, "--request-id", "c-1")
    assert drive.run(*again).code == 1
    assert "needs that a file was changed" in drive.refused(*again)
    assert drive.run("check", "f").code != 3
    assert "a person is asked now" in drive.run(*report).err
    assert drive.run("check", "f").code == drive.run("next", "f").code == 3
    shown = drive.do("history", "f").out.splitlines()
    assert [line.split()[1] for line in shown[-4:]] == ["refused"] * 3 + ["question"]
    question = re.findall(r"raised:\d+", drive.do("questions", "f").out)[0]
    drive.decide("answer", "f", question, "continue", "--reason", "change src/a.py")
    drive.write("src/a.py", "A = 2\n")
    drive.do(*report)


def test_a_call_with_the_request_id_of_the_last_record_is_recorded_once(drive: Drive) -> None:
    on_disk(drive, plan_run("x "))
    report = ("report", "f", "4a", "partial", "--task", "02", "--request-id", "c-1")
    first = drive.do(*report).out
    assert drive.do(*report).out == first
    assert [record["request"] for record in drive.records("tasks/f")] == ["c-1"]
    asking = ("escalate", "f", "Which of both?", "--request-id", "c-2")
    assert drive.run(*asking).code == drive.run(*asking).code == 3
    assert len(drive.records("tasks/f")) == 2
