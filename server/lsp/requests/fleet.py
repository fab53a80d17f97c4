"""The board of a project on all machines of its fleet, for an editor (`lsp/__init__.py` has the contract).

Imported on machines that have joined a fleet alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from ....orchestration.fleet.board_index import MOST_RUNS, BoardIndex, SharedRunLine
from ....orchestration.fleet.messages import key_token
from ....orchestration.fleet.shared_board import RunSummary
from ....orchestration.sanitize import plain
from ...fleet.board_watch import BoardWatch, follow_board
from ...fleet.membership import FleetSetupError, Membership, memberships
from ...workspace.workspace import Workspace
from ..session.connection import Connection
from ..session.transport import RequestFailed, encode_json

MOST_CLONES = 200
"""Of a run, in one answer; the rest is counted."""
ROOTS_WAIT_S = 5.0
PAUSE_S = 0.25
"""What changes within so long after a notification is told in one."""
_NEWEST = ("member", "status", "phase", "done", "total", "at")


class _BoardFeed:
    """The changes of one project's board that one editor is told of, the first at once, then in batches."""

    def __init__(self, connection: Connection, membership: Membership) -> None:
        self.membership = membership
        self._connection = connection
        self._changed: dict[str, None] = {}
        self._is_anew = False
        self._wake = asyncio.Event()
        self.watch, leave = follow_board(membership, self._add)
        self._task = connection.spawn(self._run())
        self._task.add_done_callback(lambda _: leave())

    def stop(self) -> None:
        """Tell of nothing more."""
        self._task.cancel()

    def _add(self, run: str | None) -> None:
        if run and not self._is_anew:
            self._changed[run] = None
        self._is_anew = self._is_anew or run is None or len(self._changed) > MOST_RUNS
        self._wake.set()

    async def _run(self) -> None:
        protocol = self._connection.protocol
        while await self._wake.wait():
            self._wake.clear()
            changed = () if self._is_anew else tuple(self._changed)
            note = _change_json(self.watch, self.membership, changed, self._is_anew)
            self._changed.clear()
            self._is_anew = False
            protocol.send_encoded("phasekeeper/fleetChanged", encode_json(lambda note=note: note))
            # An editor that stopped reading is told of the newest once it reads again.
            await protocol.drain()
            await asyncio.sleep(PAUSE_S)


_FEEDS: WeakKeyDictionary[Connection, dict[str, _BoardFeed]] = WeakKeyDictionary()
"""Those of each editor that shows boards of projects, by project."""


# ---- requests


async def fleet(connection: Connection, params: Any) -> Any:
    """The joined projects of the connection's roots, and what is wrong with the memberships, if anything."""
    roots = await _roots_by_project(connection)
    try:
        joined = await asyncio.to_thread(memberships)
    except FleetSetupError as error:
        problem = plain(str(error), 600) if roots else ""
        return {"fleets": [], "problem": problem}
    fleets = [
        {"project": project, "member": joined[project].member, "roots": [str(root) for root in of_project]}
        for project, of_project in roots.items()
        if project in joined
    ]
    return {"fleets": fleets, "problem": ""}


async def board(connection: Connection, params: Any) -> Any:
    """A page of a project's board, which is followed for this editor from now on."""
    membership, _ = await _named_project(connection, params)
    feeds = _FEEDS.setdefault(connection, {})
    feed = feeds.get(membership.project)
    if feed is None or feed.membership != membership:
        _stop(connection, membership.project)
        feed = feeds[membership.project] = _BoardFeed(connection, membership)
    limit = params.get("limit")
    try:
        lines, cursor = feed.watch.index.page(
            limit if type(limit) is int else MOST_RUNS, str(params.get("after") or "")
        )
    except ValueError as error:
        raise RequestFailed(str(error)) from None
    page = _head_json(feed.watch, membership) | {"runs": [*map(_line_json, lines)], "next": cursor}
    return encode_json(lambda: page)


async def run(connection: Connection, params: Any) -> Any:
    """A run in each clone; nothing of a board that the editor does not show."""
    membership, roots = await _named_project(connection, params)
    feed = _FEEDS.get(connection, {}).get(membership.project)
    index = feed.watch.index if feed else BoardIndex()
    own = {(membership.member, key_token(str(root))): str(root) for root in roots}
    clones = index.shared_run(str(params.get("run", ""))).clones
    shown = [_clone_json(clone, own) for clone in clones[:MOST_CLONES]]
    return encode_json(lambda: {"clones": shown, "more": len(clones) - len(shown)})


async def hidden(connection: Connection, params: Any) -> Any:
    """Follow a project's board no more for this editor."""
    _stop(connection, str(params.get("project", "")) if isinstance(params, dict) else "")
    return {}


FLEET_REQUESTS: Mapping[str, Callable[[Connection, Any], Awaitable[Any]]] = {
    "fleet": fleet,
    "fleetBoard": board,
    "fleetRun": run,
    "fleetHidden": hidden,
}


def _stop(connection: Connection, project: str) -> None:
    if feed := _FEEDS.get(connection, {}).pop(project, None):
        feed.stop()


async def _roots_by_project(connection: Connection) -> dict[str, list[Path]]:
    """The connection's roots that are of a project, as their files say now.

    Those that are being opened are waited for, a while; whoever has others asks again.
    """
    await connection.wait_for_roots(limit_s=ROOTS_WAIT_S)

    def read() -> dict[str, list[Path]]:
        by_project: dict[str, list[Path]] = {}
        for root in roots:
            if declared := Workspace(root).config.fleet:
                by_project.setdefault(declared.project, []).append(root)
        return by_project

    roots = sorted(connection.views)
    return await asyncio.to_thread(read)


async def _named_project(connection: Connection, params: Any) -> tuple[Membership, list[Path]]:
    """(how this machine takes part in the project that a request names, its roots in this editor).

    Raises RequestFailed for one that no root of the connection is of, or that is not joined.
    """
    project = str(params.get("project", "")) if isinstance(params, dict) else ""
    roots = (await _roots_by_project(connection)).get(project)
    if not roots:
        raise RequestFailed(f"no root that this connection has open is of the project {project[:60]!r}")
    try:
        membership = (await asyncio.to_thread(memberships)).get(project)
    except FleetSetupError as error:
        raise RequestFailed(plain(str(error), 600)) from None
    if membership is None:
        raise RequestFailed(f"this machine has not joined {project}: phasekeeper fleet join URL")
    return membership, roots


# ---- JSON


def _head_json(watch: BoardWatch, membership: Membership) -> dict[str, Any]:
    index = watch.index
    return {
        "project": membership.project,
        "version": index.version,
        "isRead": watch.is_read,
        "outage": watch.outage._asdict() if watch.outage else None,
        "counts": {**index.counts._asdict(), "unread": index.unread},
    }


def _change_json(
    watch: BoardWatch, membership: Membership, runs: tuple[str, ...], anew: bool
) -> dict[str, Any]:
    lines = [(run, watch.index.line(run)) for run in runs]
    return _head_json(watch, membership) | {
        "changed": [_line_json(line) for _, line in lines if line],
        "removed": [run for run, line in lines if line is None],
        "anew": anew,
    }


def _line_json(line: SharedRunLine) -> dict[str, Any]:
    newest = {name: getattr(line.newest, name) for name in _NEWEST}
    data = line._asdict() | {"over": line.is_over, "workflow": line.newest.workflow, "newest": newest}
    del data["is_over"]
    return data


def _clone_json(clone: RunSummary, own: Mapping[tuple[str, str], str]) -> dict[str, Any]:
    """A summary, with the root that it is of where this editor has it open."""
    return clone._asdict() | {"root": own.get((clone.member, clone.clone))}
