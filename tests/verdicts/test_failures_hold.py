"""A failure holds until its gate's remedies were reported, or a person overrides it."""

from __future__ import annotations

import json

import pytest
from phasekeeper.orchestration.evaluation.trace import CommandRefused, check_action
from phasekeeper.orchestration.updates.commands import Command
from phasekeeper.orchestration.updates.confirmation import confirmation

from tests.verdicts.runs import BEGIN, Run, plan_run


def test_a_failed_quality_gate_does_not_pass_by_another_report() -> None:
    run = plan_run("x  ").report("4a", "complete", "02").report("4a", "complete", "03").report("4b", "fail")
    assert "gate 3" in run.refusal("4b", "pass")
    run.report("4b", "fail")
    assert run.gate("3") == "failed"
    assert "4b failed (2 of 3)" in run.evaluation.suggestion.reason


def test_a_pass_of_the_quality_gate_counts_after_its_remedies() -> None:
    run = plan_run("x ").report("4a", "complete", "02").report("4b", "fail", "02").report("F1", "ok")
    assert "gate 3" in run.refusal("4b", "pass")
    run.report("F2", "complete", "02").report("4b", "pass")
    assert run.standing == "active advance 4c"


def test_a_person_overrides_a_failed_quality_gate() -> None:
    run = plan_run("x ").report("4a", "complete", "02").report("4b", "fail", "02").override("4c")
    assert run.evaluation.current_phase == "4c"


@pytest.mark.parametrize(("phase", "gate"), [("5a", "6"), ("5b", "7")])
def test_a_failed_validation_is_not_reported_again(phase: str, gate: str) -> None:
    run = plan_run("x ", t02="## Meta\n\n- **Requires UX/DX Review**: true\n")
    run.report("4a", "complete", "02").report("4b", "pass").report("4c", "ok")
    for passed in ("5a", "5b")[: phase == "5b"]:
        run.report(passed, "pass")
    run.report(phase, "fail")
    assert f"gate {gate}" in run.refusal(phase, "pass")
    assert run.gate(gate) == "failed"
    assert run.standing == "active regress 4a"


REPORT = (
    "# Phase Quality Gate\n\n**Phase**: 1\n**Iteration**: {n}\n**PHASE GATE STATUS**: {word}\n\nRan it.\n"
)


def test_a_report_file_that_passes_right_after_one_that_failed_is_out_of_turn() -> None:
    run = plan_run("x", " ")
    run.write("reports/a.md", REPORT.format(n=1, word="FAIL")).write(
        "reports/b.md", REPORT.format(n=2, word="PASS")
    )
    assert run.standing == "active regress F1"
    assert "report-out-of-turn" in run.codes()


def test_a_verdict_that_was_saved_before_its_turn_does_not_count_later() -> None:
    run = plan_run(" ", "  ", adoption="ask").write("reports/a.md", REPORT.format(n=1, word="PASS"))
    run.answer("plan", "approve").report("4a", "complete", "01")
    assert run.standing == "active advance 4b"
    (message,) = run.messages("report-out-of-turn")
    assert "it was not its turn when the journal was last written; save it again when it is" in message
    run.write("reports/a.md", REPORT.format(n=1, word="PASS") + "\n- 01: met\n")
    assert run.standing == "active advance 4c"


def test_a_failure_that_was_saved_before_its_turn_counts_when_it_comes() -> None:
    run = plan_run(" ", "  ", adoption="ask").write("reports/a.md", REPORT.format(n=1, word="FAIL"))
    run.answer("plan", "approve").report("4a", "complete", "01")
    assert run.standing == "active regress F1"


@pytest.mark.parametrize("at", ["", "yesterday", "9999-12-31T23:59:59.999999+00:00", "2026-01-01T00:00:00"])
def test_records_of_any_time_can_be_read(at: str) -> None:
    run = plan_run("  ", adoption="ask").answer("plan", "approve")
    path = ".phasekeeper/journal.jsonl"
    line = run.files[f"{run.at}/{path}"].splitlines()[0]
    dated = json.dumps(json.loads(line) | {"at": at})
    run.write(path, f"{dated}\n").proven.add(dated)
    run.write("reports/a.md", REPORT.format(n=1, word="FAIL"))
    assert run.evaluation.current_phase == "4a"


def test_a_report_of_a_stage_that_is_not_under_work_is_refused() -> None:
    run = plan_run("x ", "  ").report("4a", "complete", "02")
    assert "stage 2 is not under work, stage 1 is" in run.refusal("4b", "fail", "03")
    assert "stage 2 is not under work, stage 1 is" in run.refusal("4b", "pass", stage="2")


def test_marks_alone_finish_no_stage_after_a_person_moved_the_run_past_the_approval() -> None:
    run = plan_run(" ", "  ", adoption="ask").override("4c").report("4c", "ok")
    run.write("MASTER_PLAN.md", run.files["tasks/f/MASTER_PLAN.md"].replace("[ ]", "[x]"))
    assert run.standing == "active advance 4b"
    assert run.evaluation.current_phase == "4a"


OBJECTIVE = "# 5a Objective Gate\n\n**5a OBJECTIVE GATE STATUS**: {word}\n\n{said}\n"


def test_a_validation_that_fails_counts_although_the_next_one_passed() -> None:
    run = plan_run("x ", t02="## Meta\n\n- **Requires UX/DX Review**: true\n")
    run.report("4a", "complete", "02").report("4b", "pass").report("4c", "ok")
    run.report("5a", "pass").report("5b", "pass")
    assert run.standing == "active advance 6"
    run.write("reports/late.md", OBJECTIVE.format(word="FAIL", said="The build broke."))
    assert (run.standing, run.gate("6")) == ("active regress 4a", "failed")


def test_a_failure_that_is_filed_after_an_override_holds_until_a_person_decides_again() -> None:
    run = plan_run("x").override("6")
    assert run.standing == "active stay 6"
    assert run.copy().report("5a", "fail").standing == "active regress 4a"
    run.write("reports/late.md", OBJECTIVE.format(word="FAIL", said="The build broke."))
    assert run.standing == "active regress 4a"
    assert "gate 6" in run.refusal("6", "ok")
    run.override("6").report("6", "ok")
    assert run.standing == "complete stop"
    run.write("reports/later.md", OBJECTIVE.format(word="FAIL", said="It broke again."))
    assert run.standing == "complete stop"
    assert "report-out-of-turn" in run.codes()


def test_what_a_person_waived_is_judged_anew_once_its_phase_is_reported_on_again() -> None:
    run = plan_run("x").override("6").report("5a", "fail")
    assert (run.gate("6"), run.gate("4")) == ("failed", "not-reached")
    [path] = (path for path in run.files if "reports/5a" in path)
    run.write(f"/{path}", run.files[path].replace("FAIL", "PASS"))
    assert (run.standing, run.gate("6")) == ("active regress 4a", "failed")
    assert "report-out-of-turn" in run.codes()


SUBJECTIVE = "# 5b Subjective Gate\n\n**5b SUBJECTIVE GATE STATUS**: {word}\n\n{said}\n"


def test_an_override_shows_and_passes_over_failures_that_were_out_of_turn() -> None:
    run = plan_run("x").write("reports/early.md", SUBJECTIVE.format(word="FAIL", said="It is hard to use."))
    run.write("reports/passed.md", SUBJECTIVE.format(word="PASS", said="It is easy."))
    assert len(run.messages("report-out-of-turn")) == 2
    command = Command("override", "6", actor="ada", channel="cli")
    told = "tasks/f/reports/early.md says 5b fail and will be passed over"
    lines = confirmation(run.trace(), command, BEGIN).lines
    assert [line for line in lines if "passed over" in line] == [told]
    back = confirmation(run.trace(), command._replace(step="4a"), BEGIN).lines
    assert not any("passed over" in line for line in back)
    run.override("6")
    assert run.standing == "active stay 6"
    changed = run.copy().write("reports/early.md", SUBJECTIVE.format(word="FAIL", said="It is harder."))
    assert changed.standing == "active stay 5a"
    run.report("6", "ok")
    assert run.standing == "complete stop"


# ---- after a person moved the run -------------------------------------------------------------


def approved(*stages: str) -> Run:
    """A plan that a person approved before any work."""
    return plan_run(*stages, adoption="ask").answer("plan", "approve")


def test_a_stage_that_a_person_sends_back_to_the_quality_gate_is_judged_anew() -> None:
    run = approved(" ").report("4a", "complete", "01").report("4b", "fail", "01").override("4b")
    assert run.standing == "active stay 4b"
    assert run.copy().report("4b", "pass").standing == "active advance 4c"
    run.report("4b", "fail", "01")
    assert (run.standing, run.gate("3")) == ("active regress F1", "failed")


def test_tasks_that_a_person_passes_over_do_not_come_back_after_a_failure() -> None:
    run = approved("   ").report("4a", "complete", "01").override("4b").report("4b", "fail", "02")
    assert run.standing == "active regress F1"
    permission = check_action(run.trace(), "F1")
    assert permission and permission.allowed
    run.report("F1", "ok").report("F2", "complete", "02")
    assert run.standing == "active advance 4b"
    run.report("4b", "pass")
    assert (run.standing, run.gate("1"), run.gate("2")) == ("active advance 4c", "waived", "passed")


def test_a_waiver_and_what_it_covered_are_said_to_the_end() -> None:
    run = approved("  ").report("4a", "complete", "01").override("4c").report("4c", "ok")
    assert [run.gate(gate) for gate in "123"] == ["waived"] * 3
    run.report("5a", "pass").report("6", "ok")
    assert run.standing == "complete stop"
    assert [run.gate(gate) for gate in "123"] == ["waived"] * 3
    said = "stage 1 (f-02) went on without a pass of 4b, by ada: looked at it"
    assert said in run.evaluation.status_reason
    assert any(said in message for message in run.messages("phase-skipped"))


def test_a_waiver_of_one_stage_says_nothing_of_the_gates_of_the_next() -> None:
    run = plan_run("x ", "  ").report("4a", "complete", "02").report("4b", "fail", "02").override("4c")
    assert [run.gate(gate) for gate in "23"] == ["waived"] * 2
    run.report("4c", "ok")
    assert (run.standing, [run.gate(gate) for gate in "23"]) == ("active stay 4a", ["not-reached"] * 2)


def test_a_gate_that_passed_after_a_waiver_is_waived_no_more() -> None:
    run = approved(" ").report("4a", "complete", "01").report("4b", "fail").override("4c").override("4b")
    run.report("4b", "pass").report("4c", "ok")
    assert (run.gate("2"), run.gate("3")) == ("not-reached", "not-reached")
    assert "phase-skipped" not in run.codes()


WORK = "# Task Complete\n\n**Task File**: 02-t.md\n**Status**: COMPLETE\n"


def _worked_on_again(*steps: str) -> Run:
    """A run of one stage that passed, with these steps behind it, and work on its task filed again."""
    run = plan_run("x ").report("4a", "complete", "02").report("4b", "pass").report("4c", "ok")
    for step in steps:
        run = run.override("6") if step == "override" else run.report(step, "ok" if step == "6" else "pass")
    return run.write("reports/again.md", WORK)


@pytest.mark.parametrize("steps", [("5a",), ("override",), ("override", "6")], ids=" ".join)
def test_what_a_validation_said_or_a_person_let_go_is_no_word_on_later_work(steps: tuple[str, ...]) -> None:
    run = _worked_on_again(*steps)
    assert run.standing == "active stay 5a"
    run.report("5a", "pass")
    assert run.standing == "active advance 6"


def test_learnings_of_before_are_none_of_later_work_that_a_person_lets_go() -> None:
    run = _worked_on_again("5a", "6")
    assert run.standing == "active stay 5a"
    run.override("6")
    assert run.standing == "active stay 6"


@pytest.mark.parametrize("before", ["pass", "override"])
def test_a_failure_at_the_end_that_names_nothing_is_one_of_the_last_stage(before: str) -> None:
    run = plan_run("x ").report("4a", "complete", "02")
    run = run.report("4b", "pass") if before == "pass" else run.report("4b", "fail").override("4c")
    run.report("4c", "ok")
    assert run.standing == "active stay 5a"
    run.report("4b", "fail")
    assert (run.gate("3"), run.standing) == ("failed", "active regress F1")
    # No other verdict stands for its remedies.
    with pytest.raises(CommandRefused):
        run.report("5a", "pass")
    run.report("F1", "ok").report("F2", "complete", "01").report("F2", "complete", "02").report("4b", "pass")
    assert run.standing == "active stay 5a"
