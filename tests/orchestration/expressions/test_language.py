"""What is refused in expressions and templates, with its place; how values get their types."""

from __future__ import annotations

import pytest
from phasekeeper.orchestration.expressions.language import Language
from phasekeeper.orchestration.expressions.syntax import InvalidExpression

# ---- templates --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "offset", "sign"),
    [("a { b", 2, "{"), ("a } b", 2, "}"), ("{a} }", 4, "}"), ("{}", 0, "{"), ("{{'a': 1}}", 0, "{")],
)
def test_a_single_brace_in_a_template_is_refused_where_it_stands(source: str, offset: int, sign: str):
    with pytest.raises(InvalidExpression) as told:
        Language({"a": "any"}, {}).template(source)
    assert (offset, f"a single {sign!r}; braces of maps cannot stand inside a template") in told.value.errors


def test_errors_of_a_template_are_placed_in_the_whole_template():
    with pytest.raises(InvalidExpression) as told:
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


def told(source: str, want: str = "any") -> list[tuple[int, str]]:
    with pytest.raises(InvalidExpression) as error:
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
        ("plan.done.x", 9, "x is asked of a whole number, which has no fields"),
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
        ("state.'a'", 6, "\"'a'\" is not expected here; a name is expected"),
        ("ready\n&& nobody", 9, "unknown name 'nobody'"),
        ("99999999999999999999", 0, "99999999999999999999 has more digits than a whole number can have here"),
        ("(" * 40 + "1" + ")" * 40, 0, "is nested too deep, at most 32 levels are allowed"),
        ("1" + " + 1" * 400, 0, "is nested too deep, at most 32 levels are allowed"),
        ("x" * 2001, 0, "has 2001 characters, at most 2000 are allowed"),
        ("1 + __fact_int('ready')", 4, "unknown name '__fact_int'"),
        ("__tasks_handle({}) == {}", 0, "unknown name '__tasks_handle'"),
        ("state.?a", 0, "may have no value; end it with .orValue(..)"),
        ("[?state.a, ?phase]", 12, "behind the ? an optional value is needed, this is text"),
        ("state.a.orValue(1, 2)", 8, "orValue does not take (any, int, int); write a.?b.orValue(c)"),
        (
            "phase.matches('[a')",
            14,
            "this regular expression cannot be used: missing ]: '[a' (at its character 1)",
        ),
        ("state.l.filter(1)", 8, "filter takes a name and an expression: x.filter(y, ..)"),
        ("state.l.filter(x, 1)", 18, "filter needs true or false for each element, this is a whole number"),
        ("where(state.l)", 0, "'where' is called in another way: x.where(..)"),
        ("state.l.records()", 8, "'records' is called in another way: records(x)"),
        ("state.l.map(x, y, z, x)", 8, "map takes one name and an expression; CEL has more"),
        ("phase.format([1])", 6, "format: CEL has it, the guard language has not"),
        ("phase == b'a'", 9, "b'a': CEL has bytes, the guard language has not"),
        ("3u > 1", 0, "3u: CEL has unsigned numbers, the guard language has not"),
        ("'\\q'", 1, "\\q is no escape; a backslash is written \\\\"),
        ("'a\\ud800'", 2, "\\ud800 is no escape"),
        ("loop == 1", 0, "'loop' is a word of the language and no name"),
        ("!" * 40 + "ready", 0, "is nested too deep, at most 32 levels are allowed"),
        ("has(phase)", 0, "has takes a field, as in has(a.b)"),
        ("{1: 2} == state", 1, "a key of a map is text, this is a whole number"),
        ("phase ? 1 : 2", 6, "what stands before the ? must be true or false, this is text"),
        ("ready.map(x, x)", 6, "map does not take (bool)"),
        ("phase[0]", 5, "[ ] does not take (string, int)"),
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


def test_each_part_of_an_expression_is_checked_and_compiled_once_however_deep_it_lies(monkeypatch):
    asked: list[str] = []
    language = Language({"state": "map"}, {})
    named = Language.name_in
    monkeypatch.setattr(Language, "name_in", lambda self, path: asked.append(path[0]) or named(self, path))
    with pytest.raises(InvalidExpression):
        language.compile("[?" * 30 + "state" + "]" * 30)
    assert asked == ["state"]
    asked.clear()
    deep = language.compile("state" + ".?a.orValue({})" * 15)
    assert deep.program and asked == ["state"] * 2


def test_an_expression_of_another_type_than_its_key_wants_is_refused():
    assert told("phase", "bool") == [(0, "must be true or false, is text")]
    assert told("ready", "int") == [(0, "must be a whole number, is true or false")]
    assert told("1.5", "strings") == [(0, "must be a list of text, is a number with a fraction")]
    assert told("null", "list") == [(0, "must be a list, is null")]
    assert SPOKEN.compile("state.x", "bool").type == "any"
    assert SPOKEN.compile("[1]", "strings").type == "list"
    assert SPOKEN.compile("type(1)").type == "type"


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
    with pytest.raises(InvalidExpression, match="unknown name 'nobody'"):
        _ = made.compile("nobody").type


def test_a_value_that_is_too_long_is_refused():
    found = Language({}, {}).infer({"long": "a" * 2_001, "short": "1"})
    assert found["long"].errors == ((0, "has 2001 characters, at most 2000 are allowed"),)
    assert list(found) == ["long"]


def test_a_text_with_expressions_that_is_too_long_is_refused():
    with pytest.raises(InvalidExpression) as refused:
        Language({}, {}).template("x" * 10_001)
    assert refused.value.errors == ((0, "has 10001 characters, at most 10000 are allowed"),)
    assert Language({}, {}).template("x" * 10_000).source
