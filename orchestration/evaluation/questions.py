"""Questions open to a person: those that rules open, a changed definition, what agents raised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..decision.decision import Decision, raised_questions
from ..decision.facts import RunFacts
from ..definition.model import Question
from ..definition.names import PROPOSED
from ..result.values import Option, QuestionState
from ..snapshot.read_log import ArtifactState
from ..snapshot.snapshot import DEFINITION, STATE, definition_changed_text
from ..snapshot.state_ratchets import loosened_values
from ..states import QuestionKind, RecordKind, RunStatus, SuggestionKind

RAISED = (
    Option("continue", "answer, and go on: the reason is the answer, in your words"),
    Option("stop", "stop the run"),
)
ACCEPT = "accept"
AFTER_REFUSALS = (
    Option("continue", "go on: the reason says what is to be changed"),
    Option(ACCEPT, "let the next report of it count where nothing but a change is missing"),
    Option("stop", "stop the run"),
)
MOST_SIGNED = 4_000
"""Characters of what a person signs as it is; more cannot be shown whole, so it has to be committed."""
MOST_QUOTED = 200
_MOST_SAID = 3
_HISTORY = ("at", "phase", "stage", "iteration", "outcome", "message", "path", "tasks")


def open_questions(facts: RunFacts, decision: Decision) -> tuple[QuestionState, ...]:
    """The one list of open questions, each id once; a wait for a person without a question is one too."""
    questions = [question_state(facts, facts.workflow.questions[name]) for name in decision.questions]
    if facts.snapshot.definition_changed or facts.loosened_parameters():
        options = (Option("accept", "judge the run by the changed definition"),)
        text = f"{definition_changed_text(facts.workflow)} May it judge the run?"
        questions.append(QuestionState(DEFINITION, QuestionKind.APPROVAL, text, options))
    if loosened := loosened_values(facts.snapshot.state):
        options = (Option("accept", "let it count as it is now"),)
        said = "; ".join(each.change for each in loosened[:_MOST_SAID])
        more = f"; and {len(loosened) - _MOST_SAID} more" if len(loosened) > _MOST_SAID else ""
        text = f"The state was loosened: {said}{more}. May that count?"
        questions.append(QuestionState(STATE, QuestionKind.APPROVAL, text, options))
    elif path := facts.snapshot.edited_state:
        options = (Option("accept", "let it count as it is now"),)
        text = f"{path} was changed by something else than a report. May that count?"
        questions.append(QuestionState(STATE, QuestionKind.APPROVAL, text, options))
    raised = raised_questions(facts)
    waits_for_person = decision.status is RunStatus.WAITING_HUMAN and not (decision.questions or raised)
    if waits_for_person and decision.kind is not SuggestionKind.STAY:
        name = f"clarification:{decision.phase}"
        questions.append(QuestionState(name, QuestionKind.CLARIFICATION, decision.reason))
    for entry in raised:
        text, since = str(entry["message"] or entry["why"]), str(entry["at"]) or None
        name = f"raised:{entry['seq']}"
        options = AFTER_REFUSALS if entry["outcome"] == RecordKind.REFUSED else RAISED
        questions.append(QuestionState(name, QuestionKind.ESCALATION, text, options, since=since))
    return tuple(questions)


def question_state(facts: RunFacts, question: Question) -> QuestionState:
    context = facts.context
    scope = str(context.value(question.scope).value or "") if question.scope else ""
    tasks = context.items(question.tasks).value if question.tasks else None
    history = context.value(question.history).value if question.history else None
    task_ids = [t["id"] if isinstance(t, dict) and "id" in t else t for t in _items(tasks)]
    entries = [entry if isinstance(entry, dict) else {"message": str(entry)} for entry in _items(history)]
    proposed = facts.proposed_decisions(question)
    words = "; ".join(f"{each.path} says: {proposed_words(each)}" for each in proposed)
    sign = [Option(PROPOSED, f"sign it as it is: {words}")] if proposed and signable(proposed) else []
    return QuestionState(
        id=f"{question.id}:{scope}" if scope else question.id,
        kind=QuestionKind(question.kind),
        question=facts.text(question.ask) + (f" Nobody signed this: {words}" if proposed else ""),
        options=(*sign, *(Option(name, text) for name, text in question.options.items())),
        tasks=tuple(map(str, task_ids)),
        history=tuple({name: e[name] for name in _HISTORY if e.get(name)} for e in entries),
        since=(str(facts.records[-1]["at"]) or None) if facts.records else None,
    )


def signable(proposed: Sequence[ArtifactState]) -> bool:
    """True if all that would be signed can be shown."""
    return sum(len(each.text) for each in proposed) <= MOST_SIGNED


def proposed_words(proposed: ArtifactState) -> str:
    """The beginning of a file that nobody signed, in one line."""
    words = " ".join(proposed.text[:MOST_SIGNED].split())
    return words if len(words) <= MOST_QUOTED else f"{words[:MOST_QUOTED]}…"


def _items(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
