"""The text that a person confirms before a decision: from the definition and the evaluation, never from an
argument. A caller names the question and the option; the words are the definition's, and only the reason is
the person's own.

Every surface (terminal, editor dialogs, our extension, elicitation) shows this one text whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

from ..definition.names import PROPOSED
from ..evaluation.questions import MOST_SIGNED
from ..evaluation.trace import EvaluationTrace
from ..findings import Severity
from ..journal.journal import Claim, files_of
from ..result.phrases import status_phrase
from ..result.values import Evaluation, QuestionState
from ..snapshot.snapshot import DEFINITION, STATE
from ..snapshot.state_ratchets import loosened_values
from ..states import RecordKind
from .commands import Command, CommandRefused, answerable_question
from .judged_files import files_of_answer
from .propose import propose

MOST_HISTORY = 6
"""Failures that led to a question, the newest last."""
MOST_ERRORS = 3
MOST_FILES = 6
_UNTYPED_REASON = "(your reason, which you type next)"


class Confirmation(NamedTuple):
    """`title` is the decision in one sentence, `lines` are all that has to be read before it, in order.

    Plain text that quotes files; whoever shows it still has to escape it.
    """

    title: str
    lines: tuple[str, ...]


def confirmation(trace: EvaluationTrace, command: Command, now: datetime) -> Confirmation:
    """The text that a person confirms with an answer, an override, or before a phase is done again.

    An answer that names no option gets the text for choosing one: every option, each with what follows from
    it. An act without a reason gets the text as it is before the reason is typed.

    Raises InvalidCommand for a question or option that is not open and for an unknown phase, CommandRefused
    for what is not possible now. Cost: one evaluation for each option that is shown.
    """
    reason = (f"reason: {command.why.strip()}",) if command.why.strip() else ()
    if not reason:
        command = command._replace(why=_UNTYPED_REASON)
    evaluation = trace.evaluation
    if command.kind == "override":
        way = f"from {_name_of(evaluation, evaluation.current_phase)} to {_name_of(evaluation, command.step)}"
        title = f"Move {evaluation.run} {way}, against what its files say?"
        lines = _override(trace, command, now, reason)
    elif command.kind == "redo":
        title = f"Do {_name_of(evaluation, command.step)} of {evaluation.run} again?"
        lines = (*_errors(evaluation), *reason, _afterwards(propose(trace, command, now).evaluation))
    else:
        question = answerable_question(trace, command.question)
        title, lines = question.question, _answer(trace, question, command, now, reason)
    # Which run it is, at which revision: a text that was shown before the run changed is another text.
    name = "" if not evaluation.title else ' "' + evaluation.title.replace('"', "'") + '"'
    where = f"({evaluation.workflow}) in {evaluation.root}, revision {evaluation.revision}"
    run = f"run {evaluation.run or '.'}{name} {where}"
    phase = f"phase {_name_of(evaluation, evaluation.current_phase or 'unknown')}: {evaluation.status_reason}"
    return Confirmation(title, (run, phase, *lines))


class OptionOutcome(NamedTuple):
    """An option of an open question, and what follows from it: the line of how the run would stand then.

    `signed` are the lines of the files that would be signed with it. Where it is not possible now, `possible`
    is false and `outcome` says why.
    """

    id: str
    text: str
    signed: tuple[str, ...]
    outcome: str
    possible: bool


def option_outcomes(
    trace: EvaluationTrace, question: QuestionState, command: Command, now: datetime
) -> Iterator[OptionOutcome]:
    """Every option of a question, in order, as `command` with it would end. Cost: one evaluation each."""
    for option in question.options:
        signed = tuple(_signed_lines(trace, question)) if option.id == PROPOSED else ()
        try:
            line, possible = (
                _afterwards(propose(trace, command._replace(option=option.id), now).evaluation),
                True,
            )
        except CommandRefused as error:
            line, possible = f"not possible now: {error}", False
        yield OptionOutcome(option.id, option.text, signed, line, possible)


def answer_command(question: QuestionState) -> Command:
    """The answer to a question as far as it is known before a person has chosen and typed a reason."""
    return Command(kind="answer", question=question.id, why=_UNTYPED_REASON)


def background(trace: EvaluationTrace, question: QuestionState) -> Iterator[str]:
    """Lines of what led to a question: the files it is about, its tasks, what was loosened, the failures."""
    declared = trace.facts.workflow.questions.get(question.id.partition(":")[0])
    paths = [each["path"] for each in files_of_answer(trace.facts, declared.about if declared else ())]
    if paths:
        more = f" and {len(paths) - MOST_FILES} more" if len(paths) > MOST_FILES else ""
        yield f"about {', '.join(paths[:MOST_FILES])}{more}"
    if question.tasks:
        yield f"tasks: {', '.join(question.tasks)}"
    state, is_definition = trace.facts.snapshot.state, question.id == DEFINITION
    for loosened in loosened_values(state) if state and question.id == STATE else ():
        yield f"{state.path if state else ''}: {loosened.change}"
    if question.id == STATE and trace.violations.state:
        yield from _file_lines(trace, trace.violations.state)
    for finding in trace.facts.loosened_parameters() if is_definition else ():
        yield f"{finding.path}: {finding.message}"
    for entry in question.history[-MOST_HISTORY:]:
        what = f"{entry.get('phase', '')} {entry.get('outcome', '')}".strip()
        yield ": ".join(filter(None, ("before", what, str(entry.get("message", "")))))


def _answer(
    trace: EvaluationTrace, question: QuestionState, command: Command, now: datetime, reason: Iterable[str]
) -> Iterator[str]:
    yield from background(trace, question)
    if command.option:
        proposal = propose(trace, command, now)
        text = next((f" ({option.text})" for option in question.options if option.id == command.option), "")
        yield f"answer: {command.option}{text}"
        if command.option == PROPOSED:
            yield from _signed_lines(trace, question)
        yield from reason
        yield _afterwards(proposal.evaluation)
        return
    for option in option_outcomes(trace, question, command, now):
        yield f"- {option.id}: {option.text}"
        yield from option.signed
        yield f"  {option.outcome}"


def _file_lines(trace: EvaluationTrace, path: str) -> Iterator[str]:
    """Every line of a file that would count as it is; of a large one that it has to be looked at."""
    text = trace.facts.snapshot.reader.read(path).text or ""
    yield f"{path} as it is now{':' if len(text) <= MOST_SIGNED else ' is too long to be shown: look at it'}"
    yield from (f"  | {line}" for line in (text.splitlines() if len(text) <= MOST_SIGNED else ()))


def _signed_lines(trace: EvaluationTrace, question: QuestionState) -> Iterator[str]:
    """Every line of the files that would be signed as they are."""
    declared = trace.facts.workflow.questions[question.id.partition(":")[0]]
    for proposed in trace.facts.proposed_decisions(declared):
        yield f"  {proposed.path}:"
        yield from (f"  | {line}" for line in proposed.text.splitlines())


def _override(
    trace: EvaluationTrace, command: Command, now: datetime, reason: Iterable[str]
) -> Iterator[str]:
    """Lines of what the override waives and goes without, exactly as its record will list it."""
    evaluation, proposal = trace.evaluation, propose(trace, command, now)
    record = next(entry for entry in proposal.records if entry["kind"] == RecordKind.OVERRIDE)
    waived = record["gates"] if isinstance(record["gates"], list) else []
    for gate in (gate for gate in evaluation.gates if gate.id in waived):
        named = f'"{gate.title}" ({gate.id})' if gate.title not in ("", gate.id) else gate.id
        yield f"gate {named} is {gate.status} and will be waived"
    lacking = record["phases"] if isinstance(record["phases"], list) else []
    for phase in (phase for phase in evaluation.phases if phase.id in lacking):
        files = ", ".join(f"{one.path} is {one.state}" for one in phase.produces if not one.valid)
        yield f"{_name_of(evaluation, phase.id)} will go without what it owes: {files}"
    passed_over = files_of(record)
    for entry in (entry for entry in trace.facts.snapshot.pending if entry.path in passed_over):
        yield f"{entry.path} says {entry.report.phases[0]} {entry.report.outcome} and will be passed over"
    yield from _errors(evaluation)
    yield from reason
    yield _afterwards(proposal.evaluation)


def _errors(evaluation: Evaluation) -> Iterator[str]:
    errors = [f for f in evaluation.findings if f.severity is Severity.ERROR and not f.overridden]
    for finding in errors[:MOST_ERRORS]:
        yield f"error in {finding.path}: {finding.message}"
    if len(errors) > MOST_ERRORS:
        yield f"and {len(errors) - MOST_ERRORS} more errors"


def _afterwards(evaluation: Evaluation) -> str:
    """The line of how the run would stand then."""
    step, status = evaluation.suggestion, status_phrase(evaluation.status)
    onward = f", next {_name_of(evaluation, step.suggested_next)}" if step.suggested_next else ""
    return f"afterwards: {status} in {_name_of(evaluation, evaluation.current_phase)}{onward}: {step.reason}"


def _name_of(evaluation: Evaluation, phase: str | None) -> str:
    """A phase by its title, its id behind it; what has no title, as an action, by its id."""
    title = next((each.title for each in evaluation.phases if each.id == phase), "")
    says_more = title.casefold() not in ("", str(phase).casefold())
    return f'"{title}" ({phase})' if says_more else str(phase)


def release_lines(claimed: Claim) -> list[str]:
    """What a person has to read before somebody's claim is ended."""
    return [
        f"{claimed.task} is claimed by {claimed.actor} until {claimed.until}, and its token is not given",
        "released, it is free: whoever works on it has no claim any more",
    ]
