"""Summaries of runs that machines tell each other, and the board that is made of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from phasekeeper.orchestration.fleet.messages import MAX_TEXT, format_message, parse_message
from phasekeeper.orchestration.fleet.shared_board import (
    RunSummary,
    format_summary,
    merge_summaries,
    parse_summary,
    summary_key,
    summary_of,
)
from phasekeeper.orchestration.result.values import Evaluation
from phasekeeper.server.workspace.workspace import Workspace

from tests.roots import EXAMPLES

MINE = RunSummary(
    "docs/plan", "master-plan", "laptop", "c1", "active", "4a", "stay 4a", 2, 6, "r1", "abc", "12:00",
    ("approve",), "Library", "tasks are left", ("Go on?",),
)  # fmt: skip


def _evaluations() -> list[Evaluation]:
    workspace = Workspace(Path(EXAMPLES))
    return [workspace.evaluate(match) for match in workspace.matches]


def test_what_is_told_is_read_again() -> None:
    assert parse_summary(summary_key("laptop", "c1", "docs/plan"), format_summary(MINE)) == MINE


def test_every_example_is_told_with_its_texts_only_where_they_are_shared() -> None:
    evaluations = _evaluations()
    assert len(evaluations) >= 5
    for evaluation in evaluations:
        for shares in (False, True):
            told = summary_of(evaluation, "m", "c", "abc", "12:00", shares_texts=shares)
            read = parse_summary(summary_key("m", "c", evaluation.run), format_summary(told))
            assert read is not None
            assert read._replace(title="", reason="", asked=()) == told._replace(
                title="", reason="", asked=()
            )
            assert bool(read.title) == (shares and bool(evaluation.title))
            assert bool(read.reason) == (shares and bool(evaluation.suggestion.reason))
            assert len(read.asked) == (len(evaluation.questions) if shares else 0)
            assert read.questions == tuple(question.id for question in evaluation.questions)
        without = json.dumps(summary_of(evaluation, "m", "c", "", "", shares_texts=False))
        assert all(question.question not in without for question in evaluation.questions)


def test_a_run_without_a_plan_or_a_phase_says_so() -> None:
    told = [summary_of(each, "m", "c", "", "", shares_texts=False) for each in _evaluations()]
    assert {each.total == -1 for each in told} == {True, False}


def test_texts_are_left_out_where_they_make_it_too_long() -> None:
    long = MINE._replace(title="ü" * MAX_TEXT, reason="ü" * MAX_TEXT, asked=("ü" * MAX_TEXT,) * 20)
    key = summary_key("laptop", "c1", "docs/plan")
    read = parse_summary(key, format_summary(long))
    assert read is not None and (read.asked, read.title) == ((), "ü" * MAX_TEXT)
    odd = MINE._replace(title="a\x1b[2Jb\u202e", questions=("q\n",))
    # What cannot be told is no summary: nobody takes a part of it for the whole.
    assert parse_summary(key, format_summary(odd)) is None
    assert parse_summary(key, format_summary(odd._replace(questions=()))) == MINE._replace(
        title="a [2Jb ", questions=()
    )


@pytest.mark.parametrize("raw", [b"", b"{}", b"[]", b"x" * 10_000])
def test_what_is_no_summary_is_passed_over(raw: bytes) -> None:
    assert parse_summary("laptop.c1.x", raw) is None


def test_a_summary_under_the_name_of_another_machine_is_none() -> None:
    for key in (
        summary_key("ci", "c1", "docs/plan"),
        summary_key("laptop", "c2", "docs/plan"),
        "laptop.c1.x",
    ):
        assert parse_summary(key, format_summary(MINE)) is None


def test_members_of_another_type_are_as_if_they_were_missing() -> None:
    values = {**(parse_message(format_summary(MINE)) or {}), "done": "two", "questions": "q", "phase": 3}
    read = parse_summary(summary_key("laptop", "c1", "docs/plan"), format_message(values))
    assert read == MINE._replace(done=-1, questions=(), phase="")


def test_the_clones_of_a_run_stand_beside_each_other_and_differ_by_their_revisions() -> None:
    same = MINE._replace(member="ci", at="11:00")
    other = MINE._replace(member="desk", revision="r2")
    alone = MINE._replace(run="a")
    runs = merge_summaries([MINE, alone, same])
    assert [(run.run, [each.member for each in run.clones], run.differs) for run in runs] == [
        ("a", ["laptop"], False),
        ("docs/plan", ["ci", "laptop"], False),
    ]
    (both,) = merge_summaries([other, MINE])
    assert both.differs and both.clones == (other, MINE)


def test_the_time_is_no_part_of_what_has_to_be_told_again() -> None:
    assert MINE.substance == MINE._replace(at="13:00").substance != MINE._replace(phase="4b").substance
