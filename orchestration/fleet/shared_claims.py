"""Who has a task in a fleet: one value by task, and to whom it yields.

A claim passes through three states. One that is *claimed* ends by itself after its time. Whoever writes a
report makes it *reporting* first, which does not end: a process that sleeps between that and its write is
overtaken by nobody. A task that was reported stays *reported*, so that a clone that has not got the files
yet does not do it again: it names the line of the journal that a taker has to have.

A claim belongs to whoever has its token, of which `key` is the digest; what only its own clone can know (that
a report was cut off, that a task is open again) is that clone's to decide.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from typing import NamedTuple

from .messages import format_message, key_token, parse_message, text_of


class ClaimState(StrEnum):
    CLAIMED = "claimed"
    REPORTING = "reporting"
    REPORTED = "reported"
    UNREADABLE = "unreadable"


class SharedClaim(NamedTuple):
    """The claim on a task of a run. `clone` is the root that it was made in, as its machine `member` knows
    it; `until` is for showing, by the clock of that machine; `outcome` is that of the report,
    `line` the digest of the journal's last line then."""

    run: str
    task: str
    state: ClaimState = ClaimState.CLAIMED
    actor: str = ""
    member: str = ""
    clone: str = ""
    key: str = ""
    until: str = ""
    outcome: str = ""
    line: str = ""

    def yields_to(self, other: SharedClaim, known: Collection[str] = ()) -> bool:
        """True where `other` may take this one's place; `known` are the digests of its journal's lines."""
        if self.state is ClaimState.UNREADABLE:
            return False
        is_same_clone = (self.member, self.clone) == (other.member, other.clone)
        if self.state is ClaimState.CLAIMED:
            return bool(self.key) and self.key == other.key
        has_report = self.state is ClaimState.REPORTED and self.line in known
        return has_report or (is_same_clone and bool(self.clone))


def claim_key(run: str, task: str) -> str:
    """The key of a task's claim in the bucket."""
    return f"{key_token(run)}.{key_token(task)}"


def format_claim(claim: SharedClaim) -> bytes:
    return format_message(claim._asdict())


def parse_claim(raw: bytes) -> SharedClaim:
    """The claim in a value; where it is none, one that cannot be read and yields to nobody."""
    values = parse_message(raw)
    try:
        texts = {name: text_of(values or {}, name) for name in SharedClaim._fields}
        return SharedClaim(**{**texts, "state": ClaimState(texts["state"])})
    except ValueError:
        return SharedClaim("", "", ClaimState.UNREADABLE)


def holder_phrase(claim: SharedClaim) -> str:
    """Why a task is not free, and what to do about it, for people; texts are as they came."""
    who = f"{claim.actor or 'somebody'} on {claim.member or 'another machine'}"
    if claim.state is ClaimState.CLAIMED:
        return f"{claim.task} is claimed by {who} until {claim.until}; take another task, or wait"
    if claim.state is ClaimState.REPORTING:
        return f"{claim.task} is being reported by {who}; wait, and get the files of that clone"
    if claim.state is ClaimState.REPORTED:
        return (
            f"{claim.task} was reported {claim.outcome} by {who}: get the files of that clone (`git pull`); "
            "a person can give it back with `phasekeeper release`"
        )
    return (
        "what the fleet holds about the task cannot be read; a person can free it with `phasekeeper release`"
    )
