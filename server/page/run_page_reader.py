"""Reads all that the page of a run shows, from disk, at one moment."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ...orchestration.rendering.run_page import PageTexts, page_paths, run_page
from ...tools.commands import WHY, command_line
from ..workspace.head_files import HeadFiles
from ..workspace.workspace import Workspace

_WORD = 400
"""Characters of a word of a command."""


def read_run_page(root: Path, run: str) -> dict[str, Any] | None:
    """The page's JSON; None where there is no such run. It blocks: files are read, git may be asked."""
    workspace = Workspace(root)
    match = workspace.match(run)
    if match is None:
        return None
    trace = workspace.look(match)
    shown, compared = page_paths(trace)
    head = HeadFiles(root)
    texts = {path: file.text for path in shown if (file := workspace.files.read(path)).text is not None}
    committed = {path: content for path in compared if (content := head.read(path)) is not None}
    before = {path: content.decode("utf-8", "replace") for path, content in committed.items()}

    def command(words: tuple[str, ...]) -> str:
        return command_line(trace.evaluation, words, ("--root", str(root)), _WORD) + WHY

    return run_page(trace, PageTexts(texts, before), datetime.now(UTC), command)
