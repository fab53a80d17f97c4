"""The budget of an evaluation: whatever an expression does, it ends soon, and never in true."""

from __future__ import annotations

import time
import tracemalloc
from typing import Any

import pytest
from phasekeeper.orchestration.expressions.context import Context, Outcome
from phasekeeper.orchestration.expressions.language import Language
from phasekeeper.orchestration.expressions.text_functions import InvalidPattern, compile_pattern
from phasekeeper.orchestration.expressions.values import MOST_ELEMENTS, MOST_ROUNDS, ExpressionRun, weigh

DATA: dict[str, Any] = {
    "texts": [f"b{number}" for number in range(10_000)],
    "list": list(range(1000)),
    "text": "a" * 100_000,
}
LANGUAGE = Language({"state": "map"}, {})


def outcome(source: str) -> Outcome:
    """What an expression over `DATA` comes to."""
    return Context(LANGUAGE, {"state": DATA}, lambda name: name).value(LANGUAGE.compile(source))


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("state.list.exists(x, state.list.exists(y, x + y == -1))", "iterations"),
        ("state.list.all(x, state.list.all(y, true)) || true", "iterations"),
        ("true && state.list.map(x, state.list).map(x, x.map(y, y)) != []", "iterations"),
        ("state.texts.filter(x, x in state.texts) != []", "elements"),
        ("state.texts.map(x, state.texts == state.texts) != []", "elements"),
        ("state.list.map(x, state.texts + state.texts) != []", "elements"),
        ("state.list.map(x, state.texts.reversed()) != []", "elements"),
        ("state.list.map(x, state.texts.where('b1')) != []", "elements"),
        ("state.list.map(x, state.text + state.text) != []", "characters"),
        ("state.text.replace('a', state.text) != ''", "characters"),
        ("state.list.map(x, state.texts.joined(state.text)) != []", "characters"),
        ("state.list.exists(x, state.text.contains('b'))", "characters"),
        ("state.list.exists(x, state.text.matches('b'))", "characters"),
        ("state.list.exists(x, state.text.split('') == [])", "elements"),
    ],
)
def test_what_does_too_much_is_an_error_that_nothing_absorbs(source: str, reason: str) -> None:
    start = time.process_time()
    value, error = outcome(source)
    assert value is None
    assert error is not None and reason in error
    assert time.process_time() - start < 5


def test_what_fits_into_the_budget_has_a_value() -> None:
    tracemalloc.start()
    assert outcome("state.texts.filter(p, p != 'b0').size() < 1") == Outcome(False)
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()
    assert len(DATA["texts"]) == MOST_ROUNDS
    assert outcome("state.list.filter(x, x in state.list.keep(400)).size()") == Outcome(400)
    assert MOST_ELEMENTS >= 1000 * 2 * 400


def matches(text: str, pattern: str) -> Outcome:
    """Whether a text matches a regular expression, both of them data."""
    state = {"text": text, "pattern": pattern}
    expression = LANGUAGE.compile("state.text.matches(state.pattern)")
    return Context(LANGUAGE, {"state": state}, lambda name: name).value(expression)


@pytest.mark.parametrize(
    ("pattern", "text", "fits"),
    [
        ("a$", "ba", True),
        ("a$", "a\n", False),
        ("^a", "b\na", False),
        ("", "", True),
        ("$^", "", True),
        ("^a|b$", "cb", True),
        ("x{2,3}y", "xxy", True),
        ("^x{2}$", "xxx", False),
        ("^x{2,}$", "xxxx", True),
        ("^(?:ab)+c?$", "ababc", True),
        ("^(a|bc)*?d$", "abcbcd", True),
        (r"^\d+\.\w\s\D\W\S$", "12.a x!y", True),
        (r"[^a-c\d]", "abc1", False),
        (r"[]x-]", "]", True),
        (r"[\]\-]", "-", True),
        ("(?i)^aB[c-d]$", "AbD", True),
        ("a.c", "a\nc", False),
        (r"\n\t\{", "\n\t{", True),
        ("(|a)b", "b", True),
        ("(a*)*$", "b", True),
    ],
)
def test_a_pattern_is_looked_for_anywhere_in_the_text(pattern: str, text: str, fits: bool) -> None:
    assert matches(text, pattern) == Outcome(fits)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("(a", r"^missing \): '\(a' \(at its character 1\)$"),
        ("a)", "unexpected \\)"),
        ("x[a", r"^missing \]: '\[a' \(at its character 2\)$"),
        ("*a", "no argument for repetition operator: '\\*'"),
        ("a**", "bad repetition operator: '\\*\\*'"),
        ("a{1001}", "invalid repetition size"),
        ("[z-a]", "invalid character class range: 'z-a'"),
        (r"a\y", r"invalid escape sequence: '\\\\y' \(at its character 2\)"),
        ("(?=a)", "invalid perl operator"),
        ("\\", "trailing \\\\"),
        ("(a{1000}){1000}", "invalid repetition size"),
        ("([a-f]{90}){11}[0-9]{90}", "too large: at most 1000 instructions"),
        ("\ud800[", "missing \\]"),
        ("a" * 1001, "at most 1000 are allowed"),
    ],
)
def test_a_pattern_that_is_none_or_asks_for_more_is_refused(pattern: str, message: str) -> None:
    with pytest.raises(InvalidPattern, match=message):
        compile_pattern(pattern)


@pytest.mark.parametrize("pattern", ["(a+)+$", "^(a|aa)*$", "(a*)*b", "a*a*a*a*a*a*b", "(a?){30}a{30}$"])
def test_no_pattern_takes_longer_than_the_text_is_long(pattern: str) -> None:
    start = time.process_time()
    assert matches("a" * 100_000 + "c", pattern) == Outcome(False)
    assert time.process_time() - start < 1


@pytest.mark.parametrize(
    "pattern", ["[ab]*a[ab]{300}c", "([a-z]{1,40}){8}Q$", "(?i)((a|b|c|ab|bc){1,90})*z$"]
)
def test_a_pattern_that_is_slow_in_every_engine_is_charged_for_its_size(pattern: str) -> None:
    start = time.process_time()
    value, error = matches("".join("ab"[n * n % 7 % 2] for n in range(1_000_000)), pattern)
    assert value is None and error is not None and "characters" in error
    assert matches("".join("ab"[n * n % 7 % 2] for n in range(100_000)), pattern) == Outcome(False)
    assert time.process_time() - start < 3


def test_half_a_surrogate_pair_is_a_character_for_patterns() -> None:
    assert matches("a\ud800b", "^a.b$") == Outcome(True)
    assert matches("a\ud800b", "a\ud801b") == Outcome(False)


def test_a_pattern_that_is_data_is_an_error_where_it_is_none() -> None:
    assert outcome("'a'.matches(state.texts[0] + '[')").error == (
        "matches: missing ]: '[' (at its character 3)"
    )


def test_all_expressions_of_an_evaluation_share_one_budget() -> None:
    context = Context(LANGUAGE, {"state": DATA}, lambda name: name)
    sources = [f"state.list.filter(x, x in state.list.keep(400)).size() == {n}" for n in range(20)]
    outcomes = [context.value(LANGUAGE.compile(source)) for source in sources]
    assert outcomes[0] == Outcome(False)
    assert outcomes[-1].value is None and "together" in str(outcomes[-1].error)
    assert "together" in context.budget.exceeded
    # What costs nothing is still told.
    assert context.value(LANGUAGE.compile("size(state.list) == 1000")) == Outcome(True)


@pytest.mark.parametrize(
    "source",
    [
        "state.list.map(x, state.texts)",
        "state.texts.as_keys({'a': state.texts})",
        "state.list.map(x, state.texts).joined(' ')",
        "state.list.map(x, state.texts).minus(state.texts)",
        "state.list.map(x, state.texts).by('')",
        "state.texts.where({'a': state.list.map(x, state.texts)})",
    ],
)
def test_a_part_that_stands_in_a_value_many_times_costs_as_often(source: str) -> None:
    value, error = outcome(source)
    assert value is None
    assert error is not None and ("elements" in error or "characters" in error)


def test_a_template_is_no_longer_than_an_expression_may_write() -> None:
    language = Language({"state": "map"}, {})
    context = Context(language, {"state": {"text": "a" * 400_000}}, lambda name: name)
    text = context.text(language.template("{state.text} {state.text} {state.text} {size(state.text)}"))
    assert text is not None and text.endswith("a ? 400000")
    assert "characters" in context.budget.exceeded


def test_a_value_costs_as_many_steps_as_it_has_elements_and_characters() -> None:
    context = Context(LANGUAGE, {"state": {}}, lambda name: name)
    run, before = ExpressionRun(context), context.budget.left
    weigh(run, {"a": ["bc", 1, None, {"d": "efg"}], "h": "i"})
    assert before - context.budget.left == 2 + 4 + 1 + 2 + 3 + 1
