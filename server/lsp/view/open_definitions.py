"""Workflow definitions that are open in an editor: checked as they are typed."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path

from ....orchestration.definition.compiler import compile_definition
from ....orchestration.definition.loader import load_branch
from ....orchestration.definition.reader import InvalidWorkflow, Source
from ....orchestration.findings import Finding
from ....orchestration.lint.checks import check
from ....orchestration.vfs.overlay import OverlayFiles
from ...disk.disk_files import DiskFiles
from ...workspace.definitions import FOLDER, Library
from .documents import Document

_NAMED = re.compile(r"^workflow[ \t]*:", re.M)
_PART = re.compile(r"^(?:phases|extend)[ \t]*:", re.M)


def is_definition(path: str, text: str) -> bool:
    """Whether a document is a workflow definition: by its folder, or by what it says on top."""
    if not path.endswith((".yaml", ".yml")):
        return False
    return path.rpartition("/")[0] == FOLDER or bool(_NAMED.search(text) and _PART.search(text))


def lint(text: str, path: str, library: Library) -> tuple[Finding, ...]:
    """Everything that is wrong or doubtful in a definition's text."""
    try:
        found = check(compile_definition(*load_branch(Source(path, text), library.source)))
    except InvalidWorkflow as error:
        found = list(error.findings)
    # What it extends may be wrong too, and that is another file's.
    return tuple(each for each in found if each.path == path)


async def lint_open(root: Path, documents: Sequence[tuple[Document, str]]) -> dict[str, tuple[Finding, ...]]:
    """The findings of the open definitions of a root, by path; those without any too."""
    texts = {path: d.text.source for d, path in documents if is_definition(path, d.text.source)}
    return await asyncio.to_thread(_linted, root, texts) if texts else {}


def _linted(root: Path, texts: dict[str, str]) -> dict[str, tuple[Finding, ...]]:
    library = Library.of(OverlayFiles(DiskFiles(root), texts))
    return {path: lint(text, path, library) for path, text in texts.items()}
