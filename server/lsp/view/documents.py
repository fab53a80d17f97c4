"""The texts that an editor holds open, and where they lie on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lsprotocol import types as lsp
from pygls.uris import to_fs_path

from .positions import UTF16, EncodedText


@dataclass(frozen=True)
class OpenDocument:
    """A text as an editor holds it. `path` is its file, links resolved; None where it has none.

    `changed`: it may differ from the file, as it was edited since it was saved, or never compared.
    """

    uri: str
    path: Path | None
    version: int
    text: EncodedText
    changed: bool = False


class OpenDocuments:
    """The open documents of one connection, by URI; each is replaced as it changes, never mutated.

    `spell_uri` gives the URI of a file as the editor spells it; `encoding` is what columns are counted in, as
    agreed on in `initialize`.
    """

    def __init__(self, spell_uri: Callable[[Path], str]) -> None:
        self._open: dict[str, OpenDocument] = {}
        self._spell_uri = spell_uri
        self.encoding = UTF16

    def __iter__(self) -> Iterator[OpenDocument]:
        return iter(tuple(self._open.values()))

    def get(self, uri: str) -> OpenDocument | None:
        return self._open.get(uri)

    def at(self, path: Path) -> OpenDocument | None:
        """The open document of a file, however the editor spells its URI."""
        return next((document for document in self._open.values() if document.path == path), None)

    def uri(self, path: Path) -> str:
        """The URI of a file: its document's, else as the editor would spell it."""
        document = self.at(path)
        return document.uri if document else self._spell_uri(path)

    def open(self, item: lsp.TextDocumentItem) -> OpenDocument:
        text, path = EncodedText(item.text, self.encoding), path_of(item.uri)
        self._open[item.uri] = OpenDocument(item.uri, path, item.version, text, changed=True)
        return self._open[item.uri]

    def edit(
        self,
        which: lsp.VersionedTextDocumentIdentifier,
        changes: Sequence[lsp.TextDocumentContentChangeEvent],
    ) -> OpenDocument | None:
        """Make an editor's changes, one after the other; the new document, None when it is not open."""
        document = self._open.get(which.uri)
        if document is None:
            return None
        text = document.text
        for change in changes:
            is_partial = isinstance(change, lsp.TextDocumentContentChangePartial)
            text = text.with_change(change) if is_partial else EncodedText(change.text, text.encoding)
        self._open[which.uri] = replace(document, version=which.version, text=text, changed=True)
        return self._open[which.uri]

    def mark_saved(self, uri: str) -> OpenDocument | None:
        """Note that the document is what the file holds; the document, None when it is not open."""
        document = self._open.get(uri)
        if document is not None:
            self._open[uri] = document = replace(document, changed=False)
        return document

    def close(self, uri: str) -> OpenDocument | None:
        return self._open.pop(uri, None)


def path_of(uri: str) -> Path | None:
    """The file that a URI names, links resolved; None for what is no file."""
    if not uri.lower().startswith("file:"):
        return None
    try:
        path = to_fs_path(uri)
        return Path(path).resolve() if path else None
    except (OSError, ValueError, RuntimeError):
        # A NUL byte, or a link that leads in a circle.
        return None
