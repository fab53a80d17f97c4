"""Findings as an editor's diagnostics. The word diagnostic is this package's; the engine has findings."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lsprotocol import types as lsp

from ....orchestration.findings import Evidence, Severity
from ....orchestration.sanitize import plain, shown
from .annotations import Annotation
from .positions import EncodedText

SOURCE = "phasekeeper"
MOST = 500
"""Of one file: nobody reads more, and an editor slows down."""
MOST_RELATED = 10
_LENGTH = 600

Locate = Callable[[str], "tuple[str, EncodedText]"]
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
    return lsp.Diagnostic(
        range=text.range(finding.span),
        message=f"{message} (overridden by a person)" if finding.overridden else message,
        severity=lsp.DiagnosticSeverity.Hint if finding.overridden else _SEVERITIES[finding.severity],
        code=finding.code,
        source=SOURCE,
        tags=[tag for tag, applies in tags.items() if applies] or None,
        related_information=[_related(each, locate) for each in annotation.related[:MOST_RELATED]] or None,
        data={"run": annotation.run} if annotation.run else None,
    )


def _related(evidence: Evidence, locate: Locate) -> lsp.DiagnosticRelatedInformation:
    uri, text = locate(evidence.path or "")
    value = "" if evidence.value is None else f" = {shown(evidence.value)}"
    return lsp.DiagnosticRelatedInformation(
        lsp.Location(uri, text.range(evidence.span)), f"{plain(evidence.expression)}{value}"
    )
