"""What a person is asked now: the questions that rules open, a changed definition, what agents raised."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..decision.decision import Verdict
from ..decision.facts import Sight
from ..definition.model import Question
from ..result.values import Option, QuestionState
from ..snapshot.snapshot import DEFINITION
from ..states import QuestionKind, RecordKind, RunStatus, SuggestionKind

if TYPE_CHECKING:
    from .evaluate import Steps

RAISED = (Option("continue", "go on"), Option("stop", "stop the run"))


def open_questions(sight: Sight, verdict: Verdict) -> tuple[QuestionState, ...]:
    """The one list of open questions, each id once; a wait for a person without a question is one too."""
    asked = [_question(sight, sight.workflow.questions[name]) for name in verdict.asked]
    if sight.snapshot.definition_changed:
        asked.append(_definition(sight))
    if (
        verdict.status == RunStatus.WAITING_HUMAN
        and not verdict.asked
        and verdict.kind != SuggestionKind.STAY
    ):
        asked.append(
            QuestionState(f"clarification:{verdict.phase}", QuestionKind.CLARIFICATION, verdict.reason)
        )
    return (*asked, *_raised(sight))


def answerable(steps: Steps) -> tuple[QuestionState, ...]:
    """What a person may answer now: the open questions, then approvals of what has changed since.

    A run goes on with a changed plan, so nobody is asked; but who wants to may approve it as it is now.
    """
    sight, verdict, asked = steps.sight, steps.verdict, steps.evaluation.questions
    if verdict.kind.is_final or verdict.lost:
        return asked
    approvals = (q for q in sight.workflow.questions.values() if q.kind == QuestionKind.APPROVAL and q.about)
    stale = (q for q in approvals if sight.context.known(f"answers.{q.id}").value == "stale")
    again = (_question(sight, question) for question in stale)
    known = {question.id for question in asked}
    return (*asked, *(question for question in again if question.id not in known))


def _question(sight: Sight, question: Question) -> QuestionState:
    context = sight.context
    scope = str(context.value(question.scope).value or "") if question.scope else ""
    tasks = context.items(question.tasks).value if question.tasks else []
    history = context.value(question.history).value if question.history else []
    return QuestionState(
        id=f"{question.id}:{scope}" if scope else question.id,
        kind=QuestionKind(question.kind),
        question=sight.text(question.ask),
        options=tuple(Option(name, text) for name, text in question.options.items()),
        tasks=tuple(_id_of(task) for task in tasks) if isinstance(tasks, list) else (),
        history=tuple(_history(entry) for entry in history) if isinstance(history, list) else (),
        since=_newest(sight),
    )


def _id_of(task: object) -> str:
    return str(task["id"]) if isinstance(task, dict) and "id" in task else str(task)


def _history(entry: object) -> Mapping[str, Any]:
    kept = ("at", "phase", "stage", "iteration", "outcome", "message", "path", "tasks")
    known = entry if isinstance(entry, dict) else {"message": str(entry)}
    return {name: known[name] for name in kept if known.get(name)}


def _newest(sight: Sight) -> str | None:
    return str(sight.records[-1]["at"]) or None if sight.records else None


def _definition(sight: Sight) -> QuestionState:
    name = sight.workflow.name
    said = f"The definition of {name}, or a parameter of it, changed while this run was under way."
    options = (Option("accept", "judge the run by the changed definition"),)
    sight.tell("definition-changed", sight.snapshot.run, said)
    return QuestionState(DEFINITION, QuestionKind.APPROVAL, f"{said} May it judge the run?", options)


def _raised(sight: Sight) -> tuple[QuestionState, ...]:
    """Questions that an agent raised and nobody answered."""
    answered = {str(entry["question"]) for entry in sight.records if entry["kind"] == RecordKind.ANSWER}
    raised = ((f"raised:{e['seq']}", e) for e in sight.records if e["kind"] == RecordKind.QUESTION)
    return tuple(
        QuestionState(
            name, QuestionKind.ESCALATION, str(e["message"] or e["why"]), RAISED, since=str(e["at"]) or None
        )
        for name, e in raised
        if name not in answered
    )
