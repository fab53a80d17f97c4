"""The board that machines share: a summary of each run in each clone, and where two clones differ.

What is shared can be made anew from the files at any time. Titles, reasons and what people are asked go along
only where the project's configuration says so; the content of a file never does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..journal.signatures import one_line
from ..result.values import Evaluation
from .messages import Value, format_message, key_token, number_of, parse_message, text_of
from .remote_answers import OpenQuestion, listed_options, options_listed

MAX_ROWS, MAX_BOARD_BYTES = 200_000, 128 << 20
"""Summaries of one project that are read, and their bytes; the rest are counted."""
_MAX_QUESTIONS = 20
_NUMBERS = ("done", "total")
_LISTS = ("questions", "asked", "subjects", "words", "options")


class RunSummary(NamedTuple):
    """How a run stands in one clone: `member` is the machine, `clone` the root on it, `at` the time of its
    clock, `commit` what HEAD was then. `done` and `total` are -1 without a plan, texts "" unless shared.

    Where questions can be answered on another machine, `home` has their run's journal, of which `head` is the
    digest of the last line; `subjects` and `words` are digests of each question (`OpenQuestion`), and
    `options` is as of `listed_options`.
    """

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
    home: str = ""
    head: str = ""
    subjects: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    options: tuple[str, ...] = ()

    @property
    def substance(self) -> RunSummary:
        """The summary without the time: what has to be told again when it differs."""
        return self._replace(at="")

    def subject_of(self, question: str) -> str:
        """The digest of what a question is about; "" where it is not answered on another machine."""
        return dict(zip(self.questions, self.subjects, strict=False)).get(question, "")

    def question_in_words(self, id_: str) -> OpenQuestion | None:
        """A question as it is read, None where not all of its words were told."""
        numbers = [number for number, each in enumerate(self.questions) if each == id_]
        if not numbers or numbers[0] >= min(len(self.asked), len(self.words)):
            return None
        number, subject = numbers[0], self.subject_of(id_)
        asked, options = one_line(self.asked[number]), options_listed(self.options, number)
        question = OpenQuestion(id_, asked, options, subject)
        return question if question.words == self.words[number] else None


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
    evaluation: Evaluation,
    member: str,
    clone: str,
    commit: str,
    at: str,
    *,
    shares_texts: bool,
    answerable: Sequence[OpenQuestion] = (),
    head: str = "",
) -> RunSummary:
    """The summary of an evaluation. `answerable` are its first questions where they can be answered on other
    machines, with the digest of its journal's last line."""
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
    if answerable:
        whole = whole._replace(
            home=evaluation.home,
            head=head,
            subjects=tuple(each.subject for each in answerable),
            words=tuple(each.words for each in answerable),
            options=listed_options(answerable, shares_texts=shares_texts),
        )
    if not shares_texts:
        return whole
    texts = tuple(question.question for question in asked)
    return whole._replace(title=evaluation.title, reason=step.reason, asked=texts)


def summary_key(member: str, clone: str, run: str) -> str:
    """The key of a summary in the bucket; a member may write only below its own name."""
    return f"{member}.{clone}.{key_token(run)}"


def format_summary(summary: RunSummary) -> bytes:
    """The message of a summary; texts that make it too long are left out, questions' first, and then how they
    are answered on other machines."""
    printable = summary._replace(
        title=_printable(summary.title),
        reason=_printable(summary.reason),
        asked=tuple(map(_printable, summary.asked)),
        run=_printable(summary.run),
        home=_printable(summary.home),
    )
    ids = tuple(" ".join(each.split(" ", 2)[:2]) for each in summary.options)
    without_words = {"asked": (), "options": ids}
    without_texts = {**without_words, "reason": "", "title": ""}
    ids_alone = {**without_texts, "subjects": (), "words": (), "options": ()}
    for less in ({}, without_words, without_texts, ids_alone):
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
