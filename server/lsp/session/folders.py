"""Folders that an editor has open, the roots that were opened for them, and its spelling of their files."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

from lsprotocol import types as lsp

from ..view.documents import path_of
from .transport import LspServer

FEWEST_RUNS = 200
"""A root with fewer is evaluated before anybody would see a progress bar."""


class OpenFolders:
    """The folders of one editor, by URI, and those of documents that lie in none of them, by path.

    To each belong the roots it was opened to: its own, then those of its projects.
    """

    def __init__(self) -> None:
        self._open: dict[str | Path, tuple[Path, tuple[Path, ...]]] = {}
        # What `folders_around` said of a root, until the editor opens or closes a folder.
        self._around: dict[Path, tuple[tuple[str, Path], ...]] = {}

    def add(self, uri: str) -> Path | None:
        """A folder that the editor opens; None for one that is known, or is no folder of a disk."""
        path = path_of(uri)
        if path is None or uri in self._open:
            return None
        self._open[uri] = (path, ())
        self._around.clear()
        return path

    def add_loose(self, path: Path) -> Path | None:
        """The folder of a document that lies in none of the editor's; None where it is known."""
        folder = path.parent
        if folder in self._open or any(path.is_relative_to(each) for _, each in self._of_editor()):
            return None
        self._open[folder] = (folder, ())
        return folder

    def _of_editor(self) -> Iterator[tuple[str, Path]]:
        """(URI, path) of each folder that the editor opened itself."""
        return ((key, path) for key, (path, _) in self._open.items() if isinstance(key, str))

    def set_roots(self, key: str | Path, roots: tuple[Path, ...]) -> tuple[Path, ...]:
        """Note what a folder was opened to. Returns what is to be closed now: the roots before, or these
        where the editor has closed the folder meanwhile."""
        if key not in self._open:
            return roots
        path, before = self._open[key]
        self._open[key] = (path, roots)
        return before

    def path(self, key: str | Path) -> Path | None:
        """The path of a folder by URI or of a loose one; None where it was closed meanwhile."""
        return self._open.get(key, (None, ()))[0]

    def opened_with_other_projects(self, root: Path, projects: tuple[Path, ...]) -> list[str | Path]:
        """The keys of the folders that were opened when a root had other projects."""
        opened = self._open.items()
        return [key for key, (_, roots) in opened if roots[:1] == (root,) and roots[1:] != projects]

    def drop(self, uri: str) -> tuple[Path, ...]:
        """The roots of a folder that the editor closes."""
        self._around.clear()
        return self._open.pop(uri, (None, ()))[1]

    def drop_loose(self, documents: Iterable[Path]) -> tuple[Path, ...]:
        """The roots that were opened for documents of which none is among the open ones any more."""
        paths = tuple(documents)
        idle = [
            folder
            for folder, (_, roots) in self._open.items()
            if isinstance(folder, Path)
            and not any(path.is_relative_to(each) for path in paths for each in (folder, *roots))
        ]
        return tuple(root for folder in idle for root in self._open.pop(folder)[1])

    def roots(self) -> Iterator[Path]:
        """Every root, once for each folder that it was opened for."""
        return (root for _, roots in self._open.values() for root in roots)

    def folders_around(self, root: Path) -> tuple[tuple[str, Path], ...]:
        """(URI, path) of the editor's folders that say how files of a root are spelled, in their order."""
        if root not in self._around:
            self._around[root] = tuple(
                (uri, folder)
                for uri, folder in self._of_editor()
                if root.is_relative_to(folder) or folder.is_relative_to(root)
            )
        return self._around[root]

    def uri_of(self, path: Path) -> str:
        """The URI of a file, as the editor spells the folder that it lies in."""
        for uri, folder in self._of_editor():
            if path.is_relative_to(folder):
                rest = path.relative_to(folder).as_posix()
                return uri if rest == "." else f"{uri.rstrip('/')}/{quote(os.fsencode(rest))}"
        return path.as_uri()


class ScanProgress:
    """Work-done progress of a first evaluation of many runs; it begins with the first report."""

    def __init__(self, server: LspServer) -> None:
        self._server, self._token = server, f"phasekeeper-{uuid4()}"
        self._beginning: asyncio.Task[None] | None = None
        # -1 until the editor shows the progress.
        self._percent = -1

    def report(self, done: int, total: int) -> None:
        """So many of all runs have been evaluated."""
        window = self._server.client_capabilities.window
        if total < FEWEST_RUNS or not (window and window.work_done_progress):
            return
        if self._beginning is None:
            self._beginning = asyncio.ensure_future(self._begin(total))
        percent = 100 * done // total
        if 0 <= self._percent < percent:
            self._percent = percent
            value = lsp.WorkDoneProgressReport(message=f"{done} of {total} runs", percentage=percent)
            self._server.work_done_progress.report(self._token, value)

    async def _begin(self, total: int) -> None:
        # Shielded: an answer to a request that was cancelled is an error inside pygls.
        await asyncio.shield(self._server.work_done_progress.create_async(self._token))
        begin = lsp.WorkDoneProgressBegin("Phasekeeper", message=f"looking at {total} runs", percentage=0)
        self._server.work_done_progress.begin(self._token, begin)
        self._percent = 0

    def end(self) -> None:
        """Take the progress from the editor, as soon as it shows it."""
        if self._beginning is not None:
            self._beginning.add_done_callback(self._end)

    def _end(self, beginning: asyncio.Task[None]) -> None:
        if not beginning.cancelled() and beginning.exception() is None:
            self._server.work_done_progress.end(self._token, lsp.WorkDoneProgressEnd())
