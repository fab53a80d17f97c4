"""The words of next steps and of states, which all surfaces show."""

from __future__ import annotations

from typing import Any

import pytest
from phasekeeper.orchestration.result.phrases import (
    in_sentence,
    status_phrase,
    step_phrase,
    tells_size_alone,
    value_summary,
)
from phasekeeper.orchestration.result.values import Suggestion, as_json
from phasekeeper.orchestration.states import RunStatus, SuggestionKind

from tests.golden import CASES, cases_in, steps_of

KIND = SuggestionKind


@pytest.mark.parametrize(
    ("kind", "more", "phrase"),
    [
        (KIND.ADVANCE, {}, "Go on to review"),
        (KIND.REGRESS, {}, "Go back to review"),
        (KIND.STAY, {}, "Do review"),
        (KIND.ACT, {"action": "review"}, "Do review"),
        (KIND.ADVANCE, {"action": "F1"}, "Do F1, then go on to review"),
        (KIND.WAIT, {}, "Wait"),
        (KIND.WAIT, {"waiting_for": "person: approve the plan"}, "Wait for a person"),
        (KIND.WAIT, {"waiting_for": "job: two sessions run"}, "Wait for a job"),
        (KIND.ESCALATE, {"waiting_for": "person: approve the plan"}, "A person decides"),
        (KIND.STOP, {}, "Nothing is left to do"),
        (KIND.NONE, {}, "Fix the run first"),
    ],
)
def test_a_step_is_a_short_imperative(kind: SuggestionKind, more: dict[str, Any], phrase: str):
    assert step_phrase(kind, "review", **more) == phrase
    assert Suggestion(kind, "review", **more).phrase == phrase


def test_a_phrase_in_a_sentence_begins_small_and_keeps_names():
    assert in_sentence("Go on to F2") == "go on to F2"
    assert in_sentence("") == ""


@pytest.mark.parametrize("status", RunStatus)
def test_every_status_is_said(status: RunStatus):
    assert status_phrase(status) == {
        "waiting": "waits for a job",
        "waiting_human": "waits for a person",
    }.get(status, status.value)


def test_the_json_of_a_suggestion_has_its_phrase():
    case = cases_in(next(iter(sorted((CASES / "artifact-pipeline").glob("*.txt")))))[0]
    evaluation = steps_of(case).evaluation
    data = as_json(evaluation)["suggestion"]
    assert data["phrase"] == evaluation.suggestion.phrase
    assert list(data)[:2] == ["kind", "phrase"]
    assert type(data["kind"]) is str


@pytest.mark.parametrize(
    ("value", "summary", "is_size"),
    [
        ({"lint": {}, "tests": {}}, "2 keys", True),
        ([{"iteration": 1}, {"iteration": 2, "result": ""}], ("1 key", "2 keys"), True),
        ([{"iteration": 1, "phase": "execute"}], ("execute",), False),
        ([{"id": "WQ-1"}, {"iteration": 1}], ("WQ-1", "1 key"), False),
        (["lint"], ("lint",), False),
        ([], (), False),
        ("text", "text", False),
    ],
)
def test_a_map_is_told_by_its_name_else_by_its_size_alone(value, summary, is_size):
    assert value_summary(value) == summary
    assert tells_size_alone(value) is is_size
