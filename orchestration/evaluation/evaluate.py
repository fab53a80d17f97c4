"""`evaluate(workflow, snapshot) -> Evaluation`: the one function that every surface calls.

Pure: the same definition and the same files give the same answer, with or without a server.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ..decision.decision import Verdict, action_of, decide
from ..decision.facts import Seen, Sight
from ..decision.gates import granted
from ..decision.pending_reports import fold, turns
from ..definition.model import DEFAULT_OUTCOMES, Phase, Workflow
from ..expressions.context import Expression
from ..findings import Finding, Severity, Span
from ..result.values import (
    CriterionState,
    Definition,
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
from .advisories import remark
from .evidence import Witness
from .questions import open_questions
from .task_board import board_of, hand_out, looked_at, stuck

# What is said of artifacts that are not as they have to be.
LACKS = ("artifact-missing", "artifact-stale", "artifact-invalid", "artifact-unreadable")


class Steps(NamedTuple):
    """How an answer came about: the evaluation, and everything that was looked at, in order."""

    evaluation: Evaluation
    trace: tuple[Seen, ...]
    sight: Sight
    verdict: Verdict


def evaluate(workflow: Workflow, snapshot: Snapshot) -> Evaluation:
    """All that can be said of the run. Never raises on what files hold.

    Seeds 000 (get_next_interaction), 001 (loop algorithm), 002 (suggestNextFromState), 003
    (selectNextAction) and 004 (transition conditions) are all this function over their definitions.
    """
    return look(workflow, snapshot).evaluation


def look(workflow: Workflow, snapshot: Snapshot) -> Steps:
    """Like `evaluate`, with what was looked at on the way."""
    records, report_findings = fold(snapshot)
    sight = Sight(workflow, snapshot, records)
    verdict = decide(sight)
    dressing = _Dressing(sight, verdict)
    evaluation = dressing.evaluation(report_findings)
    return Steps(evaluation, tuple(sight.trace), sight, verdict)


class _Dressing:
    """Turns a verdict into the evaluation that people and programs read."""

    def __init__(self, sight: Sight, verdict: Verdict):
        self.sight, self.verdict = sight, verdict
        self.workflow, self.snapshot = sight.workflow, sight.snapshot
        self.phase = self.workflow.phases.get(verdict.phase or "")
        self.handed = hand_out(sight, verdict)
        self.witness = Witness(sight)
        ended = RunStatus.COMPLETE if verdict.status == RunStatus.COMPLETE else verdict.kind
        sight.next_step = verdict.act or verdict.to or ended

    def evaluation(self, report_findings: Sequence[Finding]) -> Evaluation:
        sight, verdict, snapshot = self.sight, self.verdict, self.snapshot
        target = self.workflow.phases.get(verdict.to or verdict.phase or "")
        status, kind, reason, waiting = self._status()
        questions = open_questions(sight, verdict)
        gates = tuple(self._with_evidence(gate) for gate in verdict.gates)
        suggestion = self._suggestion(kind, reason, waiting, target)
        limits = tuple(self._limit(name) for name in self.workflow.limits) if self.phase else ()
        phases = tuple(self._phase(phase) for phase in self.workflow.phases.values())
        board, progress, notes = (
            board_of(sight, verdict, self.handed.schedule),
            self._progress(),
            self._notes(),
        )
        # Before findings are put together: a wrong parameter is told even where nothing reads it.
        parameters = self._parameters()
        remark(sight, self.phase, looked_at(sight))
        findings = self._ordered([*snapshot.findings, *report_findings, *sight.findings])
        return Evaluation(
            root=snapshot.root,
            run=snapshot.run,
            title=self._title(),
            workflow=self.workflow.name,
            definition=Definition(self.workflow.name, snapshot.definition),
            revision=self._revision(),
            current_phase=verdict.phase,
            raw_phase=verdict.raw,
            inferred=verdict.inferred,
            overridden=verdict.overridden,
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
            reads=dict(snapshot.looked.reads),
        )

    def _revision(self) -> str:
        """16 hex digits over the definition, its parameters and all that was read. No time is in it."""
        reads = sorted(self.snapshot.looked.reads.items())
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
        verdict = self.verdict
        going = (
            verdict.kind in (SuggestionKind.ADVANCE, SuggestionKind.STAY)
            and verdict.status == RunStatus.ACTIVE
        )
        why = stuck(self.handed, self.snapshot) if going else ""
        if why:
            return (
                RunStatus.BLOCKED,
                SuggestionKind.WAIT,
                why,
                "person: the dependencies of the plan have to be mended",
            )
        return verdict.status, verdict.kind, verdict.reason, verdict.waiting

    # ---- the suggestion

    def _suggestion(
        self, kind: SuggestionKind, reason: str, waiting: str | None, target: Phase | None
    ) -> Suggestion:
        verdict = self.verdict
        named = kind.is_work
        next_phase = target.id if named and target and verdict.to else None
        return Suggestion(
            kind=kind,
            suggested_next=(verdict.act if kind == SuggestionKind.ACT else next_phase),
            action=verdict.act,
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
        verdict = self.verdict
        action = self.workflow.actions.get(verdict.act or "")
        if action and action.agents:
            return action.agents
        return target.agents if target else ()

    def _evidence(self) -> tuple:
        inferred = ()
        if not isinstance(self.workflow.phase, tuple) and self.phase and not self.verdict.guards:
            inferred = (self.workflow.phase,)
        return (*self.witness.of(*self.verdict.guards, *inferred), *self.verdict.extra)

    def _allowed(self) -> tuple[str, ...]:
        names = (
            [self.verdict.to]
            if self.verdict.kind in (SuggestionKind.ADVANCE, SuggestionKind.REGRESS, SuggestionKind.STAY)
            else []
        )
        names += [self.verdict.act] if self.verdict.act else []
        for gate in self.verdict.gates:
            names += granted(gate, self.workflow)
        return tuple(dict.fromkeys(name for name in names if name))

    def _forbidden(self) -> tuple[Forbidden, ...]:
        """What gates in force forbid, and the later phases that would be a skip (seed 002, section 4)."""
        if self.phase is None or self.verdict.kind.is_final:
            return ()
        said = [entry for gate in self.verdict.gates if gate.in_force for entry in gate.forbidden]
        named = {entry.action for entry in said} | set(self._allowed()) | {self.phase.id}
        later = (p for p in self.workflow.phases.values() if p.order > self.phase.order and not p.detour)
        return (*said, *(Forbidden(p.id, "phases are not skipped") for p in later if p.id not in named))

    def _reports(self) -> tuple[Reportable, ...]:
        """What may be reported now, the suggested step first."""
        verdict, due = self.verdict, turns(self.verdict, self.workflow)
        first = tuple(name for name in (verdict.act, verdict.to) if name in due)
        return tuple(map(self._reportable, dict.fromkeys((*first[:1], *due))))

    def _reportable(self, step: str) -> Reportable:
        workflow = self.workflow
        declared = workflow.phases.get(step) or workflow.actions.get(action_of(workflow, step))
        outcomes = declared.outcomes if isinstance(declared, Phase) else DEFAULT_OUTCOMES
        example = self.sight.context.value(declared.data).value if declared and declared.data else None
        # CEL's maps have no order of their own; an answer has.
        return Reportable(step, outcomes, ordered(example) if example and isinstance(example, dict) else None)

    def _produce(self, target: Phase | None) -> tuple[Produce, ...]:
        """The files that the step lacks; all its files where it has each, but has to be done again."""
        names = target.produces if target else ()
        lacking = [name for name in names if not self.sight.held(name).valid]
        again = (
            self.verdict.kind in (SuggestionKind.REGRESS, SuggestionKind.STAY)
            and not self.handed.schedule.ready
        )
        return tuple(entry for name in lacking or (names if again else ()) for entry in self._made(name))

    def _made(self, name: str) -> tuple[Produce, ...]:
        artifact, held = self.workflow.artifacts[name], self.sight.held(name)
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
        held = self.sight.held(name)
        return Produced(name, held.path, held.state)

    def _phase_state(self, phase: Phase, produces: Sequence[Produced]) -> PhaseStatus:
        if self.phase is not None and phase.id == self.phase.id:
            return PhaseStatus.CURRENT
        if phase.detour:
            return PhaseStatus.DETOUR
        if phase.id in self.verdict.skipped:
            return PhaseStatus.SKIPPED
        if self.phase is None or phase.order > self.phase.order:
            return PhaseStatus.AHEAD
        overridden = phase.id in self.sight.override.phases
        if overridden or (phase.skip and self.sight.context.holds(phase.skip)):
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
            return self.sight.context.known(f"limits.{name}.{part}").value

        count, most, reached = known("count"), known("max"), known("reached")
        if reached:
            path, span = self._counter(self.workflow.limits[name].count)
            self.sight.tell("iteration-limit", path, f"{name}: {count} of {most}", span)
        return LimitState(name, count, most, reached)

    def _counter(self, count: Expression) -> tuple[str, Span | None]:
        """Where a file holds the count itself; else the file that stands for the run."""
        plan, state = self.snapshot.plan, self.snapshot.state
        path = count.source.strip().split(".")
        where, span = self.sight.place(path) if tuple(path) in count.paths else (None, None)
        if where and span:
            return where, span
        return self.snapshot.plan_path if plan else state.path if state else self.snapshot.run, None

    def _progress(self) -> Progress | None:
        if self.workflow.progress:
            done, total = (self.sight.context.value(part).value for part in self.workflow.progress)
            return Progress(done, total) if isinstance(done, int) and isinstance(total, int) else None
        plan = self.snapshot.plan
        return Progress(self.snapshot.parts.done, len(plan.tasks)) if plan else None

    def _notes(self) -> tuple[NoteText, ...]:
        if self.phase is None:
            return ()
        notes = (note for note in self.workflow.notes if self.sight.holds(f"notes.{note.id}.when", note.when))
        return tuple(NoteText(note.id, note.title, self.sight.text(note.text)) for note in notes)

    def _parameters(self) -> dict[str, Any]:
        """Parameters whose value is not the default one."""
        declared = self.workflow.parameters
        values = {name: self.sight.context.known(f"parameters.{name}").value for name in declared}
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
        override, snapshot = self.sight.override, self.snapshot
        if self.verdict.lost or not override.waives(self.sight.stage):
            return frozenset()
        phases = [phase for phase in self.workflow.phases.values() if phase.id in override.phases]
        names = [name for phase in phases for name in phase.produces]
        held = [self.sight.held(name) for name in names]
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


def completed(evaluation: Evaluation) -> bool:
    """Whether the run is complete; unknown, unreadable or missing evidence is never complete."""
    return evaluation.status == RunStatus.COMPLETE
