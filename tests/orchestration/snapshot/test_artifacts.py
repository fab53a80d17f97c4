"""What must be in an artifact: a long file, a schema at work, a schema once compiled."""

from __future__ import annotations

import json

import pytest
from phasekeeper.orchestration.definition.inputs import Artifact
from phasekeeper.orchestration.snapshot.artifacts import (
    MOST_ERRORS,
    MOST_FOR_ALL_ERRORS,
    SMALL_PLAN,
    read_artifact,
)
from phasekeeper.orchestration.snapshot.read_log import ArtifactState, RunReader
from phasekeeper.orchestration.vfs.overlay import MemoryFiles
from phasekeeper.orchestration.vfs.places import RunPlace

SCHEMA = {"properties": {"lines": {"items": {"type": "string"}}}}


def read(
    data: object, schema: object = SCHEMA, path: str = "s.json", **more: str
) -> tuple[ArtifactState, RunReader]:
    reader = RunReader(MemoryFiles({"t/a.json": json.dumps(data), "s.json": json.dumps(schema), **more}))
    declared = Artifact(id="a", kind="json", paths=("a.json",), schema=path)
    return read_artifact(declared, RunPlace("t"), reader), reader


def test_of_many_errors_the_first_are_told() -> None:
    held, reader = read({"lines": list(range(100))})
    assert held.state == "invalid"
    assert len(reader.findings) == MOST_ERRORS
    assert reader.findings[0].message == 'a: 0 is not of type "string"'


def test_of_a_long_file_one_error_is_told() -> None:
    long = ["x" * 100] * (MOST_FOR_ALL_ERRORS // 100)
    assert read({"lines": long})[0].state == "valid"
    held, reader = read({"lines": [*long, 1, 2]})
    assert held.state == "invalid"
    assert [found.message for found in reader.findings] == ['a: 1 is not of type "string"']


def test_an_error_that_quotes_a_whole_file_is_cut_short() -> None:
    _, reader = read({"lines": ["x" * 1000] * 5}, {"type": "string"})
    assert [len(found.message) < 250 for found in reader.findings] == [True]
    assert reader.findings[0].message.endswith("…")


@pytest.mark.parametrize("path", ["/s.json", "./s.json", "x/../s.json"])
def test_a_schema_is_looked_for_from_the_root(path: str) -> None:
    assert read({"lines": []}, path=path)[0].state == "valid"


def test_a_schema_outside_the_root_is_not_read() -> None:
    held, reader = read({"lines": []}, path="../s.json")
    assert held.state == "invalid"
    assert reader.findings[0].message == "a: its schema ../s.json could not be read"


def test_a_schema_is_compiled_once_for_each_pair_of_contents() -> None:
    held, reader = read({"lines": [1]})
    declared = Artifact(id="a", kind="json", paths=("a.json",), schema="s.json")
    again = read_artifact(declared, RunPlace("t"), reader)
    assert again == held
    assert len([key for key in reader.parsed if key[0].startswith("schema")]) == 1


def test_a_reference_of_a_schema_to_itself_is_followed() -> None:
    tree = {
        "$ref": "#/$defs/tree",
        "$defs": {"tree": {"required": ["n"], "properties": {"sub": {"$ref": "#/$defs/tree"}}}},
    }
    assert read({"n": 1, "sub": {"n": 2}}, tree)[0].state == "valid"
    assert read({"n": 1, "sub": {}}, tree)[0].state == "invalid"


def test_a_schema_whose_references_double_is_refused_before_it_takes_seconds() -> None:
    twice = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
    held, reader = read({"a": 1}, {"$ref": "#/$defs/d0", "$defs": {**twice, "d40": {"type": "object"}}})
    assert held.state == "invalid"
    said = "a: its schema s.json takes more than 100000 steps; let fewer of its parts repeat"
    assert [found.message for found in reader.findings] == [said]


def test_a_chain_of_references_too_long_to_follow_is_refused() -> None:
    chain = {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(5_000)}
    held, reader = read({"a": 1}, {"$ref": "#/$defs/d0", "$defs": {**chain, "d5000": {"type": "object"}}})
    assert (held.state, "takes more than" in reader.findings[0].message) == ("invalid", True)


def test_of_a_schema_with_many_steps_one_error_is_told() -> None:
    twice = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(13)}
    held, reader = read({"a": 1}, {"$ref": "#/$defs/d0", "$defs": {**twice, "d13": {"type": "string"}}})
    assert (held.state, len(reader.findings)) == ("invalid", 1)


def wanted(schema: object, data: object) -> list[tuple[object, ...]]:
    """(path, want) of each finding that says what a value may be."""
    _, reader = read(data, schema)
    return [(found.data["path"], found.data["want"]) for found in reader.findings if found.data]


def test_a_finding_says_the_words_or_the_type_that_a_schema_asks_for() -> None:
    parts = {
        "a": {"enum": ["x", "y"]},
        "b": {"type": "boolean"},
        "c": {"enum": [1, "x"]},
        "d": True,
        "e": {"type": ["string", "null"]},
    }
    found = wanted({"required": [*parts, "f"], "properties": parts}, {})
    assert found == [(("a",), ("x", "y")), (("b",), "bool"), *(((name,), "any") for name in "cdef")]


def test_values_deep_in_the_data_have_their_whole_paths() -> None:
    part = {"required": ["z"], "properties": {"z": {"type": "string"}}}
    schema = {
        "properties": {"o": {"allOf": [True, part]}, "l": {"items": {"$ref": "#/$defs/w"}}},
        "$defs": {"w": {"enum": ["p", "q"]}},
    }
    assert wanted(schema, {"o": {}, "l": ["p", "r"]}) == [(("o", "z"), "string"), (("l", 1), ("p", "q"))]


@pytest.mark.parametrize(
    ("schema", "data"),
    [
        ({"properties": {"a": {"enum": [1, 2]}}}, {"a": 3}),
        ({"properties": {"a": {"type": "string"}}}, {"a": 3}),
        ({"required": 7}, {}),
    ],
)
def test_a_schema_that_says_no_words_or_cannot_be_used_wants_nothing(schema: object, data: object) -> None:
    held, reader = read(data, schema)
    assert held.state == "invalid"
    assert [found.data for found in reader.findings] == [{}]


@pytest.mark.parametrize(("tasks", "is_kept"), [(SMALL_PLAN, False), (SMALL_PLAN + 1, True)])
def test_only_of_a_large_plan_it_is_kept_what_it_is_read_again_by(tasks: int, is_kept: bool) -> None:
    rows = "\n".join(f"| t-{number} | t-{number}.md | [ ] |" for number in range(tasks))
    text = f"# Shop\n\n## Phase 1: Cart\n\n| Task ID | File | Status |\n|---|---|---|\n{rows}\n"
    reader = RunReader(MemoryFiles({"t/MASTER_PLAN.md": text}))
    held = read_artifact(
        Artifact(id="p", kind="master-plan", paths=("MASTER_PLAN.md",)), RunPlace("t"), reader
    )
    assert len(held.data.tasks) == tasks
    assert bool(held.data.memory) is is_kept


def test_a_missing_file_has_the_path_that_the_files_have() -> None:
    files = MemoryFiles({})
    reader = RunReader(files)
    held = read_artifact(Artifact(id="a", kind="json", paths=("a.json",)), RunPlace("t"), reader)
    assert (held.state, held.path) == ("missing", "t/a.json")
    assert held.path is reader.read("t/a.json").path
