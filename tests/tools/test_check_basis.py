"""`check --basis`: gates that passed on less than is asked for fail a build, in every format."""

from __future__ import annotations

import json

import pytest
from phasekeeper.orchestration.states import Basis
from phasekeeper.server.terminal.finding_views import check_summary
from phasekeeper.server.terminal.run_views import gate_lines, next_step_lines
from phasekeeper.tools.assistant.next_step import next_step
from phasekeeper.tools.assistant.run_status import gates
from phasekeeper.tools.check import BuildVerdict, as_github, as_json, as_sarif, check

from tests.verdicts.runs import Run, plan_run


def complete_run() -> Run:
    """A run that is complete on reports alone."""
    run = plan_run("xx").report("5a", "pass").report("6", "ok")
    assert run.evaluation.status == "complete"
    return run


def checked(basis: Basis | None) -> BuildVerdict:
    return check([complete_run().evaluation], basis=basis)


def test_without_a_basis_nothing_is_asked() -> None:
    assert checked(None).exit_code(True) == 0
    assert "weakGates" not in as_json(checked(None), "/root")


@pytest.mark.parametrize("basis", [Basis.RECORDED, Basis.DECIDED, Basis.MEASURED])
def test_gates_that_only_a_report_passed_fail(basis: Basis) -> None:
    result = checked(basis)
    assert result.exit_code(True) == 1
    weak = [each.message for each in result.weak_gates or ()]
    assert weak[0].startswith("gate 4 of tasks/f passed, as codex reported")
    assert f"at least {basis} is asked for: `phasekeeper gates tasks/f`" in weak[0]


def test_every_format_names_them() -> None:
    result = checked(Basis.RECORDED)
    findings = result.for_build(True, True)
    names = [each.gate for each in result.weak_gates or ()]
    assert [each["gate"] for each in as_json(result, "/root")["weakGates"]] == names == ["4", "5"]
    assert sum("title=gate-weak" in line for line in as_github(findings, str)) == 2
    results = json.loads(as_sarif(findings, "/root", "1"))["runs"][0]["results"]
    assert [each["level"] for each in results if each["ruleId"] == "gate-weak"] == ["error", "error"]
    assert [each.code for each in result.weak_findings()] == ["gate-weak", "gate-weak"]
    assert "passed on too little: 4 of tasks/f, 5 of tasks/f" in "".join(
        part.text for part in check_summary(result)
    )


def test_reported_is_what_every_verdict_is_at_least() -> None:
    assert checked(Basis.REPORTED).weak_gates == ()


def test_people_and_assistants_read_who_reported() -> None:
    e = complete_run().evaluation
    said = "as codex reported"
    lines = ["".join(part.text for part in line) for line in next_step_lines(e)]
    assert any(line.startswith(f"  gate 5 passed, {said}") for line in lines)
    assert any(line.startswith("  done: ") and said in line for line in lines)
    shown = ["".join(part.text for part in line) for line in gate_lines(e)]
    assert any(line.startswith(f"    passed, {said}") for line in shown)
    assert any(line.endswith("(reported)") for line in shown)
    assert f"gate 5 passed, {said}" in next_step(e).text
    assert next_step(e).data["gates"][0]["basis"] == "reported"
    assert f"passed, {said}" in gates(e, "5").text
    assert gates(e, "5").data["gates"][0]["criteria"][0]["basis"] == "reported"
