"""Reads the files of one run, each once, into the snapshot that `evaluate` looks at.

`read_run` never raises on what it finds; what is wrong with a file is a finding of the snapshot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from ..definition.model import Workflow
from ..definition.root_config import PATH as CONFIGURATION
from ..definition.root_config import Config, Guard, read_config
from ..findings import Problem, Span
from ..journal.journal import Claim, Journal, Record, Verify, files_of, prove_none, read_journal
from ..journal.lines import JOURNAL
from ..journal.report_files import PendingReport, read_report
from ..plans.model import Plan
from ..plans.schedule import claimed_ids, resolve
from ..states import RecordKind
from ..vfs.files import Files, below
from ..vfs.places import RunPlace
from .artifacts import read_artifact
from .conflicts import with_conflicts
from .proof import proven_state, with_proof
from .read_log import ArtifactState, Committed, Measured, Question, RunReader
from .snapshot import WHOLE_PLAN, RecordOrigin, Snapshot, read_task_file
from .staleness import with_staleness
from .state_file import read_state
from .state_ratchets import ratchet_state

# Committed configurations, one a root; all runs of it ask for the same.
_MOST_GUARDS = 64


def read_run(
    workflow: Workflow,
    files: Files,
    run: str,
    *,
    root: str = "",
    config: Config | None = None,
    claims: Sequence[Claim] = (),
    verify: Verify = prove_none,
    committed: Committed = lambda path: None,
    measured: Measured = lambda check: None,
    parsed: dict[tuple[str, str], Any] | None = None,
) -> Snapshot:
    """The run of that name, its folder from the root or FILE#UNIT, as its files show it now.

    `root` is its absolute path; `claims` are the live ones; `verify` tells which decisions a person made,
    `committed` what the commit HEAD holds, `measured` what checks say; `parsed` keeps parse results between
    calls.
    """
    asked: dict[Question, object] | None = {} if workflow.reports.files else None
    reader = RunReader(files, {} if parsed is None else parsed, committed, measured, asked=asked, root=root)
    place = workflow.place(run)
    path = below(workflow.home(run), JOURNAL)
    file = reader.read(path)
    reader.open_memory(run, file)
    if file.text is None and (file.exists or file.problem):
        reader.add_findings(path, [file.problem] if file.problem else [])
        why = f": {file.problem.message}" if file.problem else ""
        journal = Journal(broken=True, unread=f"{path} cannot be read{why}")
    else:
        journal = read_journal(file.text or "", verify, reader.memory.setdefault("lines", {}))
        reader.add_findings(path, journal.problems)
    state = read_state(workflow.state, place.folder, reader) if workflow.state else None
    if workflow.state and state:
        state = proven_state(workflow.state, state, reader)
        state = ratchet_state(workflow, state, journal.records, reader)
    declared = workflow.artifacts
    artifacts = {a.id: read_artifact(a, place, reader) for a in declared.values() if a.listed is None}
    # What was refused changes nothing: neither guards nor the staleness of files see it.
    pairs = zip(journal.records, journal.lines, strict=True)
    counted = [(entry, line) for entry, line in pairs if entry["kind"] != RecordKind.REFUSED]
    entries = tuple(entry for entry, _ in counted)
    artifacts = with_staleness(artifacts, declared, place, entries, reader)
    artifacts = with_proof(artifacts, declared, entries, reader)
    artifacts = _with_claims(workflow, artifacts, place.folder, reader)
    if workflow.conflicts:
        read = {**artifacts, "state": state} if state else artifacts
        artifacts = with_conflicts(workflow.conflicts, read, reader)
        state = artifacts.pop("state", None)
    plan = next((a.data for a in artifacts.values() if a.valid and isinstance(a.data, Plan)), None)
    records = _stamped_records(entries, plan, reader)
    reader.asked = None
    reports, unread = _read_reports(workflow, place, reader)
    said = {(report.path, report.report.digest): report.report.span for report in reports}
    origins = tuple(
        # What a report file says stands there, also once the journal holds it.
        RecordOrigin(str(entry["path"]), said[key])
        if entry["kind"] == RecordKind.REPORT and (key := (str(entry["path"]), str(entry["about"]))) in said
        else RecordOrigin(path, Span(line, 0, line, 0))
        for entry, line in counted
    )
    pending = _without_recorded(reports, records, reader)
    return Snapshot(
        root, run, workflow, reader, state, artifacts, records, origins, pending, journal, tuple(claims),
        config or Config(), tuple(reader.findings), unread, asked, _is_guarded(run, config, reader),
    )  # fmt: skip


def _is_guarded(run: str, config: Config | None, reader: RunReader) -> bool:
    """True if the configuration as it is, or as the commit HEAD has it, guards the run: to take a guard away
    counts once it is committed. That it is guarded is part of the revision."""
    is_guarded = bool(config and config.guard.covers(run))
    if not is_guarded and (committed := reader.committed(CONFIGURATION)):
        is_guarded = _guard_in(committed).covers(run)
    if is_guarded:
        reader.reads["guard"] = "on"
    return is_guarded


@lru_cache(_MOST_GUARDS)
def _guard_in(configuration: bytes) -> Guard:
    return read_config(configuration.decode("utf-8", "replace")).guard


def _with_claims(
    workflow: Workflow, artifacts: Mapping[str, ArtifactState], folder: str, reader: RunReader
) -> Mapping[str, ArtifactState]:
    """The artifacts, with the ids that the task files of a plan give where these are not their rows'."""
    declared = workflow.plan
    state = artifacts[declared.id] if declared else None
    if not declared or not state or not state.valid or len(state.data.tasks) > WHOLE_PLAN:
        return artifacts
    claims = claimed_ids(state.data, lambda task: read_task_file(task, declared, folder, reader))
    named = state._replace(data=replace(state.data, claims=claims)) if claims else state
    return {**artifacts, declared.id: named}


def _read_reports(
    workflow: Workflow, place: RunPlace, reader: RunReader
) -> tuple[tuple[PendingReport, ...], str]:
    """(the report files that say something, the first file or folder that is unreadable)."""
    forms = list(workflow.reports.read.values())
    reports: list[PendingReport] = []
    paths: dict[str, None] = {}
    unread: list[str] = []
    for pattern in (place.join(pattern) or pattern for pattern in workflow.reports.files):
        # A file that fits two patterns is one report.
        paths |= dict.fromkeys(path for path, _ in reader.glob(pattern))
        unread += [pattern] if reader.reads[pattern] == "unreadable" else []
    for path in paths:
        file = reader.read(path)
        unread += [path] if file.text is None else []
        if file.text is None or not file.text.strip():
            empty = Problem("report-unclear", "the report is empty", Span(0, 0, 0, 0))
            reader.add_findings(path, [file.problem or empty])
            continue
        report, problems = reader.parse_cached(
            f"report of {workflow.digest}", file, lambda text: read_report(text, forms)
        )
        reader.add_findings(path, problems)
        if report:
            reports.append(PendingReport(path, file.mtime_ns, report))
    return tuple(reports), next(iter(unread), "")


def _without_recorded(
    reports: Sequence[PendingReport], records: Sequence[Record], reader: RunReader
) -> tuple[PendingReport, ...]:
    """The report files that no record holds as they are now, and none passed over."""
    of_reports = (entry for entry in records if entry["kind"] == RecordKind.REPORT and entry["path"])
    recorded = {(entry["path"], entry["about"]) for entry in of_reports}
    overrides = (entry for entry in records if entry["kind"] == RecordKind.OVERRIDE)
    passed_over = {file for entry in overrides for file in files_of(entry).items()}
    return tuple(
        each
        for each in reports
        if (each.path, each.report.digest) not in recorded
        and (each.path, reader.read(each.path).digest) not in passed_over
    )


def _stamped_records(entries: Sequence[Record], plan: Plan | None, reader: RunReader) -> tuple[Record, ...]:
    """The records as guards see them; while plan and entry are the same objects, each is the same, too."""
    of_plan, known = reader.memory.get("stamped", (plan, {}))
    if of_plan is not plan:
        known = {}
    pairs = [known.get(id(entry)) or (entry, stamp_record(entry, plan)) for entry in entries]
    # By id(): the entry is kept, so that no other can come to stand at its place in memory.
    reader.memory["stamped"] = plan, {id(pair[0]): pair for pair in pairs}
    return tuple([stamped for _, stamped in pairs])


def stamp_record(entry: Record, plan: Plan | None) -> Record:
    """The record as guards see it: task references resolved, the stage taken from them."""
    if plan is None or not (entry["task"] or entry["tasks"]):
        return entry
    task = resolve(plan, str(entry["task"])) or entry["task"]
    names = entry["tasks"] if isinstance(entry["tasks"], list) else []
    tasks = [resolve(plan, str(name)) or str(name) for name in names]
    first = next((name for name in (task, *tasks) if name in plan.by_id), None)
    stage = entry["stage"] or (plan.by_id[str(first)].stage if first else "")
    return entry | {"task": task, "tasks": tasks, "stage": stage}
