"""The requests of our own (`lsp/__init__.py` lists them) that write nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from ....orchestration.result.values import as_json
from ...live.boards import RootBoard
from ...workspace.history import history_json, history_of
from ...workspace.roots import UsageError
from ...workspace.workspace import Workspace
from ..session.connection import Connection
from ..session.payloads import board_json, graph_json
from ..session.transport import encode_json
from .recent import newest

Request = Callable[[Connection, Any], Awaitable[Any]]
MOST_EVENTS = 1000
"""In one answer."""


async def board(connection: Connection, _: Any) -> Any:
    connection.wants_boards = True
    return await asyncio.to_thread(encode_json, board_json, _boards(connection))


def _boards(connection: Connection) -> list[RootBoard]:
    return [connection.engine.board(root) for root in sorted(connection.views)]


async def run(connection: Connection, params: Any) -> Any:
    _, evaluation = connection.named_run(params)
    return await asyncio.to_thread(encode_json, as_json, evaluation) if evaluation else None


async def history(connection: Connection, params: Any) -> Any:
    view, evaluation = connection.named_run(params)
    name = evaluation.run if evaluation else None
    return await asyncio.to_thread(encode_json, _history, view.root, name, _limit(params))


async def recent(connection: Connection, params: Any) -> Any:
    return {"events": await asyncio.to_thread(newest, _boards(connection), _limit(params))}


async def graph(connection: Connection, params: Any) -> Any:
    view, evaluation = connection.named_run(params)
    workflow = await connection.workflow(view, evaluation) if evaluation else None
    return graph_json(workflow, evaluation) if workflow and evaluation else None


READ_REQUESTS: dict[str, Request] = {
    "phasekeeper/board": board,
    "phasekeeper/run": run,
    "phasekeeper/history": history,
    "phasekeeper/recent": recent,
    "phasekeeper/graph": graph,
}


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
