"""The quality gate of a tuning rests on the checks that the root names for it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from phasekeeper.orchestration.states import Basis, CheckResult

from tests.verdicts.loops import TUNING, tuned
from tests.verdicts.runs import Run

DECLARED = "checks: {eval: {run: [make]}}\n"
ASKED = DECLARED + "parameters: {skill-tuning: {quality_checks: [eval]}}\n"
STATE = f"{TUNING}/state.json"
BAD = [each for each in CheckResult if each is not CheckResult.PASSED]
REPORTED = ["action-init", "action-analyze-requirements", "action-diagnose-context", "action-generate-report"]
WORD = {"stateUpdates": {"quality_gate": "pass"}}


def diagnosed(result: CheckResult, *, config: str = ASKED, gate: str = "pass", **state: Any) -> Run:
    """A tuning whose report is written and says this of the quality, and what the check says of the files."""
    done = {"completed_actions": REPORTED, "diagnosis": {"context": {"status": "completed"}}}
    return tuned(config=config, quality_gate=gate, **done, **state).measure("eval", result, "aa")


def ended(run: Run) -> Run:
    """End the tuning by its last report."""
    run.write("tuning-summary.md", f"# Summary of {run.now}\n")
    return run.report("action-complete", "ok")


def write(run: Run, **state: Any) -> Run:
    """Write into the state file."""
    return run.write("state.json", {**json.loads(run.files[STATE]), **state})


def test_a_word_that_the_check_bears_out_ends_the_tuning() -> None:
    run = diagnosed(CheckResult.PASSED)
    assert run.evaluation.suggestion.action == "action-complete"
    assert (run.gate("quality"), run.gate("quality-checked")) == ("passed", "passed")
    gate = next(each for each in run.evaluation.gates if each.id == "quality-checked")
    assert gate.basis is Basis.MEASURED
    assert run.messages("quality-mismatch") == []
    assert ended(run).standing == "complete stop"


@pytest.mark.parametrize("result", CheckResult)
def test_what_is_saved_later_reopens_no_tuning_that_is_over(result: CheckResult) -> None:
    run = ended(diagnosed(CheckResult.PASSED)).measure("eval", result, "bb")
    assert run.standing == "complete stop"
    assert (run.gate("quality"), run.gate("quality-checked")) == ("passed", "passed")


@pytest.mark.parametrize("result", BAD)
def test_a_word_against_the_check_is_told_where_it_stands_and_opens_no_gate(result: CheckResult) -> None:
    run = diagnosed(result)
    failed = result is CheckResult.FAILED
    assert run.evaluation.suggestion.action == ("action-diagnose-context" if failed else None)
    assert run.gate("quality") != "passed"
    assert run.gate("quality-checked") == ("failed" if failed else "open")
    [said] = run.messages("quality-mismatch")
    assert said.startswith(f"{STATE}:1: the quality gate says pass, and the checks say otherwise: eval (")
    assert f"({result.value}); they are what counts" in said
    assert f"eval ({result.value})" in run.evaluation.suggestion.reason


@pytest.mark.parametrize("result", BAD)
@pytest.mark.parametrize("gate", ["review", "fail"])
def test_what_is_left_undone_ends_no_tuning_whose_check_has_not_passed(
    gate: str, result: CheckResult
) -> None:
    run = diagnosed(result, gate=gate)
    assert run.evaluation.suggestion.action != "action-complete"
    assert run.messages("quality-mismatch") == []
    run.write("tuning-summary.md", "# Summary\n")
    run.refusal("action-complete", "ok")
    run.measure("eval", CheckResult.PASSED, "aa")
    assert run.evaluation.suggestion.action == "action-complete"


@pytest.mark.parametrize("result", BAD)
def test_a_report_that_says_pass_is_refused_while_the_check_has_not_passed(result: CheckResult) -> None:
    done = {"completed_actions": REPORTED[:3], "diagnosis": {"context": {"status": "completed"}}}
    run = tuned(config=ASKED, **done).measure("eval", result)
    run.write("tuning-report.md", "# Report\n")
    assert "needs that the check eval has passed" in run.refusal("action-generate-report", "ok", data=WORD)
    run.copy().report("action-generate-report", "ok", data={"stateUpdates": {"quality_gate": "review"}})
    run.measure("eval", CheckResult.PASSED).report("action-generate-report", "ok", data=WORD)
    assert run.evaluation.suggestion.action == "action-complete"


@pytest.mark.parametrize("result", BAD)
def test_an_end_that_is_written_by_hand_is_none(result: CheckResult) -> None:
    run = diagnosed(result)
    write(run, status="completed", completed_actions=[*REPORTED, "action-complete"])
    assert run.evaluation.status != "complete"
    older = ended(diagnosed(CheckResult.PASSED))
    journal = older.files[f"{TUNING}/.phasekeeper/journal.jsonl"]
    again = diagnosed(CheckResult.PASSED).write(".phasekeeper/journal.jsonl", journal)
    again.proven = older.proven
    write(again, status="running").measure("eval", CheckResult.FAILED, "bb")
    again.report("action-diagnose-context", "error", message="no")
    write(again, status="completed", completed_actions=[*REPORTED, "action-complete"])
    assert again.measure("eval", result, "cc").evaluation.status != "complete"


def test_a_person_may_let_it_be() -> None:
    stuck = ["action-diagnose-context"]
    run = diagnosed(CheckResult.FAILED, gate="review")
    write(run, completed_actions=[*REPORTED, *stuck])
    [asked] = run.evaluation.questions
    assert asked.question.startswith("Checks fail, but the last iteration changed nothing")
    run.answer(asked.id, "complete")
    assert ended(run).standing == "complete stop"


def test_the_limit_of_iterations_ends_a_tuning_whatever_its_checks_say() -> None:
    run = diagnosed(CheckResult.FAILED, iteration_count=5)
    assert ended(run).standing == "complete stop"
    assert run.gate("quality-checked") == "failed"


def test_without_the_parameter_the_word_is_enough() -> None:
    run = diagnosed(CheckResult.FAILED, config=DECLARED)
    assert run.gate("quality") == "passed"
    assert [gate.id for gate in run.evaluation.gates] == ["quality"]
    assert run.messages("quality-mismatch") == []
    assert ended(run).standing == "complete stop"


def test_severe_issues_stay_in_the_way_of_a_check_that_passed() -> None:
    issue = {"id": "I1", "severity": "critical", "description": "x"}
    run = diagnosed(CheckResult.PASSED, issues=[issue], proposed_fixes=[{"id": "F1"}])
    assert run.gate("quality") == "failed"
    assert run.evaluation.suggestion.action != "action-complete"
