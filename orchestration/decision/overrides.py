"""A person's recorded decision to go against a suggestion or a closed gate, and what of it still holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..journal.journal import Record
from ..states import RecordKind


class Override(NamedTuple):
    """The newest override of a run. `record` is None when there is none; then it names and waives nothing.

    `names_phase` holds until the next report: till then the run is in the phase that it led to. `gates`
    and `phases` are waived for its `stage` ("" is any) until one of those phases is reported on
    (design, section 6).
    """

    record: Record | None = None
    names_phase: bool = False
    phases: frozenset[str] = frozenset()
    gates: frozenset[str] = frozenset()
    stage: str = ""

    def waives(self, stage: str) -> bool:
        """Whether it holds for the stage that is under work."""
        return self.record is not None and self.stage in ("", stage)


def newest_override(records: Sequence[Record]) -> Override:
    """The override that the records, oldest first, leave in force."""
    at = max((i for i, entry in enumerate(records) if entry["kind"] == RecordKind.OVERRIDE), default=None)
    if at is None:
        return Override()
    record = records[at]
    later = [entry for entry in records[at + 1 :] if entry["kind"] == RecordKind.REPORT]
    phases, gates = _names(record["phases"]), _names(record["gates"])
    if any(entry["phase"] in phases for entry in later):
        phases = gates = frozenset()
    return Override(record, not later, phases, gates, str(record["stage"]))


def _names(listed: object) -> frozenset[str]:
    return frozenset(map(str, listed)) if isinstance(listed, list) else frozenset()
