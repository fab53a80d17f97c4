"""Which diagnostics a connection was told, and telling it those that differ, empty lists included."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from lsprotocol import types as lsp

from ...disk.disk_files import DiskFiles
from ..view.annotations import Mark
from ..view.diagnostics import MOST_RELATED, diagnostics_of
from ..view.documents import Documents
from ..view.positions import Text
from ..view.root_view import View

BATCH = 64
"""So many files are published before the editor's other messages get their turn."""

NO_TEXTS: Mapping[str, str] = MappingProxyType({})

Send = Callable[[lsp.PublishDiagnosticsParams], None]

_log = logging.getLogger(__name__)

_Key = tuple[Path, str]


class _Waiting(NamedTuple):
    """Whose findings of a file are to be told; None where they are taken back. `text` as `publish` has it."""

    view: View | None
    text: str | None = None


class _Told(NamedTuple):
    uri: str
    diagnostics: list[lsp.Diagnostic]


class Publisher:
    """Tells one editor the diagnostics of its roots. One task publishes, so the newest comes last."""

    def __init__(
        self,
        documents: Documents,
        uri_of: Callable[[Path], str],
        innermost: Callable[[Path], View | None],
        send: Send,
    ) -> None:
        self._documents, self._uri_of, self._innermost, self._send = documents, uri_of, innermost, send
        self.encoding = lsp.PositionEncodingKind.Utf16
        self._waiting: dict[_Key, _Waiting] = {}
        self._told: dict[_Key, _Told] = {}
        self._anew: set[_Key] = set()
        self._woken, self._rested = asyncio.Event(), asyncio.Event()
        self._rested.set()

    def publish(
        self, view: View, paths: Iterable[str], *, texts: Mapping[str, str] = NO_TEXTS, anew: bool = False
    ) -> None:
        """Have the diagnostics of some files told, where they differ; `anew`: also where they do not.

        `texts` are what files said when that was found, as far as it is known.
        """
        waiting = {(view.root, path): _Waiting(view, texts.get(path)) for path in paths}
        self._waiting |= waiting
        if anew:
            self._anew |= waiting.keys()
        self._wake()

    def forget(self, root: Path) -> None:
        """Take back all that was told of a root."""
        gone = [key for key in self._told if key[0] == root]
        self._waiting = {key: waiting for key, waiting in self._waiting.items() if key[0] != root}
        self._waiting |= dict.fromkeys(gone, _Waiting(None))
        self._wake()

    def _wake(self) -> None:
        if self._waiting:
            self._woken.set()
            self._rested.clear()

    async def rested(self) -> None:
        """Wait until the next batch is told, if there is any."""
        await self._rested.wait()

    async def run(self, drained: Callable[[], Awaitable[None]]) -> None:
        """Publish for as long as the connection lives."""
        while True:
            await self._woken.wait()
            self._woken.clear()
            while self._waiting:
                keys = list(self._waiting)[:BATCH]
                await self._try({key: self._waiting.pop(key) for key in keys})
                self._rested.set()
                await drained()

    async def _try(self, batch: Mapping[_Key, _Waiting]) -> None:
        """Publish some files. One that cannot be told of keeps no other from it."""
        try:
            await self._publish(batch)
        except Exception:
            if len(batch) > 1:
                for key, waiting in batch.items():
                    await self._try({key: waiting})
                return
            for root, path in batch:
                _log.exception("what is found in %s of %s could not be told", path, root)

    async def _publish(self, batch: Mapping[_Key, _Waiting]) -> None:
        marks = {
            (root, path): view.at(path) if view and self._innermost(root / path) is view else ()
            for (root, path), (view, _) in batch.items()
        }
        texts = await self._texts(marks, {key: text for key, (_, text) in batch.items() if text is not None})
        for (root, path), found in marks.items():
            self._tell(root, path, found, texts)

    async def _texts(
        self, marks: Mapping[_Key, tuple[Mark, ...]], known: Mapping[_Key, str]
    ) -> dict[_Key, Text]:
        """The texts of all files that places are told of: as the editor holds them, else as they were when
        they were judged, else from disk."""
        wanted = {
            (root, path)
            for (root, own), found in marks.items()
            for path in (own, *(e.path for m in found for e in m.related[:MOST_RELATED]))
            if found and path is not None
        }
        open_here = {key: d.text for key in wanted if (d := self._documents.at(key[0] / key[1]))}
        texts = {key: Text(known[key], self.encoding) for key in wanted & known.keys()} | open_here
        missing = [key for key in wanted if key not in texts]
        return texts | (await asyncio.to_thread(_read, missing, self.encoding) if missing else {})

    def _tell(self, root: Path, path: str, marks: tuple[Mark, ...], texts: Mapping[_Key, Text]) -> None:
        empty = Text("", self.encoding)
        document = self._documents.at(root / path)
        uri = document.uri if document else self._uri_of(root / path)

        def locate(other: str) -> tuple[str, Text]:
            where = uri if other == path else self._uri(root / other)
            return where, texts.get((root, other), empty)

        found = diagnostics_of(marks, texts.get((root, path), empty), locate)
        before = self._told.get((root, path))
        if before is not None and before.uri != uri and before.diagnostics:
            self._send(lsp.PublishDiagnosticsParams(before.uri, []))
            before = None
        known = before.diagnostics if before else []
        anew = (root, path) in self._anew
        self._anew.discard((root, path))
        if known != found or (anew and found):
            self._send(lsp.PublishDiagnosticsParams(uri, found, document.version if document else None))
        if found:
            self._told[root, path] = _Told(uri, found)
        else:
            self._told.pop((root, path), None)

    def _uri(self, path: Path) -> str:
        document = self._documents.at(path)
        return document.uri if document else self._uri_of(path)


def _read(keys: list[_Key], encoding: lsp.PositionEncodingKind) -> dict[_Key, Text]:
    """The texts of files, "" for those that cannot be read."""
    views = {root: DiskFiles(root) for root, _ in keys}
    return {(root, path): Text(views[root].read(path).text or "", encoding) for root, path in keys}
