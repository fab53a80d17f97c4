"""Words that are struck out, denied, quoted or fenced are no verdicts; of contradictions the worse counts."""

from __future__ import annotations

import pytest
from phasekeeper.orchestration.states import RecordKind

from tests.verdicts.runs import Run, plan_run

SAID = "\n\nAll of it was looked at.\n"


def checked(text: str) -> Run:
    """A run whose only stage is implemented, with the text of a quality gate's report."""
    run = plan_run("x ").report("4a", "complete", "f-02")
    return run.write("reports/gate.md", text + SAID)


@pytest.mark.parametrize(
    "text",
    [
        "# Phase Quality Gate\n**Overall Status**: ~~PASS~~",
        "# ~~Phase Quality Gate: PASS~~",
        "# Phase Quality Gate\n**Overall Status**: not PASS",
        "# Phase Quality Gate\n**Overall Status**: no FAIL",
        "# Phase Quality Gate\n> **Overall Status**: PASS",
        "# Phase Quality Gate\n<!--\n**Overall Status**: PASS\n-->",
        "# Phase Quality Gate\n```\n**Overall Status**: PASS\n```",
    ],
)
def test_a_pass_that_was_taken_back_passes_no_gate(text: str) -> None:
    run = checked(text)
    assert run.standing == "active advance 4b"
    assert run.messages("report-unclear")[0].startswith("tasks/f/reports/gate.md:")


@pytest.mark.parametrize(
    "text",
    [
        "# Phase Quality Gate: PASS\n**Overall Status**: FAIL",
        "# Phase Quality Gate: FAIL\n**Overall Status**: PASS",
        "# Phase Quality Gate: PASS\n| Criterion | Status |\n|---|---|\n| a | met |\n| b | unmet |",
        "# Phase Quality Gate: PASS\n| Criterion | Result |\n|---|---|\n| a | ❌ |",
    ],
)
def test_a_report_that_contradicts_itself_is_a_failure(text: str) -> None:
    run = checked(text)
    assert (run.gate("3"), run.standing) == ("failed", "active regress F1")
    assert len(run.messages("artifact-contradictory")) == 2


@pytest.mark.parametrize(("step", "outcome"), [("4b", "pass"), ("4b", "fail")])
def test_a_text_that_contradicts_itself_is_not_recorded(step: str, outcome: str) -> None:
    run = plan_run("x ").report("4a", "complete", "f-02")
    text = f"# Phase Quality Gate: PASS\n**Overall Status**: FAIL{SAID}"
    assert "the text contradicts itself: the report says" in run.refusal(step, outcome, report=text)


def test_work_that_its_own_checks_fail_is_not_complete() -> None:
    run = plan_run("x ").write("/src/a.py", "a")
    said = (
        "# Task Complete\n**Task File**: 02-t.md\n**Status**: Complete\n- Lint: PASS\n- Build: FAIL\nsrc/a.py"
    )
    run.write("reports/02.md", said + SAID)
    assert len(run.messages("artifact-contradictory")) == 2
    record = run.trace().facts.newest_record([RecordKind.REPORT])
    assert record and (record["task"], record["outcome"]) == ("f-02", "partial")


def test_a_task_whose_mark_or_row_is_struck_out_is_not_done() -> None:
    text = plan_run("xx").files["tasks/f/MASTER_PLAN.md"]
    for struck in (text.replace("[x]", "~~[x]~~", 1), text.replace("f-01", "~~f-01~~")):
        run = plan_run("xx").write("MASTER_PLAN.md", struck)
        plan = run.trace().facts.snapshot.plan
        assert plan and [task.done for task in plan.tasks] == [False, True]
        assert len(run.messages("marker-unknown")) == 1
