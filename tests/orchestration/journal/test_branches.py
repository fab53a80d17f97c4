"""Branches of a journal: which count unasked, in which order, and what they are asked about."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from phasekeeper.orchestration.journal.branches import MOST_BRANCHES, MergedLines, RecordLine, merge_lines
from phasekeeper.orchestration.journal.journal import record

START = {"kind": "start", "workflow": "w", "definition": "d"}


def line(name: str, after: str = "", **fields: Any) -> RecordLine:
    """A line whose digest is its name."""
    return RecordLine(0, name, record(**{"kind": "report", "prev": after, "at": name, **fields}), name, 0)


def work(name: str, after: str, *tasks: str, phase: str = "build", outcome: str = "ok") -> RecordLine:
    return line(name, after, phase=phase, outcome=outcome, tasks=list(tasks))


def merged(*lines: RecordLine) -> MergedLines:
    return merge_lines([each._replace(number=number) for number, each in enumerate(lines)])


def names(lines: Sequence[RecordLine]) -> list[str]:
    return [each.digest for each in lines]


FIRST = line("0", **START)


def test_work_on_different_tasks_counts_and_the_longest_branch_is_what_the_next_line_follows() -> None:
    found = merged(FIRST, work("b1", "0", "x"), work("a1", "0", "y"), work("a2", "a1", "z"))
    assert (names(found.chain), found.head, found.heads) == (["0", "a1", "a2", "b1"], "a2", ["b1"])
    assert (found.lost, found.contradiction) == ([], None)


@pytest.mark.parametrize(
    "other",
    [
        work("b", "0", "x"),
        work("b", "0", "y", phase="check"),
        work("b", "0", "y", outcome="fail"),
        work("b", "0"),
        line("b", "0", phase="build", outcome="ok", tasks=["y"], next="done"),
        line("b", "0", kind="answer", question="plan", option="approve"),
        line("b", "0", kind="override", next="done"),
        line("b", "0", kind="start", workflow="other", definition="d"),
        line("b", "0", kind="question", question="raised"),
    ],
)
def test_what_may_contradict_waits_for_a_person_who_is_told_of_both(other: RecordLine) -> None:
    trunk = [FIRST, line("1", "0", **START), work("a", "1", "x")]
    found = merged(*trunk, other)
    assert (names(found.chain), found.head, found.heads, names(found.lost)) == (
        ["0", "1", "a"],
        "a",
        [],
        ["b"],
    )
    assert found.contradiction is not None
    assert (found.contradiction.ours.digest in ("1", "a"), found.contradiction.theirs.digest) == (True, "b")


@pytest.mark.parametrize(
    "other",
    [
        line("b", "0", kind="refused", phase="check"),
        line("b", "0", **START),
        line("b", "0", kind="start", phase="build", tasks=["y"]),
        line("b", "0", phase="build", outcome="ok", task="y"),
    ],
)
def test_a_refusal_the_same_start_and_a_task_that_is_begun_contradict_nothing(other: RecordLine) -> None:
    found = merged(FIRST, work("a", "0", "x"), work("a2", "a", "z"), other)
    assert (names(found.chain), found.lost) == (["0", "a", "a2", "b"], [])


def test_of_three_branches_two_may_count_and_one_wait() -> None:
    found = merged(
        FIRST, work("a1", "0", "x"), work("a2", "a1", "y"), work("b", "0", "y"), work("c", "0", "z")
    )
    assert (names(found.chain), names(found.lost)) == (["0", "a1", "a2", "c"], ["b"])


def test_branches_of_a_branch_count_its_first_lines_once() -> None:
    found = merged(
        FIRST, work("a1", "0", "1"), work("a2", "a1", "2"), work("a3", "a2", "3"), work("b1", "0", "4"),
        work("b2", "b1", "5"), work("c2", "b1", "6"),
    )  # fmt: skip
    assert (names(found.chain), found.heads) == (["0", "a1", "a2", "a3", "b1", "b2", "c2"], ["b2", "c2"])


def test_a_branch_that_knew_of_another_does_not_contradict_it() -> None:
    """Both sides merged the same fork, and one of them went on with the step behind it."""
    fork = [FIRST, work("a", "0", "x"), work("b", "0", "y")]
    ours = line("m1", "a", kind="relink", about="b")
    theirs = [line("m2", "a", kind="relink", about="b"), work("v", "m2", phase="check")]
    found = merged(*fork, *theirs, ours)
    assert (names(found.chain), found.lost, found.heads) == (["0", "a", "b", "m2", "v", "m1"], [], ["m1"])


def test_a_link_to_lines_that_are_not_there_makes_no_branch_longer() -> None:
    forged = line("m", "0", kind="relink", about=",".join(f"x{number}" for number in range(9)) + ",m2,m2")
    found = merged(FIRST, work("a1", "0", "x"), work("a2", "a1", phase="check"), forged)
    assert (found.head, names(found.chain)) == ("a2", ["0", "a1", "a2", "m"])


def test_a_branch_whose_first_line_follows_nothing_known_is_none() -> None:
    found = merged(FIRST, work("a", "0", "x"), work("b", "gone", "y"))
    assert (names(found.chain), names(found.lost), found.contradiction) == (["0", "a"], ["b"], None)


def test_of_too_many_branches_none_counts_unasked() -> None:
    many = [work(f"b{number:02}", "0", f"t{number}") for number in range(MOST_BRANCHES + 2)]
    assert len(merged(FIRST, *many[:-1]).heads) == MOST_BRANCHES
    found = merged(FIRST, *many)
    assert (len(found.chain), found.heads, len(found.lost)) == (2, [], MOST_BRANCHES + 1)


def test_no_line_is_no_chain() -> None:
    assert merged() == MergedLines([], "", [], [], None)


RECORDS: Sequence[Mapping[str, Any]] = [
    {"tasks": ["x"]}, {"tasks": ["y"]}, {"tasks": ["z"]}, {"tasks": ["x", "z"]}, {"outcome": "fail"},
    {"kind": "refused"}, {"phase": "check", "tasks": ["v"]}, START,
]  # fmt: skip


@given(st.lists(st.tuples(st.integers(0, 6), st.sampled_from(RECORDS)), max_size=9), st.integers(0, 99))
def test_the_order_is_the_same_in_whichever_order_the_lines_stand(
    drawn: list[tuple[int, Mapping[str, Any]]], seed: int
) -> None:
    lines = [FIRST]
    for number, (after, fields) in enumerate(drawn):
        known = lines[after % len(lines)].digest
        given_fields = {"phase": "build", "outcome": "ok", **fields}
        lines.append(line(f"n{number}", known, **given_fields))
    shuffled = random.Random(seed).sample(lines, len(lines))
    here, there = merged(*lines), merged(*shuffled)
    assert (names(here.chain), here.head, here.heads) == (names(there.chain), there.head, there.heads)
    assert sorted(names([*here.chain, *here.lost])) == sorted(names(lines))
