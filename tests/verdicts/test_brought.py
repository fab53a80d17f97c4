"""A judging step comes with something to look at: its text, data, or files that are as they should be."""

from __future__ import annotations

import json

import pytest

from tests.verdicts.runs import Run, plan_run

REPORT = "# Phase Quality Gate\n\n**PHASE GATE STATUS**: {word}\n\nRan the tests of both tasks.\n"


def checked() -> Run:
    """A run whose first stage awaits its quality gate."""
    return plan_run("x ").report("4a", "complete", "02")


def last_record(run: Run) -> dict[str, object]:
    return json.loads(run.files["tasks/f/.phasekeeper/journal.jsonl"].splitlines()[-1])


# ---- the text


@pytest.mark.parametrize("word", ["pass", "fail"])
def test_a_quality_gate_without_its_text_is_refused_with_the_form(word: str) -> None:
    said = checked().refusal("4b", word, report="", message="all good")
    assert "a report of 4b comes with its text" in said
    assert r"**PHASE GATE STATUS**: <PASS or FAIL>" in said


@pytest.mark.parametrize("phase", ["F1", "5a", "5b", "6"])
def test_each_judging_step_asks_for_its_text(phase: str) -> None:
    run = plan_run("x ", t02="## Meta\n\n- **Requires UX/DX Review**: true\n").report("4a", "complete", "02")
    way = {"F1": [("4b", "fail")], "5a": [("4b", "pass"), ("4c", "ok")]}
    way["5b"] = [*way["5a"], ("5a", "pass")]
    way["6"] = [*way["5b"], ("5b", "pass")]
    for step, outcome in way[phase]:
        run.report(step, outcome)
    outcome = "ok" if phase in ("F1", "6") else "pass"
    assert f"a report of {phase} comes with its text" in run.refusal(phase, outcome, report="")
    run.report(phase, outcome)


def test_the_text_says_the_verdict_that_is_reported() -> None:
    said = checked().refusal("4b", "pass", report=REPORT.format(word="FAIL"))
    assert "the text is a report of 4b fail, not of 4b pass" in said


@pytest.mark.parametrize(
    "text",
    [
        "# Phase Quality Gate\n\n**PHASE GATE STATUS**: PASS\n",
        "**PHASE GATE STATUS**: PASS\n\n<what was looked at, and what it showed>\n",
    ],
)
def test_a_bare_verdict_or_an_unfilled_form_is_no_text(text: str) -> None:
    assert "does not say in a sentence" in checked().refusal("4b", "pass", report=text)


def test_the_form_as_it_is_shown_is_no_report() -> None:
    run = checked()
    form = next(each.form for each in run.evaluation.suggestion.reports if each.step == "4b")
    assert form and "is no verdict" in run.refusal("4b", "pass", report=form)


def test_the_text_is_filed_by_the_record_and_not_folded_again() -> None:
    run = checked().report("4b", "pass", report=REPORT.format(word="PASS"))
    record = last_record(run)
    assert record["path"] == "tasks/f/reports/4b-1-1.md"
    assert run.files["tasks/f/reports/4b-1-1.md"] == REPORT.format(word="PASS")
    assert [each["path"] for each in record["files"]] == ["tasks/f/reports/4b-1-1.md"]  # type: ignore[union-attr]
    assert run.standing == "active advance 4c"
    assert not [code for code in run.codes() if code.startswith("report")]


def test_the_summary_of_a_call_may_be_the_text() -> None:
    run = checked().report("4b", "fail", report="", message=REPORT.format(word="FAIL"))
    assert last_record(run)["message"] == "Ran the tests of both tasks."
    run.report("F1", "ok").report("F2", "complete", "01").report("F2", "complete", "02").report("4b", "fail")
    assert "tasks/f/reports/4b-1-2.md" in run.files


def test_the_text_names_the_tasks_that_failed() -> None:
    run = checked()
    run.report(
        "4b", "fail", report=REPORT.format(word="FAIL") + "\n### Fix Scope\n\nOnly tasks [02] need fixes.\n"
    )
    assert last_record(run)["tasks"] == ["f-02"]


def test_the_same_report_again_is_refused_while_nothing_has_changed() -> None:
    run = checked().report("4b", "fail", report=REPORT.format(word="FAIL"))
    assert "nothing has changed since" in run.refusal("4b", "fail", report=REPORT.format(word="FAIL"))
    run.report("4b", "fail")
    assert "4b failed (2 of 3)" in run.evaluation.suggestion.reason
