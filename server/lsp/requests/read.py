"""The requests of our own (`lsp/__init__.py` lists them) that write nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....orchestration.result.values import Evaluation, as_json
from ...workspace.history import history_json, history_of
from ...workspace.roots import UsageError
from ...workspace.workspace import Workspace
from ..session.payloads import board_json, graph_json
from ..session.transport import RequestFailed, encode_json
from ..view.root_view import RootView
from .recent import newest

if TYPE_CHECKING:
    from ...live.boards import RootBoard
    from ..session.connection import Connection

Request = Callable[["Connection", Any], Awaitable[Any]]
MOST_EVENTS = 1000
"""In one answer."""


async def board(connection: Connection, _: Any) -> Any:
    connection.wants_boards = True
    return await asyncio.to_thread(encode_json, board_json, _boards(connection))


def _boards(connection: Connection) -> list[RootBoard]:
    return [connection.engine.board(root) for root in sorted(connection.views)]


async def run(connection: Connection, params: Any) -> Any:
    _, evaluation = named_run(connection, params)
    return await asyncio.to_thread(encode_json, as_json, evaluation) if evaluation else None


async def history(connection: Connection, params: Any) -> Any:
    view, evaluation = named_run(connection, params)
    name = evaluation.run if evaluation else None
    return await asyncio.to_thread(encode_json, _history, view.root, name, _limit(params))


async def recent(connection: Connection, params: Any) -> Any:
    return {"events": await asyncio.to_thread(newest, _boards(connection), _limit(params))}


async def graph(connection: Connection, params: Any) -> Any:
    view, evaluation = named_run(connection, params)
    workflow = await connection.workflow(view, evaluation) if evaluation else None
    return graph_json(workflow, evaluation) if workflow and evaluation else None


READ_REQUESTS: dict[str, Request] = {
    "phasekeeper/board": board,
    "phasekeeper/run": run,
    "phasekeeper/history": history,
    "phasekeeper/recent": recent,
    "phasekeeper/graph": graph,
}


def named_run(connection: Connection, params: Any) -> tuple[RootView, Evaluation | None]:
    """The root and the run that a request names; None for a run that is not there.

    Raises RequestFailed for a root that is not open.
    """
    data = params if isinstance(params, dict) else {}
    view = connection.views.get(Path(str(data.get("root", ""))))
    if view is None:
        raise RequestFailed(f"{data.get('root')!r} is no root that this connection has open")
    return view, view.run(str(data.get("run", "")))


def _limit(params: Any) -> int:
    """How many records are asked for: at most, and where nothing fitting is said, `MOST_EVENTS`."""
    limit = params.get("limit") if isinstance(params, dict) else None
    return limit if type(limit) is int and 0 < limit <= MOST_EVENTS else MOST_EVENTS


def _history(root: Path, run: str | None, limit: int) -> dict[str, Any]:
    """The newest records of a run's journal with the lifecycle events they are."""
    workspace = Workspace(root)
    match = workspace.match(run) if run is not None else None
    if match is None:
        raise UsageError(f"{run} is no run of {root}")
    data = history_json(workspace, match, history_of(workspace, match), True)
    return {"events": data["records"][-limit:]}
