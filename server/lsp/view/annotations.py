"""What an editor shows of a run at places of its files: findings, failed gates and open questions.

A gate and a question stand at the line that is the reason: the verdict in a report, the value in a state
file. They are made of an evaluation and decide nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from ....orchestration.findings import Evidence, Finding, Severity, Span
from ....orchestration.result.phrases import in_sentence
from ....orchestration.result.values import CriterionState, Evaluation, GateState, QuestionState
from ....orchestration.sanitize import plain, shown
from ....orchestration.states import GateStatus, QuestionKind

GATE_FAILED = "gate-failed"
PERSON_AWAITED = "person-awaited"
# The codes that only editors show, with what they mean; those of the engine are in `findings.CODES`.
CODES = {
    GATE_FAILED: "a gate in force has failed; what it keeps shut may not be done",
    PERSON_AWAITED: "a person is asked: an approval, an escalation, or an answer in words",
}
_TOP = Span(0, 0, 0, 1)


class Annotation(NamedTuple):
    """A finding with the run that it belongs to, "" for the root's own, and further places that show why."""

    finding: Finding
    run: str = ""
    related: tuple[Evidence, ...] = ()


def annotations_of(evaluation: Evaluation) -> tuple[Annotation, ...]:
    """A run's findings where an editor can show them, its failed gates in force, its open questions."""
    findings = (_relocate(finding, evaluation) for finding in evaluation.findings)
    failed = (gate for gate in evaluation.gates if gate.in_force and gate.status == GateStatus.FAILED)
    return (
        *(Annotation(finding, evaluation.run) for finding in findings),
        *(annotation for gate in failed for annotation in _gate(evaluation, gate)),
        *(_question(evaluation, question) for question in evaluation.questions),
    )


def _relocate(finding: Finding, evaluation: Evaluation) -> Finding:
    """A finding of a folder, or of a file that is not there, at the file that stands for the run."""
    is_missing = evaluation.reads.get(finding.path) == "missing"
    if finding.path != evaluation.run and not is_missing:
        return finding
    message = f"{finding.path}: {finding.message}" if is_missing else finding.message
    return replace(finding, path=_main_file(evaluation), span=_TOP, message=message)


def _gate(evaluation: Evaluation, gate: GateState) -> Iterator[Annotation]:
    """One annotation for each place that keeps the gate shut, whatever number of criteria it is against.

    `data` has the gate's id.
    """
    unmet: dict[tuple[str, Span | None], list[CriterionState]] = {}
    for criterion in gate.criteria:
        if criterion.met is False:
            place = _place(evaluation, _deciding(criterion.evidence))
            unmet.setdefault(place, []).append(criterion)
    next_step = in_sentence(evaluation.suggestion.phrase)
    for (path, span), criteria in unmet.items():
        reason = _deciding(criteria[0].evidence)
        value = f" ({plain(reason.expression, 80)} = {shown(reason.value)})" if reason else ""
        texts = "; ".join(criterion.text for criterion in criteria)
        message = f"gate {gate.id} is shut: not met: {texts}{value}; next: {next_step}"
        finding = Finding(GATE_FAILED, path, message, span, Severity.WARNING, data={"gate": gate.id})
        yield Annotation(finding, evaluation.run, _further(criteria[0].evidence))


def _question(evaluation: Evaluation, question: QuestionState) -> Annotation:
    """An open question, with the files that hold the failures that led to it; `data` has its id."""
    evidence = evaluation.suggestion.evidence
    failures = (
        Evidence(f"{entry.get('phase', '')} {entry.get('outcome', '')}".strip(), entry.get("message"), path)
        for entry in question.history
        if (path := entry.get("path"))
    )
    options = ", ".join(option.id for option in question.options)
    message = f"{question.kind} {question.id}: {question.question}" + (f" ({options})" if options else "")
    severity = Severity.WARNING if question.kind == QuestionKind.ESCALATION else Severity.INFO
    path, span = _place(evaluation, _deciding(evidence))
    finding = Finding(PERSON_AWAITED, path, message, span, severity, data={"question": question.id})
    return Annotation(finding, evaluation.run, (*failures, *_further(evidence)))


def _deciding(evidence: tuple[Evidence, ...]) -> Evidence | None:
    """What decided: the first evidence with a place; of several reports on the same, the newest."""
    located = [entry for entry in evidence if entry.path]
    return next((entry for entry in reversed(located) if entry.expression == located[0].expression), None)


def _further(evidence: tuple[Evidence, ...]) -> tuple[Evidence, ...]:
    """The evidence with a place that is not the deciding one."""
    deciding = _deciding(evidence)
    return tuple(entry for entry in evidence if entry.path and entry is not deciding)


def _place(evaluation: Evaluation, evidence: Evidence | None) -> tuple[str, Span | None]:
    """Where an annotation stands: at its evidence, else on top of the file that stands for the run."""
    if evidence is not None and evidence.path:
        return evidence.path, evidence.span
    return _main_file(evaluation), _TOP


def _main_file(evaluation: Evaluation) -> str:
    """The file that stands for the run: its plan, else the first of its own documents that was read.

    A document is no glob, no file of the journal's folder, and nothing that is missing.
    """
    if evaluation.plan is not None:
        return evaluation.plan.path
    folder = f"{evaluation.run}/" if evaluation.run else ""
    documents = (
        path
        for path, state in evaluation.reads.items()
        if path.startswith(folder)
        and state not in ("missing", "unreadable")
        and "*" not in path
        and "/.phasekeeper/" not in f"/{path}"
    )
    return next(documents, evaluation.run)
