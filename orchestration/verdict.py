"""Where a run stands: its phase, its gates, and the first rule that holds (format, A.15).

`decide(sight)` is the whole of the decision; `evaluate` dresses it up for people and programs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from .evaluation import CriterionState, Forbidden, GateState
from .findings import Evidence, Fix, Span
from .guards import Expression, Outcome
from .journal import Record
from .sight import Seen, Sight, answers_to
from .workflow import Gate, Phase, Rule, Workflow


@dataclass(frozen=True)
class Verdict:
    """The decision. `status` and `kind` as in the design; `to` is a phase, `act` an action.

    `asked` are the questions that the winning rule opens. `guards` decided it; their values are its
    evidence. `lost` is the first earlier phase that has not delivered (the design's G).
    """

    status: str
    kind: str
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


CHANGED = "the definition changed under the run"


def decide(sight: Sight) -> Verdict:
    """Where the run stands. Never raises; findings go to the sight."""
    return _Decision(sight).verdict()


class Override:
    """The newest override, and what it still waives."""

    def __init__(self, sight: Sight):
        records = sight.records
        at = max((i for i, entry in enumerate(records) if entry["kind"] == "override"), default=-1)
        self.record: Record | None = records[at] if at >= 0 else None
        later = [entry for entry in records[at + 1 :] if entry["kind"] == "report"]
        self.names_phase = self.record is not None and not later
        over = self.record or {}
        phases = over.get("phases")
        self.phases = frozenset(map(str, phases)) if isinstance(phases, list) else frozenset()
        gates = over.get("gates")
        self.gates = frozenset(map(str, gates)) if isinstance(gates, list) else frozenset()
        if any(entry["phase"] in self.phases for entry in later):
            self.phases = self.gates = frozenset()
        self.stage = str(over.get("stage", ""))

    def waives(self, sight: Sight) -> bool:
        """Whether it holds for the stage that is under work."""
        return self.record is not None and self.stage in ("", sight.stage)


def override_of(sight: Sight) -> Override:
    """The sight's override, looked for once."""
    if sight.override is None:
        sight.override = Override(sight)
    assert isinstance(sight.override, Override)
    return sight.override


class _Decision:
    def __init__(self, sight: Sight):
        self.sight = sight
        self.workflow: Workflow = sight.workflow
        self.override = override_of(sight)
        self.raw: str | None = None
        self.inferred = False
        self.overridden = False
        self.phase: Phase
        self.gates: tuple[GateState, ...] = ()
        self.lost: str | None = None
        self.skipped: list[str] = []

    def verdict(self) -> Verdict:
        broken = self._broken()
        if broken:
            return self._made("invalid", "none", broken)
        name, because = self._phase()
        if name is None:
            return self._made("invalid", "none", because)
        self.phase = self.workflow.phases[name]
        self.sight.phase = name
        self.gates = tuple(self._gate(gate) for gate in self.workflow.gates)
        self.lost = self._lost()
        if self.phase.terminal:
            return self._terminal()
        return self._ruled(because)

    def _made(self, status: str, kind: str, reason: str, **more: object) -> Verdict:
        known = {"raw": self.raw, "inferred": self.inferred, "overridden": self.overridden, "gates": self.gates}
        phase = self.sight.phase
        return Verdict(status, kind, reason, phase=phase, lost=self.lost, skipped=tuple(self.skipped), **known, **more)  # type: ignore[arg-type]

    # ---- the phase

    def _broken(self) -> str:
        """Why nothing can be said of the run, or ""."""
        snapshot = self.sight.snapshot
        if snapshot.journal.broken:
            return "the journal cannot be trusted; `phasekeeper repair` mends it"
        state = snapshot.state
        if state is not None and not state.valid:
            return f"{state.path} is {state.state}"
        return f"{snapshot.unread} cannot be read; it may hold a failure" if snapshot.unread else ""

    def _phase(self) -> tuple[str | None, str]:
        """(the phase, the reason) or (None, what is wrong)."""
        raw, because = self._named()
        self.raw = raw
        if raw is None:
            return None, because
        name = self._alias(raw)
        record = self.override.record
        to = str(record["next"]) if record and self.override.names_phase else ""
        # A state file that has moved on since is followed; one that still says what it said is not.
        moved = record and isinstance(self.workflow.phase, Expression) and name not in (record["phase"], to)
        if record and to in self.workflow.phases and not moved:
            self.overridden = True
            return to, f"a person moved the run here: {record['why']}"
        if name in self.workflow.phases:
            return name, because
        self._unknown_phase(raw)
        return None, f"unknown phase {raw!r}"

    def _named(self) -> tuple[str | None, str]:
        source = self.workflow.phase
        if isinstance(source, Expression):
            outcome = self.sight.context.value(source)
            self.sight.trace.append(Seen("phase", source, outcome))
            if outcome.error is None:
                return str(outcome.value), ""
            self._unknown_phase(None)
            return None, f"the phase cannot be told: {outcome.error}"
        for rule in source:
            if self.sight.holds(rule.where, rule.when):
                name = self.sight.context.text(rule.phase)
                self.inferred = not self._recorded(name)
                if name is None:
                    self._unknown_phase(None)
                    return None, "the phase cannot be told from the files"
                return name, self.sight.text(rule.because)
        return None, "no rule tells the phase from the files"

    def _recorded(self, name: str | None) -> bool:
        kinds = ("start", "report", "transition")
        newest = next((entry for entry in reversed(self.sight.records) if entry["kind"] in kinds), None)
        return newest is not None and name in (newest["phase"], newest["next"])

    def _alias(self, raw: str) -> str:
        if raw in self.workflow.phases:
            return raw
        for spelling, name in self.workflow.aliases.items():
            if "*" not in spelling:
                if raw == spelling:
                    return name
                continue
            fits = re.fullmatch(re.escape(spelling).replace(r"\*", "(.*)"), raw)
            if fits:
                found = name.replace("*", fits[1])
                # An alias may lead to another spelling: code_review_done is code_review is review.
                return found if found in self.workflow.phases else self.workflow.aliases.get(found, found)
        return raw

    def _unknown_phase(self, raw: str | None) -> None:
        path, span = self._phase_place()
        known = ", ".join(self.workflow.phases)
        said = f"{raw!r} is no phase of {self.workflow.name}" if raw is not None else "no phase is named"
        self.sight.tell("unknown-phase", path, f"{said}; its phases are {known}", span)

    def _phase_place(self) -> tuple[str, Span | None]:
        source = self.workflow.phase
        if isinstance(source, Expression) and source.reads:
            path, span = self.sight.place(source.reads[0].path)
            if path:
                return path, span or Span(0, 0, 0, 1)
        state = self.sight.snapshot.state
        if state:
            return state.path, Span(0, 0, 0, 1)
        return self.sight.snapshot.plan_path, Span(0, 0, 0, 1) if self.sight.snapshot.plan else None

    # ---- gates and consistency

    def _gate(self, gate: Gate) -> GateState:
        after = self.workflow.phases[gate.after]
        # What is still ahead is not judged: its evidence is not there yet, and nobody asks for it.
        live = self.phase.order >= after.order and self.sight.holds(f"gates.{gate.id}.when", gate.when)
        criteria = []
        for place, criterion in enumerate(gate.criteria):
            where = f"gates.{gate.id}.criteria[{place}]"
            met = self.sight.value(where, criterion.when, criterion.text) if live else None
            criteria.append(CriterionState(criterion.text, met if isinstance(met, bool) else None))
        status = self._gate_status(gate, after, live, [criterion.met for criterion in criteria])
        in_force = live and self.phase.id == gate.after
        allowed, forbidden = self._allowed(gate) if in_force else ((), ())
        return GateState(gate.id, gate.after, gate.title, status, in_force, allowed, forbidden, tuple(criteria))

    def _gate_status(self, gate: Gate, after: Phase, live: bool, met: list[bool | None]) -> str:
        if not live or self.phase.order < after.order:
            return "not-reached"
        if all(value is True for value in met):
            return "open" if self._changed() else "passed"
        if gate.id in self.override.gates and self.override.waives(self.sight):
            return "waived"
        return "failed" if False in met and self._judged(gate, after) else "open"

    def _judged(self, gate: Gate, after: Phase) -> bool:
        if gate.judged is not None:
            return self.sight.holds(f"gates.{gate.id}.judged", gate.judged)
        if after.produces:
            return all(self.sight.held(name).valid for name in after.produces)
        return bool(self.sight.context.records.pick({"kind": "report", "phase": after.id}))

    def _changed(self) -> bool:
        """Whether the definition changed under the run and nobody has said that this is right."""
        return self.sight.snapshot.definition_changed

    def _allowed(self, gate: Gate) -> tuple[tuple[str, ...], tuple[Forbidden, ...]]:
        said = [self.sight.context.text(template) for template in gate.allowed]
        pairs = [(self.sight.context.text(what), self.sight.text(why)) for what, why in gate.forbidden]
        allowed = tuple(dict.fromkeys(name for name in said if name))
        return allowed, tuple(Forbidden(what, why) for what, why in pairs if what)

    def _lost(self) -> str | None:
        """The first earlier phase that has not delivered what it must."""
        waived = self.override.phases if self.override.waives(self.sight) else frozenset()
        for phase in self.workflow.phases.values():
            if phase.order >= self.phase.order:
                return None
            if not phase.detour and phase.id not in waived and self._missing(phase):
                return phase.id
        return None

    def _missing(self, phase: Phase) -> list[str]:
        return [name for name in phase.produces if not self.sight.held(name).valid]

    def _earlier_gate(self) -> GateState | None:
        """A gate of an earlier phase that is failed, or whose evidence is missing or no longer judged by its rules."""
        for gate in self.gates:
            unproven = self._changed() or any(criterion.met is None for criterion in gate.criteria)
            unknown = gate.status == "open" and unproven
            if self.workflow.order(gate.after) < self.phase.order and (gate.status == "failed" or unknown):
                return gate
        return None

    def _inconsistent(self) -> None:
        """Tell that the recorded phase is ahead, with both ways to mend it (seed 002, section 7)."""
        assert self.lost
        missing = ", ".join(f"{name} is {self.sight.held(name).state}" for name in self._missing(self.workflow.phases[self.lost]))
        path, span = self._phase_place()
        run = self.sight.snapshot.run
        fixes = (
            Fix(f"run {self.phase.id} again", ("redo", run, self.phase.id)),
            Fix(f"roll back to {self.lost}", ("redo", run, self.lost)),
        )
        self.sight.tell("inconsistent-state", path, f"the phase is {self.phase.id}, but {self.lost} has not delivered: {missing}", span, fixes)

    # ---- the outcome

    def _terminal(self) -> Verdict:
        gate = self._earlier_gate()
        attested = self.phase.attested is not None and self.sight.holds(f"phases.{self.phase.id}.attested", self.phase.attested)
        if attested or not (self.lost or gate):
            return self._made(self.phase.terminal, "stop", f"the run is {_said_of(self.phase)}")
        back = self.lost or (gate.after if gate else "")
        if self.lost:
            self._inconsistent()
        elif gate:
            self._gate_contradicts(gate)
        asked = tuple(rule.ask for rule in self.phase.rules if rule.ask and self.sight.holds(rule.where, rule.when) and not self._spoken(rule.ask))
        why = self._undelivered(back) if self.lost else f"gate {gate.id} of {back} is {gate.status}" if gate else ""
        return self._made("active", "regress", f"{self.phase.id} is recorded, but {why}", to=back, asked=asked)

    def _gate_contradicts(self, gate: GateState) -> None:
        path, span = self._phase_place()
        unmet = ", ".join(criterion.text for criterion in gate.criteria if criterion.met is not True)
        fixes = (Fix(f"roll back to {gate.after}", ("redo", self.sight.snapshot.run, gate.after)),)
        self.sight.tell("inconsistent-state", path, f"the phase is {self.phase.id}, but gate {gate.id} of {gate.after} is {gate.status}: {unmet}", span, fixes)

    def _undelivered(self, phase: str) -> str:
        missing = self._missing(self.workflow.phases[phase])
        return f"{phase} has not delivered " + ", ".join(f"{name} ({self.sight.held(name).state})" for name in missing)

    def _ruled(self, because: str) -> Verdict:
        if self.lost:
            self._inconsistent()
        stopped = self._stopped()
        if stopped:
            return stopped
        for rule in self.workflow.rules_of(self.phase.id):
            if not self.sight.holds(rule.where, rule.when):
                continue
            verdict = self._outcome(rule)
            if verdict is not None:
                return verdict
        return self._stay(because)

    def _stopped(self) -> Verdict | None:
        """A person answered an agent's own question with `stop`, and nothing was said or done since."""
        newest = self.sight.records[-1] if self.sight.records else None
        if newest and newest["kind"] == "answer" and str(newest["question"]).startswith("raised:") and newest["option"] == "stop":
            return self._made("blocked", "stop", f"a person stopped the run: {newest['why'] or 'no reason was given'}")
        return None

    def _outcome(self, rule: Rule) -> Verdict | None:
        """What a rule that holds comes to; None when it names something unknown or was answered already."""
        reason = self.sight.text(rule.because, "no reason is given")
        asked = (rule.ask,) if rule.ask and not self._spoken(rule.ask) else ()
        told: dict[str, object] = {"rule": rule, "guards": (rule.when,) if rule.when else (), "asked": asked}
        if rule.warn:
            self.sight.tell(rule.warn, self._phase_place()[0], reason, self._phase_place()[1])
        if rule.warn and not (rule.to or rule.act or rule.wait or rule.stop or rule.ask):
            return None
        if rule.to is not None:
            return self._to(rule, reason, told)
        if rule.act is not None:
            return self._act(rule, reason, told)
        if rule.wait:
            status = "waiting_human" if rule.wait == "person" else "waiting"
            return self._made(status, "wait", reason, waiting=f"{rule.wait}: {reason}", **told)
        if rule.stop:
            return self._stop(rule, reason, told)
        if not asked:
            return None
        question = self.workflow.questions[rule.ask]
        kind = "wait" if question.kind == "approval" else "escalate"
        return self._made("waiting_human", kind, reason, waiting=f"person: {self.sight.text(question.ask)}", **told)

    def _to(self, rule: Rule, reason: str, told: Mapping[str, object]) -> Verdict | None:
        name = self.sight.context.text(rule.to) if rule.to else None
        target = self._next() if name == "next" else name
        act = self._action(rule, quietly=True) if rule.act is not None else None
        if target not in self.workflow.phases:
            path, span = self._phase_place()
            self.sight.tell("unknown-phase", path, f"{rule.where} leads to {target!r}, which is no phase", span)
            return None
        order = self.workflow.order(target)
        # A detour is no way forward: neither gates nor what is undelivered hold it back.
        detour = self.workflow.phases[target].detour
        if self.lost and order >= self.phase.order and not detour:
            return self._back(told)
        shut = self._shut_gate() if order > self.phase.order and not detour else None
        if shut is None and self.workflow.phases[target].terminal == "complete":
            shut = self._earlier_gate()
        if shut:
            return self._kept(shut, told)
        if order == self.phase.order:
            return self._same(reason, act, told)
        kind = "advance" if order > self.phase.order else "regress"
        return self._made("active", kind, reason, to=target, act=act, **told)

    def _same(self, reason: str, act: str | None, told: Mapping[str, object]) -> Verdict:
        person = "person" in self.phase.agents
        waiting = f"person: {reason}" if person else None
        return self._made("waiting_human" if person else "active", "stay", reason, to=self.phase.id, act=act, waiting=waiting, **told)

    def _back(self, told: Mapping[str, object]) -> Verdict:
        assert self.lost
        reason = f"{self._undelivered(self.lost)}; roll back to it, or run {self.phase.id} again"
        return self._made("active", "regress", reason, to=self.lost, **{**told, "rule": None})

    def _kept(self, gate: GateState, told: Mapping[str, object]) -> Verdict:
        unmet = ", ".join(criterion.text for criterion in gate.criteria if criterion.met is not True)
        why = unmet or CHANGED
        guards = tuple(c.when for g in self.workflow.gates if g.id == gate.id for c in g.criteria)
        verdict = self._same(f"gate {gate.id} is {gate.status}: {why}", None, {**told, "rule": None, "guards": guards})
        return verdict

    def _shut_gate(self) -> GateState | None:
        return next((gate for gate in self.gates if gate.after == self.phase.id and gate.shut), None)

    def _next(self) -> str | None:
        """The next phase in order: no detour, and none that its guard lets pass over (seed 001, canSkip)."""
        for phase in self.workflow.phases.values():
            if phase.order <= self.phase.order or phase.detour:
                continue
            if phase.skip is None or not self.sight.holds(f"phases.{phase.id}.skip", phase.skip):
                return phase.id
            self.skipped.append(phase.id)
            why = self.sight.text(phase.skip_because, "its condition to be skipped holds")
            path, span = self._phase_place()
            self.sight.tell("phase-skipped", path, f"{phase.id} is passed over: {why}", span)
        return None

    def _act(self, rule: Rule, reason: str, told: Mapping[str, object]) -> Verdict | None:
        name = self._action(rule)
        if name is None:
            return None
        action = self.workflow.actions.get(name) or self.workflow.actions[_pattern(self.workflow, name)]
        waiting = f"person: {action.person}" if action.person else None
        return self._made("active", "act", reason, act=name, waiting=waiting, **told)

    def _action(self, rule: Rule, quietly: bool = False) -> str | None:
        said = self.sight.context.text(rule.act) if rule.act else None
        name = self.workflow.action_aliases.get(said or "", said)
        pattern = _pattern(self.workflow, name or "")
        path, span = self._phase_place()
        if name is None or not pattern:
            self.sight.tell("unknown-action", path, f"{rule.where} names the action {name!r}, which is unknown", span)
            return None
        action = self.workflow.actions[pattern]
        if not quietly and not self.sight.holds(f"actions.{pattern}.when", action.when):
            self.sight.tell("action-precondition", path, f"{name} is next, but its own precondition does not hold", span)
        return name

    def _stop(self, rule: Rule, reason: str, told: Mapping[str, object]) -> Verdict:
        if rule.stop == "complete":
            if self.lost:
                return self._back(told)
            shut = self._shut_gate() or self._earlier_gate()
            if shut:
                return self._kept(shut, told)
            if self._changed():
                return self._same(CHANGED, None, {**told, "rule": None})
        kind = "none" if rule.stop == "invalid" else "stop"
        return self._made(rule.stop, kind, reason, **told)

    def _stay(self, because: str) -> Verdict:
        missing = self._missing(self.phase)
        shown = []
        for name in missing:
            held = self.sight.held(name)
            shown.append(f"{name} is {held.state}" + (f" ({held.path})" if held.path else ""))
        reason = ", ".join(shown) or because or f"{self.phase.title} is to be done"
        if self.lost:
            return self._back({})
        extra = tuple(Evidence(f"valid.{name}", False, self.sight.held(name).path, None) for name in missing)
        person = "person" in self.phase.agents
        waiting = f"person: {self.phase.title}" if person else None
        status = "waiting_human" if person else "active"
        return self._made(status, "stay", reason, to=self.phase.id, waiting=waiting, extra=extra)

    def _spoken(self, question_id: str) -> bool:
        """Whether the question was answered and nothing was reported in its scope since: its answer still holds."""
        question = self.workflow.questions[question_id]
        outcome = Outcome("") if question.scope is None else self.sight.context.value(question.scope)
        if outcome.error is not None:
            return False
        scope = str(outcome.value)
        answers = answers_to(question, scope)
        newest = self.sight.answered(question)
        if newest is None:
            return False
        if question.about and newest["about"] != self.sight.substance(question.about):
            return False
        later = self.sight.context.records.since(answers, {"kind": "report"})
        stages = {stage["id"] for stage in self.sight.snapshot.parts.stages}
        return not any(scope not in stages or entry["stage"] == scope for entry in later)


def granted(gate: GateState, workflow: Workflow) -> tuple[str, ...]:
    """What a gate lets be done now: all it allows once it passed, remedies only while it is failed.

    A remedy is anything but a later phase of the ordinary order (seed 004, gates 3, 6 and 7).
    """
    if not gate.in_force or gate.status not in ("passed", "waived", "failed"):
        return ()
    if gate.status != "failed":
        return gate.allowed
    after = workflow.order(gate.after)
    phases = workflow.phases
    return tuple(n for n in gate.allowed if n not in phases or phases[n].detour or phases[n].order <= after)


def _said_of(phase: Phase) -> str:
    return {"complete": "complete", "failed": "failed", "exited": "ended by its user", "blocked": "blocked"}[phase.terminal]


def _pattern(workflow: Workflow, action: str) -> str:
    """The id under which an action is declared; one trailing * stands for any ending. "" if it is unknown."""
    if action in workflow.actions:
        return action
    fits = (name for name in workflow.actions if name.endswith("*") and action.startswith(name[:-1]))
    return next(fits, "")
