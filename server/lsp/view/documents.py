"""The texts that an editor holds open, where they lie on disk, and the run that each belongs to."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from lsprotocol import types as lsp
from pygls.uris import to_fs_path

from ....orchestration.definition.model import Workflow
from ....orchestration.definition.root_config import PATH as CONFIGURATION
from ....orchestration.findings import Span
from ....orchestration.markdown.block_outline import split_lines
from ....orchestration.plans.model import Plan
from ....orchestration.result.values import Evaluation
from ....orchestration.vfs.files import join
from ...disk.disk_files import DiskFiles
from ...workspace.definitions import FOLDER
from .positions import UTF16, EncodedText
from .root_view import RootView

_WORKFLOW_KEY = re.compile(r"^workflow[ \t]*:", re.M)
# A number in it counts, and names no task: "4/6 tasks", "4 of 6".
_COUNT = re.compile(r"(?<![\w./-])\d+(?: ?/ ?| of )\d+(?![\w/-]|\.\w)")
_PHASES_KEY = re.compile(r"^(?:phases|extend)[ \t]*:", re.M)


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

    def __len__(self) -> int:
        return len(self._open)

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


def is_definition(path: str, text: str) -> bool:
    """True for a workflow definition: by its folder, or by what it says on top."""
    if not path.endswith((".yaml", ".yml")):
        return False
    return path.rpartition("/")[0] == FOLDER or bool(_WORKFLOW_KEY.search(text) and _PHASES_KEY.search(text))


class DocumentContext(NamedTuple):
    """One document of a root. Paths are relative to the root; `evaluation` and `workflow` are those of the
    run that the document belongs to, None where it belongs to none. `may_decide`: the client shows a person
    dialogs of its own, in which a reason can be typed."""

    document: OpenDocument
    view: RootView
    path: str
    documents: OpenDocuments
    capabilities: lsp.ClientCapabilities
    evaluation: Evaluation | None = None
    workflow: Workflow | None = None
    may_decide: bool = False

    @property
    def text(self) -> EncodedText:
        return self.document.text

    @property
    def source(self) -> str:
        return self.document.text.source

    @property
    def is_definition(self) -> bool:
        return is_definition(self.path, self.source)

    @property
    def is_configuration(self) -> bool:
        return self.path == CONFIGURATION

    @property
    def is_state(self) -> bool:
        """True for the run's own state file."""
        state = self.workflow.state if self.workflow else None
        run = self.evaluation.run if self.evaluation else ""
        return state is not None and join(run, state.file) == self.path

    @property
    def is_plan(self) -> bool:
        plan = self.evaluation.plan if self.evaluation else None
        return plan is not None and plan.path == self.path

    def uri(self, path: str) -> str:
        return self.documents.uri(self.view.root / path)

    def text_of(self, path: str) -> EncodedText | None:
        """A file's text, as the editor holds it open or from disk; None where there is none to be read."""
        if document := self.documents.at(self.view.root / path):
            return document.text
        text = DiskFiles(self.view.root).read(path).text
        return None if text is None else EncodedText(text, self.documents.encoding)

    def source_of(self, path: str) -> str | None:
        """`text_of` without its encoding."""
        text = self.text_of(path)
        return text.source if text else None

    def own_plan(self) -> Plan | None:
        """The plan as this text has it, where the document is its run's plan."""
        run = self.evaluation.run if self.evaluation else ""
        dialect = self.workflow.dialect_of(run) if self.workflow else None
        board = self.evaluation.plan if self.evaluation else None
        return dialect.read_after(self.source, board.plan) if dialect and board and self.is_plan else None

    def plan(self) -> Plan | None:
        """The plan of the run: as this text has it, else as it was evaluated last."""
        plan = self.evaluation.plan if self.evaluation else None
        return self.own_plan() or (plan.plan if plan else None)

    def word_at(self, line: int, column: int, word: re.Pattern[str]) -> tuple[str, Span]:
        """The word that touches a place, and its span; "" where none does, or it is a number of a count."""
        lines, nothing = split_lines(self.source), Span(line, column, line, column)
        text = lines[line] if line < len(lines) else ""
        if any(match.start() <= column <= match.end() for match in _COUNT.finditer(text)):
            return "", nothing
        for match in word.finditer(text):
            if match.start() <= column <= match.end():
                return match[0], Span(line, match.start(), line, match.end())
        return "", nothing
