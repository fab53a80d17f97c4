"""The budget of an evaluation: whatever an expression does, it ends soon, and never in true."""

from __future__ import annotations

import time
import tracemalloc
from typing import Any

import pytest
from phasekeeper.orchestration.expressions.context import Context, Outcome
from phasekeeper.orchestration.expressions.language import Language
from phasekeeper.orchestration.expressions.regex import InvalidPattern, compile_pattern
from phasekeeper.orchestration.expressions.values import MOST_ELEMENTS, MOST_ROUNDS

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
    assert compile_pattern(pattern).found_in(text, lambda work: None) is fits


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("(a", "ends too early"),
        ("a)", "nothing opens this \\)"),
        ("[a", "ends too early"),
        ("*a", "nothing before this \\* to repeat"),
        ("a{x}", "numbers are expected"),
        ("a{3,2}", "the first number is larger"),
        ("[z-a]", "no end behind its start"),
        (r"[a-\d]", "no end behind its start"),
        (r"\b", "is not known here"),
        ("(?=a)", "of groups with \\? there is"),
        ("\\", "ends too early"),
        ("a{1000}{1000}", "too large"),
        ("(" * 21 + ")" * 21, "nested too deep"),
        ("a" * 1001, "at most 1000 are allowed"),
    ],
)
def test_a_pattern_that_is_none_or_asks_for_more_is_refused(pattern: str, message: str) -> None:
    with pytest.raises(InvalidPattern, match=message):
        compile_pattern(pattern)


@pytest.mark.parametrize("pattern", ["(a+)+$", "^(a|aa)*$", "(a*)*b", "a*a*a*a*a*a*b", "(a?){30}a{30}$"])
def test_no_pattern_takes_longer_than_the_text_is_long(pattern: str) -> None:
    start = time.process_time()
    assert not compile_pattern(pattern).found_in("a" * 5000 + "c", lambda work: None)
    assert time.process_time() - start < 2


def test_a_text_of_many_characters_does_not_fill_the_memory_of_a_pattern() -> None:
    text = "".join(map(chr, range(0x100, 0x1100))) + "b"
    assert compile_pattern("a|b$").found_in(text, lambda work: None)
    assert len(compile_pattern("a|b$")._steps) <= 2000


def test_a_pattern_that_is_data_is_an_error_where_it_is_none() -> None:
    assert outcome("'a'.matches(state.texts[0] + '[')").error == (
        "matches: the pattern ends too early (at its character 4)"
    )
