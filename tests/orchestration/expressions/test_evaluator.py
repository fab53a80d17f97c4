"""What expressions come to: the same as with CEL itself."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from phasekeeper.orchestration.expressions.context import Context, Outcome, UnknownFact
from phasekeeper.orchestration.expressions.language import Language
from phasekeeper.orchestration.expressions.queries import Index, Tasks
from phasekeeper.orchestration.expressions.syntax import InvalidExpression
from phasekeeper.orchestration.journal.journal import EMPTY_RECORD, record

from tests.orchestration.expressions.agreement import agree, by_cel, disagreements, has_optional

KINDS = {
    "yes": "bool", "no": "bool", "word": "string", "number": "int", "any": "any", "items": "list",
    "fields": "map", "lost": "bool", "limits.a.count": "int", "gone": "string",
}  # fmt: skip
FACTS: dict[str, object] = {
    "yes": True, "no": False, "word": "pass", "number": 3, "any": "x", "limits.a.count": 2,
    "items": ["a", "b", "pass"], "fields": {"a": "x", "b": {"c": 1}, "list": [1, "a"], "none": {}},
}  # fmt: skip
VALUES = {
    "open": "tasks({'done': false})",
    "either": "yes ? open : tasks({'stage': '2'})",
    "mixed": "yes ? open : []",
    "many": "records({})",
}
STATE: dict[str, Any] = {
    "status": "active", "round": 2, "ratio": 1.5, "flag": True, "empty": "",
    "list": [{"id": "1", "needs": ["2"], "n": 1}, {"id": "2", "n": 2}], "map": {"k": {"v": "x"}},
    "big": 2**62, "names": ["B-1", "c"], "Ä": "Ä",
}  # fmt: skip
RECORDS = [record(kind="report", phase="4a", outcome="pass"), record(kind="start", phase="4b", task="1")]
TASKS = [
    {"id": "1", "stage": "1", "done": True},
    {"id": "2", "stage": "1", "done": False},
    {"id": "3", "stage": "2", "done": False},
]
STAGES = [
    {"id": "1", "done": 1, "total": 2, "complete": False},
    {"id": "2", "done": 0, "total": 1, "complete": False},
]


def language() -> Language:
    made = Language({"state": "map", "plan.done": "int", "unbound": "map"}, KINDS)
    assert made.infer(VALUES) == {}
    return made


SPOKEN = language()


def context(facts: dict[str, object] | None = None, **variables: object) -> Context:
    known = FACTS | (facts or {})

    def resolve(name: str) -> object:
        if name in known:
            return known[name]
        if name not in SPOKEN.values:
            raise UnknownFact(f"nobody knows {name}")
        outcome = made.value(SPOKEN.values[name])
        if outcome.error is not None:
            raise UnknownFact(outcome.error)
        return outcome.value

    bound = {"state": STATE, "plan.done": 4} | variables
    made = Context(SPOKEN, bound, resolve, Index(RECORDS, EMPTY_RECORD), Tasks(Index(TASKS), STAGES))
    return made


PLAIN = [
    "yes", "!yes", "lost", "!lost", "gone == 'x'", "number", "word == 'pass'", "word != \"fail\"",
    " word != '' ", "yes && !no", "no || yes", "no && lost", "yes || lost", "yes ? 1 : 2",
    "no ? 'a' : yes ? 'b' : 'c'", "number == 3", "number > 2 && number >= 3 && number < 4 && number <= 3",
    "'a' < 'b'", "number * 2 + 1 - 4", "word + '!'", "items + ['c']", "word in items", "'a' in fields",
    "'zz' in fields", "items == []", "items != []", "[] != items", "items.size() == 3", "size(word)",
    "fields.size()", "fields.b.c", "fields.a == 'x'", "limits.a.count >= number", "plan.done > 0",
    "state.status == 'active'", "state.map.k.v", "state.map['k'].v", "items[0]", "items[number - 1]",
    "state.list[1].id", "has(state.status)", "has(state.none)", "has(fields.a)", "!has(state.map.k.w)",
    "state.?status.orValue('x')", "state.?none.orValue('x')", "state.?map.?k.?v.orValue('y')",
    "state.?none.?k.orValue(word)", "state.?map.k.hasValue()", "state.?nothing.hasValue()",
    "state.list.filter(t, t.n > 1).map(t, t.id)", "state.list.all(t, has(t.id))",
    "state.list.exists(t, t.id == '2')", "state.list.map(t, t.?needs.orValue([]))",
    "items.filter(i, i in state.names || i == word)", "items.reversed()", "items.newest()",
    "items.joined(', ')", "items.minus(['a'])", "items.as_keys({'a': 1})", "items.flatten()", "items.keep(2)",
    "items.where('a')",
    "state.list.by('id').newest().n", "state.list.where({'id': '1'})", "state.list.after({'id': '1'})",
    "state.list.circles('id', 'needs')", "word.split('a')", "'a.b'.split('.').newest()",
    "word.startsWith('pa')", "word.endsWith('ss')", "word.contains('as')",
    "state.names.map(n, n.lowerAscii().replace('-', '_'))", "string(number) + string(word)",
    "type(state.list) == list", "type(state.map) != map", "type(word) == string",
    "type(number) == int && type(yes) == bool", "count({'kind': 'report'})",
    "count({'kind': ['report', 'start']}) == 2", "count_since({'kind': 'report'}, {'kind': 'start'})",
    "newest({'kind': 'report'}).phase", "newest({'kind': 'none'}).phase == ''",
    "records({'kind': 'report'}).newest().outcome", "many", "records_since({'kind': 'report'}, {})",
    "verdicts({'kind': 'report'}, [])", "stage_ids({'complete': false})", "open_stage([], ['1']).id",
    "tasks({'done': false}).map(t, t.id)", "tasks({'done': false}) == []",
    "tasks({'stage': '1'}).size() > 1", "size(unreported({}, {'kind': 'start'}))", "open == []",
    "open.size()", "open.map(t, t.id)", "either != []", "mixed.map(t, t.id)",
    "unreported_since({'kind': 'start'}, {}, {}).size()", "true", "false || yes", "(yes)",
    "((number) + 1) * 2", "{'a': word, 'b': [number]}", "items == [] || no",
    "state.list.map(t, t.?needs.orValue([]).map(n, n))", "items.map(i, items.filter(j, j != i))",
    "items.filter(i, state.names.exists(i, i == 'c') && i == 'a')", "items.map(i, items.map(i, i)) == []",
    "state.list.filter(t, t.?needs.orValue([]).exists(n, !(n in items)))", "word.matches('^p[a-z]*$')",
    "word.matches('as')", "items.filter(i, i.matches('^[ab]$'))", "state.none", "state.map.k.none.at.all",
    "unbound", "unbound.a",
    "optional.of(word).orValue('x')", "optional.none().orValue('x')",
    "optional.of(1).or(optional.of(2)).orValue(3)",
    "optional.none().or(optional.of(2)).orValue(3)", "optional.of(word).value()",
    "state.?round.optMap(n, n + 1).orValue(0)", "state.?none.optMap(n, n + 1).orValue(0)",
    "state.?map.optFlatMap(m, m.?k).hasValue()", "state.?map.optFlatMap(m, m.?none).hasValue()",
    "state.?list[0].id.orValue('')", "any[?0].orValue('y')", "word.split('s', 0)", "word.split('s', 2)",
    "word.substring(1, 3)", "word.charAt(1)", "word.charAt(4)", "word.lastIndexOf('s')",
    "word.lastIndexOf('s', 2)", "['a', 'b'].join('-')", "int(state.ratio)", "int('12')",
    "int(timestamp('1969-12-31T23:59:58Z'))", "int('-3')", "state.ratio / 2.0",
    "state.ratio / 0.0", "-1.5 / 0.0", "0.0 / 0.0 == 0.0", "state.list[dyn(0)].id",
]  # fmt: skip


@pytest.mark.parametrize("source", PLAIN)
def test_an_expression_comes_to_what_cel_says(source: str) -> None:
    made = context()
    made.value(SPOKEN.compile(source))
    assert disagreements(made) == []


@pytest.mark.parametrize(
    "source",
    [
        "any == 'x'", "any == 1", "any && yes", "!any", "any in ['x']", "any in [1]", "any in any",
        "any < 2", "any < 'b'", "any + 1", "any + 'x'", "any.a", "any.a.b", "has(any.a)", "any.size()",
        "size(any)", "any[0]", "any['a']", "any.?a.orValue(1)", "any ? 1 : 2", "any.filter(i, i)",
        "any.all(i, i == 'x')", "any.map(i, i.a)", "any.exists(i, i)", "any.split('.')", "'a'.split(any)",
        "any.startsWith('x')", "any.contains('')", "any.lowerAscii()", "any.replace('x', 'y')",
        "any.replace('', 'y')", "string(any)", "type(any) == map", "any == []", "any != []", "any.newest()",
        "any.joined(',')", "any.by('a')", "any.minus(['x'])", "any.keep(1)", "any.where('x')",
        "any.where({'a': 1})", "count(any)", "newest(any).phase", "items.where(any)", "any * 2",
        "yes && any", "yes || any", "no || any", "any || yes", "any && no", "no && any", "{'a': any}",
        "[any]", "any.matches('^[a-z0-9]*$')", "any.matches('x?$')", "any.a.b.c",

    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "value",
    [
        True, False, 0, 1, 2**62, 2**63 - 1, 1.0, 2.5, "", "x", "1", "Äx", [], ["x"], [1], [True], [1.0],
        [{"a": 1}],
        {}, {"a": 1}, {"a": {"b": "x"}}, {"x": True}, [[]], {"a": []}, -1,
    ],
    ids=repr,
)  # fmt: skip
def test_values_of_every_kind_are_told_as_cel_tells_them(source: str, value: object) -> None:
    made = context({"any": value})
    made.value(SPOKEN.compile(source))
    assert disagreements(made) == []


def test_a_fact_without_a_value_says_why() -> None:
    made = context()
    for source in ("lost", "!lost", "gone == 'x'"):
        name = source.strip("!").split(" ", 1)[0]
        assert made.value(SPOKEN.compile(source)) == Outcome(None, f"{name}: nobody knows {name}")


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("a$", "a\n"),
        ("^a", "b\na"),
        ("[a-z]+$", "Ä"),
        ("x", "y" * 1000 + "x"),
        ("", ""),
        ("$", "a"),
        ("^", ""),
    ],
)
def test_patterns_mean_what_they_mean_to_cel(pattern: str, text: str) -> None:
    made = context({"any": text})
    expression = SPOKEN.compile(f"any.matches('{pattern}')")
    assert made.value(expression).error is None
    assert agree(made.value(expression), by_cel(made, expression))


def test_a_missing_value_that_another_makes_up_for_is_no_error() -> None:
    made = context()
    for source in ("state.none || yes", "state.none == 1 || yes", "[state.none].size() == 1 || yes"):
        assert made.value(SPOKEN.compile(source)) == Outcome(True)


# ---- expressions of every shape ---------------------------------------------------------------

LEAVES = st.sampled_from([
    "yes", "no", "word", "number", "any", "items", "fields", "lost", "state.status", "state.round",
    "state.ratio", "state.flag", "state.list", "state.map", "state.none", "'x'", "''", "0", "1", "true",
    "[]", "['a', 'x']", "open", "unbound.a", "limits.a.count", "fields.b", "state.?none.orValue('x')",
    "newest({'kind': 'start'})", "-1", "2.5", "-0.5", "9223372036854775807", "'1'", "'Ab ż'", "state.?map",
    "optional.of(word)", "optional.none()", "{'a': 1, 'b': 'x'}", "{?'k': state.?none, 'l': any}",
    "[?state.?map.?k, any]", "timestamp('2026-01-31T12:00:00Z')", "null",  "dyn(number)",
])  # fmt: skip
SIGNS = st.sampled_from(["==", "!=", "&&", "||", "in", "<", ">=", "<=", ">", "+", "-", "*", "/", "%"])
BEHIND = st.sampled_from([
    ".size()", ".newest()", ".a", ".?b.orValue(1)", "[0]", "['a']", ".reversed()", ".filter(i, i == 'x')",
    ".map(i, i)", ".exists(i, i == word)", ".all(i, has(i.id))", ".where('x')", ".split('s')", ".hasValue()",
    ".value()", ".orValue(any)", ".optMap(i, i + 'x')", ".optFlatMap(i, state.?map)", ".or(state.?round)",
    ".exists_one(i, i == 'x')", ".map(i, i != 'x', i)", "[?'a']", "[?1].orValue(0)", ".trim()", ".charAt(1)",
    ".contains('a')", ".startsWith(word)", ".matches('^[a-z]+$')", ".lowerAscii()", ".upperAscii()",
    ".replace('a', 'bb')", ".replace('', '-', 2)", ".substring(1)", ".substring(0, 2)", ".indexOf('a')",
    ".lastIndexOf('a')", ".split('', 2)", ".a.b", ".?a.b", ".filter(i, number / i > 1)",
])  # fmt: skip
AROUND = st.sampled_from([
    "!({})", "-({})", "size({})", "string({})", "int({})", "double({})", "type({}) == list", "[{}]",
    "has(({}).a)", "type({}) == string", "{{'k': {}}}", "optional.of({})", "dyn({})", "timestamp({})",
])  # fmt: skip


# CEL's checker knows the types of elements and refuses more; its binding cannot hand moments to functions.
TOLERATED = re.compile("INVALID_ARGUMENT: ERROR|Non-CEL value type")


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Expressions made of smaller ones."""
    return st.one_of(
        st.tuples(inner, SIGNS, inner).map(lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"),
        st.tuples(inner, SIGNS, inner).map(lambda parts: f"{parts[0]} {parts[1]} {parts[2]}"),
        st.tuples(inner, BEHIND).map(lambda parts: f"({parts[0]}){parts[1]}"),
        st.tuples(inner, BEHIND).map(lambda parts: f"({parts[0]}){parts[1]}"),
        st.tuples(inner, inner, inner).map(lambda parts: f"({parts[0]} ? {parts[1]} : {parts[2]})"),
        st.tuples(AROUND, inner).map(lambda parts: parts[0].format(parts[1])),
    )


@settings(
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
    deadline=None, derandomize=True, max_examples=1500,
)  # fmt: skip
@given(
    st.recursive(LEAVES, _larger, max_leaves=6),
    st.sampled_from([True, 0, 2.5, "x", ["x", 1], [{"id": "1"}], {"a": "x", "b": 2}]),
)
def test_expressions_of_every_shape_come_to_what_cel_says(source: str, value: object) -> None:
    made = context({"any": value})
    try:
        expression = SPOKEN.compile(source)
    except InvalidExpression:
        return
    ours = made.value(expression)
    cel_s = Outcome(None) if has_optional(ours.value) else by_cel(made, expression)
    if not has_optional(ours.value) and not TOLERATED.search(cel_s.error or ""):
        assert agree(ours, cel_s), (source, ours, cel_s)


def test_the_keys_of_a_map_come_in_the_order_of_its_file() -> None:
    made = context()
    assert made.value(SPOKEN.compile("state.filter(k, k != 'big')")).value == [k for k in STATE if k != "big"]
    assert made.value(SPOKEN.compile("state.all(k, k != '')")).value is True
    assert disagreements(made) == []


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("{string(any): 1, 'x': 2}", "the key 'x' stands twice in a map"),
        ("{any: 1, word: any}.x.y", "y is asked of a int, which has no fields"),
        ("dyn(word).orValue(1)", "orValue does not take (string)"),
        ("dyn(word).optMap(i, i).hasValue()", "optMap does not take (string)"),
        ("optional.none().value()", "an optional value is absent"),
        ("dyn(optional.of(1))", "an optional value needs .orValue(..)"),
        ("[dyn(1)].join()", "join does not take (list)"),
        ("[?dyn(word)]", "? does not take (string)"),
        ("word in dyn(word)", "in does not take (string)"),
        ("dyn([]) in fields", "in does not take (list)"),
        ("items[3]", "there is no element 3 in a list of 3"),
        ("word.substring(9)", "substring: there is no 9 to 4 in a text of 4 characters"),
        ("word.charAt(-1)", "charAt: there is no -1 in a text of 4 characters"),
        ("word.indexOf('a', 9)", "indexOf: there is no 9 in a text of 4 characters"),
        ("word.lastIndexOf('a', 9)", "lastIndexOf: there is no 9 in a text of 4 characters"),
        ("double('1_0')", "double: '1_0' is no number"),
        ("timestamp(9999999999999)", "timestamp: '9999999999999' is no time like 2026-01-31T12:00:00Z"),
        ("1 % 0", "modulus by zero"),
        ("{'x': 1, 'x': 2}.x", "the key 'x' stands twice in a map"),
        ("{dyn(1): 2}", "a key of a map is text, this is int"),
    ],
)
def test_an_evaluation_that_fails_says_why(source: str, reason: str) -> None:
    made = context()
    assert made.value(SPOKEN.compile(source)) == Outcome(None, reason)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("nobody", "unknown name 'nobody'"),
        ("nobody(1)", "unknown function 'nobody'"),
        ("word.size(1)", "size does not take 2 values"),
        ("state.?x.orValue()", "orValue takes one other value"),
        ("word &&", "the expression ends too early"),
    ],
)
def test_what_a_trusted_definition_has_wrong_is_an_error_at_evaluation(source: str, reason: str) -> None:
    trusted = Language({"state": "map"}, {"word": "string"}, trusted=True)
    made = Context(trusted, {"state": {}}, lambda name: "x")
    assert made.value(trusted.compile(source)) == Outcome(None, reason)


class Word(StrEnum):
    """A word of an enumeration, as facts of the product have them."""

    PASS = "pass"


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("any == word && word == any && any in ['pass'] && any in {'pass': 1}", True),
        ("any < 'q' && any <= 'pass' && any + '!' == 'pass!'", True),
        ("[state.word == any, 'a' < state.word, 'a' <= state.word, state.word == 'pass']", [True] * 4),
        ("string(state.word) + state.word", "passpass"),
        ("type(state.word) == string", True),
        ("'abc'.split('', 2)", ["a", "bc"]),
        ("['a', 'b'].map(i, i != 'a', i + i)", ["bb"]),
        ("string(2.0) + string(1.5) + string(true)", "21.5true"),
    ],
)
def test_a_word_of_an_enumeration_is_text(source: str, value: object) -> None:
    made = context({"any": Word.PASS}, state={"word": Word.PASS})
    assert made.value(SPOKEN.compile(source)) == Outcome(value)
