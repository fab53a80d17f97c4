"""A tasks.json that is read after another one is what its text says, and costs what differs."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from phasekeeper.orchestration.formats import json_lists
from phasekeeper.orchestration.formats.json_lists import ListDocument, common_length, read_lists
from phasekeeper.orchestration.plans.model import Plan
from phasekeeper.orchestration.plans.records import tags, task_master
from phasekeeper.orchestration.plans.records.task_master import tag_dialect


def task(number: int, status: str = "pending", **more: object) -> dict[str, object]:
    return {"id": number, "title": f"Task {number}", "status": status, "dependencies": [number - 1], **more}


PARTS = [{"id": 1, "status": "done"}, {"id": 2, "title": "b", "dependencies": [1, "4"]}, None]
TEXT = json.dumps(
    {
        "master": {
            "tasks": [task(n) if n % 3 else task(n, "done", subtasks=PARTS) for n in range(1, 9)],
            "metadata": {"updated": "2026-01-01"},
        },
        "later": {"tasks": [task(1), task(2, "cancelled")], "metadata": {}},
    },
    indent=1,
)
PIECES = [
    "\n", "\n\n", " ", ",", ", ", "[", "]", "{", "}", '"', "\\", "1", "null", "null, ", "true", "-", "e5",
    '"id": 3, ', '"id": 3', '"status": "done", ', '"status": "done"', '"status": "in-progress"',
    '{"id": 99, "title": "new"}, ', ', {"id": 99}', '{"id": "x.1", "dependencies": 3}, ', "{}, ", "[], ",
    '"subtasks": [{"id": 1}], ', '"subtasks": [], ', '"tasks": [], ', '"tasks": {}', "\\ud800", "\\u0061",
    '"st\\u0061tus": "done", ', "[" * 120, "]" * 120, '"metadata": {}, ', '"dependencies": [7], ',
    "NaN", '"status": 7, ', "é", "😀",
]  # fmt: skip
WORDS = ["pending", "done", "cancelled", "review", "another"]
PLACES = st.floats(0, 1, exclude_max=True)
EDITS = st.lists(
    st.one_of(
        st.tuples(st.just("insert"), PLACES, st.sampled_from(PIECES)),
        st.tuples(st.just("replace"), PLACES, st.sampled_from(WORDS)),
        st.tuples(st.just("remove"), PLACES, st.integers(1, 150)),
        st.tuples(st.just("back"), PLACES, st.just("")),
    ),
    min_size=1,
    max_size=8,
)
UNITS = ("master", "later")
FLAT = json.dumps(json.loads(TEXT))
"""The same in one line, where a task moves to the right."""


def edited(text: str, kind: str, place: float, what: str | int, whole: str = TEXT) -> str:
    at = int(place * (len(text) + 1))
    if kind == "back":
        return whole
    if kind == "replace":
        start = text.find('"status": "', at) + len('"status": "')
        end = text.find('"', start)
        return text if start < len('"status": "') or end < 0 else text[:start] + str(what) + text[end:]
    return text[:at] + text[at + what :] if isinstance(what, int) else text[:at] + what + text[at:]


def all_of(plan: Plan | None) -> object:
    """A plan with what is looked up in it."""
    return plan and (plan, dict(plan.by_id), [*map(plan.span, plan.tasks)], dict(plan.details))


def whole(text: str) -> ListDocument:
    return read_lists(text, tags._paths_of)


@given(st.sampled_from([TEXT, FLAT]), EDITS)
def test_tags_read_after_any_other_text_are_the_tags_read_alone(start, edits) -> None:
    text = start
    before: dict[str, Plan | None] = dict.fromkeys(UNITS)
    for kind, place, what in [("back", 0.0, ""), *edits]:
        text = edited(text, kind, place, what, start)
        again = {unit: tag_dialect(unit).read_after(text, before[unit]) for unit in UNITS}
        assert tags.read_text(text) == whole(text)
        told = {unit: tag_dialect(unit).fault(text) for unit in UNITS}
        tags._newest.clear()
        for unit in UNITS:
            assert all_of(again[unit]) == all_of(tag_dialect(unit).read(text))
            assert told[unit] == tag_dialect(unit).fault(text)
            before[unit] = again[unit] or before[unit]


@given(EDITS)
def test_places_of_keys_are_those_that_a_full_look_finds(edits) -> None:
    text = TEXT
    for kind, place, what in edits:
        text = edited(text, kind, place, what)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                "phasekeeper.orchestration.plans.records.located_json._places_of_unique", lambda *words: None
            )
            slowly = [all_of(task_master.read_tag(text, unit)) for unit in UNITS]
        assert slowly == [all_of(task_master.read_tag(text, unit)) for unit in UNITS]


@given(st.text("ab", max_size=3000), st.text("ab", max_size=3), st.integers(0, 5), st.integers(0, 5))
def test_the_common_length_is_that_of_the_texts(start, end, at, there) -> None:
    one, other = "a" * at + start + end, "b" * there + start + "b" * 600
    said = common_length(one, min(at, len(one)), other, there)
    rest = zip(one[at:], other[there:], strict=False)
    assert said == next(
        (n for n, (a, b) in enumerate(rest) if a != b), min(len(one) - at, len(other) - there)
    )


def test_of_a_large_file_what_differs_is_decoded_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    many = {"master": {"tasks": [task(n) for n in range(1, 2001)], "metadata": {"updated": "a"}}}
    text = json.dumps(many, indent=1)
    tags._newest.clear()
    dialect = tag_dialect("master")
    before = dialect.read(text)
    assert before
    decoded: list[int] = []
    located: list[int] = []
    decode, locate = json_lists._decode, task_master.located_object
    monkeypatch.setattr(json_lists, "_decode", lambda t, at: (decoded.append(at), decode(t, at))[1])
    monkeypatch.setattr(task_master, "located_object", lambda *words: (located.append(1), locate(*words))[1])
    many["master"]["tasks"][1000]["status"] = "done"
    many["master"]["metadata"]["updated"] = "another time"
    changed = json.dumps(many, indent=1)
    after = dialect.read_after(changed, before)
    assert after
    assert (len(decoded), len(located)) == (1, 1)
    assert sum(one is not other for one, other in zip(before.tasks, after.tasks, strict=True)) == 1
    assert [each.id for each in after.tasks if each.done] == ["1001"]


def test_of_tasks_that_move_down_nothing_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    many = {"master": {"tasks": [task(n) for n in range(1, 501)], "metadata": {}}}
    dialect, located = tag_dialect("master"), []
    before = dialect.read(json.dumps(many, indent=1))
    first = many["master"]["tasks"][0]
    first["status"], first["updatedAt"] = "done", "2026-01-01"
    text = json.dumps(many, indent=1)
    look = task_master.located_object
    monkeypatch.setattr(task_master, "located_object", lambda *words: located.append(words) or look(*words))
    again = dialect.read_after(text, before)
    assert len(located) == 1
    tags._newest.clear()
    assert all_of(again) == all_of(dialect.read(text))
    assert again
    assert before
    assert again.span(again.tasks[-1]).line == before.span(before.tasks[-1]).line + 1


def test_a_word_in_the_place_of_a_task_is_read_again_however_it_is_written() -> None:
    dialect, before = tag_dialect("master"), None
    for text in (
        '{"tasks": ["a", {"id": 1, "title": ""}]}',
        '{"tasks": ["\\u0061", {"id": 1, "title": ""}]}',
    ):
        again = dialect.read_after(text, before)
        tags._newest.clear()
        before = dialect.read(text)
        assert all_of(again) == all_of(before)
        assert before


def test_tasks_that_move_in_their_line_have_their_places_there() -> None:
    dialect, before = tag_dialect("master"), None
    for text in (FLAT, FLAT.replace('"status": "pending"', '"status": "done"', 1)):
        again = dialect.read_after(text, before)
        tags._newest.clear()
        before = dialect.read(text)
        assert all_of(again) == all_of(before)
        tags.read_text(text)
