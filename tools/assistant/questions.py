"""Questions to people as answers to assistants, and the commands that decide them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ...orchestration.result.values import Evaluation, QuestionState
from ...orchestration.sanitize import plain
from ..commands import WHY, command_line
from .answer import Answer, AnswerBuilder, excerpt, quote, size
from .headers import short_run

DECIDES = "a person, never you: request_decision, or the command that the person types"
"""Beside every such command: some assistants hand on data alone, without what the text says of it."""

_COMMAND = 700
_WORD = 400
"""Characters of a word of such a command."""
DIALOG = 2_000
"""Characters of a dialog; a person is asked there only about what it shows whole."""
_WHOLE, _ROOM = 2_000, 900
"""Characters of a text of a question that is shown whole, and of a question's data and line at most, so that
the commands and what else an answer has find room."""
_LENGTHS, _LEAST = (_WHOLE, 400, 200, 80), 20
_MOST_OPTIONS = 20


def dialog(lines: Iterable[str]) -> str | None:
    """The text of a dialog, each line made safe to show; None where not all of it fits.

    No more of `lines` is asked for than what fits.
    """
    text = ""
    for line in lines:
        text += plain(line, DIALOG + 1) + "\n"
        if len(text) > DIALOG + 1:
            return None
    return text[:-1]


def how_to_decide(evaluation: Evaluation, question: QuestionState) -> str:
    """The command with which a person answers on a terminal, wherever that is.

    It names no option: the terminal shows what each leads to, and asks for one and for the reason.
    """
    return command_line(evaluation, ("answer", question.id), ("--root", evaluation.root), _WORD)


def short_command(evaluation: Evaluation, question: QuestionState) -> str:
    """`how_to_decide` where that is not too long for one entry of a list: half a command would be none."""
    command = how_to_decide(evaluation, question)
    return command if len(command) <= _COMMAND else "a long command; next_step and request_decision say it"


def questions_in_order(evaluation: Evaluation) -> list[QuestionState]:
    """The open questions, first the one that the run waits for."""
    return sorted(evaluation.questions, key=lambda each: each is not evaluation.holding_question)


def how_to_override(evaluation: Evaluation, phase: str) -> str:
    """The command with which a person moves a run on against its gates, wherever the terminal is."""
    return command_line(evaluation, ("override", "--to", phase), ("--root", evaluation.root), _WORD) + WHY


def question_entry(question: QuestionState) -> tuple[dict[str, Any], str]:
    """A question as data and its line, its options whole: a person chooses between what they say.

    One that no answer could hold is cut evenly, which it says.
    """
    for length in _LENGTHS:
        data, line = _cut_question(question, length)
        if size(data) <= _ROOM and len(line) <= _ROOM:
            break
    else:
        data, line = _cut_question(question, _LEAST)
    return data, line


def _cut_question(question: QuestionState, length: int) -> tuple[dict[str, Any], str]:
    """The question with texts of so many characters; its own may have a few more."""
    most, tasks = (_MOST_OPTIONS, 8) if length > _LEAST else (_MOST_OPTIONS // 2, 3)
    shape = {"id": 80, "kind": 0, "question": max(length, 200), "tasks": (tasks, 60), "since": 40}
    data = excerpt(question, shape | {"options": (most, {"id": 40, "text": length})})
    texts = [question.question, *(option.text for option in question.options)]
    if max(map(len, texts)) > length or len(question.options) > most:
        data["cut"] = "too long for an answer; request_decision or a terminal shows the person all of it"
    return data, _question_line(question, length, most)


def _question_line(question: QuestionState, length: int, most: int) -> str:
    options = ", ".join(f"{plain(o.id, 40)} ({quote(o.text, length)})" for o in question.options[:most])
    text = quote(question.question, max(length, 200))
    line = f"asked of a person: {plain(question.id, 80)} ({question.kind}): {text}"
    return f"{line}; options {options}" if options else line


def open_questions(
    head: dict[str, Any], line: str, evaluations: Sequence[Evaluation], start: int = 0, note: str = ""
) -> Answer:
    """The open questions of some runs, in order of the runs; each with how a person answers it. `note` is a
    sentence to be told before."""
    pairs = [(e, question) for e in evaluations for question in questions_in_order(e)]
    head |= {"decides": DECIDES} if pairs else {}
    summary = f"{len(pairs)} open; a person answers them, never you" if pairs else "nothing is asked"
    builder = AnswerBuilder(head, line)
    if note:
        builder.put("note", note, note)
    builder.put("summary", summary, summary)
    entries = (
        (
            {
                "run": short_run(e.run) or ".",
                **data,
                "decide": short_command(e, q),
                "holds": q is e.holding_question,
            },
            f"{short_run(e.run) or '.'}: {line}",
        )
        for e, q in pairs[start:]
        for data, line in [question_entry(q)]
    )
    builder.fill("questions", entries, start, len(pairs))
    return builder.answer()
