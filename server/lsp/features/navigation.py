"""Go to definition and find references: of tasks and phases, and of the names in a workflow definition."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from importlib.resources import files as resources
from itertools import islice
from pathlib import Path

from lsprotocol import types as lsp

from ....orchestration.findings import Span
from ....orchestration.markdown.block_outline import split_lines
from ....orchestration.plans.model import Task
from ....orchestration.plans.schedule import resolve
from ....orchestration.vfs.files import join
from ...workspace.definitions import BUILT_IN, built_in_sources
from ..definitions.partial_yaml import names_in
from ..view.documents import DocumentContext
from ..view.positions import EncodedText

MOST_FILES = 300
"""Of a run that are looked through for a name."""
_WORD = re.compile(r"[\w][\w.-]*")
_DECLARING = ("phases", "artifacts", "values", "limits", "questions", "parameters", "actions", "gates")


def definition(context: DocumentContext, params: lsp.DefinitionParams) -> list[lsp.Location]:
    """Where what stands at a position is defined: a task's row and file, a phase's declaration."""
    line, column = context.text.line_and_column(params.position)
    word, _ = context.word_at(line, column, _WORD)
    places: list[tuple[str, Span]] = []
    if context.is_definition:
        names = names_in(split_lines(context.source))
        places += [(context.path, n.span) for n in names if n.name == word and n.path[0] in _DECLARING]
    e, task = context.evaluation, _task_at(context, word, line)
    if e and e.plan and task and not context.is_definition:
        row = e.plan.path, task.span
        file = [(join(e.run, task.file), Span(0, 0, 0, 0))] if task.file else []
        # Who stands in the row wants the file; who stands elsewhere the row.
        places += [*file, row] if context.is_plan and task.span.line == line else [row, *file]
    locations = [_location(context, path, span) for path, span in places]
    return [each for each in locations if each] or _of_phase(context, word)


def _location(context: DocumentContext, path: str, span: Span) -> lsp.Location | None:
    text = context.files.text(path)
    return lsp.Location(context.files.uri(path), text.range(span)) if text else None


def _task_at(context: DocumentContext, word: str, line: int) -> Task | None:
    """The task that a word names, else the one whose row the line is."""
    plan = context.plan()
    if plan is None:
        return None
    named = plan.by_id.get(resolve(plan, word) or "") if word else None
    in_row = (task for task in plan.tasks if context.is_plan and task.span.line == line)
    return named or next(in_row, None)


def _of_phase(context: DocumentContext, word: str) -> list[lsp.Location]:
    workflow = context.workflow
    phase = workflow.phases.get(workflow.aliases.get(word, word)) if workflow else None
    if phase is None:
        return []
    path, span = phase.place.source.path, phase.place.span
    if path in {source.path for source in built_in_sources().values()}:
        text = EncodedText(phase.place.source.text, context.text.encoding)
        return [lsp.Location(Path(str(resources(BUILT_IN) / path)).as_uri(), text.range(span))]
    location = _location(context, path, span)
    return [location] if location else []


# ---- references -------------------------------------------------------------------------------


def references(context: DocumentContext, params: lsp.ReferenceParams) -> list[lsp.Location]:
    """Every place of the run, or of the definition, that names what stands at a position."""
    line, column = context.text.line_and_column(params.position)
    word, _ = context.word_at(line, column, _WORD)
    if context.is_definition:
        return list(_occurrences(context, context.path, (word,))) if word else []
    names = _names_of(context, word, line)
    reads = context.evaluation.reads.items() if context.evaluation and names else ()
    documents = (
        path
        for path, state in reads
        if path.endswith((".md", ".json", ".yaml"))
        and "*" not in path
        and state not in ("missing", "unreadable")
    )
    return [each for path in islice(documents, MOST_FILES) for each in _occurrences(context, path, names)]


def _occurrences(context: DocumentContext, path: str, names: Sequence[str]) -> Iterator[lsp.Location]:
    """The places of a file where one of the names stands."""
    text, uri = context.files.text(path), context.files.uri(path)
    if text is None:
        return
    pattern = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, names))})(?![\w-])")
    for number, line in enumerate(split_lines(text.source)):
        for match in pattern.finditer(line):
            yield lsp.Location(uri, text.range(Span(number, match.start(), number, match.end())))


def _names_of(context: DocumentContext, word: str, line: int) -> tuple[str, ...]:
    """By which names files may speak of the task or phase at a position; none where it is neither."""
    task = _task_at(context, word, line)
    if task is not None:
        return (task.id, *([task.file.rsplit("/", 1)[-1]] if task.file else []))
    aliases = context.workflow.aliases if context.workflow else {}
    name = aliases.get(word, word)
    if context.workflow is None or name not in context.workflow.phases:
        return ()
    return (name, *(alias for alias, phase in aliases.items() if phase == name and "*" not in alias))
