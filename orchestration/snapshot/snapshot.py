"""A run as its files show it at one moment: everything `evaluate` looks at, as `run_files` reads it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

from ..definition.inputs import Artifact
from ..definition.model import Workflow
from ..definition.root_config import Config
from ..expressions.queries import Index, PartitionedIndex, Tasks
from ..expressions.values import MOST_ITEMS
from ..findings import Finding, Problem, Span, finding
from ..journal.baseline import RatchetBaseline, read_baseline
from ..journal.journal import Claim, Journal, Record
from ..journal.left_files import LeftFiles, read_left_files
from ..journal.report_files import PendingReport
from ..plans.dialects import DIALECTS
from ..plans.model import Plan, StageTasks, Task, TaskFile
from ..states import ArtifactStatus, RecordKind
from ..vfs.files import below, digest_of, join
from ..vfs.places import RunPlace
from .proof import is_changed
from .read_log import ArtifactState, Asked, RunReader

# The questions that are open while a definition changed under a run, and while values of its state are looser
# than they were.
DEFINITION = "definition"
STATE = "state"
# A file that names more missing files than this gets one finding for the rest.
MOST_FINDINGS = 50
# Plans up to this many tasks have all their task files read; beyond it only those of tasks at hand.
WHOLE_PLAN = 500

_NO_DETAILS = TaskFile()


@dataclass(frozen=True, slots=True)
class TaskItems:
    """A partition of the tasks of a stage, and its items as guards see them."""

    tasks: StageTasks
    index: Index


@dataclass(frozen=True, slots=True)
class PlanFacts:
    """The facts of a plan that guards see; they live as long as the parsed plan, its partitions longer."""

    files: list[str]
    names: frozenset[str]
    index: PartitionedIndex
    stages: list[dict[str, Any]]
    done: int = 0
    total: int = 0
    unknown: int = 0
    items: Mapping[str, Sequence[TaskItems]] = field(default_factory=dict)

    @classmethod
    def of(cls, plan: Plan, before: PlanFacts | None = None) -> PlanFacts:
        """The facts of a parsed plan; a partition that stood there `before` keeps its items."""
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
        earlier = chain.from_iterable(before.items.values()) if before else ()
        known = {id(each.tasks): each for each in earlier}
        items = {
            stage.id: [
                known.get(id(part)) or TaskItems(part, Index([*map(_item, part)]))
                for part in stage.tasks.partitions
            ]
            for stage in plan.stages
        }
        files = list(chain.from_iterable(stage.tasks.files for stage in plan.stages))
        whole = PartitionedIndex([each.index for group in items.values() for each in group])
        unknown = sum(stage.tasks.unknown for stage in plan.stages)
        done, total = (sum(stage[key] for stage in stages) for key in ("done", "total"))
        return cls(files, frozenset(files), whole, stages, done, total, unknown, items)


def _item(task: Task) -> dict[str, str | bool | int]:
    return {
        "id": task.id, "number": task.number, "title": task.title, "stage": task.stage, "done": task.done,
        "status": task.status.value, "file": task.file, "type": task.type, "optional": task.optional,
        "word": task.word, "rank": task.rank,
    }  # fmt: skip


def definition_changed_text(workflow: Workflow) -> str:
    """The sentence that the definition changed under a run, for a person."""
    name = workflow.name
    return f"The definition of {name}, or a parameter of it, changed while this run was under way."


class RecordOrigin(NamedTuple):
    """The file that a record stands in, and where in it."""

    path: str
    span: Span | None = None


@dataclass(frozen=True)
class Snapshot:
    """One run at one moment; a value. `pending` report files are still to be judged.

    `records` are the journal's without the refused ones, `origins` where each stands. `unread` is a report
    file or folder that could not be read: it may hold a failure, so nothing is known. Files that only data
    names are read when they are asked for, so `reader` may still grow: one thread at a time. `asked` is what
    was asked to read all but the reports, where it was noted. `guarded`: its gates hold assistants back.
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
    asked: Asked | None = None
    guarded: bool = False

    @cached_property
    def place(self) -> RunPlace:
        """The folder that the run's paths are from, and the file that it is a part of."""
        return self.workflow.place(self.run)

    @property
    def folder(self) -> str:
        return self.place.folder

    @property
    def home(self) -> str:
        """The folder whose `.phasekeeper/` holds the run's journal."""
        return self.workflow.home(self.run)

    @cached_property
    def definition(self) -> str:
        """16 hex digits that name the definition together with the parameters set for it."""
        return definition_digest(self.workflow.digest, self.config.of(self.workflow.name))

    @cached_property
    def _definitions(self) -> tuple[object, ...]:
        """The definitions that may judge the run: the one it began under, those that a person accepted."""
        # The first record that names one: a later one, which anybody can write, accepts nothing.
        first = next((entry for entry in self.records if entry["definition"]), None)
        if first is None:
            return ()
        began = str(first["definition"])
        if first["kind"] != RecordKind.START:
            # Of a run that nobody started it names the text alone; its parameters are kept one by one.
            began = definition_digest(began, self.config.of(self.workflow.name))
        return (began, *self._accepted_definitions)

    @cached_property
    def _accepted_definitions(self) -> tuple[object, ...]:
        """The definitions that a person accepted."""
        answers = (entry for entry in self.records if entry["kind"] == RecordKind.ANSWER)
        return tuple(entry["about"] for entry in answers if entry["question"] == DEFINITION)

    @property
    def names_definition(self) -> bool:
        """True if a record says under which definition the run began."""
        return bool(self._definitions)

    @cached_property
    def definition_upgraded(self) -> bool:
        """True if one of them is this definition as an earlier release had it, and none is it."""
        known, parameters = self._definitions, self.config.of(self.workflow.name)
        if not known or self.definition in known:
            return False
        released = [definition_digest(digest, parameters) for digest in self.workflow.released]
        return any(each in released for each in known)

    @cached_property
    def definition_accepted(self) -> bool:
        """True if the run was started under this definition or a person said that it may judge the run."""
        starts = (entry["definition"] for entry in self.records if entry["kind"] == RecordKind.START)
        began = next(filter(None, starts), None) == self._definitions[0] if self._definitions else False
        known = self._definitions if began else self._accepted_definitions
        return self.definition in known or self.definition_upgraded

    @cached_property
    def definition_changed(self) -> bool:
        """True if the run began under another definition, and no person said that this one may judge it."""
        known = self._definitions
        return bool(known) and self.definition not in known and not self.definition_upgraded

    @cached_property
    def unknown_words(self) -> Mapping[tuple[str, ...], str]:
        """The declared paths, from "state" or an artifact on, at which words stand that nobody knows; to
        their file."""
        return {(name, *path): each.path for name, each in self._files.items() for path in each.unknown}

    @cached_property
    def contradictions(self) -> Mapping[tuple[str, ...], str]:
        """The declared paths at which files contradict themselves or each other; to their file."""
        return {(name, *path): each.path for name, each in self._files.items() for path in each.contradicted}

    @property
    def _files(self) -> Mapping[str, ArtifactState]:
        return {"state": self.state, **self.artifacts} if self.state else self.artifacts

    @property
    def is_doubtful(self) -> bool:
        """True if nobody knows what some of the files say: then no such run is complete."""
        return bool(self.unknown_words or self.contradictions)

    @cached_property
    def baseline(self) -> RatchetBaseline:
        """The values that the records keep."""
        return read_baseline(self.records)

    @cached_property
    def left_files(self) -> LeftFiles:
        """The files and marks as the records left them."""
        return read_left_files(self.records)

    @cached_property
    def edited_state(self) -> str:
        """The path of a guarded run's state, where that alone is changed by reports and something else
        changed it; "" where it is right, or nobody knows."""
        path, journal = self.state.path if self.guarded and self.state else "", self.journal
        if not path or journal.broken or journal.forked or "state" not in self.workflow.written_by_reports:
            return ""
        return path if is_changed(path, self.left_files.digests.get(path), self.reader) else ""

    @cached_property
    def plan(self) -> Plan | None:
        """The run's plan, if it has a readable one."""
        artifact = self.workflow.plan
        state = self.artifacts.get(artifact.id) if artifact else None
        return state.data if state and state.valid else None

    @property
    def plan_path(self) -> str:
        artifact = self.workflow.plan
        return self.artifacts[artifact.id].path if artifact else self.place.itself

    @cached_property
    def plan_facts(self) -> PlanFacts:
        plan, artifact = self.plan, self.workflow.plan
        if plan is None or artifact is None:
            return PlanFacts([], frozenset(), PartitionedIndex(()), [])
        parsed, kind = self.reader.parsed, f"parts of {artifact.kind} {self.place.unit}"
        reads = [self.reader.reads.get(path, "") for path in self.artifacts[artifact.id].paths]
        key, newest = (kind, " ".join(reads)), (f"newest {kind}", self.plan_path)
        before: PlanFacts | None = None
        if newest in parsed:
            before = parsed[newest]
        if key not in parsed:
            parsed[key] = PlanFacts.of(plan, before)
        parsed[newest] = parsed[key]
        return parsed[key]

    @cached_property
    def task_paths(self) -> tuple[str, ...]:
        """The files that the plan's tasks name, from the root, in the order of the plan."""
        prefix = f"{self.folder}/" if self.folder else ""
        return tuple([prefix + name for name in self.plan_facts.files])

    @cached_property
    def tasks(self) -> Tasks:
        """The tasks of the plan as guards see them; what a task's own file says is read when one asks."""
        plan = self.plan
        if plan is None:
            return Tasks()

        def read_details(item: Mapping[str, Any]) -> Mapping[str, Any]:
            return self.details(plan.by_id[str(item["id"])]).facts

        facts = self.plan_facts
        by_stage = {
            name: PartitionedIndex([each.index for each in parts]) for name, parts in facts.items.items()
        }

        def stage_of(name: str) -> str | None:
            task = plan.by_id.get(name)
            return task.stage if task else None

        is_unique = len(plan.by_id) == len(plan.tasks)
        return Tasks(facts.index, facts.stages, read_details, by_stage, stage_of if is_unique else None)

    @cached_property
    def _task_files(self) -> dict[str, TaskFile]:
        return {}

    def details(self, task: Task) -> TaskFile:
        """The content of a task's own file, read once; nothing, when the file cannot be read.

        Of one that has no file what the plan itself says.
        """
        known = self._task_files.get(task.file)
        if known is not None:
            return known
        plan, artifact = self.plan, self.workflow.plan
        if plan is not None and (not task.file or task.id in plan.details):
            return plan.details.get(task.id, _NO_DETAILS)
        assert artifact
        detail = read_task_file(task, artifact, self.folder, self.reader)
        if plan is not None and not plan.details:
            self._task_files[task.file] = detail
        return detail

    def details_of(self, tasks: Sequence[Task]) -> tuple[TaskFile, ...]:
        """The contents of the tasks' own files."""
        return self._whole_details if tasks is self.whole else tuple(map(self.details, tasks))

    @cached_property
    def _whole_details(self) -> tuple[TaskFile, ...]:
        return tuple(map(self.details, self.whole))

    @cached_property
    def whole(self) -> tuple[Task, ...]:
        """The tasks whose files are always read: all of a plan of a size people write by hand."""
        plan = self.plan
        return plan.tasks if plan and len(plan.tasks) <= WHOLE_PLAN else ()


def read_task_file(task: Task, plan: Artifact, run: str, reader: RunReader) -> TaskFile:
    """The content of a task's own file; nothing, when the file cannot be read."""
    path = join(run, task.file) if task.file else None
    file = reader.read(path) if path else None
    if file is None:
        return TaskFile()
    if file.text is not None:
        return reader.parse_cached(f"task of {plan.kind}", file, DIALECTS[plan.kind].read_task)
    # What cannot be read may ask for a review, so it does.
    problem = file.problem or Problem("artifact-missing", "it does not exist")
    problems = (problem,) if file.exists else ()
    return TaskFile(requires_ux_dx_review=file.exists, problems=problems)


def definition_digest(digest: str, parameters: Mapping[str, Any]) -> str:
    """16 hex digits that name a definition, by the digest of its text, with the parameters set for it."""
    return digest_of(f"{digest} {json.dumps(dict(parameters), sort_keys=True)}")


# ---- artifacts whose files are named by data (`listed`): valid when some are named and all are there


def files_named_by(
    artifact: Artifact, listed: object, snapshot: Snapshot
) -> tuple[ArtifactState, list[Finding]]:
    """The artifact whose files are those that an expression lists; a finding for each that is not there."""
    run, state = snapshot.folder, ArtifactState(artifact.id, ArtifactStatus.MISSING, snapshot.folder)
    if not isinstance(listed, list):
        return state, []
    names = [str(name) for name in listed]
    if len(names) > MOST_ITEMS:
        message = f"{artifact.id} names {len(names)} files, at most {MOST_ITEMS}"
        return state._replace(state=ArtifactStatus.INVALID), [
            finding(Problem("artifact-invalid", message), run)
        ]
    paths, absent, findings = list[str](), list[str](), list[Finding]()
    for name in names:
        path = join(run, name)
        file = snapshot.reader.read(path) if path else None
        paths += [path] if path else []
        if file and file.exists and file.size > 0 and (file.text is None or file.text.strip()):
            continue
        if len(findings) < MOST_FINDINGS:
            absent += [path] if path else []
            why = file.why_missing if file else "leaves the root and is not read"
            message = f"{artifact.id}: {name.lstrip('/')} {why}"
            where, span = _place_of(name, snapshot)
            findings.append(finding(Problem("artifact-missing", message, span), where))
    status = ArtifactStatus.VALID if names and not findings else ArtifactStatus.MISSING
    where = paths[0] if paths else run
    files = {"kind": "files", "paths": tuple(paths), "missing": tuple(absent)}
    return state._replace(state=status, path=where, **files), findings


def task_files(artifact: Artifact, snapshot: Snapshot) -> tuple[ArtifactState, list[Finding]]:
    """The files that the plan's tasks name; one listing a folder answers for all in it."""
    plan, run, facts = snapshot.plan, snapshot.folder, snapshot.plan_facts
    if plan is None:
        return ArtifactState(artifact.id, ArtifactStatus.MISSING, run), []
    blank = _blank_forms(artifact, snapshot)
    lacking = snapshot.reader.missing_files(run, facts.names, artifact.id) | blank
    without = [task for task in plan.tasks if task.file in lacking] if lacking else []
    findings: list[Finding] = []
    prefix, path = f"{run}/" if run else "", snapshot.plan_path
    for task in without[:MOST_FINDINGS]:
        missing = snapshot.reader.read(below(run, task.file)).why_missing
        what = "is still a form to fill in" if task.file in blank else missing
        why = f": {task.file} {what}" if task.file else " names no file"
        span = plan.span(task, task.file_place)
        findings.append(finding(Problem("artifact-missing", task.id + why, span), path))
    if len(without) > MOST_FINDINGS:
        message = f"and {len(without) - MOST_FINDINGS} more task files do not exist"
        findings.append(finding(Problem("artifact-missing", message), path))
    state = ArtifactState(
        artifact.id, ArtifactStatus.VALID if facts.files and not lacking else ArtifactStatus.MISSING, path,
        kind="files", paths=snapshot.task_paths,
        missing=tuple(prefix + task.file for task in without[:MOST_FINDINGS] if task.file),
    )  # fmt: skip
    return state, findings


def _blank_forms(artifact: Artifact, snapshot: Snapshot) -> set[str]:
    """The task files that hold a blank of the example as it was; looked for once in the same texts."""
    reader, folder = snapshot.reader, snapshot.folder
    known = reader.reads
    paths = {task.file: join(folder, task.file) or folder for task in snapshot.whole if task.file}
    digests = tuple([known.get(path) or reader.read(path).digest for path in paths.values()])

    def find() -> set[str]:
        texts = ((name, reader.read(path).text) for name, path in paths.items())
        return {name for name, text in texts if text and artifact.unfilled_gap(text)}

    read = snapshot.workflow.digest, artifact.id, tuple(paths), digests
    return reader.remember("blank forms", read, find)


def _place_of(name: str, snapshot: Snapshot) -> tuple[str, Span | None]:
    """The place at which the state file names a missing file: the first text in it that is the name."""
    state = snapshot.state
    if state is None:
        return snapshot.place.itself, None
    waiting: list[tuple[tuple[str | int, ...], object]] = [((), state.raw)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, str) and value in (name, name.lstrip("/")):
            return state.path, state.span(path) if path else Span(0, 0, 0, 1)
        if isinstance(value, dict):
            waiting += [((*path, key), item) for key, item in reversed(value.items())]
        elif isinstance(value, list):
            waiting += [((*path, index), item) for index, item in reversed(list(enumerate(value)))]
    return state.path, Span(0, 0, 0, 1)
