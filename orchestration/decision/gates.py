"""Gates: criteria that must hold after a phase, and what is then allowed and forbidden (format, A.13)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from ..definition.model import Gate, Phase, Workflow
from ..expressions.language import Expression
from ..result.values import CriterionState, Forbidden, GateState
from ..states import GateStatus, RecordKind
from .facts import RunFacts

_MOST_KEPT = 2048


def gate_states(facts: RunFacts, phase: Phase) -> tuple[GateState, ...]:
    """Judge every gate of the workflow while the run is in a phase, if parameters ask for it."""
    configured = facts.workflow.configured_gates
    gates = (
        gate
        for gate in facts.workflow.gates.values()
        if gate.id not in configured or facts.holds(f"gates.{gate.id}.when", gate.when)
    )
    return tuple(_gate_state(facts, gate, phase) for gate in gates)


def _gate_state(present: RunFacts, gate: Gate, phase: Phase) -> GateState:
    facts = present.facts_of_phase(gate.after)
    # What is still ahead is not judged: its evidence is not there yet, and nobody asks for it.
    after = facts.workflow.order(gate.after)
    # A detour is taken from a later phase, and there that one's gate goes on; its condition says which it is.
    is_detour = phase.detour and phase.order < after and gate.when is not None
    is_live = (is_detour or phase.order >= after) and facts.holds(f"gates.{gate.id}.when", gate.when)
    if not is_live:
        texts = tuple(each.text for each in gate.criteria)
        return _not_judged(gate.id, gate.after, gate.title, texts, _stays_waived(facts, gate))
    criteria = []
    for number, criterion in enumerate(gate.criteria):
        where = f"gates.{gate.id}.criteria[{number}]"
        met = facts.value(where, criterion.when, criterion.text)
        if met is True and _reads_what_is_doubtful(facts, criterion.when):
            met = None
        criteria.append(CriterionState(criterion.text, met if isinstance(met, bool) else None))
    status = _status(facts, gate, [each.met for each in criteria])
    in_force = is_detour or phase.id == gate.after
    text = facts.context.text
    allowed = dict.fromkeys(name for each in gate.allowed if in_force and (name := text(each)))
    pairs = [(text(step), facts.text(why)) for step, why in gate.forbidden if in_force]
    forbidden = tuple(Forbidden(step, why) for step, why in pairs if step)
    return GateState(
        gate.id, gate.after, gate.title, status, in_force, tuple(allowed), forbidden, tuple(criteria)
    )


def _stays_waived(facts: RunFacts, gate: Gate) -> bool:
    """True if an override waived a gate, and no phase before one of its gates was reported on since.

    It is one of the present stage, of a run that is past its stages, or one that led to where the run stands.
    """
    records, pattern = facts.context.records, {"kind": RecordKind.OVERRIDE.value}
    gates, in_force = facts.workflow.gates, facts.override.record if facts.override.names_phase else None
    for entry in records.pick(pattern):
        waived = entry["gates"] if isinstance(entry["gates"], list) else []
        is_of_stage = not facts.stage or entry["stage"] in ("", facts.stage) or entry is in_force
        if gate.id in waived and is_of_stage:
            stage = {"stage": entry["stage"]}
            after = [gates[name].after for name in map(str, waived) if name in gates]
            later = {"kind": RecordKind.REPORT.value, "phase": after, **stage}
            if not records.since({**pattern, **stage}, later):
                return True
    return False


@lru_cache(_MOST_KEPT)
def _not_judged(gate: str, after: str, title: str, texts: tuple[str, ...], is_waived: bool) -> GateState:
    """A gate that is still ahead, or that a person waived before, one value for all runs."""
    criteria = tuple(CriterionState(text, None) for text in texts)
    status = GateStatus.WAIVED if is_waived else GateStatus.NOT_REACHED
    return GateState(gate, after, title, status, False, (), (), criteria)


def _reads_what_is_doubtful(facts: RunFacts, expression: Expression) -> bool:
    """True if an expression looks, through any value, at a path with an unknown or contradicted word."""
    if not facts.snapshot.is_doubtful:
        return False
    read = facts.workflow.paths_behind(expression)
    doubtful = (*facts.snapshot.unknown_words, *facts.snapshot.contradictions)
    return any(_overlap(path, each) for path in read for each in doubtful)


def _overlap(read: Sequence[str], unknown: Sequence[str]) -> bool:
    """True if one path leads to the other; what an expression reads ends before the elements of a list."""
    return all(word == "*" or step == word for step, word in zip(read, unknown, strict=False) if word != "[]")


def _status(facts: RunFacts, gate: Gate, met: Sequence[bool | None]) -> GateStatus:
    if all(value is True for value in met):
        # Rules that changed under the run judge it only when a person says that they may.
        return GateStatus.OPEN if facts.snapshot.definition_changed else GateStatus.PASSED
    if gate.id in facts.override.gates and facts.override.waives(facts.stage):
        return GateStatus.WAIVED
    if False not in met:
        return GateStatus.OPEN
    # An unmet criterion is a failure once the gate's work is done; until then the gate is only open.
    produces = facts.workflow.phases[gate.after].produces
    if gate.judged is not None:
        is_judged = facts.holds(f"gates.{gate.id}.judged", gate.judged)
    elif produces:
        is_judged = all(facts.artifact(name).valid for name in produces)
    else:
        is_judged = bool(facts.context.records.pick({"kind": "report", "phase": gate.after}))
    return GateStatus.FAILED if is_judged else GateStatus.OPEN


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


def remedies_only(gate: GateState) -> bool:
    """True if a gate in force failed and names what may be done about it: then nothing else may."""
    return gate.in_force and gate.status is GateStatus.FAILED and bool(gate.allowed)


def gate_against_repeating(gates: Sequence[GateState], phase: str | None) -> GateState | None:
    """The gate after a phase that failed and lets only its remedies be done, not the phase again.

    A verdict that failed is not given again until they were (seed 004, gates 3, 6 and 7).
    """
    failed = filter(remedies_only, gates)
    return next((gate for gate in failed if gate.after == phase and phase not in gate.allowed), None)


def unmet_criteria(gate: GateState) -> str:
    """Which criteria of a gate are not met, in words; "" when all are."""
    texts = [criterion.text for criterion in gate.criteria if criterion.met is not True]
    return f"not met: {', '.join(texts)}" if texts else ""


def allowed_steps(gate: GateState, workflow: Workflow) -> tuple[str, ...]:
    """The steps that a gate lets be done now: all it allows once it passed, remedies only while it is failed.

    A remedy is anything but a later phase of the ordinary order (seed 004, gates 3, 6 and 7).
    """
    if not gate.in_force or gate.status == GateStatus.OPEN:
        return ()
    if gate.status != GateStatus.FAILED:
        return gate.allowed
    after = workflow.order(gate.after)
    phases = workflow.phases
    return tuple(n for n in gate.allowed if n not in phases or phases[n].detour or phases[n].order <= after)
