"""The decision procedure: phase, gates, what earlier phases owe, the first rule that holds (format, A.15).

`decide(facts)` is the whole of it; `evaluation` adds to a decision what people and programs read beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..definition.model import DEFAULT_OUTCOMES, Action, Phase, Rule, Workflow
from ..definition.names import PROPOSED
from ..expressions.context import Outcome
from ..expressions.language import Expression
from ..findings import NO_DATA, Evidence, Finding, Fix
from ..journal.journal import Record, answers_to, raised_stop
from ..result.values import GateState
from ..states import QuestionKind, RecordKind, RunStatus, SuggestionKind
from .basis import end_phrase
from .brings import artifact_words
from .current_phase import CurrentPhase, current_phase, phase_place, ways_back
from .facts import RunFacts, make_finding
from .gates import blocking_gate, contradicting_gate, gate_states, unmet_criteria
from .lost_work import lost_work_reason


@dataclass(frozen=True)
class Decision:
    """The place of a run and its next step. `to` is a phase, `action` an action.

    `questions` are those that the winning rule opens. `guards` are the expressions that decided; their values
    are its evidence, with `evidence` beside them. `undelivered` is the first earlier phase that has not
    delivered what it produces (the design's G). `skipped` are the phases that are passed over on the way,
    `withheld` questions about what is not there. `is_held`: the phase is done, and no report mends the rest.
    `override_to` is the phase at which an override takes up what a person stopped.
    """

    status: RunStatus
    kind: SuggestionKind
    reason: str
    to: str | None = None
    action: str | None = None
    waiting_for: str | None = None
    questions: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()
    rule: Rule | None = None
    guards: tuple[Expression, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    phase: str | None = None
    raw_phase: str | None = None
    inferred: bool = False
    overridden: bool = False
    gates: tuple[GateState, ...] = ()
    skipped: tuple[str, ...] = ()
    undelivered: str | None = None
    findings: tuple[Finding, ...] = ()
    is_held: bool = False
    override_to: str | None = None


# A person's answer in words holds until one of these is recorded.
_ENDS_CLARIFICATION = (RecordKind.START, RecordKind.REPORT, RecordKind.ANSWER)
_INVALID = (RunStatus.INVALID, SuggestionKind.NONE)
_STAY = (RunStatus.ACTIVE, SuggestionKind.STAY)
CHANGED = "the definition changed under the run"


def decide(facts: RunFacts) -> Decision:
    """Decide where the run stands. Never raises. Sets `facts.phase` once the phase is known."""
    snapshot, state = facts.snapshot, facts.snapshot.state
    if snapshot.journal.broken:
        why = snapshot.journal.unread or "the journal cannot be trusted; `phasekeeper repair` mends it"
        return Decision(*_INVALID, why)
    if state is not None and not state.valid:
        return Decision(*_INVALID, f"{state.path} is {state.state}")
    if snapshot.unread:
        return Decision(*_INVALID, f"{snapshot.unread} cannot be read; it may hold a failure")
    current = current_phase(facts)
    named = {"raw_phase": current.raw, "inferred": current.inferred, "findings": current.findings}
    if current.phase is None:
        return Decision(*_INVALID, current.because, **named)
    facts.phase = current.phase.id
    procedure, decision = _follow(facts, current)
    if (
        facts.asks_checks
        and decision.status is not RunStatus.COMPLETE
        and facts.keep_checks(current.phase.id)
    ):
        # What was complete when it was recorded stays so, whatever is saved later.
        kept, then = _follow(facts, current)
        if then.status is RunStatus.COMPLETE:
            procedure, decision = kept, then
        else:
            facts.release_checks()
    named["findings"] += tuple(procedure.findings)
    return replace(
        decision, phase=current.phase.id, overridden=current.overridden, gates=procedure.gates,
        skipped=tuple(procedure.skipped), undelivered=procedure.undelivered, **named,
    )  # fmt: skip


def _follow(facts: RunFacts, current: CurrentPhase) -> tuple[_Procedure, Decision]:
    """The rules of the current phase, followed."""
    assert current.phase
    procedure = _Procedure(facts, current.phase)
    if current.phase.terminal:
        return procedure, procedure.end()
    return procedure, _wait_for_escalation(procedure.try_rules(current.because), facts)


def raised_questions(facts: RunFacts) -> list[Record]:
    """The questions that agents put to a person and that nobody answered."""
    answered = {str(entry["question"]) for entry in facts.records if entry["kind"] == RecordKind.ANSWER}
    asked = (entry for entry in facts.records if entry["kind"] == RecordKind.QUESTION)
    return [entry for entry in asked if f"raised:{entry['seq']}" not in answered]


def _wait_for_escalation(decision: Decision, facts: RunFacts) -> Decision:
    """A decision that waits for the answer to what an agent asked; nothing counts until then.

    A run that is over otherwise than complete, or of which nothing can be said, is asked nothing any more.
    """
    raised = raised_questions(facts)
    if not raised or ended_without_completing(decision) or decision.kind is SuggestionKind.NONE:
        return decision
    asked = str(raised[0]["message"] or raised[0]["why"])
    reason = asked if raised[0]["outcome"] == RecordKind.REFUSED else f"an agent asks a person: {asked}"
    held = {"status": RunStatus.WAITING_HUMAN, "kind": SuggestionKind.ESCALATE, "to": None, "action": None}
    return replace(decision, **held, reason=reason, waiting_for=f"person: {asked}")


def ended_without_completing(decision: Decision) -> bool:
    """True if the run ended in another way than complete: it failed, was ended, or a person blocked it."""
    return decision.kind == SuggestionKind.STOP and decision.status != RunStatus.COMPLETE


class _Procedure:
    """The rules of one phase, tried on the facts of one run. `findings` grow while they are tried."""

    def __init__(self, facts: RunFacts, phase: Phase):
        self.facts, self.phase = facts, phase
        self.workflow: Workflow = facts.workflow
        self.gates = gate_states(facts, phase)
        self.skipped: list[str] = []
        self.findings: list[Finding] = []
        override = facts.override
        waived = override.phases if override.waives(facts.stage) else frozenset()
        earlier = (p for p in self.workflow.phases.values() if p.order < phase.order and not p.detour)
        owed = (p.id for p in earlier if p.id not in waived and self.missing(p.id))
        # A detour, as to take a change back, builds on nothing that was delivered before.
        self.undelivered = None if phase.detour else next(owed, None)

    def missing(self, phase: str) -> list[str]:
        """The artifacts that a phase has to produce and that are not valid."""
        facts = self.facts.facts_of_phase(phase)
        return [name for name in self.workflow.phases[phase].produces if not facts.artifact(name).valid]

    def report(
        self, code: str, message: str, fixes: Sequence[Fix] = (), data: Mapping[str, Any] = NO_DATA
    ) -> None:
        """Add a finding at the place that names the run's phase."""
        path, span = phase_place(self.facts)
        self.findings.append(make_finding(code, path, message, span, fixes, data))

    def warn(self, rule: Rule, reason: str, data: Mapping[str, Any]) -> None:
        """Add the finding of a rule: at the places that it names, else where the phase is named."""
        named = self.facts.context.value(rule.at).value if rule.at else None
        places = (
            [each for each in named if isinstance(each, list) and each] if isinstance(named, list) else []
        )
        if not places:
            self.report(rule.warn, reason, data=data)
        for names in places:
            path, span = self.facts.place([each if type(each) is int else str(each) for each in names])
            where = path or self.facts.snapshot.place.itself
            self.findings.append(make_finding(rule.warn, where, reason, span, data=data))

    # ---- a phase that ends the run

    def end(self) -> Decision:
        """The end of the run, unless it is named without its evidence: then it is a claim and no end."""
        phase, facts = self.phase, self.facts
        status = RunStatus(phase.terminal)
        became = facts.text(phase.because) or end_phrase(facts, status, phase.id)
        ended = Decision(status, SuggestionKind.STOP, became)
        is_held = status is RunStatus.COMPLETE and facts.snapshot.is_doubtful
        where = f"phases.{phase.id}.attested"
        if not is_held and phase.attested is not None and facts.holds(where, phase.attested):
            return ended
        if self.undelivered:
            self.report_undelivered(self.undelivered)
            return self._regress(self.undelivered, self._owes(self.undelivered))
        gate = contradicting_gate(facts, self.gates, phase)
        if gate:
            why = f"gate {gate.id} of {gate.after} is {gate.status}"
            message = f"the phase is {phase.id}, but {why}, {unmet_criteria(gate)}"
            self.report_ahead(message, {gate.after: f"roll back to {gate.after}"})
            return self._regress(gate.after, why)
        if is_held:
            return self.hold(Decision(*_STAY, ""), self._doubt())
        if status is RunStatus.COMPLETE and facts.snapshot.definition_changed:
            return self.hold(Decision(*_STAY, ""), CHANGED)
        if status is RunStatus.COMPLETE and (why := lost_work_reason(facts)):
            return self.hold(Decision(*_STAY, ""), why)
        return ended

    def _regress(self, back: str, why: str) -> Decision:
        """Back from an end without evidence. Nobody is asked about what is not there; a person may answer."""
        asked = (r.ask for r in self.phase.rules if r.ask and self.facts.holds(r.where, r.when))
        split: dict[bool, list[str]] = {True: [], False: []}
        for name in (ask for ask in asked if not self.is_answered(ask)):
            about = [self.facts.artifact(each) for each in self.workflow.questions[name].about]
            split[bool(about) and not any(artifact.exists for artifact in about)].append(name)
        more = f"; a person may answer {', '.join(split[True])} without it" if split[True] else ""
        draft = self.go_back(back, Decision(*_STAY, ""))
        draft = replace(draft, reason=f"{self.phase.id} is recorded, but {why}{more}")
        return replace(draft, questions=tuple(split[False]), withheld=tuple(split[True]))

    def report_undelivered(self, phase: str) -> None:
        """Report that the recorded phase is ahead, and the one to go back to (seed 002, section 7); its other
        way, the recorded phase again, would bring nothing of what an earlier one owes."""
        missing = ", ".join(f"{name} is {self.facts.artifact(name).state}" for name in self.missing(phase))
        owed = [self.facts.artifact(name).path for name in self.missing(phase)]
        because = f"the phase is {self.phase.id}, but {phase} has not delivered: {missing}"
        self.report_ahead(because, {phase: f"roll back to {phase}"}, owed)

    def report_ahead(self, message: str, phases: Mapping[str, str], owed: Sequence[str] = ()) -> None:
        """Report that the recorded phase is ahead; `phases` are those to go back to, with their titles."""
        ways = ways_back(self.workflow, self.facts.snapshot.run, phase_place(self.facts)[0], phases, owed)
        self.report("inconsistent-state", message, ways, {"phases": phases})

    def _owes(self, phase: str) -> str:
        missing = (f"{name} ({self.facts.artifact(name).state})" for name in self.missing(phase))
        return f"{phase} has not delivered " + ", ".join(missing)

    def _doubt(self) -> str:
        """The sentence that unknown or contradicted words hold the run back from its end."""
        unknown, told = self.facts.snapshot.unknown_words, self.facts.snapshot.contradictions
        listed = ", ".join(
            f"{'.'.join(path[1:]).replace('.[]', '[]')} in {where}"
            for path, where in (unknown or told).items()
        )
        if unknown:
            return f"a word that nobody knows stands at {listed}; it has to be a known one"
        return f"files contradict each other or themselves at {listed}; they have to agree"

    # ---- rules

    def try_rules(self, because: str) -> Decision:
        """Follow the first rule that holds; with none the phase goes on, and `because` may say why."""
        if self.undelivered:
            self.report_undelivered(self.undelivered)
        if answer := raised_stop(self.facts.records):
            why = f"a person stopped the run: {answer['why'] or 'no reason was given'}"
            return Decision(RunStatus.BLOCKED, SuggestionKind.STOP, why, override_to=self.phase.id)
        for rule in self.workflow.rules_of(self.phase.id):
            decision = self.follow(rule) if self.facts.holds(rule.where, rule.when) else None
            if decision is not None:
                return decision
        if self.undelivered:
            return self.go_back(self.undelivered, Decision(*_STAY, ""))
        missing = {name: self.facts.artifact(name) for name in self.missing(self.phase.id)}
        lacking = ", ".join(artifact_words(self.facts, name) for name in missing)
        reason = lacking or because or f"{self.phase.title} is to be done"
        evidence = tuple(Evidence(f"valid.{name}", False, each.path, None) for name, each in missing.items())
        person = f"person: {self.phase.title}" if "person" in self.phase.agents else None
        return self.stay(Decision(*_STAY, reason, waiting_for=person, evidence=evidence))

    def follow(self, rule: Rule) -> Decision | None:
        """Follow a rule that holds; None where it names an unknown phase or asks what is answered."""
        reason = self.facts.text(rule.because, "no reason is given")
        questions = (rule.ask,) if rule.ask and not self.is_answered(rule.ask) else ()
        if rule.warn:
            reads = [".".join(read.path) for read in rule.when.reads] if rule.when else []
            self.warn(rule, reason, {"reads": reads})
        guards = (rule.when,) if rule.when else ()
        draft = Decision(*_STAY, reason, rule=rule, guards=guards, questions=questions)
        if rule.to is not None:
            return self.go_to(rule, draft)
        if rule.act is not None:
            return self.act(rule, draft)
        if rule.wait:
            return self.wait(rule, draft)
        if rule.stop:
            return self.stop(rule, draft)
        return self.ask(rule.ask, draft) if questions else None

    def go_to(self, rule: Rule, draft: Decision) -> Decision | None:
        """Lead the run to a phase, unless something holds it back. The order matters (format, A.15).

        A name that is no phase's is reported. A detour is no way forward, so neither gates nor undelivered
        work hold a run back from one.
        """
        name = self.facts.context.text(rule.to) if rule.to else None
        target = self.workflow.phases.get((self.next_phase() if name == "next" else name) or "")
        if target is None:
            what = "the next phase, and there is none" if name == "next" else f"{name!r}, which is no phase"
            self.report("unknown-phase", f"{rule.where} leads to {what}")
            return None
        if self.undelivered and not target.detour and target.order >= self.phase.order:
            return self.go_back(self.undelivered, draft)
        ahead = target.order > self.phase.order
        gate = blocking_gate(self.gates, self.phase) if ahead and not target.detour else None
        if gate is None and target.terminal == RunStatus.COMPLETE:
            gate = contradicting_gate(self.facts, self.gates, self.phase)
        if gate is not None:
            return self.hold_at(gate, draft)
        if target.terminal == RunStatus.COMPLETE and self.facts.snapshot.is_doubtful:
            return self.hold(draft, self._doubt())
        if rule.act is not None:
            draft = replace(draft, action=self.action(rule))
        if target.order == self.phase.order:
            return self.stay(draft)
        if draft.questions and "person" in target.agents:
            draft = self.ask(draft.questions[0], draft)
        return replace(draft, kind=SuggestionKind.ADVANCE if ahead else SuggestionKind.REGRESS, to=target.id)

    def stop(self, rule: Rule, draft: Decision) -> Decision:
        """End the run; what holds it back from a phase holds it back from being complete."""
        status = RunStatus(rule.stop)
        if status is RunStatus.COMPLETE:
            if self.undelivered:
                return self.go_back(self.undelivered, draft)
            gate = blocking_gate(self.gates, self.phase)
            if gate := gate or contradicting_gate(self.facts, self.gates, self.phase):
                return self.hold_at(gate, draft)
            if self.facts.snapshot.is_doubtful:
                return self.hold(draft, self._doubt())
            if self.facts.snapshot.definition_changed:
                return self.hold(draft, CHANGED)
            if why := lost_work_reason(self.facts):
                return self.hold(draft, why)
        kind = SuggestionKind.NONE if status is RunStatus.INVALID else SuggestionKind.STOP
        way_on = self.phase.id if self.facts.is_stopped_by(rule) else None
        return replace(draft, status=status, kind=kind, override_to=way_on)

    def go_back(self, phase: str, draft: Decision) -> Decision:
        """Back to a phase that owes what it produces."""
        reason = f"{self._owes(phase)}; roll back to it"
        draft = replace(draft, status=RunStatus.ACTIVE, kind=SuggestionKind.REGRESS, rule=None)
        return replace(draft, reason=reason, to=phase)

    def hold_at(self, gate: GateState, draft: Decision) -> Decision:
        """Stay, since a gate is not passed; its criteria are the evidence."""
        reason = f"gate {gate.id} is {gate.status}, {unmet_criteria(gate) or f'since {CHANGED}'}"
        guards = tuple(criterion.when for criterion in self.workflow.gates[gate.id].criteria)
        return self.stay(replace(draft, reason=reason, rule=None, guards=guards))

    def hold(self, draft: Decision, why: str) -> Decision:
        """Stay short of the end of the run, although the phase is done."""
        return replace(self.stay(replace(draft, reason=why, rule=None)), is_held=True)

    def stay(self, draft: Decision) -> Decision:
        """The phase goes on; one that a person does waits for that person."""
        draft = replace(draft, status=RunStatus.ACTIVE, kind=SuggestionKind.STAY, to=self.phase.id)
        if "person" not in self.phase.agents:
            return draft
        waiting_for = draft.waiting_for or f"person: {draft.reason}"
        return replace(draft, status=RunStatus.WAITING_HUMAN, waiting_for=waiting_for)

    def act(self, rule: Rule, draft: Decision) -> Decision | None:
        """The action that a rule names, None for an unknown one; a precondition that fails is reported."""
        name = self.action(rule)
        if name is None:
            return None
        declared = action_of(self.workflow, name)
        action = self.workflow.actions[declared]
        if not self.facts.holds(f"actions.{declared}.when", action.when):
            self.report("action-precondition", f"{name} is next, but its own precondition does not hold")
        waiting_for = f"person: {action.person}" if action.person else None
        return replace(draft, kind=SuggestionKind.ACT, action=name, waiting_for=waiting_for)

    def action(self, rule: Rule) -> str | None:
        """The name of the action that a rule names; an unknown one is reported."""
        word = self.facts.context.text(rule.act) if rule.act else None
        name = self.workflow.action_aliases.get(word or "", word)
        if name and action_of(self.workflow, name):
            return name
        self.report("unknown-action", f"{rule.where} names the action {name!r}, which is unknown")
        return None

    def wait(self, rule: Rule, draft: Decision) -> Decision:
        """Wait for a job or a person; not for a person's words that came and hold: then the phase goes on."""
        for_person = rule.wait == "person"
        if for_person and not rule.ask:
            newest = self.facts.newest_record(_ENDS_CLARIFICATION)
            if newest and newest["question"] == f"clarification:{self.phase.id}" and newest["option"]:
                said = f"a person answered: {newest['option']}"
                return replace(draft, kind=SuggestionKind.STAY, to=self.phase.id, reason=said)
        status = RunStatus.WAITING_HUMAN if for_person else RunStatus.WAITING
        waiting_for = f"{rule.wait}: {draft.reason}"
        return replace(draft, status=status, kind=SuggestionKind.WAIT, waiting_for=waiting_for)

    def ask(self, name: str, draft: Decision) -> Decision:
        """Wait for a person's answer. Nobody approves what rests on work that is not there."""
        question = self.workflow.questions[name]
        is_approval = question.kind == QuestionKind.APPROVAL
        if self.undelivered and is_approval:
            return self.go_back(self.undelivered, replace(draft, questions=()))
        kind = SuggestionKind.WAIT if is_approval else SuggestionKind.ESCALATE
        waiting_for = f"person: {self.facts.text(question.ask)}"
        return replace(draft, status=RunStatus.WAITING_HUMAN, kind=kind, waiting_for=waiting_for)

    def next_phase(self) -> str | None:
        """The next phase in order: no detour, and none that its guard lets pass over (seed 001, canSkip)."""
        for phase in self.workflow.phases.values():
            if phase.order <= self.phase.order or phase.detour:
                continue
            if phase.skip is None or not self.facts.holds(f"phases.{phase.id}.skip", phase.skip):
                return phase.id
            self.skipped.append(phase.id)
            why = self.facts.text(phase.skip_because, "its condition to be skipped holds")
            self.report("phase-skipped", f"{phase.id} is passed over: {why}")
        return None

    def is_answered(self, question_id: str) -> bool:
        """True if a question has an answer that holds: nothing was reported in its scope since."""
        question = self.workflow.questions[question_id]
        outcome = Outcome("") if question.scope is None else self.facts.context.value(question.scope)
        facts, scope = self.facts, str(outcome.value)
        newest = facts.newest_answer(question) if outcome.error is None else None
        # Where a file is to be signed it decides; one that nobody signed asks.
        if newest is None or newest["option"] == PROPOSED or facts.proposed_decisions(question):
            return False
        if not facts.holds_for(newest, question):
            return False
        pattern, reports = answers_to(question.id, scope, question.answers), {"kind": RecordKind.REPORT}
        later = facts.context.records.since(pattern, reports)
        stages = {stage["id"] for stage in facts.snapshot.plan_facts.stages}
        return not any(scope not in stages or entry["stage"] == scope for entry in later)


def step_of(workflow: Workflow, name: str) -> Phase | Action | None:
    """The phase or action that a name means; None where the workflow has none."""
    return workflow.phases.get(name) or workflow.actions.get(action_of(workflow, name))


def outcomes_of(step: Phase | Action | None) -> tuple[str, ...]:
    """What a report of a step may say; the first calls it done."""
    return step.outcomes if isinstance(step, Phase) else DEFAULT_OUTCOMES


def action_of(workflow: Workflow, name: str) -> str:
    """The id under which an action is declared; one trailing * stands for any ending. "" if it is unknown."""
    if name in workflow.actions:
        return name
    return next((a for a in workflow.actions if a.endswith("*") and name.startswith(a[:-1])), "")
