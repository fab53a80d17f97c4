"""Seed 004 driven by commands: clarify, plan, approve, implement stage by stage, validate, follow up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli_walkthroughs.driver import Drive, Result

RUN = ".orchestrator/tasks/late-fees"
PLAN = f"{RUN}/MASTER_PLAN.md"
TEXT = """\
# Late Fees - Master Plan

**Objective**: Charge late fees.
**Status**: [ ] Planning
**Total Tasks**: 4

## Progress Summary

| Phase | Status | Tasks | Effort | Notes |
|---|---|---|---|---|
| Phase 1: Rules | [ ] | 2 | 2h | no change  to   this spacing |
| Phase 2: Screens | [ ] | 2 | 3h | |

## Phase 1: Rules (2h)

| Order | Task ID | File | Description | Type | Status |
|---|---|---|---|---|---|
| 1 | late-fees-01 | `01-rounding.md` | Round the fees | impl | [ ] |
| 2 | late-fees-02 | `02-phase-1-tests.md` | Test the rules | **test** | [ ] |

## Phase 2: Screens (3h)

| Order | Task ID | File | Description | Type | Status |
|---|---|---|---|---|---|
| 3 | late-fees-03 | `03-list.md` | Show the fees | impl | [ ] |
| 4 | late-fees-04 | `04-phase-2-tests.md` | Test the screens | **test** | [ ] |

## Quick Reference

```text
 1. late-fees-01  Round the fees    [ ]
 2. late-fees-02  Test the rules    [ ]
 3. late-fees-03  Show the fees     [ ]
 4. late-fees-04  Test the screens  [ ]
```

**Progress**: 0/4 tasks complete (0%)
"""
FILES = {"01": "01-rounding.md", "02": "02-phase-1-tests.md", "03": "03-list.md", "04": "04-phase-2-tests.md"}
STAGES = {"1": ("01", "02"), "2": ("03", "04"), "3": ("05", "06")}
FIX = {"title": "Remediation", "tasks": [{"title": "Mend the totals"}]}


@pytest.fixture
def drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Drive:
    return Drive(tmp_path, monkeypatch)


# ---- steps ------------------------------------------------------------------------------------


def _report(drive: Drive, step: str, outcome: str, *more: str) -> Result:
    return drive.do("report", "late-fees", *drive.with_text(step, outcome, *more))


def _answer(drive: Drive, question: str, option: str) -> Result:
    result = drive.decide("answer", "late-fees", question, option, "--reason", "as agreed")
    assert result.code in (0, 1, 3) and "answered" in result.out, result
    return result


def _started(drive: Drive) -> None:
    assert drive.start("master-plan", "late-fees", "--title", "Late fees") == RUN


def _task_file(drive: Drive, number: str, file: str, review: bool = False) -> None:
    meta = f"- **ID**: late-fees-{number}\n- **Depends On**: []\n- **Requires UX/DX Review**: {review}\n"
    drive.write(f"{RUN}/{file}", f"# {number}. Task\n\n## Meta\n\n{meta.replace('False', 'false').lower()}")


def _write_plan(drive: Drive, text: str = TEXT, reviewed: tuple[str, ...] = ()) -> None:
    drive.write(PLAN, text)
    for number, file in FILES.items():
        _task_file(drive, number, file, number in reviewed)


def _planned(drive: Drive, text: str = TEXT, reviewed: tuple[str, ...] = ()) -> None:
    """From the start to a plan that awaits approval."""
    _started(drive)
    _report(drive, "0a", "requirements_clear")
    _write_plan(drive, text, reviewed)


def _approved(drive: Drive, text: str = TEXT, reviewed: tuple[str, ...] = ()) -> None:
    _planned(drive, text, reviewed)
    result = drive.decide("approve", "late-fees", "--reason", "complete and small")
    assert result.code == 0, result


def _implemented(drive: Drive, stage: str) -> None:
    for number in STAGES[stage]:
        _report(drive, "4a", "complete", "--task", number)


def _staged(drive: Drive, stage: str, *manual: str) -> None:
    """A whole stage that passes at once."""
    _implemented(drive, stage)
    _report(drive, "4b", "pass", *(("--manual", *manual) if manual else ()))
    _report(drive, "4c", "ok")


def _fixed(drive: Drive, number: str = "01") -> None:
    _report(drive, "F1", "ok", "--summary", "rounding is half-even")
    _report(drive, "F2", "complete", "--task", number)


def _failed_thrice(drive: Drive) -> None:
    """To the third failure of the first stage's quality gate."""
    _approved(drive)
    _implemented(drive, "1")
    for _ in range(2):
        _report(drive, "4b", "fail", "--failed", "01")
        _fixed(drive)
    assert _report(drive, "4b", "fail", "--failed", "01", "--summary", "one cent off").code == 3


def _validated(drive: Drive) -> None:
    """Every stage is complete."""
    _approved(drive)
    _staged(drive, "1")
    _staged(drive, "2")


def _completed(drive: Drive) -> None:
    _validated(drive)
    _report(drive, "5a", "pass")
    _report(drive, "6", "ok")
    assert drive.evaluation("late-fees")["status"] == "complete"


def _stage_appended(drive: Drive) -> None:
    """The report appends the stage, and makes its task files."""
    drive.do("report", "late-fees", "create-fix-tasks", "ok", "--data", "-", stdin=json.dumps(FIX))


def _extend_by_hand(drive: Drive) -> None:
    row = "| 5 | late-fees-05 | `05-export.md` | Export the fees | **test** | [ ] |\n"
    columns = "| Order | Task ID | File | Description | Type | Status |\n|---|---|---|---|---|---|\n"
    more = f"## Phase 3: Export\n\n{columns}{row}\n## Quick Reference"
    drive.write(PLAN, drive.text(PLAN).replace("## Quick Reference", more))
    _task_file(drive, "05", "05-export.md")


def _stage(drive: Drive, name: str) -> dict[str, Any]:
    stages = drive.evaluation("late-fees")["plan"]["stages"]
    return next(stage for stage in stages if stage["id"] == name)


def _limit(drive: Drive, name: str) -> int:
    limits = drive.evaluation("late-fees")["limits"]
    return next(limit["count"] for limit in limits if limit["id"] == name)


def _ticked(*numbers: str) -> str:
    """The plan of the tests with the marks of whole stages set, and nothing else changed."""
    lines = TEXT.splitlines(keepends=True)
    named = tuple(f"late-fees-{number}" for number in numbers)
    named += tuple(f"| Phase {stage}:" for stage, tasks in STAGES.items() if set(tasks) <= set(numbers))
    lines = [line.replace("[ ]", "[x]") if any(n in line for n in named) else line for line in lines]
    share = 100 * len(numbers) // 4
    progress = f"{len(numbers)}/4 tasks complete ({share}%)"
    return "".join(lines).replace("0/4 tasks complete (0%)", progress)


# ---- the way to the end -----------------------------------------------------------------------


def test_a_feature_goes_from_start_to_complete(drive: Drive) -> None:
    _started(drive)
    assert drive.suggestion("late-fees") == ("stay", "0a")
    _report(drive, "0a", "discovery_needed")
    assert drive.suggestion("late-fees") == ("advance", "1")
    _report(drive, "1", "ok")
    assert drive.suggestion("late-fees") == ("advance", "0b")
    _report(drive, "0b", "requirements_clear")
    assert drive.suggestion("late-fees") == ("advance", "2")
    _write_plan(drive)
    assert drive.questions("late-fees") == ["plan"]
    assert drive.decide("approve", "late-fees", "--reason", "complete and small").code == 0
    assert drive.suggestion("late-fees") == ("stay", "4a")
    for stage in ("1", "2"):
        _implemented(drive, stage)
        assert drive.suggestion("late-fees") == ("advance", "4b")
        _report(drive, "4b", "pass")
        assert drive.suggestion("late-fees") == ("advance", "4c")
        _report(drive, "4c", "ok")
    assert drive.phase("late-fees") == "5a"
    _report(drive, "5a", "pass")
    assert drive.suggestion("late-fees") == ("advance", "6")
    _report(drive, "6", "ok")
    evaluation = drive.evaluation("late-fees")
    assert (evaluation["status"], evaluation["suggestion"]["kind"]) == ("complete", "stop")
    assert (evaluation["progress"], evaluation["findings"]) == ({"done": 4, "total": 4}, [])
    ended = _ticked("01", "02", "03", "04").replace("**Status**: [ ] Planning", "**Status**: [x] Complete")
    assert drive.text(PLAN) == ended


# ---- clarification and discovery --------------------------------------------------------------


def test_questions_wait_for_a_person_until_the_third_round(drive: Drive) -> None:
    _started(drive)
    for count in (1, 2):
        assert _report(drive, "0a", "questions_needed", "--summary", "Which currency?").code == 3
        assert (_limit(drive, "rounds"), drive.suggestion("late-fees")) == (count, ("wait", None))
    assert _report(drive, "0a", "questions_needed", "--summary", "Which currency?").code == 0
    assert drive.suggestion("late-fees") == ("advance", "2")


def test_a_persons_words_let_the_next_round_begin(drive: Drive) -> None:
    _started(drive)
    said = drive.refused("report", "late-fees", "0a", "questions_needed")
    assert "its summary, which says what a person is asked, is empty" in said
    _report(drive, "0a", "questions_needed", "--summary", "Which currency?")
    assert drive.questions("late-fees") == ["clarification:0a"]
    answer = ("answer", "late-fees", "clarification:0a", "fees are monthly", "--reason", "asked the library")
    assert "terminal" in drive.refused(*answer)
    assert drive.decide(*answer).code == 0
    assert (drive.suggestion("late-fees"), drive.questions("late-fees")) == (("stay", "0a"), [])
    assert drive.run("next", "--run", "late-fees").code == 0
    _report(drive, "0a", "requirements_clear")
    assert drive.suggestion("late-fees") == ("advance", "2")


def test_rounds_before_and_after_discovery_count_together(drive: Drive) -> None:
    _started(drive)
    _report(drive, "0a", "questions_needed", "--summary", "Which currency?")
    _report(drive, "0a", "discovery_needed")
    _report(drive, "1", "ok")
    assert _report(drive, "0b", "questions_needed", "--summary", "Which currency?").code == 3
    assert _report(drive, "0b", "questions_needed", "--summary", "Which currency?").code == 0
    assert (_limit(drive, "rounds"), drive.suggestion("late-fees")) == (3, ("advance", "2"))


def test_two_further_discoveries_are_made_and_no_third(drive: Drive) -> None:
    _started(drive)
    _report(drive, "0a", "discovery_needed")
    _report(drive, "1", "ok")
    for count in (1, 2):
        _report(drive, "0b", "discovery_needed")
        assert drive.suggestion("late-fees") == ("regress", "1")
        # Both agents of a discovery may report.
        _report(drive, "1", "ok")
        _report(drive, "1", "ok")
        assert _limit(drive, "discoveries") == count
    _report(drive, "0b", "discovery_needed")
    assert drive.suggestion("late-fees") == ("advance", "2")


def test_work_cannot_be_reported_before_there_is_a_plan(drive: Drive) -> None:
    _started(drive)
    assert "it is the turn of 0a" in drive.refused("report", "late-fees", "4a", "complete")
    assert "no phase or action" in drive.wrong("report", "late-fees", "4d", "ok")
    assert "says one of" in drive.wrong("report", "late-fees", "0a", "ok")


# ---- planning and approval --------------------------------------------------------------------


def test_a_plan_whose_task_files_are_missing_is_still_to_be_made(drive: Drive) -> None:
    _started(drive)
    _report(drive, "0a", "requirements_clear")
    drive.write(PLAN, TEXT)
    assert (drive.phase("late-fees"), drive.suggestion("late-fees")) == ("2", ("stay", "2"))
    assert "artifact-missing" in drive.codes("late-fees")
    _write_plan(drive)
    assert drive.questions("late-fees") == ["plan"]


def test_nobody_approves_without_a_terminal_or_with_another_name(drive: Drive) -> None:
    _planned(drive)
    drive.refused("approve", "late-fees", "--reason", "fine", stdin="late-fees\n")
    assert drive.decide("approve", "late-fees", "--reason", "fine", typed="late").code == 1
    assert drive.decide("approve", "late-fees").code == 2
    assert drive.questions("late-fees") == ["plan"]


def test_changes_lead_back_to_planning_and_the_new_plan_is_asked_about(drive: Drive) -> None:
    _planned(drive)
    _answer(drive, "plan", "changes")
    assert drive.suggestion("late-fees") == ("regress", "2")
    _write_plan(drive, TEXT.replace("Show the fees", "List the fees"))
    assert drive.questions("late-fees") == ["plan"]
    assert drive.decide("approve", "late-fees", "--reason", "better").code == 0
    assert drive.suggestion("late-fees") == ("stay", "4a")


def test_a_rejected_plan_blocks_the_run_until_another_is_written(drive: Drive) -> None:
    _planned(drive)
    # Written, and a person is awaited.
    assert _answer(drive, "plan", "reject").code == 3
    assert "the plan was rejected" in drive.refused("report", "late-fees", "3", "ok")
    assert drive.evaluation("late-fees")["status"] == "blocked"
    _write_plan(drive, TEXT.replace("Show the fees", "List the fees"))
    assert drive.questions("late-fees") == ["plan"]


def test_a_plan_that_changes_after_its_approval_is_asked_about_again(drive: Drive) -> None:
    _approved(drive)
    drive.write(PLAN, TEXT.replace("Show the fees", "List the fees"))
    assert drive.questions("late-fees") == ["plan"]
    # Marks are no substance: what was approved stays approved.
    drive.write(
        PLAN,
        TEXT.replace(
            "`01-rounding.md` | Round the fees | impl | [ ]", "`01-rounding.md` | Round the fees | impl | [~]"
        ),
    )
    assert drive.questions("late-fees") == []


def test_a_plan_that_changes_while_it_is_worked_on_may_be_approved_again(drive: Drive) -> None:
    _approved(drive)
    _report(drive, "4a", "complete", "--task", "01")
    drive.write(PLAN, TEXT.replace("Show the fees", "List the fees"))
    # The work goes on, and nobody is asked.
    assert (drive.questions("late-fees"), drive.phase("late-fees")) == ([], "4a")
    assert "approval-stale" in drive.codes("late-fees")
    assert drive.decide("approve", "late-fees", "--reason", "the same, in better words").code == 0
    assert "approval-stale" not in drive.codes("late-fees")
    assert "no such approval to give" in drive.decide("approve", "late-fees", "--reason", "again").err


def test_a_phase_that_its_files_show_done_needs_no_report(drive: Drive) -> None:
    _planned(drive)
    before = drive.files()
    result = drive.run("report", "late-fees", "2", "ok")
    assert (result.code, drive.files()) == (3, before)
    assert f"nothing to record: 2 counts as done by its evidence ({PLAN})" in result.out
    assert "the run is in 3 now: the plan awaits approval" in result.out
    assert "  asks plan (approval): " in result.out
    assert json.loads(drive.run("report", "late-fees", "2", "ok", "--json").out)["currentPhase"] == "3"


def test_planning_is_not_done_without_a_plan_and_its_task_files(drive: Drive) -> None:
    _started(drive)
    _report(drive, "0a", "requirements_clear")
    assert f"plan is missing ({PLAN})" in drive.refused("report", "late-fees", "2", "ok")
    drive.write(PLAN, TEXT)
    assert "task_files is missing" in drive.refused("report", "late-fees", "2", "ok")


# ---- an agent asks ----------------------------------------------------------------------------


def test_an_agent_asks_a_person_who_lets_it_go_on(drive: Drive) -> None:
    _approved(drive)
    result = drive.do("escalate", "late-fees", "Which  rounding\nrule?", "--task", "01", "--as", "agent-a")
    assert result.code == 3 and "a person" in result.out
    (name,) = drive.questions("late-fees")
    (question,) = drive.evaluation("late-fees")["escalations"]
    assert name.startswith("raised:") and [o["id"] for o in question["options"]] == ["continue", "stop"]
    assert "asks that already" in drive.refused("escalate", "late-fees", "Which rounding rule?")
    assert drive.wrong("escalate", "late-fees", "  ")
    record = drive.records(RUN)[-1]
    assert (record["kind"], record["actor"], record["tasks"]) == ("question", "agent-a", ["late-fees-01"])
    assert drive.decide("answer", "late-fees", name, "continue", "--reason", "half even").code == 0
    assert drive.questions("late-fees") == []
    assert drive.suggestion("late-fees") == ("stay", "4a")


def test_a_person_who_is_asked_stops_the_run_and_only_a_person_starts_it_again(drive: Drive) -> None:
    _approved(drive)
    drive.do("escalate", "late-fees", "Is this worth it?")
    (name,) = drive.questions("late-fees")
    assert drive.decide("answer", "late-fees", name, "stop", "--reason", "not this year").code == 3
    assert drive.evaluation("late-fees")["status"] == "blocked"
    for command in (
        ("report", "late-fees", "4a", "complete", "--task", "01"),
        ("escalate", "late-fees", "Really?"),
        ("claim", "late-fees", "01", "--as", "agent-a"),
    ):
        assert drive.refused(*command)
    # A report that lies there as a file does not start it again either.
    done = "## Task Complete (Delegated Mode)\n\n**Task File**: 01-rounding.md\n**Status**: Complete\n"
    drive.write(f"{RUN}/reports/01.md", done)
    evaluation = drive.evaluation("late-fees")
    assert (evaluation["status"], drive.codes("late-fees")) == ("blocked", [])
    assert drive.decide("override", "late-fees", "--to", "4b", "--reason", "we go on").code == 0
    assert drive.phase("late-fees") == "4b"


# ---- stages -----------------------------------------------------------------------------------


def test_the_quality_gate_waits_for_every_implementer(drive: Drive) -> None:
    _approved(drive)
    assert drive.evaluation("late-fees")["suggestion"]["tasks"] == ["late-fees-01", "late-fees-02"]
    _report(drive, "4a", "complete", "--task", "01")
    assert drive.evaluation("late-fees")["suggestion"]["tasks"] == ["late-fees-02"]
    drive.refused("report", "late-fees", "4b", "pass")
    _report(drive, "4a", "complete", "--task", "02")
    assert drive.suggestion("late-fees") == ("advance", "4b")
    drive.refused("report", "late-fees", "4c", "ok")


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_updating_the_plan_ticks_all_its_places_and_keeps_every_other_byte(drive: Drive, ends: str) -> None:
    _approved(drive, TEXT.replace("\n", ends))
    _staged(drive, "1")
    assert drive.text(PLAN) == _ticked("01", "02").replace("\n", ends)
    assert drive.questions("late-fees") == []
    assert drive.codes("late-fees") == []
    assert drive.evaluation("late-fees")["suggestion"]["tasks"] == ["late-fees-03", "late-fees-04"]


def test_the_marks_stay_until_the_plan_is_updated(drive: Drive) -> None:
    _approved(drive)
    _implemented(drive, "1")
    _report(drive, "4b", "pass")
    assert drive.text(PLAN) == TEXT


def test_a_failed_gate_is_analysed_fixed_and_checked_again(drive: Drive) -> None:
    _approved(drive)
    _implemented(drive, "1")
    _report(drive, "4b", "fail", "--failed", "01")
    assert drive.suggestion("late-fees") == ("regress", "F1")
    drive.refused("report", "late-fees", "F2", "complete", "--task", "01")
    drive.refused("report", "late-fees", "4c", "ok")
    _report(drive, "F1", "ok", "--summary", "rounding is half-even")
    evaluation = drive.evaluation("late-fees")
    assert evaluation["suggestion"]["suggestedNext"] == "F2"
    assert evaluation["suggestion"]["tasks"] == ["late-fees-01"]
    _report(drive, "F2", "complete", "--task", "01")
    assert drive.suggestion("late-fees") == ("advance", "4b")
    _report(drive, "4b", "pass")
    _report(drive, "4c", "ok")
    assert drive.text(PLAN) == _ticked("01", "02")


def test_fix_iterations_begin_anew_with_the_next_stage(drive: Drive) -> None:
    _approved(drive)
    _implemented(drive, "1")
    for count in (1, 2):
        _report(drive, "4b", "fail", "--failed", "01")
        assert _limit(drive, "fix_iterations") == count
        _fixed(drive)
    _report(drive, "4b", "pass")
    _report(drive, "4c", "ok")
    assert _limit(drive, "fix_iterations") == 0
    _implemented(drive, "2")
    _report(drive, "4b", "fail", "--failed", "03")
    assert (_limit(drive, "fix_iterations"), drive.questions("late-fees")) == (1, [])


def test_the_third_failure_asks_a_person_with_its_history(drive: Drive) -> None:
    _failed_thrice(drive)
    assert drive.questions("late-fees") == ["fix_iterations:1"]
    (question,) = drive.evaluation("late-fees")["questions"]
    assert (question["kind"], question["tasks"]) == ("escalation", ["late-fees-01"])
    assert [option["id"] for option in question["options"]] == ["retry", "change", "skip"]
    assert len(question["history"]) == 7
    drive.refused("report", "late-fees", "F1", "ok")


@pytest.mark.parametrize("option", ["retry", "change"])
def test_after_an_escalation_the_stage_is_tried_as_many_times_again(drive: Drive, option: str) -> None:
    _failed_thrice(drive)
    _answer(drive, "fix_iterations:1", option)
    assert (_limit(drive, "fix_iterations"), drive.suggestion("late-fees")) == (0, ("regress", "F1"))
    _fixed(drive)
    for _ in range(2):
        _report(drive, "4b", "fail", "--failed", "01")
        assert drive.questions("late-fees") == []
        _fixed(drive)
    _report(drive, "4b", "fail", "--failed", "01")
    assert drive.questions("late-fees") == ["fix_iterations:1"]


def test_a_skipped_stage_keeps_its_marks_and_the_next_one_begins(drive: Drive) -> None:
    _failed_thrice(drive)
    _answer(drive, "fix_iterations:1", "skip")
    assert drive.suggestion("late-fees") == ("advance", "4c")
    _report(drive, "4c", "ok", "--summary", "known issue: one cent off")
    assert drive.text(PLAN) == TEXT
    assert drive.evaluation("late-fees")["suggestion"]["tasks"] == ["late-fees-03", "late-fees-04"]
    _staged(drive, "2")
    assert drive.text(PLAN) == _ticked("03", "04")
    assert drive.phase("late-fees") == "5a"


@pytest.mark.parametrize("option", ["go_on", "help"])
def test_a_blocked_implementer_asks_and_the_gate_is_reached_all_the_same(drive: Drive, option: str) -> None:
    _approved(drive)
    assert _report(drive, "4a", "blocked", "--task", "01").code == 3
    _report(drive, "4a", "complete", "--task", "02")
    assert drive.questions("late-fees") == ["implementer_blocked:1"]
    _answer(drive, "implementer_blocked:1", option)
    if option == "help":
        # Who is helped takes the task up again.
        assert (drive.questions("late-fees"), drive.suggestion("late-fees")) == ([], ("stay", "4a"))
        _report(drive, "4a", "complete", "--task", "01")
    assert (drive.questions("late-fees"), drive.suggestion("late-fees")) == ([], ("advance", "4b"))


# ---- many agents ------------------------------------------------------------------------------


def test_two_agents_never_get_the_same_task(drive: Drive) -> None:
    _approved(drive)
    token = json.loads(drive.do("claim", "late-fees", "01", "--as", "agent-a", "--json").out)["token"]
    assert "claimed by agent-a" in drive.refused("claim", "late-fees", "01", "--as", "agent-b")
    evaluation = drive.evaluation("late-fees")
    assert evaluation["suggestion"]["tasks"] == ["late-fees-02"]
    shown = evaluation["plan"]["stages"][0]["tasks"][0]
    assert (shown["state"], shown["claimedBy"]) == ("claimed", "agent-a")
    report = ("report", "late-fees", *drive.with_text("4a", "complete", "--task", "01"))
    assert "claimed by agent-a" in drive.refused(*report, "--as", "agent-b")
    drive.refused(*report, "--as", "agent-a")
    drive.refused(*report, "--as", "agent-a", "--token", f"{token}1")
    drive.do(*report, "--as", "agent-a", "--token", token)
    assert drive.records(RUN)[-1]["actor"] == "agent-a"


def test_a_task_that_is_given_back_is_offered_again(drive: Drive) -> None:
    _approved(drive)
    token = json.loads(drive.do("claim", "late-fees", "01", "--as", "agent-a", "--json").out)["token"]
    drive.refused("release", "late-fees", "01", "--as", "agent-a")
    drive.do("release", "late-fees", "01", "--token", token)
    assert drive.evaluation("late-fees")["suggestion"]["tasks"] == ["late-fees-01", "late-fees-02"]
    drive.do("claim", "late-fees", "01", "--as", "agent-b")


# ---- validation -------------------------------------------------------------------------------


def test_a_failed_validation_appends_a_stage_and_is_repeated(drive: Drive) -> None:
    _validated(drive)
    _report(drive, "5a", "fail", "--summary", "totals differ")
    assert drive.suggestion("late-fees")[1] == "create-fix-tasks"
    drive.refused("report", "late-fees", "6", "ok")
    before = drive.text(PLAN)
    _stage_appended(drive)
    after = drive.text(PLAN)
    assert "## Phase 3: Remediation" in after
    assert "| Phase 3: Remediation | [ ] | 2 |" in after
    assert "`05-mend-the-totals.md` | Mend the totals | impl | [ ] |" in after
    assert "| **test** | [ ] |" in after.rpartition("late-fees-06")[0] + after.partition("late-fees-06")[2]
    assert "**Progress**: 4/6 tasks complete" in after
    assert set(before.splitlines()) - set(after.splitlines()) == {
        "**Total Tasks**: 4", "**Progress**: 4/4 tasks complete (100%)",
    }  # fmt: skip
    assert drive.evaluation("late-fees")["suggestion"]["tasks"] == ["late-fees-05"]
    assert "artifact-missing" not in drive.codes("late-fees")
    _staged(drive, "3")
    assert drive.phase("late-fees") == "5a"
    _report(drive, "5a", "pass")
    _report(drive, "6", "ok")
    assert drive.evaluation("late-fees")["status"] == "complete"


def test_the_task_files_of_an_appended_stage_hold_what_the_report_says(drive: Drive) -> None:
    _validated(drive)
    _report(drive, "5a", "fail", "--summary", "totals differ")
    drive.write(f"{RUN}/06-phase-3-tests.md", "# 06. Written before\n")
    task = {
        "title": "Mend the totals", "description": "Round\nonce", "depends_on": ["late-fees-03"],
        "files": ["src/fees.py"], "acceptance": ["totals are equal"], "requires_ux_dx_review": True,
    }  # fmt: skip
    told = {"title": "Remediation", "tasks": [task]}
    drive.do("report", "late-fees", "create-fix-tasks", "ok", "--data", "-", stdin=json.dumps(told))
    text = drive.text(f"{RUN}/05-mend-the-totals.md")
    for line in (
        "# 05. Mend the totals",
        "- **ID**: late-fees-05",
        "- **Phase**: 3",
        "- **Depends On**: [late-fees-03]",
        "- **Requires UX/DX Review**: true",
        "Round once",
        "| `src/fees.py` | Modify | To be written. |",
        "- [ ] totals are equal",
    ):
        assert line in text.splitlines()
    # What is there already is nobody's to overwrite.
    assert drive.text(f"{RUN}/06-phase-3-tests.md") == "# 06. Written before\n"
    evaluation = drive.evaluation("late-fees")
    made = [
        task
        for stage in evaluation["plan"]["stages"]
        for task in stage["tasks"]
        if task["id"] == "late-fees-05"
    ]
    assert made[0]["files"] == ["src/fees.py"]
    said = drive.unchanged("report", "late-fees", "4a", "complete", "--task", "05")
    assert "these files exist: src/fees.py" in said
    drive.write("src/fees.py", "ROUND = 'once'\n")
    _staged(drive, "3")
    _report(drive, "5a", "pass")
    assert drive.suggestion("late-fees") == ("advance", "5b")


def test_fix_tasks_that_are_not_named_are_refused_and_may_be_appended_by_hand(drive: Drive) -> None:
    _validated(drive)
    _report(drive, "5a", "fail")
    report = ("report", "late-fees", "create-fix-tasks", "ok")
    said = drive.refused(*report)
    assert "what create-fix-tasks.ok writes to plan has no value: title is missing" in said
    assert "cannot be changed: " in drive.refused(*report, "--data", "-", stdin='{"title": " ", "tasks": []}')
    _extend_by_hand(drive)
    assert drive.evaluation("late-fees")["suggestion"]["tasks"] == ["late-fees-05"]


def test_a_validation_that_fails_again_and_again_is_told(drive: Drive) -> None:
    _validated(drive)
    for count, stage in ((1, "3"), (2, "4"), (3, "5")):
        _report(drive, "5a", "fail", "--summary", "totals differ")
        assert (_limit(drive, "validations"), drive.suggestion("late-fees")[1]) == (count, "create-fix-tasks")
        assert ("validation-loop" in drive.codes("late-fees")) == (count == 3)
        told = json.dumps({"title": f"Remediation {count}", "tasks": [{"title": f"Mend {count}"}]})
        result = drive.do("report", "late-fees", "create-fix-tasks", "ok", "--data", "-", stdin=told)
        assert "iteration-limit" not in result.err
        tasks = [task["id"] for task in _stage(drive, stage)["tasks"]]
        for task in tasks:
            _report(drive, "4a", "complete", "--task", task)
        _report(drive, "4b", "pass")
        _report(drive, "4c", "ok")
    _report(drive, "5a", "pass")
    _report(drive, "6", "ok")
    assert drive.evaluation("late-fees")["status"] == "complete"


def test_what_is_wrong_only_since_a_report_is_told_beside_the_next_step(drive: Drive) -> None:
    _validated(drive)
    for _ in range(2):
        _report(drive, "5a", "fail")
        _stage_appended(drive)
        stage = drive.evaluation("late-fees")["plan"]["stages"][-1]
        for task in stage["tasks"]:
            _report(drive, "4a", "complete", "--task", task["id"])
        _report(drive, "4b", "pass")
        _report(drive, "4c", "ok")
    result = _report(drive, "5a", "fail")
    assert "new warning: " in result.err and "(validation-loop)" in result.err
    assert "new warning: " not in _report(drive, "5a", "fail").err


def test_a_plan_is_let_through_without_approval_by_an_override(drive: Drive) -> None:
    _planned(drive)
    assert drive.decide("override", "late-fees", "--to", "4a", "--reason", "agreed in the meeting").code == 0
    assert (drive.phase("late-fees"), drive.evaluation("late-fees")["overridden"]) == ("4a", True)
    _report(drive, "4a", "complete", "--task", "01")
    assert drive.phase("late-fees") == "4a"


def test_a_person_lets_a_feature_go_whose_validation_failed(drive: Drive) -> None:
    _validated(drive)
    _report(drive, "5a", "fail")
    override = ("override", "late-fees", "--to", "6", "--reason", "the failure is of another feature")
    drive.refused(*override)
    assert drive.decide(*override).code == 0
    assert drive.phase("late-fees") == "6"
    _report(drive, "6", "ok")
    assert drive.evaluation("late-fees")["status"] == "complete"


def test_a_task_that_asks_for_it_has_its_ux_and_dx_reviewed(drive: Drive) -> None:
    _approved(drive, reviewed=("03",))
    _staged(drive, "1")
    _staged(drive, "2", "the list is easy to read")
    _report(drive, "5a", "pass")
    assert drive.suggestion("late-fees") == ("advance", "5b")
    drive.refused("report", "late-fees", "6", "ok")
    _report(drive, "5b", "fail")
    assert drive.suggestion("late-fees")[1] == "create-fix-tasks"
    _stage_appended(drive)
    _staged(drive, "3")
    _report(drive, "5a", "pass")
    _report(drive, "5b", "pass")
    assert drive.suggestion("late-fees") == ("advance", "6")
    _report(drive, "6", "ok")
    assert drive.evaluation("late-fees")["status"] == "complete"


def test_manual_criteria_that_no_review_will_judge_are_a_persons(drive: Drive) -> None:
    _approved(drive)
    _staged(drive, "1", "the receipt looks right")
    _staged(drive, "2")
    assert _report(drive, "5a", "pass").code == 3
    (question,) = drive.evaluation("late-fees")["questions"]
    assert "the receipt looks right" in question["question"]
    drive.refused("report", "late-fees", "6", "ok")
    _answer(drive, question["id"], "accept")
    assert drive.suggestion("late-fees") == ("advance", "6")


def test_an_unmet_manual_criterion_becomes_a_stage_and_is_asked_about_again(drive: Drive) -> None:
    _approved(drive)
    _staged(drive, "1", "the receipt looks right")
    _staged(drive, "2")
    _report(drive, "5a", "pass")
    _answer(drive, "manual_criteria:5a-1", "fix")
    assert drive.suggestion("late-fees")[1] == "create-fix-tasks"
    _stage_appended(drive)
    _staged(drive, "3")
    _report(drive, "5a", "pass")
    assert drive.questions("late-fees") == ["manual_criteria:5a-2"]


# ---- follow-ups -------------------------------------------------------------------------------


def test_a_small_follow_up_is_a_further_stage(drive: Drive) -> None:
    _completed(drive)
    _report(drive, "7", "lightweight")
    assert drive.suggestion("late-fees")[1] == "create-fix-tasks"
    _stage_appended(drive)
    _staged(drive, "3")
    _report(drive, "5a", "pass")
    _report(drive, "6", "ok")
    assert drive.evaluation("late-fees")["status"] == "complete"


def test_a_partial_follow_up_extends_the_plan_and_is_approved_anew(drive: Drive) -> None:
    _completed(drive)
    _report(drive, "7", "partial")
    assert drive.suggestion("late-fees") == ("regress", "2")
    _extend_by_hand(drive)
    assert drive.questions("late-fees") == ["plan"]
    assert drive.decide("approve", "late-fees", "--reason", "one more stage").code == 0
    assert drive.evaluation("late-fees")["suggestion"]["tasks"] == ["late-fees-05"]


def test_a_full_follow_up_is_a_run_of_its_own(drive: Drive) -> None:
    _completed(drive)
    _report(drive, "7", "full")
    assert drive.suggestion("late-fees")[1] == "start-new-run"
    assert drive.start("master-plan", "exports") == ".orchestrator/tasks/exports"
    assert drive.phase("exports") == "0a"


# ---- plans under way, and going against gates -------------------------------------------------


def _under_way(drive: Drive) -> None:
    _write_plan(drive, _ticked("01", "02"))


def test_a_plan_under_way_is_adopted_by_a_person(drive: Drive) -> None:
    _under_way(drive)
    assert drive.questions("late-fees") == ["adoption"]
    assert "approval-missing" in drive.codes("late-fees")
    drive.refused("adopt", "late-fees", "--reason", "mine")
    assert drive.decide("adopt", "late-fees", "--reason", "mine").code == 0
    assert (drive.questions("late-fees"), drive.codes("late-fees")) == ([], [])
    assert drive.evaluation("late-fees")["suggestion"]["tasks"] == ["late-fees-03", "late-fees-04"]
    _staged(drive, "2")
    _report(drive, "5a", "pass")
    _report(drive, "6", "ok")
    assert drive.evaluation("late-fees")["status"] == "complete"


def test_all_plans_under_way_are_adopted_one_name_after_the_other(drive: Drive) -> None:
    _under_way(drive)
    drive.write(".orchestrator/tasks/exports/MASTER_PLAN.md", _ticked("01", "02"))
    for number, file in FILES.items():
        drive.write(
            f".orchestrator/tasks/exports/{file}",
            f"# {number}. Task\n\n## Meta\n\n- **ID**: late-fees-{number}\n",
        )
    result = drive.decide("adopt", "--all", "--reason", "both are ours")
    assert result.err.count("to confirm") == 2
    assert [drive.questions(name) for name in ("late-fees", "exports")] == [[], []]


def test_finished_plans_of_before_are_closed_by_one_decision_each(drive: Drive) -> None:
    for name in ("late-fees", "exports"):
        drive.write(f".orchestrator/tasks/{name}/MASTER_PLAN.md", _ticked(*FILES))
        for number, file in FILES.items():
            drive.write(
                f".orchestrator/tasks/{name}/{file}",
                f"# {number}. Task\n\n## Meta\n\n- **ID**: late-fees-{number}\n",
            )
    assert "phasekeeper adopt .orchestrator/tasks/late-fees --complete" in drive.do("next", "late-fees").out
    assert drive.run("check").code == 3
    drive.refused("adopt", "late-fees", "--complete", "--reason", "mine")
    result = drive.decide("adopt", "--all", "--complete", "--reason", "both went live last year")
    assert (result.code, result.err.count("to confirm")) == (0, 2)
    assert drive.run("check", "--gates").code == 0
    assert [drive.evaluation(name)["status"] for name in ("late-fees", "exports")] == ["complete"] * 2
    assert "no such plan is finished" in drive.wrong("adopt", "--all", "--complete", "--reason", "again")


def test_a_plan_under_way_can_be_planned_again_instead(drive: Drive) -> None:
    _under_way(drive)
    _answer(drive, "adoption", "replan")
    assert drive.suggestion("late-fees")[1] == "2"
    _report(drive, "2", "ok")
    assert drive.questions("late-fees") == ["plan"]
    assert drive.decide("approve", "late-fees", "--reason", "planned again").code == 0
    # Marks that nobody adopted do not count: the stage has yet to pass its gate.
    assert (drive.suggestion("late-fees"), drive.codes("late-fees")) == (("advance", "4b"), ["status-drift"])
    _report(drive, "4b", "pass")
    assert drive.evaluation("late-fees")["suggestion"]["tasks"] == ["late-fees-03", "late-fees-04"]


def test_a_project_may_let_plans_under_way_count_unasked(drive: Drive) -> None:
    drive.write(".phasekeeper/config.yaml", "parameters: {master-plan: {adoption: auto}}\n")
    _under_way(drive)
    assert (drive.questions("late-fees"), drive.codes("late-fees")) == ([], [])
    assert drive.evaluation("late-fees")["suggestion"]["tasks"] == ["late-fees-03", "late-fees-04"]


def test_no_phase_is_done_again_by_a_command(drive: Drive) -> None:
    _approved(drive)
    assert "its files decide" in drive.refused("redo", "late-fees", "2")


def test_a_person_overrides_a_failed_gate_which_is_waived(drive: Drive) -> None:
    _approved(drive)
    _implemented(drive, "1")
    _report(drive, "4b", "fail", "--failed", "01")
    shut = [gate["id"] for gate in drive.evaluation("late-fees")["gates"] if gate["status"] == "failed"]
    assert shut == ["3"]
    override = ("override", "late-fees", "--to", "4c", "--reason", "the test is wrong")
    drive.refused(*override)
    assert drive.decide(*override).code == 0
    record = drive.records(RUN)[-1]
    assert (record["kind"], record["next"], record["why"]) == ("override", "4c", "the test is wrong")
    assert "3" in record["gates"]
    evaluation = drive.evaluation("late-fees")
    assert (evaluation["currentPhase"], evaluation["overridden"]) == ("4c", True)
    assert [gate["id"] for gate in evaluation["gates"] if gate["status"] == "waived"] == ["2", "3"]
    _report(drive, "4c", "ok")
    assert drive.text(PLAN) == _ticked("01", "02")
    assert drive.evaluation("late-fees")["suggestion"]["tasks"] == ["late-fees-03", "late-fees-04"]
