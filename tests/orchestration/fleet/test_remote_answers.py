"""Answers to questions of another machine as messages, and whether they still fit the run that asks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from phasekeeper.orchestration.evaluation.trace import EvaluationTrace
from phasekeeper.orchestration.fleet.answer_fit import (
    command_of,
    is_recorded,
    open_questions,
    override_proposal,
    refusal,
)
from phasekeeper.orchestration.fleet.messages import MAX_BYTES, MAX_TEXT
from phasekeeper.orchestration.fleet.remote_answers import (
    AnswerProposal,
    AnswerResult,
    AnswerState,
    DecisionKind,
    OpenQuestion,
    answer_key,
    author_of,
    format_proposal,
    format_result,
    misfit,
    parse_proposal,
    parse_result,
    result_key,
)
from phasekeeper.orchestration.fleet.shared_board import (
    format_summary,
    parse_summary,
    summary_key,
    summary_of,
)
from phasekeeper.orchestration.journal.signatures import (
    covered_by_answer,
    covered_elsewhere,
    decision_text,
    one_line,
)
from phasekeeper.orchestration.updates.commands import Command, build_record
from phasekeeper.server.workspace.apply import apply_command
from phasekeeper.server.workspace.workspace import Workspace

from tests.server.workspace.test_apply import planned_root

RUN = "work/one"
QUESTION = OpenQuestion("go_on", "Go on?", ("yes go on", "no stop here"), "5" * 64)
SENT = AnswerProposal(
    "library", RUN, "desk", "c" * 32, "go_on", "yes", QUESTION.asked, QUESTION.options, QUESTION.subject,
    "a" * 16, "looked at it", "Ann <ann@example.org>", "2026-11-30T12:00:00+00:00", "U1NIU0lH" * 200,
)  # fmt: skip
RESULT = AnswerResult("sofa", SENT.id, RUN, "go_on", AnswerState.REFUSED, "why", "2026-11-30T12:00:01+00:00")


# ---- messages -------------------------------------------------------------------------------------


def test_an_answer_and_its_result_are_read_again() -> None:
    key = answer_key("sofa", SENT)
    assert parse_proposal(key, format_proposal(SENT)) == SENT
    assert author_of(key) == "sofa"
    told = result_key("desk", "sofa", SENT.id)
    assert parse_result(told, format_result(RESULT)) == RESULT
    assert author_of(told) == ""


def test_what_the_other_machine_would_not_read_is_not_sent() -> None:
    for change in ({"why": "x" * (MAX_TEXT + 1)}, {"asked": "two\nlines"}, {"signature": "A" * 9000}):
        with pytest.raises(ValueError, match="too long"):
            format_proposal(SENT._replace(**change))
    assert parse_proposal(answer_key("sofa", SENT), b"x" * (MAX_BYTES + 1)) is None


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[]", b"null", b"\xff", b"{}", b'{"signature": {"a": 1}}', b"[" * 8000]
)
def test_what_is_no_answer_and_no_result_is_passed_over(raw: bytes) -> None:
    assert parse_proposal(answer_key("sofa", SENT), raw) is None
    assert parse_result(result_key("desk", "sofa", SENT.id), raw) is None


def test_a_message_counts_under_its_own_key_alone() -> None:
    other = SENT._replace(why="waved through")
    assert other.id != SENT.id
    assert parse_proposal(answer_key("sofa", other), format_proposal(SENT)) is None
    assert parse_proposal(result_key("desk", "sofa", SENT.id), format_proposal(SENT)) is None
    assert parse_result(result_key("desk", "eve", SENT.id), format_result(RESULT)) is None
    unknown = format_result(RESULT).replace(b"refused", b"allowed")
    assert parse_result(result_key("desk", "sofa", SENT.id), unknown) is None


def test_unknown_members_are_passed_over() -> None:
    raw = json.dumps({**json.loads(format_proposal(SENT)), "more": "1"}).encode()
    assert parse_proposal(answer_key("sofa", SENT), raw) == SENT


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, ""),
        ({"question": "other"}, "not open any more"),
        ({"asked": "Is tea fine?"}, "other words"),
        ({"options": ("yes go on",)}, "other words"),
        ({"subject": "6" * 64}, "changed meanwhile"),
        ({"option": "never"}, "no option 'never'"),
        ({"why": " "}, "lacks"),
    ],
)
def test_an_answer_fits_one_open_question(changes: dict[str, str], said: str) -> None:
    found = misfit(SENT._replace(**changes), [QUESTION])
    assert said in found and bool(said) == bool(found)


def test_a_question_that_only_its_files_show_is_answered_there() -> None:
    assert "where its files are" in misfit(SENT._replace(subject=""), [QUESTION._replace(subject="")])


# ---- a run ----------------------------------------------------------------------------------------


@pytest.fixture
def trace(tmp_path: Path) -> Callable[[], EvaluationTrace]:
    """Looks at a run in which a person is asked whether to go on."""
    root = planned_root(tmp_path)
    apply_command(Workspace(root), RUN, Command("report", "do", "error", tasks=("f-01",), message="it broke"))

    def look() -> EvaluationTrace:
        workspace = Workspace(root)
        match = workspace.match(RUN)
        assert match
        return workspace.look(match)

    return look


def proposal(trace: EvaluationTrace) -> AnswerProposal:
    (question,) = open_questions(trace)
    head = trace.facts.snapshot.journal.head
    return SENT._replace(options=question.options, subject=question.subject, after=head)


def test_an_answer_covers_what_its_record_will_be(trace: Callable[[], EvaluationTrace]) -> None:
    sent = proposal(trace())
    entry = build_record(trace(), command_of(sent))
    assert covered_by_answer(entry) == sent.signed_content
    for name in ("option", "why", "actor", "asked", "about", "scope", "decided", "after"):
        assert covered_by_answer({**entry, name: "other"}) != sent.signed_content, name
    for name, value in (("options", []), ("files", [{"path": "a", "digest": "b"}]), ("stages", ["1: 2"])):
        assert covered_by_answer({**entry, name: value}) != sent.signed_content, name
    written = {"files": [{"path": "a", "digest": "b", "was": ""}], "seq": 9, "prev": "p", "at": "now"}
    assert covered_by_answer({**entry, **written}) == sent.signed_content


def test_an_answer_fits_until_its_question_was_decided(trace: Callable[[], EvaluationTrace]) -> None:
    sent = proposal(trace())
    assert refusal(trace(), sent) == "" and not is_recorded(trace(), sent)
    assert "does not hold" in refusal(trace(), sent._replace(after="0" * 16))
    # What others record meanwhile changes nothing.
    root = Path(trace().evaluation.root)
    apply_command(Workspace(root), RUN, Command("raise", message="and what about tea?"))
    assert refusal(trace(), sent) == ""


def test_a_question_that_was_asked_again_takes_no_answer_of_before(
    trace: Callable[[], EvaluationTrace],
) -> None:
    sent = proposal(trace())
    path = Path(trace().evaluation.root) / RUN / ".phasekeeper/journal.jsonl"
    # Nobody proves this one, so the question stays open.
    line = {"seq": 2, "kind": "answer", "question": "go_on", "option": "no", "prev": sent.after}
    path.write_text(path.read_text() + json.dumps(line) + "\n")
    assert "decided after it was looked at" in refusal(trace(), sent)


def override(trace: EvaluationTrace) -> AnswerProposal:
    wanted = Command("override", step="mend", why=SENT.why, actor=SENT.actor)
    subject, head = override_proposal(trace, wanted)
    return SENT._replace(
        kind=DecisionKind.OVERRIDE,
        question="",
        asked="",
        options=(),
        option="mend",
        subject=subject,
        after=head,
    )


def test_an_override_covers_what_its_record_will_waive_and_where_it_stands(
    trace: Callable[[], EvaluationTrace],
) -> None:
    sent = override(trace())
    assert parse_proposal(answer_key("sofa", sent), format_proposal(sent)) == sent
    assert refusal(trace(), sent) == "" and not is_recorded(trace(), sent)
    entry = {**build_record(trace(), command_of(sent)), "prev": sent.after, "seq": 2, "at": "now"}
    assert covered_elsewhere(entry) == sent.signed_content
    for name in ("next", "why", "actor", "decided", "prev", "phase", "stage", "iteration"):
        assert covered_elsewhere({**entry, name: "other"}) != sent.signed_content, name
    for name in ("gates", "phases", "tasks"):
        assert covered_elsewhere({**entry, name: ["other"]}) != sent.signed_content, name
    files = [{"path": "a", "digest": "b"}]
    assert covered_elsewhere({**entry, "files": files}) != sent.signed_content
    # Its text is none of an answer, nor an answer's one of it.
    assert decision_text(sent.kind, "r", "w", {}) != decision_text(DecisionKind.ANSWER, "r", "w", {})


def test_an_override_fits_the_journal_that_was_seen_and_what_it_waives(
    trace: Callable[[], EvaluationTrace],
) -> None:
    sent = override(trace())
    assert "something else" in refusal(trace(), sent._replace(subject="6" * 64))
    assert "no rule leads" in refusal(trace(), sent._replace(option="do"))
    assert "unknown phase" in refusal(trace(), sent._replace(option="nowhere"))
    raw = format_proposal(sent).replace(b'"override"', b'"redo"')
    assert parse_proposal(answer_key("sofa", sent), raw) is None
    apply_command(Workspace(Path(trace().evaluation.root)), RUN, Command("raise", message="and tea?"))
    assert "not as the person saw it" in refusal(trace(), sent)


def test_a_row_tells_words_only_where_they_are_shared(trace: Callable[[], EvaluationTrace]) -> None:
    questions, evaluation = open_questions(trace()), trace().evaluation
    for shares in (False, True):
        row = summary_of(
            evaluation, "m", "c", "abc", "12:00", shares_texts=shares, answerable=questions, head="h"
        )
        read = parse_summary(summary_key("m", "c", RUN), format_summary(row))
        assert read and (read.head, read.home) == ("h", RUN)
        assert read.subject_of("go_on") == questions[0].subject and len(questions[0].subject) == 64
        assert read.question_in_words("go_on") == (questions[0] if shares else None)
        assert ("go on" in json.dumps(row)) == shares
        assert read.question_in_words("other") is None and read.subject_of("other") == ""
        # One whose words were cut or changed on the way is none.
        assert read._replace(asked=("Go?",)).question_in_words("go_on") is None


def test_words_are_one_line_on_every_machine() -> None:
    assert one_line(" Go\n on?\x1b[2J\u202e ") == "Go on? [2J"
