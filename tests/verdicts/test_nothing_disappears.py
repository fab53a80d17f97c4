"""Work that is in no row of the plan any more, and who a task is: nothing of it passes in silence."""

from __future__ import annotations

import pytest
from phasekeeper.orchestration.result.values import as_json

from tests.verdicts.runs import Run, built_in, plan_run

PLAN = "MASTER_PLAN.md"


def plan_text(run: Run) -> str:
    return run.files[f"{run.at}/{PLAN}"]


def approved(*stages: str, **task_files: str) -> Run:
    """A run whose plan a person approved."""
    return plan_run(*stages, adoption="ask", **task_files).answer("plan", "approve")


def finished(*stages: str) -> Run:
    """A run of which everything was done as it should be."""
    run = approved(*stages)
    number = 0
    for stage, marks in enumerate(stages, 1):
        for _ in marks:
            number += 1
            run.report("4a", "complete", f"{number:02}")
        run.report("4b", "pass", stage=str(stage)).report("4c", "ok", stage=str(stage))
    return run.report("5a", "pass").report("6", "ok")


def without_rows(run: Run, *numbers: str) -> Run:
    """The plan without the rows of some tasks."""
    lines = [line for line in plan_text(run).splitlines() if not any(f"f-{n} " in line for n in numbers)]
    return run.write(PLAN, "\n".join(lines) + "\n")


def test_an_honest_run_completes() -> None:
    run = finished("  ", " ")
    assert run.standing == "complete stop"
    assert not run.codes() & {"task-unlisted", "plan-shrank", "mark-reverted", "task-mismatch"}


def test_a_task_file_that_no_row_names_keeps_a_run_from_being_complete() -> None:
    run = finished("  ", " ").write("09-more.md", "# 09. More\n").write("10-notes.txt", "no task")
    assert run.standing == "active stay 6"
    assert run.messages("task-unlisted") == [
        "tasks/f/09-more.md:: 09-more.md is a task file that no row of the plan names"
    ]
    assert "09-more.md" in run.evaluation.status_reason


def test_the_tasks_at_hand_are_those_of_the_next_step_and_the_counts_are_of_all() -> None:
    evaluation = plan_run("x ", "  ").evaluation
    short = evaluation.without_tasks
    assert evaluation.suggestion.tasks == ("f-02",)
    stages = as_json(short)["plan"]["stages"]
    assert [[task["id"] for task in stage["tasks"]] for stage in stages] == [["f-02"], []]
    assert [(stage["done"], stage["total"]) for stage in stages] == [(1, 2), (0, 2)]
    assert Run(built_in("artifact-pipeline"), "r").evaluation.without_tasks.plan is None


def test_many_task_files_that_no_row_names_are_told_up_to_a_bound() -> None:
    run = finished("  ", " ")
    for number in range(20, 75):
        run.write(f"{number}-more.md", f"# {number}. More\n")
    said = run.messages("task-unlisted")
    assert (len(said), said[-1]) == (51, "tasks/f/MASTER_PLAN.md:: and 5 more task files that no row names")
    assert run.standing == "active stay 6"


def test_a_plan_cut_off_after_its_work_names_what_it_lacks() -> None:
    run = finished("  ", "  ", " ")
    text = plan_text(run)
    run.write(PLAN, text[: text.index("| 2 | f-04")])
    assert run.standing == "active stay 6"
    assert [m.partition(":")[0] for m in run.messages("task-unlisted")] == [
        "tasks/f/04-t.md", "tasks/f/05-t.md",
    ]  # fmt: skip
    said = " ".join(run.messages("plan-shrank"))
    assert "phase 3, which the plan does not have" in said and "f-04, f-05" in said


def test_a_report_file_of_a_stage_that_the_plan_lacks_counts_for_nothing_and_is_named() -> None:
    run = finished(" ")
    run.write("reports/03-4b.md", "## Phase Quality Gate\n\n**Phase**: 3\n**Overall Status**: PASS\n")
    assert run.standing == "active stay 6"
    [said] = run.messages("report-unmatched")
    assert said.startswith("tasks/f/reports/03-4b.md:") and "phase 3" in said
    assert "report-out-of-turn" not in run.codes()


SUMMARY = """
## Progress Summary

| Phase | Tasks | Status |
|---|---|---|
| 1. Part 1 | 1 | [x] |
| Phase 2: Part 2 | 4 | [ ] |
| **Total** | 5 | |
"""


@pytest.mark.parametrize(
    ("below", "said"),
    [
        (SUMMARY, "Phase 2: Part 2 stands in the Progress Summary but has no task table"),
        ("\n**Progress**: 1/5 tasks complete (100%)\n", "5, but 1 tasks stand in the tables"),
        (SUMMARY.replace("| 1 |", "| 1/3 |").replace("2: Part 2", "1: x"), "1/3 for phase 1"),
        ("\n## Quick Reference\n\n```\n 2. f-02  Lost  [ ]\n```\n", "f-02 stands in the Quick Reference"),
    ],
)
def test_places_of_a_plan_that_count_other_tasks_keep_it_from_being_complete(below: str, said: str) -> None:
    run = finished(" ")
    run.write(PLAN, plan_text(run) + below)
    assert any(said in message for message in run.messages("status-drift"))
    assert run.standing == "active stay 6"
    assert said in run.evaluation.status_reason


def test_marks_that_went_back_after_their_stage_was_recorded_are_named() -> None:
    run = approved("  ", " ")
    run.report("4a", "complete", "01").report("4a", "complete", "02").report("4b", "pass").report("4c", "ok")
    run.write(PLAN, plan_text(run).replace("[x]", "[ ]"))
    [said] = run.messages("mark-reverted")
    assert said.endswith("4c recorded phase 1 as done, but f-01, f-02 are not marked done")
    run.report("4c", "ok")
    assert "mark-reverted" not in run.codes()


def test_a_plan_that_lost_tasks_since_a_person_approved_it_is_no_complete_one() -> None:
    run = approved("  ", " ")
    run = without_rows(run.report("4a", "complete", "01"), "02").report("4b", "pass").report("4c", "ok")
    run.report("4a", "complete", "03").report("4b", "pass").report("4c", "ok").report("5a", "pass")
    del run.files["tasks/f/02-t.md"]
    run.report("6", "ok")
    assert run.messages("plan-shrank") == [
        "tasks/f/MASTER_PLAN.md:: phase 1 had 2 tasks when the plan was approved, it has 1"
    ]
    assert run.standing == "active stay 6"
    # A person who wants it so says so.
    assert run.answer("plan", "approve").standing == "complete stop"


# ---- who a task is


META = "# T\n\n## Meta\n\n- **ID**: {}\n- **Depends On**: {}\n"


def test_a_task_file_with_an_id_of_its_own_is_told_once_and_known_by_both() -> None:
    run = approved("   ", t02=META.format("FT-002", "[]"), t03=META.format("f-03", "[FT-002]"))
    [said] = run.messages("task-mismatch")
    assert said.startswith("tasks/f/02-t.md:5: the row says f-02, its file says FT-002;")
    assert "dangling-dependency" not in run.codes()
    assert "f-03 waits for f-02" in run.refusal("4a", "complete", "03")
    assert run.report("4a", "complete", "FT-002").report("4a", "complete", "03").codes()


def test_an_id_that_two_files_give_means_neither() -> None:
    run = plan_run(
        "   ", t01=META.format("X-1", "[]"), t02=META.format("X-1", "[]"), t03=META.format("f-03", "X-1")
    )
    assert len(run.messages("task-mismatch")) == 2
    assert "dangling-dependency" in run.codes()


def test_two_swapped_files_depend_on_each_other_in_no_circle() -> None:
    run = approved("   ", t02=META.format("f-03", "[f-02]"), t03=META.format("f-02", "[f-01]"))
    said = run.messages("task-mismatch")
    assert [m.partition(": ")[2].partition(";")[0] for m in said] == [
        "the row says f-02, its file says f-03", "the row says f-03, its file says f-02",
    ]  # fmt: skip
    assert "plan-cycle" not in run.codes()
    # The file that says f-03 waits for the one that says f-02.
    assert "f-02 waits for f-03" in run.refusal("4a", "complete", "02")


def test_a_file_that_was_copied_depends_on_itself_in_no_circle_and_still_waits() -> None:
    run = approved("   ", t02=META.format("f-03", "[f-02]"), t03=META.format("f-03", "[]"))
    assert "plan-cycle" not in run.codes() and len(run.messages("task-mismatch")) == 1
    assert run.evaluation.suggestion.tasks == ("f-01", "f-03")


@pytest.mark.parametrize(
    "written",
    ["Task 02", "task #2", "Task 02: The cart", "02", "2", "02-t.md", "`02-t.md`", "f-02", "F-02",
     "[Task 02]", "Task 01, Task 02", "Task 01 and Task 02", "f-01; 02-t", "[01, `f-02`]", "02 – the cart"],
)  # fmt: skip
def test_a_dependency_is_found_however_it_is_written(written: str) -> None:
    run = approved("   ", t03=META.format("03", written))
    assert not run.codes() & {"dangling-dependency", "task-mismatch"}
    assert "f-02" in run.refusal("4a", "complete", "03")


@pytest.mark.parametrize("written", ["f_02", "Task 2b", "FT-002", "f-0002"])
def test_a_dependency_that_is_not_found_says_what_was_meant(written: str) -> None:
    [said] = approved("   ", t03=META.format("f-03", written)).messages("dangling-dependency")
    assert "did you mean 'f-02'" in said


# ---- marks


@pytest.mark.parametrize(
    ("word", "mark"), [("✅", "x"), ("Done", "x"), ("✔️ yes", "x"), ("awaiting-operator", "!"), ("maybe", "")]
)
def test_words_in_place_of_marks_count_for_nothing_and_are_said_beside_the_counts(
    word: str, mark: str
) -> None:
    run = plan_run("    ")
    run.write(PLAN, plan_text(run).replace("[ ]", word, 3))
    assert run.evaluation.progress_phrase == "0 of 4 done, 3 marks unknown"
    said = run.messages("marker-unknown")
    assert len(said) == 3
    assert all(message.endswith(f"did you mean [{mark}]?") is bool(mark) for message in said)


# ---- no report is asked for that moves nothing


def checked(**task_files: str) -> Run:
    """A run of one stage that was reported to its end."""
    run = plan_run("x ", **task_files)
    for step, outcome, *tasks in (
        ("4a", "complete", "02"), ("4b", "pass"), ("4c", "ok"), ("5a", "pass"), ("6", "ok"),
    ):  # fmt: skip
        run.report(step, outcome, *tasks)
    return run


def test_no_report_is_asked_for_where_the_plan_lacks_work() -> None:
    run = checked()
    assert run.standing == "complete stop"
    run.write("03-t.md", "# 03. T\n")
    assert run.standing == "active stay 6"
    assert "03-t.md is a task file that no row of the plan names" in run.evaluation.suggestion.reason
    assert run.evaluation.suggestion.reports == ()
    run.remove("03-t.md")
    assert run.standing == "complete stop"


# ---- words of a plan that contradict each other, or that nobody knows


@pytest.mark.parametrize(
    "status", ["Failed", "**FAILED** (see notes)", "blocked", "[-]", "Needs attention", "rejected"]
)
def test_a_task_that_its_own_file_calls_failed_is_not_complete(status: str) -> None:
    run = checked(t01=f"# 01. T\n\n## Meta\n\n- **ID**: f-01\n- **Status**: {status}\n")
    assert (run.evaluation.status, run.evaluation.suggestion.reports) == ("active", ())
    [message] = run.messages("artifact-contradictory")
    assert message.startswith("tasks/f/01-t.md:6: the row of f-01 says done, but its file says ")
    run.write("01-t.md", "# 01. T\n\n## Meta\n\n- **ID**: f-01\n- **Status**: Complete\n")
    assert run.standing == "complete stop"


@pytest.mark.parametrize("status", ["Pending", "In Progress", "✅ Done", "[x]", "~~Failed~~", ""])
def test_a_status_that_nobody_kept_up_to_date_contradicts_nothing(status: str) -> None:
    run = checked(t01=f"# 01. T\n\n## Meta\n\n- **ID**: f-01\n- **Status**: {status}\n")
    assert run.standing == "complete stop"


def test_a_status_of_a_task_file_that_nobody_knows_holds_the_run() -> None:
    run = checked(t01="# 01. T\n\n## Meta\n\n- **ID**: f-01\n- **Status**: Purple\n")
    assert run.evaluation.status == "active"
    assert "Purple, which is no known word; known: todo, in progress" in run.messages("unknown-word")[0]


@pytest.mark.parametrize("status", ["Abandoned", "Failed", "Blocked", "[x] Purple"])
def test_a_header_that_says_no_word_of_the_template_holds_the_run(status: str) -> None:
    run = checked()
    plan = run.files["tasks/f/MASTER_PLAN.md"]
    run.write("MASTER_PLAN.md", plan.replace("Plan\n", f"Plan\n\n**Status**: {status}\n", 1))
    assert (run.evaluation.status, run.evaluation.suggestion.reports) == ("active", ())
    assert "which is no known word; known: Planning, In Progress, Complete" in run.messages("unknown-word")[0]


@pytest.mark.parametrize("status", ["Planning", "[ ] Planning | [ ] In Progress | [x] Complete", "DONE ✅"])
def test_a_header_of_the_template_holds_nothing(status: str) -> None:
    run = checked()
    plan = run.files["tasks/f/MASTER_PLAN.md"]
    run.write("MASTER_PLAN.md", plan.replace("Plan\n", f"Plan\n\n**Status**: {status}\n", 1))
    assert run.standing == "complete stop"
