"""A report that judges says of each task at hand whether its criteria are met (seed 004: 4b, 5a, 5b, F1)."""

from __future__ import annotations

import pytest

from tests.verdicts.runs import Run, plan_run

GATE = "# Phase Quality Gate\n\n**PHASE GATE STATUS**: {word}\n\nRan the tests.\n\n{said}\n"
TABLE = "| Task | Criterion | Status | Evidence |\n|---|---|---|---|\n"


def implemented() -> Run:
    """A stage of two tasks that were both reported as implemented."""
    run = plan_run("  ", adoption="ask").answer("plan", "approve")
    return run.report("4a", "complete", "01").report("4a", "complete", "02")


@pytest.mark.parametrize(
    ("said", "missing"),
    [
        ("fine", "f-01, f-02"),
        (TABLE + "| 01 | it lends | met | lend.py:3 |", "f-02"),
        (TABLE + "| 01 | it lends | met | the task 02 is done too |", "f-02"),
        (TABLE + "| 01 | it lends | ✅ | a |\n\nThe task 02 is fine.", "f-02"),
        ("- 01: met\n- 02: looked at", "f-02"),
        ("```\n- 01: met\n- 02: met\n```", "f-01, f-02"),
    ],
)
def test_a_pass_that_leaves_a_task_out_is_refused_with_the_form(said: str, missing: str) -> None:
    refused = implemented().refusal("4b", "pass", report=GATE.format(word="PASS", said=said))
    assert f"it does not of {missing}." in refused
    assert "| f-01 | <criterion> | <met or unmet> |" in refused


@pytest.mark.parametrize(
    "said",
    [
        TABLE + "| 01 | it lends | met | lend.py:3 |\n| 02-t.md | it is tested | ✅ | 4 tests |",
        TABLE + "| f-01, f-02 | they lend | pass | lend.py:3 |",
        "- 01: met, the tests pass\n- Task 02: pass",
        "### 01. Lending\n\n| Criterion | Status |\n|---|---|\n| a | met |\n\n### 02\n\n- f-02: met",
    ],
)
def test_a_pass_that_speaks_of_each_task_counts(said: str) -> None:
    run = implemented().report("4b", "pass", report=GATE.format(word="PASS", said=said))
    assert run.standing == "active advance 4c"


def test_a_form_that_the_next_step_shows_has_a_row_for_each_task() -> None:
    (report,) = (each for each in implemented().evaluation.suggestion.reports if each.step == "4b")
    assert report.form and "| f-01 |" in report.form and "| f-02 |" in report.form


def test_an_analysis_names_each_failing_task() -> None:
    run = implemented().report("4b", "fail", "01", "02")
    analysis = "# Failure Analysis\n\nThe cause.\n\n{said}\n"
    refused = run.refusal("F1", "ok", report=analysis.format(said="02 has it wrong."))
    assert "its text names each failing task with its cause; it does not of f-01." in refused
    assert "- f-01: <cause>" in refused
    run.report("F1", "ok", report=analysis.format(said="01 lends twice, and 02 expects that."))
    assert run.standing == "active advance F2"


def test_the_validations_speak_of_the_tasks_of_every_stage() -> None:
    run = plan_run(" ", " ", adoption="ask", t02="## Meta\n\n- **Requires UX/DX Review**: true\n")
    run.answer("plan", "approve")
    for task in ("01", "02"):
        run.report("4a", "complete", task).report("4b", "pass").report("4c", "ok")
    objective = "# 5a Objective Gate\n\n**5a OBJECTIVE GATE STATUS**: PASS\n\nRan all.\n\n"
    assert "it does not of f-02" in run.refusal("5a", "pass", report=f"{objective}- 01: met\n")
    run.report("5a", "pass", report=f"{objective}- 01: met\n- 02: met\n")
    subjective = "# 5b Subjective Gate\n\n**5b SUBJECTIVE GATE STATUS**: PASS\n\nLooked.\n\n"
    assert "it does not of f-02" in run.refusal("5b", "pass", report=f"{subjective}- 01: met\n")
    run.report("5b", "pass", report=f"{subjective}- 02: met\n")
    assert run.standing == "active advance 6"
