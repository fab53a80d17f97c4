"""What a person may have done about a finding that no edit mends: commands, each with its one argument."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from ....orchestration.findings import Finding, Severity
from ....orchestration.formats.json_text import read_json
from ....orchestration.markdown.block_outline import split_lines
from ....orchestration.result.values import Evaluation, GateState, QuestionState
from ..view.annotations import AWAITED, GATE
from ..view.document_context import Scene
from .code_lens import DECIDE

REDO, REPAIR, COMMAND = "phasekeeper.redo", "phasekeeper.repair", "phasekeeper.command"


class Offer(NamedTuple):
    """A command that is offered for a finding: its title, its name and its one argument."""

    title: str
    command: str
    argument: dict[str, str]


def offers(finding: Finding, scene: Scene) -> list[Offer]:
    """The commands that are offered for a finding of a run."""
    evaluation = scene.evaluation
    offering = COMMANDS.get(finding.code)
    return list(offering(finding, evaluation, scene)) if offering and evaluation else []


def _redone(finding: Finding, evaluation: Evaluation, scene: Scene) -> Iterator[Offer]:
    """The engine's own fixes: a phase is done again, or the run rolls back to one."""
    can = scene.workflow is not None and "redo" in scene.workflow.effects
    for fix in finding.fixes if can else ():
        title = f"{fix.title[:1].upper()}{fix.title[1:]}"
        yield Offer(title, REDO, {**_here(evaluation), "phase": fix.command[-1]})


def _made_again(finding: Finding, evaluation: Evaluation, scene: Scene) -> Iterator[Offer]:
    """What is out of date is made again by the phase that makes it, where the run has got that far."""
    workflow = scene.workflow
    if workflow is None or "redo" not in workflow.effects:
        return
    current = workflow.phases.get(evaluation.current_phase or "")
    for phase in evaluation.phases:
        makes = any(produced.path == finding.path for produced in phase.produces)
        if makes and current and phase.order <= current.order:
            yield Offer(f"Have {phase.id} done again", REDO, {**_here(evaluation), "phase": phase.id})


def _asked(finding: Finding, evaluation: Evaluation, scene: Scene) -> Iterator[Offer]:
    """The open questions of the run, each answered in a dialog."""
    for question in evaluation.questions:
        if finding.code == AWAITED and question.id not in finding.message:
            continue
        yield _question(question, evaluation)


def _question(question: QuestionState, evaluation: Evaluation) -> Offer:
    verb = "Answer" if question.kind == "escalation" else "Decide"
    return Offer(f"{verb}: {question.question}", DECIDE, {**_here(evaluation), "question": question.id})


def _approved_again(finding: Finding, evaluation: Evaluation, scene: Scene) -> Iterator[Offer]:
    """What was approved and has changed since is approved as it is now; the dialog shows what it says."""
    yield from _asked(finding, evaluation, scene)
    known = {question.id for question in evaluation.questions}
    questions = scene.workflow.questions.values() if scene.workflow else ()
    for question in questions:
        if question.kind == "approval" and question.about and question.id not in known:
            title = f"Decide again: {question.id}"
            yield Offer(title, DECIDE, {**_here(evaluation), "question": question.id})


def _decided_anew(finding: Finding, evaluation: Evaluation, scene: Scene) -> Iterator[Offer]:
    """What a line of the journal decides without proof is decided by the person at the editor, if at all."""
    entry = _record_at(finding, scene)
    if finding.severity is Severity.HINT or entry is None:
        return
    if entry.get("kind") == "override":
        yield from _override_to(str(entry.get("next")), f"Move the run to {entry.get('next')}", evaluation)
        return
    for question in evaluation.questions:
        if question.id.partition(":")[0] == str(entry.get("question")).partition(":")[0]:
            yield _question(question, evaluation)


def _record_at(finding: Finding, scene: Scene) -> dict[str, object] | None:
    """The record in the line of a finding; None where the text that the editor holds has none there."""
    lines = split_lines(scene.text)
    line = finding.span.line if finding.span else 0
    entry = read_json(lines[line]).data if line < len(lines) else None
    return entry if isinstance(entry, dict) else None


def _overridden(finding: Finding, evaluation: Evaluation, scene: Scene) -> Iterator[Offer]:
    """A shut gate is passed by."""
    gate = next((g for g in evaluation.gates if finding.message.startswith(f"gate {g.id} is ")), None)
    yield from _past(gate, evaluation) if gate else ()


def _let_go(finding: Finding, evaluation: Evaluation, scene: Scene) -> Iterator[Offer]:
    """A validation that fails again and again: a person answers what is asked, or lets the run pass it."""
    yield from _asked(finding, evaluation, scene)
    for gate in evaluation.gates:
        yield from _past(gate, evaluation) if gate.in_force and gate.status == "failed" else ()


def _past(gate: GateState, evaluation: Evaluation) -> Iterator[Offer]:
    """To the first phase behind a gate."""
    order = next((p.order for p in evaluation.phases if p.id == gate.after), 0)
    ahead = [p.id for p in evaluation.phases if p.order > order and p.state == "ahead"]
    yield from _override_to(ahead[0], f"Override gate {gate.id}", evaluation) if ahead else ()


def _override_to(phase: str, deed: str, evaluation: Evaluation) -> Iterator[Offer]:
    """An override needs a reason, which has to be typed: the command is shown."""
    if any(known.id == phase for known in evaluation.phases):
        argument = {**_here(evaluation), "what": "override", "phase": phase}
        yield Offer(f"{deed}: show the command", COMMAND, argument)


def _repaired(finding: Finding, evaluation: Evaluation, scene: Scene) -> Iterator[Offer]:
    yield Offer("Repair the journal", REPAIR, _here(evaluation))


def _bad_lines(finding: Finding, evaluation: Evaluation, scene: Scene) -> Iterator[Offer]:
    """Taking lines out of a journal is no matter of a click."""
    argument = {**_here(evaluation), "what": "drop-bad-lines"}
    yield Offer("Take such lines out: show the command", COMMAND, argument)


def _here(evaluation: Evaluation) -> dict[str, str]:
    return {"root": evaluation.root, "run": evaluation.run}


Offering = Callable[[Finding, Evaluation, Scene], Iterator[Offer]]
COMMANDS: dict[str, Offering] = {
    "approval-missing": _asked,
    "approval-stale": _approved_again,
    "artifact-stale": _made_again,
    "decision-unverified": _decided_anew,
    "definition-changed": _asked,
    "inconsistent-state": _redone,
    "iteration-limit": _asked,
    "journal-forked": _repaired,
    "journal-invalid": _bad_lines,
    "journal-torn": _repaired,
    "validation-loop": _let_go,
    AWAITED: _asked,
    GATE: _overridden,
}
