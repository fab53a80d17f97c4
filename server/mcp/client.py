"""One client and the roots that it holds open; each root is opened once for all clients.

What a client may look at and record in are its allowed folders: the folder in which the connector was
started, the folders of the client's workspace, and what a person named to `phasekeeper serve`. What lies
below them belongs to it, links resolved, and so do the roots around them. An assistant's word adds nothing.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname
from weakref import WeakValueDictionary

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from ...tools.assistant.answer_memory import AnswerMemory
from ..live.engine import Engine
from ..workspace.roots import UsageError
from .notifications import ChangeNotifier
from .places import KeptPlace

RequestContext = ServerRequestContext["ClientSession", Any]

REOPEN_AFTER_S = 30.0
"""A folder may come to belong to another root; so often that is looked at again."""
MOST_FOLDERS = 32
"""Folders that one client holds. For one more the first is released that no subscription is about."""
MOST_REVISIONS = 10_000
"""Revisions that answers gave out and that are remembered."""
ROOTS = "roots"
_ROOTS_PATIENCE_S = 3.0
_MOST_ROOTS = 20


class NeedsRoots(Exception):  # noqa: N818 - no error
    """The client has to be asked for its roots before the call can go on (protocol of 2026-07-28)."""


# ---- roots that are held open -----------------------------------------------------------------


@dataclass
class OpenRoots:
    """The roots that clients hold: how often each is held, its subscription, and one lock a run."""

    engine: Engine
    notifier: ChangeNotifier
    counts: dict[Path, int] = field(default_factory=dict)
    places: dict[tuple[Path, ...], KeptPlace] = field(default_factory=dict)
    """Of roots with their projects, for as long as all of them are held."""
    memory: AnswerMemory = field(default_factory=AnswerMemory)
    given_revisions: dict[tuple[str, str | None, str], None] = field(default_factory=dict)
    """(root, run, revision) of what answers said last, run None for all runs of a root."""
    _unsubscribe: dict[Path, Callable[[], None]] = field(default_factory=dict)
    _locks: WeakValueDictionary[tuple[Path, str], asyncio.Lock] = field(default_factory=WeakValueDictionary)

    async def open(self, folder: Path) -> tuple[Path, ...]:
        """Open the root of a folder and its projects. Raises UsageError for no such folder."""
        roots = await self.engine.open(folder)
        for root in roots:
            self.counts[root] = self.counts.get(root, 0) + 1
            if root not in self._unsubscribe:
                self._unsubscribe[root] = self.engine.subscribe(root, self.notifier.notify)
        return roots

    def close(self, roots: Iterable[Path]) -> None:
        for root in roots:
            self.counts[root] -= 1
            if self.counts[root] == 0:
                del self.counts[root]
                self._unsubscribe.pop(root)()
                self.places = {roots: kept for roots, kept in self.places.items() if root not in roots}
            self.engine.close(root)

    def note_revisions(self, answer: Mapping[str, Any]) -> None:
        """Remember which revisions an answer's data gave out, as those that somebody may wait on."""
        for each in (answer, *(answer["runs"] if isinstance(answer.get("runs"), list) else ())):
            key = (str(answer.get("root", "")), each.get("run"), str(each.get("revision", "")))
            self.given_revisions.pop(key, None)
            self.given_revisions[key] = None
        while len(self.given_revisions) > MOST_REVISIONS:
            del self.given_revisions[next(iter(self.given_revisions))]

    def lock(self, root: Path, run: str) -> asyncio.Lock:
        """The mutex of a run's claims: they are made one after the other, so that each sees those before it.

        It is kept for as long as somebody holds it or waits for it.
        """
        return self._locks.setdefault((root, run), asyncio.Lock())


@dataclass
class ClientSession:
    """One connection or session over HTTP; one that is not `lasting` stands for all calls without a session.

    `folder` is None over HTTP. `roots` are the client's own folders once it was asked for them; `pins` map
    URIs with a subscription to the folders that are held open for them.
    """

    open_roots: OpenRoots
    folder: Path | None
    label: str
    lasting: bool = True
    roots: tuple[Path, ...] | None = None
    pins: dict[str, Path] = field(default_factory=dict)
    tokens: dict[tuple[str, str, str, str], str] = field(default_factory=dict)
    """(root, run, who, task) -> the token of a claim that was made here; it is lost with the connection."""
    # By folder: its roots, and when they were opened; the one that was opened last stands last.
    _holds: dict[Path, tuple[tuple[Path, ...], float]] = field(default_factory=dict)
    _has_ended: bool = False

    async def hold(self, folder: Path) -> tuple[Path, ...]:
        """The root of a folder and its projects, kept open for this client.

        Raises UsageError for no such folder, and where there is no room for one more.
        """
        now = asyncio.get_running_loop().time()
        if folder in self._holds:
            roots, opened = self._holds[folder]
            projects = self.open_roots.engine.board(roots[0]).projects
            if now - opened < REOPEN_AFTER_S and projects == roots[1:]:
                return roots
        roots = await self.open_roots.open(folder)
        if self._has_ended:
            # The client went away meanwhile, and nobody else would release them.
            self.open_roots.close(roots)
            raise UsageError("the connection has ended")
        before, _ = self._holds.pop(folder, ((), 0.0))
        self._holds[folder] = roots, now
        self.open_roots.close(before)
        while len(self._holds) > MOST_FOLDERS:
            pinned = self.pins.values()
            oldest = next((each for each in self._holds if each not in pinned), folder)
            self.open_roots.close(self._holds.pop(oldest)[0])
            if oldest == folder:
                raise UsageError(
                    f"this connection is subscribed to {MOST_FOLDERS} folders, which is the most; "
                    "unsubscribe from one first"
                )
        return roots

    async def ask_roots(self, context: RequestContext, answers: types.InputResponses) -> Sequence[Path]:
        """The folders that the client says it works in; none where it does not tell.

        Raises NeedsRoots where the answer has to come with a second call. `answers` are those of such a call.
        """
        answer = answers.get(ROOTS)
        if self.roots is not None and answer is None:
            return self.roots
        capabilities, folders = context.session.client_capabilities, ()
        if isinstance(answer, types.ListRootsResult):
            folders = await asyncio.to_thread(_folders, answer)
        elif capabilities is None or capabilities.roots is None:
            return ()
        elif is_modern(context):
            raise NeedsRoots
        else:
            # None where the client does not answer within a few seconds, or not with URIs of files.
            with suppress(MCPError, ValidationError), anyio.move_on_after(_ROOTS_PATIENCE_S):
                answer = await context.session.send_request(types.ListRootsRequest(), types.ListRootsResult)
                folders = await asyncio.to_thread(_folders, answer)
        if self.lasting:
            self.roots = folders
        return folders

    def close(self) -> None:
        """Release all that the client holds: it is gone."""
        self._has_ended = True
        for roots, _ in self._holds.values():
            self.open_roots.close(roots)
        self._holds = {}


# ---- who the client is and where it works -----------------------------------------------------


def is_modern(context: RequestContext) -> bool:
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


def is_within(folder: Path, allowed: Iterable[Path]) -> bool:
    """Test that a folder is one of the allowed ones or lies below one; all of them are resolved.

    The home folder and what is above it hold everything of a user: nobody who names one means what is below.
    """
    try:
        home = Path.home().resolve()
    except (OSError, RuntimeError):
        home = Path(folder.anchor)
    return any(
        folder == each
        or (folder.is_relative_to(each) and not home.is_relative_to(each) and each != Path(each.anchor))
        for each in allowed
    )


def _folders(answer: types.ListRootsResult) -> tuple[Path, ...]:
    """The folders of `file:` URIs that exist, each once."""
    folders: dict[Path, None] = {}
    for root in answer.roots[:_MOST_ROOTS]:
        parts = urlsplit(str(root.uri))
        if parts.scheme == "file" and parts.netloc in ("", "localhost"):
            path = Path(url2pathname(parts.path) if os.name == "nt" else unquote(parts.path))
            with suppress(OSError, ValueError):
                if path.is_dir():
                    folders[path.resolve()] = None
    return tuple(folders)
