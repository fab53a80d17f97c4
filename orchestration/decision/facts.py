"""One evaluation in the making: the names that guards use, each computed from the snapshot when asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

from ..definition.model import Artifact, Parameter, Question, Workflow
from ..definition.root_config import PATH as CONFIGURATION
from ..expressions.context import Context, Outcome, UnknownFact
from ..expressions.language import Expression, Template
from ..expressions.queries import Index
from ..expressions.values import MOST_ITEMS
from ..findings import NO_DATA, Finding, Fix, Problem, Span, finding
from ..journal.journal import EMPTY_RECORD, Record
from ..plans.model import Plan
from ..snapshot.read_log import ArtifactState
from ..snapshot.snapshot import Snapshot
from ..states import ArtifactStatus, RecordKind
from ..vfs.files import digest_of, join
from .overrides import Override, newest_override

# A file that names more missing files than this gets one finding for the rest.
MOST_FINDINGS = 50
# Of a list in evidence, so many items are said, texts among them with so many characters.
MOST_SAID = 5
LONGEST_SAID = 80
# What tells one map in a list from another, the best first.
_NAMES = ("id", "task", "path", "name", "title", "message", "text", "description")
# The kinds of records that make a phase's last report old.
STEPS = ("start", "report")


class TraceEntry(NamedTuple):
    """One expression that was looked at on the way to the answer, for `explain`."""

    where: str
    expression: Expression | None
    outcome: Outcome
    about: str = ""


class RunFacts:
    """Facts of one run over some records. Facts are computed once; findings gather as they are."""

    def __init__(self, workflow: Workflow, snapshot: Snapshot, records: tuple[Record, ...]):
        self.workflow, self.snapshot, self.records = workflow, snapshot, records
        self.findings: list[Finding] = []
        self.trace: list[TraceEntry] = []
        self.phase: str | None = None
        self.next_step: str | None = None
        self._listed: dict[str, ArtifactState] = {}
        self.context = Context(
            workflow.language, self._variables(), self._resolve, self._index(), snapshot.tasks
        )

    def _index(self) -> Index:
        # While reports are folded in, each step sees other records; all else sees one list, indexed once.
        memory = self.snapshot.memory
        if memory.get("indexed") is not self.records:
            memory["indexed"], memory["index"] = self.records, Index(self.records, EMPTY_RECORD)
        return memory["index"]

    def _variables(self) -> dict[str, Any]:
        snapshot = self.snapshot
        state = snapshot.state
        bound: dict[str, Any] = {"state": state.data if state and state.valid else {}}
        for name, held in snapshot.artifacts.items():
            if not held.valid:
                continue
            if isinstance(held.data, Plan):
                parts = snapshot.parts
                bound |= {f"{name}.stages": parts.stages, f"{name}.files": parts.files}
                bound |= {f"{name}.done": parts.done, f"{name}.total": parts.total}
                bound[f"{name}.status"] = held.data.status
            else:
                bound[name] = held.data
        return bound

    # ---- looking

    def holds(self, where: str, guard: Expression | None, about: str = "") -> bool:
        """Whether a guard is exactly true; what was seen is noted."""
        return guard is None or self.value(where, guard, about) is True

    def value(self, where: str, guard: Expression, about: str = "") -> object:
        """The guard's value, None for an error; what was seen is noted."""
        outcome = self.context.value(guard)
        self.trace.append(TraceEntry(where, guard, outcome, about))
        return outcome.value

    def text(self, template: Template | None, default: str = "") -> str:
        said = self.context.text(template) if template else None
        return default if said is None else said

    def tell(
        self, code: str, path: str, message: str, span: Span | None = None, fixes: Sequence[Fix] = (),
        data: Mapping[str, Any] = NO_DATA,
    ) -> None:  # fmt: skip
        found = replace(finding(Problem(code, message, span, data=data), path), fixes=tuple(fixes))
        if found not in self.findings:
            self.findings.append(found)

    # ---- facts

    def _resolve(self, name: str) -> object:
        group, _, rest = name.partition(".")
        reader = _FACTS.get(group)
        if reader and (rest or group in ("phase", "report", "next_step")):
            return reader(self, rest)
        return self.known(self.workflow.values[name])

    def fact(self, name: str) -> object:
        """A fact's value, for other contexts over the same run; raises Unknown when it has none."""
        outcome = self.context.known(name)
        if outcome.error is not None:
            raise UnknownFact(outcome.error)
        return outcome.value

    def known(self, expression: Expression) -> object:
        """The value of an expression; raises Unknown when it has none."""
        outcome = self.context.value(expression)
        if outcome.error is not None:
            raise UnknownFact(outcome.error)
        return outcome.value

    def _phase(self, _: str) -> str:
        if self.phase is None:
            raise UnknownFact("the phase is not known yet")
        return self.phase

    def _next_step(self, _: str) -> str:
        if self.next_step is None:
            raise UnknownFact("the next step is known in notes only")
        return self.next_step

    def _report(self, _: str) -> Record | Mapping[str, object]:
        """The newest record if it is a report of the current phase and nothing was started or said since."""
        newest = next((entry for entry in reversed(self.records) if entry["kind"] in STEPS), None)
        if newest and newest["kind"] == RecordKind.REPORT and newest["phase"] == self._phase(""):
            self.context.touch([newest])
            return newest
        return EMPTY_RECORD

    def held(self, name: str) -> ArtifactState:
        """An artifact as it stands, also one whose files are named by data."""
        artifact = self.workflow.artifacts[name]
        if artifact.listed is None:
            return self.snapshot.artifacts[name]
        if name not in self._listed:
            self._listed[name] = self._list(artifact, artifact.listed)
        return self._listed[name]

    def _list(self, artifact: Artifact, listed: Expression) -> ArtifactState:
        plan = self.workflow.plan
        if plan and listed.source.strip() == f"{plan.id}.files":
            return self._task_files(artifact)
        outcome = self.context.value(listed)
        if outcome.error is not None or not isinstance(outcome.value, list):
            return ArtifactState(artifact.id, ArtifactStatus.MISSING, self.snapshot.run)
        names = [str(name) for name in outcome.value]
        if len(names) > MOST_ITEMS:
            self.tell(
                "artifact-invalid",
                self.snapshot.run,
                f"{artifact.id} names {len(names)} files, at most {MOST_ITEMS}",
            )
            return ArtifactState(artifact.id, ArtifactStatus.INVALID, self.snapshot.run)
        paths = [join(self.snapshot.run, name) for name in names]
        pairs = list(zip(names, paths, strict=True))
        missing = [(name, path) for name, path in pairs if path is None or not self._filled(path)]
        for name, path in missing[:MOST_FINDINGS]:
            where, span = self._named_in(name)
            why = "leaves the root and is not read" if path is None else "does not exist or is empty"
            self.tell("artifact-missing", where, f"{artifact.id}: {name.lstrip('/')} {why}", span)
        found = tuple(path for path in paths if path)
        state = ArtifactStatus.VALID if names and not missing else ArtifactStatus.MISSING
        where = found[0] if found else self.snapshot.run
        lost = tuple(path for _, path in missing[:MOST_FINDINGS] if path)
        return ArtifactState(artifact.id, state, where, paths=found, kind="files", missing=lost)

    def _filled(self, path: str) -> bool:
        file = self.snapshot.reader.read(path)
        return file.exists and file.size > 0 and (file.text is None or bool(file.text.strip()))

    def _task_files(self, artifact: Artifact) -> ArtifactState:
        snapshot, plan = self.snapshot, self.snapshot.plan
        if plan is None:
            return ArtifactState(artifact.id, ArtifactStatus.MISSING, snapshot.run)
        names = snapshot.parts.files
        missing = snapshot.reader.lacking(snapshot.run, snapshot.parts.names, artifact.id)
        without = [task for task in plan.tasks if task.file in missing] if missing else []
        for task in without[:MOST_FINDINGS]:
            lost = f"{task.id}: {task.file} does not exist or is empty"
            message = lost if task.file else f"{task.id} names no file"
            self.tell("artifact-missing", snapshot.plan_path, message, task.file_span or task.span)
        if len(without) > MOST_FINDINGS:
            more = len(without) - MOST_FINDINGS
            self.tell("artifact-missing", snapshot.plan_path, f"and {more} more task files do not exist")
        state = ArtifactStatus.VALID if names and not missing else ArtifactStatus.MISSING
        prefix = f"{snapshot.run}/" if snapshot.run else ""
        lost = tuple(prefix + task.file for task in without[:MOST_FINDINGS] if task.file)
        paths = snapshot.task_paths
        return ArtifactState(artifact.id, state, snapshot.plan_path, paths=paths, kind="files", missing=lost)

    def _named_in(self, name: str) -> tuple[str, Span | None]:
        """Where the state file names a file that is missing."""
        state = self.snapshot.state
        if state is None:
            return self.snapshot.run, None
        path = _find(state.raw, (name, name.lstrip("/")))
        return state.path, state.span(path) if path else Span(0, 0, 0, 1)

    def _parameter(self, name: str) -> object:
        parameter = self.workflow.parameters[name]
        configured = self.snapshot.config.of(self.workflow.name)
        if name in configured:
            span = self.snapshot.config.places.get((self.workflow.name, name))
            value, code = _checked(parameter, configured[name])
            if not code:
                return value
            said = f"{name}: {value}; {parameter.default} is used"
            self.tell(code, CONFIGURATION, said, span, data={"default": parameter.default})
        elif parameter.source is not None:
            return self._from_file(parameter, parameter.source)
        return parameter.default

    def _from_file(self, parameter: Parameter, source: Expression) -> object:
        outcome = self.context.value(source)
        if outcome.error is not None:
            return parameter.default
        value, code = _checked(parameter, outcome.value)
        if not code:
            return value
        path, span = self.place(source.reads[0].path) if source.reads else (None, None)
        message = f"{parameter.id}: {value}; {parameter.default} is used"
        self.tell("parameter-out-of-bounds", path or self.snapshot.run, message, span)
        return parameter.default

    def _limit(self, rest: str) -> object:
        name, _, part = rest.partition(".")
        limit = self.workflow.limits[name]
        if part != "reached":
            return _whole(self.known(limit.count if part == "count" else limit.max))
        count, most = (self.context.known(f"limits.{name}.{key}") for key in ("count", "max"))
        if count.error is not None or most.error is not None:
            raise UnknownFact(count.error or most.error or "")
        return _whole(count.value) >= _whole(most.value)

    def _answer(self, name: str) -> str:
        question = self.workflow.questions[name]
        newest = self.answered(question)
        if newest is None:
            return "none"
        self.context.touch([newest])
        if question.about and newest["about"] != self.substance(question.about):
            return "stale"
        return str(newest["option"])

    def answered(self, question: Question) -> Record | None:
        """The newest answer to a question in its present scope, however old what it was about."""
        scope = self.scope(question)
        found = self.context.records.pick(answers_to(question, scope))
        return found[-1] if found else None

    def scope(self, question: Question) -> str:
        """The question's present scope; raises Unknown when it cannot be told."""
        return str(self.known(question.scope)) if question.scope else ""

    def substance(self, artifacts: Sequence[str]) -> str:
        """A digest of what a person decides about; marks of progress in a plan are no part of it."""
        return digest_of("\n".join(f"{name}={self._substance(self.held(name))}" for name in artifacts))

    def _substance(self, held: ArtifactState) -> str:
        if isinstance(held.data, Plan):
            return held.data.substance
        return (
            ",".join(self.snapshot.reader.read(path).digest for path in held.paths)
            if held.exists
            else held.state
        )

    @cached_property
    def override(self) -> Override:
        """What a person's newest override leaves in force."""
        return newest_override(self.records)

    @cached_property
    def stage(self) -> str:
        """The plan's stage under work, "" when there is none."""
        expression = self.workflow.report_stage
        outcome = self.context.value(expression) if expression else Outcome("")
        return str(outcome.value) if outcome.error is None else ""

    def place(self, path: Sequence[str]) -> tuple[str | None, Span | None]:
        """The file and range where a value that a guard reads stands, by its path."""
        head = path[1] if path[0] in ("valid", "exists") and len(path) > 1 else path[0]
        state = self.snapshot.state
        if head == "state" and state:
            return state.path, self.snapshot.reader.span(state, path[1:])
        if head not in self.workflow.artifacts:
            return None, None
        held = self.held(head)
        if path[0] in ("valid", "exists"):
            return held.path, None
        return held.path, self.snapshot.reader.span(held, path[1:])


_FACTS = {
    "phase": RunFacts._phase,
    "report": RunFacts._report,
    "next_step": RunFacts._next_step,
    "valid": lambda facts, name: facts.held(name).valid,
    "exists": lambda facts, name: facts.held(name).exists,
    "parameters": RunFacts._parameter,
    "limits": RunFacts._limit,
    "answers": RunFacts._answer,
}


def answers_to(question: Question, scope: str) -> dict[str, Any]:
    """The pattern of a question's answers; an option that it does not have answers nothing."""
    return {"kind": "answer", "question": question.id, "scope": scope, "option": list(question.options)}


_KINDS = {bool: "truth value", int: "whole number", float: "number", str: "text"}


def _checked(parameter: Parameter, value: object) -> tuple[object, str]:
    """(value, "") if it may be used, else (why not, code)."""
    if isinstance(parameter.default, float) and type(value) is int:
        value = float(value)
    if type(value) is not type(parameter.default):
        return f"{value!r} is no {_KINDS[type(parameter.default)]}", "parameter-invalid"
    if parameter.one_of and value not in parameter.one_of:
        return f"{value!r} is none of {', '.join(map(str, parameter.one_of))}", "parameter-out-of-bounds"
    if parameter.least is not None and value < parameter.least:  # pyright: ignore[reportOperatorIssue]
        return f"{value} is less than {parameter.least}", "parameter-out-of-bounds"
    if parameter.most is not None and value > parameter.most:  # pyright: ignore[reportOperatorIssue]
        return f"{value} is greater than {parameter.most}", "parameter-out-of-bounds"
    return value, ""


def _whole(value: object) -> int:
    """A counter's value; raises Unknown for anything that is no whole number."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise UnknownFact(f"{value_summary(value)!r} is no whole number")


def _find(data: object, words: Sequence[str]) -> tuple[str | int, ...] | None:
    """The path of the first text in JSON data that is one of `words`."""
    waiting: list[tuple[tuple[str | int, ...], object]] = [((), data)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, str) and value in words:
            return path
        if isinstance(value, dict):
            waiting += [((*path, key), item) for key, item in reversed(value.items())]
        elif isinstance(value, list):
            waiting += [((*path, index), item) for index, item in reversed(list(enumerate(value)))]
    return None


def value_summary(value: object) -> object:
    """A value as evidence: scalars as they are, of a list the first items, a map by its size."""
    if isinstance(value, list):
        more = len(value) - MOST_SAID
        return (*map(_named, value[:MOST_SAID]), *([f"and {more} more"] if more > 0 else []))
    if isinstance(value, Mapping):
        return _sized(value, "key")
    return value if isinstance(value, (str, int, float, bool)) or value is None else str(value)


def _named(item: object) -> object:
    """An item of a list as evidence: text without its end where it is long, a map by what names it."""
    if isinstance(item, str):
        return item if len(item) <= LONGEST_SAID else f"{item[: LONGEST_SAID - 1]}…"
    if isinstance(item, Mapping):
        names = (item.get(key) for key in _NAMES)
        return next((_named(name) for name in names if isinstance(name, str) and name), _sized(item, "key"))
    return _sized(item, "item") if isinstance(item, list) else value_summary(item)


def _sized(value: Sized, what: str) -> str:
    return f"{len(value)} {what}{'' if len(value) == 1 else 's'}"
