"""The syntax tree as it is read out of a serialized expression."""

from __future__ import annotations

import pytest
from phasekeeper.orchestration.expressions.cel_tree import Tree, decode, walk
from phasekeeper.orchestration.expressions.context import Language

SPOKEN = Language({"state": "map", "a": "bool", "b": "bool"}, {})


def tree(source: str) -> Tree:
    return SPOKEN.compile(source).tree


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("null", None),
        ("true", True),
        ("false", False),
        ("3", 3),
        ("-3", -3),
        ("-9223372036854775808", -(2**63)),
        ("3u", 3),
        ("2.5", 2.5),
        ("0.0", 0.0),
        ("'zażółć'", "zażółć"),
        ("''", ""),
        ("b'ab'", b"ab"),
    ],
)
def test_a_constant_has_its_value(source: str, value: object):
    node = tree(source)
    assert (node.kind, node.value, type(node.value)) == ("constant", value, type(value))


def test_every_kind_of_node_is_told_apart_with_its_offset():
    node = tree("state.x == 1 && has(state.y) || [a, b].exists(i, {'k': i}.k)")
    kinds = {(part.kind, part.text, part.offset) for part in walk(node)}
    assert {
        ("call", "_||_", 29),
        ("call", "_&&_", 13),
        ("call", "_==_", 8),
        ("select", "x", 5),
        ("name", "state", 0),
        ("select", "y", 19),
        ("list", "", 32),
        ("loop", "i @result", 45),
        ("map", "", 49),
    } <= kinds


def test_a_method_and_has_are_marked():
    assert tree("['x'].newest()").value is True
    assert tree("newest({})").value is False
    assert tree("has(state.x)").value is True
    assert tree("state.x").value is False


def test_offsets_count_code_points():
    node = tree("'🙂ż' == state.x")
    assert [part.offset for part in walk(node) if part.kind == "name"] == [8]


def test_a_checked_expression_is_read_like_a_parsed_one():
    checked = decode(SPOKEN.environment.compile("a && b").serialize())
    parsed = tree("a && b")
    assert [(part.kind, part.text, part.offset) for part in walk(checked)] == [
        (part.kind, part.text, part.offset) for part in walk(parsed)
    ]
