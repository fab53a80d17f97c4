"""Tokens, syntax trees, the names that an expression reads, and templates."""

from __future__ import annotations

import pytest
from phasekeeper.orchestration.expressions.syntax import (
    MOST_CHARACTERS,
    InvalidExpression,
    Kind,
    Lexeme,
    parse,
    reads,
    template_parts,
    tokens,
    walk,
)


def paths(source: str) -> list[str]:
    """The dotted paths that an expression reads."""
    return [".".join(read.path) for read in reads(parse(source))]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a", ["a"]),
        ("a.b.c == d", ["a.b.c", "d"]),
        ("a . b\n . c", ["a.b.c"]),
        ("a.?b.?c.orValue(x)", ["a.b.c", "x"]),
        ("a ?b : c", ["a", "b", "c"]),
        ("a[?b]", ["a", "b"]),
        ("f(a).b.c", ["a"]),
        ("a.f(b).c", ["a", "b"]),
        ("'a.b' == \"c\" // d", []),
        ("r'\\' + a + 'it\\'s b'", ["a"]),
        ("'''a'b''' + c", ["c"]),
        ('"""a"b""" + c', ["c"]),
        ("true && !false || null in a", ["a"]),
        ("a.filter(x, x.b == y).map(z, z)", ["a", "y"]),
        ("a.exists(a, a.b) && a.c", ["a", "a.c"]),
        ("x && a.all(x, x) && x", ["x", "a", "x"]),
        ("a.all(x, b.all(x, x.y) && x.y)", ["a", "b"]),
        ("a.map(x, x > 1, x.b)", ["a"]),
        ("a.?b.optMap(v, v + w).orValue(1)", ["a.b", "w"]),
        ("1e5 + 0x1F + a1", ["a1"]),
        ("{'k': a, ?'l': b.?c}", ["a", "b.c"]),
        ("type(a) == list && optional.of(b).hasValue()", ["a", "b"]),
        ("has(a.b) || -c > 1", ["a.b", "c"]),
        ("state.loop.in_", ["state.loop.in_"]),
    ],
)
def test_the_names_an_expression_reads_are_found_in_the_order_of_its_text(source: str, expected: list[str]):
    assert paths(source) == expected


def test_a_read_knows_where_it_stands():
    assert [(read.path, read.offset) for read in reads(parse("  a . b.c + d"))] == [
        (("a", "b", "c"), 2),
        (("d",), 12),
    ]


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("null", None),
        ("true", True),
        ("3", 3),
        ("-3", -3),
        ("-9223372036854775808", -(2**63)),
        ("0x1f", 31),
        ("-0xA", -10),
        ("2.5", 2.5),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("-2.5", -2.5),
        ("'zażółć'", "zażółć"),
        ("''", ""),
        (r"'a\n\t\\\'\"\?\`'", "a\n\t\\'\"?`"),
        (r"'\x41\u017c\U0001F642\101'", "Aż🙂A"),
        (r"r'\n'", "\\n"),
        (r'R"""a"\b"""', 'a"\\b'),
        ("'''a\n'b'''", "a\n'b"),
        ("'a' // b", "a"),
    ],
)
def test_a_literal_has_its_value(source: str, value: object):
    node = parse(source)
    assert (node.kind, node.value, type(node.value)) == (Kind.LITERAL, value, type(value))


def test_every_kind_of_node_has_the_offset_that_messages_point_at():
    node = parse("state.x == 1 && has(state.y) || [a, -b].exists(i, {'k': i}.k[0] ? f() : !i.m())")
    assert {(part.kind.value, part.text, part.at) for part in walk(node)} >= {
        ("logic", "||", 29), ("logic", "&&", 13), ("binary", "==", 8), ("field", "x", 5),
        ("name", "state", 0),
        ("has", "has", 16), ("list", "", 32), ("unary", "-", 36), ("loop", "exists", 40), ("map", "", 50),
        ("item", "", 60), ("choice", "?:", 64),
        ("call", "f", 66), ("unary", "!", 72), ("method", "m", 75),
    }  # fmt: skip


def test_operators_bind_as_in_cel():
    def shape(source: str) -> object:
        node = parse(source)
        return (node.text, *map(_shape, node.children))

    def _shape(node) -> object:
        return (node.text, *map(_shape, node.children)) if node.children else node.text

    assert shape("a || b && c == d + e * -f") == (
        "||", "a", ("&&", "b", ("==", "c", ("+", "d", ("*", "e", ("-", "f")))))
    )  # fmt: skip
    assert shape("a - b - c") == ("-", ("-", "a", "b"), "c")
    assert shape("a && b && c") == ("&&", "a", "b", "c")
    assert shape("a ? b : c ? d : e") == ("?:", "a", "b", ("?:", "c", "d", "e"))
    assert shape("!a.b") == ("!", ("b", "a"))
    assert shape("a < b == c") == ("==", ("<", "a", "b"), "c")


def test_the_tokens_of_a_text_that_is_no_expression_yet_are_known_too():
    assert [(token.kind, token.text) for token in tokens("a.b == 'c @ \"")] == [
        (Lexeme.NAME, "a"), (Lexeme.SIGN, "."), (Lexeme.NAME, "b"), (Lexeme.SIGN, "=="),
        (Lexeme.UNCLOSED, "'c @ \""),
    ]  # fmt: skip
    assert [token.kind for token in tokens("@ 1")] == [Lexeme.UNKNOWN, Lexeme.NUMBER]


@pytest.mark.parametrize("sign", ["'\\", "'''a", "r'''a", '"\\', '"""a', "b'", ".all(a,", "(", "{'", "a."])
def test_no_text_is_looked_through_time_and_again(sign: str):
    """Where it were, this would take minutes."""
    assert sum(1 for _ in tokens(sign * 20_000)) <= 120_000


def test_a_text_that_is_too_long_is_refused_before_it_is_looked_into():
    with pytest.raises(InvalidExpression, match="has 2001 characters, at most 2000 are allowed"):
        parse("'" * (MOST_CHARACTERS + 1))


def test_a_template_is_cut_into_text_and_expressions_with_their_offsets():
    assert template_parts("a {b} c {'}' + d}") == [("a ", 0), ("b", 3), (" c ", 5), ("'}' + d", 9), ("", 17)]
