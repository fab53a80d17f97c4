"""Values that may not be loosened: how they are found in any state, kept by records, and put back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from phasekeeper.orchestration.definition.compiler import compile_definition
from phasekeeper.orchestration.definition.model import Workflow
from phasekeeper.orchestration.definition.reader import InvalidWorkflow, Source, load_definition
from phasekeeper.orchestration.definition.state_changes import Ratchet
from phasekeeper.orchestration.journal.baseline import read_baseline
from phasekeeper.orchestration.journal.journal import record
from phasekeeper.orchestration.snapshot.run_files import read_run
from phasekeeper.orchestration.snapshot.snapshot import Snapshot
from phasekeeper.orchestration.snapshot.state_ratchets import moved_elements, state_values
from phasekeeper.orchestration.vfs.overlay import MemoryFiles

RATCHETS = """
    top: limit
    least: count
    word: {order: [strict, "lax | loose"]}
    list[]: members
    list[].deep.word: {order: [strict | absent, lax]}
    free[].word: {order: [strict, lax]}
    map.*: members
    map.*.word: {order: [strict, lax]}
    in.map: count
"""


def workflow(ratchets: str = RATCHETS) -> Workflow:
    text = f"""
workflow: own
runs: {{at: [runs/*], marker: {{file: s.json, has: [phase]}}}}
state:
  file: s.json
  ratchet: {ratchets}
phase: state.phase
phases: {{a: {{}}}}
"""
    return compile_definition(*load_definition(Source("own.yaml", text)))


OWN = workflow()


def read(now: Any, before: Any, *, broken: bytes | None = None) -> Snapshot:
    """The run with a state, while HEAD has another."""
    committed = broken if broken is not None else json.dumps({"phase": "a", **before}).encode()
    files = MemoryFiles({"runs/r/s.json": json.dumps({"phase": "a", **now})})
    return read_run(OWN, files, "runs/r", committed=lambda path: committed)


def told(snapshot: Snapshot) -> list[str]:
    return [found.message.partition(";")[0] for found in snapshot.findings]


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        ({"top": 1}, {"top": 1.5}, "top was 1, now it is 1.5"),
        ({"top": 1}, {}, "top was 1, now it is absent"),
        ({"top": 1}, {"top": True}, "top was 1, now it is true"),
        ({"least": 2}, {"least": 1}, "least was 2, now it is 1"),
        ({"word": "Strict"}, {"word": "loose"}, "word was Strict, now it is loose"),
        ({"word": "lax"}, {"word": "x" * 99}, f"word was lax, now it is {'x' * 60}…"),
        ({"in": {"map": 2}}, {}, "in.map was 2, now it is absent"),
        ({"map": {"a": {"word": "strict"}}}, {"map": {"b": {}}}, "map.a was taken away"),
        ({"map": {"a": {"word": "strict"}}}, {}, "map.a was taken away"),
        ({"list": [{"id": 7, "deep": {"word": "lax"}}]}, {}, "list[7] was taken away"),
        ({"list": [{"deep": {}}]}, {"list": [{"deep": {"word": "lax"}}]}, "list[].deep.word was absent, now"),
        ({"list": ["a", "a", 3]}, {"list": ["a", 3]}, "list[a#2] was taken away"),
    ],
)
def test_the_stricter_of_both_is_read(before: Any, now: Any, said: str) -> None:
    snapshot = read(now, before)
    assert snapshot.state
    assert [line.startswith(said) for line in told(snapshot)] == [True]
    assert OWN.state
    kept, was = (state_values(OWN.state, data) for data in (snapshot.state.data, before))
    assert {names: kept.get(names) for names in was} == was


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ({"top": 2}, {"top": 1}),
        ({"least": 1}, {"least": 2}),
        ({"word": "lax"}, {"word": "loose"}),
        ({"word": "odd"}, {"word": "lax"}),
        ({"top": "odd"}, {"top": 9}),
        ({"free": [{"id": "a", "word": "strict"}]}, {"free": []}),
        ({"list": []}, {"list": [{"id": "a"}]}),
        ({"list": [{"id": 7}]}, {"list": [{"id": 7, "deep": {"word": "lax"}}]}),
    ],
)
def test_what_is_as_strict_or_was_not_known_counts(before: Any, now: Any) -> None:
    assert told(read(now, before)) == []


@pytest.mark.parametrize("data", [{"list": {"a": 1}}, {"list": 3}, {"map": [1]}, {"map": 3}, {"in": 3}])
def test_what_stands_where_a_list_or_map_should_is_left(data: Any) -> None:
    before = {"list": [{"id": "a"}], "map": {"a": {"word": "strict"}}, "in": {"map": 2}}
    snapshot = read({**before, **data}, before)
    [name] = data
    assert snapshot.state
    assert snapshot.state.data[name] == data[name]
    assert told(snapshot)


@pytest.mark.parametrize("broken", [b"\xff", b"[]", b"{"])
def test_a_state_of_head_that_cannot_be_read_says_nothing(broken: bytes) -> None:
    assert told(read({"top": 9}, {}, broken=broken)) == []


def test_many_loosened_values_are_told_in_one_more_line() -> None:
    lists = {"list": [{"id": str(n)} for n in range(30)]}
    more = "and 10 more values that are looser than they were"
    assert told(read({}, lists))[-2:] == ["list[19] was taken away", more]


def test_a_recorded_value_that_has_no_ratchet_any_more_may_be_loosened() -> None:
    held = [{"head": ""}, {"path": ["old"], "value": 1}, {"path": ["top"], "value": 1}]
    line = json.dumps({"seq": 1, "kind": "report", "phase": "a", "held": held, "prev": ""})
    state = {"phase": "a", "old": 9, "top": 9}
    files = {"runs/r/s.json": json.dumps(state), "runs/r/.phasekeeper/journal.jsonl": f"{line}\n"}
    snapshot = read_run(OWN, MemoryFiles(files), "runs/r")
    assert snapshot.state
    assert (snapshot.state.data["old"], snapshot.state.data["top"]) == (9, 1)
    assert [found.code for found in snapshot.findings] == ["state-loosened"]


def test_what_no_record_can_have_written_is_passed_over() -> None:
    odd: list[Any] = [3, {"path": 3}, {"parameter": 3}, {"head": 3}, {}]
    assert read_baseline([record(held=odd), record()]) == ({}, {}, None)
    held = [{"path": ["a", 1], "value": 2}, {"parameter": "p", "value": 3}, {"head": "d"}]
    assert read_baseline([record(held=held)]) == ({("a", "1"): 2}, {"p": 3}, "d")


@pytest.mark.parametrize("ratchet", ["{}", "{limit: true, members: true}", "{order: []}"])
def test_a_ratchet_goes_one_way(ratchet: str) -> None:
    with pytest.raises(InvalidWorkflow, match="one of order, limit, count, members and constant,"):
        workflow(f"{{a: {ratchet}}}")


def test_a_number_that_is_a_limit_and_a_count_is_held_both_ways() -> None:
    ratchet = Ratchet(limit=True, count=True)
    assert [ratchet.loosens(5, now) for now in (4, 5, 6, None)] == [True, False, True, True]
    workflow("{a: {limit: true, count: true}}")


def test_elements_of_a_baseline_come_in_the_order_of_their_list() -> None:
    def kept(name: str, **more: str) -> dict[str, object]:
        return {"path": ["steps", name], "value": True, **more}

    newest_first = [[kept("2"), kept("1")], [kept("4", before="2"), kept("3", before="2")]]
    more = [[kept("5", before="4")], [kept("0"), kept("3"), kept("6", before="gone")]]
    baseline = read_baseline([record(held=held) for held in (*newest_first, *more)])
    assert [names[-1] for names in baseline.state] == ["5", "4", "3", "2", "1", "0", "6"]


@given(st.lists(st.permutations("abcdef"), min_size=3, max_size=3))
def test_elements_that_were_moved_stand_where_the_newest_record_had_them(orders: list[list[str]]) -> None:
    records = [record(held=[{"path": ["list", name], "value": True} for name in orders[0]])]
    for order in orders[1:]:
        known = read_baseline(records).state
        values = {("list", name): True for name in order}
        moved = moved_elements(OWN.state, values, known) if OWN.state else {}
        held = [{"path": [*names], "value": True, "before": behind} for names, behind in moved.items()]
        records.append(record(held=held))
        assert [*read_baseline(records).state] == [*values]


def test_only_elements_of_a_list_have_an_order() -> None:
    assert OWN.state
    here, there = {("map", "a"): True, ("map", "b"): True}, {("map", "b"): True, ("map", "a"): True}
    assert moved_elements(OWN.state, here, there) == {}


def test_an_element_that_is_gone_is_put_back_behind_the_one_ahead_of_it() -> None:
    def order(now: list[str]) -> list[str]:
        before = {"list": [{"id": name} for name in "abcd"]}
        snapshot = read({"list": [{"id": name} for name in now]}, before)
        assert snapshot.state
        return [element["id"] for element in snapshot.state.data["list"]]

    assert order(["a", "d"]) == ["a", "b", "c", "d"]
    assert order(["d"]) == ["a", "b", "c", "d"]
    assert order([]) == ["a", "b", "c", "d"]
    assert order(["new", "b", "d"]) == ["new", "a", "b", "c", "d"]
    # What was moved to the front does not take along what stood ahead of it.
    assert order(["d", "a", "c"]) == ["d", "a", "b", "c"]
