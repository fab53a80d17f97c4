"""Answers that people of this machine give to questions of another: which clone asks, signing, sending, and
what became of those that were sent."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ...orchestration.fleet.remote_answers import (
    LIFETIME_S,
    AnswerProposal,
    AnswerResult,
    OpenQuestion,
    answer_key,
    answers_of,
    format_proposal,
    parse_proposal,
    parse_result,
    result_key,
)
from ...orchestration.fleet.shared_board import RunSummary, SharedBoard
from ...orchestration.journal.signatures import decision_text
from ..disk.ssh_signers import SshSigners, sign_text
from .bucket import Bucket, FleetUnreachable
from .connection import ANSWERS, LINK
from .membership import Membership

MOST_SHOWN = 100
_UNREADABLE = (
    "{question} cannot be read here: its words were not told (`fleet: {{share: full}}` tells them, unless "
    "they are long), and this clone has not the run as it stands there; get its files (`git pull`), or "
    "answer it on {member}: phasekeeper answer {run} {question}"
)
_TWICE = "that very answer was sent already; `phasekeeper fleet status` shows what became of it"


class NobodyAsks(Exception):  # noqa: N818 - said to people as it is
    """What is to be answered is asked nowhere, in more than one clone, or not so that it can be answered
    here; the text says what to do."""


class SentAnswer(NamedTuple):
    """An answer, and what became of it; None while the machine that asked has not said."""

    proposal: AnswerProposal
    result: AnswerResult | None


def asking_clone(board: SharedBoard, run: str, question: str = "", machine: str = "") -> RunSummary:
    """The clone in which a question of a run is open, of several on one machine the one told last.

    `run` is its path or the end of it, `question` an id and `machine` a member, "" for any. Raises
    NobodyAsks.
    """
    asking = [
        clone
        for clone in _clones_of(board, run)
        if clone.questions and question in ("", *clone.questions) and machine in ("", clone.member)
    ]
    if not asking:
        what, where = question or "nothing", f"on {machine}" if machine else "on any machine"
        said = f"{what} is asked" if what == "nothing" else f"{what} is not asked"
        raise NobodyAsks(f"{said} in {run} {where}; `phasekeeper status --fleet` shows what is")
    return _only_clone(asking, run, "ask that")


def clone_elsewhere(board: SharedBoard, run: str, machine: str, own: tuple[str, str]) -> RunSummary:
    """The clone of a run on another machine, of several on one the one told last; `own` is (member, clone)
    of this one. As `asking_clone` otherwise."""
    clones = [each for each in _clones_of(board, run) if (each.member, each.clone) != own]
    clones = [each for each in clones if machine in ("", each.member)]
    if not clones:
        where = f"on {machine}" if machine else "on any other machine"
        raise NobodyAsks(f"there is no {run} {where}; `phasekeeper status --fleet` shows what is")
    return _only_clone(clones, run, "have it")


def _clones_of(board: SharedBoard, run: str) -> Sequence[RunSummary]:
    named = [each for each in board.runs if each.run == run]
    named = named or [each for each in board.runs if each.run.endswith(f"/{run}")]
    return [clone for shared in named for clone in shared.clones]


def _only_clone(clones: Sequence[RunSummary], run: str, what: str) -> RunSummary:
    if len({clone.run for clone in clones}) > 1:
        raise NobodyAsks(f"{run} is the end of several runs: {', '.join(sorted({c.run for c in clones}))}")
    members = sorted({clone.member for clone in clones})
    if len(members) > 1:
        raise NobodyAsks(f"{' and '.join(members)} {what}, each in its clone; choose with --on MACHINE")
    return max(clones, key=lambda clone: (clone.at, clone.clone))


def readable_question(clone: RunSummary, id_: str, here: Sequence[OpenQuestion]) -> OpenQuestion:
    """A question of a clone in words, from those of the same run `here`, else as the clone tells them.

    Raises NobodyAsks for one that cannot be answered from another machine, or not be read on this one.
    """
    if not clone.subject_of(id_):
        how = f"phasekeeper answer {clone.run} {id_}"
        raise NobodyAsks(f"{id_} is answered where its files are, on {clone.member}: {how}")
    question = next((each for each in here if each.id == id_), None) or clone.question_in_words(id_)
    if question is None:
        raise NobodyAsks(_UNREADABLE.format(question=id_, member=clone.member, run=clone.run))
    return question


def question_lines(question: OpenQuestion) -> Sequence[str]:
    """A question and its options, as a person reads them; they still have to be escaped, as all of these."""
    options = (option.partition(" ") for option in question.options)
    return [question.asked, *(f"- {id_}: {text}" for id_, _, text in options)]


def decision_lines(clone: RunSummary, question: OpenQuestion, proposal: AnswerProposal) -> Sequence[str]:
    """What a person has to see before an answer, where no files are at hand to tell what follows from it."""
    title = f' "{clone.title}"' if clone.title else ""
    text = next((each for each in question.options if each.partition(" ")[0] == proposal.option), "")
    return [
        *question_lines(question),
        f"run {clone.run}{title} ({clone.workflow}), revision {clone.revision}",
        f"phase {clone.phase or 'unknown'}: {clone.reason}",
        f"answer: {proposal.option}" + (f" ({text.partition(' ')[2]})" if text else ""),
        f"reason: {proposal.why}",
        "what follows from it is not known here: this clone has not the run as it stands there",
        place_line(clone),
    ]


def place_line(clone: RunSummary) -> str:
    return f"it is asked on {clone.member}, whose server records the answer; told {clone.at}"


def sign_answer(
    root: Path, where: str, key: str, proposal: AnswerProposal, signers: SshSigners
) -> AnswerProposal:
    """The proposal signed by a key of `ssh_keygen.signing_key`; `where` is the place of its run's journal in
    the repository. Raises SigningError, and ValueError for one that is too long to be sent."""
    text = decision_text(proposal.kind, signers.repository, where, proposal.signed_content)
    signature = sign_text(root, key, proposal.decided, text, proposal.actor, signers)
    signed = proposal._replace(signature=signature)
    format_proposal(signed)
    return signed


def send_answer(membership: Membership, proposal: AnswerProposal) -> None:
    """Put an answer where the machine that asks reads it. Raises FleetUnreachable."""
    key, raw = answer_key(membership.member, proposal), format_proposal(proposal)
    if LINK.call(membership, ANSWERS, lambda bucket: bucket.lease(key, raw, LIFETIME_S)) is None:
        raise FleetUnreachable(_TWICE)


def sent_answers(membership: Membership) -> Sequence[SentAnswer]:
    """The answers that this machine sent, the newest first. Raises FleetUnreachable."""
    return LINK.call(membership, ANSWERS, partial(_sent_answers, member=membership.member))


async def _sent_answers(bucket: Bucket, member: str) -> Sequence[SentAnswer]:
    sent: list[AnswerProposal] = []
    async with aclosing(bucket.watch(answers_of(member))) as values:
        async for value in values:
            if value is None:
                break
            if value.value and (proposal := parse_proposal(value.key, value.value)):
                sent.append(proposal)
    newest = sorted(sent, key=lambda each: each.decided, reverse=True)[:MOST_SHOWN]
    return [SentAnswer(each, await _result(bucket, member, each)) for each in newest]


async def _result(bucket: Bucket, author: str, proposal: AnswerProposal) -> AnswerResult | None:
    """What the machine that asked says of a proposal."""
    try:
        key = result_key(proposal.member, author, proposal.id)
        told = await bucket.get(key)
    except ValueError:
        # The proposal names no machine.
        return None
    return parse_result(key, told.value) if told else None
