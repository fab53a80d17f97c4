"""Hovers: what a phase, a gate, a task, a status mark, or a key of a definition means.

Text of files reaches it escaped, as everywhere: no link, no markup, no command.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from lsprotocol import types as lsp

from ....orchestration.findings import Span
from ....orchestration.markdown.block_outline import split_lines
from ....orchestration.plans.model import STATUS_MEANING, Mark, Plan, Task
from ....orchestration.plans.schedule import StageState, resolve
from ....orchestration.result.phrases import in_sentence, status_phrase
from ....orchestration.result.values import Evaluation, GateState, PhaseState
from ....orchestration.sanitize import markdown, plain
from ....orchestration.states import PhaseStatus
from ..definitions.partial_yaml import CONFIGURATION, DEFINITION, key_about
from ..view.documents import DocumentContext

WORD = re.compile(r"[\w][\w./-]*")


def hover(context: DocumentContext, params: lsp.HoverParams) -> lsp.Hover | None:
    """The hover at a position; None where there is nothing to say."""
    line, column = context.text.line_and_column(params.position)
    hovered = _content_at(context, line, column)
    if hovered is None:
        return None
    span, lines = hovered[0], [(title, text) for title, text in hovered[1] if text]
    document = context.capabilities.text_document
    formats = document.hover.content_format if document and document.hover else None
    if lsp.MarkupKind.Markdown in (formats or ()):
        kind = lsp.MarkupKind.Markdown
        texts = [(f"**{markdown(title)}**: " if title else "") + markdown(text, 600) for title, text in lines]
    else:
        kind = lsp.MarkupKind.PlainText
        texts = [plain(f"{title}: {text}" if title else text, 600) for title, text in lines]
    return lsp.Hover(lsp.MarkupContent(kind, "\n\n".join(texts)), context.text.range(span))


# (title, text) of each line; a title may be "", and a line without a text is left out.
Lines = Iterable[tuple[str, str]]


def _content_at(context: DocumentContext, line: int, column: int) -> tuple[Span, Lines] | None:
    if context.is_definition or context.is_configuration:
        top = DEFINITION if context.is_definition else CONFIGURATION
        key = key_about(split_lines(context.source), line, column, top)
        return (key[0], [("", key[1])]) if key else None
    evaluation, plan = context.evaluation, context.own_plan()
    if evaluation is None:
        return None
    if plan and (in_plan := _in_plan(context, evaluation, plan, line, column)):
        return in_plan
    word, span = context.word_at(line, column, WORD)
    lines = _of_word(context, evaluation, word) if word else None
    return (span, lines) if lines else None


def _in_plan(
    context: DocumentContext, e: Evaluation, plan: Plan, line: int, column: int
) -> tuple[Span, Lines] | None:
    dialect = context.workflow.dialect if context.workflow else None
    mark_of = dialect.mark_of if dialect else {}
    for stage in plan.stages:
        if stage.span.line == line:
            state = next((each for each in _stages(e) if each.id == stage.id), None)
            if state is None:
                return stage.span, [("", f"{stage.done} of {stage.total} done")]
            ready = [task.id for task in state.tasks if task.id in e.suggestion.tasks]
            about = f"{state.title}: {state.done} of {state.total} done"
            return stage.span, [(f"phase {state.id}", about), ("can start now", ", ".join(ready[:10]))]
        of_rows = (Mark(t.status, stage.span_of(t.mark)) for t in stage.tasks if t.mark)
        for mark in (stage.summary, *of_rows, *map(plan.reference, stage.tasks)):
            if mark and mark.span.line == line and mark.span.column <= column <= mark.span.end_column:
                marks = (f"[{box}] {STATUS_MEANING[status]}" for status, box in mark_of.items())
                return mark.span, [("", STATUS_MEANING[mark.status]), ("marks", ", ".join(marks))]
        task = next((task for task in stage.tasks if stage.span_of(task.place).line == line), None)
        if task:
            return stage.span_of(task.place), _task(e, task)
    return None


def _stages(e: Evaluation) -> tuple[StageState, ...]:
    return e.plan.stages if e.plan else ()


def _task(e: Evaluation, task: Task) -> Iterator[tuple[str, str]]:
    state = next((t for s in _stages(e) for t in s.tasks if t.id == task.id), None)
    yield task.id, task.title
    if state is not None:
        waits = f", waits for {', '.join(state.blocked_by)}" if state.blocked_by else ""
        claim = f", claimed by {state.claimed_by}" if state.claimed_by else ""
        failed = f", as {state.failed_by.expression} says" if state.failed_by else ""
        yield "state", f"{state.state}{waits}{claim}{failed}"
        yield "changes", ", ".join(state.files[:10])
    yield "file", task.file or ""


def _of_word(context: DocumentContext, e: Evaluation, word: str) -> Lines | None:
    """The meaning of a word in a run's file: a phase, a gate, or a task of the plan."""
    name = context.workflow.aliases.get(word, word) if context.workflow else word
    phase = next((phase for phase in e.phases if phase.id == name), None)
    if phase is not None:
        return _phase(e, phase)
    gate = next((gate for gate in e.gates if gate.id == word and not word.isdigit()), None)
    if gate is not None:
        return _gate(gate)
    plan = context.plan()
    task = plan.by_id.get(resolve(plan, word) or "") if plan and not word.isdigit() else None
    return _task(e, task) if task else None


def _phase(e: Evaluation, phase: PhaseState) -> Iterator[tuple[str, str]]:
    title = phase.title if phase.title != phase.id else "phase"
    is_end = phase.state is PhaseStatus.CURRENT and e.status.is_over
    state = "the run ended here" if is_end else phase.state
    yield phase.id, f"{title} ({state}{f', {phase.rests_on}' if phase.rests_on else ''})"
    yield "who", ", ".join(phase.agents)
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
    rests_on = f", {gate.rests_on}" if gate.rests_on else ""
    yield f"gate {gate.id}", f"{gate.status}{rests_on}: {criteria}"
