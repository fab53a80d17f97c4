"""Navigation: definitions and references of tasks, phases and declared names, and a document's outline."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from lsprotocol import types as lsp

from ....orchestration.findings import Span
from ....orchestration.markdown.block_outline import split_lines
from ....orchestration.plans.model import Plan, Task
from ....orchestration.plans.schedule import resolve
from ....orchestration.result.phrases import status_phrase
from ....orchestration.sanitize import plain
from ....orchestration.vfs.files import join
from ...workspace.definitions import BUILT_IN, built_in_sources
from ..definitions.partial_yaml import DefinitionKey, names_in
from ..view.documents import DocumentContext
from ..view.positions import EncodedText

MOST_FILES = 300
"""Of a run that are looked through for a name."""
_WORD = re.compile(r"[\w][\w.-]*")
_KIND = lsp.SymbolKind
_KINDS = {
    "phases": _KIND.Event, "gates": _KIND.Boolean, "artifacts": _KIND.File, "questions": _KIND.Enum,
    "limits": _KIND.Number, "values": _KIND.Variable, "parameters": _KIND.Constant, "actions": _KIND.Function,
}  # fmt: skip


def definition(context: DocumentContext, params: lsp.DefinitionParams) -> list[lsp.Location]:
    """Where what stands at a position is defined: a task's row and file, a phase's declaration."""
    line, column = context.text.line_and_column(params.position)
    word, _ = context.word_at(line, column, _WORD)
    places: list[tuple[str, Span]] = []
    if context.is_definition:
        names = names_in(split_lines(context.source))
        places += [(context.path, n.span) for n in names if n.name == word and n.path[0] in _KINDS]
    e, plan = context.evaluation, context.plan()
    task = _task_at(context, plan, word, line) if plan else None
    if e and e.plan and plan and task and not context.is_definition:
        row = e.plan.path, plan.span(task)
        file = [(join(e.plan.folder, task.file), Span(0, 0, 0, 0))] if task.file else []
        # Who stands in the row wants the file, who stands elsewhere the row; of two an editor opens a list.
        places += [*file, row] if context.is_plan and row[1].line == line else [row, *file]
    locations = (_location(context, path, span) for path, span in places)
    return next(([each] for each in locations if each), []) or _of_phase(context, word)


def _location(context: DocumentContext, path: str, span: Span) -> lsp.Location | None:
    text = context.text_of(path)
    return lsp.Location(context.uri(path), text.range(span)) if text else None


def _task_at(context: DocumentContext, plan: Plan, word: str, line: int) -> Task | None:
    """The task that a word names, else the one whose row the line is."""
    named = plan.by_id.get(resolve(plan, word) or "") if word else None
    return named or (next(plan.tasks_at(line), None) if context.is_plan else None)


def _of_phase(context: DocumentContext, word: str) -> list[lsp.Location]:
    workflow = context.workflow
    phase = workflow.phases.get(workflow.aliases.get(word, word)) if workflow else None
    if phase is None:
        return []
    path, span = phase.place.source.path, phase.place.span
    if path in {source.path for source in built_in_sources().values()}:
        text = EncodedText(phase.place.source.text, context.text.encoding)
        return [lsp.Location((BUILT_IN / path).as_uri(), text.range(span))]
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
    text, uri = context.text_of(path), context.uri(path)
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


# ---- document symbols ---------------------------------------------------------------------------


def document_symbols(context: DocumentContext, _: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
    """The symbols of a document, in order; none where it is no file of Phasekeeper's."""
    if context.is_definition:
        return list(_definition(context))
    plan, e = context.own_plan(), context.evaluation
    if plan is not None:
        return list(_plan(context, plan))
    if e is None or not context.is_state:
        return []
    end = max(context.text.line_count - 1, 0)
    whole = Span(0, 0, end, len(context.text.line(end)))
    about = f"{status_phrase(e.status)}, {e.suggestion.kind}"
    return [_symbol(context, e.current_phase or e.run, _KIND.Event, Span(0, 0, 0, 1), whole, about)]


def _symbol(
    context: DocumentContext,
    name: str,
    kind: lsp.SymbolKind,
    span: Span,
    whole: Span | None = None,
    about: str = "",
) -> lsp.DocumentSymbol:
    # The protocol refuses an empty name.
    name, about = plain(name, 120) or "?", plain(about, 120)
    return lsp.DocumentSymbol(
        name, kind, context.text.range(whole or span), context.text.range(span), detail=about
    )


def _plan(context: DocumentContext, plan: Plan) -> Iterator[lsp.DocumentSymbol]:
    for stage in plan.stages:
        spans = [stage.span_of(task.place) for task in stage.tasks]
        last = max((span.end_line for span in spans), default=stage.span.end_line)
        end = len(context.text.line(last))
        whole = Span(stage.span.line, stage.span.column, max(last, stage.span.end_line), end)
        name, about = f"{stage.id}. {stage.title}", f"{stage.done} of {stage.total} done"
        symbol = _symbol(context, name, _KIND.Module, stage.span, whole, about)
        symbol.children = [
            _symbol(context, f"{t.id} {t.title}", _KIND.Method, span, about=t.status.replace("_", " "))
            for t, span in zip(stage.tasks, spans, strict=True)
            if span.line > stage.span.line or not whole.line
        ]
        yield symbol


def _definition(context: DocumentContext) -> Iterator[lsp.DocumentSymbol]:
    """The names that a definition gives, below the key that they stand under."""
    lines = split_lines(context.source)
    groups: dict[str, list[DefinitionKey]] = {}
    for name in names_in(lines):
        if name.path[0] in _KINDS:
            groups.setdefault(name.path[0], []).append(name)
    for group, names in groups.items():
        first = next(n for n, line in enumerate(lines) if line.startswith((f"{group}:", f"{group} ")))
        key = Span(first, 0, first, len(group))
        end = max(name.line for name in names)
        symbol = _symbol(context, group, _KIND.Namespace, key, Span(first, 0, end, len(lines[end])))
        symbol.children = [_symbol(context, name.name, _KINDS[group], name.span) for name in names]
        yield symbol
