"""Decisions that people made on other machines, judged and recorded by the server of the clone that asked.

Each is looked at once: whether it fits the run as it is, whether its signature is one of a person whom the
commit HEAD lists, and last, under the run's lock, whether the record is the one that was signed. What became
of it is told where its author's machine reads it. What is recorded is recognised, so nothing is twice.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import aclosing, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from ...orchestration.evaluation.trace import EvaluationTrace
from ...orchestration.fleet.answer_fit import command_of, is_recorded, refusal
from ...orchestration.fleet.remote_answers import (
    LIFETIME_S,
    AnswerProposal,
    AnswerResult,
    AnswerState,
    author_of,
    format_result,
    parse_proposal,
    parse_result,
    result_key,
)
from ...orchestration.journal.journal import Record
from ...orchestration.journal.lines import JOURNAL
from ...orchestration.journal.signatures import covered_elsewhere, decision_text, verification_time
from ...orchestration.states import RecordKind
from ...orchestration.updates.commands import CommandRefused
from ...orchestration.vfs.files import below
from ..disk.ssh_signers import SignedText, remote_refusal, ssh_signers
from ..fleet.board_feed import end_task
from ..fleet.bucket import Bucket, FleetUnreachable, KeyValue
from ..live.engine import Engine
from ..workspace.apply import StoreError
from ..workspace.decision_proof import Sign, SignerOf, evidence_signer, journal_place
from ..workspace.head_files import HeadFiles
from ..workspace.roots import UsageError

MAX_UNPROVEN = 16
"""Of one member no more signatures that do not hold are verified, until the server starts anew."""
_MOST_AHEAD = timedelta(days=1)
"""So far a person's clock may be ahead."""
_AGAIN_S = 5.0
_log = logging.getLogger(__name__)


class AskingClone(NamedTuple):
    """Whose questions are answered: a root of a project, as its machine is known to the others."""

    root: Path
    project: str
    member: str
    clone: str


class AnswerRecorder:
    """Records what comes for one clone until it is stopped. Its methods belong to the engine's loop.

    `connect` gives the bucket of answers, or raises FleetUnreachable.
    """

    def __init__(self, engine: Engine, asking: AskingClone, connect: Callable[[], Any]) -> None:
        self._engine, self._asking, self._connect = engine, asking, connect
        self._judged: set[str] = set()
        """The keys of the results that were told."""
        self._unproven: Counter[str] = Counter()
        self._task = asyncio.ensure_future(self._run())

    async def stop(self) -> None:
        """Record nothing more; what is being written is finished."""
        await end_task(self._task)

    async def _run(self) -> None:
        while True:
            try:
                await self._follow(await self._connect())
            except FleetUnreachable as error:
                _log.info("answers of other machines are read later: %s", error)
            except Exception:
                _log.exception("answers of other machines to %s are read later", self._asking.root)
            await asyncio.sleep(_AGAIN_S)

    async def _follow(self, bucket: Bucket) -> None:
        """Take in what is there, then what comes."""
        waiting: list[KeyValue] | None = []
        async with aclosing(bucket.watch()) as values:
            async for value in values:
                if value is not None and waiting is None:
                    await self._take(bucket, value)
                elif value is not None and waiting is not None:
                    self._note_result(value)
                    waiting.append(value)
                else:
                    # Only now it is known of which the result was told before.
                    for each in waiting or ():
                        await self._take(bucket, each)
                    waiting = None

    def _note_result(self, value: KeyValue) -> None:
        if value.key.startswith(f"{self._asking.member}.") and parse_result(value.key, value.value):
            self._judged.add(value.key)

    async def _take(self, bucket: Bucket, value: KeyValue) -> None:
        """Judge a proposal that is for this clone, once, and tell its author what became of it."""
        asking, author = self._asking, author_of(value.key)
        proposal = parse_proposal(value.key, value.value) if author else None
        if proposal is None or (proposal.member, proposal.clone) != (asking.member, asking.clone):
            return
        told_at = result_key(asking.member, author, proposal.id)
        if told_at in self._judged or not self._is_open():
            return
        state, why = await asyncio.shield(self._judge(author, proposal))
        at = datetime.now(UTC).isoformat(timespec="seconds")
        result = AnswerResult(author, proposal.id, proposal.run, proposal.question, state, why, at)
        _log.info("an answer of %s to %s of %s is %s: %s", author, result.question, result.run, state, why)
        await bucket.lease(told_at, format_result(result), LIFETIME_S)
        self._judged.add(told_at)

    def _is_open(self) -> bool:
        with suppress(UsageError):
            return bool(self._engine.board(self._asking.root))
        return False

    async def _judge(self, author: str, proposal: AnswerProposal) -> tuple[AnswerState, str]:
        """(what becomes of a proposal, why)."""
        if proposal.project != self._asking.project:
            return AnswerState.REFUSED, f"it is for the project {proposal.project}"
        if self._unproven[author] >= MAX_UNPROVEN:
            return AnswerState.REFUSED, f"too many answers of {author} proved nothing"
        try:
            root, run = self._asking.root, proposal.run
            has_it, misfit, home = await self._engine.query(root, run, partial(_look, proposal=proposal))
            if has_it:
                return AnswerState.RECORDED, ""
            if why := misfit or _age_refusal(proposal, datetime.now(UTC)):
                return AnswerState.REFUSED, why
            if why := await asyncio.to_thread(_proof_refusal, root, home, proposal):
                self._unproven[author] += 1
                return AnswerState.REFUSED, why
            prove = _signer_for(proposal)
            await self._engine.act(root, run, command_of(proposal), signed=True, sign_with=prove)
        except (CommandRefused, StoreError, UsageError) as error:
            # Another server of this clone may have been first.
            has_it = await self._has_it(proposal)
            return (AnswerState.RECORDED, "") if has_it else (AnswerState.REFUSED, str(error))
        except Exception:
            _log.exception("an answer of %s to %s could not be recorded", author, proposal.run)
            return AnswerState.REFUSED, "it could not be recorded; the server's log says why"
        return AnswerState.RECORDED, ""

    async def _has_it(self, proposal: AnswerProposal) -> bool:
        """True if the journal has that answer by now."""
        root, run = self._asking.root, proposal.run
        with suppress(UsageError):
            await self._engine.look_again(root, run)
            return await self._engine.query(root, run, partial(is_recorded, proposal=proposal))
        return False


def _look(trace: EvaluationTrace, proposal: AnswerProposal) -> tuple[bool, str, str]:
    """(is it recorded already, why it does not fit, the run's home)."""
    return is_recorded(trace, proposal), refusal(trace, proposal), trace.facts.snapshot.home


def _age_refusal(proposal: AnswerProposal, now: datetime) -> str:
    """Why an answer of that time does not count now; "" where it does."""
    if not verification_time(proposal.decided):
        return "it does not say when it was signed"
    try:
        age = now - datetime.fromisoformat(proposal.decided)
    except ValueError:
        return "it does not say when it was signed"
    if age < -_MOST_AHEAD:
        return f"it was signed in the future, at {proposal.decided}; look at that machine's clock"
    is_old = age > timedelta(seconds=LIFETIME_S)
    return f"it was signed long ago, at {proposal.decided}; look at it again" if is_old else ""


def _proof_refusal(root: Path, home: str, proposal: AnswerProposal) -> str:
    """Why the signature of a proposal proves nothing, by the signers of HEAD; "" where it does."""
    signers = ssh_signers(root, HeadFiles(root).read)
    where = journal_place(root, below(home, JOURNAL))
    text = decision_text(proposal.kind, signers.repository, where, proposal.signed_content)
    signed = SignedText(proposal.signature, proposal.decided, text)
    return remote_refusal(root, signed, proposal.actor, signers)


def _signer_for(proposal: AnswerProposal) -> SignerOf:
    """The proof of the record of a proposal whose signature holds: CommandRefused for another record."""

    def signer_of(root: Path, home: str) -> Sign:
        def sign(entry: Record) -> Mapping[str, str]:
            if entry["kind"] == RecordKind.VERIFIED:
                # Reports that lay there as files are recorded before it, with what checks measured.
                return evidence_signer(root, home)(entry)
            if covered_elsewhere(entry) != proposal.signed_content:
                raise CommandRefused("the run was changed meanwhile; look at it again")
            return {"signature": proposal.signature}

        return sign

    return signer_of
