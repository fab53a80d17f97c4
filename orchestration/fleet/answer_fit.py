"""Open questions as other machines are told them, and whether an answer from there still fits the run."""

from __future__ import annotations

from ..definition.names import PROPOSED
from ..evaluation.trace import CommandRefused, EvaluationTrace
from ..journal.journal import Record
from ..journal.lines import JOURNAL, parse_lines
from ..journal.signatures import covered_elsewhere, one_line, subject_of, subject_of_override
from ..result.values import QuestionState
from ..snapshot.snapshot import DEFINITION, STATE
from ..states import RecordKind
from ..updates.commands import Command, build_record
from ..vfs.files import below
from .remote_answers import AnswerProposal, DecisionKind, OpenQuestion, misfit

MOST_QUESTIONS = 20
"""Of a run other machines are told of so many."""
_FILES_ALONE = (DEFINITION, STATE)


def open_questions(trace: EvaluationTrace) -> tuple[OpenQuestion, ...]:
    """The first open questions of a run, in their order."""
    return tuple(_open_question(trace, each) for each in trace.evaluation.questions[:MOST_QUESTIONS])


def _open_question(trace: EvaluationTrace, question: QuestionState) -> OpenQuestion:
    options = tuple(f"{option.id} {one_line(option.text)}" for option in question.options)
    return OpenQuestion(question.id, one_line(question.question), options, _subject(trace, question))


def _subject(trace: EvaluationTrace, question: QuestionState) -> str:
    """The digest of what an answer would be about; "" where a person has to have the files before them, as to
    sign one as it is, and where nothing can be answered."""
    ids = [option.id for option in question.options]
    if question.id in _FILES_ALONE or PROPOSED in ids:
        return ""
    tried = Command(kind="answer", question=question.id, option=ids[0] if ids else "-", why="-")
    try:
        return subject_of(build_record(trace, tried))
    except CommandRefused:
        return ""


def is_recorded(trace: EvaluationTrace, proposal: AnswerProposal) -> bool:
    """True if the journal has that very decision, and it counts."""
    records = (each for each in trace.facts.snapshot.records if each["decided"] == proposal.decided)
    return any(covered_elsewhere(each) == proposal.signed_content for each in records)


def refusal(trace: EvaluationTrace, proposal: AnswerProposal) -> str:
    """Why a decision from another machine does not fit the run as it is; "" where it does. Its signature is
    not looked at."""
    if proposal.kind is DecisionKind.OVERRIDE:
        return _override_refusal(trace, proposal)
    if why := misfit(proposal, open_questions(trace)):
        return why
    home = trace.facts.snapshot.home
    text = trace.facts.snapshot.reader.files.read(below(home, JOURNAL)).text or ""
    lines = parse_lines(text)
    seen = next((at for at, line in enumerate(lines) if line.digest == proposal.after), None)
    if seen is None and proposal.after:
        return "the journal does not hold what the person saw; look at it again"
    later = [line.data or {} for line in lines[0 if seen is None else seen + 1 :]]
    if any(_answers(each, proposal.question) for each in later):
        return f"{proposal.question} was decided after it was looked at; look at it again"
    return ""


def _override_refusal(trace: EvaluationTrace, proposal: AnswerProposal) -> str:
    if proposal.after != trace.facts.snapshot.journal.head:
        return "the journal there is not as the person saw it; get the files of that clone, and look again"
    try:
        subject = subject_of_override(build_record(trace, command_of(proposal)))
    except CommandRefused as refused:
        return str(refused)
    return "" if subject == proposal.subject else "it would waive something else by now; look at it again"


def override_proposal(trace: EvaluationTrace, wanted: Command) -> tuple[str, str]:
    """(the digest of what an override waives, that of the journal's last line). Raises CommandRefused."""
    return subject_of_override(build_record(trace, wanted)), trace.facts.snapshot.journal.head


def _answers(record: Record, question: str) -> bool:
    scope = record.get("scope")
    named = f"{record.get('question')}:{scope}" if scope else record.get("question")
    return record.get("kind") == RecordKind.ANSWER and named == question


def command_of(proposal: AnswerProposal) -> Command:
    """The command that records a proposal."""
    if proposal.kind is DecisionKind.OVERRIDE:
        return Command(
            kind="override", step=proposal.option, why=proposal.why, actor=proposal.actor, channel="fleet",
            decided=proposal.decided,
        )  # fmt: skip
    return Command(
        kind="answer", question=proposal.question, option=proposal.option, why=proposal.why,
        actor=proposal.actor, channel="fleet", decided=proposal.decided, after=proposal.after,
    )  # fmt: skip
