"""Paths of a project's runs as they are seen from the root above it: `src/a.md` is `app/src/a.md` there.

`folder` is that of the project, relative to the root; "" is the root itself, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..orchestration.evaluation.check_summaries import with_changes
from ..orchestration.findings import Evidence, Finding
from ..orchestration.result.values import CheckSummary, Evaluation, Requirement


def rebase_path(path: str, folder: str) -> str:
    """A path from the root; that of the project itself is ""."""
    return f"{folder}/{path}".strip("/") if folder else path


def rebase_finding(finding: Finding, folder: str) -> Finding:
    """The finding with its path from the root."""
    return replace(finding, path=rebase_path(finding.path, folder)) if folder else finding


def rebase_evidence(evidence: Sequence[Evidence], folder: str) -> tuple[Evidence, ...]:
    """The evidence with its paths from the root."""
    return tuple(
        replace(each, path=rebase_path(each.path, folder)) if each.path else each for each in evidence
    )


def rebase_checks(checks: Iterable[CheckSummary], folder: str) -> tuple[CheckSummary, ...]:
    """Checks with the paths that they name from the root."""
    moved: list[CheckSummary] = []
    for check in checks:
        changed = [replace(each, path=rebase_path(each.path, folder)) for each in check.changed]
        place = rebase_path(check.path, folder) if check.path else check.path
        moved.append(replace(with_changes(check, changed), path=place))
    return tuple(moved)


def _rebase_requirements(needed: Sequence[Requirement], folder: str) -> tuple[Requirement, ...]:
    return tuple(replace(n, paths=tuple(rebase_path(path, folder) for path in n.paths)) for n in needed)


def rebase_evaluation(evaluation: Evaluation, folder: str) -> Evaluation:
    """The evaluation as people see it: its run, and every path in suggestion, gates and findings."""
    if not folder:
        return evaluation
    suggestion = evaluation.suggestion
    gates = []
    for gate in evaluation.gates:
        criteria = (replace(each, evidence=rebase_evidence(each.evidence, folder)) for each in gate.criteria)
        checks = rebase_checks(gate.checks, folder)
        gates.append(replace(gate, criteria=tuple(criteria), checks=checks))
    return replace(
        evaluation,
        run=rebase_path(evaluation.run, folder),
        suggestion=replace(
            suggestion,
            produce=tuple(replace(each, path=rebase_path(each.path, folder)) for each in suggestion.produce),
            reports=tuple(
                replace(each, brings=_rebase_requirements(each.brings, folder)) for each in suggestion.reports
            ),
            evidence=rebase_evidence(suggestion.evidence, folder),
        ),
        gates=tuple(gates),
        findings=tuple(rebase_finding(found, folder) for found in evaluation.findings),
    )
