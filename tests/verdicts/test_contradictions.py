"""A document that contradicts itself: the worse counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.verdicts.runs import Run, built_in

EVALUATION = {"status": "completed", "overall_pass": True, "summary": {"passed": 1}}


def pipeline(phase: str, files: Mapping[str, Mapping[str, Any]]) -> Run:
    """A run of the artifact pipeline in a phase, with what leads there and these files."""
    run = Run(built_in("artifact-pipeline"), ".ai-tools-chain/tasks/T1")
    run.write("state.json", {"phase": phase, "actors": {}})
    run.write("planning/planning.ai.json", {"id": "T1", "brief": "b"})
    run.write("review/plan-review.json", {"ok": True})
    run.write("code/diff.patch", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n").write("code/files/x", "b\n")
    run.write("review/code-review.json", {"ok": True, "blocking_issues": []})
    for path, content in files.items():
        run.write(path, content)
    return run


@pytest.mark.parametrize("word", ["failed", "error", "unheard-of", ""])
def test_a_failed_case_fails_a_test_report_that_says_it_passed(word: str) -> None:
    suite = {
        "id": "unit",
        "status": "completed",
        "overall_pass": True,
        "cases": [{"id": "a", "status": word}],
    }
    run = pipeline("test", {"eval/eval-report.json": EVALUATION | {"suites": [suite]}})
    assert run.standing == "active regress codegen"
    assert run.gate("tests") == "failed"
    assert "tests-contradictory" in run.codes()


def test_a_change_that_is_taken_back_needs_no_fresh_diff() -> None:
    run = pipeline("revert", {"accept/decision.json": {"verdict": "revert"}}).commit()
    run.write("planning/plan.files.json", {"files": ["x"]})
    assert run.standing == "active stay revert"


@pytest.mark.parametrize(
    ("phase", "path", "text"),
    [
        ("plan_review", "review/plan-review.json", '{"ok": false, "ok": true}'),
        ("plan_review", "review/plan-review.json", '{"ok": true, "ok": false}'),
        ("review", "review/code-review.json", '{"ok": false, "ok": true, "blocking_issues": []}'),
        (
            "test",
            "eval/eval-report.json",
            '{"overall_pass": false, "overall_pass": true, "results": []}',
        ),
    ],
)
def test_a_document_that_says_two_things_passes_no_gate(phase: str, path: str, text: str) -> None:
    run = pipeline(phase, {}).write(path, text)
    assert run.standing == f"active stay {phase}"
    assert "artifact-contradictory" in run.codes()


def test_a_state_file_that_says_two_things_cannot_be_judged() -> None:
    run = pipeline("test", {}).write("state.json", '{"phase": "test", "phase": "accept", "actors": {}}')
    assert run.standing == "invalid none"
