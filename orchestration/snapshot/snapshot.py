"""A run as its files show it at one moment: everything `evaluate` looks at, read once.

`read_run` never raises on what it finds; what is wrong with a file is a finding of the snapshot.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from ..definition.model import Workflow
from ..definition.root_config import Config
from ..expressions.queries import Index, Tasks
from ..findings import Finding, Problem, Span
from ..journal.journal import Claim, Journal, Record, Verify, read_journal
from ..journal.lines import JOURNAL
from ..journal.report_files import ReportFile, read_report
from ..plans.dialects import DIALECTS
from ..plans.model import Plan, Task, TaskFile
from ..plans.schedule import resolve
from ..states import RecordKind
from ..vfs.files import File, Files, digest_of, join
from .artifacts import read_artifact
from .read_log import ArtifactState, RunReader
from .staleness import with_staleness
from .state_file import read_state

# The question that is open while a definition changed under a run.
DEFINITION = "definition"
# Plans up to this many tasks have all their task files read; beyond it only those of tasks at hand.
WHOLE_PLAN = 500


@dataclass(frozen=True, slots=True)
class PlanFacts:
    """What guards see of a plan; it lives as long as the parsed plan."""

    files: list[str]
    names: frozenset[str]
    index: Index
    stages: list[dict[str, Any]]
    done: int = 0
    total: int = 0


class RecordOrigin(NamedTuple):
    """The file that a record stands in, and where in it."""

    path: str
    span: Span | None = None


class PendingReport(NamedTuple):
    """A report file that no journal record holds yet."""

    path: str
    mtime_ns: int
    report: ReportFile


@dataclass(frozen=True)
class Snapshot:
    """One run at one moment; a value. `pending` report files are still to be judged.

    `records` are the journal's and `origins` where each stands. `unread` is a report file or folder that
    could not be read: it may hold a failure, so nothing is known. Files that only data names are read when
    they are asked for, so `reader` may still grow: one thread at a time.
    """

    root: str
    run: str
    workflow: Workflow
    reader: RunReader
    state: ArtifactState | None
    artifacts: Mapping[str, ArtifactState]
    records: tuple[Record, ...]
    origins: tuple[RecordOrigin, ...]
    pending: tuple[PendingReport, ...]
    journal: Journal
    claims: tuple[Claim, ...]
    config: Config
    findings: tuple[Finding, ...]
    unread: str = ""

    @cached_property
    def definition(self) -> str:
        """16 hex digits that name the definition together with the parameters set for it."""
        return definition_digest(self.workflow, self.config.of(self.workflow.name))

    @cached_property
    def definition_changed(self) -> bool:
        """Whether the run began under another definition, and no person said that this one may judge it."""
        # The first start: a later one, which anybody can write, accepts nothing.
        starts = (entry["definition"] for entry in self.records if entry["kind"] == RecordKind.START)
        began = next((definition for definition in starts if definition), None)
        accepted = any(
            entry["kind"] == RecordKind.ANSWER
            and entry["question"] == DEFINITION
            and entry["about"] == self.definition
            for entry in self.records
        )
        return began not in (None, self.definition) and not accepted

    @property
    def plan(self) -> Plan | None:
        """The run's plan, if it has a readable one."""
        artifact = self.workflow.plan
        held = self.artifacts.get(artifact.id) if artifact else None
        return held.data if held and held.valid else None

    @property
    def plan_path(self) -> str:
        artifact = self.workflow.plan
        return self.artifacts[artifact.id].path if artifact else self.run

    @cached_property
    def plan_facts(self) -> PlanFacts:
        plan, artifact = self.plan, self.workflow.plan
        if plan is None or artifact is None:
            return PlanFacts([], frozenset(), Index(()), [])
        held = self.artifacts[artifact.id]
        digest = self.reader.reads[held.path]
        key = ("parts of " + artifact.kind, digest)
        if key not in self.reader.parsed:
            self.reader.parsed[key] = _parts(plan)
        return self.reader.parsed[key]

    @cached_property
    def task_paths(self) -> tuple[str, ...]:
        """The files that the plan's tasks name, from the root, in the order of the plan."""
        prefix = f"{self.run}/" if self.run else ""
        return tuple(prefix + name for name in self.plan_facts.files)

    @cached_property
    def tasks(self) -> Tasks:
        plan = self.plan
        if plan is None:
            return Tasks()
        details = self.details
        return Tasks(
            self.plan_facts.index,
            self.plan_facts.stages,
            lambda item: _details(details(plan.by_id[str(item["id"])])),
        )

    @cached_property
    def details(self) -> TaskFiles:
        """What a task's own file says: `details(task)`."""
        return TaskFiles(self)

    @cached_property
    def whole(self) -> tuple[Task, ...]:
        """The tasks whose files are always read: all of a plan of a size people write by hand."""
        plan = self.plan
        return plan.tasks if plan and len(plan.tasks) <= WHOLE_PLAN else ()


class TaskFiles:
    """The task files of one snapshot, each read once, when it is asked for."""

    def __init__(self, snapshot: Snapshot):
        artifact = snapshot.workflow.plan
        assert artifact
        self.run, self.reader, self.kind = snapshot.run, snapshot.reader, artifact.kind
        self.read = DIALECTS[artifact.kind].read_task
        self.seen: dict[str, TaskFile] = {}

    def __call__(self, task: Task) -> TaskFile:
        """What the task's own file says; nothing, when the file cannot be read."""
        if task.file not in self.seen:
            path = join(self.run, task.file) if task.file else None
            file = self.reader.read(path) if path else None
            self.seen[task.file] = self._read(file) if file else TaskFile()
        return self.seen[task.file]

    def _read(self, file: File) -> TaskFile:
        if file.text is not None:
            return self.reader.parse_cached(f"task of {self.kind}", file, self.read)
        # What cannot be read may ask for a review, so it does.
        problem = file.problem or Problem("artifact-missing", "it does not exist")
        return TaskFile(requires_ux_dx_review=file.exists, problems=(problem,) if file.exists else ())


def _details(detail: TaskFile) -> dict[str, Any]:
    return {
        "depends_on": list(detail.depends_on),
        "parallel_with": list(detail.parallel_with),
        "files": list(detail.files),
        "requires_ux_dx_review": detail.requires_ux_dx_review,
    }


def _parts(plan: Plan) -> PlanFacts:
    items = [
        {
            "id": task.id,
            "number": task.number,
            "title": task.title,
            "stage": task.stage,
            "done": task.done,
            "status": task.status.value,
            "file": task.file,
            "type": task.type,
        }
        for task in plan.tasks
    ]
    stages = [
        {
            "id": stage.id,
            "title": stage.title,
            "done": (done := stage.done),
            "total": stage.total,
            "complete": done == stage.total > 0,
            "line": stage.span.line,
        }
        for stage in plan.stages
    ]
    files = [task.file for task in plan.tasks]
    done, total = (sum(stage[key] for stage in stages) for key in ("done", "total"))
    return PlanFacts(files, frozenset(files), Index(items), stages, done, total)


def definition_digest(workflow: Workflow, parameters: Mapping[str, Any]) -> str:
    """16 hex digits that name a definition together with the parameters set for it."""
    return digest_of(f"{workflow.digest} {json.dumps(dict(parameters), sort_keys=True)}")


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
    journal = _journal(path, reader, verify)
    state = read_state(workflow.state, run, reader) if workflow.state else None
    held = {a.id: read_artifact(a, run, reader) for a in workflow.artifacts.values() if a.listed is None}
    held = with_staleness(held, workflow.artifacts, run, journal.records, reader)
    records = _stamped(journal.records, held)
    origins = tuple(RecordOrigin(path, Span(line, 0, line, 0)) for line in journal.lines)
    pending = _pending(workflow, run, reader, records)
    return Snapshot(
        root, run, workflow, reader, state, held, records, origins, pending, journal, tuple(claims),
        config or Config(), tuple(reader.findings), _unread(workflow, run, reader),
    )  # fmt: skip


def _journal(path: str, reader: RunReader, verify: Verify) -> Journal:
    file = reader.read(path)
    if file.text is None and (file.exists or file.problem):
        reader.add_findings(path, [file.problem] if file.problem else [])
        return Journal(broken=True)
    journal = read_journal(file.text or "", verify)
    reader.add_findings(path, journal.problems)
    return journal


def _stamped(records: Sequence[Record], held: Mapping[str, ArtifactState]) -> tuple[Record, ...]:
    """Records with the task names they use made ids, and the stage of their task where they name none."""
    plan = next((h.data for h in held.values() if h.valid and isinstance(h.data, Plan)), None)
    return tuple(stamped(entry, plan) for entry in records)


def stamped(entry: Record, plan: Plan | None) -> Record:
    """The record as guards see it: task references resolved, the stage taken from them."""
    if plan is None or not (entry["task"] or entry["tasks"]):
        return entry
    task = resolve(plan, str(entry["task"])) or entry["task"]
    named = entry["tasks"] if isinstance(entry["tasks"], list) else []
    tasks = [resolve(plan, str(name)) or str(name) for name in named]
    first = next((name for name in (task, *tasks) if name in plan.by_id), None)
    stage = entry["stage"] or (plan.by_id[str(first)].stage if first else "")
    return entry | {"task": task, "tasks": tasks, "stage": stage}


def _pending(
    workflow: Workflow, run: str, reader: RunReader, records: Sequence[Record]
) -> tuple[PendingReport, ...]:
    known = {
        (entry["path"], entry["about"])
        for entry in records
        if entry["kind"] == RecordKind.REPORT and entry["path"]
    }
    patterns = (join(run, pattern) or pattern for pattern in workflow.report_files)
    # A file that fits two patterns is one report.
    paths = dict.fromkeys(path for pattern in patterns for path, _ in reader.glob(pattern))
    found = (_report(workflow, path, reader) for path in paths)
    return tuple(report for report in found if report and (report.path, report.report.digest) not in known)


def _report(workflow: Workflow, path: str, reader: RunReader) -> PendingReport | None:
    file = reader.read(path)
    if file.text is None or not file.text.strip():
        reader.add_findings(path, [file.problem] if file.problem else [_empty_report()])
        return None
    report, problems = reader.parse_cached(
        f"report of {workflow.digest}", file, lambda text: read_report(text, workflow.report_forms)
    )
    reader.add_findings(path, problems)
    return PendingReport(path, file.mtime_ns, report) if report else None


def _unread(workflow: Workflow, run: str, reader: RunReader) -> str:
    """The first report file, or folder of them, that exists and could not be read."""
    for pattern in workflow.report_files:
        whole = join(run, pattern) or pattern
        if reader.reads.get(whole) == "unreadable":
            return whole
        for path, _ in reader.glob(whole):
            if reader.read(path).text is None:
                return path
    return ""


def _empty_report() -> Problem:
    return Problem("report-unclear", "the report is empty", Span(0, 0, 0, 0))
