"""What the server tells other machines: the runs of roots whose project this machine has joined.

Where the commit HEAD has SSH keys sign decisions, questions are told so that they can be answered elsewhere,
and what comes is recorded (`fleet_answers`). Claims that could not be told before are (`fleet_reconciler`).

Begun only where the user's machine has joined a fleet; a root whose configuration names no project, or
another one, is left alone. From then on the user's file of memberships is looked at: a project that is left
is told nothing more, and this machine's rows are taken off its board.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ...orchestration.definition.root_config import FleetProject
from ...orchestration.evaluation.trace import EvaluationTrace
from ...orchestration.fleet.answer_fit import open_questions
from ...orchestration.fleet.messages import key_token
from ...orchestration.fleet.remote_answers import OpenQuestion
from ...orchestration.fleet.shared_board import RunSummary, summary_of
from ...orchestration.result.values import Evaluation
from ..disk.decision_keys import fleet_path
from ..disk.git import answer
from ..disk.repository import Head, head_of
from ..disk.ssh_signers import has_ssh_decisions
from ..fleet.board_feed import BoardFeed, end_task, remove_rows
from ..fleet.bucket import Bucket, FleetUnreachable
from ..fleet.connection import ANSWERS, BOARD, CLAIMS, connect
from ..fleet.membership import FleetSetupError, Membership, memberships
from ..fleet.nats_bucket import NatsBucket
from ..live.boards import RootChange
from ..live.engine import Engine
from ..workspace.head_files import HeadFiles
from ..workspace.roots import UsageError
from ..workspace.workspace import Workspace
from .fleet_answers import AnswerRecorder, AskingClone
from .fleet_reconciler import ClaimReconciler

_LOOK_S = 0.5
"""So often the file of memberships is looked at."""
_log = logging.getLogger(__name__)


class FleetSharing:
    """Shares each root that is opened, until it is stopped. Its methods belong to the engine's loop."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._path = fleet_path()
        self._opened: dict[Path, None] = {}
        """The roots that are shared, or would be once their project is joined."""
        self._roots: dict[Path, _SharedRoot] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._connections: dict[Membership, Any] = {}
        self._connecting, self._changing = asyncio.Lock(), asyncio.Lock()
        self._watching = asyncio.ensure_future(self._watch_memberships(_version(self._path)))

    def add(self, root: Path) -> None:
        """Share a root that was opened, if its project is joined."""
        self._opened[root] = None
        task = asyncio.ensure_future(self._add(root))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _add(self, root: Path) -> None:
        declared = await asyncio.to_thread(lambda: Workspace(root).config.fleet)
        async with self._changing:
            try:
                membership = memberships(self._path).get(declared.project) if declared else None
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
                    self._engine, root, declared, membership, lambda name: self._bucket(membership, name)
                )

    async def _watch_memberships(self, known: object) -> None:
        while True:
            await asyncio.sleep(_LOOK_S)
            version = _version(self._path)
            if version != known:
                known = version
                try:
                    await self._take_memberships(await asyncio.to_thread(memberships, self._path))
                except FleetSetupError as error:
                    _log.warning("what is shared stays as it was: %s", error)
                except Exception:
                    _log.exception("a change of memberships could not be taken in")

    async def _take_memberships(self, joined: Mapping[str, Membership]) -> None:
        """Share all roots anew, and take the rows of those off the board whose project was left, or is joined
        otherwise."""
        current = set(joined.values())
        async with self._changing:
            earlier, self._roots = self._roots, {}
            for shared in earlier.values():
                await shared.stop()
            for shared in earlier.values():
                if shared.membership not in current:
                    await self._take_off_board(shared)
            for membership in self._connections.keys() - current:
                await self._connections.pop(membership).close()
        for root in self._opened:
            self.add(root)

    async def _take_off_board(self, shared: _SharedRoot) -> None:
        try:
            await remove_rows(await self._bucket(shared.membership, BOARD), shared.place)
        except FleetUnreachable as error:
            _log.warning("the rows of %s stay on the board: %s", shared.place, error)

    async def _bucket(self, membership: Membership, name: str) -> Bucket:
        async with self._connecting:
            connection = self._connections.get(membership)
            if connection is None or connection.is_closed:
                connection = self._connections[membership] = await connect(membership)
        return NatsBucket(connection, name)

    async def wait_for_memberships(self) -> None:
        """Return when it is known of every root that was opened whether it is shared."""
        await asyncio.gather(*self._tasks)

    async def stop(self) -> None:
        """Share nothing more."""
        await end_task(self._watching)
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
        connect: Callable[[str], Any],
    ) -> None:
        """Raises UsageError for a root that is not open. `connect` gives a bucket by its name."""
        self._engine, self._root, self._declared = engine, root, declared
        self.membership = membership
        self._member, self._clone = membership.member, key_token(str(root))
        self._connect = connect
        runs = engine.board(root).runs
        self._changes: asyncio.Queue[tuple[Iterable[Evaluation], tuple[str, ...]]] = asyncio.Queue()
        self._changes.put_nowait((tuple(runs.values()), ()))
        self._feed = BoardFeed(self._member, self._clone, lambda: connect(BOARD))
        self._reconciler = ClaimReconciler(engine, root, membership, lambda: connect(CLAIMS))
        self._head, self._commit = Head(), ""
        self._takes_answers = False
        self._recorder: AnswerRecorder | None = None
        self._unsubscribe = engine.subscribe(root, self._on_change)
        self._task = asyncio.ensure_future(self._run())

    @property
    def place(self) -> str:
        """Under what its rows stand on the board."""
        return f"{self._member}.{self._clone}"

    def _on_change(self, change: RootChange) -> None:
        self._changes.put_nowait((tuple(change.changed.values()), tuple(change.removed)))

    async def _run(self) -> None:
        while True:
            changed, removed = await self._changes.get()
            self._reconciler.update(changed)
            took_answers = self._takes_answers
            await asyncio.to_thread(self._look_at_head)
            if self._takes_answers != took_answers:
                with suppress(UsageError):
                    changed = tuple(self._engine.board(self._root).runs.values())
            if self._takes_answers and self._recorder is None:
                asking = AskingClone(self._root, self._declared.project, self._member, self._clone)
                self._recorder = AnswerRecorder(self._engine, asking, lambda: self._connect(ANSWERS))
            at = datetime.now(UTC).isoformat(timespec="seconds")
            self._feed.update([await self._summary(each, at) for each in changed], removed)

    def _look_at_head(self) -> None:
        """What the commit HEAD is, and says; git is asked where it has moved since."""
        head = head_of(self._root)
        if head != self._head:
            said = answer(self._root, "rev-parse", "HEAD").decode("ascii", "replace")
            self._head, self._commit = head, said.strip()[:40]
            self._takes_answers = has_ssh_decisions(HeadFiles(self._root).read)

    async def _summary(self, evaluation: Evaluation, at: str) -> RunSummary:
        texts, where = self._declared.shares_texts, (self._member, self._clone, self._commit, at)
        if not (evaluation.questions and self._takes_answers):
            return summary_of(evaluation, *where, shares_texts=texts)
        questions, head = (), ""
        with suppress(UsageError):
            # Of one moment with its questions; the run may be gone by now.
            evaluation, questions, head = await self._engine.query(self._root, evaluation.run, _questions_of)
        return summary_of(evaluation, *where, shares_texts=texts, answerable=questions, head=head)

    async def stop(self) -> None:
        self._unsubscribe()
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task
        if self._recorder is not None:
            await self._recorder.stop()
        await self._reconciler.stop()
        await self._feed.stop()


def _version(path: Path) -> object:
    """What differs after a file was replaced; None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino, status.st_size


def _questions_of(trace: EvaluationTrace) -> tuple[Evaluation, tuple[OpenQuestion, ...], str]:
    """(a run's evaluation, its questions as other machines can answer them, its journal's last line)."""
    return trace.evaluation, open_questions(trace), trace.facts.snapshot.journal.head
