"""The trace of an evaluation, and the check of a step, or a step's file, against it (format, A.15,
`check_action`)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple

from ..decision.decision import Decision, action_of, step_of
from ..decision.facts import RunFacts, TraceEntry
from ..decision.gates import allowed_steps, gate_against_repeating
from ..definition.model import Phase, Workflow
from ..plans.model import Task
from ..result.values import Evaluation, GateState
from ..snapshot.snapshot import Snapshot
from ..states import GateStatus, RunStatus, SuggestionKind
from ..vfs.glob import concerns


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

    def judges(self, step: str) -> bool:
        """True for a phase or action whose report judges the work of others."""
        declared = step_of(self.facts.workflow, step)
        return declared is not None and bool(declared.judges)


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
        how = "hand it in with `--report FILE`"
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
            return Permission(name, False, _person_first(evaluation) or why, gate.id)
    if why := _person_first(evaluation):
        return Permission(name, False, why)
    phase, at_hand = workflow.phases.get(name), (evaluation.current_phase, suggestion.suggested_next)
    is_persons = phase is not None and "person" in phase.agents and name in at_hand
    if is_persons and evaluation.status is RunStatus.WAITING_HUMAN:
        said = f"a person ends it, who is asked{_by_answer(evaluation)}: {evaluation.status_reason}"
        return Permission(name, False, said)
    if action is not None and phase is None:
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
    if name in workflow.phases and may_jump(workflow):
        jump = f"a report of {evaluation.current_phase} may lead there (`--next {name}`)"
        return Permission(name, False, f"phases are not skipped, but {jump}")
    return Permission(name, False, "phases are not skipped")


def _person_first(evaluation: Evaluation) -> str:
    """That nothing is done before a person decides; "" where the run does not wait for that."""
    if evaluation.suggestion.kind is not SuggestionKind.ESCALATE:
        return ""
    return f"a person decides first{_by_answer(evaluation)}: {evaluation.suggestion.reason}"


def _by_answer(evaluation: Evaluation) -> str:
    """ " (COMMAND)", the one by which a person answers what the run waits for; "" where nothing is asked."""
    return f" ({evaluation.answer_command})" if evaluation.answer_command else ""


def may_jump(workflow: Workflow) -> bool:
    """True if reports may name the phase to go to: a rule leads wherever `report.next` says (seed 001)."""
    named = (each for rule in workflow.before if rule.to for each in rule.to.expressions)
    return any(("report", "next") in each.paths for each in named)


# ---- files of steps


class ShutStep(NamedTuple):
    """A step that makes a file and is not permitted; `gate` is the one that is shut before it."""

    step: str
    gate: str
    because: str


def shut_step(trace: EvaluationTrace, path: str) -> ShutStep | None:
    """The first step that makes a file, where only later ones do and none is permitted; None for others."""
    present, phases = step_at_hand(trace), trace.facts.workflow.phases.values()
    makers = [phase for phase in phases if is_made_in(trace, phase, path)]
    if not makers or present is None or any(each.order <= present.order for each in makers):
        return None
    permissions = [check_action(trace, phase.id) for phase in makers]
    refused = [each for each in permissions if each and not each.allowed]
    if len(refused) < len(makers):
        return None
    gates = {gate.id: gate for gate in trace.evaluation.gates}
    shut = gates.get(refused[0].gate or "") or next(filter(_is_shut, gates.values()), None)
    why = f"gate {shut.id} ({shut.title}) is {shut.status}" if shut else refused[0].because
    return ShutStep(refused[0].step, shut.id if shut else "", f"it is made in {refused[0].step}: {why}")


def step_at_hand(trace: EvaluationTrace) -> Phase | None:
    """The phase that is to be worked on: the next one where the run is to go on, else the current one."""
    phases, evaluation = trace.facts.workflow.phases, trace.evaluation
    return phases.get(evaluation.suggestion.suggested_next or "") or phases.get(
        evaluation.current_phase or ""
    )


def is_made_in(trace: EvaluationTrace, phase: Phase, path: str) -> bool:
    """True for a file that a phase produces."""
    artifacts = (trace.facts.workflow.artifacts[name] for name in phase.produces)
    return any(fits_patterns(trace.facts.snapshot, each.paths, path) for each in artifacts)


def fits_patterns(snapshot: Snapshot, patterns: Iterable[str], path: str) -> bool:
    """True if the path fits one of the patterns, which begin at the run or, with a slash, at the root."""
    whole = map(snapshot.place.join, patterns)
    return any(concerns(pattern, path) for pattern in whole if pattern)


def _is_shut(gate: GateState) -> bool:
    return gate.in_force and gate.status is not GateStatus.PASSED
