"""Summaries of the runs of one root, told to the other machines as they change, and read from them.

The newest of a run waits while the servers are out of reach, and takes the place of what waited before it: a
change costs one message at most. At each contact what stands in the bucket under this clone's name is read
first, so that a start of the server tells nothing that is known, and takes away runs that are gone.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import aclosing
from typing import Any

from ...orchestration.fleet.board_index import BoardIndex
from ...orchestration.fleet.shared_board import (
    RunSummary,
    SharedBoard,
    format_summary,
    parse_summary,
    summary_key,
)
from .bucket import Bucket, FleetUnreachable, KeyValue
from .connection import BOARD, LINK
from .membership import FleetSetupError, membership_of

_AGAIN_S = 5.0
_CANCEL_S = 1.0
_log = logging.getLogger(__name__)


def project_board(project: str) -> SharedBoard:
    """The board of a project, for threads. Raises FleetSetupError where this machine has not joined it,
    FleetUnreachable where nobody answers."""
    membership = membership_of(project)
    if membership is None:
        raise FleetSetupError(f"this machine has not joined {project}: phasekeeper fleet join URL")
    return LINK.call(membership, BOARD, read_board)


async def read_board(bucket: Bucket) -> SharedBoard:
    """All runs of a project, of every clone. Raises FleetUnreachable."""
    index = BoardIndex()
    async with aclosing(bucket.watch()) as values:
        async for value in values:
            if value is None:
                break
            index.put(value.key, value.value)
    return index.board()


async def remove_rows(bucket: Bucket, of: str) -> int:
    """Take the rows of a member, or of one `MEMBER.CLONE`, off the board; how many there were.

    Raises FleetUnreachable.
    """
    rows: list[KeyValue] = []
    async with aclosing(bucket.watch(of)) as values:
        async for value in values:
            if value is None:
                break
            if value.value:
                rows.append(value)
    for each in rows:
        row: KeyValue | None = each
        while row and await bucket.compare_and_set(row.key, b"", row.revision) is None:
            row = await bucket.get(row.key)
    return len(rows)


class BoardFeed:
    """Tells what is handed to `update` until it is stopped. Its methods belong to one loop.

    `connect` gives the bucket, or raises FleetUnreachable.
    """

    def __init__(self, member: str, clone: str, connect: Callable[[], Any]) -> None:
        self._member, self._clone, self._connect = member, clone, connect
        self._current: dict[str, RunSummary] = {}
        """The newest summary of each run, by key."""
        self._known: dict[str, tuple[bytes, int]] | None = None
        """What stands in the bucket by key, with its revision; None before the contact."""
        self._due: dict[str, None] = {}
        self._wake = asyncio.Event()
        self._task = asyncio.ensure_future(self._run())

    def update(self, changed: Sequence[RunSummary], removed: Sequence[str] = ()) -> None:
        """Take in how runs stand now, and the names of those that are gone."""
        gone = [summary_key(self._member, self._clone, run) for run in removed]
        for key in gone:
            self._current.pop(key, None)
        keys = [summary_key(self._member, self._clone, each.run) for each in changed]
        self._current.update(zip(keys, changed, strict=True))
        self._due.update(dict.fromkeys((*gone, *keys)))
        self._wake.set()

    async def stop(self) -> None:
        """Tell nothing more."""
        await end_task(self._task)

    async def _run(self) -> None:
        # Without this every run would seem to be gone.
        await self._wake.wait()
        while True:
            try:
                bucket = await self._connect()
                await self._read_rows(bucket)
                while True:
                    await self._tell(bucket)
                    await self._wake.wait()
                    self._wake.clear()
            except FleetUnreachable as error:
                _log.info("the board is told later: %s", error)
                await asyncio.sleep(_AGAIN_S)

    async def _read_rows(self, bucket: Bucket) -> None:
        """What stands there of this clone; all that differs from it is due."""
        known: dict[str, tuple[bytes, int]] = {}
        async with aclosing(bucket.watch(f"{self._member}.{self._clone}")) as values:
            async for value in values:
                if value is None:
                    break
                known[value.key] = (value.value, value.revision)
        self._known = known
        self._due = dict.fromkeys((*self._current, *known))

    async def _tell(self, bucket: Bucket) -> None:
        known = self._known if self._known is not None else {}
        while self._due:
            key = next(iter(self._due))
            there, revision = known.get(key, (b"", 0))
            summary = self._current.get(key)
            if not _is_told(key, there, summary):
                value = format_summary(summary) if summary else b""
                if revision:
                    written = await bucket.compare_and_set(key, value, revision)
                else:
                    written = await bucket.create(key, value)
                if written is None:
                    # Another process of this clone tells it, too.
                    newest = await bucket.get(key)
                    known[key] = (newest.value, newest.revision) if newest else (b"", 0)
                    continue
                known[key] = (value, written)
            if self._current.get(key) is summary:
                self._due.pop(key, None)


async def end_task(task: asyncio.Task[None]) -> None:
    """Cancel a task that asks a bucket, and wait for its end.

    A cancellation that meets an answer of the server can be lost in `asyncio.wait_for`, which the client of
    NATS calls (Python before 3.12), so it is repeated.
    """
    while not task.done():
        task.cancel()
        await asyncio.wait([task], timeout=_CANCEL_S)


def _is_told(key: str, there: bytes, summary: RunSummary | None) -> bool:
    """True where the bucket has that already, whenever it was told."""
    if summary is None:
        return not there
    known = parse_summary(key, there) if there else None
    return known is not None and known.substance == parse_summary(key, format_summary(summary.substance))
