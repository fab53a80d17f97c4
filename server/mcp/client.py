"""Who calls: one assistant's connection, with its folder, its roots and what it holds open.

What a caller may look at and record in is its ground: the folder in which the connector was started, the
folders of the client's workspace, and what a person named to `phasekeeper serve`. What lies below them
belongs to it, links resolved, and so do the roots around them. An assistant's word adds nothing to that.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Sequence
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
    """One connection or session over HTTP; one that is not `lasting` stands for all calls without a session.

    `folder` is None over HTTP. `roots` are the client's own folders once it was asked; `held` maps a folder
    to its opened roots, and `pins` addresses with a subscription to their folders.
    """

    folder: Path | None
    label: str
    lasting: bool = True
    roots: tuple[Path, ...] | None = None
    held: dict[Path, tuple[Path, ...]] = field(default_factory=dict)
    looked_at: dict[Path, float] = field(default_factory=dict)
    pins: dict[str, Path] = field(default_factory=dict)
    has_ended: bool = False


def is_modern(context: Context) -> bool:
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


def client_name(context: Context) -> str:
    """How the client calls itself, "assistant" where it does not."""
    params = context.session.client_params
    return (params.client_info.name if params else "") or "assistant"


def is_ground(folder: Path, grounds: Iterable[Path]) -> bool:
    """Whether a folder is one of `grounds` or lies below one; all of them are resolved.

    The home folder and what is above it hold everything of a user: nobody who names one means what is below.
    """
    return any(
        folder == ground or (folder.is_relative_to(ground) and not _is_wide(ground)) for ground in grounds
    )


def _is_wide(folder: Path) -> bool:
    try:
        home = Path.home().resolve()
    except (OSError, RuntimeError):
        home = Path(folder.anchor)
    return home.is_relative_to(folder) or folder == Path(folder.anchor)


async def roots_of(
    caller: Caller, context: Context, answers: types.InputResponses | None = None
) -> Sequence[Path]:
    """The folders that the client says it works in; none where it does not tell.

    Raises NeedsRoots where the answer has to come with a second call. `answers` are those of such a call.
    """
    told = (answers or {}).get(ROOTS)
    if isinstance(told, types.ListRootsResult):
        found = await asyncio.to_thread(folders_of, told)
        if caller.lasting:
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
    if caller.lasting:
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
