"""Patterns over records and tasks."""

from __future__ import annotations

import pytest
from phasekeeper.orchestration.expressions.queries import Index, Tasks, dig, matcher

ITEMS = [
    {"n": 0, "kind": "a", "done": True, "tags": ["x"]},
    {"n": 1, "kind": "b", "done": False, "tags": []},
    {"n": 2, "kind": "a", "done": False, "tags": []},
    {"n": 3, "kind": "c", "done": 1, "tags": "['x']"},
    {"n": 4, "kind": None, "done": 0.0, "tags": []},
]


def picked(pattern: dict) -> list[int]:
    index = Index(ITEMS)
    found = [item["n"] for item in index.pick(pattern)]
    assert found == [item["n"] for item in ITEMS if matcher(pattern)(item)]
    return found


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ({}, [0, 1, 2, 3, 4]),
        ({"kind": "a"}, [0, 2]),
        ({"kind": "a", "done": False}, [2]),
        ({"kind": ["c", "a"]}, [0, 2, 3]),
        ({"kind": ["a", "b", "a"], "done": [False]}, [1, 2]),
        ({"kind": []}, []),
        ({"done": True}, [0]),
        ({"done": 1}, [3]),
        ({"done": 1.0}, [3]),
        ({"done": 0}, [4]),
        ({"done": False}, [1, 2]),
        ({"kind": "None"}, []),
        ({"tags": "['x']"}, [3]),
        ({"n": 1.0}, [1]),
        ({"kind": "z"}, []),
    ],
)
def test_a_list_stands_for_any_of_its_members_and_true_is_not_one(pattern: dict, expected: list[int]):
    assert picked(pattern) == expected


def test_a_field_that_no_item_has_matches_nothing():
    assert Index(ITEMS).pick({"nothing": "a"}) == []
    assert not matcher({"nothing": "a"})(ITEMS[0])
    assert not matcher({"n": 0})("no map")


def test_more_choices_than_items_cost_no_more_than_the_items():
    wide = {"n": list(range(2000)), "kind": [f"k{n}" for n in range(2000)] + ["a"], "done": [True, False]}
    assert picked(wide) == [0, 2]


def test_what_stands_behind_the_newest_mark():
    index = Index(ITEMS)
    assert [item["n"] for item in index.since({"kind": "a"}, {"done": [1, False, 0]})] == [3, 4]
    assert [item["n"] for item in index.since({"kind": "z"}, {"kind": "a"})] == [0, 2]


def test_a_longer_index_is_not_seen_by_the_one_that_it_begins_with():
    first = Index(ITEMS[:2])
    assert first.pick({"kind": "a"}) == ITEMS[:1]
    longer = first.with_items(ITEMS[2:])
    for pattern in ({"kind": "a"}, {"kind": ["a", "c"]}, {"done": False}, {}):
        assert first.pick(pattern) == [item for item in ITEMS[:2] if matcher(pattern)(item)]
        assert longer.pick(pattern) == [item for item in ITEMS if matcher(pattern)(item)]
    assert (first.items, longer.items) == (ITEMS[:2], ITEMS)


def test_two_that_go_on_from_one_index_differently_do_not_see_each_other():
    first = Index(ITEMS[:2])
    one, other = first.with_items(ITEMS[2:3]), first.with_items([{**ITEMS[2], "kind": "b"}, ITEMS[4]])
    assert [item["n"] for item in one.pick({"kind": "a"})] == [0, 2]
    assert [item["n"] for item in other.pick({"kind": "b"})] == [1, 2]
    assert [item["n"] for item in one.with_items(ITEMS[3:]).pick({"kind": ["c", None]})] == [3, 4]
    assert [item["n"] for item in other.pick({"kind": None})] == [4]


@pytest.mark.parametrize("items", [ITEMS, ITEMS[:3], ITEMS[1:], [dict(item) for item in ITEMS], []])
def test_an_index_after_another_holds_its_own_items(items: list[dict]):
    before = Index(ITEMS)
    before.pick({"kind": "a"})
    after = Index.after(items, before)
    assert after.items == items
    assert after.pick({"kind": "a"}) == [item for item in items if item["kind"] == "a"]
    assert before.pick({"kind": "a"}) == [ITEMS[0], ITEMS[2]]


def test_an_index_after_another_with_the_same_items_is_that_one():
    before = Index(ITEMS)
    assert Index.after(ITEMS, before) is before
    assert Index.after(ITEMS[:3], before) is not before


def test_task_files_are_read_for_the_tasks_at_hand_or_for_all_once_a_pattern_asks_for_them():
    asked: list[str] = []

    def details(item) -> dict[str, object]:
        asked.append(item["id"])
        return {"files": "one" if item["id"] == "b" else "two"}

    tasks = Tasks(Index([{"id": "a", "done": True}, {"id": "b", "done": True}]), (), details)
    assert tasks.whole(tasks.pick({"id": "b"})) == [{"id": "b", "done": True, "files": "one"}]
    assert asked == ["b"]
    assert [task["id"] for task in tasks.pick({"files": "one"})] == ["b"]
    assert [task["id"] for task in tasks.pick({"files": "two", "done": True})] == ["a"]
    assert asked == ["b", "a", "b"]


@pytest.mark.parametrize(
    "pattern",
    [
        {}, {"done": True}, {"stage": "1"}, {"stage": "2", "done": False}, {"stage": "9"},
        {"stage": ["1", "2"]},
        {"stage": True}, {"id": "c"}, {"id": ["d", "a", "z", 1, True]}, {"id": 1}, {"id": None}, {"id": []},
        {"id": ["a", "c"], "stage": "2"}, {"id": ["b", "c"], "done": True},
    ],
)  # fmt: skip
@pytest.mark.parametrize("is_unique", [True, False])
def test_tasks_are_picked_from_the_stages_that_can_hold_them_as_from_all(pattern: dict, is_unique: bool):
    stages = {"1": "ab", "2": "cd", "3": ""}
    items = [
        {"id": name, "stage": stage, "done": name in "ac"}
        for stage, names in stages.items()
        for name in names
    ]
    by_stage = {stage: Index([item for item in items if item["stage"] == stage]) for stage in stages}
    stage_of = {item["id"]: item["stage"] for item in items}.get
    tasks = Tasks(Index(items), (), dict, by_stage, stage_of if is_unique else None)
    assert tasks.pick(pattern) == Index(items).pick(pattern)


def test_no_plan_has_no_tasks_and_no_stage():
    assert Tasks().pick({}) == []
    assert Tasks().open_stage(frozenset(), frozenset()) == {}


def test_a_dotted_path_leads_through_maps_only():
    assert dig({"a": {"b": 1}}, "a.b") == 1
    assert dig({"a": [1]}, "a.b") is None
    assert dig({}, "a") is None
