"""The checks behind a gate: named in a guard, by a parameter, by data, or in the place of an artifact."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from phasekeeper.orchestration.definition.root_config import read_config
from phasekeeper.orchestration.evaluation.check_summaries import with_changes
from phasekeeper.orchestration.evaluation.evaluate import evaluate, evaluate_traced
from phasekeeper.orchestration.evidence.check_state import CheckState, changed_text
from phasekeeper.orchestration.findings import Span
from phasekeeper.orchestration.lint.checks import parse_workflow
from phasekeeper.orchestration.rendering.explanation import as_json, explain
from phasekeeper.orchestration.result.values import CheckSummary, InputChange
from phasekeeper.orchestration.snapshot.run_files import read_run
from phasekeeper.orchestration.snapshot.snapshot import Snapshot
from phasekeeper.orchestration.states import CheckResult
from phasekeeper.orchestration.vfs.overlay import MemoryFiles

CONFIG = """\
parameters: {build: {wanted: [lint]}}
checks: {tests: {run: [make]}, lint: {run: [make, lint]}, docs: {run: [make, docs]}}
"""
HEAD = """\
workflow: build
runs: {at: [runs/*], marker: {file: state.json, has: [phase]}}
state: {file: state.json, defaults: {gates: []}}
phase: state.phase
parameters: {wanted: {default: [], names: checks}}
artifacts: {result: {paths: [result.json], kind: json, checks: parameters.wanted}}
values: {unmet: "state.gates.filter(g, g in checks && checks[g].result != 'passed')"}
phases: {code: {rules: [{when: valid.result, to: ship, because: built}]}, ship: {terminal: complete}}
"""


def read(guard: str, state: Mapping[str, Any]) -> tuple[Any, Snapshot]:
    text = (
        HEAD + f"gates: {{green: {{after: code, criteria: [{{text: green, when: {json.dumps(guard)}}}]}}}}\n"
    )
    workflow = parse_workflow(text, "build.yaml")
    files = MemoryFiles({"runs/a/state.json": json.dumps({"phase": "code", **state})})

    def measured(name: str) -> CheckState:
        return CheckState(name, CheckResult.MISSING, "it has not run here yet", "d1")

    config = read_config(CONFIG)
    return workflow, read_run(workflow, files, "runs/a", config=config, measured=measured)


@pytest.mark.parametrize(
    ("guard", "gates", "names"),
    [
        ("checks.tests.result == 'passed'", [], ["tests"]),
        ("parameters.wanted.all(c, checks[c].result == 'passed')", [], ["lint"]),
        ("unmet == []", ["docs", "unknown"], ["docs"]),
        ("unmet == []", [], []),
        ("valid.result", [], ["lint"]),
        ("checks.unknown.result == 'passed'", [], []),
        ("state.gates == []", ["docs"], []),
    ],
)
def test_a_gate_names_the_checks_that_its_criteria_read(guard, gates, names) -> None:
    workflow, snapshot = read(guard, {"gates": gates})
    [gate] = evaluate(workflow, snapshot).gates
    assert [check.name for check in gate.checks] == names


def test_an_explanation_names_the_checks_of_each_thing_that_was_looked_at() -> None:
    trace = evaluate_traced(*read("checks.tests.result == 'passed'", {}))
    looked = as_json(trace.evaluation, explain(trace))["looked"]
    named = {entry["where"]: [check["name"] for check in entry["checks"]] for entry in looked}
    assert named["gates.green.criteria[0]"] == ["tests"]
    assert named["phases.code.rules[0]"] == ["lint"]


def test_a_reason_names_the_lines_of_what_changed() -> None:
    changed = (InputChange("a.py"), InputChange("b.py"))
    check = CheckSummary("tests", CheckResult.STALE, changed_text(["a.py", "b.py"]), None, changed)
    at_line = with_changes(check, [InputChange("a.py", Span(2, 0, 2, 5)), changed[1]])
    assert at_line.phrase == "tests stale: a.py:3, b.py changed since it ran"
    while_it_ran = with_changes(CheckSummary("tests", CheckResult.STALE, "other", None, changed), changed)
    assert while_it_ran.reason == "other"
