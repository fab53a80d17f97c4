"""Edits of JSON texts: the data is as asked for, and every other byte is as it was."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from itertools import cycle
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from phasekeeper.orchestration.formats.json_edits import create, merge_values, set_values
from phasekeeper.orchestration.formats.json_text import locate_json

STATE = """\
{
    "phase": "codegen",
    "actors": {"planner": {"status": "ok"}, "coder": {"status": "pending"}},
    "history": [
        {"step": 1},
        {"step": 2}
    ],
    "tags": ["a", "b"],
    "nothing": {},
    "count": 1
}
"""


def changed(old: str, new: str) -> str:
    """STATE with one piece of it replaced."""
    assert STATE.count(old) == 1
    return STATE.replace(old, new)


# --- values in place


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (("phase",), "review", changed('"codegen"', '"review"')),
        (("phase",), None, changed('"codegen"', "null")),
        (("actors", "coder", "status"), "ok", changed('"pending"', '"ok"')),
        (("history", 1, "step"), 3, changed('"step": 2', '"step": 3')),
        (("tags", 0), "ü", changed('"a"', '"ü"')),
        (("tags",), ["x"], changed('["a", "b"]', '["x"]')),
        (("tags",), [], changed('["a", "b"]', "[]")),
        (("count",), 1, STATE),
        (("count",), 1.0, changed('"count": 1', '"count": 1.0')),
        (("count",), True, changed('"count": 1', '"count": true')),
        (("count",), float("nan"), changed('"count": 1', '"count": null')),
    ],
)
def test_only_the_characters_of_a_changed_value_change(path: Any, value: object, expected: str) -> None:
    assert set_values(STATE, [(path, value)]) == expected


def test_an_object_on_one_line_is_replaced_by_one_on_one_line() -> None:
    old = '{"planner": {"status": "ok"}, "coder": {"status": "pending"}}'
    assert set_values(STATE, [(("actors",), {"x": (1, [])})]) == changed(old, '{"x": [1, []]}')


def test_a_new_value_is_laid_out_like_its_document() -> None:
    result = set_values(STATE, [(("count",), {"a": [1, {"b": 2}]})])
    assert result == changed(
        '"count": 1',
        '"count": {\n        "a": [\n            1,\n            {\n                "b": 2\n            }\n'
        "        ]\n    }",
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a":1}', '{"a":1,"n":{"x":[1,2]}}'),
        ('{"a": 1}', '{"a": 1, "n": {"x": [1, 2]}}'),
        ('{ "a" : 1 }', '{ "a" : 1, "n" : {"x" : [1, 2]} }'),
        ('{"a": 1,"b": 2}', '{"a": 1,"b": 2,"n": {"x": [1, 2]}}'),
        ('{\n\t"a": 1\n}', '{\n\t"a": 1,\n\t"n": {\n\t\t"x": [\n\t\t\t1,\n\t\t\t2\n\t\t]\n\t}\n}'),
        ('{\r\n "a":1\r\n}', '{\r\n "a":1,\r\n "n":{\r\n  "x":[\r\n   1,\r\n   2\r\n  ]\r\n }\r\n}'),
        ('{\r"a":1\r}', '{\r"a":1,\r"n":{\r"x":[\r1,\r2\r]\r}\r}'),
        (
            '{ "a": 1\n  , "b": 2\n  }',
            '{ "a": 1\n  , "b": 2\n  , "n": {\n    "x": [\n      1,\n      2\n    ]\n  }\n  }',
        ),
        (
            '{\n  "a": 1,\n\n\n  "b":\n2\n}',
            '{\n  "a": 1,\n\n\n  "b":\n2,\n  "n": {\n    "x": [\n      1,\n      2\n    ]\n  }\n}',
        ),
        ("{}", '{\n  "n": {\n    "x": [\n      1,\n      2\n    ]\n  }\n}'),
        (" {\r\n} ", ' {\r\n  "n": {\r\n    "x": [\r\n      1,\r\n      2\r\n    ]\r\n  }\r\n} '),
    ],
)
def test_a_new_key_comes_last_in_the_style_of_its_object(text: str, expected: str) -> None:
    assert set_values(text, [(("n",), {"x": [1, 2]})]) == expected


def test_the_first_key_s_colon_serves_where_the_last_one_s_runs_over_two_lines() -> None:
    assert set_values('{"a":\n1}', [(("b",), 2)]) == '{"a":\n1, "b": 2}'


def test_objects_on_the_way_are_made() -> None:
    assert set_values('{"a": {}}', [(("a", "b", "c"), 1)]) == '{"a": {"b": {"c": 1}}}'
    assert set_values(STATE, [(("nothing", "b", "c"), 1)]) == changed(
        "{},", '{\n        "b": {\n            "c": 1\n        }\n    },'
    )


def test_an_object_on_one_line_stays_on_one_line() -> None:
    result = set_values(STATE, [(("actors", "planner", "at"), 7), (("actors", "judge"), {"status": None})])
    assert result == changed('"ok"}', '"ok", "at": 7}').replace(
        '"pending"}}', '"pending"}, "judge": {"status": null}}'
    )


@pytest.mark.parametrize("value", [None, 5, "text", True, [1], []])
def test_what_cannot_hold_the_next_step_becomes_an_object(value: object) -> None:
    text = json.dumps({"a": value, "b": 1})
    assert set_values(text, [(("a", "x"), 2)]) == '{"a": {"x": 2}, "b": 1}'
    if value != [1]:
        assert set_values(text, [(("a", 0), 2)]) == '{"a": {"0": 2}, "b": 1}'


def test_an_item_that_a_list_does_not_have_makes_an_object_once() -> None:
    once = set_values('{"a":[1,2]}', [(("a", 7, "x"), 5)])
    assert once == '{"a":{"7":{"x":5}}}'
    assert set_values(once, [(("a", 7, "x"), 5)]) == once
    assert set_values('{"a":[1]}', [(("a", -1), 5)]) == '{"a":{"-1":5}}'


def test_the_last_of_two_equal_keys_is_the_one_that_is_changed() -> None:
    assert set_values('{"k": 1, "k": 2, "o": 3}', [(("k",), 9)]) == '{"k": 1, "k": 9, "o": 3}'


def test_changes_follow_one_another() -> None:
    text = '{"a": [1], "b": 2}'
    assert (
        set_values(text, [(("a", 0), 5), (("a", "k"), 6), (("a", 0), 7)]) == '{"a": {"k": 6, "0": 7}, "b": 2}'
    )
    assert set_values(text, [(("b",), {"x": [1]}), (("b", "x", 0), 2)]) == '{"a": [1], "b": {"x": [2]}}'
    assert set_values(text, [(("b", "x"), 1), (("b",), 3)]) == '{"a": [1], "b": 3}'
    assert set_values(text, []) == text


def test_an_empty_path_replaces_the_whole() -> None:
    assert set_values(' {"a": 1}\n', [((), {"b": 2}), (("c",), 3)]) == ' {"b": 2, "c": 3}\n'


def test_values_that_were_handed_in_are_not_changed() -> None:
    value: dict[str, object] = {"x": 1}
    set_values("{}", [(("a",), value), (("a", "y"), 2)])
    assert value == {"x": 1}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": "x"}', '{"a": "é"}'),
        ('{"a": "\\u00fc"}', '{"a": "\\u00e9"}'),
        ('{"a": "C:\\\\uabcd \\u001f"}', '{"a": "é"}'),
        ('{"a": "ü", "b": "\\u00fc"}', '{"a": "é", "b": "\\u00fc"}'),
    ],
)
def test_characters_are_escaped_only_where_the_document_escapes_them(text: str, expected: str) -> None:
    assert set_values(text, [(("a",), "é")]) == expected


# --- lists


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        ([1, 2, 3, 4], "[1,  2 , 3 , 4]"),
        ([2, 3, 4, 5], "[2 , 3 , 4 , 5]"),
        ([0, 9, 1, 2, 3], "[0 , 9 , 1,  2 , 3]"),
        ([0, 1], "[0, 1]"),
        ([3], "[3]"),
        ([1, 2], "[1, 2]"),
        ([1, 2, 3], "[1,  2 , 3]"),
        ([1, True, 3], "[1, true, 3]"),
        ([7], "[7]"),
    ],
)
def test_items_at_the_end_of_a_list_keep_their_bytes(new: list[object], expected: str) -> None:
    assert set_values('{"a": [1,  2 , 3]}', [(("a",), new)]) == f'{{"a": {expected}}}'


def test_a_new_item_looks_like_the_items_beside_it() -> None:
    assert set_values(STATE, [(("history",), [{"step": 2}, {"step": 3}])]) == changed(
        '{"step": 1},\n        {"step": 2}', '{"step": 2},\n        {"step": 3}'
    )
    text = '{\n "l": [\n  {\n   "a": 1\n  }\n ]\n}'
    assert set_values(text, [(("l",), [{"b": 2}, {"a": 1}])]) == (
        '{\n "l": [\n  {\n   "b": 2\n  },\n  {\n   "a": 1\n  }\n ]\n}'
    )


def test_a_list_of_equal_items_takes_no_more_time_than_its_length() -> None:
    text = json.dumps({"a": [0] * 50_000 + [1]})
    result = set_values(text, [(("a",), [0] * 50_001)])
    assert json.loads(result) == {"a": [0] * 50_001}
    assert set_values(text, [(("a",), [])]) == '{"a": []}'


# --- merging


def test_maps_are_merged_at_every_depth_and_all_else_is_set() -> None:
    updates = {"actors": {"coder": {"status": None}}, "tags": ["b"], "count": {"x": {}}, "nothing": {}}
    result = merge_values(STATE, updates)
    assert json.loads(result) == json.loads(STATE) | {
        "actors": {"planner": {"status": "ok"}, "coder": {"status": None}},
        "tags": ["b"],
        "count": {"x": {}},
    }
    assert result.splitlines()[2] == STATE.splitlines()[2].replace('"pending"', "null")
    assert merge_values(STATE, {}) == STATE


def test_a_new_document_has_two_blanks_a_level() -> None:
    assert create({"a": {"b": [1, "é"]}, "c": {}}) == (
        '{\n  "a": {\n    "b": [\n      1,\n      "é"\n    ]\n  },\n  "c": {}\n}\n'
    )


# --- what cannot be done


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no JSON object"),
        ("[1]", "no JSON object"),
        ('[{"a": 1, "a": 2}]', "no JSON object"),
        ('{"a": }', "not valid JSON"),
        ('\ufeff{"a": 1}', "not valid JSON"),
        ('{"a": NaN}', "no JSON number"),
        ('{"a":' * 300 + "1" + "}" * 300, "nested more than 200"),
        ('{"a":' * 99_999, "nested"),
    ],
)
def test_a_text_that_is_no_json_object_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        set_values(text, [(("a",), 1)])
    with pytest.raises(ValueError, match=said):
        merge_values(text, {"a": 1})


def nested(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("a",), "\ud800"),
        (("a",), [{"\udfff": 1}]),
        (("a",), nested(200)),
        (("a",) * 201, 1),
        (("a",), nested(5000)),
        (("a",), [10**5000]),
    ],
)
def test_what_could_not_be_read_again_is_not_written(path: Any, value: object) -> None:
    with pytest.raises(ValueError, match=r"nested more|surrogate|digits"):
        set_values("{}", [(path, value)])


def test_the_deepest_value_that_can_be_read_can_be_written() -> None:
    text = set_values("{}", [(("a",), nested(199)), (("b",) * 200, 1)])
    assert set_values(text, [(("b",) * 200, 2)]).count("2") == 1


# --- any document

KEYS = st.sampled_from(["a", "b", "c", "é", 'q"', ""])
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.floats(-2, 2), st.text('a1é\n"\\{,', max_size=3)
)
VALUES = st.recursive(
    LEAVES,
    lambda below: st.one_of(st.lists(below, max_size=4), st.dictionaries(KEYS, below, max_size=4)),
    max_leaves=12,
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=5)
SPACES = st.lists(
    st.sampled_from(["", "", " ", "\n", "\n  ", "\r\n\t", "\r ", "\n\n    "]), min_size=1, max_size=9
)
PATHS = st.lists(st.one_of(KEYS, st.integers(-1, 3)), min_size=1, max_size=4).map(tuple)
CHANGES = st.lists(st.tuples(PATHS, VALUES), max_size=5)


def laid_out(value: object, space: Iterator[str]) -> str:
    """A value as JSON with any white space wherever JSON allows some."""
    if isinstance(value, dict):
        parts = [
            f"{next(space)}{json.dumps(k)}{next(space)}:{next(space)}{laid_out(v, space)}{next(space)}"
            for k, v in value.items()
        ]
        return f"{{{','.join(parts) or next(space)}}}"
    if isinstance(value, list):
        parts = [f"{next(space)}{laid_out(item, space)}{next(space)}" for item in value]
        return f"[{','.join(parts) or next(space)}]"
    return json.dumps(value)


DOCUMENTS = st.one_of(
    st.builds(lambda value, spaces: laid_out(value, cycle(spaces)), OBJECTS, SPACES),
    st.builds(
        lambda value, indent: json.dumps(value, indent=indent), OBJECTS, st.sampled_from([None, 1, "\t"])
    ),
)


def applied(data: Any, path: tuple[str | int, ...], value: object) -> Any:
    """The change as plain data, by the words of the docstring."""
    if not path:
        return deepcopy(value)
    step, rest = path[0], path[1:]
    if isinstance(data, list) and isinstance(step, int) and 0 <= step < len(data):
        return [*data[:step], applied(data[step], rest, value), *data[step + 1 :]]
    held = data if isinstance(data, dict) else {}
    return {**held, str(step): applied(held.get(str(step)), rest, value)}


def exact(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def span_in(text: str, path: tuple[str | int, ...]) -> tuple[int, int] | None:
    span = locate_json(text, path)
    if span is None:
        return None
    starts = [0, *(index + 1 for index, character in enumerate(text) if character == "\n")]
    return starts[span.line] + span.column, starts[span.end_line] + span.end_column


@given(DOCUMENTS, CHANGES)
def test_any_change_gives_the_data_asked_for_and_twice_is_once(text: str, changes: list[Any]) -> None:
    expected = json.loads(text)
    for path, value in changes:
        expected = applied(expected, path, value)
    result = set_values(text, changes)
    assert exact(json.loads(result)) == exact(expected)
    if len(changes) == 1:
        assert set_values(result, changes) == result


@given(DOCUMENTS, PATHS, VALUES)
def test_what_stands_before_and_behind_a_changed_value_keeps_its_bytes(
    text: str, path: tuple[str | int, ...], value: object
) -> None:
    result = set_values(text, [(path, value)])
    place = span_in(text, path)
    if place is not None:
        behind = text[place[1] :]
        assert result[: place[0]] == text[: place[0]]
        assert result[len(result) - len(behind) :] == behind
        return
    # The longest part of the path that is there is an object that grew, or a value that was replaced.
    depth = max(depth for depth in range(len(path)) if span_in(text, path[:depth]))
    start, end = span_in(text, path[:depth]) or (0, 0)
    behind = text[end:]
    assert result[:start] == text[:start]
    assert result[len(result) - len(behind) :] == behind
    members = text[start + 1 : end - 1].rstrip()
    if text[start] == "{" and members:
        assert result[start + 1 :].startswith(members)
        assert result[: len(result) - len(behind) - 1].endswith(text[start + 1 + len(members) : end - 1])


@given(DOCUMENTS, st.lists(st.tuples(KEYS, LEAVES), max_size=4, unique_by=lambda change: change[0]))
def test_many_changes_at_once_touch_nothing_between_them(text: str, changes: list[Any]) -> None:
    data = json.loads(text)
    there = [((name,), value) for name, value in changes if name in data]
    result = set_values(text, there)

    def neutral(document: str) -> str:
        for start, end in sorted((span_in(document, path) or (0, 0) for path, _ in there), reverse=True):
            document = f"{document[:start]}§{document[end:]}"
        return document

    assert neutral(result) == neutral(text)


@example([[], []], [], 1, False, ["", "", "", "", "", "", "", " "])
@given(
    st.lists(VALUES, min_size=1, max_size=6),
    st.lists(VALUES, max_size=3),
    st.integers(0, 5),
    st.booleans(),
    SPACES,
)
def test_the_kept_part_of_any_window_is_found_unchanged(
    old: list[Any], added: list[Any], dropped: int, in_front: bool, spaces: list[str]
) -> None:
    dropped = 0 if in_front else min(dropped, len(old) - 1)
    text = laid_out({"l": old}, cycle(spaces))
    new = [*added, *old] if in_front else [*old[dropped:], *added]
    result = set_values(text, [(("l",), new)])
    assert exact(json.loads(result)) == exact({"l": new})
    first, last = span_in(text, ("l", dropped)), span_in(text, ("l", len(old) - 1))
    assert first is not None and last is not None
    # Where items repeat, another part may have been kept than the one looked for here.
    every = [exact(item) for item in (*old, *added)]
    assert text[first[0] : last[1]] in result or any(every.count(item) > 1 for item in every)


@given(DOCUMENTS, OBJECTS)
def test_any_merge_gives_the_data_asked_for(text: str, updates: dict[str, Any]) -> None:
    def merged(data: Any, value: Any) -> Any:
        if not (isinstance(data, dict) and isinstance(value, dict)):
            return value
        return data | {name: merged(data.get(name), item) for name, item in value.items()}

    result = merge_values(text, updates)
    assert exact(json.loads(result)) == exact(merged(json.loads(text), updates))
    assert merge_values(result, updates) == result


@given(VALUES)
def test_a_new_document_reads_back(value: object) -> None:
    assert exact(json.loads(create(value))) == exact(value)
    assert create(value) == json.dumps(value, indent=2, ensure_ascii=False) + "\n"
