"""What a person is asked, and exactly how the person answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ...orchestration.result.values import Evaluation, QuestionState
from ...orchestration.sanitize import plain
from ..commands import answer_command, override_command
from .answer import Answer, AnswerBuilder, quoted

DECIDES = "a person, never you: request_decision, or the command that the person types"
"""Beside every such command: some assistants hand on data alone, without what the text says of it."""

_WORD = 400
"""Characters of a word of such a command."""
DIALOG = 2_000
"""Characters of a dialog; a person is asked there only about what it shows whole."""


def dialog(lines: Iterable[str]) -> str | None:
    """What a dialog says, each line made safe to show; None where not all of it fits.

    No more of `lines` is asked for than what fits.
    """
    said: list[str] = []
    room = DIALOG
    for line in lines:
        said.append(plain(line, DIALOG + 1))
        room -= len(said[-1]) + 1
        if room < -1:
            return None
    return "\n".join(said)


def how_to_decide(evaluation: Evaluation, question: QuestionState) -> str:
    """The command with which a person answers on a terminal, wherever that is."""
    option = question.options[0].id if question.options else "ANSWER"
    return answer_command(evaluation, question, option, ("--root", evaluation.root), _WORD)


def how_to_override(evaluation: Evaluation, phase: str) -> str:
    """The command with which a person moves a run on against its gates, wherever the terminal is."""
    return override_command(evaluation, phase, ("--root", evaluation.root), _WORD)


def question_line(question: QuestionState) -> str:
    """One question with its options, on a line."""
    options = ", ".join(f"{plain(o.id, 40)} ({quoted(o.text, 60)})" for o in question.options[:6])
    said = f"asked of a person: {plain(question.id, 80)} ({question.kind}): {quoted(question.question, 200)}"
    return f"{said}; options {options}" if options else said


def options_of(question: QuestionState) -> list[dict[str, str]]:
    """The first options of a question as data: id and text."""
    return [{"id": plain(o.id, 40), "text": plain(o.text, 80)} for o in question.options[:6]]


def question_data(evaluation: Evaluation, question: QuestionState) -> dict[str, Any]:
    """One question as data, with the command that answers it."""
    return {
        "run": plain(evaluation.run, 200),
        "id": plain(question.id, 80),
        "kind": question.kind,
        "question": plain(question.question, 300),
        "options": options_of(question),
        "tasks": [plain(task, 60) for task in question.tasks[:8]],
        "since": plain(question.since, 40) if question.since else None,
        "decide": how_to_decide(evaluation, question)[:600],
    }


def asked(head: dict[str, Any], line: str, evaluations: Sequence[Evaluation], start: int = 0) -> Answer:
    """The open questions of some runs, in order of the runs; each with how a person answers it."""
    pairs = [(e, question) for e in evaluations for question in e.questions]
    head |= {"decides": DECIDES} if pairs else {}
    builder = AnswerBuilder(
        head, line, f"{len(pairs)} open; a person answers them, never you" if pairs else "nothing is asked"
    )
    entries = (
        (question_data(e, q), f"{plain(e.run, 120) or '.'}: {question_line(q)}") for e, q in pairs[start:]
    )
    builder.fill("questions", entries, start, len(pairs))
    return builder.answer()
