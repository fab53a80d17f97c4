"""Guards: what counts as true, what facts cost, and what an error never does."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import pytest
from phasekeeper.orchestration.expressions import functions
from phasekeeper.orchestration.expressions.context import Context, Outcome, UnknownFact
from phasekeeper.orchestration.expressions.language import Language
from phasekeeper.orchestration.expressions.queries import Index, Tasks
from phasekeeper.orchestration.expressions.syntax import InvalidExpression
from phasekeeper.orchestration.expressions.values import MOST_ITEMS
from phasekeeper.orchestration.journal.journal import EMPTY_RECORD, record


def language(facts: Mapping[str, str] | None = None, values: Mapping[str, str] | None = None) -> Language:
    made = Language({"state": "map", "plan.done": "int"}, facts or {})
    assert made.infer(values or {}) == {}
    return made


class Facts:
    """Gives facts by name and counts how often each was asked for."""

    def __init__(self, spoken: Language, known: Mapping[str, object] | None = None):
        self.language, self.known = spoken, known or {}
        self.asked: list[str] = []
        self.context: Context | None = None

    def __call__(self, name: str) -> object:
        self.asked.append(name)
        if name in self.known:
            return self.known[name]
        if name not in self.language.values:
            raise UnknownFact(f"nobody knows {name}")
        assert self.context
        outcome = self.context.value(self.language.values[name])
        if outcome.error is not None:
            raise UnknownFact(outcome.error)
        return outcome.value


def context(
    state: Mapping[str, object] | None = None,
    spoken: Language | None = None,
    facts: Mapping[str, object] | None = None,
    records: Index | None = None,
    tasks: Tasks | None = None,
) -> Context:
    spoken = spoken or language()
    resolve = Facts(spoken, facts)
    resolve.context = Context(spoken, {"state": state or {}, "plan.done": 3}, resolve, records, tasks)
    return resolve.context


def value(source: str, state: Mapping[str, object] | None = None, **more) -> object:
    made = context(state, **more)
    outcome = made.value(made.language.compile(source))
    assert outcome.error is None, outcome.error
    return outcome.value


def error(source: str, state: Mapping[str, object] | None = None, **more) -> str:
    made = context(state, **more)
    outcome = made.value(made.language.compile(source))
    assert outcome.value is None
    assert outcome.error is not None
    return outcome.error


TASKS = [{"id": f"t-{n}", "title": f"T{n}", "stage": "1" if n < 3 else "2", "done": n == 0} for n in range(5)]
STAGES = [
    {"id": "1", "title": "One", "done": 3, "total": 3, "line": 1},
    {"id": "2", "title": "Two", "done": 0, "total": 2, "line": 5},
]
MANY = [
    {"id": f"t-{n}", "stage": "1", "done": False, "rank": -n, "word": f"w{n % 7}"}
    for n in range(MOST_ITEMS + 1)
]


def tasks(items: list[dict] | None = None) -> Tasks:
    return Tasks(Index(TASKS if items is None else items), STAGES, lambda item: {"files": [item["id"]]})


def steps(*entries: dict) -> Index:
    return Index([record(seq=number, **entry) for number, entry in enumerate(entries, 1)], EMPTY_RECORD)


# ---- an error is never true -------------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    [
        "state.missing",
        "state.missing == true",
        "state.a.b.c",
        "1 / 0 == 1",
        "state.text > 2",
        "timestamp(state.text) > timestamp('2020-01-01T00:00:00Z')",
        "[1].newest().x",
        "dyn(optional.of(1))",
        "[dyn(optional.of(1))]",
        "9223372036854775807 + 1 > 0",
        "[1].as_keys({'a': 1}) == {}",
    ],
)
def test_an_error_never_holds_however_it_comes_about(source: str):
    made = context({"text": "abc", "a": {}})
    guard = made.language.compile(source)
    assert not made.holds(guard)


def test_a_value_that_is_true_only_in_python_does_not_hold():
    made = context({"text": "abc"})
    for source in ("state.text", "state", "1", "['x']"):
        assert not made.holds(made.language.compile(source))
    assert made.holds(made.language.compile("state.text == 'abc'"))


def test_no_guard_at_all_holds():
    assert context().holds(None)


def test_the_reason_of_an_error_is_told_without_codes():
    assert error("state.x") == "x is missing"
    assert error("1 / 0") == "divide by zero"
    assert error("state.a.b", {"a": {}}) == "b is missing"
    assert "dyn" not in error("state.text > 2", {"text": "abc"})


def test_or_absorbs_an_error_on_either_side_when_the_other_decides():
    assert value("true || state.x == 1") is True
    assert value("state.x == 1 || true") is True
    assert value("state.x == 1 && false") is False
    assert error("state.x == 1 || false") == "x is missing"


def test_an_optional_hidden_from_the_types_is_an_error_and_no_exception():
    assert error("dyn(optional.of(1))")
    assert value("state.?a.orValue(3)") == 3


# ---- budgets ----------------------------------------------------------------------------------


def test_a_loop_over_the_iteration_budget_is_an_error():
    assert "teration" in error("state.a.exists(x, state.a.exists(y, x + y == -1))", {"a": list(range(200))})


def test_more_than_five_hundred_items_are_an_error_and_never_cut():
    many: dict[str, Any] = {"tasks": tasks(MANY)}
    assert error("tasks({}).exists(t, t.done)", **many).startswith("tasks(..) has 501 items, at most 500")
    assert value("tasks({'id': 't-1'}).map(t, t.id)", **many) == ["t-1"]
    reports = steps(*({"kind": "report"} for _ in range(MOST_ITEMS + 1)))
    assert "records(..) has 501 items" in error("records({'kind': 'report'}) != []", records=reports)
    assert "records_since(..) has 501" in error("records_since({'kind': 'start'}, {}) != []", records=reports)
    assert value("count({'kind': 'report'})", records=reports) == 501
    assert value("records({'seq': 501})[0].seq", records=reports) == 501


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("tasks({}).size()", 501),
        ("size(tasks({}))", 501),
        ("size( tasks({'stage': state.stage}) ) > 3", True),
        ("tasks({'stage': '9'}) == []", True),
        ("tasks({}) != [] && true", True),
        ("(tasks({}) == []) ? 1 : 2", 2),
        ("unreported({}, {'kind': 'report'}).size()", 500),
        ("unreported_since({'kind': 'start'}, {}, {'kind': 'report'}) == []", False),
        ("tasks({}).size() - tasks({'done': true}).size()", 501),
    ],
)
def test_the_size_of_a_set_of_tasks_needs_none_of_them(source: str, expected: object):
    reports = steps({"kind": "report", "task": "t-0"})
    assert value(source, {"stage": "1"}, tasks=tasks(MANY), records=reports) == expected


@pytest.mark.parametrize(
    ("source", "first"),
    [
        ("tasks({}).by('rank')", ["t-500", "t-499"]),
        ("tasks({}).by('word')", ["t-0", "t-7"]),
        ("tasks({'id': 't-3'}) + tasks({}).by('rank')", ["t-3", "t-500"]),
        ("tasks({'stage': '9'}).by('rank') + tasks({})", ["t-0", "t-1"]),
    ],
)
def test_any_number_of_tasks_is_ordered_by_what_the_plan_says_and_put_behind_others(source, first):
    spoken = language(values={"todo": source})
    found = context({}, spoken, tasks=tasks(MANY)).items(spoken.compile("todo")).value
    assert [each["id"] for each in found[:2]] == first
    assert {each["id"] for each in found} == {each["id"] for each in MANY}


def test_tasks_are_looked_at_one_by_one_to_order_them_by_what_their_files_say():
    many: dict[str, Any] = {"tasks": tasks(MANY)}
    assert error("tasks({}).by('files') == []", **many).startswith("tasks(..) has 501 items, at most 500")
    assert value("tasks({}).by('id').map(t, t.id)", tasks=tasks()) == [f"t-{n}" for n in range(5)]


def test_a_comparison_that_binds_otherwise_keeps_its_meaning():
    few = tasks()
    assert value("tasks({}) + [] == []", tasks=few) is False
    assert value("[1] + tasks({'stage': '9'}) == []", tasks=few) is False
    assert value("tasks({'stage': '9'}) == [] + []", tasks=few) is True


def test_a_named_set_of_tasks_is_used_by_its_size_alone():
    spoken = language(
        {},
        {
            "todo": "tasks({'done': false})",
            "other": "todo == [] ? tasks({}) : todo",
            "first": "tasks({})[0]",
            "both": "tasks({'id': 't-0'}) + tasks({'id': 't-1'})",
            "listed": "tasks({}) == [] ? [] : tasks({})",
        },
    )
    many: dict[str, Any] = {"spoken": spoken, "tasks": tasks(MANY)}
    assert value("todo.size()", **many) == 501
    assert value("other.size()", **many) == 501
    assert value("listed.size()", **many) == 501
    assert value("todo == []", **many) is False
    assert value("[todo, 1].size() + {'a': todo}.a.size()", spoken=spoken, tasks=tasks()) == 6
    assert error("todo.map(t, t.id)", **many) == (
        "todo has 501 items, at most 500 can be looked at one by one; size() and == [] work for any number"
    )
    few: dict[str, Any] = {"spoken": spoken, "tasks": tasks()}
    assert value("other.map(t, t.id)", **few) == ["t-1", "t-2", "t-3", "t-4"]
    assert value("both.map(t, t.id)", **few) == ["t-0", "t-1"]
    assert value("first.id", **few) == "t-0"


def test_a_bare_named_set_is_given_whole_and_unconverted():
    spoken = language({}, {"todo": "tasks({})", "bad": "tasks({'stage': state.nowhere})"})
    made = context(spoken=spoken, tasks=tasks(MANY))
    assert made.items(spoken.compile(" todo ")) == Outcome(MANY)
    assert made.items(spoken.compile("bad")) == Outcome(None, "bad: nowhere is missing")
    assert made.items(spoken.compile("[1, 2]")) == Outcome([1, 2])
    assert made.read_path(("todo",)) == Outcome(MANY)


# ---- numbers, null, text ----------------------------------------------------------------------


def test_whole_numbers_have_sixty_four_bits():
    assert value("state.n", {"n": 2**63 - 1}) == 2**63 - 1
    assert error("state.n", {"n": 2**64})
    assert error("state.small + 1.0", {"small": 1, "n": -(2**63) - 1})
    assert value("state.n > 1.0", {"n": float(2**63)}) is True
    assert value("3.0 == state.n", {"n": 3}) is True


def test_text_with_any_character_goes_in_and_out():
    assert value("state.t + '!'", {"t": "zażółć 🙂"}) == "zażółć 🙂!"


# ---- facts ------------------------------------------------------------------------------------


def test_a_fact_is_computed_once_and_only_when_it_is_needed():
    spoken = language({"a": "bool", "b": "bool", "limits.x.count": "int"}, {"both": "a && b", "late": "!b"})
    resolve = Facts(spoken, {"a": False, "b": True, "limits.x.count": 2})
    resolve.context = Context(spoken, {"state": {}}, resolve)
    assert not resolve.context.holds(spoken.compile("a && both && late"))
    assert resolve.asked == ["a"]
    assert not resolve.context.holds(spoken.compile("both || a || late"))
    assert resolve.asked == ["a", "both", "late", "b"]
    assert resolve.context.value(spoken.compile("limits.x.count + limits . x . count")).value == 4
    assert resolve.asked.count("limits.x.count") == 1


def test_one_expression_is_evaluated_once_in_a_context():
    resolve = Facts(language({"a": "bool"}), {"a": True})
    resolve.context = Context(resolve.language, {"state": {}}, resolve)
    guard = resolve.language.compile("a && count({}) == 0")
    assert resolve.context.holds(guard)
    resolve.context.facts.clear()
    assert resolve.context.holds(guard)
    assert resolve.asked == ["a"]


def test_the_longest_fact_of_a_path_is_found():
    made = context(spoken=language({"limits.x.count": "int", "report": "map"}))
    assert made.fact_in(("limits", "x", "count", "y")) == "limits.x.count"
    assert made.fact_in(("report", "outcome")) == "report"
    assert made.fact_in(("state", "x")) == ""


def test_an_unknown_fact_is_an_error_with_its_name():
    spoken = language({"answers.plan": "string"}, {"ok": "answers.plan == 'yes'", "next": "ok"})
    assert error("next", spoken=spoken) == "next: ok: answers.plan: nobody knows answers.plan"
    assert value("next || true", spoken=spoken) is True


def test_a_fact_that_needs_itself_is_an_error():
    spoken = language({"a": "bool"})
    made: list[Context] = []

    def resolve(name: str) -> object:
        outcome = made[0].value(spoken.compile("!a"))
        raise UnknownFact(outcome.error or "")

    made.append(Context(spoken, {"state": {}}, resolve))
    assert made[0].fact("a").error == "a: is being computed"


def test_a_fact_of_another_type_than_declared_is_an_error():
    spoken = language({"limits.x.count": "int"})
    assert error("limits.x.count > 1", spoken=spoken, facts={"limits.x.count": "three"})


def test_a_long_chain_of_values_ends_in_a_value_or_an_error():
    chain = {"v0": "1"} | {f"v{n}": f"v{n - 1} + 1" for n in range(1, 300)}
    spoken = language({}, chain)
    made = context(spoken=spoken)
    outcome = made.value(spoken.compile("v299"))
    assert outcome.value == 300 or outcome.error
    assert made.value(spoken.compile("v20")).value == 21


def test_two_threads_with_a_context_each_get_their_own_answers():
    spoken = language({"limits.x.count": "int"}, {"n": "limits.x.count + state.n"})
    guard = spoken.compile("n + tasks({}).size() + count({})")
    wrong: list[object] = []
    start = threading.Barrier(2)

    def work(number: int) -> None:
        start.wait()
        for turn in range(200):
            facts = {"limits.x.count": number}
            found = context(
                {"n": turn}, spoken, facts, steps(*[{"kind": "report"}] * number), tasks(TASKS[:number])
            )
            got = found.value(guard)
            if got != Outcome(3 * number + turn):
                wrong.append(got)

    threads = [threading.Thread(target=work, args=(number,)) for number in (1, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


# ---- functions --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("state.l.where({'a': 1}).size()", 2),
        ("state.l.where({'a': [2, 3]}).map(x, x.b)", ["y"]),
        ("state.l.where({'a': true})", []),
        ("state.l.where({'c': 1})", []),
        ("['a', 'b', 'a'].where('a').size()", 2),
        ("['a', 'b', 'c'].after('a')", ["b", "c"]),
        ("['a', 'b', 'a', 'c'].after('a')", ["c"]),
        ("['a'].after('z')", ["a"]),
        ("state.l.after({'b': 'y'}).map(x, x.b)", ["z"]),
        ("['a', 'b'].newest()", "b"),
        ("[].newest()", {}),
        ("[1, 2, 3].keep(2)", [2, 3]),
        ("[1, 2, 3].keep(0)", []),
        ("[1, 2, 3].keep(9)", [1, 2, 3]),
        ("[1, 2].reversed()", [2, 1]),
        ("state.l.by('b').map(x, x.b)", ["x", "y", "z"]),
        ("['c', 'a', 'b'].by('')", ["a", "b", "c"]),
        ("state.m.by('at.t').map(x, x.n)", [4, 3, 2, 1]),
        ("['b', 'a'].minus(['a'])", ["b"]),
        ("[[2, 1], 3, [], [[4]]].flatten()", [2, 1, 3, [4]]),
        ("['b', 'a'].as_keys({'x': 1})", {"b": {"x": 1}, "a": {"x": 1}}),
        ("[1, true, 'x', 2.5].joined('; ')", "1; true; x; 2.5"),
        ("[[1], {'a': dyn(true)}, dyn(null)].joined(' ')", '[1] {"a": true} null'),
    ],
)
def test_lists_have_methods_of_their_own(source: str, expected: object):
    state = {
        "l": [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}, {"a": 1, "b": "z"}],
        "m": [
            {"n": 1, "at": {"t": "word"}},
            {"n": 2, "at": {"t": "2026-01-02T00:00:00Z"}},
            {"n": 3, "at": {"t": 7}},
            {"n": 4},
        ],
    }
    assert value(source, state) == expected


def test_times_are_sorted_as_moments_whatever_their_zone():
    state = {"l": [{"n": 1, "t": "2026-01-01T12:00:00+02:00"}, {"n": 2, "t": "2026-01-01T11:00:00"}]}
    assert value("state.l.by('t').map(x, x.n)", state) == [1, 2]


def test_things_that_need_each_other_in_a_circle_are_named():
    queue = [
        {"id": "a", "needs": ["b"]},
        {"id": "b", "needs": ["a", "c"]},
        {"id": "c", "needs": "a"},
        {"id": "d", "needs": ["d"]},
        {"needs": ["a"]},
        "odd",
    ]
    assert value("state.q.circles('id', 'needs')", {"q": queue}) == ["a -> b -> a", "d -> d"]


def test_records_are_picked_by_pattern_oldest_first():
    found = steps(
        {"kind": "start", "phase": "a"},
        {"kind": "report", "phase": "a", "outcome": "fail", "stage": "1"},
        {"kind": "answer", "question": "q", "option": "retry"},
        {"kind": "report", "phase": "a", "outcome": "pass", "stage": "1"},
        {"kind": "report", "phase": "b", "outcome": "fail", "stage": "2"},
    )
    more: dict[str, Any] = {"records": found}
    assert value("records({'kind': 'report'}).map(r, r.seq)", **more) == [2, 4, 5]
    assert value("records({'kind': ['start', 'answer']}).map(r, r.seq)", **more) == [1, 3]
    assert value("records_since({'kind': 'answer'}, {'kind': 'report'}).map(r, r.seq)", **more) == [4, 5]
    assert value("count_since({'kind': 'nothing'}, {})", **more) == 5
    assert value("newest({'kind': 'report', 'phase': 'a'}).outcome", **more) == "pass"
    assert value("newest({'phase': 'zzz'}).outcome", **more) == ""
    assert value("verdicts({'kind': 'report'}, ['fail'])", **more) == ["2"]
    assert value("verdicts({'kind': 'report'}, [])", **more) == ["1", "2"]


def test_tasks_come_with_what_their_own_files_say():
    more: dict[str, Any] = {"tasks": tasks()}
    assert value("tasks({'done': false, 'stage': '1'}).map(t, t.files[0])", **more) == ["t-1", "t-2"]
    assert value("stage_ids({'done': 0})", **more) == ["2"]
    assert value("open_stage([], []).id", **more) == "2"
    assert value("open_stage(['1'], []).id", **more) == "1"
    assert value("open_stage([], ['2'])", **more) == {}


def test_tasks_that_were_reported_are_left_out():
    found = steps(
        {"kind": "report", "task": "t-1"}, {"kind": "start"}, {"kind": "report", "tasks": ["t-2", "t-3"]}
    )
    more: dict[str, Any] = {"tasks": tasks(), "records": found}
    assert value("unreported({}, {'kind': 'report'}).map(t, t.id)", **more) == ["t-0", "t-4"]
    source = "unreported_since({'kind': 'start'}, {}, {'kind': 'report'}).map(t, t.id)"
    assert value(source, **more) == ["t-0", "t-1", "t-4"]


def test_functions_of_effects_describe_edits_and_make_none():
    spoken = language().with_edits({"step": "string"})
    made = Context(spoken, {"state": {}, "step": "4c"}, Facts(spoken))
    edits = made.value(spoken.compile("[check_tasks(step), append_stage('x', [1]), set_status('a', 'b')]"))
    assert edits.value == [
        {"edit": "check_tasks", "with": ["4c"]},
        {"edit": "append_stage", "with": ["x", [1]]},
        {"edit": "set_status", "with": ["a", "b"]},
    ]
    with pytest.raises(InvalidExpression, match="unknown name 'check_tasks'"):
        language().compile("check_tasks('1')")


# ---- templates --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("plain", "plain"),
        ("{state.n} of {plan.done}", "2 of 3"),
        ("{state.missing} of {plan.done}", "? of 3"),
        ("{state.missing}", None),
        ("{state.n == 2}", "true"),
        ("say {'{}'} and {\"}\"}", "say {} and }"),
        ("{state.l}", '["a", true]'),
        ("", ""),
    ],
)
def test_a_template_shows_values_and_a_question_mark_for_none(source: str, expected: str | None):
    made = context({"n": 2, "l": ["a", True]})
    assert made.text(made.language.template(source)) == expected


# ---- evidence ---------------------------------------------------------------------------------


def test_evidence_is_what_stands_at_the_paths_that_were_read():
    spoken = language({"valid.plan": "bool", "limits.x.count": "int"}, {"ok": "state.a.b > 1"})
    facts = {"valid.plan": True}
    made = context({"a": {"b": 2}, "l": [1]}, spoken, facts)
    guard = spoken.compile(
        "ok && valid.plan && state.a.b == 2 && state.a.c == 1 && state.l.exists(x, x == 1)"
        " && limits.x.count > 0"
    )
    assert [(path, made.read_path(path)) for path in guard.paths] == [
        (("ok",), Outcome(True)),
        (("valid", "plan"), Outcome(True)),
        (("state", "a", "b"), Outcome(2)),
        (("state", "a", "c"), Outcome(None, "c is missing")),
        (("state", "l"), Outcome([1])),
        (("limits", "x", "count"), Outcome(None, "nobody knows limits.x.count")),
    ]
    assert made.read_path(("string",)) == Outcome(None, "there is no value")
    assert made.read_path(("state", "l", "x")) == Outcome(None, "x is missing")


def test_the_records_behind_a_fact_are_kept_apart_from_those_of_the_guard():
    spoken = language({}, {"failed": "count({'outcome': 'fail'}) > 0"})
    found = steps({"kind": "report", "outcome": "fail"}, {"kind": "report", "outcome": "pass"})
    made = context(spoken=spoken, records=found)
    own = made.records_behind(spoken.compile("failed && newest({'outcome': 'pass'}).seq == 2"))
    assert [entry["seq"] for entry in own] == [2]
    assert [entry["seq"] for entry in made.records_behind("failed")] == [1]


def test_lists_take_optional_values_beside_others_and_tasks_become_a_list():
    assert value("[1, ?state.?a, ?state.?b]", {"a": 2}) == [1, 2]
    assert value("tasks({'done': true})", tasks=Tasks(Index(TASKS), STAGES)) == [{**TASKS[0]}]


def test_a_function_is_added_by_one_function_and_one_line(monkeypatch):
    def _doubled(run: object, number: int) -> int:
        """twice the number"""
        return 2 * number

    monkeypatch.setitem(functions.FUNCTIONS, "doubled", functions.Function(_doubled, ("int",), "int"))
    assert value("doubled(state.n) + doubled(1)", {"n": 20}) == 42
    assert error("doubled(state.n)", {"n": "x"}) == "doubled does not take (string)"
    with pytest.raises(InvalidExpression, match="doubled does not take \\(string\\); it takes \\(int\\)"):
        language().compile("doubled('x')")
    added = functions.FUNCTIONS["doubled"]
    assert (added.signature("doubled"), added.about) == ("doubled(number)", "twice the number")
