"""What the functions that answer an editor look at: a document, its place, the run it belongs to."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from lsprotocol import types as lsp

from ....orchestration.definition.model import Workflow
from ....orchestration.plans.model import Plan
from ....orchestration.result.values import Evaluation
from ....orchestration.vfs.files import join
from ...disk.disk_files import DiskFiles
from ...workspace.definitions import FOLDER
from .documents import OpenDocument, OpenDocuments
from .positions import EncodedText
from .root_view import RootView

_WORKFLOW_KEY = re.compile(r"^workflow[ \t]*:", re.M)
_PHASES_KEY = re.compile(r"^(?:phases|extend)[ \t]*:", re.M)


def is_definition(path: str, text: str) -> bool:
    """Whether a document is a workflow definition: by its folder, or by what it says on top."""
    if not path.endswith((".yaml", ".yml")):
        return False
    return path.rpartition("/")[0] == FOLDER or bool(_WORKFLOW_KEY.search(text) and _PHASES_KEY.search(text))


@dataclass(frozen=True)
class EditorFiles:
    """The files of a root as one editor has them: its open documents, and the disk for all others.

    Paths are relative to the root.
    """

    root: Path
    documents: OpenDocuments

    def uri(self, path: str) -> str:
        return self.documents.uri(self.root / path)

    def text(self, path: str) -> EncodedText | None:
        """A file's text; None where there is none that can be read."""
        document = self.documents.at(self.root / path)
        if document:
            return document.text
        text = DiskFiles(self.root).read(path).text
        return None if text is None else EncodedText(text, self.documents.encoding)

    def source(self, path: str) -> str | None:
        """`text` without its encoding."""
        text = self.text(path)
        return text.source if text else None

    def version(self, path: str) -> int | None:
        """The version of an open document; None where it is not open."""
        document = self.documents.at(self.root / path)
        return document.version if document else None


class DocumentContext(NamedTuple):
    """One document of a root. `path` is relative to the root; `evaluation` and `workflow` are those of the
    run that the document belongs to, None where it belongs to none."""

    document: OpenDocument
    view: RootView
    path: str
    files: EditorFiles
    capabilities: lsp.ClientCapabilities
    evaluation: Evaluation | None = None
    workflow: Workflow | None = None

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
    def is_state(self) -> bool:
        """Whether the document is its run's own state file."""
        state = self.workflow.state if self.workflow else None
        run = self.evaluation.run if self.evaluation else ""
        return state is not None and join(run, state.file) == self.path

    @property
    def is_plan(self) -> bool:
        plan = self.evaluation.plan if self.evaluation else None
        return plan is not None and plan.path == self.path

    def own_plan(self) -> Plan | None:
        """The plan as this text has it, where the document is its run's plan."""
        dialect = self.workflow.dialect if self.workflow else None
        return dialect.read(self.source) if dialect and self.is_plan else None

    def plan(self) -> Plan | None:
        """The plan of the run: as this text has it, else as it was evaluated last."""
        plan = self.evaluation.plan if self.evaluation else None
        return self.own_plan() or (plan.plan if plan else None)
