"""Evaluating runs, and checking definitions, on the texts that an editor has not saved."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ....orchestration.definition.compiler import compile_definition
from ....orchestration.definition.reader import InvalidWorkflow, Source, load_definition
from ....orchestration.findings import Finding
from ....orchestration.lint.checks import check
from ....orchestration.result.values import Evaluation
from ....orchestration.vfs.overlay import OverlayFiles
from ...disk.disk_files import DiskFiles
from ...workspace.definitions import DefinitionLibrary
from .documents import OpenDocument, is_definition
from .root_view import RootView

Spawn = Callable[[Coroutine[Any, Any, Any]], "asyncio.Task[Any]"]


class UnsavedEvaluator:
    """At most one evaluation of a root at a time, and one more for all that is edited meanwhile.

    `on_evaluated` gets the paths where other findings may stand now.
    """

    def __init__(
        self,
        evaluate_unsaved: Callable[[Path, Mapping[str, str]], Awaitable[Mapping[str, Evaluation]]],
        spawn: Spawn,
        documents_of: Callable[[RootView], Sequence[tuple[OpenDocument, str]]],
        on_evaluated: Callable[[RootView, Iterable[str]], None],
    ) -> None:
        self._evaluate_unsaved, self._spawn = evaluate_unsaved, spawn
        self._documents_of, self._on_evaluated = documents_of, on_evaluated
        self._running: dict[Path, asyncio.Task[None]] = {}
        self._stale: set[Path] = set()

    def evaluate(self, view: RootView) -> None:
        """Have the root's runs evaluated on the texts that the editor holds; once more for later edits."""
        self._stale.add(view.root)
        if view.root not in self._running:
            task = self._running[view.root] = self._spawn(self._evaluate(view))
            # Also for one that was cancelled before it began.
            task.add_done_callback(lambda ended: self._end(view.root, ended))

    def _end(self, root: Path, task: asyncio.Task[None] | None) -> None:
        if self._running.get(root) is task:
            self._running.pop(root, None)

    async def _evaluate(self, view: RootView) -> None:
        try:
            while view.root in self._stale:
                self._stale.discard(view.root)
                documents = self._documents_of(view)
                overlay = {path: each.text.source for each, path in documents if each.changed}
                unsaved = await self._evaluate_unsaved(view.root, overlay) if overlay else {}
                documents = self._documents_of(view)
                texts = {path: each.text.source for each, path in documents}
                linted = await asyncio.to_thread(_lint_definitions, view.root, texts)
                runs = {*view.unsaved, *unsaved}
                paths = {*view.linted, *linted}
                if not runs and not paths:
                    continue
                view.unsaved, view.linted = unsaved, linted
                self._on_evaluated(view, paths | view.refresh(runs))
        finally:
            # At once: what is stale from the next moment on, nobody would look at.
            self._end(view.root, asyncio.current_task())


def _lint_definitions(root: Path, documents: Mapping[str, str]) -> dict[str, tuple[Finding, ...]]:
    """The findings of those documents of a root that are definitions, by path; also those without any."""
    texts = {path: text for path, text in documents.items() if is_definition(path, text)}
    if not texts:
        return {}
    library = DefinitionLibrary.of(OverlayFiles(DiskFiles(root), texts))
    return {path: lint_definition(text, path, library) for path, text in texts.items()}


def lint_definition(text: str, path: str, library: DefinitionLibrary) -> tuple[Finding, ...]:
    """Everything that is wrong or doubtful in a definition's text, not in one that it extends."""
    try:
        findings = check(compile_definition(*load_definition(Source(path, text), library.source)))
    except InvalidWorkflow as error:
        findings = list(error.findings)
    return tuple(finding for finding in findings if finding.path == path)
