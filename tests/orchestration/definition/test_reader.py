"""Definitions read by the table of shapes, and the schema made of it."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest
from phasekeeper.orchestration.definition.model import STRUCTS
from phasekeeper.orchestration.definition.reader import (
    DefinitionErrors,
    InvalidWorkflow,
    LocatedText,
    Source,
    merge,
    parse_definition,
)
from phasekeeper.orchestration.definition.schema import json_schema, read
from phasekeeper.orchestration.definition.shapes import TEXTS, Shape, struct
from phasekeeper.orchestration.findings import Span
from phasekeeper.orchestration.formats.yaml_text import read_yaml_data
from phasekeeper.server.workspace.definitions import built_in_sources

from tests.orchestration.definitions import text

VALIDATOR = jsonschema_rs.validator_for(json_schema())


def read_as(shape: Shape, source: str) -> tuple[Any, list[str]]:
    """(the value, messages) of a text read by a shape."""
    errors = DefinitionErrors()
    value = read(parse_definition(Source("d.yaml", source)), shape, errors)
    return value, [finding.message for finding in errors.findings]


def test_every_scalar_is_text_that_knows_its_place():
    value, wrong = read_as(struct("phase"), "title: 'it''s on'\nagent: [yes, 1]\n")
    assert wrong == []
    assert value["title"] == "it's on"
    assert isinstance(value["title"], LocatedText)
    assert value["title"].span(5, 2) == Span(0, 14, 0, 16)
    assert value["title"].node.yaml.span == Span(0, 7, 0, 17)
    assert value["agent"] == ["yes", "1"]


def test_only_typed_keys_have_numbers_and_truth_values():
    value, wrong = read_as(struct("parameter"), "default: 3\nmin: '3'\nmax: 1.5\none_of: [true, no, null]\n")
    assert wrong == []
    assert (value["default"], value["min"], value["max"]) == (3, "3", 1.5)
    assert value["one_of"] == [True, "no", None]
    value, wrong = read_as(struct("artifact"), "kind: json\noptional: True\ndefaults: {a: {b: 1}}\n")
    assert (value["optional"], value["defaults"], wrong) == (True, {"a": {"b": 1}}, [])


def test_one_text_may_stand_for_a_list_of_one():
    assert read_as(TEXTS, "a") == (["a"], [])
    assert read_as(TEXTS, "[a, b]") == (["a", "b"], [])
    assert read_as(TEXTS, "{a: b}") == ([], ["expected text, found a map"])


def test_a_heading_is_a_text_a_list_or_a_map():
    for source, expected in (
        ("Done", "Done"),
        ("[Done, Ready]", ["Done", "Ready"]),
        ("{Done: ok}", {"Done": "ok"}),
    ):
        value, wrong = read_as(struct("report form"), f"heading: {source}\n")
        assert (value["heading"], wrong) == (expected, [])


def test_an_empty_struct_stands_for_its_defaults_unless_it_needs_a_key():
    value, wrong = read_as(struct("action"), "~")
    assert (value, value.node.is_null, wrong) == ({}, True, [])
    assert read_as(struct("limit"), "~") == (None, ["expected a limit (a map), found a scalar"])


def test_several_problems_are_told_in_the_order_of_the_text():
    errors = DefinitionErrors()
    read(parse_definition(Source("d.yaml", "workflow: a\nx: 1\nphases: []\n")), struct("definition"), errors)
    with pytest.raises(InvalidWorkflow) as told:
        errors.check()
    assert [(found.span.line, found.span.column) for found in told.value.findings if found.span] == [
        (0, 0),
        (0, 0),
        (1, 0),
        (2, 8),
    ]
    assert str(told.value) == "d.yaml:1:1: a definition needs 'phase': which phase the run is in"
    DefinitionErrors().check()


def test_a_needed_key_is_missed_at_the_beginning_of_its_map():
    errors = DefinitionErrors()
    read(parse_definition(Source("d.yaml", "limits:\n  l: {max: 1}\n")), struct("definition"), errors)
    (missed,) = [found for found in errors.findings if "limit" in found.message]
    assert (missed.message, missed.span) == ("a limit needs 'count': how often so far", Span(1, 5, 1, 13))


def test_a_merged_map_knows_the_file_of_each_key():
    under = parse_definition(Source("under.yaml", "a: {x: 1, y: 2}\nb: [1]\nc: 1\n"))
    over = parse_definition(Source("over.yaml", "a: {y: 3, z: 4}\nb: [2]\nc: null\nd: ~\n"))
    merged = merge(under, over)
    parts: Any = merged.children
    assert list(parts) == ["a", "b"]
    a = parts["a"]
    assert {name: (a.children[name].text, a.key(name).source.path) for name in a.children} == {
        "x": ("1", "under.yaml"),
        "y": ("3", "over.yaml"),
        "z": ("4", "over.yaml"),
    }
    assert [child.text for child in parts["b"].children] == ["2"]


# ---- the schema -------------------------------------------------------------------------------


def test_every_key_and_struct_says_what_it_is_about():
    assert all(key.about for keys in STRUCTS.values() for key in keys.values())
    assert "any" not in STRUCTS["marker test"]


@pytest.mark.parametrize("name", built_in_sources())
def test_a_built_in_definition_fits_the_schema(name: str):
    assert [
        str(error) for error in VALIDATOR.iter_errors(read_yaml_data(built_in_sources()[name].text).data)
    ] == []


@pytest.mark.parametrize(
    "extra",
    [
        "nots: {}",
        "progress: {done: 1}",
        "actions: {a: {title: [x]}}",
        "questions: {q: {ask: a, kind: other}}",
    ],
)
def test_what_the_reader_refuses_by_its_shape_the_schema_refuses(extra: str):
    assert VALIDATOR.is_valid(read_yaml_data(text()).data)
    assert not VALIDATOR.is_valid(read_yaml_data(text(extra + "\n")).data)
