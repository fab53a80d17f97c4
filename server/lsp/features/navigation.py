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
from ....orchestration.plans.model import Plan, Task
from ....orchestration.plans.schedule import resolve
from ....orchestration.vfs.files import join
from ...workspace.definitions import BUILT_IN, built_in_sources
from ..definitions.partial_yaml import names_in
from ..view.documents import DocumentContext
from ..view.positions import EncodedText

MOST_FILES = 300
"""Of a run that are looked through for a name."""
_WORD = re.compile(r"[\w][\w.-]*")
# The path of a file in the root, and a span in it.
_Place = tuple[str, Span]
_DECLARING = ("phases", "artifacts", "values", "limits", "questions", "parameters", "actions", "gates")


def definition(context: DocumentContext, params: lsp.DefinitionParams) -> list[lsp.Location]:
    """Where what stands at a position is defined: a task's row and file, a phase's declaration."""
    line, column = context.text.line_and_column(params.position)
    word = _word_at(context, line, column)
    places = _declarations(context, word) if context.is_definition else _of_task(context, word, line)
    locations = [_location(context, path, span) for path, span in places]
    return [each for each in locations if each] or _of_phase(context, word)


def _word_at(context: DocumentContext, line: int, column: int) -> str:
    lines = split_lines(context.source)
    words = _WORD.finditer(lines[line]) if line < len(lines) else ()
    return next((match[0] for match in words if match.start() <= column <= match.end()), "")


def _declarations(context: DocumentContext, word: str) -> Iterator[_Place]:
    for name in names_in(split_lines(context.source)):
        if name.name == word and name.path[0] in _DECLARING:
            yield context.path, name.span


def _location(context: DocumentContext, path: str, span: Span) -> lsp.Location | None:
    text = context.files.text(path)
    return lsp.Location(context.files.uri(path), text.range(span)) if text else None


def _of_task(context: DocumentContext, word: str, line: int) -> Iterator[_Place]:
    """The row of the task that is named, then the task's own file."""
    plan, evaluation = context.plan(), context.evaluation
    task = _task_at(context, plan, word, line) if plan else None
    if task is None or evaluation is None or evaluation.plan is None:
        return
    file = join(evaluation.run, task.file) if task.file else None
    row = evaluation.plan.path, task.span
    top = [(file, Span(0, 0, 0, 0))] if file else []
    # Who stands in the row wants the file; who stands elsewhere the row.
    yield from [*top, row] if context.is_plan and task.span.line == line else [row, *top]


def _task_at(context: DocumentContext, plan: Plan, word: str, line: int) -> Task | None:
    """The task that a word names, else the one whose row the line is."""
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
    word = _word_at(context, line, column)
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
    plan = context.plan()
    task = _task_at(context, plan, word, line) if plan else None
    if task is not None:
        return (task.id, *([task.file.rsplit("/", 1)[-1]] if task.file else []))
    aliases = context.workflow.aliases if context.workflow else {}
    name = aliases.get(word, word)
    if context.workflow is None or name not in context.workflow.phases:
        return ()
    return (name, *(alias for alias, phase in aliases.items() if phase == name and "*" not in alias))
