"""The filter of a list of runs: words that a run has to have, and states after `@`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..orchestration.result.values import Evaluation
from ..orchestration.states import RunStatus
from .run_names import Urgency

STATES: Mapping[str, Urgency | RunStatus] = {
    "@waiting": Urgency.WAITING,
    "@failed": Urgency.FAILING,
    "@active": RunStatus.ACTIVE,
    "@job": Urgency.JOB,
    "@done": Urgency.OVER,
}
"""The words for states: a person is awaited, something is wrong, under way, a job is awaited, over. A run may
be in several: one under way, with an error, is active and failed."""


class UnknownState(ValueError):  # noqa: N818 - what somebody typed
    """A filter names a state that there is not; the message lists those there are."""


def split_filter(wanted: str) -> tuple[Sequence[Urgency | RunStatus], Sequence[str]]:
    """(the states of which a run has one, the lower-case words that it has all of). Raises UnknownState."""
    words = wanted.lower().split()
    states = [word for word in words if word.startswith("@")]
    if unknown := [word for word in states if word not in STATES]:
        raise UnknownState(f"{unknown[0]!r} is no state; there are {', '.join(STATES)}")
    return [STATES[word] for word in states], [word for word in words if not word.startswith("@")]


def is_shown(
    texts: str,
    urgency: Urgency,
    status: str,
    states: Sequence[Urgency | RunStatus],
    words: Sequence[str],
) -> bool:
    """Test a run, whose `texts` are to hold the words, against what `split_filter` gave."""
    return (not states or urgency in states or status in states) and all(
        word in texts.lower() for word in words
    )


def filtered_runs(
    runs: Mapping[str, Evaluation], urgency: Mapping[str, Urgency], wanted: str
) -> Sequence[str]:
    """The names of the runs that fit, in the order of `urgency`: by path, title, workflow and phase.

    Raises UnknownState.
    """
    states, words = split_filter(wanted)
    return [
        name
        for name, rank in urgency.items()
        if is_shown(_texts(name, runs[name]), rank, runs[name].status, states, words)
    ]


def _texts(name: str, e: Evaluation) -> str:
    return f"{name}\n{e.title}\n{e.workflow}\n{e.current_phase}"
