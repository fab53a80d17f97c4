"""What an edit of a state loosens counts once a person or a commit says so; until then what was holds."""

from __future__ import annotations

import json

from tests.verdicts.runs import Run, built_in

LOOP = "loop.state.json"
SEVERE = {"id": "WQ-1", "priority": "S0", "title": "x", "status": "pending"}


def loop(**state: object) -> Run:
    """A loop in its phase execute with a severe item, which a person is asked about."""
    run = Run(built_in("phase-loop"), ".claude/state")
    gates = {"lint": {"status": "pending"}}
    base = {"version": "2.0", "sessionId": "s", "iteration": 1, "phase": "assess"}
    return run.write(LOOP, {**base, "workQueue": [SEVERE], "gates": gates, **state})


def asked(run: Run) -> list[str]:
    return [question.id.partition(":")[0] for question in run.evaluation.questions]


def edit(run: Run, **state: object) -> Run:
    return run.write(LOOP, {**json.loads(run.files[f"{run.at}/{LOOP}"]), **state})


def test_a_severity_lowered_in_place_takes_no_question_away() -> None:
    run = edit(loop().commit(), workQueue=[{**SEVERE, "priority": "S2"}])
    assert asked(run) == ["severe", "state"]
    [said] = run.messages("state-loosened")
    assert said.endswith(
        "workQueue[WQ-1].priority was S0, now it is S2; that counts once a person accepts or commits it"
    )
    assert asked(run.copy().commit()) == []
    assert asked(run.answer("state", "accept")) == []
    assert "state-loosened" not in run.codes()
