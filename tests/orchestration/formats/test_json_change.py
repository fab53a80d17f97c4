"""A text that is JSON by what changed in it is JSON; what people and tools do to large files is seen."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from phasekeeper.orchestration.formats.json_change import MOST_CHANGED, MOST_GROUPS, stays_json

ITEM = {"id": 1, "title": "Work [on] {it}", "done": False, "needs": [], "parts": [{"id": 2}, 3, "x"]}
WHOLE = json.dumps({"master": {"tasks": [ITEM, {**ITEM, "id": 2}], "about": {"at": "now"}}, "n": 1}, indent=1)
PIECES = [
    "\n", ",", ":", "[", "]", "{", "}", "[]", "{}", '"', '"k"', '"k": 1', '"k": 1,', ', "k": 1', "1", ", 2",
    "3,",
    "null", "true,", "-", "NaN", "\\", '"a\\"', "[1, 2]", '{"k": []},', ' "k"\n: ', "\t", "1 2",
]  # fmt: skip


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def edited(text: str, place: float, size: int, piece: str) -> str:
    at = int(place * len(text))
    return text[:at] + piece + text[at + size :]


EDITS = st.lists(
    st.tuples(
        st.floats(0, 1), st.integers(0, 40), st.lists(st.sampled_from(PIECES), max_size=4).map("".join)
    ),
    min_size=1,
    max_size=4,
)
DOCUMENTS = st.sampled_from(
    [WHOLE, WHOLE.replace('": ', '"\n:\n'), f"\n\n{WHOLE}\n\n", "\n[\n1\n,\n2\n]\n", "\n1\n"]
)


@given(DOCUMENTS, EDITS)
def test_what_is_told_from_the_lines_that_changed_holds_of_the_whole(before: str, edits) -> None:
    text = before
    for edit in edits:
        text = edited(text, *edit)
    assert not stays_json(text, before) or is_json(text)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"done": false', '"done": true'),
        ('"done": false,', '"done": true,\n   "updatedAt": "2026-01-01",'),
        ('"needs": [],', '"needs": [\n  1,\n  2\n],'),
        ('"n": 1', '"n": 1,\n"m": {"a": [1]}'),
    ],
)
def test_what_tools_write_into_a_file_is_told_from_its_lines(old: str, new: str) -> None:
    assert old in WHOLE
    assert stays_json(WHOLE.replace(old, new, 1), WHOLE)


def test_lines_that_changed_in_several_places_are_told_each_by_itself() -> None:
    items = [{**ITEM, "id": number} for number in range(MOST_GROUPS + 2)]
    before = json.dumps(items, indent=1)
    texts = [before]
    for number in range(len(items)):
        said = f'"id": {number},\n  "title": "Work'
        texts.append(texts[-1].replace(said, said.replace("Work", f"More\\nwork {number}")))
    assert [stays_json(text, before) for text in texts] == [n <= MOST_GROUPS for n in range(len(texts))]
    torn = texts[2].replace('"id": 1,', '"id": 1', 1)
    assert not is_json(torn) and not stays_json(torn, before)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"done": false,', '"done": false'),
        ('"done": false,', '"done": "fal'),
        ("    3,", "    3"),
        ('"needs": [],', '"needs": [,'),
        ('"needs": [],', '"needs": [], 7,'),
        ('"n": 1', '"n": 1,'),
    ],
)
def test_what_breaks_a_file_is_not_taken_for_json(old: str, new: str) -> None:
    assert old in WHOLE
    assert not stays_json(WHOLE.replace(old, new, 1), WHOLE)


def test_nothing_is_told_of_one_line_and_of_many_lines() -> None:
    line = json.dumps(ITEM)
    assert not stays_json(line.replace("false", "true"), line)
    assert not stays_json(WHOLE.replace('"n": 1', '"n": 1' + "\n" * MOST_CHANGED), WHOLE)
