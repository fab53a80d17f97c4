"""Rivals for the tasks of one run, each on a machine of its own, and what their recorded history has to be.

Each claims tasks at random, gives some back, sleeps past the end of others, and reports: a report that is
fenced lands. Every call is recorded with when it was made and answered; revisions give the order in which
the bucket took what was written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random
from typing import NamedTuple

from phasekeeper.orchestration.fleet.shared_claims import ClaimState, SharedClaim, claim_key, parse_claim
from phasekeeper.server.fleet import claim_register
from phasekeeper.server.fleet.bucket import Bucket, FleetUnreachable
from phasekeeper.server.fleet.claim_register import TaskConflict

RUN = "docs/plans/library"
SHORT_S, LONG_S = 1, 600
_GRACE_S = 0.1
"""The server tells the time of a write in its own clock; so much may lie between that and ours."""


class Call(NamedTuple):
    """A write that was acknowledged: by whom, from when to when, at which revision, for how long."""

    kind: str
    task: str
    rival: str
    begun: float
    ended: float
    revision: int
    ttl_s: int


@dataclass
class Rival:
    """One machine. `unsure` are the tasks at which a call was not answered."""

    name: str
    bucket: Bucket
    history: list[Call]
    random: Random
    unsure: set[str] = field(default_factory=set)
    finished: set[str] = field(default_factory=set)
    """Tasks that its own files have as done, so that it does not begin them again."""
    refused: int = 0
    """Reports that were kept from landing since the token was stale."""

    def claim(self, task: str, state: ClaimState = ClaimState.CLAIMED) -> SharedClaim:
        return SharedClaim(RUN, task, state, self.name, self.name, "clone", f"{self.name}'s token", "later")

    async def work(self, tasks: Sequence[str], rounds: int) -> None:
        """Go on until so many rounds are done, whatever happens to the network."""
        for _ in range(rounds):
            task = self.random.choice(tasks)
            if task in self.finished:
                continue
            try:
                await self._round(task)
            except TaskConflict:
                await asyncio.sleep(0.002)
            except FleetUnreachable:
                self.unsure.add(task)
                await asyncio.sleep(0.05)

    async def _round(self, task: str) -> None:
        chance = self.random.random()
        ttl_s = SHORT_S if chance < 0.2 else LONG_S
        token = await self.take(task, ttl_s)
        if chance < 0.2:
            # It sleeps past the end of its claim.
            await asyncio.sleep(self.random.choice((0.9, 1.3)))
            with suppress(TaskConflict):
                await self.report(task, token)
                return
            self.refused += 1
        elif chance < 0.7:
            await self._call(
                "free", task, claim_register.give_back(self.bucket, self.claim(task), by_person=False)
            )
        else:
            await self.report(task, token)

    async def take(self, task: str, ttl_s: int) -> int:
        return await self._call(
            "take", task, claim_register.take(self.bucket, self.claim(task), ttl_s), ttl_s=ttl_s
        )

    async def report(self, task: str, token: int) -> None:
        """A report that lands once it is fenced; one in ten finishes the task."""
        fenced = await self._call(
            "begin", task, claim_register.begin_report(self.bucket, self.claim(task), token)
        )
        is_last = self.random.random() < 0.1
        state = ClaimState.REPORTED if is_last else ClaimState.CLAIMED
        # It has landed: the files say so from now on, whether the fleet hears of it or not.
        self.finished |= {task} if is_last else set()
        ended = claim_register.end_report(self.bucket, self.claim(task, state), fenced, LONG_S)
        await self._call("done" if state is ClaimState.REPORTED else "take", task, ended, ttl_s=LONG_S)

    async def _call(self, kind: str, task: str, call: object, ttl_s: int = 0) -> int:
        clock = asyncio.get_running_loop().time
        begun = clock()
        revision = await call  # pyright: ignore[reportGeneralTypeIssues]
        number = revision if isinstance(revision, int) else 0
        self.history.append(Call(kind, task, self.name, begun, clock(), number, ttl_s))
        return number


def violations(history: Sequence[Call]) -> list[str]:
    """What two rivals may not both have done, in the order of revisions."""
    wrong: list[str] = []
    for task in sorted({call.task for call in history}):
        wrong += _violations_of(task, [call for call in history if call.task == task])
    return wrong


def _violations_of(task: str, calls: Sequence[Call]) -> list[str]:
    written = sorted((call for call in calls if call.revision), key=lambda call: call.revision)
    wrong = [f"{task}: revision {a.revision} twice" for a, b in pairwise(written) if a.revision == b.revision]
    done = [call for call in written if call.kind == "done"]
    wrong += [f"{task}: done by {call.rival} again" for call in done[1:]]
    for before, after in pairwise(written):
        if before.rival == after.rival:
            continue
        if before.kind in ("begin", "done"):
            wrong.append(f"{task}: {after.rival} got in between a report of {before.rival}")
        elif after.kind in ("begin", "done"):
            wrong.append(f"{task}: {after.rival} reported under {before.rival}'s claim")
        elif not _gave_back(calls, before, after) and after.ended < before.begun + before.ttl_s - _GRACE_S:
            wrong.append(f"{task}: {after.rival} took it while {before.rival} had it")
    return wrong


def _gave_back(calls: Sequence[Call], before: Call, after: Call) -> bool:
    """Whether the holder gave the task back between two calls, or may have: an answer can be lost."""
    return any(
        call.kind == "free" and call.rival == before.rival and before.begun <= call.begun <= after.ended
        for call in calls
    )


async def lost_claims(bucket: Bucket, rivals: Sequence[Rival], history: Sequence[Call]) -> list[str]:
    """Acknowledged claims that the bucket does not have any more, though nobody ended them."""
    lost: list[str] = []
    unsure = set().union(*(rival.unsure for rival in rivals))
    for task in sorted({call.task for call in history} - unsure):
        calls = [call for call in history if call.task == task]
        last = max(calls, key=lambda call: (call.revision, call.begun))
        ended = any(call.kind == "free" and call.begun >= last.begun for call in calls)
        there = await bucket.get(claim_key(RUN, task))
        if ended or last.ttl_s == SHORT_S:
            continue
        if there is None or there.revision != last.revision or parse_claim(there.value).member != last.rival:
            lost.append(f"{task}: {last} is acknowledged, and there is {there}")
    return lost


async def follow(bucket: Bucket, seen: dict[str, tuple[int, bytes]]) -> None:
    """Keep a board of a bucket's newest values, for as long as this runs."""
    while True:
        with suppress(FleetUnreachable):
            async for entry in bucket.watch():
                if entry:
                    seen[entry.key] = (entry.revision, entry.value)
        await asyncio.sleep(0.05)
