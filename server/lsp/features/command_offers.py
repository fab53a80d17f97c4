"""Commands that are offered to a person: by code lenses, and by code actions where no edit fixes a finding.

Each has one argument: the run, and what the command is about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import NamedTuple

from lsprotocol import types as lsp

from ....orchestration.findings import Finding, Severity, Span
from ....orchestration.formats.json_text import read_json
from ....orchestration.markdown.block_outline import split_lines
from ....orchestration.plans.model import Stage
from ....orchestration.result.phrases import in_sentence, status_phrase
from ....orchestration.result.values import Evaluation, GateState, QuestionState
from ....orchestration.sanitize import LIMIT, plain
from ....orchestration.states import GateStatus, PhaseStatus, QuestionKind
from ..view.annotations import GATE_FAILED, PERSON_AWAITED
from ..view.documents import DocumentContext

OPTIONS = lsp.CodeLensOptions()
_REASON = 120
_MOST_TASKS = 6


class CommandName(StrEnum):
    """All commands of `workspace/executeCommand`; `requests/commands.py` has a function for each."""

    SHOW = "phasekeeper.show"
    DECIDE = "phasekeeper.decide"
    REDO = "phasekeeper.redo"
    REPAIR = "phasekeeper.repair"
    SHOW_COMMAND_LINE = "phasekeeper.command"


class CommandOffer(NamedTuple):
    """A command that is offered to the person: its title, its name and its one argument."""

    title: str
    command: CommandName
    argument: dict[str, str]

    def as_lsp(self, limit: int = LIMIT) -> lsp.Command:
        """As the protocol has it, with at most `limit` characters of the title."""
        return lsp.Command(plain(self.title, limit), self.command, arguments=[self.argument])


def offer(title: str, command: CommandName, evaluation: Evaluation, **about: str) -> CommandOffer:
    """A command about a run; `about` are further members of its argument."""
    return CommandOffer(title, command, {"root": evaluation.root, "run": evaluation.run, **about})


def offers(finding: Finding, context: DocumentContext) -> list[CommandOffer]:
    """The commands that are offered for a finding of a run."""
    source, evaluation = OFFERS.get(finding.code), context.evaluation
    return list(source(finding, evaluation, context)) if source and evaluation else []


def _engine_fixes(finding: Finding, e: Evaluation, context: DocumentContext) -> Iterator[CommandOffer]:
    """The engine's own fixes: a phase is done again, or the run rolls back to one."""
    for fix in finding.fixes if context.workflow and "redo" in context.workflow.effects else ():
        title = f"{fix.title[:1].upper()}{fix.title[1:]}"
        yield offer(title, CommandName.REDO, e, phase=fix.command[-1])


def _redo_producer(finding: Finding, e: Evaluation, context: DocumentContext) -> Iterator[CommandOffer]:
    """What is out of date is made again by the phase that makes it, where the run has got that far."""
    workflow = context.workflow
    current = workflow.phases.get(e.current_phase or "") if workflow and "redo" in workflow.effects else None
    for phase in e.phases if current else ():
        makes_it = any(produced.path == finding.path for produced in phase.produces)
        if makes_it and current and phase.order <= current.order:
            yield offer(f"Have {phase.id} done again", CommandName.REDO, e, phase=phase.id)


def _questions(finding: Finding, e: Evaluation, context: DocumentContext) -> Iterator[CommandOffer]:
    """The question that the finding is, else all open ones; each is answered in a dialog."""
    for question in e.questions:
        if finding.data.get("question", question.id) == question.id:
            yield _question(question, e)


def _question(question: QuestionState, e: Evaluation) -> CommandOffer:
    verb = "Answer" if question.kind == QuestionKind.ESCALATION else "Decide"
    return offer(f"{verb}: {question.question}", CommandName.DECIDE, e, question=question.id)


def _stale_approvals(finding: Finding, e: Evaluation, context: DocumentContext) -> Iterator[CommandOffer]:
    """What was approved and has changed since is approved as it is now; the dialog shows what it says."""
    yield from _questions(finding, e, context)
    is_open = {question.id for question in e.questions}
    for question in context.workflow.questions.values() if context.workflow else ():
        if question.kind == QuestionKind.APPROVAL and question.about and question.id not in is_open:
            yield offer(f"Decide again: {question.id}", CommandName.DECIDE, e, question=question.id)


def _unproved_decision(finding: Finding, e: Evaluation, context: DocumentContext) -> Iterator[CommandOffer]:
    """What a line of the journal decides without proof is decided by the person at the editor, if at all."""
    lines, line = split_lines(context.source), finding.span.line if finding.span else 0
    record = read_json(lines[line]).data if line < len(lines) else None
    if finding.severity is Severity.HINT or not isinstance(record, dict):
        return
    if record.get("kind") == "override":
        yield from _override_to(str(record.get("next")), f"Move the run to {record.get('next')}", e)
        return
    for question in e.questions:
        if question.id.partition(":")[0] == str(record.get("question")).partition(":")[0]:
            yield _question(question, e)


def _failed_gate(finding: Finding, e: Evaluation, context: DocumentContext) -> Iterator[CommandOffer]:
    for gate in e.gates:
        yield from _past_gate(gate, e) if gate.id == finding.data.get("gate") else ()


def _validation_loop(finding: Finding, e: Evaluation, context: DocumentContext) -> Iterator[CommandOffer]:
    """A validation that fails again and again: a person answers what is asked, or lets the run pass it."""
    yield from _questions(finding, e, context)
    for gate in e.gates:
        yield from _past_gate(gate, e) if gate.in_force and gate.status == GateStatus.FAILED else ()


def _past_gate(gate: GateState, e: Evaluation) -> Iterator[CommandOffer]:
    """An override to the first phase behind a gate."""
    order = next((phase.order for phase in e.phases if phase.id == gate.after), 0)
    ahead = [phase.id for phase in e.phases if phase.order > order and phase.state == PhaseStatus.AHEAD]
    yield from _override_to(ahead[0], f"Override gate {gate.id}", e) if ahead else ()


def _override_to(phase: str, title: str, e: Evaluation) -> Iterator[CommandOffer]:
    """An override needs a reason, which has to be typed: the command line is shown."""
    if any(known.id == phase for known in e.phases):
        title = f"{title}: show the command"
        yield offer(title, CommandName.SHOW_COMMAND_LINE, e, what="override", phase=phase)


def _repair(finding: Finding, e: Evaluation, context: DocumentContext) -> Iterator[CommandOffer]:
    yield offer("Repair the journal", CommandName.REPAIR, e)


def _bad_lines(finding: Finding, e: Evaluation, context: DocumentContext) -> Iterator[CommandOffer]:
    """Taking lines out of a journal is no matter of a click."""
    title = "Take such lines out: show the command"
    yield offer(title, CommandName.SHOW_COMMAND_LINE, e, what="drop-bad-lines")


OFFERS: dict[str, Callable[[Finding, Evaluation, DocumentContext], Iterator[CommandOffer]]] = {
    "approval-missing": _questions,
    "approval-stale": _stale_approvals,
    "artifact-stale": _redo_producer,
    "decision-unverified": _unproved_decision,
    "definition-changed": _questions,
    "inconsistent-state": _engine_fixes,
    "iteration-limit": _questions,
    "journal-forked": _repair,
    "journal-invalid": _bad_lines,
    "journal-torn": _repair,
    "validation-loop": _validation_loop,
    PERSON_AWAITED: _questions,
    GATE_FAILED: _failed_gate,
}


# ---- code lenses ------------------------------------------------------------------------------


def code_lenses(context: DocumentContext, _: lsp.CodeLensParams) -> list[lsp.CodeLens]:
    """The lenses of a document of a run: its head on the first line, and one above each stage of a plan."""
    evaluation, plan = context.evaluation, context.own_plan()
    if evaluation is None:
        return []
    commands = [(Span(0, 0, 0, 0), command) for command in _head_lenses(evaluation)]
    commands += [(stage.span, _stage_lens(evaluation, stage)) for stage in (plan.stages if plan else ())]
    return [lsp.CodeLens(context.text.range(span), command.as_lsp(600)) for span, command in commands]


def _head_lenses(e: Evaluation) -> Iterator[CommandOffer]:
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


def _stage_lens(e: Evaluation, stage: Stage) -> CommandOffer:
    ready = [task.number or task.id for task in stage.tasks if task.id in e.suggestion.tasks]
    names = ", ".join(plain(name, 40) for name in ready[:_MOST_TASKS])
    more = f" and {len(ready) - _MOST_TASKS} more" if len(ready) > _MOST_TASKS else ""
    work = f"; work on {names}{more}" if ready else ""
    return offer(f"{stage.done} of {stage.total} done{work}", CommandName.SHOW, e)
