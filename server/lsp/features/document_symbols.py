"""The outline of a document: a plan's stages and tasks, a definition's parts, where a run stands."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types as lsp

from ....orchestration.findings import Span
from ....orchestration.markdown.block_outline import split_lines
from ....orchestration.plans.model import Plan
from ....orchestration.result.phrases import status_phrase
from ....orchestration.sanitize import plain
from ..definitions.partial_yaml import DefinitionKey, names_in
from ..view.documents import DocumentContext

_KIND = lsp.SymbolKind
_KINDS = {
    "phases": _KIND.Event, "gates": _KIND.Boolean, "artifacts": _KIND.File, "questions": _KIND.Enum,
    "limits": _KIND.Number, "values": _KIND.Variable, "parameters": _KIND.Constant, "actions": _KIND.Function,
}  # fmt: skip


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
        last = max((task.span.end_line for task in stage.tasks), default=stage.span.end_line)
        end = len(context.text.line(last))
        whole = Span(stage.span.line, stage.span.column, max(last, stage.span.end_line), end)
        name, about = f"{stage.id}. {stage.title}", f"{stage.done} of {stage.total} done"
        symbol = _symbol(context, name, _KIND.Module, stage.span, whole, about)
        symbol.children = [
            _symbol(context, f"{t.id} {t.title}", _KIND.Method, t.span, about=t.status.replace("_", " "))
            for t in stage.tasks
            if t.span.line > stage.span.line or not whole.line
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
