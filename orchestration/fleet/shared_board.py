"""The board that machines share: a summary of each run in each clone, and where two clones differ.

What is shared can be made anew from the files at any time. Titles, reasons and what people are asked go along
only where the project's configuration says so; the content of a file never does.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ..result.values import Evaluation
from .messages import Value, format_message, key_token, number_of, parse_message, text_of

MAX_ROWS, MAX_BOARD_BYTES = 200_000, 128 << 20
"""Summaries of one project that are read, and their bytes; the rest are counted."""
_MAX_QUESTIONS = 20
_NUMBERS, _LISTS = ("done", "total"), ("questions", "asked")


class RunSummary(NamedTuple):
    """How a run stands in one clone: `member` is the machine, `clone` the root on it, `at` the time of its
    clock, `commit` what HEAD was then. `done` and `total` are -1 without a plan, texts "" unless shared."""

    run: str
    workflow: str
    member: str
    clone: str
    status: str
    phase: str
    next: str
    done: int
    total: int
    revision: str
    commit: str
    at: str
    questions: tuple[str, ...] = ()
    title: str = ""
    reason: str = ""
    asked: tuple[str, ...] = ()

    @property
    def substance(self) -> RunSummary:
        """The summary without the time: what has to be told again when it differs."""
        return self._replace(at="")


class SharedRun(NamedTuple):
    """One run in all clones that have it, in order of their machines."""

    run: str
    clones: tuple[RunSummary, ...]

    @property
    def differs(self) -> bool:
        """True where two clones stand at another revision of the run."""
        return len({each.revision for each in self.clones}) > 1


class SharedBoard(NamedTuple):
    """The runs of a project by their paths. `unread` counts what stands on the board and is not among them:
    what is no summary, and what is more than can be read."""

    runs: tuple[SharedRun, ...] = ()
    unread: int = 0


def summary_of(
    evaluation: Evaluation, member: str, clone: str, commit: str, at: str, *, shares_texts: bool
) -> RunSummary:
    """The summary of an evaluation."""
    progress, step = evaluation.progress, evaluation.suggestion
    asked = evaluation.questions[:_MAX_QUESTIONS]
    whole = RunSummary(
        evaluation.run,
        evaluation.workflow,
        member,
        clone,
        evaluation.status,
        evaluation.current_phase or "",
        " ".join(filter(None, (step.kind, step.suggested_next or step.action))),
        progress.done if progress else -1,
        progress.total if progress else -1,
        evaluation.revision,
        commit,
        at,
        tuple(question.id for question in asked),
    )
    if not shares_texts:
        return whole
    texts = tuple(question.question for question in asked)
    return whole._replace(title=evaluation.title, reason=step.reason, asked=texts)


def summary_key(member: str, clone: str, run: str) -> str:
    """The key of a summary in the bucket; a member may write only below its own name."""
    return f"{member}.{clone}.{key_token(run)}"


def format_summary(summary: RunSummary) -> bytes:
    """The message of a summary; texts that make it too long are left out, questions' first."""
    printable = summary._replace(
        title=_printable(summary.title),
        reason=_printable(summary.reason),
        asked=tuple(map(_printable, summary.asked)),
        run=_printable(summary.run),
    )
    for less in ({}, {"asked": ()}, {"asked": (), "reason": "", "title": ""}):
        raw = format_message(printable._replace(**less)._asdict())
        if parse_message(raw) is not None:
            return raw
    return raw


def _printable(text: str) -> str:
    return "".join(each if each.isprintable() else " " for each in text)


def parse_summary(key: str, raw: bytes) -> RunSummary | None:
    """The summary in a value; None for what is none, or stands under another machine's name."""
    values = parse_message(raw)
    if values is None:
        return None
    read: dict[str, Value] = {}
    for name in RunSummary._fields:
        listed = values.get(name, ())
        if name in _NUMBERS:
            read[name] = number_of(values, name)
        elif name in _LISTS:
            read[name] = listed if isinstance(listed, tuple) else ()
        else:
            read[name] = text_of(values, name)
    summary = RunSummary(**read)  # pyright: ignore[reportArgumentType]
    return summary if key == summary_key(summary.member, summary.clone, summary.run) else None


def merge_summaries(summaries: Iterable[RunSummary]) -> tuple[SharedRun, ...]:
    """The runs of all clones by their paths."""
    by_run: dict[str, list[RunSummary]] = {}
    for each in summaries:
        by_run.setdefault(each.run, []).append(each)
    runs = sorted(by_run.items())
    return tuple(SharedRun(run, tuple(sorted(clones, key=_clone_order))) for run, clones in runs)


def _clone_order(summary: RunSummary) -> tuple[str, str]:
    return summary.member, summary.clone
