"""An escalation stops its run; a form says nothing good by itself; files that are there are revised."""

from __future__ import annotations

import json

import pytest
from phasekeeper.orchestration.updates.commands import Command

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
    assert (there.path[-16:], there.revise, there.example) == ("planning.ai.json", True, None)


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
