"""The reports that a check wrote, read within bounds: their digests, numbers, and places in the source."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from ...orchestration.evidence.attestation import LocatedFinding, ReportDigest, Totals
from ...orchestration.evidence.report_readers import read_report
from ...orchestration.evidence.source_files import findings_at_sources
from ...orchestration.evidence.tool_report import (
    MOST_REPORT_BYTES,
    CaseCounts,
    CoverageCounts,
    IssueCounts,
    ToolReport,
)
from ...orchestration.findings import SourceProblem
from ..disk import safe_open
from ..disk.disk_files import StatKey, stat_key
from ..disk.safe_open import RefusedError, close

MOST_TESTS = 2_000
"""Names of tests that passed, and that failed, which a result keeps."""
MOST_FINDINGS = 200


class CheckReports(NamedTuple):
    """What the reports of one run say together; `problem` why they say nothing that counts, "" if they do."""

    digests: tuple[ReportDigest, ...] = ()
    totals: Totals = Totals()
    passed: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    findings: tuple[LocatedFinding, ...] = ()
    problem: str = ""


def report_states(root: Path, reports: Mapping[str, str]) -> dict[str, StatKey]:
    """kind → the state of a report's file as it is now: what a run does not change it did not write."""
    return {kind: stat_key(root / path) for kind, path in reports.items()}


def read_reports(root: Path, reports: Mapping[str, str], before: Mapping[str, StatKey]) -> CheckReports:
    """The reports of a run that began when their files were as `before`. Never raises on what they hold."""
    whole = CheckReports()
    for kind, path in reports.items():
        found, why = _read(root, kind, path, before[kind])
        if found is None:
            return whole._replace(problem=why)
        whole = _together(whole, *found, root)
        if whole.problem:
            return whole
    return whole


def _read(
    root: Path, kind: str, path: str, before: StatKey
) -> tuple[tuple[ReportDigest, ToolReport] | None, str]:
    """(the report with its digest, why there is none)."""
    try:
        descriptor, status = safe_open.open_file(os.path.realpath(root), path)
    except FileNotFoundError:
        return None, f"it wrote no {kind} report at {path}"
    except (RefusedError, OSError) as error:
        return None, f"its {kind} report {path} is not read: {_reason(error)}"
    try:
        chunks, left = list[bytes](), MOST_REPORT_BYTES + 1
        while left > 0 and (chunk := os.read(descriptor, min(left, 1 << 20))):
            chunks.append(chunk)
            left -= len(chunk)
    except OSError as error:
        return None, f"its {kind} report {path} cannot be read: {_reason(error)}"
    finally:
        close(descriptor)
    if left <= 0:
        size, most = (number >> 20 for number in (status.st_size, MOST_REPORT_BYTES))
        return None, f"its {kind} report {path} is not read: it is {size} MB, at most {most} MB are read"
    if stat_key(root / path) == before:
        return None, f"its {kind} report {path} is older than this run, which did not write it"
    data = b"".join(chunks)
    report = read_report(kind, data)
    if not report.readable:
        said = report.problems[-1] if report.problems else None
        return None, f"its {kind} report {path} says nothing: {said.message if said else 'it is empty'}"
    return (ReportDigest(kind, path, sha256(data).hexdigest()), report), ""


def _reason(error: Exception) -> str:
    return (error.strerror or "the system refused").lower() if isinstance(error, OSError) else str(error)


def _together(whole: CheckReports, digest: ReportDigest, report: ToolReport, root: Path) -> CheckReports:
    totals, problem, counts = whole.totals, whole.problem, report.counts
    if isinstance(counts, CaseCounts):
        totals = replace(
            totals, total=counts.total, passed=counts.passed, failed=counts.failed, skipped=counts.skipped
        )
        if counts.total == counts.skipped:
            problem = f"no test ran: all {counts.total} were skipped" if counts.total else "no test ran"
    elif isinstance(counts, CoverageCounts):
        totals = replace(totals, lines=counts.lines.ratio, branches=counts.branches.ratio)
    elif isinstance(counts, IssueCounts):
        totals = replace(totals, error=counts.error, warning=counts.warning, note=counts.note)
    room = MOST_FINDINGS - len(whole.findings)
    located = [*_located_findings(report.issues[:room], digest.path, root)]
    return CheckReports(
        (*whole.digests, digest),
        totals,
        whole.passed + report.passed[:MOST_TESTS],
        whole.failed + report.failed[:MOST_TESTS],
        (*whole.findings, *located),
        problem,
    )


def _located_findings(issues: Sequence[SourceProblem], report: str, root: Path) -> Iterator[LocatedFinding]:
    """The issues, each at the first of its places that is a file of the root, else at the report."""

    def first_files(options: Sequence[Sequence[str]]) -> list[str]:
        return [next((path for path in paths if (root / path).is_file()), "") for paths in options]

    for found in findings_at_sources(issues, report, root.as_posix(), first_files):
        line = found.span.line + 1 if found.span else 0
        yield LocatedFinding(found.code, found.severity.value, found.message, found.path, line)
