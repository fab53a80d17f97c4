"""What a person is asked now: the questions that rules open, a changed definition, what agents raised."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..decision.decision import Decision
from ..decision.facts import RunFacts
from ..definition.model import Question
from ..result.values import Option, QuestionState
from ..snapshot.snapshot import DEFINITION
from ..states import QuestionKind, RecordKind, RunStatus, SuggestionKind

if TYPE_CHECKING:
    from .evaluate import EvaluationTrace

RAISED = (Option("continue", "go on"), Option("stop", "stop the run"))


def open_questions(facts: RunFacts, decision: Decision) -> tuple[QuestionState, ...]:
    """The one list of open questions, each id once; a wait for a person without a question is one too."""
    asked = [_question(facts, facts.workflow.questions[name]) for name in decision.asked]
    if facts.snapshot.definition_changed:
        asked.append(_definition(facts))
    if (
        decision.status == RunStatus.WAITING_HUMAN
        and not decision.asked
        and decision.kind != SuggestionKind.STAY
    ):
        asked.append(
            QuestionState(f"clarification:{decision.phase}", QuestionKind.CLARIFICATION, decision.reason)
        )
    return (*asked, *_raised(facts))


def answerable(trace: EvaluationTrace) -> tuple[QuestionState, ...]:
    """What a person may answer now: the open questions, then approvals of what has changed since.

    A run goes on with a changed plan, so nobody is asked; but who wants to may approve it as it is now.
    """
    facts, decision, asked = trace.facts, trace.decision, trace.evaluation.questions
    if decision.kind.is_final or decision.lost:
        return asked
    approvals = (q for q in facts.workflow.questions.values() if q.kind == QuestionKind.APPROVAL and q.about)
    stale = (q for q in approvals if facts.context.known(f"answers.{q.id}").value == "stale")
    again = (_question(facts, question) for question in stale)
    known = {question.id for question in asked}
    return (*asked, *(question for question in again if question.id not in known))


def _question(facts: RunFacts, question: Question) -> QuestionState:
    context = facts.context
    scope = str(context.value(question.scope).value or "") if question.scope else ""
    tasks = context.items(question.tasks).value if question.tasks else []
    history = context.value(question.history).value if question.history else []
    return QuestionState(
        id=f"{question.id}:{scope}" if scope else question.id,
        kind=QuestionKind(question.kind),
        question=facts.text(question.ask),
        options=tuple(Option(name, text) for name, text in question.options.items()),
        tasks=tuple(_id_of(task) for task in tasks) if isinstance(tasks, list) else (),
        history=tuple(_history(entry) for entry in history) if isinstance(history, list) else (),
        since=_newest(facts),
    )


def _id_of(task: object) -> str:
    return str(task["id"]) if isinstance(task, dict) and "id" in task else str(task)


def _history(entry: object) -> Mapping[str, Any]:
    kept = ("at", "phase", "stage", "iteration", "outcome", "message", "path", "tasks")
    known = entry if isinstance(entry, dict) else {"message": str(entry)}
    return {name: known[name] for name in kept if known.get(name)}


def _newest(facts: RunFacts) -> str | None:
    return str(facts.records[-1]["at"]) or None if facts.records else None


def _definition(facts: RunFacts) -> QuestionState:
    name = facts.workflow.name
    said = f"The definition of {name}, or a parameter of it, changed while this run was under way."
    options = (Option("accept", "judge the run by the changed definition"),)
    facts.tell("definition-changed", facts.snapshot.run, said)
    return QuestionState(DEFINITION, QuestionKind.APPROVAL, f"{said} May it judge the run?", options)


def _raised(facts: RunFacts) -> tuple[QuestionState, ...]:
    """Questions that an agent raised and nobody answered."""
    answered = {str(entry["question"]) for entry in facts.records if entry["kind"] == RecordKind.ANSWER}
    raised = ((f"raised:{e['seq']}", e) for e in facts.records if e["kind"] == RecordKind.QUESTION)
    return tuple(
        QuestionState(
            name, QuestionKind.ESCALATION, str(e["message"] or e["why"]), RAISED, since=str(e["at"]) or None
        )
        for name, e in raised
        if name not in answered
    )
