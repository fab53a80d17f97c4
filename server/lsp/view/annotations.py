"""Annotations: findings, failed gates and open questions of a run at places of its files, for editors.

A gate and a question stand at the line that is the reason: the verdict in a report, the value in a state
file. They are made of an evaluation and decide nothing. To the editor they are diagnostics; that word is this
package's, the engine has findings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from lsprotocol import types as lsp

from ....orchestration.findings import Evidence, Finding, Severity, Span
from ....orchestration.result.values import CriterionState, Evaluation, GateState, QuestionState
from ....orchestration.sanitize import plain, value_text
from ....orchestration.states import GateStatus, QuestionKind
from .positions import EncodedText
from .titles import gate_title, next_step

# The codes that only editors show; those of the engine are in `findings.CODES`.
GATE_FAILED = "gate-failed"
"""A gate in force has failed; what it keeps shut may not be done."""
PERSON_AWAITED = "person-awaited"
"""A person is asked: an approval, an escalation, or an answer in words."""
CODES = (GATE_FAILED, PERSON_AWAITED)
_TOP = Span(0, 0, 0, 1)
SOURCE = "phasekeeper"
MOST = 500
"""Of one file: nobody reads more, and an editor slows down."""
MOST_RELATED = 10
_LENGTH = 600

_Place = tuple[str, Span | None]
Locate = Callable[[str], "tuple[str, EncodedText] | None"]
"""The URI of a path of the root, and its text; None where no file is there."""

_SEVERITIES = {
    Severity.ERROR: lsp.DiagnosticSeverity.Error,
    Severity.WARNING: lsp.DiagnosticSeverity.Warning,
    Severity.INFO: lsp.DiagnosticSeverity.Information,
    Severity.HINT: lsp.DiagnosticSeverity.Hint,
}
# What counts for nothing is shown faded, what is out of date struck through, where an editor does that.
_COUNTS_FOR_NOTHING = frozenset({"report-out-of-turn", "report-unknown", "report-unclear", "journal-torn"})
_OUT_OF_DATE = frozenset({"artifact-stale", "approval-stale"})


class Annotation(NamedTuple):
    """A finding with the run that it belongs to, "" for the root's own, and further places that show why."""

    finding: Finding
    run: str = ""
    related: tuple[Evidence, ...] = ()


def annotations_of(evaluation: Evaluation) -> tuple[Annotation, ...]:
    """A run's findings where an editor can show them, its failed gates in force, its open questions."""
    findings = (_relocate(finding, evaluation) for finding in evaluation.findings)
    return (
        *(Annotation(finding, evaluation.run) for finding in findings),
        *(annotation for gate in failed_gates(evaluation) for annotation in _gate(evaluation, gate)),
        *(_question(evaluation, question) for question in evaluation.questions),
    )


def failed_gates(evaluation: Evaluation) -> list[GateState]:
    """The gates in force that have failed."""
    return [gate for gate in evaluation.gates if gate.in_force and gate.status == GateStatus.FAILED]


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
    unmet: dict[_Place, list[CriterionState]] = {}
    for criterion in gate.criteria:
        if criterion.met is False:
            place, _, _ = _grounds(evaluation, criterion.evidence)
            unmet.setdefault(place, []).append(criterion)
    then = next_step(evaluation)
    for (path, span), criteria in unmet.items():
        _, reason, further = _grounds(evaluation, criteria[0].evidence)
        value = f" ({plain(reason.expression, 80)} = {value_text(reason.value)})" if reason else ""
        texts = "; ".join(criterion.text for criterion in criteria)
        message = f"{gate_title(gate)} is shut: not met: {texts}{value}; next: {then}"
        finding = Finding(GATE_FAILED, path, message, span, Severity.WARNING, data={"gate": gate.id})
        yield Annotation(finding, evaluation.run, further)


def _question(evaluation: Evaluation, question: QuestionState) -> Annotation:
    """An open question, with the files that hold the failures that led to it; `data` has its id."""
    failures = (
        Evidence(f"{entry.get('phase', '')} {entry.get('outcome', '')}".strip(), entry.get("message"), path)
        for entry in question.history
        if (path := entry.get("path"))
    )
    options = ", ".join(option.id for option in question.options)
    message = f"{question.kind}: {question.question}" + (f" ({options})" if options else "")
    severity = Severity.WARNING if question.kind == QuestionKind.ESCALATION else Severity.INFO
    (path, span), _, further = _grounds(evaluation, evaluation.suggestion.evidence)
    finding = Finding(PERSON_AWAITED, path, message, span, severity, data={"question": question.id})
    return Annotation(finding, evaluation.run, (*failures, *further))


def _grounds(
    evaluation: Evaluation, evidence: tuple[Evidence, ...]
) -> tuple[_Place, Evidence | None, tuple[Evidence, ...]]:
    """(where an annotation stands, the evidence that decided, the further evidence with a place).

    The first with a path decided: of several reports that is the newest. The annotation stands at the first
    in a file that is there, without any on top of the file that stands for the run.
    """
    named = [entry for entry in evidence if entry.path]
    located = [entry for entry in named if evaluation.reads.get(entry.path or "") != "missing"]
    first = next(iter(located), None)
    place = (first.path or "", first.span) if first else (_main_file(evaluation), _TOP)
    return place, next(iter(named), None), tuple(entry for entry in located if entry is not first)


def _main_file(evaluation: Evaluation) -> str:
    """The file that stands for the run: its plan, else the first of its own documents that was read.

    A document is no glob, no file of the journal's folder, and nothing that is missing.
    """
    if evaluation.plan is not None and evaluation.plan.path != evaluation.run:
        return evaluation.plan.path
    folder = f"{evaluation.run}/" if evaluation.run else ""
    documents = (
        path
        for path, state in evaluation.reads.items()
        if (path.startswith(folder) or evaluation.run.startswith(f"{path}#"))
        and state not in ("missing", "unreadable")
        and "*" not in path
        and "/.phasekeeper/" not in f"/{path}"
    )
    return next(documents, evaluation.run)


# ---- diagnostics ------------------------------------------------------------------------------


def diagnostics_of(
    annotations: Sequence[Annotation], text: EncodedText, locate: Locate
) -> list[lsp.Diagnostic]:
    """The diagnostics of one file, in order of their places, at most `MOST`."""
    diagnostics = (_diagnostic(annotation, text, locate) for annotation in annotations[:MOST])
    return sorted(diagnostics, key=lambda d: (d.range.start, d.severity or 0, str(d.code)))


def _diagnostic(annotation: Annotation, text: EncodedText, locate: Locate) -> lsp.Diagnostic:
    finding = annotation.finding
    message = plain(finding.message, _LENGTH)
    tags = {
        lsp.DiagnosticTag.Unnecessary: finding.overridden or finding.code in _COUNTS_FOR_NOTHING,
        lsp.DiagnosticTag.Deprecated: finding.code in _OUT_OF_DATE,
    }
    related: list[lsp.DiagnosticRelatedInformation] = []
    for each in annotation.related[:MOST_RELATED]:
        located = locate(each.path or "")
        if located is None:
            # An editor opens what it is led to, and offers to create what is not there.
            continue
        uri, other = located
        value = "" if each.value is None else f" = {value_text(each.value)}"
        location = lsp.Location(uri, other.range(each.span))
        related.append(lsp.DiagnosticRelatedInformation(location, f"{plain(each.expression)}{value}"))
    return lsp.Diagnostic(
        range=text.range(finding.span),
        message=f"{message} (overridden by a person)" if finding.overridden else message,
        severity=lsp.DiagnosticSeverity.Hint if finding.overridden else _SEVERITIES[finding.severity],
        code=finding.code,
        source=SOURCE,
        tags=[tag for tag, applies in tags.items() if applies] or None,
        related_information=related or None,
        data={"run": annotation.run} if annotation.run else None,
    )
