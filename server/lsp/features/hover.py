"""Hovers: what a phase, a gate, a task, a status mark, or a key of a definition means.

Text of files reaches it escaped, as everywhere: no link, no markup, no command.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lsprotocol import types as lsp

from ....orchestration.findings import Span
from ....orchestration.markdown.block_outline import split_lines
from ....orchestration.plans.model import STATUS_MEANING, Dialect, Mark, Plan, Task
from ....orchestration.plans.schedule import StageState, TaskState, resolve
from ....orchestration.result.phrases import in_sentence, status_phrase
from ....orchestration.result.values import Evaluation, GateState, PhaseState
from ....orchestration.sanitize import markdown, plain
from ..definitions.partial_yaml import key_about
from ..view.document_context import DocumentContext

WORD = re.compile(r"[\w][\w./-]*")


def hover(context: DocumentContext, params: lsp.HoverParams) -> lsp.Hover | None:
    """The hover at a position; None where there is nothing to say."""
    line, column = context.text.line_and_column(params.position)
    hovered = _hovered(context, line, column)
    if hovered is None:
        return None
    span, lines = hovered
    document = context.capabilities.text_document
    formats = document.hover.content_format if document and document.hover else None
    kind = lsp.MarkupKind.Markdown if lsp.MarkupKind.Markdown in (formats or ()) else lsp.MarkupKind.PlainText
    write = _markdown_line if kind is lsp.MarkupKind.Markdown else _plain_line
    value = "\n\n".join(write(title, text) for title, text in lines)
    return lsp.Hover(lsp.MarkupContent(kind, value), context.text.range(span))


def _plain_line(title: str, text: str) -> str:
    return plain(f"{title}: {text}" if title else text, 600)


def _markdown_line(title: str, text: str) -> str:
    """The title in bold, and the text escaped so that it reads as just that text."""
    return f"**{markdown(title)}**: {markdown(text, 600)}" if title else markdown(text, 600)


# (title, text) of each line; a title may be "".
Lines = list[tuple[str, str]]


def _hovered(context: DocumentContext, line: int, column: int) -> tuple[Span, Lines] | None:
    if context.is_definition:
        return _in_definition(context, line, column)
    evaluation = context.evaluation
    if evaluation is None:
        return None
    plan = context.own_plan()
    in_plan = _in_plan(context, evaluation, plan, line, column) if plan else None
    if in_plan:
        return in_plan
    words = WORD.finditer(context.text.line(line))
    word = next((match for match in words if match.start() <= column <= match.end()), None)
    lines = _of_word(context, evaluation, word[0]) if word else None
    return (Span(line, word.start(), line, word.end()), lines) if word and lines else None


def _in_definition(context: DocumentContext, line: int, column: int) -> tuple[Span, Lines] | None:
    key = key_about(split_lines(context.source), line, column)
    if key is None:
        return None
    (start, end), about = key
    return Span(line, start, line, end), [("", about)]


def _in_plan(
    context: DocumentContext, e: Evaluation, plan: Plan, line: int, column: int
) -> tuple[Span, Lines] | None:
    for stage in plan.stages:
        if stage.span.line == line:
            state = next((s for s in _stages(e) if s.id == stage.id), None)
            return stage.span, list(_stage(e, state)) if state else [
                ("", f"{stage.done} of {stage.total} done")
            ]
        for mark in (stage.summary, *(m for t in stage.tasks for m in (t.mark, t.reference))):
            if mark and _contains(mark.span, line, column):
                return mark.span, list(_mark(mark, context.workflow.dialect if context.workflow else None))
        task = next((task for task in stage.tasks if task.span.line == line), None)
        if task:
            return task.span, list(_task(e, task))
    return None


def _contains(span: Span, line: int, column: int) -> bool:
    return span.line == line and span.column <= column <= span.end_column


def _stages(e: Evaluation) -> tuple[StageState, ...]:
    return e.plan.stages if e.plan else ()


def _mark(mark: Mark, dialect: Dialect | None) -> Iterator[tuple[str, str]]:
    yield "", STATUS_MEANING[mark.status]
    if dialect:
        marks = (f"[{box}] {STATUS_MEANING[status]}" for status, box in dialect.mark_of.items())
        yield "marks", ", ".join(marks)


def _stage(e: Evaluation, stage: StageState) -> Iterator[tuple[str, str]]:
    yield f"phase {stage.id}", f"{stage.title}: {stage.done} of {stage.total} done"
    ready = [task.id for task in stage.tasks if task.state == "ready"]
    if ready:
        yield "can start now", ", ".join(ready[:10])


def _task(e: Evaluation, task: Task) -> Iterator[tuple[str, str]]:
    state = next((t for s in _stages(e) for t in s.tasks if t.id == task.id), None)
    yield task.id, task.title
    if state is not None:
        yield "state", _task_words(state)
        if state.files:
            yield "changes", ", ".join(state.files[:10])
    if task.file:
        yield "file", task.file


def _task_words(state: TaskState) -> str:
    waits = f", waits for {', '.join(state.blocked_by)}" if state.blocked_by else ""
    return f"{state.state}{waits}" + (f", claimed by {state.claimed_by}" if state.claimed_by else "")


def _of_word(context: DocumentContext, e: Evaluation, word: str) -> Lines | None:
    """What a word of a run's file means: a phase, a gate, or a task of the plan."""
    name = context.workflow.aliases.get(word, word) if context.workflow else word
    phase = next((phase for phase in e.phases if phase.id == name), None)
    if phase is not None:
        return list(_phase(e, phase))
    gate = next((gate for gate in e.gates if gate.id == word and not word.isdigit()), None)
    if gate is not None:
        return list(_gate(gate))
    plan = context.plan()
    task = plan.by_id.get(resolve(plan, word) or "") if plan and not word.isdigit() else None
    return list(_task(e, task)) if task else None


def _phase(e: Evaluation, phase: PhaseState) -> Iterator[tuple[str, str]]:
    title = phase.title if phase.title != phase.id else "phase"
    yield phase.id, f"{title} ({phase.state})"
    if phase.agents:
        yield "who", ", ".join(phase.agents)
    if phase.produces:
        yield "leaves", ", ".join(f"{one.path} ({one.state})" for one in phase.produces)
    if phase.id == e.current_phase:
        yield "run", status_phrase(e.status)
        yield "next", f"{in_sentence(e.suggestion.phrase)}: {e.suggestion.reason}"
    for gate in e.gates:
        if gate.after == phase.id:
            yield from _gate(gate)


def _gate(gate: GateState) -> Iterator[tuple[str, str]]:
    met = {True: "met", False: "not met", None: "no evidence"}
    criteria = "; ".join(f"{criterion.text} ({met[criterion.met]})" for criterion in gate.criteria)
    yield f"gate {gate.id}", f"{gate.status}: {criteria}"
