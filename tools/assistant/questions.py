"""Questions to people as answers to assistants, and the commands that decide them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ...orchestration.result.values import Evaluation, QuestionState
from ...orchestration.sanitize import plain
from ..commands import WHY, command_line
from .answer import Answer, AnswerBuilder, excerpt, quote

DECIDES = "a person, never you: request_decision, or the command that the person types"
"""Beside every such command: some assistants hand on data alone, without what the text says of it."""

_WORD = 400
"""Characters of a word of such a command."""
DIALOG = 2_000
"""Characters of a dialog; a person is asked there only about what it shows whole."""
OPTIONS = (6, {"id": 40, "text": 80})
_QUESTION = {"id": 80, "kind": 0, "question": 300, "options": OPTIONS, "tasks": (8, 60), "since": 40}


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
    """The command with which a person answers on a terminal, wherever that is."""
    option = question.options[0].id if question.options else "ANSWER"
    return command_line(evaluation, ("answer", question.id, option), ("--root", evaluation.root), _WORD) + WHY


def how_to_override(evaluation: Evaluation, phase: str) -> str:
    """The command with which a person moves a run on against its gates, wherever the terminal is."""
    return command_line(evaluation, ("override", "--to", phase), ("--root", evaluation.root), _WORD) + WHY


def question_line(question: QuestionState) -> str:
    """One question with its options, on a line."""
    options = ", ".join(f"{plain(o.id, 40)} ({quote(o.text, 60)})" for o in question.options[:6])
    line = f"asked of a person: {plain(question.id, 80)} ({question.kind}): {quote(question.question, 200)}"
    return f"{line}; options {options}" if options else line


def open_questions(
    head: dict[str, Any], line: str, evaluations: Sequence[Evaluation], start: int = 0
) -> Answer:
    """The open questions of some runs, in order of the runs; each with how a person answers it."""
    pairs = [(e, question) for e in evaluations for question in e.questions]
    head |= {"decides": DECIDES} if pairs else {}
    summary = f"{len(pairs)} open; a person answers them, never you" if pairs else "nothing is asked"
    builder = AnswerBuilder(head, line, summary)
    entries = (
        (
            {"run": plain(e.run, 200)} | excerpt(q, _QUESTION) | {"decide": how_to_decide(e, q)[:600]},
            f"{plain(e.run, 120) or '.'}: {question_line(q)}",
        )
        for e, q in pairs[start:]
    )
    builder.fill("questions", entries, start, len(pairs))
    return builder.answer()
