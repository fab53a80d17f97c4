"""The requests that are Phasekeeper's own (`lsp/__init__.py` lists them) and write nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....orchestration.result.values import Evaluation, as_json
from ...workspace.history import history_json, history_of
from ...workspace.roots import UsageError
from ...workspace.workspace import Workspace
from ..session.transport import Refusal, written
from ..view.root_view import View
from .payloads import board_json, graph_json
from .recent import newest

if TYPE_CHECKING:
    from ..session.connection import Connection

Answer = Callable[[Any], Awaitable[Any]]
MOST_EVENTS = 1000
"""In one answer."""


def requests(connection: Connection) -> dict[str, Answer]:
    """The functions that answer, by the names of their requests."""

    async def board(_: Any) -> Any:
        connection.follows = True
        boards = [connection.engine.board(root) for root in sorted(connection.views)]
        return await asyncio.to_thread(written, board_json, boards)

    async def run(params: Any) -> Any:
        _, evaluation = named(connection, params)
        return await asyncio.to_thread(written, as_json, evaluation) if evaluation else None

    async def history(params: Any) -> Any:
        view, evaluation = named(connection, params)
        run = evaluation.run if evaluation else None
        return await asyncio.to_thread(written, _history, view.root, run, limit_in(params))

    async def recent(params: Any) -> Any:
        boards = [connection.engine.board(root) for root in sorted(connection.views)]
        return {"events": await asyncio.to_thread(newest, boards, limit_in(params))}

    async def graph(params: Any) -> Any:
        view, evaluation = named(connection, params)
        workflow = await connection.workflow(view, evaluation) if evaluation else None
        return graph_json(workflow, evaluation) if workflow and evaluation else None

    return {
        "phasekeeper/board": board,
        "phasekeeper/run": run,
        "phasekeeper/history": history,
        "phasekeeper/recent": recent,
        "phasekeeper/graph": graph,
    }


def named(connection: Connection, params: Any) -> tuple[View, Evaluation | None]:
    """The root and the run that a request names. Raises Refusal for a root that is not open."""
    data = params if isinstance(params, dict) else {}
    view = connection.views.get(Path(str(data.get("root", ""))))
    if view is None:
        raise Refusal(f"{data.get('root')!r} is no root that this connection has open")
    return view, view.run(str(data.get("run", "")))


def limit_in(params: Any) -> int:
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
