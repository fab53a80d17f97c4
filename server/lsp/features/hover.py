"""What a hover says of a phase, a gate, a task, a status mark, or a key of a definition.

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
from ....orchestration.result.values import Evaluation, GateState, PhaseState
from ....orchestration.sanitize import markdown, plain
from ...terminal.run_views import next_words, status_word
from ..definitions.partial_yaml import key_about
from ..view.document_context import Scene
from ..view.open_definitions import is_definition

WORD = re.compile(r"[\w][\w./-]*")


def hover(scene: Scene, position: lsp.Position, as_markdown: bool) -> lsp.Hover | None:
    """The hover at a place; None where there is nothing to say."""
    line, column = scene.document.text.place(position)
    found = _hovered(scene, line, column)
    if found is None:
        return None
    span, lines = found
    shown = _Shown(as_markdown)
    value = "\n\n".join(shown.line(title, text) for title, text in lines)
    kind = lsp.MarkupKind.Markdown if as_markdown else lsp.MarkupKind.PlainText
    return lsp.Hover(lsp.MarkupContent(kind, value), scene.document.text.range(span))


class _Shown:
    """How a line of a hover is written: a title in bold where the editor shows Markdown."""

    def __init__(self, as_markdown: bool) -> None:
        self._as_markdown = as_markdown

    def line(self, title: str, text: str) -> str:
        if not self._as_markdown:
            return plain(f"{title}: {text}" if title else text, 600)
        said = markdown(text, 600)
        return f"**{markdown(title)}**: {said}" if title else said


Lines = list[tuple[str, str]]


def _hovered(scene: Scene, line: int, column: int) -> tuple[Span, Lines] | None:
    text = scene.document.text.line(line)
    if is_definition(scene.path, scene.text):
        return _in_definition(scene, line, column)
    evaluation = scene.evaluation
    if evaluation is None:
        return None
    plan = scene.plan()
    of_plan = _in_plan(scene, evaluation, plan, line, column) if plan else None
    if of_plan:
        return of_plan
    match = next((m for m in WORD.finditer(text) if m.start() <= column <= m.end()), None)
    lines = _of_word(scene, evaluation, match[0]) if match else None
    return (Span(line, match.start(), line, match.end()), lines) if match and lines else None


def _in_definition(scene: Scene, line: int, column: int) -> tuple[Span, Lines] | None:
    found = key_about(split_lines(scene.text), line, column)
    if found is None:
        return None
    (start, end), about = found
    return Span(line, start, line, end), [("", about)]


def _in_plan(scene: Scene, e: Evaluation, plan: Plan, line: int, column: int) -> tuple[Span, Lines] | None:
    for stage in plan.stages:
        if stage.span.line == line:
            state = next((s for s in _stages(e) if s.id == stage.id), None)
            return stage.span, list(_stage(e, state)) if state else [
                ("", f"{stage.done} of {stage.total} done")
            ]
        for mark in (stage.summary, *(m for t in stage.tasks for m in (t.mark, t.reference))):
            if mark and _holds(mark.span, line, column):
                return mark.span, list(_mark(mark, scene.workflow.dialect if scene.workflow else None))
        task = next((task for task in stage.tasks if task.span.line == line), None)
        if task:
            return task.span, list(_task(e, task))
    return None


def _holds(span: Span, line: int, column: int) -> bool:
    return span.line == line and span.column <= column <= span.end_column


def _stages(e: Evaluation) -> tuple[StageState, ...]:
    return e.plan.stages if e.plan else ()


def _mark(mark: Mark, dialect: Dialect | None) -> Iterator[tuple[str, str]]:
    yield "", STATUS_MEANING[mark.status]
    if dialect:
        known = (f"[{box}] {STATUS_MEANING[status]}" for status, box in dialect.mark_of.items())
        yield "marks", ", ".join(known)


def _stage(e: Evaluation, stage: StageState) -> Iterator[tuple[str, str]]:
    yield f"phase {stage.id}", f"{stage.title}: {stage.done} of {stage.total} done"
    ready = [task.id for task in stage.tasks if task.state == "ready"]
    if ready:
        yield "can start now", ", ".join(ready[:10])


def _task(e: Evaluation, task: Task) -> Iterator[tuple[str, str]]:
    state = next((t for s in _stages(e) for t in s.tasks if t.id == task.id), None)
    yield task.id, task.title
    if state is not None:
        yield "state", _state(state)
        if state.files:
            yield "changes", ", ".join(state.files[:10])
    if task.file:
        yield "file", task.file


def _state(state: TaskState) -> str:
    waits = f", waits for {', '.join(state.blocked_by)}" if state.blocked_by else ""
    return f"{state.state}{waits}" + (f", claimed by {state.claimed_by}" if state.claimed_by else "")


def _of_word(scene: Scene, e: Evaluation, word: str) -> Lines | None:
    """What a word of a run's file means: a phase, a gate, or a task of the plan."""
    name = scene.workflow.aliases.get(word, word) if scene.workflow else word
    phase = next((phase for phase in e.phases if phase.id == name), None)
    if phase is not None:
        return list(_phase(e, phase))
    gate = next((gate for gate in e.gates if gate.id == word and not word.isdigit()), None)
    if gate is not None:
        return list(_gate(gate))
    board = scene.board()
    task = board.by_id.get(resolve(board, word) or "") if board and not word.isdigit() else None
    return list(_task(e, task)) if task else None


def _phase(e: Evaluation, phase: PhaseState) -> Iterator[tuple[str, str]]:
    title = phase.title if phase.title != phase.id else "phase"
    yield phase.id, f"{title} ({phase.state})"
    if phase.agents:
        yield "who", ", ".join(phase.agents)
    if phase.produces:
        yield "leaves", ", ".join(f"{one.path} ({one.state})" for one in phase.produces)
    if phase.id == e.current_phase:
        yield "run", status_word(e.status)
        yield "next", f"{next_words(e.suggestion)}: {e.suggestion.reason}"
    for gate in e.gates:
        if gate.after == phase.id:
            yield from _gate(gate)


def _gate(gate: GateState) -> Iterator[tuple[str, str]]:
    met = {True: "met", False: "not met", None: "no evidence"}
    said = "; ".join(f"{criterion.text} ({met[criterion.met]})" for criterion in gate.criteria)
    yield f"gate {gate.id}", f"{gate.status}: {said}"
