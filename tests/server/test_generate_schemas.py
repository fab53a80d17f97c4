"""The committed schemas are those of the code, and what the engine says fits them."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from phasekeeper.orchestration.result.json_schema import evaluation_schema
from phasekeeper.orchestration.result.values import as_json
from phasekeeper.server.generate_schemas import FOLDER, main, schemas

from tests.golden import CASES, cases_in, steps_of

VALIDATOR = jsonschema_rs.validator_for(evaluation_schema())
# The first two stories of every file meet all parts of an answer.
STORIES = [
    case
    for folder in sorted(path for path in CASES.iterdir() if path.is_dir())
    for path in sorted(folder.glob("*.txt"))
    for case in cases_in(path)[:2]
]


@pytest.mark.parametrize("name", schemas())
def test_the_committed_schema_is_the_generated_one(name: str):
    assert (FOLDER / name).read_text(encoding="utf-8") == schemas()[name], (
        "write it again: python -m phasekeeper.server.generate_schemas"
    )


def test_the_generator_writes_every_schema(tmp_path: Path):
    main(tmp_path)
    assert {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()} == schemas()


@pytest.mark.parametrize("text", schemas().values(), ids=list(schemas()))
def test_a_schema_is_one(text: str):
    assert jsonschema_rs.meta.is_valid(json.loads(text))


@pytest.mark.parametrize("story", STORIES, ids=str)
def test_the_evaluation_of_a_story_fits_the_schema(story):
    data = json.loads(json.dumps(as_json(steps_of(story).evaluation)))
    assert [f"{error.instance_path}: {error.message}" for error in VALIDATOR.iter_errors(data)] == []


def _example() -> dict[str, Any]:
    return json.loads(json.dumps(as_json(steps_of(STORIES[0]).evaluation)))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["status"], "done"),
        (["suggestion", "kind"], "go"),
        (["phases", 0, "state"], "open"),
        (["gates", 0, "status"], "shut"),
        (["revision"], None),
        (["more"], 1),
    ],
)
def test_a_word_or_a_key_that_nobody_knows_does_not_fit(path: list, value: object):
    data = _example()
    assert VALIDATOR.is_valid(data)
    changed: Any = copy.deepcopy(data)
    inside = changed
    for step in path[:-1]:
        inside = inside[step]
    inside[path[-1]] = value
    assert not VALIDATOR.is_valid(changed)
    if path[-1] in data:
        del changed[path[-1]]
        assert not VALIDATOR.is_valid(changed)
