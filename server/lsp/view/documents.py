"""The texts that an editor holds open, and where they lie on disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lsprotocol import types as lsp
from pygls.uris import to_fs_path

from .positions import Text


@dataclass(frozen=True)
class Document:
    """A text as an editor holds it. `path` is its file, links resolved; None where it has none.

    `changed` says that it may differ from the file: it was edited since it was saved, or never compared.
    """

    uri: str
    path: Path | None
    version: int
    text: Text
    language: str
    changed: bool = False


class Documents:
    """The open documents of one connection, by URI; each is replaced as it changes, never mutated."""

    def __init__(self) -> None:
        self._open: dict[str, Document] = {}

    def __iter__(self) -> Iterator[Document]:
        return iter(tuple(self._open.values()))

    def get(self, uri: str) -> Document | None:
        return self._open.get(uri)

    def at(self, path: Path) -> Document | None:
        """The open document of a file, however the editor spells its URI."""
        return next((document for document in self._open.values() if document.path == path), None)

    def opened(self, item: lsp.TextDocumentItem, encoding: lsp.PositionEncodingKind) -> Document:
        document = Document(
            item.uri,
            path_of(item.uri),
            item.version,
            Text(item.text, encoding),
            item.language_id,
            changed=True,
        )
        self._open[item.uri] = document
        return document

    def edited(
        self,
        which: lsp.VersionedTextDocumentIdentifier,
        changes: Sequence[lsp.TextDocumentContentChangeEvent],
    ) -> Document | None:
        """The document with an editor's changes made, one after the other; None when it is not open."""
        document = self._open.get(which.uri)
        if document is None:
            return None
        text = document.text
        for change in changes:
            if isinstance(change, lsp.TextDocumentContentChangePartial):
                text = text.replaced(change)
            else:
                text = Text(change.text, text.encoding)
        self._open[which.uri] = replace(document, version=which.version, text=text, changed=True)
        return self._open[which.uri]

    def unchanged(self, uri: str) -> Document | None:
        """The document, which is what the file holds."""
        document = self._open.get(uri)
        if document is not None:
            self._open[uri] = document = replace(document, changed=False)
        return document

    def closed(self, uri: str) -> Document | None:
        return self._open.pop(uri, None)


def path_of(uri: str) -> Path | None:
    """The file that a URI names, links resolved; None for what is no file."""
    if not uri.lower().startswith("file:"):
        return None
    try:
        named = to_fs_path(uri)
        return Path(named).resolve() if named else None
    except (OSError, ValueError, RuntimeError):
        # A NUL byte, or a link that leads in a circle.
        return None
