"""Publishing diagnostics: which ones an editor has, and sending those of files where they differ."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path

from lsprotocol import types as lsp

from ...disk.disk_files import DiskFiles
from ..view.annotations import MOST_RELATED, Annotation, diagnostics_of
from ..view.documents import OpenDocuments
from ..view.positions import EncodedText
from ..view.root_view import RootView

BATCH = 64
"""So many files are published before the editor's other messages get their turn."""
NO_TEXTS: Mapping[str, str] = {}

_log = logging.getLogger(__name__)

# A root, and the path of a file in it.
_Key = tuple[Path, str]


# A file to be published: its root's view, None where all of its diagnostics are taken back; and what the file
# said when it was evaluated, None where that is not known.
_Pending = tuple[RootView | None, str | None]


class Publisher:
    """Publishes the diagnostics of one editor's roots. A single task sends, so the newest comes last."""

    def __init__(
        self,
        documents: OpenDocuments,
        innermost_root: Callable[[Path], RootView | None],
        send: Callable[[lsp.PublishDiagnosticsParams], None],
    ) -> None:
        self._documents, self._innermost_root, self._send = documents, innermost_root, send
        self._pending: dict[_Key, _Pending] = {}
        # What was sent last of each file that has diagnostics.
        self._published: dict[_Key, lsp.PublishDiagnosticsParams] = {}
        self._unconditional: set[_Key] = set()
        self._wake, self._rested = asyncio.Event(), asyncio.Event()
        self._rested.set()

    def publish(
        self,
        view: RootView,
        paths: Iterable[str],
        *,
        texts: Mapping[str, str] = NO_TEXTS,
        unconditionally: bool = False,
    ) -> None:
        """Have the diagnostics of some files sent where they differ from what the editor has.

        `texts` are what files said when they were evaluated, as far as that is known. `unconditionally`:
        also where nothing differs, as for a document that was just opened.
        """
        pending = {(view.root, path): (view, texts.get(path)) for path in paths}
        if unconditionally:
            self._unconditional |= pending.keys()
        self._add(pending)

    def forget(self, root: Path) -> None:
        """Take back all diagnostics of a root."""
        self._pending = {key: pending for key, pending in self._pending.items() if key[0] != root}
        self._add({key: (None, None) for key in self._published if key[0] == root})

    def _add(self, pending: Mapping[_Key, _Pending]) -> None:
        self._pending |= pending
        if self._pending:
            self._wake.set()
            self._rested.clear()

    async def wait_for_rest(self) -> None:
        """Wait until the next batch is sent, if there is any."""
        await self._rested.wait()

    async def run(self, drain: Callable[[], Awaitable[None]]) -> None:
        """Publish for as long as the connection lives."""
        while await self._wake.wait():
            self._wake.clear()
            while self._pending:
                keys = list(self._pending)[:BATCH]
                await self._try({key: self._pending.pop(key) for key in keys})
                self._rested.set()
                await drain()

    async def _try(self, batch: Mapping[_Key, _Pending]) -> None:
        """Publish some files. One that cannot be published keeps no other from it."""
        try:
            await self._publish(batch)
        except Exception:
            if len(batch) > 1:
                for key, pending in batch.items():
                    await self._try({key: pending})
                return
            for root, path in batch:
                _log.exception("what is found in %s of %s could not be published", path, root)

    async def _publish(self, batch: Mapping[_Key, _Pending]) -> None:
        annotations = {
            (root, path): view.at(path) if view and self._innermost_root(root / path) is view else ()
            for (root, path), (view, _) in batch.items()
        }
        # The texts of files that have places to convert: as the editor holds them, else as they were
        # evaluated, else from disk.
        wanted = {
            (root, path)
            for (root, own), each in annotations.items()
            for path in (own, *(e.path for a in each for e in a.related[:MOST_RELATED]))
            if each and path is not None
        }
        encoding = self._documents.encoding
        known = {key: text for key, (_, text) in batch.items() if text is not None}
        texts = {key: EncodedText(known[key], encoding) for key in wanted & known.keys()}
        texts |= {key: d.text for key in wanted if (d := self._documents.at(key[0] / key[1]))}
        if missing := [key for key in wanted if key not in texts]:
            texts |= await asyncio.to_thread(_read, missing, encoding)
        for key, each in annotations.items():
            self._send_changed(key, each, texts)

    def _send_changed(
        self, key: _Key, annotations: Sequence[Annotation], texts: Mapping[_Key, EncodedText]
    ) -> None:
        root, path = key
        empty = EncodedText("", self._documents.encoding)

        def locate(other: str) -> tuple[str, EncodedText]:
            return self._documents.uri(root / other), texts.get((root, other), empty)

        uri, text = locate(path)
        document = self._documents.at(root / path)
        diagnostics = diagnostics_of(annotations, text, locate)
        params = lsp.PublishDiagnosticsParams(uri, diagnostics, document.version if document else None)
        before = self._published.pop(key, None)
        if before is not None and before.uri != uri:
            self._send(lsp.PublishDiagnosticsParams(before.uri, []))
            before = None
        must_send = key in self._unconditional and diagnostics
        self._unconditional.discard(key)
        if must_send or diagnostics != (before.diagnostics if before else []):
            self._send(params)
        if diagnostics:
            self._published[key] = params


def _read(keys: Sequence[_Key], encoding: lsp.PositionEncodingKind) -> dict[_Key, EncodedText]:
    """The texts of files, "" for those that cannot be read."""
    files = {root: DiskFiles(root) for root, _ in keys}
    return {(root, path): EncodedText(files[root].read(path).text or "", encoding) for root, path in keys}
