"""What a person is asked now: the questions that rules open, a changed definition, what agents raised."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..decision.decision import Decision, definition_changed_text
from ..decision.facts import RunFacts
from ..definition.model import Question
from ..result.values import Option, QuestionState
from ..snapshot.snapshot import DEFINITION
from ..states import QuestionKind, RecordKind, RunStatus, SuggestionKind

RAISED = (Option("continue", "go on"), Option("stop", "stop the run"))
_HISTORY = ("at", "phase", "stage", "iteration", "outcome", "message", "path", "tasks")


def open_questions(facts: RunFacts, decision: Decision) -> tuple[QuestionState, ...]:
    """The one list of open questions, each id once; a wait for a person without a question is one too."""
    questions = [question_state(facts, facts.workflow.questions[name]) for name in decision.questions]
    if facts.snapshot.definition_changed:
        options = (Option("accept", "judge the run by the changed definition"),)
        text = f"{definition_changed_text(facts.workflow)} May it judge the run?"
        questions.append(QuestionState(DEFINITION, QuestionKind.APPROVAL, text, options))
    waits_for_person = decision.status is RunStatus.WAITING_HUMAN and not decision.questions
    if waits_for_person and decision.kind is not SuggestionKind.STAY:
        name = f"clarification:{decision.phase}"
        questions.append(QuestionState(name, QuestionKind.CLARIFICATION, decision.reason))
    return (*questions, *_raised(facts))


def question_state(facts: RunFacts, question: Question) -> QuestionState:
    context = facts.context
    scope = str(context.value(question.scope).value or "") if question.scope else ""
    tasks = context.items(question.tasks).value if question.tasks else []
    history = context.value(question.history).value if question.history else []
    return QuestionState(
        id=f"{question.id}:{scope}" if scope else question.id,
        kind=QuestionKind(question.kind),
        question=facts.text(question.ask),
        options=tuple(Option(name, text) for name, text in question.options.items()),
        tasks=tuple(_task_id(task) for task in tasks) if isinstance(tasks, list) else (),
        history=tuple(_history_entry(entry) for entry in history) if isinstance(history, list) else (),
        since=(str(facts.records[-1]["at"]) or None) if facts.records else None,
    )


def _task_id(task: object) -> str:
    return str(task["id"]) if isinstance(task, dict) and "id" in task else str(task)


def _history_entry(entry: object) -> Mapping[str, Any]:
    known = entry if isinstance(entry, dict) else {"message": str(entry)}
    return {name: known[name] for name in _HISTORY if known.get(name)}


def _raised(facts: RunFacts) -> tuple[QuestionState, ...]:
    """Questions that an agent raised and nobody answered."""
    answers = (entry for entry in facts.records if entry["kind"] == RecordKind.ANSWER)
    answered = {str(entry["question"]) for entry in answers}
    questions: list[QuestionState] = []
    for entry in facts.records:
        name = f"raised:{entry['seq']}"
        if entry["kind"] == RecordKind.QUESTION and name not in answered:
            text, since = str(entry["message"] or entry["why"]), str(entry["at"]) or None
            questions.append(QuestionState(name, QuestionKind.ESCALATION, text, RAISED, since=since))
    return tuple(questions)
