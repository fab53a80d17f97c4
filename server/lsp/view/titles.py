"""What an editor calls the parts of a run: by their titles, by an id what has none."""

from __future__ import annotations

from collections.abc import Mapping

from ....orchestration.result.phrases import in_sentence, status_phrase, step_phrase
from ....orchestration.result.values import Evaluation, GateState
from ....orchestration.states import RunStatus

_TITLE = 80


def phase_title(evaluation: Evaluation, phase: str) -> str:
    return next((each.title for each in evaluation.phases if each.id == phase), "") or phase


def phase_with_id(evaluation: Evaluation, phase: str) -> str:
    """ "Implement (4a)": the id behind a title that does not have it."""
    title = phase_title(evaluation, phase)
    return title if phase.lower() in title.lower() else f"{title} ({phase})"


_STATUSES: Mapping[str, str] = {RunStatus.EXITED: "ended", RunStatus.INVALID: "cannot be told"}


def status_words(status: str) -> str:
    """A status as the rest of the editor has it."""
    return _STATUSES.get(status) or status_phrase(status)


def gate_title(gate: GateState) -> str:
    """ "gate “The tests pass”", "gate tests" of one without a title."""
    return f"gate “{gate.title[:_TITLE]}”" if gate.title else f"gate {gate.id}"


def next_step(evaluation: Evaluation, actions: Mapping[str, str] | None = None) -> str:
    """The next step in the middle of a sentence: "go back to “Write the code”"; `actions` are titles."""
    suggestion, known = evaluation.suggestion, actions or {}

    def in_quotes(name: str) -> str:
        title = known.get(name) or phase_title(evaluation, name)
        return name if title == name else f"“{title[:_TITLE]}”"

    target, action = suggestion.suggested_next or "", suggestion.action
    named = in_quotes(action) if action else None
    return in_sentence(step_phrase(suggestion.kind, in_quotes(target), named, suggestion.waiting_for or ""))


def titles_of(evaluation: Evaluation, phases: set[str], tasks: set[str]) -> dict[str, dict[str, str]]:
    """`phaseTitles` and `taskTitles` by id, of those named that have a title."""
    plan = evaluation.plan
    found = (plan.task(name) for name in sorted(tasks)) if plan else ()
    named = [each for each in evaluation.phases if each.id in phases and each.title]
    return {
        "phaseTitles": {each.id: each.title for each in named},
        "taskTitles": {task.id: task.title for task in found if task and task.title},
    }
