"""What an editor shows beside the engine's findings: a gate that is shut and a person who is awaited.

Both are said at the line that is the reason: the verdict in a report, the value in a state file. They are
made of an evaluation and decide nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ....orchestration.findings import Evidence, Finding, Severity, Span
from ....orchestration.result.values import CriterionState, Evaluation, GateState, QuestionState
from ....orchestration.sanitize import plain, shown
from ...terminal.run_views import next_words

GATE = "gate-failed"
AWAITED = "person-awaited"
# The codes that only editors show, with what they mean; those of the engine are in `findings.CODES`.
CODES = {
    GATE: "a gate in force has failed; what it keeps shut may not be done",
    AWAITED: "a person is asked: an approval, an escalation, or an answer in words",
}
_TOP = Span(0, 0, 0, 1)


class Mark(NamedTuple):
    """A finding with the run that it belongs to, "" for the root's own, and further places that show why."""

    finding: Finding
    run: str = ""
    related: tuple[Evidence, ...] = ()


def marks_of(evaluation: Evaluation) -> tuple[Mark, ...]:
    """The marks of a run: its failed gates that are in force, then its open questions."""
    shut = (gate for gate in evaluation.gates if gate.in_force and gate.status == "failed")
    gates = [mark for gate in shut for mark in _gate(evaluation, gate)]
    return (*gates, *(_awaited(evaluation, question) for question in evaluation.questions))


def _gate(evaluation: Evaluation, gate: GateState) -> Iterator[Mark]:
    """One mark for each place that keeps the gate shut, whatever number of criteria it is against."""
    unmet: dict[tuple[str, Span | None], list[CriterionState]] = {}
    for criterion in gate.criteria:
        if criterion.met is False:
            reason = _reason(criterion.evidence)
            unmet.setdefault(_place(evaluation, reason), []).append(criterion)
    for (path, span), criteria in unmet.items():
        said = f"gate {gate.id} is shut: {_against(criteria)}; next: {next_words(evaluation.suggestion)}"
        found = Finding(GATE, path, said, span, Severity.WARNING)
        reason = _reason(criteria[0].evidence)
        more = (entry for entry in _located(criteria[0].evidence) if entry is not reason)
        yield Mark(found, evaluation.run, tuple(more))


def _against(criteria: Sequence[CriterionState]) -> str:
    """What is not met, and the value that says so."""
    reason = _reason(criteria[0].evidence)
    seen = f" ({plain(reason.expression, 80)} = {shown(reason.value)})" if reason else ""
    return "not met: " + "; ".join(criterion.text for criterion in criteria) + seen


def _awaited(evaluation: Evaluation, question: QuestionState) -> Mark:
    reason = _reason(evaluation.suggestion.evidence)
    more = tuple(entry for entry in _located(evaluation.suggestion.evidence) if entry is not reason)
    options = ", ".join(option.id for option in question.options)
    said = f"{question.kind} {question.id}: {question.question}" + (f" ({options})" if options else "")
    severity = Severity.WARNING if question.kind == "escalation" else Severity.INFO
    path, span = _place(evaluation, reason)
    return Mark(Finding(AWAITED, path, said, span, severity), evaluation.run, (*_history(question), *more))


def _history(question: QuestionState) -> tuple[Evidence, ...]:
    """The failures that led to a question, each with the file that holds it."""
    entries = [entry for entry in question.history if entry.get("path")]
    return tuple(
        Evidence(
            f"{entry.get('phase', '')} {entry.get('outcome', '')}".strip(),
            entry.get("message"),
            entry["path"],
        )
        for entry in entries
    )


def _reason(evidence: tuple[Evidence, ...]) -> Evidence | None:
    """What decided: the first evidence with a place; of several reports on the same, the newest."""
    located = _located(evidence)
    return next((entry for entry in reversed(located) if entry.expression == located[0].expression), None)


def _located(evidence: tuple[Evidence, ...]) -> tuple[Evidence, ...]:
    return tuple(entry for entry in evidence if entry.path)


def _place(evaluation: Evaluation, evidence: Evidence | None) -> tuple[str, Span | None]:
    """Where a mark stands: at its evidence, else on top of the file that comes nearest to the run."""
    if evidence is not None and evidence.path:
        return evidence.path, evidence.span
    return main_file(evaluation), _TOP


def main_file(evaluation: Evaluation) -> str:
    """The file that stands for the run: its plan, else the first of its own that was read."""
    if evaluation.plan is not None:
        return evaluation.plan.path
    inside = f"{evaluation.run}/" if evaluation.run else ""
    own = (
        path for path, state in evaluation.reads.items() if path.startswith(inside) and _is_file(path, state)
    )
    return next(own, evaluation.run)


def _is_file(path: str, state: str) -> bool:
    """Whether a path of the read-set is a document that was read: no glob, no journal, nothing missing."""
    return state not in ("missing", "unreadable") and "*" not in path and "/.phasekeeper/" not in f"/{path}"
