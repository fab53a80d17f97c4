"""What the server tells other machines: the runs of roots whose project this machine has joined.

Begun only where the user's machine has joined a fleet; a root whose configuration names no project, or
another one, is left alone.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ...orchestration.definition.root_config import FleetProject
from ...orchestration.fleet.messages import key_token
from ...orchestration.fleet.shared_board import RunSummary, summary_of
from ...orchestration.result.values import Evaluation
from ..disk.git import answer
from ..disk.repository import Head, head_of
from ..fleet.board_feed import BoardFeed
from ..fleet.bucket import Bucket
from ..fleet.connection import BOARD, connect
from ..fleet.membership import FleetSetupError, Membership, membership_of
from ..fleet.nats_bucket import NatsBucket
from ..live.boards import RootChange
from ..live.engine import Engine
from ..workspace.roots import UsageError
from ..workspace.workspace import Workspace

_log = logging.getLogger(__name__)


class FleetSharing:
    """Shares each root that is opened, until it is stopped. Its methods belong to the engine's loop."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._roots: dict[Path, _SharedRoot] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._connections: dict[Membership, Any] = {}
        self._connecting = asyncio.Lock()

    def add(self, root: Path) -> None:
        """Share a root that was opened, if its project is joined."""
        task = asyncio.ensure_future(self._add(root))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _add(self, root: Path) -> None:
        declared = await asyncio.to_thread(lambda: Workspace(root).config.fleet)
        try:
            membership = membership_of(declared.project) if declared else None
        except FleetSetupError as error:
            _log.warning("%s is shared with nobody: %s", root, error)
            return
        if declared is None or membership is None:
            return
        if earlier := self._roots.pop(root, None):
            await earlier.stop()
        with suppress(UsageError):
            # It may be closed again by now.
            self._roots[root] = _SharedRoot(
                self._engine, root, declared, membership, lambda: self._bucket(membership)
            )

    async def _bucket(self, membership: Membership) -> Bucket:
        async with self._connecting:
            connection = self._connections.get(membership)
            if connection is None or connection.is_closed:
                connection = self._connections[membership] = await connect(membership)
        return NatsBucket(connection, BOARD)

    async def wait_for_memberships(self) -> None:
        """Return when it is known of every root that was opened whether it is shared."""
        await asyncio.gather(*self._tasks)

    async def stop(self) -> None:
        """Share nothing more."""
        for task in tuple(self._tasks):
            task.cancel()
        for shared in self._roots.values():
            await shared.stop()
        for connection in self._connections.values():
            await connection.close()


class _SharedRoot:
    """One root, told as it changes."""

    def __init__(
        self,
        engine: Engine,
        root: Path,
        declared: FleetProject,
        membership: Membership,
        connect: Callable[[], Any],
    ) -> None:
        """Raises UsageError for a root that is not open."""
        self._root, self._declared, self._member = root, declared, membership.member
        self._clone = key_token(str(root))
        runs = engine.board(root).runs
        self._changes: asyncio.Queue[tuple[Iterable[Evaluation], tuple[str, ...]]] = asyncio.Queue()
        self._changes.put_nowait((tuple(runs.values()), ()))
        self._feed = BoardFeed(self._member, self._clone, connect)
        self._head, self._commit = Head(), ""
        self._unsubscribe = engine.subscribe(root, self._on_change)
        self._task = asyncio.ensure_future(self._run())

    def _on_change(self, change: RootChange) -> None:
        self._changes.put_nowait((tuple(change.changed.values()), tuple(change.removed)))

    async def _run(self) -> None:
        while True:
            changed, removed = await self._changes.get()
            commit = await asyncio.to_thread(self._read_commit)
            at = datetime.now(UTC).isoformat(timespec="seconds")
            self._feed.update([self._summary(each, commit, at) for each in changed], removed)

    def _read_commit(self) -> str:
        """The commit HEAD; git is asked where HEAD has moved since."""
        head = head_of(self._root)
        if head != self._head:
            said = answer(self._root, "rev-parse", "HEAD").decode("ascii", "replace")
            self._head, self._commit = head, said.strip()[:40]
        return self._commit

    def _summary(self, evaluation: Evaluation, commit: str, at: str) -> RunSummary:
        texts = self._declared.shares_texts
        return summary_of(evaluation, self._member, self._clone, commit, at, shares_texts=texts)

    async def stop(self) -> None:
        self._unsubscribe()
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task
        await self._feed.stop()
