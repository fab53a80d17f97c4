"""The request for the page of a run (`lsp/__init__.py` has its contract)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from ...page.run_page_reader import read_run_page
from ..session.connection import Connection
from ..session.transport import encode_json


async def page(connection: Connection, params: Any) -> Any:
    """All that the page shows, as the files on disk are: a decision is about those alone."""
    view, evaluation = await connection.named_run(params)
    if evaluation is None:
        return None
    data = await asyncio.to_thread(read_run_page, view.root, evaluation.run)
    if data is None:
        return None
    unsaved = connection.unsaved_paths(view, evaluation)
    return await asyncio.to_thread(encode_json, lambda: data | {"unsaved": unsaved})


PAGE_REQUESTS: dict[str, Callable[[Connection, Any], Awaitable[Any]]] = {"phasekeeper/page": page}
