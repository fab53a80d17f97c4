"""Whether one step may be done now, and why (format, A.15, `check_action`)."""

from __future__ import annotations

from typing import NamedTuple

from ..decision.decision import action_of
from ..result.values import Evaluation
from ..states import SuggestionKind
from .evaluate import EvaluationTrace


class Permission(NamedTuple):
    """`gate` is the one that forbids the step, if a gate does."""

    step: str
    allowed: bool
    because: str
    gate: str | None = None


def check_action(trace: EvaluationTrace, step: str) -> Permission | None:
    """Whether a phase or action may be done now; None when the workflow has none of that name."""
    workflow, evaluation = trace.facts.workflow, trace.evaluation
    name = workflow.action_aliases.get(step, step)
    action = workflow.actions.get(action_of(workflow, name))
    if name not in workflow.phases and action is None:
        return None
    refused = _refused(evaluation, name)
    if refused:
        return refused
    if name in workflow.phases:
        return _of_phase(evaluation, name)
    assert action
    if trace.facts.context.holds(action.when):
        return Permission(name, True, "its precondition holds")
    return Permission(name, False, f"the precondition of {action.id} does not hold")


def _refused(evaluation: Evaluation, name: str) -> Permission | None:
    """Why nothing at all, or not this, may be done now."""
    if evaluation.suggestion.kind.is_final:
        why, said = evaluation.status_reason, f"the run is {evaluation.status}"
        return Permission(name, False, why if why.startswith(said) else f"{said}: {why}")
    forbidden = _forbidding(evaluation, name)
    if forbidden:
        return forbidden
    if evaluation.suggestion.kind == SuggestionKind.ESCALATE:
        return Permission(name, False, f"a person decides first: {evaluation.suggestion.reason}")
    return None


def _forbidding(evaluation: Evaluation, name: str) -> Permission | None:
    """The gate in force that forbids the step: by its name, or with all others that it does not allow."""
    at_hand = (evaluation.current_phase, evaluation.suggestion.suggested_next)
    for gate in evaluation.gates:
        named = {entry.action: entry.because for entry in gate.forbidden} if gate.in_force else {}
        if name in named:
            return Permission(name, False, named[name], gate.id)
        if "*" in named and name not in (*gate.allowed, *at_hand):
            return Permission(name, False, named["*"], gate.id)
    return None


def _of_phase(evaluation: Evaluation, name: str) -> Permission:
    suggestion = evaluation.suggestion
    if name == suggestion.suggested_next:
        return Permission(name, True, suggestion.reason)
    if name == evaluation.current_phase:
        return Permission(name, True, "it is the current phase")
    if name in suggestion.allowed:
        return Permission(name, True, "a gate in force allows it")
    return Permission(name, False, "phases are not skipped")
