"""Claims on tasks by compare-and-set in a bucket; the revision of a claim is its fencing token.

Nothing is decided by a read alone: what is found there says what the next write is tried with, and only a
write that the bucket took counts. Each function takes the bucket's refusal for "read again".
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence

from ...orchestration.fleet.shared_claims import (
    ClaimState,
    SharedClaim,
    claim_key,
    format_claim,
    parse_claim,
)
from .bucket import Bucket

_TRIES = 20
"""Who finds another write in between so often gives up; the task is somebody else's."""


class TaskConflict(Exception):  # noqa: N818 - said to people as it is
    """Somebody else has the task, or had it: `holder`, None for a claim that has ended."""

    def __init__(self, task: str, holder: SharedClaim | None) -> None:
        super().__init__(task)
        self.task, self.holder = task, holder


async def take(bucket: Bucket, claim: SharedClaim, ttl_s: int, known: Collection[str] = ()) -> int:
    """Claim a task for a time, or renew the claim: its token. `known` are the digests of the journal's lines
    in the claim's clone. Raises TaskConflict."""
    key, value = claim_key(claim.run, claim.task), format_claim(claim)
    for _ in range(_TRIES):
        there = await bucket.get(key)
        if there and not parse_claim(there.value).yields_to(claim, known):
            raise TaskConflict(claim.task, parse_claim(there.value))
        if token := await bucket.lease(key, value, ttl_s, there.revision if there else 0):
            return token
    raise TaskConflict(claim.task, None)


async def refusing_claims(
    bucket: Bucket, claims: Sequence[SharedClaim], known: Collection[str] = ()
) -> Sequence[SharedClaim | None]:
    """For each claim that somebody might take: the one for which `take` would refuse it now, for showing."""
    there = await asyncio.gather(*(bucket.get(claim_key(each.run, each.task)) for each in claims))
    holders = [parse_claim(value.value) if value else None for value in there]
    return [
        holder if holder and not holder.yields_to(claim, known) else None
        for claim, holder in zip(claims, holders, strict=True)
    ]


async def begin_report(bucket: Bucket, claim: SharedClaim, token: int, known: Collection[str] = ()) -> int:
    """Fence a report: from now on nobody has the task until it is ended. The token to end it with.

    `token` is that of the claim; 0 where there is none, and the task has to be free. Raises TaskConflict for
    one that is somebody else's by now, and for one that has ended, whoever has the task.
    """
    key = claim_key(claim.run, claim.task)
    reporting = claim._replace(state=ClaimState.REPORTING)
    for _ in range(_TRIES):
        there = await bucket.get(key)
        holder = parse_claim(there.value) if there else None
        if (holder and not holder.yields_to(reporting, known)) or (token and not there):
            raise TaskConflict(claim.task, holder)
        value, revision = format_claim(reporting), there.revision if there else 0
        written = await (bucket.compare_and_set(key, value, revision) if there else bucket.create(key, value))
        if written:
            return written
    raise TaskConflict(claim.task, None)


async def end_report(bucket: Bucket, claim: SharedClaim, token: int, ttl_s: int) -> int:
    """Tell what became of a report that was begun: a task that is not *reported* is claimed again for a time,
    or free where that is 0. The new token; 0 where a person has given the task back meanwhile."""
    key, value = claim_key(claim.run, claim.task), format_claim(claim)
    if claim.state is ClaimState.REPORTED:
        return await bucket.compare_and_set(key, value, token) or 0
    if not ttl_s:
        return await bucket.compare_and_set(key, b"", token) or 0
    return await bucket.lease(key, value, ttl_s, token) or 0


async def give_back(bucket: Bucket, claim: SharedClaim, *, by_person: bool) -> SharedClaim | None:
    """Free a task: the claim that ended, None where there was none. Who is no person frees only their own
    claim, and leaves what was reported. Raises TaskConflict."""
    key = claim_key(claim.run, claim.task)
    for _ in range(_TRIES):
        there = await bucket.get(key)
        if there is None:
            return None
        holder = parse_claim(there.value)
        is_own = holder.state is ClaimState.CLAIMED and holder.yields_to(claim)
        if not (by_person or is_own):
            if holder.state is ClaimState.REPORTED and holder.key == claim.key:
                return None
            raise TaskConflict(claim.task, holder)
        if await bucket.compare_and_set(key, b"", there.revision):
            return holder
    raise TaskConflict(claim.task, None)
