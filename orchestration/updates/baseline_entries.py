"""Baseline entries of a record: what it holds of files, marks and ratcheted values, where that differs from
what the records before hold."""

from __future__ import annotations

from typing import Any

from ..definition.state_changes import is_same_value
from ..evaluation.trace import EvaluationTrace
from ..journal.baseline import MOST_VALUES
from ..journal.journal import Record
from ..snapshot.read_log import ArtifactState
from ..snapshot.snapshot import DEFINITION, STATE, Snapshot
from ..snapshot.state_ratchets import (
    committed_digest,
    known_behind,
    merge_orders,
    moved_elements,
    state_values,
)
from ..states import RecordKind

_Entries = list[dict[str, Any]]


def baseline_entries(trace: EvaluationTrace, after: ArtifactState | None, record: Record) -> _Entries:
    """The values that differ from those known before, as a record lists them.

    `after` is the state as it is written. What the command itself changed is as it wrote it; everything else
    stays as it counted, not as an edit left it, unless a person accepts that with this record.
    """
    facts, snapshot = trace.facts, trace.facts.snapshot
    answered = record["question"] if record["kind"] == RecordKind.ANSWER else ""
    is_begin = bool(record["workflow"])
    state, declared = snapshot.state, facts.workflow.state
    is_kept = declared and declared.ratchet and state and state.valid and after and after.valid
    differing: _Entries = []
    if declared and state and after and is_kept:
        counted, written = state_values(declared, state.data), state_values(declared, after.data)
        filed = {**counted, **{each.names: each.now for each in state.loosened}}
        counted = filed if answered == STATE or is_begin else counted
        changed = (
            each for each in {**filed, **written} if not is_same_value(filed.get(each), written.get(each))
        )
        both = {**counted, **{each: written.get(each) for each in changed}}
        # In the order of the file, with what an edit took away where it is put back.
        kept = {each: both[each] for each in merge_orders(written, counted) if each in both}
        known = snapshot.baseline.state
        new = (each for each in kept if each not in known or not is_same_value(kept[each], known[each]))
        places = {each: {"before": name} for each, name in known_behind(declared, kept, known).items()}
        moved = moved_elements(declared, kept, known)
        differing = [{"path": [*each], "value": kept[each], "before": name} for each, name in moved.items()]
        differing += ({"path": [*each], "value": kept[each], **places.get(each, {})} for each in new)
    for name, parameter in facts.workflow.parameters.items():
        is_accepted = answered == DEFINITION or is_begin
        value = facts.parameter(name).asked if is_accepted else facts.parameter(name).value
        if value != snapshot.baseline.parameters.get(name, parameter.default):
            differing.append({"parameter": name, "value": value})
    return [*_mark(snapshot, state if is_kept else None), *differing[:MOST_VALUES]]


def _mark(snapshot: Snapshot, state: ArtifactState | None) -> _Entries:
    """The mark of what HEAD has of the state, where that is another file than before; a first one is made."""
    declared, known = snapshot.workflow.state, snapshot.baseline.head
    if state is None and declared and declared.ratchet:
        return []
    reads_others = any(each.source is not None for each in snapshot.workflow.parameters.values())
    head = committed_digest(state, snapshot.reader) if state else known or ""
    return [] if head == known or not (state or reads_others) else [{"head": head}]
