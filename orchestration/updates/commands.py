"""What somebody reports, decides or asks for, and the record it comes to, as far as it may be done now."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from ..decision.pending_reports import reportable_steps
from ..definition.model import DEFAULT_OUTCOMES, Phase
from ..evaluation.questions import answerable
from ..evaluation.trace import EvaluationTrace, Permission, check_action
from ..formats.json_text import read_json
from ..journal.journal import SKIPPED, Record, record
from ..lint.phase_graph import edges, reached
from ..plans.schedule import resolve
from ..result.values import QuestionState
from ..snapshot.snapshot import DEFINITION
from ..states import GateStatus, RunStatus, SuggestionKind
from ..suggestions import did_you_mean
from .judged_files import files_of_question, files_of_report

MOST_CHARACTERS = 100_000
"""Of one record as JSON: a journal is read whole, again and again."""


class CommandRefused(Exception):  # noqa: N818 - said to people as it is
    """What was asked for is not allowed or not possible now; the text says why."""


class InvalidCommand(CommandRefused):
    """The call itself is wrong: it names what there is not, or leaves out what is needed."""


class AlreadyDone(CommandRefused):
    """What is reported needs no report: the files show that it is done."""


CommandKind = Literal["start", "report", "raise", "answer", "override", "redo"]


class Command(NamedTuple):
    """What somebody reports, decides or asks for.

    `step` is a phase or action, for an override or redo the phase to go to. `data` is what a report
    carries; what it wants merged into the state file is in it under `stateUpdates`. A raise asks a person
    `message`; `tasks` are those it is about.
    """

    kind: CommandKind
    step: str = ""
    outcome: str = ""
    stage: str = ""
    tasks: tuple[str, ...] = ()
    next: str = ""
    message: str = ""
    data: Mapping[str, Any] = {}
    manual_criteria: tuple[str, ...] = ()
    question: str = ""
    option: str = ""
    why: str = ""
    actor: str = ""
    channel: str = ""


def build_record(trace: EvaluationTrace, act: Command) -> Record:
    """The record of an act. Raises CommandRefused when it is not its turn, or names what is not there."""
    if trace.facts.snapshot.journal.broken:
        raise CommandRefused(f"nothing can be recorded: {trace.evaluation.status_reason}")
    made = _RECORDS[act.kind](trace, act)
    text = json.dumps(made)
    if len(text) > MOST_CHARACTERS:
        raise CommandRefused(f"the record has {len(text)} characters, at most {MOST_CHARACTERS} are kept")
    document = read_json(text)
    if not document.readable:
        raise CommandRefused(f"what is said cannot be kept as text: {document.problems[0].message}")
    return made


def build_skip_record(trace: EvaluationTrace, act: Command, phase: str) -> Record:
    """The record of a phase that an act passes over (seed 001, canSkip), with its reason."""
    because = trace.facts.workflow.phases[phase].skip_because
    why = trace.facts.text(because, "its condition to be skipped holds")
    return _made(trace, act, kind="transition", phase=phase, outcome=SKIPPED, why=why)


def effect_events(act: Command, step: str) -> tuple[str, ...]:
    """The names under which effects of an act on a step are declared, the general ones first (A.14)."""
    if act.kind == "raise":
        return ()
    if act.kind == "report":
        return "always", act.outcome, f"{step}.{act.outcome}"
    if act.kind == "answer":
        name = act.question.partition(":")[0]
        return "always", f"answer.{name}", f"answer.{name}.{act.option}"
    return "always", act.kind, f"{step}.{act.kind}"


def _made(trace: EvaluationTrace, act: Command, **fields: object) -> Record:
    """A record with what every act leaves: who, by which way, in which stage and iteration."""
    given = {"stage": trace.facts.stage, "iteration": _iteration(trace), **fields}
    return record(actor=act.actor, channel=act.channel, **given)


def _iteration(trace: EvaluationTrace) -> int:
    """The state's own iteration, which seed 001 counts passes by."""
    state = trace.facts.snapshot.state
    value = state.data.get("iteration") if state and state.valid else None
    return value if type(value) is int else 0


# ---- work -------------------------------------------------------------------------------------


def _reported(trace: EvaluationTrace, act: Command) -> Record:
    step = _in_turn(trace, act.step)
    phase = trace.facts.workflow.phases.get(step)
    known = phase.outcomes if phase else DEFAULT_OUTCOMES
    if act.outcome not in known:
        raise InvalidCommand(f"a report of {step} says one of {', '.join(known)}, not {act.outcome!r}")
    if act.next:
        _phase(trace, act.next)
    tasks = tuple(_task(trace, name) for name in act.tasks)
    return _made(
        trace, act, kind="report", phase=step, outcome=act.outcome, stage=_stage(trace, act, tasks),
        next=act.next, message=act.message, task=tasks[0] if len(tasks) == 1 else "", tasks=list(tasks),
        manual_criteria=list(act.manual_criteria), files=files_of_report(trace.facts, step),
    )  # fmt: skip


def _started(trace: EvaluationTrace, act: Command) -> Record:
    return _made(trace, act, kind="start", phase=_in_turn(trace, act.step))


def _raised(trace: EvaluationTrace, act: Command) -> Record:
    """A question of an agent's own, open until a person answers it (design, section 5)."""
    evaluation, said = trace.evaluation, " ".join(act.message.split())
    if not said:
        raise InvalidCommand("say what a person is to decide")
    if evaluation.suggestion.kind.is_final:
        raise CommandRefused(f"nothing is left to decide: {evaluation.status_reason}")
    same = next((q.id for q in evaluation.questions if " ".join(q.question.split()) == said), None)
    if same:
        raise CommandRefused(f"{same} asks that already, and awaits its answer")
    tasks = tuple(_task(trace, name) for name in act.tasks)
    return _made(
        trace, act, kind="question", phase=evaluation.current_phase or "", message=act.message,
        stage=_stage(trace, act, tasks), tasks=list(tasks),
    )  # fmt: skip


def _in_turn(trace: EvaluationTrace, step: str) -> str:
    """The phase or action that `step` means. Raises Refused with the gate's reason if it is not its turn."""
    workflow = trace.facts.workflow
    permission = check_action(trace, step)
    if permission is None:
        known = _known(trace, step, [*workflow.phases, *workflow.actions])
        raise InvalidCommand(f"{workflow.name} has no phase or action {step!r}{known}")
    due = reportable_steps(trace.decision, workflow)
    if permission.step not in due:
        raise _not_now(trace, permission, due)
    return permission.step


def _not_now(trace: EvaluationTrace, permission: Permission, due: Sequence[str]) -> CommandRefused:
    """Why a step may not be reported: a gate, a run that is over, or a phase that the run is past."""
    name, current = permission.step, trace.decision.phase
    turn = f"; it is the turn of {', '.join(due)}" if due else ""
    phase = trace.facts.workflow.phases.get(name)
    if phase and current and permission.gate is None and due and _is_past(trace, phase, current):
        said = f"{name} {_done_by(trace, phase)}; the run is in {current} now: {trace.decision.reason}{turn}"
        return AlreadyDone(said) if phase.produces else CommandRefused(said)
    why = "it is not its turn" if permission.allowed else permission.because
    gate = f" (gate {permission.gate})" if permission.gate else ""
    return CommandRefused(f"{name} may not be reported now: {why}{gate}{turn}")


def _is_past(trace: EvaluationTrace, phase: Phase, current: str) -> bool:
    present = trace.facts.workflow.phases[current]
    held = [trace.facts.artifact(name) for name in phase.produces]
    in_order = not (phase.detour or present.detour) and phase.order < present.order
    return in_order and all(one.valid for one in held)


def _done_by(trace: EvaluationTrace, phase: Phase) -> str:
    """That a phase needs no report: its files show that it is done."""
    paths = dict.fromkeys(trace.facts.artifact(name).path for name in phase.produces)
    return f"counts as done by its evidence ({', '.join(paths)})" if paths else "is behind the run"


def _phase(trace: EvaluationTrace, name: str) -> str:
    phases = trace.facts.workflow.phases
    if name not in phases:
        raise InvalidCommand(f"unknown phase {name!r}{_known(trace, name, list(phases))}")
    return name


def _known(trace: EvaluationTrace, word: str, names: Sequence[str]) -> str:
    """What was probably meant, or where the names of the workflow stand."""
    listed = f"; `phasekeeper workflow show {trace.facts.workflow.name}` lists them"
    return did_you_mean(word, names) or listed


def _task(trace: EvaluationTrace, name: str) -> str:
    plan = trace.facts.snapshot.plan
    if plan is None:
        raise CommandRefused(f"{name!r} is no task: the run has no plan that can be read")
    found = resolve(plan, name)
    if found is None:
        raise InvalidCommand(f"{name!r} is no task of the plan{did_you_mean(name, list(plan.by_id))}")
    return found


def _stage(trace: EvaluationTrace, act: Command, tasks: Sequence[str]) -> str:
    """The stage that is reported on: as said, else that of the tasks, else the one under work."""
    plan = trace.facts.snapshot.plan
    stages = [stage.id for stage in plan.stages] if plan else []
    if act.stage and stages and act.stage not in stages:
        raise CommandRefused(f"the plan has no stage {act.stage!r}; it has {', '.join(stages)}")
    of_tasks = {plan.by_id[task].stage for task in tasks} if plan else set()
    named = of_tasks | ({act.stage} if act.stage else set())
    if len(named) > 1:
        raise CommandRefused(f"one report is of one stage, not of {', '.join(sorted(named))}")
    return next(iter(named), "") or trace.facts.stage


# ---- decisions --------------------------------------------------------------------------------


def answerable_question(trace: EvaluationTrace, name: str) -> QuestionState:
    """The question that may be answered now under this id. Raises Misnamed, with those that may."""
    open_now = {question.id: question for question in answerable(trace)}
    if name not in open_now:
        names = ", ".join(open_now) or "none is open"
        raise InvalidCommand(f"the question {name!r} is not open; open are: {names}")
    return open_now[name]


def _answered(trace: EvaluationTrace, act: Command) -> Record:
    question = answerable_question(trace, act.question)
    options = [option.id for option in question.options]
    if options and act.option not in options:
        raise InvalidCommand(f"{act.question} has no option {act.option!r}; it has {', '.join(options)}")
    _need_reason(act)
    name, scope, about = _bound(trace, act.question)
    return _made(
        trace, act, kind="answer", question=name, scope=scope, option=act.option, why=act.why, about=about,
        files=files_of_question(trace.facts, name),
    )  # fmt: skip


def _bound(trace: EvaluationTrace, question: str) -> tuple[str, str, str]:
    """(name, scope, what the answer is bound to): an answer holds while what it is about stays the same."""
    name, _, scope = question.partition(":")
    declared = trace.facts.workflow.questions.get(name)
    if declared is None:
        return question, "", trace.facts.snapshot.definition if question == DEFINITION else ""
    return name, scope, trace.facts.content_digest(declared.about) if declared.about else ""


def _need_reason(act: Command) -> None:
    if not act.why.strip():
        raise InvalidCommand("a decision needs a reason")


def _overridden(trace: EvaluationTrace, act: Command) -> Record:
    """It lists what has not passed and is missing before the phase, which it waives (design, section 6)."""
    workflow, evaluation, current = trace.facts.workflow, trace.evaluation, trace.decision.phase
    if current is None:
        raise CommandRefused(f"nothing can be overridden: {evaluation.status_reason}")
    _need_reason(act)
    order = workflow.order(_phase(trace, act.step))
    if act.step not in reached(edges(workflow), {current}):
        raise CommandRefused(f"no rule leads from {current} to {act.step}, not even by way of others")
    before = (gate for gate in evaluation.gates if workflow.order(gate.after) < order)
    gates = [gate.id for gate in before if gate.status != GateStatus.PASSED]
    earlier = (phase for phase in evaluation.phases if phase.order < order)
    phases = [phase.id for phase in earlier if any(not one.valid for one in phase.produces)]
    return _made(
        trace, act, kind="override", phase=current, next=act.step, gates=gates, phases=phases, why=act.why
    )


def _redone(trace: EvaluationTrace, act: Command) -> Record:
    workflow, current = trace.facts.workflow, trace.decision.phase
    step = _phase(trace, act.step)
    if trace.evaluation.status == RunStatus.BLOCKED and trace.decision.kind == SuggestionKind.STOP:
        raise CommandRefused(f"the run is blocked: {trace.evaluation.status_reason}")
    if "redo" not in workflow.effects and f"{step}.redo" not in workflow.effects:
        raise CommandRefused(f"{workflow.name} has no way to do a phase again by a command; its files decide")
    if current is not None and workflow.order(step) > workflow.order(current):
        raise CommandRefused(f"{step} is ahead of {current}; what was not done cannot be done again")
    return _made(trace, act, kind="transition", phase=current or "", next=step, why=act.why)


_RECORDS = {
    "report": _reported,
    "start": _started,
    "raise": _raised,
    "answer": _answered,
    "override": _overridden,
    "redo": _redone,
}
