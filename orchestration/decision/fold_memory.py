"""Memory of a run's fold: how report files were judged, so that the next fold goes on where that still holds.

A fold depends on the definition, on what was asked to read the run, on the report files in their order and
on what judging them asked. All of it is kept, the answers as marks, and asked again in the same order, up to
the first that differs: so a fold that goes on gives, reads and watches exactly what one from the start would.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ..findings import Finding
from ..journal.branches import FAILURES
from ..journal.journal import Record
from ..journal.report_files import PendingReport
from ..snapshot.read_log import Asked, Question
from ..snapshot.snapshot import RecordOrigin, Snapshot


class FoldStep(NamedTuple):
    """The reports of one moment as they were judged: the records taken, findings, what was newly asked.

    `failures` are those whose turn never came, `ahead` those of later moments where one was judged by them,
    `spent` is what expressions spent on it at most. The first step has no reports: it is the run over its
    journal alone.
    """

    reports: tuple[PendingReport, ...]
    records: tuple[tuple[Record, RecordOrigin], ...]
    findings: tuple[Finding, ...]
    failures: tuple[PendingReport, ...]
    asked: Asked
    spent: int
    ahead: tuple[PendingReport, ...] | None = None


class FoldMemory(NamedTuple):
    """A fold that was made. `basis` and `asked` are what it began with; a value, so it may be shared."""

    basis: tuple[object, ...]
    asked: Asked
    steps: tuple[FoldStep, ...]


class FoldRecorder:
    """The steps of a fold under way: those that are remembered and hold, then each as it is made.

    It has the snapshot's reader note what it is asked, until it is closed.
    """

    def __init__(self, snapshot: Snapshot, moments: Sequence[Sequence[PendingReport]]):
        self._reader, self._inputs, self._moments = snapshot.reader, snapshot.asked or {}, moments
        self._key = ("fold", snapshot.run)
        # The lines tell which decisions are proven, beside the journal's text.
        self._basis = snapshot.definition, snapshot.unread, snapshot.journal.lines
        self.steps = self._holding()
        self._known = {*self._inputs, *(question for step in self.steps for question in step.asked)}
        self._asked: dict[Question, Any] = {}
        self._reader.asked = self._asked

    def _holding(self) -> list[FoldStep]:
        parsed = self._reader.parsed
        if self._key not in parsed:
            return []
        memory: FoldMemory = parsed[self._key]
        if memory.basis != self._basis or memory.asked != self._inputs:
            return []
        holding: list[FoldStep] = []
        for step, reports in zip(memory.steps, ((), *self._moments), strict=False):
            if step.reports != tuple(reports):
                break
            if step.ahead is not None and step.ahead != self._ahead(len(holding)):
                break
            if not self._reader.answers_alike(step.asked):
                break
            holding.append(step)
        return holding

    def _ahead(self, step: int) -> tuple[PendingReport, ...]:
        """The failures of the moments behind a step."""
        return tuple(failures_in(self._moments[step:]))

    def add(
        self,
        reports: Sequence[PendingReport],
        records: Sequence[tuple[Record, RecordOrigin]],
        findings: Sequence[Finding],
        failures: Sequence[PendingReport],
        *,
        spent: int,
        looked_ahead: bool,
    ) -> None:
        """One more step, with what was asked since the one before."""
        asked = {question: mark for question, mark in self._asked.items() if question not in self._known}
        self._known |= asked.keys()
        self._asked.clear()
        ahead = self._ahead(len(self.steps)) if looked_ahead else None
        self.steps.append(
            FoldStep(tuple(reports), tuple(records), tuple(findings), tuple(failures), asked, spent, ahead)
        )

    def forget(self) -> None:
        """Remember nothing: the next fold begins at the start."""
        self._reader.asked = None
        self._reader.parsed.pop(self._key, None)

    def close(self) -> None:
        """Remember the steps."""
        self._reader.asked = None
        self._reader.parsed[self._key] = FoldMemory(self._basis, self._inputs, tuple(self.steps))


def failures_in(moments: Iterable[Sequence[PendingReport]]) -> list[PendingReport]:
    """The reports of failures."""
    return [entry for reports in moments for entry in reports if entry.report.outcome in FAILURES]
