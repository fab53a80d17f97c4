"""The trace of an evaluation, and the check of a step against it (format, A.15, `check_action`)."""

from __future__ import annotations

import json
from typing import NamedTuple

from ..decision.decision import Decision, action_of
from ..decision.facts import RunFacts, TraceEntry
from ..decision.gates import allowed_steps, gate_against_repeating
from ..plans.model import Task
from ..result.values import Evaluation
from ..states import SuggestionKind


class EarlyFile(NamedTuple):
    """A file of a step that a gate shuts off, and why nobody may write it now."""

    path: str
    because: str


class GateViolations(NamedTuple):
    """What was written past the gates of a guarded run. `marks` are tasks, `state` is the state file's path.

    `lost_lines` is the number of records that the journal has in HEAD and that it lacks.
    """

    early: tuple[EarlyFile, ...] = ()
    marks: tuple[Task, ...] = ()
    state: str = ""
    lost_lines: int = 0


class EvaluationTrace(NamedTuple):
    """An evaluation with the facts and the decision behind it; `entries` are the guards tried, in order."""

    evaluation: Evaluation
    entries: tuple[TraceEntry, ...]
    facts: RunFacts
    decision: Decision
    violations: GateViolations = GateViolations()


class Permission(NamedTuple):
    """`gate` is the one that forbids the step, if a gate does."""

    step: str
    allowed: bool
    because: str
    gate: str | None = None


class CommandRefused(Exception):  # noqa: N818 - said to people as it is
    """The command is not permitted or not possible now; the text says why."""


class ReportTextRefused(CommandRefused):
    """Refusal of a report for its text: why, and the form that it has to have, with blanks to fill in."""

    def __init__(self, why: str, form: str):
        blank = json.dumps(form, ensure_ascii=False)
        how = "hand it in with --report FILE, or as the summary of a tool call"
        super().__init__(f"{why}. Fill in {blank} and {how}")
        self.why, self.form = why, form


def check_action(trace: EvaluationTrace, step: str) -> Permission | None:
    """Check if a phase or action may be done now; None when the workflow has none of that name."""
    workflow, evaluation = trace.facts.workflow, trace.evaluation
    name = workflow.action_aliases.get(step, step)
    action = workflow.actions.get(action_of(workflow, name))
    if name not in workflow.phases and action is None:
        return None
    suggestion = evaluation.suggestion
    if suggestion.kind.is_final:
        why, said = evaluation.status_reason, f"the run is {evaluation.status}"
        return Permission(name, False, why if why.startswith(said) else f"{said}: {why}")
    for gate in evaluation.gates:
        # A gate in force forbids steps by their names, or with "*" all that it does not allow.
        reasons = {entry.action: entry.because for entry in gate.forbidden} if gate.in_force else {}
        at_hand = (evaluation.current_phase, suggestion.suggested_next)
        why = reasons.get(name, None if name in (*gate.allowed, *at_hand) else reasons.get("*"))
        if why is not None:
            return Permission(name, False, why, gate.id)
    if suggestion.kind is SuggestionKind.ESCALATE:
        return Permission(name, False, f"a person decides first: {suggestion.reason}")
    if action is not None and name not in workflow.phases:
        if trace.facts.context.holds(action.when):
            return Permission(name, True, "its precondition holds")
        return Permission(name, False, f"the precondition of {action.id} does not hold")
    if name == suggestion.suggested_next:
        return Permission(name, True, suggestion.reason)
    if name in suggestion.allowed:
        return Permission(name, True, "a gate in force allows it")
    if gate := gate_against_repeating(evaluation.gates, name):
        remedies = ", ".join(allowed_steps(gate, workflow)) or "its remedies"
        return Permission(name, False, f"it failed; {remedies} first", gate.id)
    if name == evaluation.current_phase:
        return Permission(name, True, "it is the current phase")
    return Permission(name, False, "phases are not skipped")
