"""Tasks that somebody has on another machine of the fleet, and an evaluation that does not hand them out.

An evaluation follows from files, which do not say so. Whoever answers with one is given these values besides,
and takes their tasks out of the suggestion last: its verdicts and counts stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from .values import Evaluation


class HeldTask(NamedTuple):
    """A task that cannot be claimed here: who has it, on which machine, and how far they are (`state` is one
    of `fleet.shared_claims.ClaimState`). `until` is by the clock of that machine."""

    task: str
    state: str
    actor: str = ""
    machine: str = ""
    until: str = ""
    outcome: str = ""

    @property
    def phrase(self) -> str:
        """What is said of it behind its name; texts are as they came."""
        who = f"{self.actor or 'somebody'} on machine {self.machine or 'unknown'}"
        if self.state == "claimed":
            return f"held by {who} until {self.until}"
        if self.state == "reporting":
            return f"held by {who}, who is reporting it"
        if self.state == "reported":
            return f"reported {self.outcome} by {who}, whose files are not here yet (`git pull`)"
        return "held: what the fleet says of it cannot be read; a person can free it (`phasekeeper release`)"


def without_held_tasks(evaluation: Evaluation, held: Iterable[HeldTask]) -> Evaluation:
    """The evaluation, its suggestion without the tasks that others have."""
    names = frozenset(each.task for each in held)
    suggestion = evaluation.suggestion
    if not names:
        return evaluation
    batches = (tuple(task for task in batch if task not in names) for batch in suggestion.parallel)
    free = tuple(task for task in suggestion.tasks if task not in names)
    return replace(
        evaluation,
        suggestion=replace(suggestion, tasks=free, parallel=tuple(batch for batch in batches if batch)),
    )
