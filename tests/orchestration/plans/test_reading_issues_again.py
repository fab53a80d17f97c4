"""An issues.jsonl that is read after another one is what its text says, and costs the lines that differ."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from phasekeeper.orchestration.plans.dialects import DIALECTS
from phasekeeper.orchestration.plans.model import Plan
from phasekeeper.orchestration.plans.records import beads

DIALECT = DIALECTS["beads"]


def line(name: object, status: str = "open", needs: tuple[str, ...] = (), **more: object) -> str:
    listed = [{"depends_on_id": each.rpartition(" ")[2], "type": each.partition(" ")[0]} for each in needs]
    return json.dumps({"id": name, "title": "x", "status": status, "dependencies": listed, **more})


LINES = [
    line("e", "open", ("blocks b",)),
    line("e.1", "closed", ("parent-child e",)),
    line("e.2", "open", ("blocks e.1",)),
    line("e.2.1", "deferred"),
    line("b", "in_progress", ("blocks external:a:b", "blocks nobody")),
    line("g", "open", issue_type="gate", priority=0),
    *(line(f"t{n}", needs=(f"blocks t{n - 1}",), created_at=f"2026-01-{n:02}") for n in range(1, 9)),
]
TEXT = "\n".join([*LINES, ""])
PIECES = [
    *LINES, *(line(name, status) for name in ("e", "b", "t3") for status in ("closed", "cancelled", "odd")),
    line("e", "blocked", ("parent-child b",)), line("b", "open", ("parent-child e.2.1",)),
    line("e.1", "open", updated_at="2026-02-01"), line("t4", "tombstone"), line("t4", priority=0),
    line("e.3", wisp=True), line(7), line("", "closed"), '{"id": "t5"', "[]", "{}", "", "  ", "null",
    "<<<<<<< ours", "=======", ">>>>>>> theirs", '{"id": "merge-conflict", "status": "closed"}',
]  # fmt: skip
EDITS = st.lists(
    st.tuples(
        st.sampled_from(["set", "insert", "remove", "cut", "back"]), st.floats(0, 1), st.sampled_from(PIECES)
    ),
    min_size=1,
    max_size=8,
)


def edited(text: str, kind: str, place: float, piece: str) -> str:
    if kind == "back":
        return TEXT
    if kind == "cut":
        at = int(place * len(text))
        return text[:at] + text[at + 3 :]
    lines = text.split("\n")
    at = int(place * (len(lines) - 1))
    return "\n".join([*lines[:at], *([piece] if kind != "remove" else []), *lines[at + (kind != "insert") :]])


def all_of(plan: Plan | None) -> object:
    return plan and (plan, dict(plan.by_id), [*map(plan.span, plan.tasks)], dict(plan.details))


@given(EDITS)
def test_issues_read_after_any_other_text_are_the_issues_read_alone(edits) -> None:
    text, before = TEXT, DIALECT.read(TEXT)
    for edit in edits:
        text = edited(text, *edit)
        again = DIALECT.read_after(text, before)
        assert all_of(again) == all_of(DIALECT.read(text))
        before = again or before


def test_of_a_large_file_the_line_that_differs_is_read_and_its_record_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "\n".join([*LINES, *(line(f"u{n}") for n in range(2000)), ""])
    before = DIALECT.read(text)
    read, made = list[str](), list[str]()
    record = beads._record
    monkeypatch.setattr(beads, "read_json", lambda said, of=beads.read_json: read.append(said) or of(said))
    monkeypatch.setattr(beads, "_record", lambda *said: made.append(said[0].id) or record(*said))
    closed = line("u7", "closed")
    after = DIALECT.read_after(text.replace(line("u7"), closed), before)
    assert (read, made) == ([closed], ["u7"])
    part = line("e.2", "closed", ("blocks e.1",))
    DIALECT.read_after(text.replace(line("u7"), closed).replace(LINES[2], part), after)
    assert (read[1:], made[1:]) == ([part], ["e", "e.2", "e.2.1"])


@pytest.mark.parametrize(
    "new", [line("t4", "tombstone"), line("t5"), line(""), "[]", "{", "", "======="], ids=range(7)
)
def test_a_line_that_is_no_issue_of_its_own_any_more_has_all_listed_anew(new: str) -> None:
    text = TEXT.replace(LINES[9], new)
    assert text != TEXT
    assert all_of(DIALECT.read_after(text, DIALECT.read(TEXT))) == all_of(DIALECT.read(text))
