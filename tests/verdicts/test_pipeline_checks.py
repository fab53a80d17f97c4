"""The test phase of an artifact pipeline takes checks in place of a test report that somebody writes."""

from __future__ import annotations

import json

import pytest
from phasekeeper.orchestration.states import Basis, CheckResult
from phasekeeper.orchestration.vfs.files import digest_of

from tests.verdicts.runs import CONFIG, Run
from tests.verdicts.test_contradictions import EVALUATION, pipeline

ASKED = "checks: {tests: {run: [make]}}\nparameters: {artifact-pipeline: {test_checks: [tests]}}\n"
NOT_ASKED = "checks: {tests: {run: [make]}}\n"
REPORT = {"eval/eval-report.json": EVALUATION | {"results": [{"step": "unit", "status": "passed"}]}}
JOURNAL = ".phasekeeper/journal.jsonl"
BAD = [each for each in CheckResult if each is not CheckResult.PASSED]


def piped(result: CheckResult, *, report: bool = False, config: str = ASKED) -> Run:
    """A pipeline whose code is approved, a check that says this and, if so, a report that says passed."""
    run = pipeline("test", REPORT if report else {}).write(f"/{CONFIG}", config)
    return run.measure("tests", result, "aa")


def test_a_check_that_passed_needs_no_report() -> None:
    run = piped(CheckResult.PASSED)
    assert run.standing == "waiting_human advance accept"
    gate = next(each for each in run.evaluation.gates if each.id == "tests")
    assert (gate.status, gate.basis) == ("passed", Basis.MEASURED)
    assert "artifact-missing" not in run.codes()


@pytest.mark.parametrize("report", [False, True])
@pytest.mark.parametrize("result", BAD)
def test_a_report_by_hand_is_no_pass(result: CheckResult, report: bool) -> None:
    run = piped(result, report=report)
    failed = result is CheckResult.FAILED
    assert run.standing == ("active regress codegen" if failed else "active stay test")
    assert run.gate("tests") == ("failed" if failed else "open")
    found = run.messages("tests-contradictory")
    assert bool(found) == report
    if found:
        assert found[0].startswith(
            ".ai-tools-chain/tasks/T1/eval/eval-report.json:1: the test report says passed"
        )
        assert "they are what counts" in found[0]
    assert "needs that the check tests has passed" in run.refusal("test", "ok")


def test_saving_a_file_opens_the_gate_in_force_and_none_behind() -> None:
    run = piped(CheckResult.PASSED)
    assert run.copy().measure("tests", CheckResult.STALE, "bb").gate("tests") == "open"
    run.report("test", "ok")
    run.write("state.json", {**json.loads(run.files[f"{run.at}/state.json"]), "phase": "accept"})
    for result in BAD:
        run.measure("tests", result, "bb")
        assert run.gate("tests") == "passed"
        assert run.evaluation.current_phase == "accept"
        assert run.evaluation.suggestion.kind != "regress"


@pytest.mark.parametrize("result", BAD)
def test_a_phase_that_is_written_by_hand_leaves_nothing_behind(result: CheckResult) -> None:
    for phase in ("accept", "done"):
        run = piped(result, report=True)
        run.write("state.json", {"phase": phase, "actors": {}})
        assert run.evaluation.suggestion.suggested_next in ("test", "codegen")
        assert run.evaluation.status != "complete"


def test_an_older_result_carries_no_report_that_is_written_into_the_journal() -> None:
    run = piped(CheckResult.PASSED).report("test", "ok").measure("tests", CheckResult.STALE, "bb")
    lines = run.files[f"{run.at}/{JOURNAL}"].splitlines()
    forged = {"seq": len(lines) + 1, "kind": "report", "phase": "test", "outcome": "ok"}
    line = json.dumps({**forged, "at": run.now.isoformat(), "prev": digest_of(lines[-1])})
    run.write(JOURNAL, "".join(f"{each}\n" for each in [*lines, line]))
    run.write("state.json", {"phase": "accept", "actors": {}})
    assert run.gate("tests") != "passed"
    assert run.evaluation.suggestion.suggested_next == "test"


def test_taking_the_check_away_passes_nothing() -> None:
    run = piped(CheckResult.PASSED).write(f"/{CONFIG}", ASKED.replace("tests: {run", "other: {run"))
    assert run.gate("tests") == "open"
    held = piped(CheckResult.FAILED, report=True).commit().write(f"/{CONFIG}", NOT_ASKED)
    assert held.gate("tests") == "failed"
    assert "definition-changed" in held.codes()
    assert held.commit().gate("tests") == "passed"


@pytest.mark.parametrize("result", BAD)
def test_nobody_is_asked_to_write_a_report_that_checks_take_the_place_of(result: CheckResult) -> None:
    asked = [each.path for each in piped(result).evaluation.suggestion.produce]
    assert not [path for path in asked if "eval" in path]
    written = piped(result, config=NOT_ASKED).evaluation.suggestion.produce
    assert [each.path.rpartition("/")[2] for each in written] == ["eval-report.json"]


def test_without_the_parameter_the_report_is_what_counts() -> None:
    run = piped(CheckResult.FAILED, report=True, config=NOT_ASKED)
    assert run.standing == "waiting_human advance accept"
    assert "tests-contradictory" not in run.codes()
    assert piped(CheckResult.PASSED, config=NOT_ASKED).standing == "active stay test"
