"""Commands on a run (report, answer, override, …) and the journal record of each, where it is permitted."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any, Literal, NamedTuple

from ..decision.brings import Delivery, delivery_files, file_digests
from ..decision.decision import outcomes_of, step_of
from ..decision.facts import RunFacts
from ..decision.gates import gate_against_repeating
from ..decision.lost_work import approved_sizes
from ..decision.pending_reports import is_due, reportable_steps
from ..decision.task_turns import TaskTurns
from ..definition.model import Phase, Question, Workflow
from ..definition.names import PROPOSED
from ..definition.phase_edges import edges
from ..evaluation.named_parts import InvalidCommand, guess, phase_named, stage_named, task_named
from ..evaluation.questions import question_state
from ..evaluation.trace import CommandRefused, EvaluationTrace, check_action
from ..formats.json_text import read_json
from ..graphs import reachable
from ..journal.branches import FAILURES
from ..journal.journal import SKIPPED, Record, record
from ..plans.model import Plan
from ..result.phrases import shell_word
from ..result.values import QuestionState
from ..snapshot.snapshot import DEFINITION
from ..states import GateStatus, QuestionKind, RecordKind, RunStatus, SuggestionKind
from ..vfs.files import digest_of
from .deliveries import check_delivery, report_text
from .judged_files import files_of_answer, files_of_report
from .passed_over import failures_passed_over, tasks_passed_over
from .refusals import RecordedRefusal, lets_through, refusal_for_want_of_change

MOST_CHARACTERS = 100_000
"""Of one record as JSON: a journal is read whole, again and again."""


class AlreadyDone(CommandRefused):
    """Refusal of a report that is not needed: the files show that it is done."""


CommandKind = Literal["start", "report", "raise", "answer", "override", "redo"]


class Command(NamedTuple):
    """A report, decision or request of somebody.

    `step` is a phase or action, for an override or redo the phase to go to. `data` is what a report
    carries; what it wants merged into the state file is in it under `stateUpdates`. `report` is its text
    if the step needs one; a `message` that is such a text counts as well. `commits` are those that the data
    names and the repository has. A raise asks a person `message`; `tasks` are those it is about. `request` is
    the caller's own id of the call, by which a repeated one is known. `decided` is of a decision on another
    machine, and `after` of an answer there, as their records have them.
    """

    kind: CommandKind
    step: str = ""
    outcome: str = ""
    stage: str = ""
    tasks: tuple[str, ...] = ()
    next: str = ""
    message: str = ""
    report: str = ""
    data: Mapping[str, Any] = {}
    commits: frozenset[str] = frozenset()
    manual_criteria: tuple[str, ...] = ()
    question: str = ""
    option: str = ""
    why: str = ""
    actor: str = ""
    channel: str = ""
    request: str = ""
    program: str = ""
    decided: str = ""
    after: str = ""


def build_record(trace: EvaluationTrace, command: Command) -> Record:
    """The record of a command. Raises CommandRefused where it is out of turn or names something unknown, and
    RecordedRefusal for a report that brings no change."""
    if trace.facts.snapshot.journal.broken:
        raise CommandRefused(f"nothing can be recorded: {trace.evaluation.status_reason}")
    try:
        entry = _RECORDS[command.kind](trace, command)
    except RecordedRefusal as refusal:
        for refused in refusal.records:
            _check_fits(refused)
        raise
    _check_fits(entry)
    return entry


def _check_fits(entry: Record) -> None:
    """Raises CommandRefused for a record that a journal cannot keep."""
    text = json.dumps(entry)
    if len(text) > MOST_CHARACTERS:
        raise CommandRefused(f"the record has {len(text)} characters, at most {MOST_CHARACTERS} are kept")
    document = read_json(text)
    if not document.readable:
        raise CommandRefused(f"what is said cannot be kept as text: {document.problems[0].message}")


def repeats_last(trace: EvaluationTrace, command: Command) -> bool:
    """True for a call of the same request id as the one that made the last record: it was carried out.

    Raises CommandRefused as that one was refused, and InvalidCommand where another call had that id.
    """
    made = _records_of_last_request(trace, command.request)
    if not made:
        return False
    first = made[0]
    names = trace.facts.workflow.action_aliases
    same = {
        "report": first["phase"] == names.get(command.step, command.step)
        and first["outcome"] == command.outcome,
        "raise": first["message"] == command.message,
    }
    if not same.get(command.kind):
        said = f"{first['kind']} {first['phase']} {first['outcome']}".strip()
        raise InvalidCommand(f"the request id {command.request} is that of the last record, {said}")
    if first["kind"] == RecordKind.REFUSED:
        raise CommandRefused(f"not recorded: {first['why']}")
    return True


def _records_of_last_request(trace: EvaluationTrace, request: str) -> list[Record]:
    """The records at the end of the journal that a request made, in order."""
    last = reversed(trace.facts.snapshot.journal.records)
    return [*takewhile(lambda entry: request and entry["request"] == request, last)][::-1]


def build_skip_record(trace: EvaluationTrace, command: Command, phase: str) -> Record:
    """The record of a phase that a command passes over (seed 001, canSkip), with its reason."""
    because = trace.facts.workflow.phases[phase].skip_because
    why = trace.facts.text(because, "its condition to be skipped holds")
    return _stamp_record(trace, command, kind="transition", phase=phase, outcome=SKIPPED, why=why)


def effect_events(command: Command, step: str) -> tuple[str, ...]:
    """The names under which effects of a command on a step are declared, the general ones first (A.14)."""
    if command.kind == "raise":
        return ()
    if command.kind == "report":
        return "always", command.outcome, f"{step}.{command.outcome}"
    if command.kind == "answer":
        name = command.question.partition(":")[0]
        return "always", f"answer.{name}", f"answer.{name}.{command.option}"
    return "always", command.kind, f"{step}.{command.kind}"


def _stamp_record(trace: EvaluationTrace, command: Command, **fields: object) -> Record:
    """A record with what every command leaves: who, by which way, in which stage and iteration."""
    common = {"stage": trace.facts.stage, "iteration": trace.facts.iteration}
    by = {"actor": command.actor, "channel": command.channel, "request": command.request}
    return record(**{**by, **common, **fields})


# ---- work -------------------------------------------------------------------------------------


def _report_record(trace: EvaluationTrace, command: Command) -> Record:
    step, workflow = _in_turn(trace, command), trace.facts.workflow
    phase, declared = workflow.phases.get(step), step_of(workflow, step)
    if phase and "person" in phase.agents and trace.evaluation.status is RunStatus.WAITING_HUMAN:
        raise CommandRefused(f"nothing was recorded: {_who_decides(trace, step)}")
    known = outcomes_of(declared)
    if command.outcome not in known:
        raise InvalidCommand(f"a report of {step} says one of {', '.join(known)}, not {command.outcome!r}")
    if command.next:
        phase_named(trace, command.next)
    brings = declared.brings if declared else None
    written = None
    if brings and brings.report:
        written = report_text(trace.facts, step, command.outcome, command.report or command.message)
    said = written.report if written else None
    names = (*command.tasks, *(said.tasks_named if said else ()))
    tasks = tuple(dict.fromkeys(task_named(trace, name) for name in names))
    named = command.stage or (said.stage if said else "")
    stage = stage_named(trace, named, tasks)
    if phase and (problem := TaskTurns(trace.facts).problem(phase, tasks)):
        raise CommandRefused(f"nothing was recorded: {problem}")
    at_work = trace.facts.stage
    if stage and at_work and stage != at_work:
        raise CommandRefused(f"nothing was recorded: stage {stage} is not under work, stage {at_work} is")
    message = said.message if said and not command.report else command.message
    manual = [*command.manual_criteria, *(said.manual_criteria if said else ())]
    entry = _stamp_record(
        trace, command, kind="report", phase=step, outcome=command.outcome,
        stage=stage, next=command.next, message=message,
        task=tasks[0] if len(tasks) == 1 else "", tasks=list(tasks),
        manual_criteria=list(dict.fromkeys(manual)), files=files_of_report(trace.facts, step),
        path=written.path if written else "", about=said.digest if said else "",
        given=digest_of(json.dumps(command.data, sort_keys=True, default=str)) if command.data else "",
    )  # fmt: skip
    if brings:
        text = written.text if written else command.message
        delivery = Delivery(entry, command.data, text, command.commits)
        let = lets_through(trace.facts, step)
        is_of_no_task = phase is not None and phase.tasks is not None and not tasks
        more = "; and it names no task that it is about (`--task`)" if is_of_no_task else ""
        try:
            why = check_delivery(trace.facts, brings, delivery, command.outcome == known[0], let)
        except CommandRefused as error:
            raise CommandRefused(f"{error}{more}") if more else error from None
        if why:
            raise refusal_for_want_of_change(trace.facts, entry, f"{why}{more}")
    return entry


def _who_decides(trace: EvaluationTrace, step: str) -> str:
    """That a step is a person's, what the person is asked, and by which command it is answered."""
    asked, how = trace.evaluation.holding_question, trace.evaluation.answer_command
    if asked is None:
        return f"{step} is ended by a person: {trace.evaluation.status_reason}"
    return f"{step} is ended by a person, who is asked {asked.question!r} and answers by {how}"


def _raise_record(trace: EvaluationTrace, command: Command) -> Record:
    """A question of an agent's own, open until a person answers it (design, section 5)."""
    evaluation, said = trace.evaluation, " ".join(command.message.split())
    if not said:
        raise InvalidCommand("say what a person is to decide")
    if evaluation.suggestion.kind.is_final:
        raise CommandRefused(f"nothing is left to decide: {evaluation.status_reason}")
    same = next((q.id for q in evaluation.questions if " ".join(q.question.split()) == said), None)
    if same:
        raise CommandRefused(f"{same} asks that already, and awaits its answer")
    tasks = tuple(task_named(trace, name) for name in command.tasks)
    return _stamp_record(
        trace, command, kind="question", phase=evaluation.current_phase or "", message=command.message,
        stage=stage_named(trace, command.stage, tasks), tasks=list(tasks),
    )  # fmt: skip


def _in_turn(trace: EvaluationTrace, command: Command) -> str:
    """The phase or action that a command is of. Raises CommandRefused, with the gate's reason, out of turn;
    RecordedRefusal for a verdict that failed and is given again before anything was done about it."""
    workflow, step = trace.facts.workflow, command.step
    permission = check_action(trace, step)
    if permission is None:
        known = guess(trace, step, [*workflow.phases, *workflow.actions])
        raise InvalidCommand(f"{workflow.name} has no phase or action {step!r}{known}")
    due = reportable_steps(trace.decision, workflow)
    name = permission.step
    failed = gate_against_repeating(trace.decision.gates, name) if due and command.kind == "report" else None
    if is_due(workflow, due, trace.decision, name, command.outcome) or (
        failed and lets_through(trace.facts, name)
    ):
        return name
    turn = _turn_words(workflow, due)
    phase, current = workflow.phases.get(name), workflow.phases.get(trace.decision.phase or "")
    if phase and current and due and permission.gate is None and not (phase.detour or current.detour):
        artifacts = [trace.facts.artifact(each) for each in phase.produces]
        if phase.order < current.order and all(artifact.valid for artifact in artifacts):
            # It needs no report: its files show that it is done.
            paths = ", ".join(dict.fromkeys(artifact.path for artifact in artifacts))
            how = f"counts as done by its evidence ({paths})" if paths else "is behind the run"
            why = f"{name} {how}; the run is in {current.id} now: {trace.decision.reason}{turn}"
            if not phase.produces:
                raise CommandRefused(why)
            if command.outcome in FAILURES:
                wrong = f"a report of {command.outcome} changes nothing of that, {paths} has to say it"
                raise CommandRefused(f"nothing was recorded: {name} {how}; {wrong}, and the run goes back")
            raise AlreadyDone(why)
    why = "it is not its turn" if permission.allowed else permission.because
    gate = f" (gate {permission.gate})" if permission.gate else ""
    said = f"{name} may not be reported now: {why}{gate}{turn}"
    if failed and phase and command.outcome in phase.outcomes:
        raise refusal_for_want_of_change(trace.facts, _repeated_verdict(trace, command, phase), said)
    raise CommandRefused(said)


def _turn_words(workflow: Workflow, due: Sequence[str]) -> str:
    """Whose turn it is, behind a refusal; what only a person ends is nobody's else to report."""
    persons = [name for name in due if name in workflow.phases and "person" in workflow.phases[name].agents]
    said = [f"; {', '.join(persons)} is a person's to end"] if persons else []
    others = [name for name in due if name not in persons]
    return "".join([*([f"; it is the turn of {', '.join(others)}"] if others else []), *said])


def _repeated_verdict(trace: EvaluationTrace, command: Command, phase: Phase) -> Record:
    """The record that a verdict would be, with the files that it is about."""
    entry = _stamp_record(trace, command, kind="report", phase=phase.id, outcome=command.outcome)
    facts, brings = trace.facts, phase.brings
    digests = file_digests(facts, delivery_files(facts, brings, Delivery(entry))) if brings else {}
    entry["files"] = [{"path": path, "digest": digest} for path, digest in digests.items()]
    return entry


# ---- decisions --------------------------------------------------------------------------------


def answerable(trace: EvaluationTrace) -> tuple[QuestionState, ...]:
    """Questions that a person may answer now: the open questions, then approvals of what has changed since.

    A run goes on with a changed plan, so nobody is asked; but who wants to may approve it as it is now.
    """
    facts, decision, questions = trace.facts, trace.decision, trace.evaluation.questions
    if decision.kind.is_final or decision.undelivered:
        return questions
    asked = (q for q in facts.workflow.questions.values() if q.offered is None)
    approvals = (q for q in asked if q.kind == QuestionKind.APPROVAL and q.about)
    stale = (q for q in approvals if facts.context.fact(f"answers.{q.id}").value == "stale")
    again = (question_state(facts, question) for question in stale)
    known = {question.id for question in questions}
    return (*questions, *(question for question in again if question.id not in known))


def offered_questions(trace: EvaluationTrace) -> tuple[QuestionState, ...]:
    """Questions that nobody is asked and that a person may answer now, by name alone."""
    facts, context = trace.facts, trace.facts.context
    declared = facts.workflow.questions
    withheld = tuple(question_state(facts, declared[name]) for name in trace.decision.withheld)
    if trace.decision.kind.is_final or trace.decision.undelivered:
        return withheld
    questions = (q for q in facts.workflow.questions.values() if q.offered and context.holds(q.offered))
    unanswered = (q for q in questions if context.fact(f"answers.{q.id}").value in ("none", "stale"))
    return (*withheld, *(question_state(facts, question) for question in unanswered))


def answerable_question(trace: EvaluationTrace, name: str) -> QuestionState:
    """The question that may be answered now under this id. Raises InvalidCommand, with those that may."""
    open_now = {question.id: question for question in answerable(trace)}
    unasked = {question.id: question for question in offered_questions(trace)}
    if name not in open_now and name not in unasked:
        names = ", ".join(open_now) or "none is open"
        raise InvalidCommand(f"the question {name!r} is not open; open are: {names}")
    return open_now.get(name) or unasked[name]


def _answer_record(trace: EvaluationTrace, command: Command) -> Record:
    question = answerable_question(trace, command.question)
    options = [option.id for option in question.options]
    if options and command.option not in options:
        raise InvalidCommand(
            f"{command.question} has no option {command.option!r}; it has {', '.join(options)}"
        )
    _need_reason(command)
    facts, (name, _, scope) = trace.facts, command.question.partition(":")
    declared, about = facts.workflow.questions.get(name), ""
    signed = (
        [each.id for each in facts.proposed_decisions(declared)]
        if declared and command.option == PROPOSED
        else []
    )
    stages: list[str] = []
    # An answer holds while what it is about stays the same.
    if declared is None:
        name, scope = command.question, ""
        about = facts.snapshot.definition if name == DEFINITION else ""
    else:
        about = facts.content_digest(declared)
        stages = _stages_decided_on(facts, declared)
    return _stamp_record(
        trace, command, kind="answer", question=name, scope=scope, option=command.option, why=command.why,
        about=about, stages=stages, asked=question.question, program=command.program,
        decided=command.decided, after=command.after,
        options=[{"id": option.id, "text": option.text} for option in question.options],
        files=files_of_answer(facts, (*(declared.about if declared else ()), *signed)),
    )  # fmt: skip


def _stages_decided_on(facts: RunFacts, question: Question) -> list[str]:
    """The stages that an answer is about or takes as they are, each with the number of its tasks."""
    if question.stages is not None:
        taken = facts.context.value(question.stages).value
        names = {str(name) for name in taken} if isinstance(taken, list) else set[str]()
        stages = facts.snapshot.plan_facts.stages
        return [f"{stage['id']}: {stage['total']}" for stage in stages if stage["id"] in names]
    plans = (facts.artifact(name).data for name in question.about)
    plan = next((data for data in plans if isinstance(data, Plan)), None)
    return approved_sizes(plan) if plan else []


def _need_reason(command: Command) -> None:
    if not command.why.strip():
        raise InvalidCommand("a decision needs a reason")


def _override_record(trace: EvaluationTrace, command: Command) -> Record:
    """It lists what has not passed and is missing before the phase, which it waives (design, section 6).

    So it does with report files that fail such a phase and were out of turn: they count no more.
    """
    workflow, evaluation, current = trace.facts.workflow, trace.evaluation, trace.decision.phase
    if current is None:
        raise CommandRefused(f"nothing can be overridden: {evaluation.status_reason}")
    _need_reason(command)
    order = workflow.order(phase_named(trace, command.step))
    reached = reachable(edges(workflow), {current}) - {current}
    if command.step not in reached and command.step != current:
        if workflow.phases[current].terminal:
            begin = f"`phasekeeper start {workflow.name} NAME` begins a new run"
            raise CommandRefused(f"nothing leads on from {current}, the end of the run; {begin}")
        ways = ", ".join(name for name in workflow.phases if name in reached)
        instead = f"an override may go to {ways}" if ways else "no override leads on from here"
        raise CommandRefused(
            f"no rule leads from {current} to {command.step}, not even by way of others; "
            f"{instead}; `phasekeeper next --run {shell_word(evaluation.run or '.')}` says what leads on"
        )
    before = (gate for gate in evaluation.gates if workflow.order(gate.after) < order)
    gates = [gate.id for gate in before if gate.status != GateStatus.PASSED]
    earlier = (phase for phase in evaluation.phases if phase.order < order)
    phases = [phase.id for phase in earlier if any(not one.valid for one in phase.produces)]
    return _stamp_record(
        trace, command, kind="override", phase=current, next=command.step, gates=gates, phases=phases,
        tasks=tasks_passed_over(trace, order), why=command.why, program=command.program,
        decided=command.decided, files=failures_passed_over(trace, order),
    )  # fmt: skip


def _redo_record(trace: EvaluationTrace, command: Command) -> Record:
    workflow, current = trace.facts.workflow, trace.decision.phase
    step = phase_named(trace, command.step)
    if trace.evaluation.status == RunStatus.BLOCKED and trace.decision.kind == SuggestionKind.STOP:
        raise CommandRefused(f"the run is blocked: {trace.evaluation.status_reason}")
    if not workflow.has_redo(step):
        raise CommandRefused(f"{workflow.name} has no way to do a phase again by a command; its files decide")
    if current is not None and workflow.order(step) > workflow.order(current):
        raise CommandRefused(f"{step} is ahead of {current}; what was not done cannot be done again")
    return _stamp_record(trace, command, kind="transition", phase=current or "", next=step, why=command.why)


_RECORDS = {
    "report": _report_record,
    "start": lambda trace, command: _stamp_record(
        trace, command, kind="start", phase=_in_turn(trace, command)
    ),
    "raise": _raise_record,
    "answer": _answer_record,
    "override": _override_record,
    "redo": _redo_record,
}
