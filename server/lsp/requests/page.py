"""The request for the page of a run (`lsp/__init__.py` has its contract)."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
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
    more = {"unsaved": connection.unsaved_paths(view, evaluation)}
    return await asyncio.to_thread(encode_json, lambda: data | more | {"absent": _absent(view.root, data)})


def _absent(root: Path, data: Mapping[str, Any]) -> list[str]:
    """The files that the page names as places to open, and that are not there."""
    named = [
        *(evidence["path"] for evidence in data["evaluation"]["suggestion"]["evidence"]),
        *(entry["report"] for entry in data["timeline"]["entries"]),
        *(document["path"] for decision in data["decisions"] for document in decision["documents"]),
    ]
    # A record may name anything: what no file can be called is not there, and raises nothing.
    return [path for path in dict.fromkeys(named) if path and not os.path.exists(root / path)]  # noqa: PTH110


PAGE_REQUESTS: dict[str, Callable[[Connection, Any], Awaitable[Any]]] = {"phasekeeper/page": page}
