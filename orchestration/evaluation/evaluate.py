"""`evaluate(workflow, snapshot) -> Evaluation`: the one function that every surface calls.

Pure: the same definition and the same files give the same answer, with or without a server.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ..decision.decision import Decision, action_of, decide
from ..decision.facts import RunFacts, TraceEntry
from ..decision.gates import allowed_steps
from ..decision.pending_reports import fold_reports, reportable_steps
from ..definition.model import DEFAULT_OUTCOMES, Phase, Workflow
from ..expressions.language import Expression
from ..findings import Finding, Severity, Span
from ..result.values import (
    CriterionState,
    DefinitionRef,
    Evaluation,
    Forbidden,
    GateState,
    LimitState,
    NoteText,
    PhaseState,
    Produce,
    Produced,
    Progress,
    Reportable,
    Suggestion,
)
from ..snapshot.snapshot import Snapshot
from ..states import GateStatus, PhaseStatus, RecordKind, RunStatus, SuggestionKind
from ..vfs.files import digest_of
from .advisories import advisory_findings
from .evidence import EvidenceCollector
from .questions import open_questions
from .task_board import deadlock_reason, relevant_tasks, schedule_tasks, task_board

# What is said of artifacts that are not as they have to be.
LACKS = ("artifact-missing", "artifact-stale", "artifact-invalid", "artifact-unreadable")


class EvaluationTrace(NamedTuple):
    """How an answer came about: the evaluation, and everything that was looked at, in order."""

    evaluation: Evaluation
    trace: tuple[TraceEntry, ...]
    facts: RunFacts
    decision: Decision


def evaluate(workflow: Workflow, snapshot: Snapshot) -> Evaluation:
    """All that can be said of the run. Never raises on what files hold.

    Seeds 000 (get_next_interaction), 001 (loop algorithm), 002 (suggestNextFromState), 003
    (selectNextAction) and 004 (transition conditions) are all this function over their definitions.
    """
    return evaluate_traced(workflow, snapshot).evaluation


def evaluate_traced(workflow: Workflow, snapshot: Snapshot) -> EvaluationTrace:
    """Like `evaluate`, with what was looked at on the way."""
    records, report_findings = fold_reports(snapshot)
    facts = RunFacts(workflow, snapshot, records)
    decision = decide(facts)
    dressing = _Dressing(facts, decision)
    evaluation = dressing.evaluation(report_findings)
    return EvaluationTrace(evaluation, tuple(facts.trace), facts, decision)


class _Dressing:
    """Turns a verdict into the evaluation that people and programs read."""

    def __init__(self, facts: RunFacts, decision: Decision):
        self.facts, self.decision = facts, decision
        self.workflow, self.snapshot = facts.workflow, facts.snapshot
        self.phase = self.workflow.phases.get(decision.phase or "")
        self.handed = schedule_tasks(facts, decision)
        self.witness = EvidenceCollector(facts)
        ended = RunStatus.COMPLETE if decision.status == RunStatus.COMPLETE else decision.kind
        facts.next_step = decision.act or decision.to or ended

    def evaluation(self, report_findings: Sequence[Finding]) -> Evaluation:
        facts, decision, snapshot = self.facts, self.decision, self.snapshot
        target = self.workflow.phases.get(decision.to or decision.phase or "")
        status, kind, reason, waiting = self._status()
        questions = open_questions(facts, decision)
        gates = tuple(self._with_evidence(gate) for gate in decision.gates)
        suggestion = self._suggestion(kind, reason, waiting, target)
        limits = tuple(self._limit(name) for name in self.workflow.limits) if self.phase else ()
        phases = tuple(self._phase(phase) for phase in self.workflow.phases.values())
        board, progress, notes = (
            task_board(facts, decision, self.handed.schedule),
            self._progress(),
            self._notes(),
        )
        # Before findings are put together: a wrong parameter is told even where nothing reads it.
        parameters = self._parameters()
        advisory_findings(facts, self.phase, relevant_tasks(facts))
        findings = self._ordered([*snapshot.findings, *report_findings, *facts.findings])
        return Evaluation(
            root=snapshot.root,
            run=snapshot.run,
            title=self._title(),
            workflow=self.workflow.name,
            definition=DefinitionRef(self.workflow.name, snapshot.definition),
            revision=self._revision(),
            current_phase=decision.phase,
            raw_phase=decision.raw,
            inferred=decision.inferred,
            overridden=decision.overridden,
            status=status,
            status_reason=reason,
            phases=phases,
            suggestion=suggestion,
            gates=gates,
            plan=board,
            progress=progress,
            limits=limits,
            questions=questions,
            claims=snapshot.claims,
            notes=notes,
            parameters=parameters,
            findings=findings,
            reads=dict(snapshot.reader.reads),
        )

    def _revision(self) -> str:
        """16 hex digits over the definition, its parameters and all that was read. No time is in it."""
        reads = sorted(self.snapshot.reader.reads.items())
        read = (f"{path}\0{state}" for path, state in reads)
        claims = sorted(f"{claim.task} {claim.actor} {claim.seq}" for claim in self.snapshot.claims)
        return digest_of("\n".join([self.snapshot.definition, *read, *claims]))

    def _title(self) -> str:
        plan = self.snapshot.plan
        if plan and plan.title:
            return plan.title
        state = self.snapshot.state
        named = state.data.get("title") or state.data.get("display_name") if state and state.valid else None
        if isinstance(named, str):
            return named
        # What `start` was told, where the workflow has no file yet that says it.
        begun = (
            str(e["message"])
            for e in self.snapshot.records
            if e["kind"] == RecordKind.START and e["workflow"]
        )
        return next(begun, "") or self.snapshot.run.rsplit("/", 1)[-1] or self.workflow.title

    def _status(self) -> tuple[RunStatus, SuggestionKind, str, str | None]:
        """(status, kind, reason, what is waited for): the verdict's, unless no task at hand can start."""
        decision = self.decision
        going = (
            decision.kind in (SuggestionKind.ADVANCE, SuggestionKind.STAY)
            and decision.status == RunStatus.ACTIVE
        )
        why = deadlock_reason(self.handed, self.snapshot) if going else ""
        if why:
            return (
                RunStatus.BLOCKED,
                SuggestionKind.WAIT,
                why,
                "person: the dependencies of the plan have to be mended",
            )
        return decision.status, decision.kind, decision.reason, decision.waiting

    # ---- the suggestion

    def _suggestion(
        self, kind: SuggestionKind, reason: str, waiting: str | None, target: Phase | None
    ) -> Suggestion:
        decision = self.decision
        named = kind.is_work
        next_phase = target.id if named and target and decision.to else None
        return Suggestion(
            kind=kind,
            suggested_next=(decision.act if kind == SuggestionKind.ACT else next_phase),
            action=decision.act,
            agents=self._agents(target) if named else (),
            reason=reason,
            evidence=self._evidence(),
            allowed=self._allowed(),
            forbidden=self._forbidden(),
            produce=self._produce(target) if named else (),
            tasks=self.handed.schedule.ready if named else (),
            parallel=self.handed.schedule.batches if named else (),
            reports=self._reports() if named else (),
            waiting_for=waiting,
        )

    def _agents(self, target: Phase | None) -> tuple[str, ...]:
        decision = self.decision
        action = self.workflow.actions.get(decision.act or "")
        if action and action.agents:
            return action.agents
        return target.agents if target else ()

    def _evidence(self) -> tuple:
        inferred = ()
        if not isinstance(self.workflow.phase, tuple) and self.phase and not self.decision.guards:
            inferred = (self.workflow.phase,)
        return (*self.witness.of(*self.decision.guards, *inferred), *self.decision.extra)

    def _allowed(self) -> tuple[str, ...]:
        names = (
            [self.decision.to]
            if self.decision.kind in (SuggestionKind.ADVANCE, SuggestionKind.REGRESS, SuggestionKind.STAY)
            else []
        )
        names += [self.decision.act] if self.decision.act else []
        for gate in self.decision.gates:
            names += allowed_steps(gate, self.workflow)
        return tuple(dict.fromkeys(name for name in names if name))

    def _forbidden(self) -> tuple[Forbidden, ...]:
        """What gates in force forbid, and the later phases that would be a skip (seed 002, section 4)."""
        if self.phase is None or self.decision.kind.is_final:
            return ()
        said = [entry for gate in self.decision.gates if gate.in_force for entry in gate.forbidden]
        named = {entry.action for entry in said} | set(self._allowed()) | {self.phase.id}
        later = (p for p in self.workflow.phases.values() if p.order > self.phase.order and not p.detour)
        return (*said, *(Forbidden(p.id, "phases are not skipped") for p in later if p.id not in named))

    def _reports(self) -> tuple[Reportable, ...]:
        """What may be reported now, the suggested step first."""
        decision, due = self.decision, reportable_steps(self.decision, self.workflow)
        first = tuple(name for name in (decision.act, decision.to) if name in due)
        return tuple(map(self._reportable, dict.fromkeys((*first[:1], *due))))

    def _reportable(self, step: str) -> Reportable:
        workflow = self.workflow
        declared = workflow.phases.get(step) or workflow.actions.get(action_of(workflow, step))
        outcomes = declared.outcomes if isinstance(declared, Phase) else DEFAULT_OUTCOMES
        example = self.facts.context.value(declared.data).value if declared and declared.data else None
        # CEL's maps have no order of their own; an answer has.
        return Reportable(step, outcomes, ordered(example) if example and isinstance(example, dict) else None)

    def _produce(self, target: Phase | None) -> tuple[Produce, ...]:
        """The files that the step lacks; all its files where it has each, but has to be done again."""
        names = target.produces if target else ()
        lacking = [name for name in names if not self.facts.held(name).valid]
        again = (
            self.decision.kind in (SuggestionKind.REGRESS, SuggestionKind.STAY)
            and not self.handed.schedule.ready
        )
        return tuple(entry for name in lacking or (names if again else ()) for entry in self._made(name))

    def _made(self, name: str) -> tuple[Produce, ...]:
        artifact, held = self.workflow.artifacts[name], self.facts.held(name)
        paths = (held.path,) if artifact.listed is None else held.missing
        return tuple(Produce(path, artifact.schema or None, artifact.example or None) for path in paths)

    # ---- parts

    def _phase(self, phase: Phase) -> PhaseState:
        produces = tuple(self._produced(name) for name in phase.produces) if self.phase else ()
        state = self._phase_state(phase, produces)
        return PhaseState(
            phase.id, phase.title, phase.agents, phase.order, state, produces, phase.checks
        )  # fmt: skip

    def _produced(self, name: str) -> Produced:
        held = self.facts.held(name)
        return Produced(name, held.path, held.state)

    def _phase_state(self, phase: Phase, produces: Sequence[Produced]) -> PhaseStatus:
        if self.phase is not None and phase.id == self.phase.id:
            return PhaseStatus.CURRENT
        if phase.detour:
            return PhaseStatus.DETOUR
        if phase.id in self.decision.skipped:
            return PhaseStatus.SKIPPED
        if self.phase is None or phase.order > self.phase.order:
            return PhaseStatus.AHEAD
        overridden = phase.id in self.facts.override.phases
        if overridden or (phase.skip and self.facts.context.holds(phase.skip)):
            return PhaseStatus.SKIPPED
        return PhaseStatus.DONE if all(entry.valid for entry in produces) else PhaseStatus.AHEAD

    def _with_evidence(self, gate: GateState) -> GateState:
        if gate.status == GateStatus.NOT_REACHED:
            return gate
        declared = next(g for g in self.workflow.gates if g.id == gate.id)
        pairs = zip(gate.criteria, declared.criteria, strict=True)
        criteria = tuple(CriterionState(c.text, c.met, self.witness.of(d.when)) for c, d in pairs)
        return replace(gate, criteria=criteria)

    def _limit(self, name: str) -> LimitState:
        def known(part: str) -> Any:
            return self.facts.context.known(f"limits.{name}.{part}").value

        count, most, reached = known("count"), known("max"), known("reached")
        if reached:
            path, span = self._counter(self.workflow.limits[name].count)
            self.facts.tell("iteration-limit", path, f"{name}: {count} of {most}", span)
        return LimitState(name, count, most, reached)

    def _counter(self, count: Expression) -> tuple[str, Span | None]:
        """Where a file holds the count itself; else the file that stands for the run."""
        plan, state = self.snapshot.plan, self.snapshot.state
        path = count.source.strip().split(".")
        where, span = self.facts.place(path) if tuple(path) in count.paths else (None, None)
        if where and span:
            return where, span
        return self.snapshot.plan_path if plan else state.path if state else self.snapshot.run, None

    def _progress(self) -> Progress | None:
        if self.workflow.progress:
            done, total = (self.facts.context.value(part).value for part in self.workflow.progress)
            return Progress(done, total) if isinstance(done, int) and isinstance(total, int) else None
        plan = self.snapshot.plan
        return Progress(self.snapshot.parts.done, len(plan.tasks)) if plan else None

    def _notes(self) -> tuple[NoteText, ...]:
        if self.phase is None:
            return ()
        notes = (note for note in self.workflow.notes if self.facts.holds(f"notes.{note.id}.when", note.when))
        return tuple(NoteText(note.id, note.title, self.facts.text(note.text)) for note in notes)

    def _parameters(self) -> dict[str, Any]:
        """Parameters whose value is not the default one."""
        declared = self.workflow.parameters
        values = {name: self.facts.context.known(f"parameters.{name}").value for name in declared}
        return {name: value for name, value in values.items() if value != declared[name].default}

    # ---- findings

    def _ordered(self, findings: Sequence[Finding]) -> tuple[Finding, ...]:
        waived = self._waived()
        marked = [replace(f, overridden=True) if (f.code, f.path) in waived else f for f in findings]
        order = list(Severity)
        unique = dict.fromkeys(marked)
        return tuple(
            sorted(unique, key=lambda f: (f.path, f.span or (0, 0, 0, 0), order.index(f.severity), f.code))
        )

    def _waived(self) -> frozenset[tuple[str, str]]:
        """(code, path) of what a person's override goes without: artifacts of the phases that it names."""
        override, snapshot = self.facts.override, self.snapshot
        if self.decision.lost or not override.waives(self.facts.stage):
            return frozenset()
        phases = [phase for phase in self.workflow.phases.values() if phase.id in override.phases]
        names = [name for phase in phases for name in phase.produces]
        held = [self.facts.held(name) for name in names]
        found = {(code, path) for one in held for path in (one.path, *one.paths) for code in LACKS}
        if any(self.workflow.artifacts[name].listed for name in names):
            # Files named by data are missed where they are named.
            found.add((LACKS[0], snapshot.state.path if snapshot.state else snapshot.plan_path))
        return frozenset(found)


def ordered(value: Any) -> Any:
    """Data with the keys of every map in order."""
    if isinstance(value, dict):
        return {key: ordered(value[key]) for key in sorted(value, key=str)}
    return [ordered(each) for each in value] if isinstance(value, list) else value
