"""Evaluating runs, and checking definitions, on the texts that an editor has not saved."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ....orchestration.definition.compiler import compile_definition
from ....orchestration.definition.reader import InvalidWorkflow, Source, load_definition
from ....orchestration.definition.root_config import PATH as CONFIGURATION
from ....orchestration.definition.root_config import read_config
from ....orchestration.findings import Finding
from ....orchestration.lint.checks import check
from ....orchestration.result.values import Evaluation
from ....orchestration.vfs.overlay import OverlayFiles
from ...disk.disk_files import DiskFiles
from ...workspace.definitions import DefinitionLibrary
from ...workspace.workspace import root_findings
from .documents import OpenDocument, is_definition
from .root_view import RootView


class UnsavedEvaluator:
    """At most one evaluation of a root at a time, and one more for all that is edited meanwhile.

    `on_evaluated` gets the paths where other findings may stand now.
    """

    def __init__(
        self,
        evaluate_unsaved: Callable[[Path, Mapping[str, str]], Awaitable[Mapping[str, Evaluation]]],
        spawn: Callable[[Coroutine[Any, Any, Any]], object],
        documents_of: Callable[[RootView], Sequence[tuple[OpenDocument, str]]],
        on_evaluated: Callable[[RootView, Iterable[str]], None],
    ) -> None:
        self._evaluate_unsaved, self._spawn = evaluate_unsaved, spawn
        self._documents_of, self._on_evaluated = documents_of, on_evaluated
        self._running: set[Path] = set()
        self._stale: set[Path] = set()

    def evaluate(self, view: RootView) -> None:
        """Have the root's runs evaluated on the texts that the editor holds; once more for later edits."""
        self._stale.add(view.root)
        if view.root not in self._running:
            self._running.add(view.root)
            self._spawn(self._evaluate(view))

    async def _evaluate(self, view: RootView) -> None:
        try:
            while view.root in self._stale:
                self._stale.discard(view.root)
                changed = (each for each in self._documents_of(view) if each[0].changed)
                overlay = {path: document.text.source for document, path in changed}
                unsaved = await self._evaluate_unsaved(view.root, overlay) if overlay else {}
                texts = {path: document.text.source for document, path in self._documents_of(view)}
                names = [
                    path for path, text in texts.items() if path == CONFIGURATION or is_definition(path, text)
                ]
                documents = {path: texts[path] for path in names}
                linted = await asyncio.to_thread(_lint, view.root, documents) if documents else {}
                if unsaved or linted or view.unsaved or view.linted:
                    self._on_evaluated(view, view.set_unsaved(unsaved, linted))
        finally:
            # At once: what is stale from the next moment on, nobody would look at.
            self._running.discard(view.root)


def _lint(root: Path, documents: Mapping[str, str]) -> dict[str, tuple[Finding, ...]]:
    """The findings of those documents of a root that are definitions, or a configuration that is not saved.

    By path; also those without any.
    """
    texts = {path: text for path, text in documents.items() if is_definition(path, text)}
    files = DiskFiles(root)
    configuration = documents.get(CONFIGURATION)
    if configuration is not None and configuration == files.read(CONFIGURATION).text:
        configuration = None
    if not texts and configuration is None:
        return {}
    library = DefinitionLibrary.of(OverlayFiles(files, texts))
    linted = {path: lint_definition(text, path, library) for path, text in texts.items()}
    if configuration is not None:
        findings = root_findings(read_config(configuration), library)
        linted[CONFIGURATION] = tuple(each for each in findings if each.path == CONFIGURATION)
    return linted


def lint_definition(text: str, path: str, library: DefinitionLibrary) -> tuple[Finding, ...]:
    """Everything that is wrong or doubtful in a definition's text, not in one that it extends."""
    try:
        findings = check(compile_definition(*load_definition(Source(path, text), library.source)))
    except InvalidWorkflow as error:
        findings = list(error.findings)
    return tuple(finding for finding in findings if finding.path == path)
