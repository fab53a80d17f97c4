"""Who calls: one assistant's connection, with its folder, its roots and what it holds open."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

Context = ServerRequestContext["Caller", Any]

_ROOTS_PATIENCE_S = 3.0
_MOST_ROOTS = 20
ROOTS = "roots"


class NeedsRoots(Exception):  # noqa: N818 - no error
    """The client has to be asked for its roots before the call can go on (protocol of 2026-07-28)."""


@dataclass
class Caller:
    """One connection, or all clients of the HTTP port, which have no folder of their own.

    `roots` are the client's own folders once it was asked; `held` maps a folder to its opened roots.
    """

    folder: Path | None
    label: str
    roots: tuple[Path, ...] | None = None
    held: dict[Path, tuple[Path, ...]] = field(default_factory=dict)
    looked_at: dict[Path, float] = field(default_factory=dict)


def is_modern(context: Context) -> bool:
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


def client_name(context: Context) -> str:
    """How the client calls itself, "assistant" where it does not."""
    params = context.session.client_params
    return (params.client_info.name if params else "") or "assistant"


async def roots_of(context: Context, answers: types.InputResponses | None = None) -> Sequence[Path]:
    """The folders that the client says it works in; none where it does not tell.

    Raises NeedsRoots where the answer has to come with a second call. `answers` are those of such a call.
    """
    caller = context.lifespan_context
    told = (answers or {}).get(ROOTS)
    if isinstance(told, types.ListRootsResult):
        found = await asyncio.to_thread(folders_of, told)
        if caller.folder is not None:
            caller.roots = found
        return found
    if caller.roots is not None:
        return caller.roots
    capabilities = context.session.client_capabilities
    if capabilities is None or capabilities.roots is None:
        return ()
    if is_modern(context):
        raise NeedsRoots
    found = await _listed(context.session)
    if caller.folder is not None:
        caller.roots = found
    return found


async def _listed(session: ServerSession) -> tuple[Path, ...]:
    """What the client answers; nothing when it does not within a few seconds, or names what is no file."""
    with suppress(MCPError, ValidationError), anyio.move_on_after(_ROOTS_PATIENCE_S):
        told = await session.send_request(types.ListRootsRequest(), types.ListRootsResult)
        return await asyncio.to_thread(folders_of, told)
    return ()


def folders_of(told: types.ListRootsResult) -> tuple[Path, ...]:
    """The folders of `file:` addresses that exist, each once."""
    found: dict[Path, None] = {}
    for root in told.roots[:_MOST_ROOTS]:
        parts = urlsplit(str(root.uri))
        if parts.scheme == "file" and parts.netloc in ("", "localhost"):
            path = Path(url2pathname(parts.path) if os.name == "nt" else unquote(parts.path))
            with suppress(OSError, ValueError):
                if path.is_dir():
                    found[path.resolve()] = None
    return tuple(found)
