"""An escalation stops its run; a form says nothing good by itself; files that are there are revised."""

from __future__ import annotations

import json
import re

import pytest
from phasekeeper.orchestration.updates.commands import Command, CommandRefused

from tests.verdicts.runs import LIBRARY, Run, built_in, plan_run


def raised(run: Run) -> Run:
    """A question of an agent's own."""
    return run.apply(Command("raise", message="Which database?", actor="codex", channel="mcp"))


def test_an_escalation_stops_reports_until_it_is_answered() -> None:
    run = raised(plan_run("x "))
    assert run.standing == "waiting_human escalate"
    assert "may not be reported now" in run.refusal("4a", "complete", "02")
    assert run.evaluation.suggestion.reason == "an agent asks a person: Which database?"
    run.answer("raised:1", "continue").report("4a", "complete", "02")
    assert run.standing == "active advance 4b"


def test_an_escalation_keeps_a_run_from_being_complete() -> None:
    run = plan_run("xx").report("5a", "pass")
    raised(run)
    run.write("reports/6.md", "# Success Learnings\n\n- All of it was read.\n")
    assert run.evaluation.status == "waiting_human"
    assert [question.id for question in run.evaluation.questions] == ["raised:2"]


def test_two_escalations_both_have_to_be_answered() -> None:
    run = raised(plan_run("x "))
    run.apply(Command("raise", message="Which port?", actor="codex", channel="mcp"))
    assert run.answer("raised:1", "continue").standing == "waiting_human escalate"
    assert run.answer("raised:2", "stop").standing == "blocked stop"


# ---- a finished plan of before

HINTS = {"task-unreadable", "test-task-missing"}


@pytest.mark.parametrize("adoption", ["ask", "auto"])
def test_a_finished_plan_of_before_is_closed_by_one_decision(adoption: str) -> None:
    run = plan_run("xx", "xx", adoption=adoption)
    assert "`phasekeeper adopt tasks/f --complete`" in run.evaluation.suggestion.reason
    if adoption == "ask":
        (said,) = run.messages("approval-missing")
        assert "phasekeeper adopt RUN --complete" in said
    run.answer("completion", "complete")
    assert (run.standing, run.codes() - HINTS) == ("complete stop", set())
    assert run.evaluation.questions == ()


def test_a_plan_that_grew_since_it_was_closed_is_not_complete() -> None:
    run = plan_run("xx").answer("completion", "complete")
    plan = run.files["tasks/f/MASTER_PLAN.md"]
    run.write("03-t.md", "# 03. T\n")
    run.write("MASTER_PLAN.md", plan + "| 3 | f-03 | `03-t.md` | do 3 | impl | [x] |\n")
    assert run.standing == "active stay 5a"
    run.write("MASTER_PLAN.md", plan + "| 3 | f-03 | `03-t.md` | do 3 | impl | [ ] |\n")
    assert run.standing == "active stay 4a"


@pytest.mark.parametrize("marks", ["x ", "x-", "x?"])
def test_a_plan_that_is_not_finished_is_not_closed(marks: str) -> None:
    with pytest.raises(CommandRefused, match="is not open"):
        plan_run(marks, adoption="ask").answer("completion", "complete")


def test_a_plan_whose_work_was_reported_here_is_not_closed_as_one_of_before() -> None:
    run = plan_run("x ").report("4a", "complete", "02").report("4b", "pass").report("4c", "ok")
    assert run.standing == "active stay 5a"
    with pytest.raises(CommandRefused, match="is not open"):
        run.answer("completion", "complete")
    failed = plan_run("xx").report("5a", "fail")
    with pytest.raises(CommandRefused, match="is not open"):
        failed.answer("completion", "complete")


def test_a_failure_after_it_was_closed_opens_a_plan_again() -> None:
    run = plan_run("xx").answer("completion", "complete")
    run.write("reports/late.md", "# Phase Quality Gate\n\n**Phase**: 1\n**PHASE GATE STATUS**: FAIL\n")
    assert run.evaluation.status != "complete"


FAIL_AND_PASS = {
    "reports/1.md": "# Phase Quality Gate: FAIL\n\n**Phase**: 1\n**Iteration**: 1 of 3\n",
    "reports/2.md": "# Phase Quality Gate: PASS\n\n**Phase**: 1\n**Iteration**: 2 of 3\n",
}


def test_an_adoption_takes_no_marks_that_come_after_it() -> None:
    run = plan_run("x", "  ", adoption="ask").answer("adoption", "adopt")
    assert run.standing == "active stay 4a"
    run.write("/tasks/f/MASTER_PLAN.md", run.files["tasks/f/MASTER_PLAN.md"].replace("[ ]", "[x]"))
    assert run.standing == "active advance 4b"
    assert run.evaluation.suggestion.reason == "all tasks of stage 2 are implemented"


def test_an_adoption_takes_a_stage_with_as_many_tasks_as_it_had() -> None:
    run = plan_run("xx", adoption="ask").answer("adoption", "adopt")
    assert run.standing == "active stay 5a"
    plan = run.files["tasks/f/MASTER_PLAN.md"]
    [row] = [line for line in plan.splitlines() if "f-02" in line]
    more = row.replace("f-02", "f-03").replace("| 2 |", "| 3 |")
    run.write("/tasks/f/MASTER_PLAN.md", plan.replace(row, f"{row}\n{more}"))
    assert run.evaluation.current_phase == "4a"


def test_an_adoption_of_before_its_stages_were_recorded_takes_what_is_marked() -> None:
    run = plan_run("x", "  ", adoption="ask").answer("adoption", "adopt")
    path = "tasks/f/.phasekeeper/journal.jsonl"
    record = json.loads(run.files[path])
    record = {k: v for k, v in record.items() if k not in ("stages", "asked", "options")}
    run.write(f"/{path}", json.dumps(record) + "\n")
    run.proven.add(json.dumps(record))
    run.write("/tasks/f/MASTER_PLAN.md", run.files["tasks/f/MASTER_PLAN.md"].replace("[ ]", "[x]"))
    assert run.evaluation.current_phase == "5a"


@pytest.mark.parametrize(
    ("question", "option", "standing"),
    [("adoption", "adopt", "active stay 5a"), ("completion", "complete", "complete stop")],
)
def test_an_adoption_finishes_a_stage_after_its_last_report(
    question: str, option: str, standing: str
) -> None:
    run = plan_run("xx", adoption="ask")
    for path, text in FAIL_AND_PASS.items():
        run.write(path, text)
    assert run.evaluation.suggestion.suggested_next != "5a"
    run.answer(question, option)
    assert (run.standing, run.codes() - HINTS) == (standing, set())
    # What fails after the adoption counts.
    run.write("reports/3.md", FAIL_AND_PASS["reports/1.md"].replace("1 of 3", "3 of 3"))
    assert run.gate("3") == "failed"


def test_a_file_that_is_there_is_to_be_revised_and_not_made_anew() -> None:
    run = Run(built_in("artifact-pipeline"), ".ai-tools-chain/tasks/T1").write(
        "state.json", {"phase": "plan_review"}
    )
    run.write("planning/planning.ai.json", {"id": "T1"})
    (new,) = run.evaluation.suggestion.produce
    assert not new.revise and "<true or false>" in str(new.example)
    run.write("review/plan-review.json", {"ok": False})
    run.write("state.json", {"phase": "planning"})
    (there,) = run.evaluation.suggestion.produce
    assert (there.path[-16:], there.revise) == ("planning.ai.json", True)
    # What a file of data may say is told all the same.
    assert there.example == run.workflow.artifacts["planning"].example


@pytest.mark.parametrize("name", LIBRARY.names)
def test_no_example_of_a_file_passes_as_it_is_shown(name: str) -> None:
    verdicts = ("ok", "decision", "overall_pass", "verdict", "status")
    for artifact in built_in(name).artifacts.values():
        if (
            artifact.kind == "json"
            and artifact.example
            and any(f'"{word}"' in artifact.example for word in verdicts)
        ):
            assert "<" in artifact.example
            try:
                shown = json.loads(artifact.example)
            except ValueError:
                continue
            assert all(str(shown.get(word, "<")).startswith("<") for word in verdicts)


# ---- the workflow's own changes of what was approved

FIX = {"title": "Remediation", "tasks": [{"title": "Mend the total", "files": ["src/total.py"]}]}


def failed_validation() -> Run:
    """An approved plan whose last stage passed, and whose validation failed."""
    run = plan_run("  ", adoption="ask").answer("plan", "approve")
    run.report("4a", "complete", "01").report("4a", "complete", "02")
    return run.report("4b", "pass").report("4c", "ok").report("5a", "fail")


def test_fix_tasks_that_the_workflow_adds_are_no_unapproved_change() -> None:
    run = failed_validation().report("create-fix-tasks", "ok", data=FIX, report="")
    assert (run.standing, "approval-stale" in run.codes()) == ("active stay 4a", False)
    plan = run.files["tasks/f/MASTER_PLAN.md"]
    run.write("MASTER_PLAN.md", plan.replace("Mend the total", "Mend the sum"))
    assert "approval-stale" in run.codes()
    assert "approval-stale" not in run.answer("plan", "approve").codes()


def test_a_change_by_hand_before_the_workflow_adds_tasks_stays_unapproved() -> None:
    run = failed_validation()
    plan = run.files["tasks/f/MASTER_PLAN.md"]
    run.write("MASTER_PLAN.md", plan.replace("do 1", "do less"))
    assert "approval-stale" in run.report("create-fix-tasks", "ok", data=FIX, report="").codes()


def test_tasks_that_were_added_to_a_closed_plan_are_validated() -> None:
    run = plan_run("xx").answer("completion", "complete").report("7", "lightweight")
    run.report("create-fix-tasks", "ok", data=FIX, report="")
    assert run.standing == "active stay 4a"
    plan = run.files["tasks/f/MASTER_PLAN.md"]
    run.write("MASTER_PLAN.md", plan.replace("| [ ] |", "| [x] |"))
    assert run.standing == "active stay 5a"


# ---- forms


def test_phase_2_shows_forms_of_a_plan_and_a_task_file_and_takes_none_that_is_not_filled_in() -> None:
    run = Run(built_in("master-plan"), ".orchestrator/tasks/f")
    run.apply(Command("start", "0a", actor="ada", channel="cli")).report("0a", "requirements_clear")
    (plan,) = (each for each in run.evaluation.suggestion.produce if each.path.endswith("MASTER_PLAN.md"))
    run.write("MASTER_PLAN.md", str(plan.example))
    (said,) = run.messages("artifact-invalid")
    assert said.endswith("plan still holds <what is to be reached, and why> of its form; fill it in")
    assert "is not done" in run.refusal("2", "ok")
    filled = str(plan.example).replace("<feature>", "f").replace("<step>", "one")
    run.write("MASTER_PLAN.md", re.sub("<[^>]*>", "as agreed", filled))
    made = {each.path: str(each.example) for each in run.evaluation.suggestion.produce}
    for path, form in made.items():
        run.write(f"/{path}", form)
    assert len(made) == 2 and "is still a form to fill in" in run.messages("artifact-missing")[0]
    for path, form in made.items():
        run.write(f"/{path}", re.sub("<[^>]*>", "as agreed", form))
    assert "plan" in [question.id for question in run.evaluation.questions]


def test_code_in_a_task_file_is_no_form() -> None:
    task_files = built_in("master-plan").artifacts["task_files"]
    assert "<number>" in task_files.example
    assert not task_files.unfilled_gap("async count(): Promise<number> { return 1 }")


@pytest.mark.parametrize("name", LIBRARY.names)
def test_every_example_that_is_shown_is_a_form_and_is_refused_as_it_is(name: str) -> None:
    code = ("diff", "code")
    for artifact in built_in(name).artifacts.values():
        if artifact.example and artifact.id not in code:
            assert artifact.unfilled_gap(artifact.example)


def test_a_run_that_is_moved_on_while_no_stage_is_open_is_said_to_have_gone_on() -> None:
    findings = plan_run("xx", adoption="ask").override("4c").evaluation.findings
    assert [each.message for each in findings if each.code == "phase-skipped"] == [
        "known issues: the run went on without a pass of 4b, by ada: looked at it"
    ]
