"""Tells a fleet, at the next contact, of claims and reports that were made while it was out of reach.

The next claim or report of the same run would do so too; here nobody has to wait for one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from ...orchestration.result.values import Evaluation
from ..fleet.board_feed import end_task
from ..fleet.bucket import FleetUnreachable
from ..fleet.membership import Membership
from ..live.engine import Engine
from ..workspace.apply import StoreError, apply_command
from ..workspace.fleet_claims import FleetClaims, has_unfenced_work
from ..workspace.roots import UsageError
from ..workspace.workspace import Workspace

_AGAIN_S = 5.0
_NOTED_S = 35.0
"""By then a write that changed a run has given the fleet up, and noted so: it waits 30 s at most."""
_log = logging.getLogger(__name__)


class ClaimReconciler:
    """Reconciles the claims of one root until it is stopped. Its methods belong to the engine's loop.

    `connect` gives the bucket of claims, or raises FleetUnreachable; it is asked while something waits.
    """

    def __init__(
        self, engine: Engine, root: Path, membership: Membership, connect: Callable[[], Any]
    ) -> None:
        self._engine, self._root, self._membership, self._connect = engine, root, membership, connect
        self._changed: dict[str, str] = {}
        """The homes of runs that may have something to tell, by run."""
        self._wake = asyncio.Event()
        self._task = asyncio.ensure_future(self._run())

    def update(self, changed: Iterable[Evaluation]) -> None:
        """Take in the runs that changed, at first all: each is looked at now, and once more later, since a
        note in the log of claims changes no run."""
        homes = {each.run: each.home for each in changed}
        self._look_at(homes)
        asyncio.get_running_loop().call_later(_NOTED_S, self._look_at, homes)

    def _look_at(self, homes: Mapping[str, str]) -> None:
        self._changed.update(homes)
        self._wake.set()

    async def stop(self) -> None:
        """Tell nothing more."""
        await end_task(self._task)

    async def _run(self) -> None:
        waiting: dict[str, str] = {}
        while True:
            if not waiting:
                await self._wake.wait()
            self._wake.clear()
            runs, self._changed = waiting | self._changed, {}
            waiting = await asyncio.to_thread(self._with_unfenced_work, runs)
            if waiting:
                waiting = await self._reconcile(waiting)
            if waiting:
                await asyncio.sleep(_AGAIN_S)

    def _with_unfenced_work(self, runs: dict[str, str]) -> dict[str, str]:
        return {run: home for run, home in runs.items() if self._has_unfenced_work(home)}

    def _has_unfenced_work(self, home: str) -> bool:
        try:
            return has_unfenced_work(self._root, home)
        except StoreError as error:
            _log.info("the claims of %s are not told: %s", home, error)
            return False

    async def _reconcile(self, waiting: dict[str, str]) -> dict[str, str]:
        """Tell of these runs; those that the fleet has not heard of."""
        try:
            await (await self._connect()).get("contact")
        except FleetUnreachable:
            return waiting
        left: dict[str, str] = {}
        for run, home in waiting.items():
            try:
                if not await self._engine.write(self._root, run, self._tell_of, run):
                    left[run] = home
                await self._engine.look_again(self._root, run)
            except (StoreError, UsageError) as error:
                _log.info("the claims of %s are told with its next report: %s", run, error)
            except Exception:
                # A defect in one run keeps no other from being told.
                _log.exception("the claims of %s could not be told", run)
        return left

    def _tell_of(self, run: str) -> bool:
        """Tell of a run; False where nobody answers."""
        workspace = Workspace(self._root)
        raise_question = partial(apply_command, workspace, run)
        return FleetClaims(workspace, run, self._membership, raise_question).reconcile()
