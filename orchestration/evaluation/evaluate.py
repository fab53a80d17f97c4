"""`evaluate(workflow, snapshot) -> Evaluation`: the one function that every surface calls.

Pure: the same definition and the same files give the same answer, with or without a server.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from ..decision.basis import BasisCollector, Grounds
from ..decision.decision import outcomes_of
from ..decision.gates import allowed_steps
from ..decision.lost_work import lost_work
from ..decision.pending_reports import FoldedReports, fold_reports
from ..decision.task_turns import TaskTurns
from ..definition.model import Phase, Workflow
from ..expressions.language import Expression
from ..findings import Evidence
from ..journal.journal import EMPTY_RECORD
from ..plans.schedule import TaskBoard
from ..result.phrases import shell_word, with_run
from ..result.values import (
    CriterionState,
    DefinitionRef,
    DeliverableState,
    Evaluation,
    Forbidden,
    GateState,
    LimitState,
    PhaseState,
    Produce,
    Progress,
    Suggestion,
)
from ..snapshot.snapshot import Snapshot
from ..states import GateStatus, PhaseStatus, RecordKind, RunStatus, SuggestionKind
from ..vfs.files import digest_of
from .advisories import advisory_findings, budget_findings, ordered_findings, unproven_reports
from .check_summaries import CheckCollector
from .evidence import EvidenceCollector
from .gate_violations import find_violations, with_violations
from .notes import notes_of
from .questions import open_questions
from .reportables import reportable
from .task_board import deadlock_reason, relevant_tasks, schedule_tasks, task_board
from .trace import EvaluationTrace


def evaluate(workflow: Workflow, snapshot: Snapshot) -> Evaluation:
    """All that can be said of the run. Never raises on what files hold.

    Seeds 000 (get_next_interaction), 001 (loop algorithm), 002 (suggestNextFromState), 003
    (selectNextAction) and 004 (transition conditions) are all this function over their definitions.
    """
    return evaluate_traced(workflow, snapshot).evaluation


def evaluate_traced(workflow: Workflow, snapshot: Snapshot) -> EvaluationTrace:
    """The evaluation together with the facts, the decision and the guards that were tried."""
    trace = _look(workflow, snapshot)
    facts, decision, evaluation = trace.facts, trace.decision, trace.evaluation
    violations = find_violations(trace, partial(_look, workflow))
    findings = with_violations(facts, violations, evaluation.findings)
    evaluation = replace(
        evaluation,
        findings=ordered_findings(facts, decision, findings),
        # Last, since they cover all that was read.
        revision=_revision(snapshot),
        reads=dict(snapshot.reader.reads),
    )
    return trace._replace(evaluation=evaluation, violations=violations)


def _look(workflow: Workflow, snapshot: Snapshot) -> EvaluationTrace:
    """The evaluation as far as it needs no other: without violations, its findings as they were met."""
    reports = fold_reports(workflow, snapshot)
    evaluation = _Assembler(reports).evaluation()
    return EvaluationTrace(evaluation, tuple(reports.facts.trace), reports.facts, reports.decision)


def _revision(snapshot: Snapshot) -> str:
    """16 hex digits over the definition, its parameters and all that was read. No time is in it."""
    read = (f"{path}\0{state}" for path, state in sorted(snapshot.reader.reads.items()))
    claims = sorted(f"{claim.task} {claim.actor} {claim.seq}" for claim in snapshot.claims)
    return digest_of("\n".join([snapshot.definition, *read, *claims]))


class _Assembler:
    """Puts an evaluation together from a decision: evidence, tasks, limits, notes and findings."""

    def __init__(self, reports: FoldedReports):
        self.reports, self.facts, self.decision = reports, reports.facts, reports.decision
        self.workflow, self.snapshot = self.facts.workflow, self.facts.snapshot
        self.phase = self.workflow.phases.get(self.decision.phase or "")
        self.schedule = schedule_tasks(self.facts, self.decision)
        self.evidence, self.bases = EvidenceCollector(self.facts), BasisCollector(self.facts)
        self.checks = CheckCollector(self.facts)
        self.gates = tuple(map(self._with_evidence, self.decision.gates))
        is_complete = self.decision.status is RunStatus.COMPLETE
        ended = RunStatus.COMPLETE if is_complete else self.decision.kind
        self.facts.next_step = self.decision.action or self.decision.to or ended

    def evaluation(self) -> Evaluation:
        """The evaluation, its findings as they were met; what was read is not noted in it yet."""
        facts, decision, snapshot, workflow = self.facts, self.decision, self.snapshot, self.workflow
        limits = tuple(map(self._limit, workflow.limits)) if self.phase else ()
        tasks = relevant_tasks(facts)
        suggestion, status = self._suggestion()
        lost = lost_work(facts) if self.phase else ()
        of_run = (*snapshot.findings, *self.reports.findings, *decision.findings, *facts.findings(), *lost)
        is_over = decision.status is RunStatus.COMPLETE
        unproven = () if is_over else unproven_reports(facts, self.phase)
        advisories = (*advisory_findings(facts, self.phase, tasks, limits), *unproven)
        values = {name: facts.context.fact(f"parameters.{name}").value for name in workflow.parameters}
        board = task_board(facts, decision, self.schedule, tasks, self._failed_tasks())
        return Evaluation(
            root=snapshot.root,
            run=snapshot.run,
            title=self._title(),
            workflow=workflow.name,
            definition=DefinitionRef(workflow.name, snapshot.definition),
            current_phase=decision.phase,
            raw_phase=decision.raw_phase,
            inferred=decision.inferred,
            overridden=decision.overridden,
            status=status,
            status_reason=suggestion.reason,
            phases=tuple(map(self._phase, workflow.phases.values())),
            suggestion=suggestion,
            gates=self.gates,
            plan=board,
            progress=self._progress(board),
            unknown_marks=snapshot.plan_facts.unknown,
            limits=limits,
            questions=open_questions(facts, decision),
            claims=snapshot.claims,
            notes=tuple(notes_of(facts)) if self.phase else (),
            parameters={n: v for n, v in values.items() if v != workflow.parameters[n].default},
            findings=(*of_run, *advisories, *budget_findings(facts)),
            revision="",
            reads={},
            home=snapshot.home,
        )

    def _failed_tasks(self) -> dict[str, Evidence]:
        failed = TaskTurns(self.facts).failed_tasks if self.snapshot.plan else {}
        return {name: self.evidence.of_record(entry) for name, entry in failed.items()}

    def _title(self) -> str:
        plan, runs = self.snapshot.plan, self.workflow.runs
        if plan and plan.title and runs.title_from == "plan":
            return plan.title
        state = self.snapshot.state
        named = state.data.get("title") or state.data.get("display_name") if state and state.valid else None
        if isinstance(named, str):
            return named
        # What `start` was told, where the workflow has no file yet that says it.
        starts = (e for e in self.snapshot.records if e["kind"] == RecordKind.START and e["workflow"])
        begun = str(next(starts, EMPTY_RECORD)["message"])
        # Of a run in a file, PATH#UNIT, the unit.
        between = "#" if runs.unit == "file" else "/"
        return begun or self.snapshot.run.rpartition(between)[2] or self.workflow.title

    def _suggestion(self) -> tuple[Suggestion, RunStatus]:
        """The next step and the status: those of the decision, unless no task at hand can start."""
        decision, kind, status = self.decision, self.decision.kind, self.decision.status
        reason, waiting_for = decision.reason, decision.waiting_for
        if status is RunStatus.ACTIVE and kind in (SuggestionKind.ADVANCE, SuggestionKind.STAY):
            why = deadlock_reason(self.schedule, self.snapshot)
            if why:
                status, kind, reason = RunStatus.BLOCKED, SuggestionKind.WAIT, why
                waiting_for = f"person: {why}"
        if decision.override_to:
            way = shell_word(decision.override_to)
            reason += f"; `phasekeeper override RUN --to {way}` takes it up again"
        target = self.workflow.phases.get(decision.to or decision.phase or "")
        next_phase = target.id if kind.is_work and target and decision.to else None
        guards = decision.guards
        if isinstance(self.workflow.phase, Expression) and self.phase and not guards:
            guards = (self.workflow.phase,)
        leads = decision.kind.leads_elsewhere or decision.kind is SuggestionKind.STAY
        names = [decision.to if leads else None, decision.action]
        for gate in decision.gates:
            names += allowed_steps(gate, self.workflow)
        allowed = tuple(dict.fromkeys(name for name in names if name))
        suggestion = Suggestion(
            kind=kind,
            suggested_next=decision.action if kind is SuggestionKind.ACT else next_phase,
            action=decision.action,
            reason=with_run(reason, self.snapshot.run or "."),
            evidence=(*self.evidence.of(*guards), *decision.evidence),
            allowed=allowed,
            forbidden=self._forbidden(allowed),
            waiting_for=waiting_for,
            override_to=decision.override_to,
        )
        if not kind.is_work:
            return suggestion, status
        action, due = self.workflow.actions.get(decision.action or ""), self.reports.due
        first = [name for name in (decision.action, decision.to) if name in due]
        # The suggested step first. What a person is asked for nobody else writes or reports.
        is_asked = target is not None and self._is_asked(target)
        steps = [step for step in dict.fromkeys((*first[:1], *due)) if self._is_moved_by(step)]
        return replace(
            suggestion,
            agents=action.agents if action and action.agents else target.agents if target else (),
            produce=() if is_asked else self._produce(target),
            tasks=self.schedule.ready,
            parallel=self.schedule.batches,
            reports=tuple(
                reportable(self.facts, step, self._tasks_of(step)) for step in steps if not is_asked
            ),
        ), status

    def _is_moved_by(self, step: str) -> bool:
        """True if a report of the step moves the run on.

        One of an end does not, nor one of a phase that is done and held back from the end, nor one of a phase
        whose work are actions while none of them is next, nor what a person ends, who is asked.
        """
        phase, decision = self.workflow.phases.get(step), self.decision
        if phase is None:
            return True
        is_of_actions = any(rule.act and not rule.to for rule in phase.rules)
        is_held = decision.is_held and step == decision.phase
        is_held |= bool(phase.terminal) or self._is_asked(phase)
        return not (is_held or (is_of_actions and decision.action is None))

    def _is_asked(self, phase: Phase) -> bool:
        """True if a person ends the phase, and is asked."""
        return "person" in phase.agents and self.decision.status is RunStatus.WAITING_HUMAN

    def _tasks_of(self, step: str) -> Sequence[str]:
        """The tasks that a report of a step may be of now: those at hand, where the step hands tasks out."""
        phase = self.workflow.phases.get(step)
        return self.schedule.ready if phase and phase.tasks is not None else ()

    def _forbidden(self, allowed: Sequence[str]) -> tuple[Forbidden, ...]:
        """Steps that gates in force forbid, and later phases that would be a skip (seed 002, section 4)."""
        if self.phase is None or self.decision.kind.is_final:
            return ()
        forbidden = [entry for gate in self.decision.gates if gate.in_force for entry in gate.forbidden]
        known = {*allowed, self.phase.id, *(entry.action for entry in forbidden)}
        later = (p for p in self.workflow.phases.values() if p.order > self.phase.order and not p.detour)
        return (*forbidden, *(Forbidden(p.id, "phases are not skipped") for p in later if p.id not in known))

    def _produce(self, target: Phase | None) -> tuple[Produce, ...]:
        """The files that the step lacks; all its files where it has each, but has to be done again."""
        names = target.produces if target else ()
        names = [name for name in names if not self.facts.checks_in_place_of(name)]
        lacking = [name for name in names if not self.facts.artifact(name).valid]
        again = self.decision.kind in (SuggestionKind.REGRESS, SuggestionKind.STAY)
        produce: list[Produce] = []
        for name in lacking or (names if again and not self.schedule.ready else ()):
            declared, artifact = self.workflow.artifacts[name], self.facts.artifact(name)
            # One of several kinds of files, named by a glob, may always be a new one.
            revise = declared.listed is None and artifact.exists and "*" not in artifact.path
            # What a verdict may say is told also where one has to be given anew.
            is_told = not revise or declared.kind == "json"
            example = declared.example if is_told and declared.example else None
            for path in (artifact.path,) if declared.listed is None else artifact.missing:
                produce.append(Produce(path, declared.schema or None, example, revise))
        return tuple(produce)

    def _phase(self, phase: Phase) -> PhaseState:
        artifacts = [self.facts.artifact(name) for name in phase.produces] if self.phase else []
        produces = tuple(DeliverableState(each.id, each.path, each.state) for each in artifacts)
        status = self._phase_status(phase, produces)
        basis, actors, files, _ = self._grounds_of(phase, status)
        return PhaseState(
            phase.id, phase.title, phase.agents, phase.order, status, produces, phase.checks,
            basis, actors, files,
        )  # fmt: skip

    def _grounds_of(self, phase: Phase, status: PhaseStatus) -> Grounds:
        """The grounds on which a phase is over; none where it is not."""
        if status not in (PhaseStatus.DONE, PhaseStatus.SKIPPED):
            return Grounds()
        gates = [gate for gate in self.gates if gate.after == phase.id and gate.basis]
        return self.bases.of_ended_phase(
            phase, [Grounds(g.basis, g.reported_by, g.reported_in) for g in gates]
        )

    def _phase_status(self, phase: Phase, produces: Sequence[DeliverableState]) -> PhaseStatus:
        if self.phase is not None and phase.id == self.phase.id:
            is_complete = self.decision.status is RunStatus.COMPLETE
            return PhaseStatus.DONE if is_complete else PhaseStatus.CURRENT
        if phase.detour:
            is_attested = self.phase and phase.attested and self.facts.context.holds(phase.attested)
            # Of a run that is over the whole way counts, not only its last stage.
            is_done = is_attested or (self.decision.kind.is_final and self._was_reported(phase))
            return PhaseStatus.DONE if is_done else PhaseStatus.DETOUR
        if phase.id in self.decision.skipped:
            return PhaseStatus.SKIPPED
        if self.phase is None or phase.order > self.phase.order:
            return PhaseStatus.AHEAD
        is_overridden = phase.id in self.facts.override.phases
        if is_overridden or (phase.skip and self.facts.context.holds(phase.skip)):
            return PhaseStatus.SKIPPED
        return PhaseStatus.DONE if all(entry.valid for entry in produces) else PhaseStatus.AHEAD

    def _was_reported(self, phase: Phase) -> bool:
        """True if a phase that a run took on its way was reported done at some time."""
        pattern = {"kind": RecordKind.REPORT.value, "phase": phase.id, "outcome": outcomes_of(phase)[0]}
        return bool(self.facts.context.records.pick(pattern))

    def _with_evidence(self, gate: GateState) -> GateState:
        if gate.status is GateStatus.NOT_REACHED:
            return gate
        pairs = [*zip(gate.criteria, self.workflow.gates[gate.id].criteria, strict=True)]
        facts = self.facts.facts_of_phase(self.workflow.gates[gate.id].after)
        evidence, bases, checks = self.evidence, self.bases, self.checks
        if facts is not self.facts:
            evidence, bases, checks = EvidenceCollector(facts), BasisCollector(facts), CheckCollector(facts)
        grounds = [Grounds() if c.met is None else bases.of(d.when) for c, d in pairs]
        criteria = tuple(
            CriterionState(c.text, c.met, evidence.of(d.when), ground.basis)
            for (c, d), ground in zip(pairs, grounds, strict=True)
        )
        basis, actors, files, _ = self.bases.of_gate(gate, grounds)
        asked = checks.of(*(declared.when for _, declared in pairs))
        return replace(
            gate, criteria=criteria, basis=basis, reported_by=actors, reported_in=files, checks=asked
        )

    def _limit(self, name: str) -> LimitState:
        known = (self.facts.context.fact(f"limits.{name}.{part}") for part in ("count", "max", "reached"))
        return LimitState(name, *(outcome.value for outcome in known))  # pyright: ignore[reportArgumentType]

    def _progress(self, board: TaskBoard | None) -> Progress | None:
        declared = self.workflow.progress
        if declared:
            done, total = (self.facts.context.value(e).value for e in (declared.done, declared.total))
            return Progress(done, total) if isinstance(done, int) and isinstance(total, int) else None
        plan = self.snapshot.plan_facts
        return Progress(plan.done + board.done_without_mark, plan.total) if board else None
