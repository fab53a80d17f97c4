"""Publishing diagnostics: which ones an editor has, and sending those of files where they differ."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path

from lsprotocol import types as lsp

from ...disk.disk_files import DiskFiles
from ..view.annotations import MOST_RELATED, Annotation, diagnostics_of
from ..view.documents import OpenDocuments
from ..view.positions import EncodedText
from ..view.root_view import RootView
from ..view.shared_root import EncodedDiagnostics, Spelling
from .transport import plain_json

_NONE = b"[]"
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
    """Publishes the diagnostics of one editor's roots. A single task sends, so the newest comes last.

    What does not depend on this editor's own texts is encoded once for all that show the root
    (`view/shared_root.py`); `send` gets the JSON of a `PublishDiagnosticsParams`.
    """

    def __init__(
        self,
        documents: OpenDocuments,
        speaks_of: Callable[[RootView, str], bool],
        spelling_of: Callable[[Path], Spelling],
        send: Callable[[bytes], None],
    ) -> None:
        self._documents, self._speaks_of = documents, speaks_of
        self._spelling_of, self._send = spelling_of, send
        self._pending: dict[_Key, _Pending] = {}
        # What was sent last of each file that has diagnostics.
        self._published: dict[_Key, EncodedDiagnostics] = {}
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
        spellings = {root: self._spelling_of(root) for root, _ in batch}
        open_paths = {document.path for document in self._documents}
        own: dict[_Key, _Pending] = {}
        for key, (view, text) in batch.items():
            root, path = key
            if view is None or not self._speaks_of(view, path):
                self._send_changed(key, None)
                continue
            encoded = view.shared.diagnostics(path, spellings[root])
            is_open = encoded and open_paths and any(root / each in open_paths for each in encoded.paths)
            if encoded and not is_open and view.is_shared(path):
                self._send_changed(key, encoded)
            else:
                own[key] = view, text
        if own:
            await self._encode(own, spellings)

    async def _encode(self, batch: Mapping[_Key, _Pending], spellings: Mapping[Path, Spelling]) -> None:
        """Encode and send the diagnostics of files, and leave to others what is none of this editor's own."""
        views = {key: view for key, (view, _) in batch.items() if view}
        generations = {key: view.shared.generation for key, view in views.items()}
        annotations = {key: view.at(key[1]) for key, view in views.items()}
        # The texts of files that have places to convert: as the editor holds them, else as they were
        # evaluated, else from disk.
        wanted = {
            key: {key[1], *_related_paths(each)} if each else set() for key, each in annotations.items()
        }
        encoding = self._documents.encoding
        all_wanted = {(root, path) for (root, _), paths in wanted.items() for path in paths}
        known = {key: text for key, (_, text) in batch.items() if text is not None}
        texts = {key: EncodedText(known[key], encoding) for key in all_wanted & known.keys()}
        held = {key: d.text for key in all_wanted if (d := self._documents.at(key[0] / key[1]))}
        texts |= held
        if missing := [key for key in all_wanted if key not in texts]:
            texts |= await asyncio.to_thread(_read, missing, encoding)
        for key, view in views.items():
            root, path = key
            paths = frozenset(wanted[key] | {path})
            encoded = self._encode_file(key, annotations[key], texts, paths)
            is_own = not view.is_shared(path) or any(self._documents.at(root / each) for each in paths)
            if not is_own and view.shared.generation == generations[key]:
                view.shared.keep_diagnostics(path, spellings[root], encoded)
            self._send_changed(key, encoded)

    def _encode_file(
        self,
        key: _Key,
        annotations: Sequence[Annotation],
        texts: Mapping[_Key, EncodedText],
        paths: frozenset[str],
    ) -> EncodedDiagnostics:
        root, path = key
        uri, text = self._documents.uri(root / path), texts.get(key)

        def locate(other: str) -> tuple[str, EncodedText] | None:
            known = texts.get((root, other))
            return (
                None
                if known is None
                else (uri if other == path else self._documents.uri(root / other), known)
            )

        text = text or EncodedText("", self._documents.encoding)
        diagnostics = diagnostics_of(annotations, text, locate)
        return EncodedDiagnostics(uri, json.dumps(plain_json(diagnostics)).encode(), paths)

    def _send_changed(self, key: _Key, encoded: EncodedDiagnostics | None) -> None:
        """Send a file's diagnostics where they differ from what the editor has; None takes them back."""
        root, path = key
        document = self._documents.at(root / path) if self._documents else None
        uri = encoded.uri if encoded else self._documents.uri(root / path)
        array = encoded.array if encoded else _NONE
        before = self._published.pop(key, None)
        if before is not None and before.uri != uri:
            self._send(_params(before.uri, _NONE))
            before = None
        must_send = key in self._unconditional and array != _NONE
        self._unconditional.discard(key)
        if must_send or array != (before.array if before else _NONE):
            self._send(_params(uri, array, document.version if document else None))
        if encoded and array != _NONE:
            self._published[key] = encoded


def _params(uri: str, array: bytes, version: int | None = None) -> bytes:
    """The JSON of a `PublishDiagnosticsParams`."""
    end = b"}" if version is None else b', "version": %d}' % version
    return b'{"uri": %b, "diagnostics": %b%b' % (json.dumps(uri).encode(), array, end)


def _related_paths(annotations: Iterable[Annotation]) -> set[str]:
    """The files that annotations name beside their own."""
    related = (evidence.path for each in annotations for evidence in each.related[:MOST_RELATED])
    return {path for path in related if path is not None}


def _read(keys: Sequence[_Key], encoding: lsp.PositionEncodingKind) -> dict[_Key, EncodedText]:
    """The texts of the files that are there, "" for those that cannot be read."""
    disk = {root: DiskFiles(root) for root, _ in keys}
    files = ((key, disk[key[0]].read(key[1])) for key in keys)
    return {key: EncodedText(file.text or "", encoding) for key, file in files if file.exists}
