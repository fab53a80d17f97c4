"""Claims and reports of a run that machines share: fenced by their fleet, or kept for the next contact.

A root without `fleet:` in its configuration, or on a machine that has not joined its project, imports and
does nothing of this. Where the fleet cannot be reached a claim holds on this machine alone, and so it is
written down; what two machines did meanwhile to one task is put to a person at the next contact.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, TypeVar

from ...orchestration.evaluation.trace import EvaluationTrace
from ...orchestration.fleet.messages import key_token
from ...orchestration.fleet.shared_claims import (
    ClaimState,
    SharedClaim,
    claim_key,
    holder_phrase,
    parse_claim,
)
from ...orchestration.journal.journal import Claim
from ...orchestration.journal.lines import JOURNAL, parse_lines
from ...orchestration.plans.schedule import resolve
from ...orchestration.result.held_tasks import HeldTask
from ...orchestration.result.values import Evaluation
from ...orchestration.sanitize import plain
from ...orchestration.updates.commands import Command, CommandRefused, InvalidCommand
from ...orchestration.vfs.files import below
from ..fleet import claim_register
from ..fleet.bucket import Bucket, FleetUnreachable
from ..fleet.claim_register import TaskConflict
from ..fleet.connection import CLAIMS, LINK
from ..fleet.membership import FleetSetupError, Membership, membership_of
from ..store import claims as store_claims
from ..store.claims import FleetConflict, UnfencedWork, key_of
from ..store.folder import StoreError, read_file
from .workspace import Workspace

MOST_LOOKED_AT = 500
"""Of a run's tasks so many are looked up before they are handed out."""
_LOOK_S = 1.0
"""Who only looks waits so long for the fleet, and then does without it."""
_ENDED = "the claim on {} has ended; claim it again with `phasekeeper claim`"

T = TypeVar("T")


class _Begun(NamedTuple):
    """A task whose report is begun: `token` is 0 where the fleet could not be asked, `rest_s` the seconds
    that its claim would last still, 0 without one."""

    claim: SharedClaim
    token: int
    rest_s: int


def fleet_claims(
    workspace: Workspace, run: str, apply_command: Callable[[Command], object]
) -> FleetClaims | None:
    """The claims on a run's tasks among the machines of its project; None where this one takes no part in it.

    `apply_command` puts a question to a person. Raises StoreError where what the user's machine knows of
    fleets cannot be used.
    """
    declared = workspace.config.fleet
    try:
        membership = membership_of(declared.project) if declared else None
    except FleetSetupError as error:
        raise StoreError(str(error)) from None
    return FleetClaims(workspace, run, membership, apply_command) if membership else None


def has_unfenced_work(root: Path, home: str) -> bool:
    """True if the fleet has not heard yet of something that was done to the tasks of a run with that home.

    Raises StoreError.
    """
    return bool(store_claims.read_unfenced(root, home))


def held_elsewhere(workspace: Workspace, evaluation: Evaluation) -> Collection[HeldTask]:
    """Those of a run's next tasks that cannot be claimed here, since others have them; none where this
    machine takes no part in the project, or cannot ask it now."""
    declared, tasks = workspace.config.fleet, evaluation.suggestion.tasks[:MOST_LOOKED_AT]
    with suppress(FleetSetupError, FleetUnreachable, StoreError):
        membership = membership_of(declared.project) if declared and tasks else None
        if membership:
            member, clone = membership.member, key_token(str(workspace.root))
            claims = [SharedClaim(evaluation.run, task, member=member, clone=clone) for task in tasks]
            known = _journal_lines(workspace.root, workspace.home(evaluation.run))
            look = partial(claim_register.refusing_claims, claims=claims, known=known)
            holders = LINK.call(membership, CLAIMS, look, _LOOK_S, _LOOK_S)
            return [
                HeldTask(task, each.state, each.actor, each.member, each.until, each.outcome)
                for task, each in zip(tasks, holders, strict=True)
                if each
            ]
    return ()


def _journal_lines(root: Path, home: str) -> Sequence[str]:
    """The digests of the lines of a run's journal, in order."""
    raw = read_file(root, below(home, JOURNAL))[0] or b""
    return [line.digest for line in parse_lines(raw)]


class FleetClaims:
    """The claims on one run's tasks, asked for by blocking calls.

    As a context it is one report: entered, the fleet hears of what it has not heard of yet; `begin` fences
    the report's tasks, and the end of the context says whether it was written.
    """

    def __init__(
        self,
        workspace: Workspace,
        run: str,
        membership: Membership,
        apply_command: Callable[[Command], object],
    ) -> None:
        self._root, self._run, self._home = workspace.root, run, workspace.home(run)
        self._membership, self._apply_command = membership, apply_command
        self._begun: list[_Begun] = []
        self._outcome = ""

    def take(self, task: str, who: str, ttl_s: float, token: str) -> int:
        """Claim a task for a time: its fence, 0 where the fleet cannot be reached. Raises FleetConflict."""
        self.reconcile()
        until = datetime.now(UTC) + timedelta(seconds=ttl_s)
        claim = self._claim(task, who, key_of(token), until.isoformat(timespec="seconds"))
        whole_s, known = max(1, round(ttl_s)), self._journal_lines()
        return self._ask(partial(claim_register.take, claim=claim, ttl_s=whole_s, known=known)) or 0

    def give_back(self, task: str, token: str | None) -> SharedClaim | None:
        """Free a task: the claim that ended; None where there is none of that token's. None for a token is a
        person, who frees whoever's claim it is."""
        claim = self._claim(task, "", key_of(token) if token else "")
        with suppress(FleetConflict):
            return self._ask(partial(claim_register.give_back, claim=claim, by_person=token is None))
        return None

    def claim_elsewhere(self, task: str) -> Claim | None:
        """Who has a task, for showing; None where nobody has it, or nobody can be asked."""

        async def read(bucket: Bucket) -> Claim | None:
            there = await bucket.get(claim_key(self._run, task))
            holder = parse_claim(there.value) if there else None
            if there is None or holder is None:
                return None
            who = f"{holder.actor} on {holder.member} ({holder.state})"
            return Claim(task, who, holder.until or "a person releases it", 0, holder.key, there.revision)

        return self._ask(read)

    # ---- a report

    def __enter__(self) -> FleetClaims:
        self.reconcile()
        return self

    def begin(self, trace: EvaluationTrace, report: Command) -> None:
        """Fence a report of some tasks, under the claims that this clone has on them: from now on nobody else
        has them. Raises FleetConflict for a task that somebody else has by now."""
        self._outcome, known = report.outcome, self._journal_lines()
        plan = trace.facts.snapshot.plan
        claims = {each.task: each for each in trace.evaluation.claims}
        tasks = [resolve(plan, name) for name in report.tasks] if plan else []
        for task in filter(None, tasks):
            held = claims.get(task)
            key, until = (held.key, held.until) if held else (key_of(secrets.token_hex(16)), "")
            claim = self._claim(task, held.actor if held else report.actor, key, until)
            fence = held.fence if held else 0
            token = self._ask(partial(claim_register.begin_report, claim=claim, token=fence, known=known))
            self._begun.append(_Begun(claim, token or 0, _rest_s(held)))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for claim, token, rest_s in self._begun:
            if kind is not None:
                # It was not written: the task is claimed as before.
                work = partial(claim_register.end_report, claim=claim, token=token, ttl_s=rest_s)
                _ = token and self._ask(work)
            elif not (token and self._end(claim, token, self._outcome)):
                store_claims.note_unfenced(self._root, self._home, claim.task, claim.actor, self._outcome)

    def _end(self, claim: SharedClaim, token: int, outcome: str) -> bool:
        """Tell the fleet of a report that is written; False where nobody answers."""
        line = next(iter(self._journal_lines()[-1:]), "")
        ended = claim._replace(state=ClaimState.REPORTED, outcome=outcome, line=line)
        work = partial(claim_register.end_report, claim=ended, token=token, ttl_s=0)
        return self._ask(work) is not None

    # ---- the next contact

    def reconcile(self) -> bool:
        """Tell the fleet what was done while it could not be reached: False where nobody answers now. Of a
        task that somebody else claimed or reported meanwhile a person is asked, with both; nothing that was
        done is taken back."""
        for waiting in store_claims.read_unfenced(self._root, self._home):
            try:
                has_heard = self._tell(waiting)
            except FleetConflict as conflict:
                self._ask_person(waiting, conflict)
                has_heard = True
            if not has_heard:
                return False
            store_claims.note_reconciled(self._root, self._home, waiting.task)
        return True

    def _tell(self, waiting: UnfencedWork) -> bool:
        """Tell of one task; False where nobody answers."""
        held, known = waiting.claim, self._journal_lines()
        key, until = (held.key, held.until) if held else (key_of(secrets.token_hex(16)), "")
        claim = self._claim(waiting.task, waiting.actor, key, until)
        if waiting.outcome:
            token = self._ask(partial(claim_register.begin_report, claim=claim, token=0, known=known))
            return bool(token) and self._end(claim, token or 0, waiting.outcome)
        rest_s = max(1, _rest_s(held))
        return bool(self._ask(partial(claim_register.take, claim=claim, ttl_s=rest_s, known=known)))

    def _ask_person(self, waiting: UnfencedWork, conflict: FleetConflict) -> None:
        done = f"was reported {waiting.outcome}" if waiting.outcome else "is claimed"
        here = f"{waiting.task} {done} by {waiting.actor or 'somebody'} here while the fleet was out of reach"
        text = plain(f"{here}; meanwhile {conflict}. Whose work on it stands?", 900)
        request = sha256(text.encode()).hexdigest()[:32]
        wanted = Command(
            kind="raise", message=text, tasks=(waiting.task,), request=request, actor="fleet", channel="fleet"
        )
        try:
            self._apply_command(wanted)
        except (CommandRefused, InvalidCommand):
            # It is asked already, or the run is over: then nothing is left to decide.
            return

    # ---- asking

    def _claim(self, task: str, who: str, key: str, until: str = "") -> SharedClaim:
        clone, member = key_token(str(self._root)), self._membership.member
        return SharedClaim(self._run, task, ClaimState.CLAIMED, who, member, clone, key, until)

    def _journal_lines(self) -> Sequence[str]:
        return _journal_lines(self._root, self._home)

    def _ask(self, work: Callable[[Bucket], Awaitable[T]]) -> T | None:
        """What the fleet says, None where nobody answers. Raises FleetConflict."""
        try:
            return LINK.call(self._membership, CLAIMS, work)
        except FleetUnreachable:
            return None
        except TaskConflict as conflict:
            holder = conflict.holder
            said = holder_phrase(holder) if holder else _ENDED.format(conflict.task)
            raise FleetConflict(plain(said, 600)) from None


def _rest_s(held: Claim | None) -> int:
    """The seconds that a claim lasts still; 0 without one."""
    if held is None:
        return 0
    rest = datetime.fromisoformat(held.until) - datetime.now(UTC)
    return max(1, round(rest.total_seconds()))
