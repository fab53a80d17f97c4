"""The outline of a document: a plan's stages and tasks, a definition's parts, where a run stands."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types as lsp

from ....orchestration.findings import Span
from ....orchestration.markdown.block_outline import split_lines
from ....orchestration.plans.model import Plan
from ....orchestration.sanitize import plain
from ...terminal.run_views import status_word
from ..definitions.partial_yaml import Named, names_in
from ..view.document_context import Scene
from ..view.open_definitions import is_definition

_KINDS = {
    "phases": lsp.SymbolKind.Event, "gates": lsp.SymbolKind.Boolean, "artifacts": lsp.SymbolKind.File,
    "questions": lsp.SymbolKind.Enum, "limits": lsp.SymbolKind.Number, "values": lsp.SymbolKind.Variable,
    "parameters": lsp.SymbolKind.Constant, "actions": lsp.SymbolKind.Function,
}  # fmt: skip


def symbols(scene: Scene) -> list[lsp.DocumentSymbol]:
    """The symbols of a document, in order; none where it is no file of Phasekeeper's."""
    if is_definition(scene.path, scene.text):
        return list(_definition(scene))
    plan = scene.plan()
    if plan is not None:
        return list(_plan(scene, plan))
    return list(_state(scene)) if scene.is_state else []


def _symbol(
    scene: Scene, name: str, kind: lsp.SymbolKind, span: Span, whole: Span | None = None, about: str = ""
) -> lsp.DocumentSymbol:
    text = scene.document.text
    # The protocol refuses an empty name.
    shown = plain(name, 120) or "?"
    return lsp.DocumentSymbol(
        shown, kind, text.range(whole or span), text.range(span), detail=plain(about, 120)
    )


def _plan(scene: Scene, plan: Plan) -> Iterator[lsp.DocumentSymbol]:
    for stage in plan.stages:
        last = max((task.span.end_line for task in stage.tasks), default=stage.span.end_line)
        end = len(scene.document.text.line(last))
        whole = Span(stage.span.line, stage.span.column, max(last, stage.span.end_line), end)
        about = f"{stage.done} of {stage.total} done"
        symbol = _symbol(scene, f"{stage.id}. {stage.title}", lsp.SymbolKind.Module, stage.span, whole, about)
        symbol.children = [
            _symbol(
                scene, f"{t.id} {t.title}", lsp.SymbolKind.Method, t.span, None, t.status.replace("_", " ")
            )
            for t in stage.tasks
            if t.span.line > stage.span.line or not whole.line
        ]
        yield symbol


def _definition(scene: Scene) -> Iterator[lsp.DocumentSymbol]:
    """The names that a definition gives, below the key that they stand under."""
    lines = split_lines(scene.text)
    groups: dict[str, list[Named]] = {}
    for named in names_in(lines):
        if named.group in _KINDS:
            groups.setdefault(named.group, []).append(named)
    for group, all_named in groups.items():
        first = next(n for n, line in enumerate(lines) if line.startswith((f"{group}:", f"{group} ")))
        key = Span(first, 0, first, len(group))
        end = max(named.line for named in all_named)
        symbol = _symbol(scene, group, lsp.SymbolKind.Namespace, key, Span(first, 0, end, len(lines[end])))
        symbol.children = [
            _symbol(scene, n.name, _KINDS[group], Span(n.line, n.column, n.line, n.column + len(n.name)))
            for n in all_named
        ]
        yield symbol


def _state(scene: Scene) -> Iterator[lsp.DocumentSymbol]:
    e = scene.evaluation
    if e is not None:
        end = max(scene.document.text.line_count - 1, 0)
        whole = Span(0, 0, end, len(scene.document.text.line(end)))
        about = f"{status_word(e.status)}, {e.suggestion.kind}"
        yield _symbol(scene, e.current_phase or e.run, lsp.SymbolKind.Event, Span(0, 0, 0, 1), whole, about)
