"""Commands that are offered to a person: by code lenses, and by code actions where no edit fixes a finding.

Each has one argument: the run, and what the command is about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum

from lsprotocol import types as lsp

from ....orchestration.definition.names import PROPOSED
from ....orchestration.findings import Finding, Severity, Span
from ....orchestration.formats.json_text import read_json
from ....orchestration.journal.lines import JOURNAL
from ....orchestration.markdown.block_outline import split_lines
from ....orchestration.result.values import Evaluation, QuestionState
from ....orchestration.sanitize import LIMIT, plain
from ....orchestration.states import PhaseStatus, QuestionKind, RunStatus
from ....orchestration.vfs.files import name_in
from ..view.annotations import GATE_FAILED, PERSON_AWAITED, failed_gates
from ..view.documents import DocumentContext
from ..view.titles import gate_title, next_step, phase_title, phase_with_id, status_words

OPTIONS = lsp.CodeLensOptions()
_LENS, _REASON = 600, 120
"""Characters of a lens, and of a reason in it."""
_MOST_TASKS = 6

_Commands = Iterator[lsp.Command]


class CommandName(StrEnum):
    """All commands of `workspace/executeCommand`; `requests/commands.py` has a function for each."""

    SHOW = "phasekeeper.show"
    DECIDE = "phasekeeper.decide"
    REDO = "phasekeeper.redo"
    REPAIR = "phasekeeper.repair"
    OVERRIDE = "phasekeeper.override"
    SHOW_COMMAND_LINE = "phasekeeper.command"
    RUN_CHECKS = "phasekeeper.runChecks"


def offer(
    title: str, command: CommandName, e: Evaluation, *, limit: int = LIMIT, **about: str
) -> lsp.Command:
    """A command about a run, with at most `limit` characters of the title; `about` are further members of its
    argument."""
    return lsp.Command(plain(title, limit), command, arguments=[{"root": e.root, "run": e.run, **about}])


def offers(finding: Finding, context: DocumentContext) -> list[lsp.Command]:
    """The commands that are offered for a finding of a run."""
    e, sources = context.evaluation, OFFERS.get(finding.code, ())
    return [command for source in sources for command in source(finding, e, context)] if e else []


def _engine_fixes(finding: Finding, e: Evaluation, context: DocumentContext) -> _Commands:
    """The engine's own fixes: a phase is done again, or the run rolls back to one."""
    for fix in finding.fixes if context.workflow and "redo" in context.workflow.effects else ():
        phase = fix.command[-1]
        title = fix.title.replace(phase, f"“{phase_title(e, phase)}”", 1)
        yield offer(f"{title[:1].upper()}{title[1:]}", CommandName.REDO, e, phase=phase)


def _redo_producer(finding: Finding, e: Evaluation, context: DocumentContext) -> _Commands:
    """Have what is out of date made again by its phase, where the run has got that far."""
    workflow = context.workflow
    current = workflow.phases.get(e.current_phase or "") if workflow and "redo" in workflow.effects else None
    for phase in e.phases if current else ():
        makes_it = any(produced.path == finding.path for produced in phase.produces)
        if makes_it and current and phase.order <= current.order:
            yield offer(f"Have “{phase_title(e, phase.id)}” done again", CommandName.REDO, e, phase=phase.id)


def _questions(finding: Finding, e: Evaluation, context: DocumentContext) -> _Commands:
    """The question that the finding is, else all open ones; each is answered in a dialog."""
    for question in e.questions:
        if finding.data.get("question", question.id) == question.id:
            yield _question(question, e)


def _question(question: QuestionState, e: Evaluation) -> lsp.Command:
    verb = "Answer" if question.kind == QuestionKind.ESCALATION else "Decide"
    return offer(f"{verb}: {question.question}", CommandName.DECIDE, e, question=question.id)


def _stale_approvals(finding: Finding, e: Evaluation, context: DocumentContext) -> _Commands:
    """Have approved as it is now what has changed since its approval; the dialog shows what it says."""
    is_open = {question.id for question in e.questions}
    for question in context.workflow.questions.values() if context.workflow else ():
        is_asked = question.kind == QuestionKind.APPROVAL and question.offered is None
        if is_asked and question.about and question.id not in is_open:
            yield offer(f"Decide again: {question.id}", CommandName.DECIDE, e, question=question.id)


def _unproved_decision(finding: Finding, e: Evaluation, context: DocumentContext) -> _Commands:
    """Have the person at the editor decide, if at all, what a line of the journal, or a file, decides."""
    if name_in(finding.path) != name_in(JOURNAL):
        signing = (q for q in e.questions if any(option.id == PROPOSED for option in q.options))
        yield from (_question(question, e) for question in signing)
        return
    lines, line = split_lines(context.source), finding.span.line if finding.span else 0
    record = read_json(lines[line]).data if line < len(lines) else None
    if finding.severity is Severity.HINT or not isinstance(record, dict):
        return
    if record.get("mac"):
        # It may have been signed by an earlier version, or before the folder was moved.
        yield from _repair(finding, e, context)
    if record.get("kind") == "override":
        phase = str(record.get("next"))
        yield from _override_to(phase, f"Move the run to “{phase_title(e, phase)}”", e, context)
        return
    for question in e.questions:
        if question.id.partition(":")[0] == str(record.get("question")).partition(":")[0]:
            yield _question(question, e)


def _failed_gates(finding: Finding, e: Evaluation, context: DocumentContext) -> _Commands:
    """An override to the first phase behind the gate that the finding is, else behind each failed one."""
    for gate in failed_gates(e):
        order = next((phase.order for phase in e.phases if phase.id == gate.after), 0)
        ahead = [phase.id for phase in e.phases if phase.order > order and phase.state == PhaseStatus.AHEAD]
        if ahead and finding.data.get("gate", gate.id) == gate.id:
            yield from _override_to(ahead[0], f"Override {gate_title(gate)}", e, context)


def _override_to(phase: str, title: str, e: Evaluation, context: DocumentContext) -> _Commands:
    """An override needs a reason, which has to be typed: in a dialog of the client, else the command line is
    shown."""
    if not any(known.id == phase for known in e.phases):
        return
    if context.may_decide:
        yield offer(f"{title}…", CommandName.OVERRIDE, e, to=phase)
    else:
        title = f"{title}: show the command"
        yield offer(title, CommandName.SHOW_COMMAND_LINE, e, what="override", phase=phase)


def _repair(finding: Finding, e: Evaluation, context: DocumentContext) -> _Commands:
    yield offer("Repair the journal", CommandName.REPAIR, e)


def _bad_lines(finding: Finding, e: Evaluation, context: DocumentContext) -> _Commands:
    """Taking lines out of a journal is no matter of a click."""
    title = "Take such lines out: show the command"
    yield offer(title, CommandName.SHOW_COMMAND_LINE, e, what="drop-bad-lines")


def _violation(finding: Finding, e: Evaluation, context: DocumentContext) -> _Commands:
    """The way out that what was written past a gate has as another finding; else the question that it is."""
    instead = finding.data.get("instead_of", "")
    for source in OFFERS.get(instead, () if instead else (_questions,)):
        yield from source(finding, e, context)


OFFERS: dict[str, tuple[Callable[[Finding, Evaluation, DocumentContext], _Commands], ...]] = {
    "approval-missing": (_questions,),
    "approval-stale": (_questions, _stale_approvals),
    "artifact-stale": (_redo_producer,),
    "decision-unverified": (_unproved_decision,),
    "definition-changed": (_questions,),
    "gate-violation": (_violation,),
    "inconsistent-state": (_engine_fixes,),
    "iteration-limit": (_questions,),
    "journal-forked": (_repair,),
    "journal-invalid": (_bad_lines,),
    "journal-torn": (_repair,),
    "state-loosened": (_questions,),
    "validation-loop": (_questions, _failed_gates),
    PERSON_AWAITED: (_questions,),
    GATE_FAILED: (_failed_gates,),
}


# ---- code lenses ------------------------------------------------------------------------------


def _check_runs(e: Evaluation) -> _Commands:
    """Having the checks of each gate in force run, and how they stand."""
    for gate in e.gates:
        declared = [check for check in gate.checks if check.span] if gate.in_force else []
        if declared:
            stand = "; ".join(plain(check.phrase, _REASON) for check in declared)
            what = "Run check" if len(declared) == 1 else "Run checks"
            yield offer(f"{what}: {stand}", CommandName.RUN_CHECKS, e, limit=_LENS, gate=gate.id)


def _standing(context: DocumentContext, e: Evaluation, progress: str) -> Iterator[str]:
    """Where a run stands, and what is next; of one that is over how it ended."""
    if RunStatus(e.status).is_over:
        plainly = e.status_reason.startswith("the run is ")
        reason = "" if plainly or not e.status_reason else f", {plain(e.status_reason, _REASON)}"
        yield f"{status_words(e.status)}{reason}{progress}"
        return
    phase = phase_with_id(e, e.current_phase) if e.current_phase else "unknown phase"
    yield f"{plain(phase, 60)}: {status_words(e.status)}{progress}"
    known = context.workflow.actions if context.workflow else {}
    step = next_step(e, {name: action.title for name, action in known.items()})
    yield f"next: {step} ({plain(e.suggestion.reason, _REASON)})"


def code_lenses(context: DocumentContext, _: lsp.CodeLensParams) -> list[lsp.CodeLens]:
    """The lenses of a document of a run: of the whole run on the first line, and one above each stage."""
    e, plan = context.evaluation, context.own_plan()
    if e is None:
        return []
    progress = f", {e.progress_phrase}" if e.progress else ""
    titles = [*_standing(context, e, progress)]
    for gate in failed_gates(e):
        unmet = "; ".join(plain(each.text, 80) for each in gate.criteria if each.met is False)
        titles.append(f"{plain(gate_title(gate), 90)} is shut: not met: {unmet}")
    top = context.text.range(Span(0, 0, 0, 0))
    lenses = [lsp.CodeLens(top, offer(title, CommandName.SHOW, e, limit=_LENS)) for title in titles]
    lenses += [lsp.CodeLens(top, command) for command in _check_runs(e)]
    for question in e.questions:
        title = f"{question.kind}: {plain(question.question, _REASON)}"
        command = offer(title, CommandName.DECIDE, e, limit=_LENS, question=question.id)
        lenses.append(lsp.CodeLens(top, command))
    for stage in plan.stages if plan else ():
        ready = [task.number or task.id for task in stage.tasks if task.id in e.suggestion.tasks]
        names = ", ".join(plain(name, 40) for name in ready[:_MOST_TASKS])
        more = f" and {len(ready) - _MOST_TASKS} more" if len(ready) > _MOST_TASKS else ""
        work = f"; work on {names}{more}" if ready else ""
        command = offer(f"{stage.done} of {stage.total} done{work}", CommandName.SHOW, e, limit=_LENS)
        lenses.append(lsp.CodeLens(context.text.range(stage.span), command))
    return lenses
