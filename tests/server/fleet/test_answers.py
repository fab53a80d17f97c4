"""Which clone asks what a person answers from another machine, and how it is told what became of it."""

from __future__ import annotations

import pytest
from phasekeeper.orchestration.fleet.remote_answers import (
    AnswerProposal,
    AnswerResult,
    AnswerState,
    OpenQuestion,
)
from phasekeeper.orchestration.fleet.shared_board import RunSummary, SharedBoard, merge_summaries
from phasekeeper.server.cli.commands import fleet
from phasekeeper.server.fleet.answers import NobodyAsks, asking_clone, readable_question
from phasekeeper.server.terminal.fleet_views import fleet_lines


def row(run: str, member: str, clone: str = "c", at: str = "12:00", *questions: str) -> RunSummary:
    ids = questions or ("go_on",)
    return RunSummary(run, "planned", member, clone, "", "do", "", 0, 1, "r", "abc", at, ids)


def board(*rows: RunSummary) -> SharedBoard:
    return SharedBoard(merge_summaries(rows))


def test_a_run_is_named_by_its_path_or_the_end_of_it() -> None:
    old, new, other = row("work/one", "desk"), row("work/one", "desk", "d", "12:01"), row("work/two", "desk")
    shared = board(old, new, other)
    # Of clones on one machine the one that was told last.
    assert asking_clone(shared, "work/one") == asking_clone(shared, "one", "go_on", "desk") == new
    assert asking_clone(shared, "two") == other


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("three",), "nothing is asked in three on any machine"),
        (("one", "other"), "other is not asked in one on any machine"),
        (("one", "", "lamp"), "nothing is asked in one on lamp"),
        (("one",), "desk and sofa ask that"),
        (("two",), "the end of several runs: more/two, work/two"),
    ],
)
def test_what_nobody_asks_or_several_do_is_said(words: tuple[str, ...], said: str) -> None:
    shared = board(
        row("work/one", "desk"), row("work/one", "sofa"), row("work/two", "desk"), row("more/two", "desk")
    )
    with pytest.raises(NobodyAsks, match=said):
        asking_clone(shared, *words)


def test_a_question_is_read_here_or_as_it_was_told_or_not_at_all() -> None:
    question = OpenQuestion("go_on", "Go on?", ("yes go on",), "5" * 64)
    told = row("work/one", "desk")._replace(subjects=(question.subject,), words=(question.words,))
    assert readable_question(told, "go_on", [question]) == question
    with pytest.raises(NobodyAsks, match="git pull"):
        readable_question(told, "go_on", [])
    with_words = told._replace(asked=("Go on?",), options=("0 yes go on",))
    assert readable_question(with_words, "go_on", []) == question
    with pytest.raises(NobodyAsks, match="answered where its files are"):
        readable_question(row("work/one", "desk"), "go_on", [question])


def test_the_status_of_a_fleet_says_what_became_of_each_answer() -> None:
    sent = AnswerProposal(
        "library", "work/one", "desk", "c", "go_on", "yes", "Go on?", (), "s", "a", "why", "A", "12:00", "U1"
    )  # fmt: skip
    results = [None] + [
        AnswerResult("sofa", sent.id, "", "", state, "it is late", "12:01") for state in AnswerState
    ]
    answers = [fleet._answer_report(sent, result) for result in results]
    about = {"project": "library", "member": "sofa", "servers": [], "reachable": True, "claims": []}
    told = fleet_lines({**about, "answers": answers})
    _, _, *lines = ["".join(part.text for part in line) for line in told]
    assert lines == [
        "  answered go_on of work/one with yes: sent 12:00; desk has not looked at it yet",
        "  answered go_on of work/one with yes: recorded on desk 12:01",
        "  answered go_on of work/one with yes: refused by desk 12:01: it is late",
    ]
