"""Guards on what checks measured: now for the gate in force, as it was recorded for what lies behind."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from phasekeeper.orchestration.decision.check_facts import (
    is_recorded,
    kept_data,
    lapsed_record,
    verified_record,
)
from phasekeeper.orchestration.definition.root_config import PATH, read_config
from phasekeeper.orchestration.evaluation.evaluate import evaluate
from phasekeeper.orchestration.evidence.attestation import Attestation, Totals
from phasekeeper.orchestration.evidence.check_state import CheckState
from phasekeeper.orchestration.findings import Span
from phasekeeper.orchestration.journal.journal import Proofs, prove_none, record
from phasekeeper.orchestration.lint.checks import parse_workflow
from phasekeeper.orchestration.result.values import Evaluation
from phasekeeper.orchestration.snapshot.run_files import read_run
from phasekeeper.orchestration.states import Basis, CheckResult, GateStatus, RunStatus
from phasekeeper.orchestration.vfs.files import digest_of
from phasekeeper.orchestration.vfs.overlay import MemoryFiles

WORKFLOW = """\
workflow: build
runs: {at: [runs/*], marker: {file: state.json, has: [phase]}}
state: {file: state.json}
phase: state.phase
values:
  reported_code: "newest({'kind': 'report', 'phase': 'code'}).outcome == 'ok'"
  reported_ship: "newest({'kind': 'report', 'phase': 'ship'}).outcome == 'ok'"
phases:
  code: {rules: [{when: reported_code, to: ship, because: built}]}
  ship: {rules: [{when: reported_ship, stop: complete, because: out}]}
gates:
  tested: {after: code, criteria: [{text: the tests pass, when: "checks.tests.result == 'passed'"}]}
  covered: {after: code, criteria: [{text: half is covered, when: checks.tests.coverage.lines >= 0.5}]}
  shipped: {after: ship, criteria: [{text: the tests pass still, when: "checks.tests.result == 'passed'"}]}
"""
CONFIG = "checks: {tests: {run: [make]}}\n"


def result(subject: str = "aa") -> Attestation:
    return Attestation("tests", "", True, subject, "d1", 3, "t0", "t1", 0, totals=Totals(lines=0.75))


def state(
    outcome: CheckResult = CheckResult.PASSED, subject: str = "aa", last: Attestation | None = None
) -> CheckState:
    return CheckState("tests", outcome, "because", "d1", subject, last or result(subject), "evidence.json")


def journal(*records: Mapping[str, Any]) -> str:
    lines, prev = list[str](), ""
    for number, given in enumerate(records, 1):
        said = {name: value for name, value in given.items() if value not in ("", [], 0)}
        lines.append(json.dumps({"seq": number, **said, "prev": prev}))
        prev = digest_of(lines[-1])
    return "".join(f"{line}\n" for line in lines)


def report(phase: str, outcome: str = "ok") -> dict[str, str]:
    return {"kind": "report", "phase": phase, "outcome": outcome}


def judge(phase: str, now: CheckState | None, *records: Mapping[str, Any], proven: bool = True) -> Evaluation:
    files = MemoryFiles(
        {
            "runs/a/state.json": json.dumps({"phase": phase}),
            "runs/a/.phasekeeper/journal.jsonl": journal(*records),
        }
    )
    workflow = parse_workflow(WORKFLOW, "build.yaml")
    verified = (lambda lines: Proofs(frozenset(range(len(lines))))) if proven else prove_none
    snapshot = read_run(
        workflow, files, "runs/a", config=read_config(CONFIG), verify=verified, measured={"tests": now}.get
    )
    return evaluate(workflow, snapshot)


def gate(evaluation: Evaluation, name: str = "tested"):
    return next(each for each in evaluation.gates if each.id == name)


@pytest.mark.parametrize("outcome", list(CheckResult))
def test_a_gate_passes_on_a_check_that_passed_and_on_nothing_else(outcome: CheckResult) -> None:
    evaluation = judge("code", state(outcome), report("code"))
    assert (gate(evaluation).status == GateStatus.PASSED) == (outcome is CheckResult.PASSED)
    assert (evaluation.suggestion.suggested_next == "ship") == (outcome is CheckResult.PASSED)


def test_a_gate_that_rests_on_a_check_is_measured_and_names_where_it_is_declared() -> None:
    [criterion] = gate(judge("code", state())).criteria
    assert gate(judge("code", state())).basis is Basis.MEASURED
    [evidence] = criterion.evidence
    assert (evidence.expression, evidence.value) == ("checks.tests.result", "passed")
    assert (evidence.path, evidence.span) == (PATH, Span(0, 9, 0, 14))


def test_numbers_are_there_only_while_a_result_is_fresh() -> None:
    assert gate(judge("code", state()), "covered").status == GateStatus.PASSED
    stale = gate(judge("code", state(CheckResult.STALE)), "covered")
    assert (stale.status, stale.criteria[0].met) == (GateStatus.OPEN, None)
    assert gate(judge("code", None), "covered").status == GateStatus.OPEN
    assert gate(judge("code", None)).status == GateStatus.OPEN


def test_what_guards_see_of_a_check_is_part_of_the_revision() -> None:
    revisions = {judge("code", each).revision for each in (state(), state(CheckResult.STALE), None)}
    assert len(revisions) == 3
    assert judge("code", state()).reads["check: tests"] == state().digest


def test_a_later_edit_does_not_reopen_the_gate_of_a_phase_that_was_reported_on_a_fresh_result() -> None:
    records = (verified_record(state(), ""), report("code"))
    for now in (CheckResult.STALE, CheckResult.UNTRUSTED, CheckResult.MISSING):
        evaluation = judge("ship", state(now), *records)
        assert gate(evaluation).status == GateStatus.PASSED
        assert gate(evaluation, "covered").status == GateStatus.PASSED
        assert gate(evaluation, "shipped").status != GateStatus.PASSED
        assert gate(evaluation).criteria[0].evidence[0].value == "passed"


def test_without_such_a_record_it_does() -> None:
    for records in ((), (report("code"),), (report("code"), verified_record(state(), ""))):
        evaluation = judge("ship", state(CheckResult.STALE), *records)
        assert gate(evaluation).status != GateStatus.PASSED
    failed = verified_record(state(CheckResult.FAILED), "")
    assert gate(judge("ship", state(), failed, report("code"))).status == GateStatus.FAILED


def test_a_record_without_proof_counts_for_nothing_and_is_told() -> None:
    records = (verified_record(state(), ""), report("code"))
    evaluation = judge("ship", state(CheckResult.STALE), *records, proven=False)
    assert gate(evaluation).status != GateStatus.PASSED
    [found] = [each for each in evaluation.findings if each.code == "evidence-unverified"]
    assert found.span
    assert found.span.line == 0


def test_what_was_recorded_elsewhere_is_recorded_and_what_was_measured_here_is_measured() -> None:
    records = (verified_record(state(), ""), report("code"))
    assert gate(judge("ship", state(), *records)).basis is Basis.MEASURED
    later = state(CheckResult.STALE, "bb", result("aa"))
    assert gate(judge("ship", later, *records)).basis is Basis.MEASURED
    other = state(CheckResult.PASSED, "bb", result("bb"))
    assert gate(judge("ship", other, *records)).basis is Basis.RECORDED
    assert gate(judge("ship", None, *records)).basis is Basis.RECORDED


def test_a_run_that_was_complete_when_that_was_recorded_stays_complete() -> None:
    measured = verified_record(state(), "")
    records = (measured, report("code"), report("ship"))
    assert judge("ship", state(), *records).status is RunStatus.COMPLETE
    evaluation = judge("ship", state(CheckResult.STALE), *records)
    assert evaluation.status is RunStatus.COMPLETE
    assert gate(evaluation, "shipped").status == GateStatus.PASSED
    unmeasured = judge("ship", state(CheckResult.STALE), report("code"), report("ship"))
    assert unmeasured.status is not RunStatus.COMPLETE
    failed = verified_record(state(CheckResult.FAILED), "")
    again = judge("ship", state(CheckResult.STALE), measured, report("code"), failed, report("ship"))
    assert again.status is not RunStatus.COMPLETE
    assert gate(again, "shipped").criteria[0].evidence[0].value == "stale"


def test_a_record_keeps_what_guards_saw() -> None:
    counts = Totals(total=3, passed=2, failed=0, skipped=1, error=0, warning=4, note=0, branches=0.5)
    last = replace(result(), totals=counts)
    seen = state(last=last).data()
    kept = kept_data(verified_record(state(last=last), "1"))
    assert {name: value for name, value in seen.items() if name != "failures"} == kept
    odd: list[object] = [1, {"name": 2}, {"name": "result"}, {"name": "result.x"}]
    for numbers in (odd, ""):
        entry = record(check="tests", outcome="passed", numbers=numbers)
        assert kept_data(entry)["result"] == "passed"


def test_a_result_is_recorded_once_and_again_when_it_differs() -> None:
    kept = verified_record(state(), "")
    assert is_recorded(state(), [kept, record(kind="report")])
    assert not is_recorded(state(), [])
    assert not is_recorded(state(), [kept, {**kept, "outcome": "failed"}])
    assert not is_recorded(state(subject="bb"), [kept])


def test_it_can_be_asked_whether_a_check_is_declared() -> None:
    text = WORKFLOW.replace("checks.tests.result == 'passed'", "!has(checks.nothing) || checks.nothing.fresh")
    files = MemoryFiles({"runs/a/state.json": '{"phase": "code"}'})
    snapshot = read_run(parse_workflow(text, "b.yaml"), files, "runs/a", config=read_config(CONFIG))
    assert gate(evaluate(snapshot.workflow, snapshot)).status == GateStatus.PASSED


def test_a_check_that_was_changed_or_taken_away_during_a_run_is_told() -> None:
    kept = verified_record(state(), "")
    assert "check-changed" not in [each.code for each in judge("code", state(), kept).findings]
    assert "check-changed" not in [each.code for each in judge("code", None, kept).findings]
    other = replace(state(), definition="d2")
    [found] = [each for each in judge("code", other, kept).findings if each.code == "check-changed"]
    assert found.message == "tests runs something else (d2) than in record 1 of runs/a (d1)"
    assert (found.path, found.span) == (PATH, Span(0, 9, 0, 14))
    gone = judge("code", state(), {**kept, "check": "lint"})
    assert "lint is declared no more" in next(e.message for e in gone.findings if e.code == "check-changed")


def test_a_report_on_a_stale_result_rests_on_nothing_that_was_measured_before_it() -> None:
    kept = verified_record(state(), "")
    lapsed = lapsed_record(state(CheckResult.STALE, "bb"), "", [kept])
    assert lapsed is not None
    assert (lapsed["outcome"], kept_data(lapsed)["fresh"]) == ("stale", False)
    assert lapsed_record(state(CheckResult.STALE), "", []) is None
    assert lapsed_record(state(CheckResult.STALE), "", [kept, lapsed]) is None
    assert lapsed_record(state(), "", [kept]) is None
    evaluation = judge("ship", state(CheckResult.STALE), kept, report("code"), lapsed, report("ship"))
    assert evaluation.status is not RunStatus.COMPLETE
    assert gate(evaluation).status == GateStatus.PASSED


def test_a_gate_names_its_checks_with_their_result_their_age_and_what_made_them_stale() -> None:
    stale = replace(state(CheckResult.STALE), changed=("src/a.py", "src/b.py"))
    [check] = gate(judge("code", stale)).checks
    assert (check.name, check.result, check.measured_at) == ("tests", CheckResult.STALE, "t1")
    assert [change.place for change in check.changed] == ["src/a.py", "src/b.py"]
    assert (check.path, check.span) == (PATH, Span(0, 9, 0, 14))
    assert gate(judge("code", None)).checks[0].measured_at is None
    assert gate(judge("code", state()), "shipped").checks == ()


def test_a_gate_behind_the_run_names_what_was_recorded() -> None:
    then = {**verified_record(state(), ""), "at": "2026-01-01T00:00:00.000+00:00"}
    [check] = gate(judge("ship", state(CheckResult.STALE, "bb"), then, report("code"))).checks
    assert (check.result, check.measured_at) == (CheckResult.PASSED, "2026-01-01T00:00:00.000+00:00")
    assert check.changed == ()


def test_a_new_measurement_is_another_state_though_it_says_the_same() -> None:
    later = replace(result(), ended_at="t2")
    assert state().digest != state(last=later).digest
    assert state().digest == state().digest
