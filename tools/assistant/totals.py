"""What an answer about all runs of a root begins with, kept up to date by the runs that differ."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from types import MappingProxyType
from typing import NamedTuple

from ...orchestration.result.values import Evaluation
from ..run_names import Urgency, awaits_person, urgency

_BITS = 256


class RootTotals(NamedTuple):
    """`revision` is 16 hex digits over the revisions of all runs: it changes when one of them does.

    `urgency` is that of each run, in the order in which runs are shown: the most urgent first, then by path.
    """

    revision: str
    waiting: int
    urgency: Mapping[str, Urgency] = MappingProxyType({})


class RunningTotals:
    """The totals of the runs that were seen last.

    The revision is a sum of hashes, one of each run, modulo 2^256: it needs no order, and a run that differs
    is taken out and put in.
    """

    def __init__(self) -> None:
        self._runs: Mapping[str, Evaluation] = {}
        self._sum = self._waiting = 0
        self._urgency: dict[str, Urgency] = {}
        self._shown: Mapping[str, Urgency] | None = None
        """In order; None when a run came, went or became more or less urgent since."""

    def of(self, runs: Mapping[str, Evaluation]) -> RootTotals:
        """The totals of these runs.

        Cost: a comparison by identity of each, a hash of those that differ, and a sort of all where one came,
        went or became more or less urgent.
        """
        before = self._runs
        if runs is not before:
            for run, evaluation in runs.items():
                if (old := before.get(run)) is not evaluation:
                    if old is not None:
                        self._add(run, old, -1)
                    self._add(run, evaluation, 1)
                    self._rank(run, urgency(evaluation))
            for run in before.keys() - runs.keys():
                self._add(run, before[run], -1)
                del self._urgency[run]
                self._shown = None
            self._runs = runs
        if self._shown is None:
            order = sorted(self._urgency.items(), key=lambda each: (each[1], each[0]))
            self._shown = MappingProxyType(dict(order))
        return RootTotals(f"{self._sum:064x}"[:16], self._waiting, self._shown)

    def _add(self, run: str, evaluation: Evaluation, sign: int) -> None:
        text = f"{run}\0{evaluation.revision}".encode("utf-8", "surrogatepass")
        self._sum = (self._sum + sign * int.from_bytes(sha256(text).digest())) % 2**_BITS
        self._waiting += sign * awaits_person(evaluation)

    def _rank(self, run: str, rank: Urgency) -> None:
        if self._urgency.get(run) is not rank:
            self._urgency[run] = rank
            self._shown = None
