"""The commands that come after an answer: how a step is reported, and how a person decides."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from ...orchestration.result.values import Evaluation, Produce, QuestionState
from ...orchestration.sanitize import plain
from ...tools.assistant import questions
from ...tools.assistant.answer import shrunk
from ..workspace.roots import path_in_root
from .lines import Line, Part

_EXAMPLE, _DATA, _WORD = 200, 300, 4096
_REPORTS = 3


def root_words(root: Path, given: Path | None) -> tuple[str, ...]:
    """What a command called from the current folder needs besides to mean a run of this root."""
    if given is not None:
        return ("--root", str(given))
    here = Path.cwd()
    inside = here == root.resolve() or path_in_root(root, here) is not None
    return () if inside else ("--root", str(root))


def command(e: Evaluation, words: Sequence[str], where: Sequence[str]) -> str:
    """A command about the run, quoted for a shell, whole also where a path is long."""
    return questions.command(e, words, where, _WORD)


def reporting(e: Evaluation, where: Sequence[str]) -> Iterator[Line]:
    """How the suggested step is reported, with what its outcomes are; nothing where it cannot be."""
    if not e.suggestion.reports:
        return
    first, *more = e.suggestion.reports[:_REPORTS]
    best, *others = first.outcomes
    # Which of the tasks are done only whoever did them knows.
    call = command(e, ("report", first.step, best), where) + (" --task ID" if e.suggestion.tasks else "")
    rest = f"  (or {', '.join(plain(word, 40) for word in others)})" if others else ""
    yield [Part("  report: "), Part(call, "run"), Part(rest, "dim")]
    if first.data and (data := shrunk(first.data, _DATA)):
        example = json.dumps(data, ensure_ascii=False)
        yield [Part(f"    with --data FILE (- for standard input), as {example}", "dim")]
    if more:
        yield [Part(f"    also in turn: {', '.join(plain(each.step, 60) for each in more)}", "dim")]


def deciding(e: Evaluation, question: QuestionState, where: Sequence[str]) -> Iterator[Line]:
    """The command by which a person answers a question."""
    call = command(e, ("answer", question.id, "OPTION" if question.options else "ANSWER"), where)
    options = ", ".join(plain(option.id, 40) for option in question.options)
    one_of = f"  (OPTION is {options})" if options else "  (ANSWER is your answer in words)"
    yield [Part("    decide: "), Part(f'{call} --reason "why"', "run"), Part(one_of, "dim")]


def example(produce: Produce) -> str:
    """The keys that a file of data must have, by an example in a line; "" where that takes more."""
    text = (produce.example or "").strip()
    told = text.startswith(("{", "[")) and len(text) <= _EXAMPLE and "\n" not in text
    return f", like {plain(text, _EXAMPLE)}" if told else ""
