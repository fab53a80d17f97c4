"""Values of evaluations come back as they were: equal, of the same types, whatever they hold."""

from __future__ import annotations

import json
from dataclasses import fields
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from phasekeeper.orchestration.findings import Evidence, Finding, Fix, Severity, Span
from phasekeeper.orchestration.result.values import Evaluation, as_json
from phasekeeper.server.cache.evaluation_codec import DEFERRED, SHOWN, pack, unpack
from phasekeeper.server.cache.value_codec import MOST_LEVELS, NotEncodable, decode, encode
from phasekeeper.server.workspace.workspace import Workspace

from tests.golden import CASES, cases_in, steps_of
from tests.roots import EXAMPLES

texts = st.text(st.characters(codec=None), max_size=8)
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), texts
)
data = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.one_of(texts, st.tuples(texts, st.integers())), inner, max_size=3),
        st.builds(Evidence, texts, inner, st.none() | texts, st.none() | st.just(Span(1, 2, 3, 4))),
        st.frozensets(texts, max_size=3),
        st.dictionaries(texts, inner, max_size=2).map(MappingProxyType),
    ),
    max_leaves=12,
)


@given(data)
def test_a_value_comes_back_equal_and_of_the_same_types(value):
    again = decode(encode(value))
    assert again == value
    # True is 1, a tuple is no list, and -0.0 is 0.0; their texts tell them apart.
    assert repr(again) == repr(value) or isinstance(value, frozenset) or "frozenset" in repr(value)


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), object(), {1, 2}, b"x", 10**5000, range(3)],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_be_kept_is_refused(value):
    with pytest.raises(NotEncodable):
        encode([value])


def test_what_lies_too_deep_is_refused():
    deep: object = 0
    for _ in range(MOST_LEVELS + 2):
        deep = [deep]
    with pytest.raises(NotEncodable):
        encode(deep)


def test_what_a_quick_fix_needs_comes_back():
    found = Finding(
        "unknown-word", "a", "b", Span(0, 0, 0, 1), Severity.HINT, (Fix("c", ("d",)),), data={"word": "e"}
    )
    again = decode(encode(found))
    assert (again, again.data) == (found, {"word": "e"})


def test_every_field_is_shown_or_deferred():
    assert {"root", *SHOWN, *DEFERRED} == {each.name for each in fields(Evaluation)}
    assert len({"root", *SHOWN, *DEFERRED}) == 1 + len(SHOWN) + len(DEFERRED)


def again_of(evaluation: Evaluation) -> Evaluation:
    shown, packed = pack(evaluation)
    return unpack(evaluation.root, json.loads(shown), packed)


def test_evaluations_come_back_and_are_made_a_field_at_a_time():
    workspace = Workspace(EXAMPLES)
    for match in workspace.matches:
        evaluation = workspace.evaluate(match)
        assert again_of(evaluation) == evaluation == again_of(evaluation)
        assert as_json(again_of(evaluation)) == as_json(evaluation)
        assert repr(again_of(evaluation)) == repr(evaluation)
        assert again_of(evaluation).gates == evaluation.gates
        assert again_of(evaluation).without_tasks == evaluation.without_tasks


def test_the_answers_of_all_cases_come_back():
    for case in (case for path in sorted(CASES.rglob("*.txt")) for case in cases_in(path)):
        evaluation = steps_of(case).evaluation
        assert again_of(evaluation) == evaluation, str(case)


def test_what_is_no_field_is_missed():
    workspace = Workspace(EXAMPLES)
    again = again_of(workspace.evaluate(workspace.matches[0]))
    with pytest.raises(AttributeError):
        again.nothing  # noqa: B018
    assert not hasattr(again, "_fields")
