"""How many steps a schema takes, counted without taking them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from phasekeeper.orchestration.formats.json_schema_cost import TooManyStepsError, steps

LEAF: dict[str, Any] = {"type": "string"}


@pytest.mark.parametrize(
    ("schema", "data", "counted"),
    [
        (True, 1, 1),
        ({}, 1, 1),
        ({"allOf": [LEAF, LEAF], "not": LEAF}, 1, 4),
        ({"properties": {"a": LEAF, "b": LEAF}}, {"a": 1, "c": 2}, 2),
        ({"properties": {"a": LEAF}}, [1], 1),
        ({"patternProperties": {"x": LEAF}, "additionalProperties": LEAF}, {"a": 1, "b": 2}, 5),
        ({"additionalProperties": False}, {"a": 1}, 1),
        ({"items": LEAF}, [1, 2, 3], 4),
        ({"items": [LEAF, LEAF]}, [1], 3),
        ({"dependentSchemas": {"a": LEAF}}, {"a": 1}, 2),
        ({"$ref": "#/$defs/a", "$defs": {"a": LEAF}}, 1, 2),
        ({"$ref": "#/allOf/0", "allOf": [LEAF]}, 1, 3),
        ({"$ref": "#/allOf/7", "allOf": [LEAF]}, 1, 3),
        ({"$ref": "#/a~1b", "a/b": {"allOf": [LEAF]}}, 1, 3),
        ({"$ref": "#/no/where"}, 1, 2),
        ({"$ref": "#here", "$defs": {"a": {"$anchor": "here", "allOf": [LEAF]}}}, 1, 3),
        ({"$ref": "other", "$defs": {"a": {"$id": "other", "allOf": [LEAF]}}}, 1, 3),
        ({"$ref": "other#/allOf/0", "$defs": {"a": {"$id": "other", "allOf": [LEAF]}}}, 1, 2),
        ({"$ref": "#"}, 1, 1),
        ({"properties": {"a": {"$ref": "#"}}}, {"a": {"a": {}}}, 5),
    ],
)
def test_each_part_counts_for_each_part_of_the_data_that_it_judges(
    schema: Any, data: object, counted: int
) -> None:
    assert steps(schema, data, 100) == counted


def doubling(levels: int) -> dict[str, Any]:
    twice = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(levels)}
    return {"$ref": "#/$defs/d0", "$defs": {**twice, f"d{levels}": {"type": "object"}}}


def test_references_that_double_the_work_are_counted_in_little_time() -> None:
    assert 2**10 < steps(doubling(10), {}, 10_000) < 2**13
    with pytest.raises(TooManyStepsError):
        steps(doubling(200), {}, 10_000)


def test_a_schema_that_uses_itself_twice_doubles_with_each_level_of_the_data() -> None:
    twice = {"allOf": [{"properties": {"a": {"$ref": "#"}}}, {"properties": {"a": {"$ref": "#"}}}]}
    data: dict[str, Any] = {}
    for _ in range(40):
        data = {"a": data}
    with pytest.raises(TooManyStepsError):
        steps(twice, data, 10_000)


def test_long_data_takes_as_many_steps_as_it_has_items() -> None:
    assert steps({"items": LEAF}, list(map(str, range(500))), 501) == 501
    with pytest.raises(TooManyStepsError):
        steps({"items": LEAF}, list(map(str, range(500))), 400)


_schemas = st.recursive(
    st.sampled_from([True, {"type": "string"}, {"$ref": "#"}, {"$ref": "#/$defs/a"}]),
    lambda inner: (
        st.dictionaries(st.sampled_from(["not", "items", "additionalProperties", "if"]), inner)
        | st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"anyOf": parts})
        | st.dictionaries(st.sampled_from("ab"), inner).map(lambda parts: {"properties": parts})
    ),
    max_leaves=8,
)
_data = st.recursive(
    st.sampled_from(["x", 1]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=6,
)


@given(_schemas, _schemas, _data)
def test_no_schema_and_no_data_raise_anything_else(schema: Any, other: Any, data: object) -> None:
    whole = {"allOf": [schema], "$defs": {"a": other}}
    assert steps(whole, data, 10**6) >= 2
