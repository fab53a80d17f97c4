from __future__ import annotations

import json

import pytest
from phasekeeper.orchestration.lint.checks import parse_workflow
from phasekeeper.orchestration.snapshot.run_files import read_run
from phasekeeper.orchestration.snapshot.snapshot import Snapshot
from phasekeeper.orchestration.updates.commands import CommandRefused
from phasekeeper.orchestration.updates.effects import new_members
from phasekeeper.orchestration.vfs.overlay import MemoryFiles

from tests.orchestration.definitions import BODY, HEAD

INCLUDE = HEAD.replace(
    "{file: state.json}\n", '{file: state.json, include: {parts: {at: "/parts/{id}.json"}}}\n'
)
PLACE = "parts/a.json"


def snapshot(state: str, definition: str = INCLUDE, **files: str) -> Snapshot:
    at = {"tasks/T1/state.json": state, **{f"parts/{name}.json": text for name, text in files.items()}}
    return read_run(parse_workflow(definition + BODY, "small.yaml"), MemoryFiles(at), "tasks/T1")


def test_a_new_member_gets_its_file_and_is_listed():
    made = new_members(snapshot('{"parts": ["z"]}'), "parts", [{"id": "a", "n": 1}, {"id": "b"}, {"id": "a"}])
    assert {path: json.loads(text) for path, text in made.files.items()} == {
        PLACE: {"id": "a", "n": 1},
        "parts/b.json": {"id": "b"},
    }
    assert made.listed == ["z", "a", "b"]


def test_a_list_that_is_not_there_yet_is_begun():
    assert new_members(snapshot("{}"), "parts", [{"id": 7}]).listed == ["7"]
    assert new_members(snapshot('{"parts": null}'), "parts", []).listed == []


def test_a_member_that_stands_in_the_list_as_a_whole_is_found():
    state = snapshot('{"parts": [{"id": "a"}, 3]}')
    assert new_members(state, "parts", [{"id": "a"}, {"id": "3"}]).listed == [{"id": "a"}, 3]


@pytest.mark.parametrize(
    "there", ['{"id": "a"}', '{"id": "a", "owner_id": null}', '{"owner_id": 1}', "[]", "{", ""]
)
def test_a_file_that_is_there_stays_as_it_is(there: str):
    made = new_members(snapshot("{}", a=there), "parts", [{"id": "a", "owner_id": "1"}])
    assert (made.files, made.listed) == ({}, ["a"])


@pytest.mark.parametrize("there", ['{"id": "b"}', '{"id": "a", "owner_id": "2"}'])
def test_a_file_of_another_is_not_taken(there: str):
    with pytest.raises(CommandRefused, match=f"{PLACE} exists already and belongs to another"):
        new_members(snapshot("{}", a=there), "parts", [{"id": "a", "owner_id": "1"}])


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../a", "a\\b", "a\0b"])
def test_an_id_that_is_no_name_is_refused(name: str):
    with pytest.raises(CommandRefused, match="is no id of a member of parts"):
        new_members(snapshot("{}"), "parts", [{"id": name}])


@pytest.mark.parametrize("members", [None, 7, {"id": "a"}, ["a"], [{"id": "a"}, 1]])
def test_members_that_are_no_objects_are_refused(members: object):
    with pytest.raises(CommandRefused, match="must be a list of objects"):
        new_members(snapshot("{}"), "parts", members)


@pytest.mark.parametrize(
    ("state", "definition"),
    [
        ("{", INCLUDE),
        ('{"parts": 7}', INCLUDE),
        ("{}", HEAD),
        ("{}", HEAD.replace("state: {file: state.json}\n", "")),
    ],
)
def test_a_state_without_such_a_list_is_refused(state: str, definition: str):
    with pytest.raises(CommandRefused, match="parts is no list of the state"):
        new_members(snapshot(state, definition), "parts", [{"id": "a"}])
