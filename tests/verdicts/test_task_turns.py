"""Reports name tasks in the order of the plan, in the stage at hand, and after a failure what failed."""

from __future__ import annotations

from tests.verdicts.runs import plan_run

DONE = "# Task Complete\n\n**Task File**: {n}-t.md\n**Status**: Complete\n"


def test_a_task_is_not_reported_before_those_that_it_depends_on() -> None:
    run = plan_run("x  ", t03="## Meta\n\n- **Depends On**: [f-01, f-02]\n")
    assert "f-03 waits for f-02" in run.refusal("4a", "complete", "03")
    run.report("4a", "complete", "02").report("4a", "complete", "03")
    assert run.standing == "active advance 4b"


def test_a_task_may_come_in_one_report_with_those_that_it_depends_on() -> None:
    run = plan_run("x  ", t03="## Meta\n\n- **Depends On**: [f-02]\n")
    assert run.report("4a", "complete", "02", "03").standing == "active advance 4b"


def test_a_dependency_whose_implementer_is_blocked_is_not_met() -> None:
    run = plan_run("x  ", t03="## Meta\n\n- **Depends On**: [f-02]\n").report("4a", "blocked", "02")
    run.answer("implementer_blocked:1", "help")
    assert "f-03 waits for f-02" in run.refusal("4a", "complete", "03")
    assert run.report("4a", "complete", "02").report("4a", "complete", "03").standing == "active advance 4b"


def test_a_task_of_a_later_stage_is_not_reported() -> None:
    run = plan_run("x ", " ")
    assert "f-03 is no task of 4a now; those that are: f-02" in run.refusal("4a", "complete", "03")


def test_only_failing_tasks_are_fixed() -> None:
    run = plan_run("x", "x  ").report("4a", "complete", "03").report("4a", "complete", "04")
    run.report("4b", "fail", "03").report("F1", "ok")
    for other in ("01", "02", "04"):
        assert "those that are: f-03" in run.refusal("F2", "complete", other)
    run.report("F2", "complete", "03").report("4b", "pass")
    assert run.gate("2") == "passed"


def test_a_finished_task_of_another_stage_does_not_unfail_a_gate() -> None:
    run = plan_run("x", "x ").report("4a", "complete", "03").report("4b", "fail", "03")
    run.write("reports/a.md", "# Failure Analysis\n\n**Phase**: 2\n\nA link in 03.\n").write(
        "reports/b.md", DONE.format(n="01")
    )
    assert run.gate("3") == "failed"
    assert run.messages("report-out-of-turn") == [
        "tasks/f/reports/b.md:4: a report of 4a or F2, but f-01 is no task of F2 now; those that are: f-03"
    ]


def test_report_files_of_one_moment_are_taken_in_the_order_of_the_plan() -> None:
    run = plan_run("x  ", t02="## Meta\n\n- **Depends On**: [f-03]\n")
    run.write("/src/a.py", "A = 1\n")
    for name in ("02", "03"):
        run.write(f"reports/{name}.md", DONE.format(n=name) + "\nChanged src/a.py.\n")
    run.mtimes |= dict.fromkeys(
        (f"tasks/f/reports/{name}.md" for name in ("02", "03")), run.mtimes["tasks/f/02-t.md"]
    )
    assert run.standing == "active advance 4b"


def test_an_implementer_that_was_blocked_reports_again() -> None:
    run = plan_run("x ").report("4a", "blocked", "02").answer("implementer_blocked:1", "help")
    assert run.report("4a", "complete", "02").standing == "active advance 4b"
    assert "f-02 is no task of 4a now" in run.refusal("4a", "complete", "02")
