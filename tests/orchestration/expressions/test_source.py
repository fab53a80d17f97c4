"""The text of expressions: names they read, sizes, templates, and what the compiler's words become."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from phasekeeper.orchestration.expressions import language as language_module
from phasekeeper.orchestration.expressions.cel_errors import complaints, reason
from phasekeeper.orchestration.expressions.cel_tree import Tree
from phasekeeper.orchestration.expressions.context import BadExpression, Language
from phasekeeper.orchestration.expressions.source import Read, masked, reads, template_parts
from phasekeeper.orchestration.lint.checks import parse_workflow
from phasekeeper.orchestration.lint.expressions import expressions
from phasekeeper.server.workspace.definitions import built_in_sources


def paths(source: str) -> list[str]:
    return [".".join(read.path) for read in reads(source)]


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
        ("f(a) . b", ["a"]),
        ("a.f(b).c", ["a", "b"]),
        ("'a.b' == \"c\" // d", []),
        ("r'\\' + a + 'it\\'s b'", ["a"]),
        ("'''a'b''' + c", ["c"]),
        ('"""a"b""" + c', ["c"]),
        ("true && !false || null in a", ["a"]),
        ("a.filter(x, x.b == y).map(z, z)", ["a", "y"]),
        (") a.map(x, x + b", ["a", "b"]),
        ("a.exists(a, a.b) && a.c", ["a", "a.c"]),
        ("x && a.all(x, x) && x", ["x", "a", "x"]),
        ("a.all(x, b.all(x, x.y) && x.y)", ["a", "b"]),
        ("a.map(x, x > 1, x.b)", ["a"]),
        ("a.?b.optMap(v, v + w).orValue(1)", ["a.b", "w"]),
        ("a.map(x, x", ["a"]),
        ("1e5 + 0x1F + a1", ["a1"]),
        ("{'k': a, ?'l': b.?c}", ["a", "b.c"]),
    ],
)
def test_the_names_an_expression_reads_are_found_in_its_text(source: str, expected: list[str]):
    assert paths(source) == expected


def test_a_read_knows_where_it_and_each_part_of_it_stand():
    assert reads("  a . b.c") == [Read(("a", "b", "c"), 2, (3, 7, 9))]


def test_blanking_strings_keeps_every_offset():
    source = """a == 'b"c' && r"\\" + "d\\"e" // f"""
    assert len(masked(source)) == len(source)
    assert re.findall(r"\w+", masked(source)) == ["a"]


@pytest.mark.parametrize("name", built_in_sources())
def test_the_names_in_the_text_are_those_of_the_syntax_tree(name: str):
    source = built_in_sources()[name]
    for expression in expressions(parse_workflow(source.text, source.path)):
        assert {read.path for read in expression.reads} == _tree_paths(expression.tree, frozenset()), (
            expression.source
        )


def _tree_paths(node: Tree, bound: frozenset[str]) -> set[tuple[str, ...]]:
    path = _chain(node)
    if path:
        return set() if path[0] in bound or path[0].startswith("@") else {path}
    found: set[tuple[str, ...]] = set()
    inside = bound | set(node.text.split(" ")) if node.kind == "loop" else bound
    for position, child in enumerate(node.children):
        found |= _tree_paths(child, inside if position else bound)
    return found


def _chain(node: Tree) -> tuple[str, ...]:
    if node.kind == "name":
        return (node.text,)
    if node.kind == "select":
        before = _chain(node.children[0])
        return (*before, node.text) if before else ()
    if node.text == "_?._":
        before = _chain(node.children[0])
        return (*before, str(node.children[1].value)) if before else ()
    return ()


# ---- templates --------------------------------------------------------------------------------


def test_a_template_is_cut_into_text_and_expressions_with_their_offsets():
    assert template_parts("a {b} c {'}' + d}") == [("a ", 0), ("b", 3), (" c ", 5), ("'}' + d", 9), ("", 17)]


@pytest.mark.parametrize(
    ("source", "offset", "sign"),
    [("a { b", 2, "{"), ("a } b", 2, "}"), ("{a} }", 4, "}"), ("{}", 0, "{"), ("{{'a': 1}}", 0, "{")],
)
def test_a_single_brace_in_a_template_is_refused_where_it_stands(source: str, offset: int, sign: str):
    with pytest.raises(BadExpression) as told:
        Language({"a": "any"}, {}).template(source)
    assert (offset, f"a single {sign!r}; braces of maps cannot stand inside a template") in told.value.errors


def test_errors_of_a_template_are_placed_in_the_whole_template():
    with pytest.raises(BadExpression) as told:
        Language({"good": "any"}, {}).template("{good} and {goood} and {bad}")
    assert told.value.errors == (
        (12, "unknown name 'goood'; did you mean 'good'?"),
        (24, "unknown name 'bad'"),
    )


# ---- messages ---------------------------------------------------------------------------------

FACTS = {
    "valid.plan": "bool",
    "exists.plan": "bool",
    "limits.rounds.count": "int",
    "parameters.most": "int",
    "phase": "string",
    "ready": "bool",
}
SPOKEN = Language({"state": "map", "plan.done": "int"}, FACTS)


def told(source: str, want: str | None = None) -> list[tuple[int, str]]:
    with pytest.raises(BadExpression) as error:
        SPOKEN.compile(source, want)
    return list(error.value.errors)


@pytest.mark.parametrize(
    ("source", "offset", "message"),
    [
        ("valid.plann", 0, "unknown name 'valid.plann'; did you mean 'valid.plan'?"),
        ("true && vlid.plan", 8, "unknown name 'vlid.plan'; did you mean 'valid.plan'"),
        (
            "1 + limits.rounds.cont",
            4,
            "unknown name 'limits.rounds.cont'; did you mean 'limits.rounds.count'?",
        ),
        ("ready && reday", 9, "unknown name 'reday'; did you mean 'ready'?"),
        ("1 + cuont({})", 4, "unknown name 'cuont'; did you mean 'count'?"),
        ("state.a.wher({'a': 1})", 8, "unknown name 'wher'; did you mean 'where'?"),
        ("plan.done.x", 9, "expression of type 'int' cannot be the operand of a select operation"),
        ("ready == 1", 6, "== does not take (bool, int)"),
        ("ready && 1", 6, "&& does not take (bool, int)"),
        ("-ready", 0, "- does not take (bool)"),
        ("true || tasks('x') == []", 8, "tasks does not take (string)"),
        (
            "ready ? 1 : 'x'",
            6,
            "what stands before and behind the : must have one type, these are int, string",
        ),
        ("ready ==", 7, "the expression ends too early"),
        ("(ready", 5, "the expression ends too early, ')' is missing"),
        ("[1, 2", 4, "the expression ends too early, ']' is missing"),
        ("ready ? 1", 8, "the expression ends too early, ':' is missing"),
        ("", 0, "an expression is expected, this is empty"),
        ("  \n", 0, "an expression is expected, this is empty"),
        ("ready ready", 6, "'ready' is not expected here"),
        ("ready and ready", 6, "'and' is not expected here; write &&"),
        ("not ready", 4, "'ready' is not expected here; write !"),
        ("phase = 'a'", 6, "'=' is not expected here; write =="),
        ("phase == 'a", 9, "the text that starts here has no closing quote"),
        ("state.'a'", 6, "\".'a'\" is not expected here"),
        ("ready\n&& nobody", 9, "unknown name 'nobody'"),
        ("99999999999999999999", 0, "invalid int literal"),
        ("(" * 40 + "1" + ")" * 40, 0, "is nested too deep, at most 32 levels are allowed"),
        ("1" + " + 1" * 400, 0, "is nested too deep, at most 32 levels are allowed"),
        ("x" * 2001, 0, "has 2001 characters, at most 2000 are allowed"),
        ("1 + __fact_int('ready')", 4, "unknown name '__fact_int'"),
        ("__tasks_handle({}) == {}", 0, "unknown name '__tasks_handle'"),
        ("state.?a", 0, "may have no value; end it with .orValue(..)"),
    ],
)
def test_what_is_wrong_with_an_expression_is_told_at_its_character(source: str, offset: int, message: str):
    first = told(source)[0]
    assert first[0] == offset
    assert first[1].startswith(message)


def test_all_type_errors_of_an_expression_are_told_and_nothing_that_follows_from_them():
    assert told("reday && vlid && phase == 1") == [
        (0, "unknown name 'reday'; did you mean 'ready'?"),
        (9, "unknown name 'vlid'"),
        (23, "== does not take (string, int)"),
    ]
    assert told("nobody.all(x, x)") == [(0, "unknown name 'nobody'")]


def test_an_expression_of_another_type_than_its_key_wants_is_refused():
    assert told("phase", "bool") == [(0, "must be true or false, is text")]
    assert told("ready", "int") == [(0, "must be a whole number, is true or false")]
    assert told("1.5", "strings") == [(0, "must be a list of text, is double")]
    assert told("null", "list") == [(0, "must be a list, is null")]
    assert SPOKEN.compile("state.x", "bool").type == "any"
    assert SPOKEN.compile("[1]", "strings").type == "list"
    assert SPOKEN.compile("type(1)").type == "any"


def test_a_report_without_a_place_is_told_at_the_start():
    assert complaints("x", "INVALID_ARGUMENT: something else", ()) == [(0, "something else")]
    assert complaints("x y", "ERROR: <input>:1:3: Syntax error: odd", ()) == [(2, "odd")]
    assert reason("  ") == "no value"
    assert reason("UNKNOWN: KeyError: 'x'") == "'x'"


# ---- values -----------------------------------------------------------------------------------


def test_values_may_use_each_other_in_any_order_and_get_their_types():
    made = Language({"state": "map"}, {})
    sources = {
        "c": "b && a > 1",
        "b": "a == 2",
        "a": "1 + 1",
        "t": "b ? 'x' : 'y'",
        "n": "timestamp('2020-01-01T00:00:00Z')",
        "z": "null",
    }
    assert made.infer(sources) == {}
    assert {name: made.facts[name] for name in sources} == {
        "a": "int", "b": "bool", "c": "bool", "t": "string", "n": "timestamp", "z": "null",
    }  # fmt: skip
    assert list(made.values) == ["a", "n", "z", "b", "c", "t"]


def test_a_wrong_value_is_told_once_and_not_where_it_is_used():
    made = Language({}, {})
    errors = made.infer({"a": "nobody", "b": "a && c", "c": "1 +", "d": "b ? 1 : 2"})
    assert {name: error.errors for name, error in errors.items()} == {
        "a": ((0, "unknown name 'nobody'"),),
        "c": ((2, "the expression ends too early"),),
    }
    assert made.facts == {"a": "any", "c": "any", "b": "bool", "d": "int"}


def test_values_in_a_circle_are_told_with_the_whole_circle():
    made = Language({}, {})
    errors = made.infer({"x": "a", "a": "b", "b": "c + a", "c": "1", "own": "own"})
    assert {name: str(error) for name, error in errors.items()} == {
        "a": "uses itself: a -> b -> a",
        "own": "uses itself: own -> own",
    }


def test_a_trusted_language_compiles_when_an_expression_is_first_used():
    made = Language({"state": "map"}, {"phase": "string"}, trusted=True)
    assert made.infer({"a": "b == 'x'", "b": "phase"}) == {}
    assert made.compile("a").type == "bool"
    assert made.compile("b + 'x'").type == "string"
    with pytest.raises(BadExpression, match="unknown name 'nobody'"):
        _ = made.compile("nobody").type


def test_only_two_modules_know_cel():
    folder = Path(__file__).parents[3] / "orchestration"
    knows = {path.name for path in folder.rglob("*.py") if "cel_expr_python" in path.read_text()}
    assert knows - {"cel_tree.py"} == {"cel_environment.py", "language.py"}


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("a == 'b' && c", 'a == "~" && c'),
        (r"a == 'b\'c' + d", 'a == "~~~~" + d'),
        (r"a == r'b\' + d", 'a == "~~~" + d'),
        ("a == '''b'c''' + d", 'a == "~~~~~~~" + d'),
        ("a == 'b\nc == 'd'", 'a == \'b\nc == "~"'),
        ("a == 'b", "a == 'b"),
        ("a == '''b\n'c' d", "a == '''b\n'c' d"),
        ("a == 'b\\", "a == 'b\\"),
        ("a // 'b", "a      "),
    ],
)
def test_texts_and_comments_are_blanked_and_what_is_never_closed_is_not(source: str, code: str):
    assert masked(source) == code


@pytest.mark.parametrize("sign", ["'\\", "'''a", "r'''a", '"\\', '"""a', "b'", ".all(a,", "(", "{'", "a."])
def test_no_text_of_a_definition_is_looked_through_time_and_again(sign: str):
    """Where it were, this would take minutes."""
    assert len(masked(sign * 100_000)) == 100_000 * len(sign)


def test_a_value_that_is_too_long_is_refused_before_it_is_looked_into(monkeypatch):
    seen: list[int] = []
    monkeypatch.setattr(language_module, "reads", lambda source: seen.append(len(source)) or reads(source))
    found = Language({}, {}).infer({"long": "'\\" * 1_001, "short": "1"})
    assert found["long"].errors == ((0, "has 2002 characters, at most 2000 are allowed"),)
    assert list(found) == ["long"] and max(seen) <= 2_000


def test_a_text_with_expressions_that_is_too_long_is_refused():
    with pytest.raises(BadExpression) as refused:
        Language({}, {}).template("x" * 10_001)
    assert refused.value.errors == ((0, "has 10001 characters, at most 10000 are allowed"),)
    assert Language({}, {}).template("x" * 10_000).source
