"""Where a run stands: its phase, its gates, and the first rule that holds (format, A.15).

`decide(sight)` is the whole of the decision; `evaluate` dresses it up for people and programs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..definition.model import Phase, Rule, Workflow
from ..expressions.context import Outcome
from ..expressions.language import Expression
from ..findings import Evidence, Fix
from ..result.values import GateState
from ..states import QuestionKind, RecordKind, RunStatus, SuggestionKind
from .current_phase import current_phase, phase_place
from .facts import RunFacts, answers_to
from .gates import blocking_gate, contradicting_gate, gate_states, unmet_criteria


@dataclass(frozen=True)
class Decision:
    """The decision. `status` and `kind` as in the design; `to` is a phase, `act` an action.

    `asked` are the questions that the winning rule opens. `guards` decided it; their values are its
    evidence. `lost` is the first earlier phase that has not delivered (the design's G).
    """

    status: RunStatus
    kind: SuggestionKind
    reason: str
    to: str | None = None
    act: str | None = None
    phase: str | None = None
    raw: str | None = None
    inferred: bool = False
    overridden: bool = False
    waiting: str | None = None
    asked: tuple[str, ...] = ()
    rule: Rule | None = None
    guards: tuple[Expression, ...] = ()
    extra: tuple[Evidence, ...] = ()
    gates: tuple[GateState, ...] = ()
    skipped: tuple[str, ...] = ()
    lost: str | None = None


# The records that an answer in words is spent by, and answers themselves.
_SAID = ("start", "report", "answer")
_INVALID = (RunStatus.INVALID, SuggestionKind.NONE)
_STAYS = (RunStatus.ACTIVE, SuggestionKind.STAY)
CHANGED = "the definition changed under the run"
ENDS: Mapping[str, str] = {
    "complete": "complete",
    "failed": "failed",
    "exited": "ended by its user",
    "blocked": "blocked",
}


def decide(facts: RunFacts) -> Decision:
    """Where the run stands. Never raises; findings go to the sight."""
    broken = _broken(facts)
    if broken:
        return Decision(*_INVALID, broken)
    named = current_phase(facts)
    if named.phase is None:
        return Decision(*_INVALID, named.because, raw=named.raw, inferred=named.inferred)
    facts.phase = named.phase.id
    trial = _RuleTrial(facts, named.phase)
    decision = trial.terminal() if named.phase.terminal else trial.ruled(named.because)
    return replace(
        decision, phase=named.phase.id, raw=named.raw, inferred=named.inferred, overridden=named.overridden,
        gates=trial.gates, skipped=tuple(trial.skipped), lost=trial.lost,
    )  # fmt: skip


def _broken(facts: RunFacts) -> str:
    """Why nothing can be said of the run, or ""."""
    snapshot = facts.snapshot
    if snapshot.journal.broken:
        return "the journal cannot be trusted; `phasekeeper repair` mends it"
    state = snapshot.state
    if state is not None and not state.valid:
        return f"{state.path} is {state.state}"
    return f"{snapshot.unread} cannot be read; it may hold a failure" if snapshot.unread else ""


class _RuleTrial:
    """The rules of one phase, tried on one sight."""

    def __init__(self, facts: RunFacts, phase: Phase):
        self.facts, self.phase = facts, phase
        self.workflow: Workflow = facts.workflow
        self.gates = gate_states(facts, phase)
        self.lost = self._lost()
        self.skipped: list[str] = []

    # ---- consistency

    def _lost(self) -> str | None:
        """The first earlier phase that has not delivered what it must."""
        override = self.facts.override
        waived = override.phases if override.waives(self.facts.stage) else frozenset()
        earlier = (p for p in self.workflow.phases.values() if p.order < self.phase.order and not p.detour)
        return next((p.id for p in earlier if p.id not in waived and self._missing(p)), None)

    def _missing(self, phase: Phase) -> list[str]:
        return [name for name in phase.produces if not self.facts.held(name).valid]

    def _undelivered(self, phase: str) -> str:
        missing = self._missing(self.workflow.phases[phase])
        said = (f"{name} ({self.facts.held(name).state})" for name in missing)
        return f"{phase} has not delivered " + ", ".join(said)

    def _unproven(self) -> GateState | None:
        return contradicting_gate(self.facts, self.gates, self.phase)

    def _contradicts(self, why: str, *fixes: Fix) -> None:
        path, span = phase_place(self.facts)
        said = f"the phase is {self.phase.id}, but {why}"
        self.facts.tell("inconsistent-state", path, said, span, fixes)

    def _tell_lost(self, lost: str) -> None:
        """Tell that the recorded phase is ahead, with both ways to mend it (seed 002, section 7)."""
        held = {name: self.facts.held(name) for name in self._missing(self.workflow.phases[lost])}
        missing = ", ".join(f"{name} is {one.state}" for name, one in held.items())
        run = self.facts.snapshot.run
        again = Fix(f"run {self.phase.id} again", ("redo", run, self.phase.id))
        back = Fix(f"roll back to {lost}", ("redo", run, lost))
        # An end is no work that could be done again.
        fixes = (back,) if self.phase.terminal else (again, back)
        self._contradicts(f"{lost} has not delivered: {missing}", *fixes)

    # ---- the outcome

    def terminal(self) -> Decision:
        """A phase that ends the run; named without its evidence, it is a claim and no end."""
        where, attested = f"phases.{self.phase.id}.attested", self.phase.attested
        if attested is not None and self.facts.holds(where, attested):
            return self._ended()
        if self.lost:
            self._tell_lost(self.lost)
            return self._not_ended(self.lost, self._undelivered(self.lost))
        gate = self._unproven()
        if gate:
            back = Fix(f"roll back to {gate.after}", ("redo", self.facts.snapshot.run, gate.after))
            state = f"gate {gate.id} of {gate.after} is {gate.status}"
            self._contradicts(f"{state}, {unmet_criteria(gate)}", back)
            return self._not_ended(gate.after, state)
        if self.phase.terminal == RunStatus.COMPLETE and self._changed():
            return self._same(Decision(*_STAYS, CHANGED))
        return self._ended()

    def _ended(self) -> Decision:
        status = RunStatus(self.phase.terminal)
        return Decision(status, SuggestionKind.STOP, f"the run is {ENDS[status]}")

    def _not_ended(self, back: str, why: str) -> Decision:
        asked = (r.ask for r in self.phase.rules if r.ask and self.facts.holds(r.where, r.when))
        open_questions = tuple(ask for ask in asked if not self._spoken(ask))
        reason = f"{self.phase.id} is recorded, but {why}"
        return Decision(RunStatus.ACTIVE, SuggestionKind.REGRESS, reason, to=back, asked=open_questions)

    def ruled(self, because: str) -> Decision:
        """What the first rule that holds comes to; with none the phase goes on, and `because` may say why."""
        if self.lost:
            self._tell_lost(self.lost)
        stopped = self._stopped()
        if stopped:
            return stopped
        for rule in self.workflow.rules_of(self.phase.id):
            decision = self._outcome(rule) if self.facts.holds(rule.where, rule.when) else None
            if decision is not None:
                return decision
        return self._stay(because)

    def _changed(self) -> bool:
        """Whether the definition changed under the run and nobody has said that this is right."""
        return self.facts.snapshot.definition_changed

    def _stopped(self) -> Decision | None:
        """A person answered an agent's own question with `stop`, and nothing was said or done since."""
        newest = self.facts.records[-1] if self.facts.records else None
        if newest is None or newest["kind"] != RecordKind.ANSWER or newest["option"] != "stop":
            return None
        if not str(newest["question"]).startswith("raised:"):
            return None
        return Decision(
            RunStatus.BLOCKED,
            SuggestionKind.STOP,
            f"a person stopped the run: {newest['why'] or 'no reason was given'}",
        )

    def _outcome(self, rule: Rule) -> Decision | None:
        """What a rule that holds comes to; None if it names something unknown or was answered."""
        reason = self.facts.text(rule.because, "no reason is given")
        asked = (rule.ask,) if rule.ask and not self._spoken(rule.ask) else ()
        if rule.warn:
            path, span = phase_place(self.facts)
            reads = [".".join(read.path) for read in rule.when.reads] if rule.when else []
            self.facts.tell(rule.warn, path, reason, span, data={"reads": reads})
        guards = (rule.when,) if rule.when else ()
        made = Decision(*_STAYS, reason, rule=rule, guards=guards, asked=asked)
        if rule.to is not None:
            return self._to(rule, made)
        if rule.act is not None:
            return self._act(rule, made)
        if rule.wait:
            return self._wait(rule, made)
        if rule.stop:
            return self._stop(rule, made)
        return self._ask(rule.ask, made) if asked else None

    def _wait(self, rule: Rule, made: Decision) -> Decision:
        """For a person in words, unless the words came and nothing was done since: then the phase goes on."""
        words = self._clarified() if rule.wait == "person" and not rule.ask else ""
        if words:
            return replace(
                made, kind=SuggestionKind.STAY, to=self.phase.id, reason=f"a person answered: {words}"
            )
        status = RunStatus.WAITING_HUMAN if rule.wait == "person" else RunStatus.WAITING
        return replace(made, status=status, kind=SuggestionKind.WAIT, waiting=f"{rule.wait}: {made.reason}")

    def _clarified(self) -> str:
        newest = next((e for e in reversed(self.facts.records) if e["kind"] in _SAID), None)
        answered = newest is not None and newest["question"] == f"clarification:{self.phase.id}"
        return str(newest["option"]) if answered and newest else ""

    def _ask(self, name: str, made: Decision) -> Decision:
        question = self.workflow.questions[name]
        if self.lost and question.kind == QuestionKind.APPROVAL:
            # Nobody approves what rests on work that is not there.
            return self._back(self.lost, replace(made, asked=()))
        kind = SuggestionKind.WAIT if question.kind == QuestionKind.APPROVAL else SuggestionKind.ESCALATE
        said = f"person: {self.facts.text(question.ask)}"
        return replace(made, status=RunStatus.WAITING_HUMAN, kind=kind, waiting=said)

    def _to(self, rule: Rule, made: Decision) -> Decision | None:
        assert rule.to
        name = self.facts.context.text(rule.to)
        target = self.workflow.phases.get((self._next() if name == "next" else name) or "")
        if target is None:
            path, span = phase_place(self.facts)
            said = "the next phase, and there is none" if name == "next" else f"{name!r}, which is no phase"
            self.facts.tell("unknown-phase", path, f"{rule.where} leads to {said}", span)
            return None
        kept = self._held_back(target, made)
        if kept:
            return kept
        act = self._action(rule, quietly=True) if rule.act is not None else None
        if target.order == self.phase.order:
            return self._same(replace(made, act=act))
        kind = SuggestionKind.ADVANCE if target.order > self.phase.order else SuggestionKind.REGRESS
        return replace(made, kind=kind, to=target.id, act=act)

    def _held_back(self, target: Phase, made: Decision) -> Decision | None:
        """What happens instead where a gate, or what is undelivered, keeps the run from the phase."""
        # A detour is no way forward: neither gates nor what is undelivered hold it back.
        ahead = target.order > self.phase.order and not target.detour
        if self.lost and not target.detour and target.order >= self.phase.order:
            return self._back(self.lost, made)
        gate = blocking_gate(self.gates, self.phase) if ahead else None
        if gate is None and target.terminal == RunStatus.COMPLETE:
            gate = self._unproven()
        return self._kept(gate, made) if gate else None

    def _same(self, made: Decision) -> Decision:
        """The phase goes on; one that a person does waits for that person."""
        made = replace(made, status=RunStatus.ACTIVE, kind=SuggestionKind.STAY, to=self.phase.id)
        if "person" not in self.phase.agents:
            return made
        return replace(made, status=RunStatus.WAITING_HUMAN, waiting=made.waiting or f"person: {made.reason}")

    def _back(self, lost: str, made: Decision) -> Decision:
        reason = f"{self._undelivered(lost)}; roll back to it, or run {self.phase.id} again"
        return replace(
            made, status=RunStatus.ACTIVE, kind=SuggestionKind.REGRESS, reason=reason, to=lost, rule=None
        )

    def _kept(self, gate: GateState, made: Decision) -> Decision:
        reason = f"gate {gate.id} is {gate.status}, {unmet_criteria(gate) or f'since {CHANGED}'}"
        guards = tuple(c.when for g in self.workflow.gates if g.id == gate.id for c in g.criteria)
        return self._same(replace(made, reason=reason, rule=None, guards=guards))

    def _next(self) -> str | None:
        """The next phase in order: no detour, and none that its guard lets pass over (seed 001, canSkip)."""
        for phase in self.workflow.phases.values():
            if phase.order <= self.phase.order or phase.detour:
                continue
            if phase.skip is None or not self.facts.holds(f"phases.{phase.id}.skip", phase.skip):
                return phase.id
            self.skipped.append(phase.id)
            why = self.facts.text(phase.skip_because, "its condition to be skipped holds")
            path, span = phase_place(self.facts)
            self.facts.tell("phase-skipped", path, f"{phase.id} is passed over: {why}", span)
        return None

    def _act(self, rule: Rule, made: Decision) -> Decision | None:
        name = self._action(rule)
        if name is None:
            return None
        person = self.workflow.actions[action_of(self.workflow, name)].person
        waiting = f"person: {person}" if person else None
        return replace(made, kind=SuggestionKind.ACT, act=name, waiting=waiting)

    def _action(self, rule: Rule, quietly: bool = False) -> str | None:
        """The action that a rule names; one that is unknown, or whose precondition does not hold, is told."""
        assert rule.act
        said = self.facts.context.text(rule.act)
        name = self.workflow.action_aliases.get(said or "", said)
        pattern = action_of(self.workflow, name or "")
        path, span = phase_place(self.facts)
        if name is None or not pattern:
            unknown = f"{rule.where} names the action {name!r}, which is unknown"
            self.facts.tell("unknown-action", path, unknown, span)
            return None
        action = self.workflow.actions[pattern]
        if not quietly and not self.facts.holds(f"actions.{pattern}.when", action.when):
            early = f"{name} is next, but its own precondition does not hold"
            self.facts.tell("action-precondition", path, early, span)
        return name

    def _stop(self, rule: Rule, made: Decision) -> Decision:
        if rule.stop == RunStatus.COMPLETE:
            if self.lost:
                return self._back(self.lost, made)
            gate = blocking_gate(self.gates, self.phase) or self._unproven()
            if gate:
                return self._kept(gate, made)
            if self._changed():
                return self._same(replace(made, reason=CHANGED, rule=None))
        status = RunStatus(rule.stop)
        kind = SuggestionKind.NONE if status is RunStatus.INVALID else SuggestionKind.STOP
        return replace(made, status=status, kind=kind)

    def _stay(self, because: str) -> Decision:
        """No rule holds: the reason is what is still missing, else what the phase's own rule said."""
        if self.lost:
            return self._back(self.lost, Decision(RunStatus.ACTIVE, SuggestionKind.REGRESS, ""))
        held = {name: self.facts.held(name) for name in self._missing(self.phase)}
        shown = (f"{name} is {one.state} ({one.path})" for name, one in held.items())
        reason = ", ".join(shown) or because or f"{self.phase.title} is to be done"
        extra = tuple(Evidence(f"valid.{name}", False, one.path, None) for name, one in held.items())
        return self._same(Decision(*_STAYS, reason, waiting=self._person(), extra=extra))

    def _person(self) -> str | None:
        return f"person: {self.phase.title}" if "person" in self.phase.agents else None

    def _spoken(self, question_id: str) -> bool:
        """Whether the question was answered and nothing was reported in its scope since: the answer holds."""
        question = self.workflow.questions[question_id]
        outcome = Outcome("") if question.scope is None else self.facts.context.value(question.scope)
        if outcome.error is not None:
            return False
        newest = self.facts.answered(question)
        if newest is None or (question.about and newest["about"] != self.facts.substance(question.about)):
            return False
        scope = str(outcome.value)
        later = self.facts.context.records.since(answers_to(question, scope), {"kind": "report"})
        stages = {stage["id"] for stage in self.facts.snapshot.parts.stages}
        return not any(scope not in stages or entry["stage"] == scope for entry in later)


def action_of(workflow: Workflow, name: str) -> str:
    """The id under which an action is declared; one trailing * stands for any ending. "" if it is unknown."""
    if name in workflow.actions:
        return name
    return next((a for a in workflow.actions if a.endswith("*") and name.startswith(a[:-1])), "")
