"""Findings as an editor's diagnostics. The word diagnostic is this package's; the engine has findings."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lsprotocol import types as lsp

from ....orchestration.findings import Evidence, Severity
from ....orchestration.sanitize import plain, shown
from .annotations import Mark
from .positions import Text

SOURCE = "phasekeeper"
MOST = 500
"""Of one file: nobody reads more, and an editor slows down."""
MOST_RELATED = 10
_LENGTH = 600

Locate = Callable[[str], "tuple[str, Text]"]
"""The URI of a path of the root, and its text."""

_SEVERITIES = {
    Severity.ERROR: lsp.DiagnosticSeverity.Error,
    Severity.WARNING: lsp.DiagnosticSeverity.Warning,
    Severity.INFO: lsp.DiagnosticSeverity.Information,
    Severity.HINT: lsp.DiagnosticSeverity.Hint,
}
# What counts for nothing is shown faded, what is out of date struck through, where an editor does that.
_COUNTS_FOR_NOTHING = frozenset({"report-out-of-turn", "report-unknown", "report-unclear", "journal-torn"})
_OUT_OF_DATE = frozenset({"artifact-stale", "approval-stale"})


def diagnostics_of(marks: Sequence[Mark], text: Text, locate: Locate) -> list[lsp.Diagnostic]:
    """The diagnostics of one file, in order of their places, at most `MOST`."""
    found = [_diagnostic(mark, text, locate) for mark in marks[:MOST]]
    return sorted(
        found, key=lambda d: (d.range.start.line, d.range.start.character, d.severity or 0, str(d.code))
    )


def _diagnostic(mark: Mark, text: Text, locate: Locate) -> lsp.Diagnostic:
    finding = mark.finding
    said = plain(finding.message, _LENGTH)
    return lsp.Diagnostic(
        range=text.range(finding.span),
        message=f"{said} (overridden by a person)" if finding.overridden else said,
        severity=lsp.DiagnosticSeverity.Hint if finding.overridden else _SEVERITIES[finding.severity],
        code=finding.code,
        source=SOURCE,
        tags=_tags(mark) or None,
        related_information=[_related(evidence, locate) for evidence in mark.related[:MOST_RELATED]] or None,
        data={"run": mark.run} if mark.run else None,
    )


def _tags(mark: Mark) -> list[lsp.DiagnosticTag]:
    finding = mark.finding
    tags = []
    if finding.overridden or finding.code in _COUNTS_FOR_NOTHING:
        tags.append(lsp.DiagnosticTag.Unnecessary)
    if finding.code in _OUT_OF_DATE:
        tags.append(lsp.DiagnosticTag.Deprecated)
    return tags


def _related(evidence: Evidence, locate: Locate) -> lsp.DiagnosticRelatedInformation:
    uri, text = locate(evidence.path or "")
    value = "" if evidence.value is None else f" = {shown(evidence.value)}"
    return lsp.DiagnosticRelatedInformation(
        lsp.Location(uri, text.range(evidence.span)), f"{plain(evidence.expression)}{value}"
    )
