"""Whoever judges one's own work is named in a note, which holds nothing up."""

from __future__ import annotations

import pytest
from phasekeeper.orchestration.definition.model import Workflow
from phasekeeper.orchestration.updates.commands import Command

from tests.verdicts.runs import Run, built_in, plan_run


def note(run: Run, name: str = "own-verdict") -> str:
    return next((note.text for note in run.evaluation.notes if note.id == name), "")


def test_a_gate_that_its_implementer_passed_is_told() -> None:
    run = plan_run("x ").report("4a", "complete", "02")
    assert not note(run)
    run.report("4b", "pass")
    assert note(run) == "codex reported 4b pass of stage 1 and 4a, which it judges"
    assert run.standing == "active advance 4c" and run.gate("2") == "passed"


def test_neither_another_actor_nor_a_failure_is_told() -> None:
    run = plan_run("x ").report("4a", "complete", "02")
    assert not note(run.copy().report("4b", "fail"))
    assert not note(run.report("4b", "pass", actor="gemini"))


def test_work_of_another_stage_or_after_the_verdict_is_not_told() -> None:
    run = plan_run("x ", "x ")
    run.report("4a", "complete", "02").report("4b", "pass", actor="gemini").report("4c", "ok")
    run.report("4a", "complete", "04", actor="gemini").report("4b", "pass")
    assert not note(run)


def test_a_validation_judges_the_work_of_all_stages() -> None:
    run = plan_run("x ").report("4a", "complete", "02").report("4b", "pass", actor="gemini")
    run.report("4c", "ok").report("5a", "pass")
    assert note(run) == "codex reported 5a pass and 4a, which it judges"


def test_a_report_file_names_nobody() -> None:
    run = plan_run("x ").report("4a", "complete", "02")
    text = run.report_text("4b", "pass")
    assert not note(run.write("reports/gate.md", text)) and run.standing == "active advance 4c"


@pytest.mark.parametrize("name", ["artifact-pipeline", "master-plan", "phase-loop", "skill-tuning"])
def test_each_workflow_says_which_steps_judge_which(name: str) -> None:
    workflow: Workflow = built_in(name)
    steps = {**workflow.phases, **workflow.actions}
    assert any(step.judges for step in steps.values())
    assert all(judged in steps for step in steps.values() for judged in step.judges)


def test_all_that_a_person_answered_since_the_last_report_is_told_the_newest_first() -> None:
    run = plan_run("x ").report("4a", "partial", "02")
    run.apply(Command("raise", message="Which one?"))
    run.write("/x.py", "A").apply(Command("raise", message="And how?"))
    first, second = (question.id for question in run.evaluation.questions)
    run.answer(first, "continue", why="the second one").answer(second, "continue", why="by hand")
    notes = [(each.title, each.text) for each in run.evaluation.notes]
    assert notes[:2] == [
        ("A person answered", "continue: by hand"),
        (f"A person answered, before that, {first}", "continue: the second one"),
    ]


def test_the_advice_of_a_person_is_shown_until_the_next_report() -> None:
    run = plan_run("x ").apply(Command("raise", message="Which of both?"))
    run.answer(run.evaluation.questions[0].id, "continue", why="the second one")
    assert note(run, "advice") == "continue: the second one"
    assert not note(run.report("4a", "partial", "02"), "advice")


def test_the_words_of_a_person_who_answers_or_overrides_are_shown_until_the_next_report() -> None:
    run = plan_run("x ").report("4a", "complete", "02").report("4b", "fail")
    run.override("4c")
    assert note(run, "advice") == "on to 4c: looked at it"
    assert not note(run.report("4c", "ok"), "advice")
