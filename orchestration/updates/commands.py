"""What somebody reports, decides or asks for, and the record it comes to, as far as it may be done now."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..decision.pending_reports import turns
from ..definition.model import DEFAULT_OUTCOMES, Phase
from ..evaluation.evaluate import Steps
from ..evaluation.permission import Permission, may
from ..evaluation.questions import answerable
from ..expressions.context import did_you_mean
from ..formats.json_text import read_json
from ..journal.journal import SKIPPED, Record, record
from ..lint.phase_graph import edges, reached
from ..plans.schedule import resolve
from ..result.values import QuestionState
from ..snapshot.snapshot import DEFINITION
from ..states import GateStatus, RunStatus, SuggestionKind
from .judged_files import files_of_question, files_of_report

MOST_CHARACTERS = 100_000
"""Of one record as JSON: a journal is read whole, again and again."""


class Refused(Exception):  # noqa: N818 - said to people as it is
    """What was asked for is not allowed or not possible now; the text says why."""


class Misnamed(Refused):
    """The call itself is wrong: it names what there is not, or leaves out what is needed."""


class Settled(Refused):
    """What is reported needs no report: the files show that it is done."""


class Act(NamedTuple):
    """What somebody reports, decides or asks for. `kind`: start, report, raise, answer, override or redo.

    `step` is a phase or action, for an override or redo the phase to go to. `data` is what a report
    carries; what it wants merged into the state file is in it under `stateUpdates`. A raise asks a person
    `message`; `tasks` are those it is about.
    """

    kind: str
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


def record_of(steps: Steps, act: Act) -> Record:
    """The record of an act. Raises Refused when it is not its turn, or names what is not there."""
    if steps.sight.snapshot.journal.broken:
        raise Refused(f"nothing can be recorded: {steps.evaluation.status_reason}")
    made = _RECORDS[act.kind](steps, act)
    text = json.dumps(made)
    if len(text) > MOST_CHARACTERS:
        raise Refused(f"the record has {len(text)} characters, at most {MOST_CHARACTERS} are kept")
    document = read_json(text)
    if not document.readable:
        raise Refused(f"what is said cannot be kept as text: {document.problems[0].message}")
    return made


def skip_of(steps: Steps, act: Act, phase: str) -> Record:
    """The record of a phase that an act passes over (seed 001, canSkip), with its reason."""
    because = steps.sight.workflow.phases[phase].skip_because
    why = steps.sight.text(because, "its condition to be skipped holds")
    return _made(steps, act, kind="transition", phase=phase, outcome=SKIPPED, why=why)


def events_of(act: Act, step: str) -> tuple[str, ...]:
    """The names under which effects of an act on a step are declared, the general ones first (A.14)."""
    if act.kind == "raise":
        return ()
    if act.kind == "report":
        return "always", act.outcome, f"{step}.{act.outcome}"
    if act.kind == "answer":
        name = act.question.partition(":")[0]
        return "always", f"answer.{name}", f"answer.{name}.{act.option}"
    return "always", act.kind, f"{step}.{act.kind}"


def _made(steps: Steps, act: Act, **fields: object) -> Record:
    """A record with what every act leaves: who, by which way, in which stage and iteration."""
    given = {"stage": steps.sight.stage, "iteration": _iteration(steps), **fields}
    return record(actor=act.actor, channel=act.channel, **given)


def _iteration(steps: Steps) -> int:
    """The state's own iteration, which seed 001 counts passes by."""
    state = steps.sight.snapshot.state
    value = state.data.get("iteration") if state and state.valid else None
    return value if type(value) is int else 0


# ---- work -------------------------------------------------------------------------------------


def _reported(steps: Steps, act: Act) -> Record:
    step = _in_turn(steps, act.step)
    phase = steps.sight.workflow.phases.get(step)
    known = phase.outcomes if phase else DEFAULT_OUTCOMES
    if act.outcome not in known:
        raise Misnamed(f"a report of {step} says one of {', '.join(known)}, not {act.outcome!r}")
    if act.next:
        _phase(steps, act.next)
    tasks = tuple(_task(steps, name) for name in act.tasks)
    return _made(
        steps, act, kind="report", phase=step, outcome=act.outcome, stage=_stage(steps, act, tasks),
        next=act.next, message=act.message, task=tasks[0] if len(tasks) == 1 else "", tasks=list(tasks),
        manual_criteria=list(act.manual_criteria), files=files_of_report(steps.sight, step),
    )  # fmt: skip


def _started(steps: Steps, act: Act) -> Record:
    return _made(steps, act, kind="start", phase=_in_turn(steps, act.step))


def _raised(steps: Steps, act: Act) -> Record:
    """A question of an agent's own, open until a person answers it (design, section 5)."""
    evaluation, said = steps.evaluation, " ".join(act.message.split())
    if not said:
        raise Misnamed("say what a person is to decide")
    if evaluation.suggestion.kind.is_final:
        raise Refused(f"nothing is left to decide: {evaluation.status_reason}")
    same = next((q.id for q in evaluation.questions if " ".join(q.question.split()) == said), None)
    if same:
        raise Refused(f"{same} asks that already, and awaits its answer")
    tasks = tuple(_task(steps, name) for name in act.tasks)
    return _made(
        steps, act, kind="question", phase=evaluation.current_phase or "", message=act.message,
        stage=_stage(steps, act, tasks), tasks=list(tasks),
    )  # fmt: skip


def _in_turn(steps: Steps, step: str) -> str:
    """The phase or action that `step` means. Raises Refused with the gate's reason if it is not its turn."""
    workflow = steps.sight.workflow
    permission = may(steps, step)
    if permission is None:
        known = _known(steps, step, [*workflow.phases, *workflow.actions])
        raise Misnamed(f"{workflow.name} has no phase or action {step!r}{known}")
    due = turns(steps.verdict, workflow)
    if permission.step not in due:
        raise _not_now(steps, permission, due)
    return permission.step


def _not_now(steps: Steps, permission: Permission, due: Sequence[str]) -> Refused:
    """Why a step may not be reported: a gate, a run that is over, or a phase that the run is past."""
    name, current = permission.step, steps.verdict.phase
    turn = f"; it is the turn of {', '.join(due)}" if due else ""
    phase = steps.sight.workflow.phases.get(name)
    if phase and current and permission.gate is None and due and _is_past(steps, phase, current):
        said = f"{name} {_done_by(steps, phase)}; the run is in {current} now: {steps.verdict.reason}{turn}"
        return Settled(said) if phase.produces else Refused(said)
    why = "it is not its turn" if permission.allowed else permission.because
    gate = f" (gate {permission.gate})" if permission.gate else ""
    return Refused(f"{name} may not be reported now: {why}{gate}{turn}")


def _is_past(steps: Steps, phase: Phase, current: str) -> bool:
    present = steps.sight.workflow.phases[current]
    held = [steps.sight.held(name) for name in phase.produces]
    in_order = not (phase.detour or present.detour) and phase.order < present.order
    return in_order and all(one.valid for one in held)


def _done_by(steps: Steps, phase: Phase) -> str:
    """That a phase needs no report: its files show that it is done."""
    paths = dict.fromkeys(steps.sight.held(name).path for name in phase.produces)
    return f"counts as done by its evidence ({', '.join(paths)})" if paths else "is behind the run"


def _phase(steps: Steps, name: str) -> str:
    phases = steps.sight.workflow.phases
    if name not in phases:
        raise Misnamed(f"unknown phase {name!r}{_known(steps, name, list(phases))}")
    return name


def _known(steps: Steps, word: str, names: Sequence[str]) -> str:
    """What was probably meant, or where the names of the workflow stand."""
    listed = f"; `phasekeeper workflow show {steps.sight.workflow.name}` lists them"
    return did_you_mean(word, names) or listed


def _task(steps: Steps, name: str) -> str:
    plan = steps.sight.snapshot.plan
    if plan is None:
        raise Refused(f"{name!r} is no task: the run has no plan that can be read")
    found = resolve(plan, name)
    if found is None:
        raise Misnamed(f"{name!r} is no task of the plan{did_you_mean(name, list(plan.by_id))}")
    return found


def _stage(steps: Steps, act: Act, tasks: Sequence[str]) -> str:
    """The stage that is reported on: as said, else that of the tasks, else the one under work."""
    plan = steps.sight.snapshot.plan
    stages = [stage.id for stage in plan.stages] if plan else []
    if act.stage and stages and act.stage not in stages:
        raise Refused(f"the plan has no stage {act.stage!r}; it has {', '.join(stages)}")
    of_tasks = {plan.by_id[task].stage for task in tasks} if plan else set()
    named = of_tasks | ({act.stage} if act.stage else set())
    if len(named) > 1:
        raise Refused(f"one report is of one stage, not of {', '.join(sorted(named))}")
    return next(iter(named), "") or steps.sight.stage


# ---- decisions --------------------------------------------------------------------------------


def answerable_question(steps: Steps, name: str) -> QuestionState:
    """The question that may be answered now under this id. Raises Misnamed, with those that may."""
    open_now = {question.id: question for question in answerable(steps)}
    if name not in open_now:
        names = ", ".join(open_now) or "none is open"
        raise Misnamed(f"the question {name!r} is not open; open are: {names}")
    return open_now[name]


def _answered(steps: Steps, act: Act) -> Record:
    question = answerable_question(steps, act.question)
    options = [option.id for option in question.options]
    if options and act.option not in options:
        raise Misnamed(f"{act.question} has no option {act.option!r}; it has {', '.join(options)}")
    _need_reason(act)
    name, scope, about = _bound(steps, act.question)
    return _made(
        steps, act, kind="answer", question=name, scope=scope, option=act.option, why=act.why, about=about,
        files=files_of_question(steps.sight, name),
    )  # fmt: skip


def _bound(steps: Steps, question: str) -> tuple[str, str, str]:
    """(name, scope, what the answer is bound to): an answer holds while what it is about stays the same."""
    name, _, scope = question.partition(":")
    declared = steps.sight.workflow.questions.get(name)
    if declared is None:
        return question, "", steps.sight.snapshot.definition if question == DEFINITION else ""
    return name, scope, steps.sight.substance(declared.about) if declared.about else ""


def _need_reason(act: Act) -> None:
    if not act.why.strip():
        raise Misnamed("a decision needs a reason")


def _overridden(steps: Steps, act: Act) -> Record:
    """It lists what has not passed and is missing before the phase, which it waives (design, section 6)."""
    workflow, evaluation, current = steps.sight.workflow, steps.evaluation, steps.verdict.phase
    if current is None:
        raise Refused(f"nothing can be overridden: {evaluation.status_reason}")
    _need_reason(act)
    order = workflow.order(_phase(steps, act.step))
    if act.step not in reached(edges(workflow), {current}):
        raise Refused(f"no rule leads from {current} to {act.step}, not even by way of others")
    before = (gate for gate in evaluation.gates if workflow.order(gate.after) < order)
    gates = [gate.id for gate in before if gate.status != GateStatus.PASSED]
    earlier = (phase for phase in evaluation.phases if phase.order < order)
    phases = [phase.id for phase in earlier if any(not one.valid for one in phase.produces)]
    return _made(
        steps, act, kind="override", phase=current, next=act.step, gates=gates, phases=phases, why=act.why
    )


def _redone(steps: Steps, act: Act) -> Record:
    workflow, current = steps.sight.workflow, steps.verdict.phase
    step = _phase(steps, act.step)
    if steps.evaluation.status == RunStatus.BLOCKED and steps.verdict.kind == SuggestionKind.STOP:
        raise Refused(f"the run is blocked: {steps.evaluation.status_reason}")
    if "redo" not in workflow.effects and f"{step}.redo" not in workflow.effects:
        raise Refused(f"{workflow.name} has no way to do a phase again by a command; its files decide")
    if current is not None and workflow.order(step) > workflow.order(current):
        raise Refused(f"{step} is ahead of {current}; what was not done cannot be done again")
    return _made(steps, act, kind="transition", phase=current or "", next=step, why=act.why)


_RECORDS = {
    "report": _reported,
    "start": _started,
    "raise": _raised,
    "answer": _answered,
    "override": _overridden,
    "redo": _redone,
}
