"""What a report, a decision or a redo writes: edits and records, as values. Nothing is written here.

The order is that of the format (A.14): every expression of an effect is evaluated on the old state before
anything changes; then the run is evaluated with the record and the changed texts; then, where a rule leads
to another phase and the state file names the phase, that path and what the rule sets follow.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .acts import Act, Refused, events_of, record_of
from .changes import Changes
from .documents import read_json
from .evaluate import Steps, look
from .evaluation import Evaluation
from .files import join
from .findings import Edit
from .journal import Record
from .preview import Extension, Overlay
from .snapshot import JOURNAL, read_run

__all__ = ["Act", "Proposal", "Refused", "propose"]


@dataclass(frozen=True)
class Proposal:
    """What would be written, and how the run would stand then.

    `records` begin with those of reports that lay there as files only (design, section 6); the last one
    is that of the act. They are not stamped: `seq`, `at` and `prev` are the writer's.
    """

    edits: tuple[Edit, ...]
    records: tuple[Record, ...]
    evaluation: Evaluation


def propose(steps: Steps, act: Act, now: datetime) -> Proposal:
    """What an act writes. Raises Refused when it is not its turn, or names what is not there."""
    made = record_of(steps, act)
    folded = steps.sight.records[len(steps.sight.snapshot.records) :]
    records = (*folded, made)
    journal = _journal(steps, now)
    step = str(made["phase"] if act.kind in ("report", "start") else made["next"])
    report = {**made, **_given(act), "seq": journal.seq + len(folded)}
    changes = Changes(steps.sight.snapshot, report, step, now)
    changes.apply(events_of(act, step), steps)
    after = _again(steps, changes.edits(), records, journal)
    leading = _leading(act, step, steps, after)
    if leading:
        before = changes.edits()
        changes.follow(leading)
        after = after if changes.edits() == before else _again(steps, changes.edits(), records, journal)
    return Proposal(changes.edits(), records, after.evaluation)


def _given(act: Act) -> dict[str, Any]:
    """What effects see of a report beside its record. Raises Refused for what guards cannot read."""
    try:
        text = json.dumps(dict(act.data), allow_nan=False)
        data: dict[str, Any] = json.loads(text, parse_int=_whole)
    except (TypeError, ValueError, RecursionError) as error:
        raise Refused(f"the data of the report cannot be used: {error}") from None
    document = read_json(text)
    if not document.readable:
        raise Refused(f"the data of the report cannot be used: {document.problems[0].message}")
    return {"message": act.message, "data": data, "stateUpdates": data.get("stateUpdates", {})}


def _whole(digits: str) -> int:
    value = int(digits)
    if not -(2**63) <= value < 2**63:
        raise ValueError(f"{digits[:30]} is too large a number")
    return value


def _leading(act: Act, step: str, before: Steps, after: Steps) -> Steps | None:
    """How the run stands where a rule moves its phase on at once.

    A report and an answer lead wherever they lead. Starting the suggested step leads into it; a record of a
    start clears the report that did, so the old state leads. An override or a redo ends where it says.
    """
    if act.kind == "start":
        return before if before.verdict.to == step else None
    return after if act.kind in ("report", "answer") else None


def _journal(steps: Steps, now: datetime) -> Extension:
    snapshot = steps.sight.snapshot
    file = snapshot.looked.files.read(join(snapshot.run, JOURNAL) or JOURNAL)
    return Extension(snapshot.journal, file.text or "", now)


def _again(steps: Steps, edits: tuple[Edit, ...], records: tuple[Record, ...], journal: Extension) -> Steps:
    """The run as it would be read once the records and the changed texts are written."""
    old = steps.sight.snapshot
    texts = {edit.path: edit.text for edit in edits}
    texts[join(old.run, JOURNAL) or JOURNAL] = journal.text(records, edits)
    fresh = read_run(
        old.workflow, Overlay(old.looked.files, texts), old.run, root=old.root, config=old.config,
        claims=old.claims, verify=journal.verify, parsed=old.looked.parsed,
    )  # fmt: skip
    return look(old.workflow, fresh)
