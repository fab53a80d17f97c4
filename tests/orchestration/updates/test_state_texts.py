from __future__ import annotations

import json

import pytest
from phasekeeper.orchestration.updates.effects import as_filed, with_updates, with_value


def test_members_of_a_list_keep_the_nulls_that_guards_do_not_see():
    raw = [{"a": 1, "b": None}, {"c": [None, {"d": None}]}, "text", None]
    seen = [{"c": [{}]}, {"a": 1}, {"new": 2}, "text", "other"]
    assert as_filed(seen, raw) == [
        {"c": [None, {"d": None}]},
        {"a": 1, "b": None},
        {"new": 2},
        "text",
        "other",
    ]


def test_a_value_that_is_the_same_is_the_one_in_the_file():
    raw = {"a": {"b": None, "c": 1}, "d": [None]}
    assert as_filed({"a": {"c": 1}, "d": []}, raw) is raw
    assert as_filed({"a": {"c": 1}, "d": [2]}, raw) == {"a": {"b": None, "c": 1}, "d": [2]}


@pytest.mark.parametrize(("value", "raw"), [({"a": 1}, [1]), ([1], {"a": 1}), (1, [1]), ([1], None)])
def test_a_value_of_another_type_replaces_what_is_there(value: object, raw: object):
    assert as_filed(value, raw) == value


def test_a_value_is_set_and_the_rest_keeps_its_bytes():
    text = '{"list" :[ {"x":null,  "y":1} ],\n "other":{"a":null}}'
    changed = with_value(text, "list", [{"y": 1}, {"z": 2}], False)
    assert changed.startswith('{"list" :[ {"x":null,  "y":1}, ')
    assert changed.endswith('\n "other":{"a":null}}')
    assert json.loads(changed)["list"] == [{"x": None, "y": 1}, {"z": 2}]


def test_a_value_is_set_at_a_path_that_is_not_there_yet():
    assert json.loads(with_value("{}", "a.b", 1, False)) == {"a": {"b": 1}}
    assert json.loads(with_value('{"a": 7}', "a.b", 1, True)) == {"a": {"b": 1}}


def test_updates_fold_their_keys_with_dots():
    assert json.loads(with_updates('{"a": {"x": 1}}', {"a.b": 2, "c.d.e": None}, False)) == {
        "a": {"x": 1, "b": 2},
        "c": {"d": {"e": None}},
    }


@pytest.mark.parametrize("updates", [{"a.b": 2}, {"a": {"b": 2}}])
def test_a_key_with_dots_in_the_file_says_the_same_as_its_path(updates: dict):
    changed = json.loads(with_updates('{"a.b": 1, "a": {"b": null, "c": 3}}', updates, True))
    assert changed == {"a.b": 2, "a": {"b": 2, "c": 3}}


def test_a_key_with_dots_keeps_what_an_update_of_its_neighbour_leaves():
    changed = json.loads(with_updates('{"a.b": 1, "a": {"b": null}}', {"a.c": 2}, True))
    assert changed == {"a.b": 1, "a": {"b": None, "c": 2}}


def test_a_key_with_dots_is_a_key_like_any_other_where_it_is_not_folded():
    changed = json.loads(with_value('{"a.b": 1}', "a.b", 2, False))
    assert changed == {"a.b": 1, "a": {"b": 2}}


def test_a_path_that_an_update_cuts_off_leaves_null_at_its_key_with_dots():
    assert json.loads(with_value('{"a.b": 1}', "a", 5, True)) == {"a.b": None, "a": 5}
