"""The words in which a person reads states and next steps: one table for all surfaces.

All are plain text that may hold names from files; whoever shows them escapes them (`sanitize`).
"""

from __future__ import annotations

from collections.abc import Mapping

from ..states import RunStatus, SuggestionKind

# {} is the phase or action that the step leads to.
_STEPS: Mapping[SuggestionKind, str] = {
    SuggestionKind.ADVANCE: "go on to {}",
    SuggestionKind.REGRESS: "go back to {}",
    SuggestionKind.STAY: "do {}",
    SuggestionKind.ACT: "do {}",
    SuggestionKind.WAIT: "wait",
    SuggestionKind.ESCALATE: "a person decides",
    SuggestionKind.STOP: "nothing is left to do",
    SuggestionKind.NONE: "fix the run first",
}
_WAITS = {"person": "wait for a person", "job": "wait for a job"}
_STATUSES: Mapping[str, str] = {
    RunStatus.WAITING: "waits for a job",
    RunStatus.WAITING_HUMAN: "waits for a person",
}


def step_phrase(kind: SuggestionKind, target: str, action: str | None = None, waiting_for: str = "") -> str:
    """The next step as a short imperative in one line: "Go on to codegen", "Do F1, then go on to review".

    `target` is the phase or action that the step leads to. `action` is one to be done before that, and
    `waiting_for` as in `Suggestion`. The first word is never a name, so its case may be changed.
    """
    words = _STEPS[kind].format(target)
    if kind is SuggestionKind.WAIT:
        words = _WAITS.get(waiting_for.partition(":")[0], words)
    if action and kind is not SuggestionKind.ACT:
        words = f"do {action}, then {words}"
    return words[0].upper() + words[1:]


def in_sentence(phrase: str) -> str:
    """A phrase as it stands in the middle of a sentence."""
    return phrase[:1].lower() + phrase[1:]


def status_phrase(status: str) -> str:
    """How a run of that status stands: "waits for a person", "active"."""
    return _STATUSES.get(status, str(status))
