"""The requests that are Phasekeeper's own (`__init__.py` lists them): boards, runs, and what writes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...orchestration.evaluation import Evaluation, as_json
from .protocol import Refusal
from .summaries import board_json, graph_json
from .view import View

if TYPE_CHECKING:
    from .connection import Connection

Answer = Callable[[Any], Awaitable[Any]]


def requests(connection: Connection) -> dict[str, Answer]:
    """The functions that answer, by the names of their requests."""

    async def board(_: Any) -> Any:
        return board_json([connection.engine.board(root) for root in sorted(connection.views)])

    async def run(params: Any) -> Any:
        _, evaluation = named(connection, params)
        return await asyncio.to_thread(as_json, evaluation) if evaluation else None

    async def graph(params: Any) -> Any:
        view, evaluation = named(connection, params)
        workflow = await connection.workflow(view, evaluation) if evaluation else None
        return graph_json(workflow, evaluation) if workflow and evaluation else None

    return {"phasekeeper/board": board, "phasekeeper/run": run, "phasekeeper/graph": graph}


def named(connection: Connection, params: Any) -> tuple[View, Evaluation | None]:
    """The root and the run that a request names. Raises Refusal for a root that is not open."""
    data = params if isinstance(params, dict) else {}
    view = connection.views.get(Path(str(data.get("root", ""))))
    if view is None:
        raise Refusal(f"{data.get('root')!r} is no root that this connection has open")
    return view, view.run(str(data.get("run", "")))
