"""Reads the files of one run, each once, into the snapshot that `evaluate` looks at.

`read_run` never raises on what it finds; what is wrong with a file is a finding of the snapshot.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..definition.model import Workflow
from ..definition.root_config import Config
from ..findings import Problem, Span
from ..journal.journal import Claim, Journal, Record, Verify, read_journal
from ..journal.lines import JOURNAL
from ..journal.report_files import read_report
from ..plans.model import Plan
from ..states import RecordKind
from ..vfs.files import Files, join
from .artifacts import read_artifact
from .read_log import RunReader
from .snapshot import PendingReport, RecordOrigin, Snapshot, stamped
from .staleness import with_staleness
from .state_file import read_state


def read_run(
    workflow: Workflow,
    files: Files,
    run: str,
    *,
    root: str = "",
    config: Config | None = None,
    claims: Sequence[Claim] = (),
    verify: Verify = lambda lines: frozenset(),
    parsed: dict[tuple[str, str], Any] | None = None,
) -> Snapshot:
    """The run in the folder `run` (relative to the root, "" for the root itself) as its files show it now.

    `claims` are the live ones; `verify` tells which decisions a person made; `parsed` keeps parse results
    between calls.
    """
    reader = RunReader(files, {} if parsed is None else parsed)
    path = join(run, JOURNAL) or JOURNAL
    file = reader.read(path)
    if file.text is None and (file.exists or file.problem):
        reader.add_findings(path, [file.problem] if file.problem else [])
        journal = Journal(broken=True)
    else:
        journal = read_journal(file.text or "", verify)
        reader.add_findings(path, journal.problems)
    state = read_state(workflow.state, run, reader) if workflow.state else None
    declared = workflow.artifacts
    artifacts = {a.id: read_artifact(a, run, reader) for a in declared.values() if a.listed is None}
    artifacts = with_staleness(artifacts, declared, run, journal.records, reader)
    plan = next((a.data for a in artifacts.values() if a.valid and isinstance(a.data, Plan)), None)
    records = tuple(stamped(entry, plan) for entry in journal.records)
    origins = tuple(RecordOrigin(path, Span(line, 0, line, 0)) for line in journal.lines)
    pending = tuple(_pending_reports(workflow, run, reader, records))
    return Snapshot(
        root, run, workflow, reader, state, artifacts, records, origins, pending, journal, tuple(claims),
        config or Config(), tuple(reader.findings), _unread_report(workflow, run, reader),
    )  # fmt: skip


def _pending_reports(
    workflow: Workflow, run: str, reader: RunReader, records: Sequence[Record]
) -> Iterator[PendingReport]:
    """The report files that no record holds as they are now."""
    reports = (entry for entry in records if entry["kind"] == RecordKind.REPORT and entry["path"])
    recorded = {(entry["path"], entry["about"]) for entry in reports}
    patterns = (join(run, pattern) or pattern for pattern in workflow.reports.files)
    forms = list(workflow.reports.read.values())
    # A file that fits two patterns is one report.
    for path in dict.fromkeys(path for pattern in patterns for path, _ in reader.glob(pattern)):
        file = reader.read(path)
        if file.text is None or not file.text.strip():
            empty = Problem("report-unclear", "the report is empty", Span(0, 0, 0, 0))
            reader.add_findings(path, [file.problem or empty])
            continue
        report, problems = reader.parse_cached(
            f"report of {workflow.digest}", file, lambda text: read_report(text, forms)
        )
        reader.add_findings(path, problems)
        if report and (path, report.digest) not in recorded:
            yield PendingReport(path, file.mtime_ns, report)


def _unread_report(workflow: Workflow, run: str, reader: RunReader) -> str:
    """The first report file, or folder of them, that exists and could not be read."""
    for pattern in workflow.reports.files:
        whole = join(run, pattern) or pattern
        if reader.reads.get(whole) == "unreadable":
            return whole
        for path, _ in reader.glob(whole):
            if reader.read(path).text is None:
                return path
    return ""
