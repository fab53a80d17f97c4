"""Code lenses above lines of a run's files: where the run is, what is next, who is asked."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types as lsp

from ....orchestration.findings import Span
from ....orchestration.plans.model import Stage
from ....orchestration.result.phrases import in_sentence, status_phrase
from ....orchestration.result.values import Evaluation
from ....orchestration.sanitize import plain
from ....orchestration.states import GateStatus
from ..view.documents import DocumentContext
from .code_action_commands import CommandName, CommandOffer, offer

OPTIONS = lsp.CodeLensOptions()
_REASON = 120
_MOST_TASKS = 6


def code_lenses(context: DocumentContext, _: lsp.CodeLensParams) -> list[lsp.CodeLens]:
    """The lenses of a document of a run: its head on the first line, and one above each stage of a plan."""
    evaluation, plan = context.evaluation, context.own_plan()
    if evaluation is None:
        return []
    commands = [(Span(0, 0, 0, 0), command) for command in _head(evaluation)]
    commands += [(stage.span, _stage(evaluation, stage)) for stage in (plan.stages if plan else ())]
    return [lsp.CodeLens(context.text.range(span), command.as_lsp(600)) for span, command in commands]


def _head(e: Evaluation) -> Iterator[CommandOffer]:
    """What is said of the whole run."""
    progress = f", {e.progress.done} of {e.progress.total} done" if e.progress else ""
    standing = f"{plain(e.current_phase or 'unknown phase', 60)}: {status_phrase(e.status)}{progress}"
    yield offer(standing, CommandName.SHOW, e)
    next_step = f"{in_sentence(e.suggestion.phrase)} ({plain(e.suggestion.reason, _REASON)})"
    yield offer(f"next: {next_step}", CommandName.SHOW, e)
    for gate in e.gates:
        if gate.in_force and gate.status == GateStatus.FAILED:
            unmet = "; ".join(plain(each.text, 80) for each in gate.criteria if each.met is False)
            yield offer(f"gate {plain(gate.id, 40)} is shut: {unmet}", CommandName.SHOW, e)
    for question in e.questions:
        title = f"{question.kind}: {plain(question.question, _REASON)}"
        yield offer(title, CommandName.DECIDE, e, question=question.id)


def _stage(e: Evaluation, stage: Stage) -> CommandOffer:
    ready = [task.number or task.id for task in stage.tasks if task.id in e.suggestion.tasks]
    names = ", ".join(plain(name, 40) for name in ready[:_MOST_TASKS])
    more = f" and {len(ready) - _MOST_TASKS} more" if len(ready) > _MOST_TASKS else ""
    work = f"; work on {names}{more}" if ready else ""
    return offer(f"{stage.done} of {stage.total} done{work}", CommandName.SHOW, e)
