"""The JSON Schema of an evaluation."""

from __future__ import annotations

import json
from enum import StrEnum

import jsonschema_rs
import pytest
from phasekeeper.orchestration.result.json_schema import evaluation_schema
from phasekeeper.orchestration.result.values import as_json
from phasekeeper.orchestration.states import (
    ArtifactStatus,
    GateStatus,
    PhaseStatus,
    QuestionKind,
    RunStatus,
    SuggestionKind,
    TaskStatus,
)

from tests.golden import CASES, cases_in, steps_of


def test_the_first_story_of_every_workflow_fits_the_schema():
    validator = jsonschema_rs.validator_for(evaluation_schema())
    for folder in (path for path in CASES.iterdir() if path.is_dir()):
        story = cases_in(sorted(folder.glob("*.txt"))[0])[0]
        validator.validate(json.loads(json.dumps(as_json(steps_of(story).evaluation))))


@pytest.mark.parametrize(
    ("definition", "field", "words"),
    [
        ("evaluation", "status", RunStatus),
        ("suggestion", "kind", SuggestionKind),
        ("phase", "state", PhaseStatus),
        ("deliverable", "state", ArtifactStatus),
        ("gate", "status", GateStatus),
        ("question", "kind", QuestionKind),
        ("task", "state", TaskStatus),
    ],
)
def test_the_words_of_a_closed_field_are_those_of_its_enumeration(
    definition: str, field: str, words: type[StrEnum]
):
    properties = evaluation_schema()["$defs"][definition]["properties"]
    assert properties[field] == {"enum": [word.value for word in words]}
