"""The facts of a run that expressions may name, each computed from its snapshot when one asks for it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from ..definition.model import UNFINISHED, Question, Rule, Workflow
from ..definition.origins import answers_read
from ..definition.root_config import PATH as CONFIGURATION
from ..expressions.context import Context, Outcome, UnknownFact
from ..expressions.functions import as_text
from ..expressions.language import Expression, Template
from ..expressions.queries import Index
from ..findings import NO_DATA, Finding, Fix, Problem, Span, finding
from ..journal.journal import EMPTY_RECORD, Record, answers_to, files_answered, substance_now
from ..plans.model import Plan
from ..snapshot.read_log import ArtifactState
from ..snapshot.snapshot import WHOLE_PLAN, RecordOrigin, Snapshot, files_named_by, task_files
from ..snapshot.staleness import changed_substances
from ..states import ArtifactStatus, Basis, RecordKind
from ..vfs.files import digest_of
from .check_facts import (
    ConsultedChecks,
    changed_checks,
    kept_data,
    kept_records,
    measured_status,
    present_checks,
)
from .parameters import LOOSENED, ParameterValue, parameter_value, whole_number

_NO_PHASE = "the phase is not known yet"


class TraceEntry(NamedTuple):
    """One expression that was evaluated on the way to the answer, for `explain`."""

    where: str
    expression: Expression | None
    outcome: Outcome
    about: str = ""


@dataclass(frozen=True)
class RecordLog:
    """The records that count, oldest first: the journal's, then those of report files.

    `origins` has the place of each by its id(). `task_files` are the artifacts of the plan's own files, which
    no record changes; all logs that were made from one share them.
    """

    records: tuple[Record, ...]
    origins: Mapping[int, RecordOrigin]
    index: Index
    task_files: dict[str, tuple[ArtifactState, list[Finding]]] = field(default_factory=dict)

    @classmethod
    def of(cls, snapshot: Snapshot) -> RecordLog:
        """The journal of a snapshot."""
        origins = dict(zip(map(id, snapshot.records), snapshot.origins, strict=True))
        memory = snapshot.reader.memory
        before = memory.get("records") or Index((), EMPTY_RECORD)
        memory["records"] = index = Index.after(snapshot.records, before)
        return cls(snapshot.records, origins, index)

    def with_records(self, added: Sequence[tuple[Record, RecordOrigin]]) -> RecordLog:
        """The log with more records."""
        more = [record for record, _ in added]
        origins = {**self.origins, **{id(record): place for record, place in added}}
        return RecordLog((*self.records, *more), origins, self.index.with_items(more), self.task_files)

    def since(self, before: RecordLog) -> list[tuple[Record, RecordOrigin]]:
        """The records behind those of a log that this one was made from."""
        return [(record, self.origins[id(record)]) for record in self.records[len(before.records) :]]


class Override(NamedTuple):
    """The newest override of a run. `record` is None when there is none; then it names and waives nothing.

    `names_phase` holds until the next report: till then the run is in the phase that it led to. `gates`
    and `phases` are waived for its `stage` ("" is any) until one of those phases is reported on
    (design, section 6), and each gate until its own phase is: what is reported then, no person saw.
    """

    record: Record | None = None
    names_phase: bool = False
    phases: frozenset[str] = frozenset()
    gates: frozenset[str] = frozenset()
    stage: str = ""

    def waives(self, stage: str) -> bool:
        """True if it holds for the stage that is under work."""
        return self.record is not None and self.stage in ("", stage)


def make_finding(
    code: str, path: str, message: str, span: Span | None = None, fixes: Sequence[Fix] = (),
    data: Mapping[str, Any] = NO_DATA,
) -> Finding:  # fmt: skip
    """A finding of the code's usual severity."""
    return replace(finding(Problem(code, message, span, data=data), path), fixes=tuple(fixes))


class RunFacts:
    """Facts of one run over some records, each computed once.

    `phase` and `next_step` are set as the decision comes to them; expressions that need them earlier have no
    value. `trace` lists the guards that were evaluated, in order.
    """

    def __init__(self, workflow: Workflow, snapshot: Snapshot, log: RecordLog):
        self.workflow, self.snapshot, self._log = workflow, snapshot, log
        self.records, self.origins = log.records, log.origins
        self.trace: list[TraceEntry] = []
        self.phase: str | None = None
        self.next_step: str | None = None
        self._listed: dict[str, tuple[ArtifactState, list[Finding]]] = {}
        self._task_files = log.task_files
        self._parameters: dict[str, ParameterValue] = {}
        self._kept_phase = ""
        self._kept: dict[str, RunFacts] = {}
        self.context = self._make_context()
        self._before = self.context, 0

    def _make_context(self) -> Context:
        workflow, snapshot, state = self.workflow, self.snapshot, self.snapshot.state
        variables: dict[str, Any] = {"state": state.data if state and state.valid else {}}
        for name, artifact in snapshot.artifacts.items():
            if artifact.valid and isinstance(artifact.data, Plan):
                plan = snapshot.plan_facts
                variables |= {f"{name}.stages": plan.stages, f"{name}.files": plan.files}
                variables |= {f"{name}.done": plan.done, f"{name}.total": plan.total}
                variables[f"{name}.status"] = artifact.data.status
            elif artifact.valid:
                variables[name] = artifact.data
        index = self._log.index
        return Context(workflow.language, variables, self._resolve, index, snapshot.tasks)

    # ---- evaluating

    def holds(self, where: str, guard: Expression | None, about: str = "") -> bool:
        """True if a guard is exactly true; its outcome goes to the trace."""
        return guard is None or self.value(where, guard, about) is True

    def value(self, where: str, guard: Expression, about: str = "") -> object:
        """The guard's value, None for an error; its outcome goes to the trace."""
        outcome = self.context.value(guard)
        self.trace.append(TraceEntry(where, guard, outcome, about))
        return outcome.value

    def text(self, template: Template | None, default: str = "") -> str:
        """The template with its values; `default` where there is none, or it has no value."""
        text = self.context.text(template) if template else None
        return default if text is None else text

    # ---- facts

    def _resolve(self, name: str) -> object:
        group, _, rest = name.partition(".")
        resolve = _FACTS.get(group)
        if resolve and (rest or group in ("phase", "report", "next_step", "checks")):
            return resolve(self, rest)
        return self.context.value(self.workflow.values[name]).value_or_raise()

    # ---- checks

    def _checks(self, _: str) -> dict[str, dict[str, Any]]:
        """The checks by name, as they are, or as they were when a phase was reported on."""
        present = present_checks(self.snapshot.config, self.snapshot.reader, self.records)
        kept = self.kept_checks
        self.context.touch(list(kept.values()))
        return ConsultedChecks({**present, **{name: kept_data(entry) for name, entry in kept.items()}})

    @property
    def kept_checks(self) -> dict[str, Record]:
        """check → the record by which it is seen here; {} where all are seen as they are."""
        return self._kept_records(self._kept_phase) if self._kept_phase else {}

    def _kept_records(self, phase: str) -> dict[str, Record]:
        brings = self.workflow.phases[phase].brings
        return kept_records(phase, self.records, own=bool(brings and brings.checks))

    @property
    def asks_checks(self) -> bool:
        """True if something that was evaluated looked at checks."""
        return "checks" in self.context.facts

    def with_kept_checks(self, phase: str) -> RunFacts:
        """These facts with the checks as they were when the phase was reported on, if that is recorded.

        For the gates of phases that lie behind: what was saved since asks nothing of them.
        """
        if not self.snapshot.config.checks or phase == self._kept_phase:
            return self
        if phase not in self._kept:
            facts = self
            if self._kept_records(phase):
                facts = RunFacts(self.workflow, self.snapshot, self._log)
                facts.phase, facts.next_step, facts.trace = self.phase, self.next_step, self.trace
                facts._kept_phase = phase
            self._kept[phase] = facts
        return self._kept[phase]

    def keep_checks(self, phase: str) -> bool:
        """See the checks as they were when the phase was reported on; False if nothing tells that."""
        if self._kept_phase or not self._kept_records(phase):
            return False
        self._before, self._kept_phase = (self.context, len(self.trace)), phase
        self.context = self._make_context()
        return True

    def release_checks(self) -> None:
        """See the checks as they are again, and forget what was tried meanwhile."""
        self.context, traced = self._before
        del self.trace[traced:]
        self._kept_phase = ""

    def facts_of_phase(self, phase: str) -> RunFacts:
        """The facts that a phase and the gates after it are judged by, kept ones behind the run."""
        phases = self.workflow.phases
        is_behind = self.phase is not None and phases[phase].order < phases[self.phase].order
        return self.with_kept_checks(phase) if is_behind else self

    def basis_of_checks(self) -> Basis:
        """MEASURED, unless what is kept of checks was measured elsewhere, or on other bytes."""
        return self.basis_of_records(self.kept_checks.values())

    def basis_of_records(self, measurements: Iterable[Record]) -> Basis:
        """MEASURED, unless one of some records of measurements was made elsewhere, or on other bytes."""
        for entry in measurements:
            state = self.snapshot.reader.read_check(str(entry["check"]))
            last = state.attestation if state else None
            if last is None or last.subject != entry["about"]:
                return Basis.RECORDED
        return Basis.MEASURED

    # ---- reports and records

    def _report(self, _: str) -> Record | Mapping[str, object]:
        """The newest record if it is a report of the current phase, and nothing was started since."""
        newest = self.newest_record((RecordKind.START, RecordKind.REPORT)) or EMPTY_RECORD
        if newest["kind"] != RecordKind.REPORT or newest["phase"] != _require(self.phase, _NO_PHASE):
            return EMPTY_RECORD
        self.context.touch([newest])
        return newest

    def newest_record(self, kinds: Collection[RecordKind]) -> Record | None:
        """The newest record of one of the kinds."""
        return next((record for record in reversed(self.records) if record["kind"] in kinds), None)

    @property
    def iteration(self) -> int:
        """The state's own count of iterations, which seed 001 counts passes by; 0 where it keeps none."""
        state = self.snapshot.state
        count = state.data.get("iteration") if state and state.valid else None
        return count if type(count) is int else 0

    def artifact(self, name: str) -> ArtifactState:
        """An artifact as it stands, also one whose files are named by data."""
        if self.workflow.artifacts[name].listed:
            return self._listed_artifact(name)[0]
        if names := self.checks_in_place_of(name):
            known: Any = self.context.fact("checks").value
            status = measured_status(known, names)
            return self.snapshot.artifacts[name]._replace(state=status, data=None, paths=())
        return self.snapshot.artifacts[name]

    def checks_in_place_of(self, name: str) -> object:
        """The names of the checks that take the place of an artifact, so that nobody has to write it."""
        checks = self.workflow.artifacts[name].checks
        return self.context.value(checks).value if checks else None

    def _listed_artifact(self, name: str) -> tuple[ArtifactState, list[Finding]]:
        if name not in self._listed:
            artifact = self.workflow.artifacts[name]
            assert artifact.listed
            if name in self.workflow.task_lists:
                if name not in self._task_files:
                    self._task_files[name] = task_files(artifact, self.snapshot)
                self._listed[name] = self._task_files[name]
            else:
                names = self.context.value(artifact.listed).value
                self._listed[name] = files_named_by(artifact, names, self.snapshot)
        return self._listed[name]

    def parameter(self, name: str) -> ParameterValue:
        """The value of a parameter, what is set, and what is wrong with that."""
        if name not in self._parameters:
            declared, place = self.workflow.parameters[name], self.place
            self._parameters[name] = parameter_value(declared, self.snapshot, self.context, place)
        return self._parameters[name]

    def loosened_parameters(self) -> list[Finding]:
        """Findings for parameters that were loosened, whose value before holds: a person may accept them."""
        findings = (self.parameter(name).finding for name in self.workflow.parameters)
        return [found for found in findings if found is not None and found.code == LOOSENED]

    def findings(self) -> tuple[Finding, ...]:
        """Findings about parameters and files named by data, whatever guards have asked for.

        Files that data names are looked for once the phase is known.
        """
        parameters = (self.parameter(name).finding for name in self.workflow.parameters)
        listed = (artifact.id for artifact in self.workflow.artifacts.values() if artifact.listed)
        lacking = (self._listed_artifact(name)[1] for name in listed) if self.phase else ()
        snapshot = self.snapshot
        checks = changed_checks(snapshot.config, snapshot.reader, self.records, snapshot.run)
        return (*filter(None, parameters), *(found for findings in lacking for found in findings), *checks)

    def _limit(self, rest: str) -> object:
        name, _, part = rest.partition(".")
        limit = self.workflow.limits[name]
        if part != "reached":
            value = self.context.value(limit.count if part == "count" else limit.max)
            return whole_number(value.value_or_raise())
        count, most = (self.context.fact(f"limits.{name}.{key}") for key in ("count", "max"))
        return whole_number(count.value_or_raise()) >= whole_number(most.value_or_raise())

    def _answer(self, name: str) -> str:
        question = self.workflow.questions[name]
        newest = self.newest_answer(question)
        if newest is None:
            return "none"
        self.context.touch([newest])
        if not self.holds_for(newest, question):
            return "stale"
        return str(newest["option"])

    def newest_answer(self, question: Question) -> Record | None:
        """The newest answer to a question in its present scope, however old what it was about.

        One that stopped the run counts until a person overrides: then the run goes on, and may ask anew.
        Raises UnknownFact when the scope has no value.
        """
        scope = str(self.context.value(question.scope).value_or_raise()) if question.scope else ""
        pattern = answers_to(question.id, scope, question.answers)
        answers, overrides = self.context.records.pick(pattern), {"kind": RecordKind.OVERRIDE.value}
        newest = answers[-1] if answers else None
        is_stop = newest is not None and (question.id, newest["option"]) in self.workflow.stop_answers
        return None if is_stop and self.context.records.since(pattern, overrides) else newest

    def is_stopped_by(self, rule: Rule) -> bool:
        """True if a person's answer has a rule that holds leave the run failed or blocked."""
        read = answers_read(rule.when) if rule.when and rule.stop in UNFINISHED else frozenset()
        stops = read & self.workflow.stop_answers
        return any(self.context.fact(f"answers.{name}").value == option for name, option in stops)

    def proposed_decisions(self, question: Question) -> list[ArtifactState]:
        """The files that a question asks a person to sign: decisions that no person is known to have made."""
        decisions = map(self.artifact, question.decides)
        return [each for each in decisions if each.state is ArtifactStatus.PROPOSED]

    def holds_for(self, answer: Record, question: Question) -> bool:
        """True if what a question is about is still what an answer to it was given on.

        An answer that was recorded before the definition had a `substance` holds for its scope.
        """
        about = substance_now(answer, self.records)
        is_same = about == (self.content_digest(question) if question.about or about else "")
        return is_same and not self.changed_files(answer, question)

    def changed_files(self, answer: Record, question: Question) -> list[str]:
        """The task files that are not what they were when a person answered."""
        if not self.workflow.task_lists.intersection(question.about):
            return []
        revising = [phase.id for phase in self.workflow.phases.values() if phase.revises]
        kept = files_answered(answer, self.records, revising)
        return changed_substances(kept, self.snapshot.task_paths[:WHOLE_PLAN], self.snapshot.reader)

    def content_digest(self, question: Question) -> str:
        """A digest of what a person decides about, "" for a question about nothing that can change.

        Marks of progress in a plan are no part of it, and task files are compared one by one. A substance
        that has no value is a digest of its own.
        """
        if not question.about and question.substance is None:
            return ""
        read, lines = self.snapshot.reader.read, list[str]()
        if question.substance is not None:
            lines.append(as_text(self.context.value(question.substance).value))
        for name in (each for each in question.about if each not in self.workflow.task_lists):
            artifact = self.artifact(name)
            if isinstance(artifact.data, Plan):
                content = artifact.data.substance
            elif artifact.exists:
                content = ",".join(read(path).digest for path in artifact.paths)
            else:
                content = artifact.state
            lines.append(f"{name}={content}")
        return digest_of("\n".join(lines))

    @cached_property
    def override(self) -> Override:
        """The newest override of a person, as far as it is in force."""
        pattern = {"kind": RecordKind.OVERRIDE.value}
        newest: Record | None = next(reversed(self.context.records.pick(pattern)), None)
        if newest is None:
            return Override()
        later = self.context.records.since(pattern, {"kind": RecordKind.REPORT.value})
        reported = {str(each["phase"]) for each in later}
        listed = (newest["phases"], newest["gates"])
        phases, gates = (frozenset(map(str, e if isinstance(e, list) else ())) for e in listed)
        if phases & reported:
            phases = gates = frozenset()
        judged_anew = {gate.id for gate in self.workflow.gates.values() if gate.after in reported}
        return Override(newest, not reported, phases, gates - judged_anew, str(newest["stage"]))

    @cached_property
    def stage(self) -> str:
        """The plan's stage under work, "" when there is none."""
        expression = self.workflow.report_stage
        outcome = self.context.value(expression) if expression else Outcome("")
        return str(outcome.value) if outcome.error is None else ""

    def place(self, path: Sequence[str | int]) -> tuple[str | None, Span | None]:
        """The file and range where a value that a guard reads stands, by its path."""
        head = str(path[1] if path[0] in ("valid", "exists") and len(path) > 1 else path[0])
        state = self.snapshot.state
        if head == "checks":
            check = self.snapshot.config.checks.get(str(path[1])) if len(path) > 1 else None
            return CONFIGURATION, check.span if check else None
        if head == "state" and state:
            return state.path, self.snapshot.reader.span(state, path[1:])
        if head not in self.workflow.artifacts:
            return None, None
        artifact = self.artifact(head)
        is_whole = path[0] in ("valid", "exists")
        return artifact.path, None if is_whole else self.snapshot.reader.span(artifact, path[1:])


_FACTS = {
    "phase": lambda facts, _: _require(facts.phase, _NO_PHASE),
    "report": RunFacts._report,
    "next_step": lambda facts, _: _require(facts.next_step, "the next step is known in notes only"),
    "valid": lambda facts, name: facts.artifact(name).valid,
    "exists": lambda facts, name: facts.artifact(name).exists,
    "parameters": lambda facts, name: facts.parameter(name).value,
    "limits": RunFacts._limit,
    "checks": RunFacts._checks,
    "answers": RunFacts._answer,
}


def _require(value: str | None, why_not: str) -> str:
    if value is None:
        raise UnknownFact(why_not)
    return value
