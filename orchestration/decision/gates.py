"""Gates: criteria that must hold after a phase, and what is then allowed and forbidden (format, A.13)."""

from __future__ import annotations

from collections.abc import Sequence

from ..definition.model import Gate, Phase, Workflow
from ..result.values import CriterionState, Forbidden, GateState
from ..states import GateStatus
from .facts import RunFacts


def gate_states(facts: RunFacts, phase: Phase) -> tuple[GateState, ...]:
    """How every gate of the workflow stands while the run is in a phase."""
    return tuple(_gate(facts, gate, phase) for gate in facts.workflow.gates)


def _gate(facts: RunFacts, gate: Gate, phase: Phase) -> GateState:
    # What is still ahead is not judged: its evidence is not there yet, and nobody asks for it.
    after = facts.workflow.order(gate.after)
    # A detour is taken from a later phase, and there that one's gate goes on; its condition says which it is.
    around = phase.detour and phase.order < after and gate.when is not None
    reached = around or phase.order >= after
    live = reached and facts.holds(f"gates.{gate.id}.when", gate.when)
    criteria = _criteria(facts, gate, live)
    status = (
        _status(facts, gate, [criterion.met for criterion in criteria]) if live else GateStatus.NOT_REACHED
    )
    in_force = live and (around or phase.id == gate.after)
    allowed, forbidden = _allowed(facts, gate) if in_force else ((), ())
    return GateState(gate.id, gate.after, gate.title, status, in_force, allowed, forbidden, criteria)


def _criteria(facts: RunFacts, gate: Gate, live: bool) -> tuple[CriterionState, ...]:
    out = []
    for place, criterion in enumerate(gate.criteria):
        where = f"gates.{gate.id}.criteria[{place}]"
        met = facts.value(where, criterion.when, criterion.text) if live else None
        out.append(CriterionState(criterion.text, met if isinstance(met, bool) else None))
    return tuple(out)


def _status(facts: RunFacts, gate: Gate, met: Sequence[bool | None]) -> GateStatus:
    if all(value is True for value in met):
        # Rules that changed under the run judge it only when a person says that they may.
        return GateStatus.OPEN if facts.snapshot.definition_changed else GateStatus.PASSED
    if gate.id in facts.override.gates and facts.override.waives(facts.stage):
        return GateStatus.WAIVED
    return GateStatus.FAILED if False in met and _judged(facts, gate) else GateStatus.OPEN


def _judged(facts: RunFacts, gate: Gate) -> bool:
    """Whether an unmet criterion is a failure already: until its work is done, a gate is only open."""
    if gate.judged is not None:
        return facts.holds(f"gates.{gate.id}.judged", gate.judged)
    produces = facts.workflow.phases[gate.after].produces
    if produces:
        return all(facts.held(name).valid for name in produces)
    return bool(facts.context.records.pick({"kind": "report", "phase": gate.after}))


def _allowed(facts: RunFacts, gate: Gate) -> tuple[tuple[str, ...], tuple[Forbidden, ...]]:
    said = [facts.context.text(template) for template in gate.allowed]
    pairs = [(facts.context.text(what), facts.text(why)) for what, why in gate.forbidden]
    allowed = tuple(dict.fromkeys(name for name in said if name))
    return allowed, tuple(Forbidden(what, why) for what, why in pairs if what)


def blocking_gate(gates: Sequence[GateState], phase: Phase) -> GateState | None:
    """The first gate that keeps a run from leaving the phase forwards."""
    return next((gate for gate in gates if gate.after == phase.id and gate.shut), None)


def contradicting_gate(facts: RunFacts, gates: Sequence[GateState], phase: Phase) -> GateState | None:
    """The first gate of an earlier phase that contradicts being here.

    It is failed, or its evidence is missing, or it is no longer judged by the rules the run began under.
    """
    changed = facts.snapshot.definition_changed
    for gate in gates:
        unknown = changed or any(criterion.met is None for criterion in gate.criteria)
        unproven = gate.status == GateStatus.FAILED or (gate.status == GateStatus.OPEN and unknown)
        if unproven and facts.workflow.order(gate.after) < phase.order:
            return gate
    return None


def unmet_criteria(gate: GateState) -> str:
    """Which criteria of a gate are not met, in words; "" when all are."""
    texts = [criterion.text for criterion in gate.criteria if criterion.met is not True]
    return f"not met: {', '.join(texts)}" if texts else ""


def allowed_steps(gate: GateState, workflow: Workflow) -> tuple[str, ...]:
    """What a gate lets be done now: all it allows once it passed, remedies only while it is failed.

    A remedy is anything but a later phase of the ordinary order (seed 004, gates 3, 6 and 7).
    """
    if not gate.in_force or gate.status == GateStatus.OPEN:
        return ()
    if gate.status != GateStatus.FAILED:
        return gate.allowed
    after = workflow.order(gate.after)
    phases = workflow.phases
    return tuple(n for n in gate.allowed if n not in phases or phases[n].detour or phases[n].order <= after)
