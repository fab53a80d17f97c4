"""Refusals of reports for want of change: recorded, without any weight, and the third in a row asks a person.

Whoever reports again what nothing was done about would go on doing so: loops are bounded, and a person is
asked in time (design, section 1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..decision.decision import outcomes_of, step_of
from ..decision.facts import RunFacts
from ..evaluation.questions import ACCEPT
from ..evaluation.trace import CommandRefused
from ..journal.journal import DECISIONS, Record
from ..states import RecordKind
from ..vfs.files import digest_of
from .measurements import unrecorded_reports

ASKS_AT = 3
"""So many refusals of one step in a row ask a person."""
_MOST_SAID = 400


class RecordedRefusal(CommandRefused):
    """Refusal of a report that its run keeps: `records` belong into the journal."""

    def __init__(self, why: str, records: Sequence[Record] = ()):
        super().__init__(why)
        self.records = tuple(records)


def refusal_for_want_of_change(facts: RunFacts, report: Record, why: str) -> RecordedRefusal:
    """The refusal of a report, with the records of it; the report's `files` are those that were looked at."""
    number = 1 + _refusals_in_a_row(facts, report)
    step, seen = report["phase"], _digests_of(report)
    told = {"message": "", "manual_criteria": [], "next": "", "path": "", "why": why[:_MOST_SAID]}
    looked_at = digest_of("\n".join(f"{path}\0{digest}" for path, digest in sorted(seen.items())))
    refused = {**report, **told, "kind": RecordKind.REFUSED.value, "about": looked_at}
    said = f"not recorded: {why}. This is refusal {number} of {ASKS_AT} in a row of {step}"
    # Report files that no line holds yet come before any other record.
    pending = unrecorded_reports(facts)
    if number < ASKS_AT:
        return RecordedRefusal(f"{said}; then a person is asked", [*pending, refused])
    asked = f"{number} reports of {step} in a row were refused. How to go on? The last one: {why}"
    empty = {"why": "", "files": [], "about": "", "outcome": RecordKind.REFUSED.value}
    question = {**refused, **empty, "kind": RecordKind.QUESTION.value, "message": asked}
    return RecordedRefusal(f"{said}; a person is asked now how to go on", [*pending, refused, question])


def _refusals_in_a_row(facts: RunFacts, report: Record) -> int:
    """How often the step was refused since it last counted, a person decided, or a file was changed."""
    newer, count = _digests_of(report), 0
    entries = (*facts.snapshot.journal.records, *facts.records[len(facts.snapshot.records) :])
    for entry in reversed(entries):
        if entry["kind"] in DECISIONS or _counts_as_done(facts, entry, str(report["phase"])):
            break
        if entry["kind"] == RecordKind.REFUSED and entry["phase"] == report["phase"]:
            older = _digests_of(entry)
            if any(older[path] != newer[path] for path in older.keys() & newer.keys()):
                break
            newer, count = {**newer, **older}, count + 1
    return count


def _counts_as_done(facts: RunFacts, entry: Record, step: str) -> bool:
    """True for a report of the step that calls it done, or is a verdict with its text."""
    if entry["kind"] != RecordKind.REPORT or entry["phase"] != step:
        return False
    declared = step_of(facts.workflow, step)
    is_verdict = declared is not None and declared.brings is not None and declared.brings.report
    return is_verdict or entry["outcome"] == outcomes_of(declared)[0]


def lets_through(facts: RunFacts, step: str) -> bool:
    """True if a person said that the next report of the step counts although nothing has changed."""
    questions = (each for each in facts.records if each["kind"] == RecordKind.QUESTION)
    asked = {f"raised:{each['seq']}" for each in questions if each["phase"] == step}
    for entry in reversed(facts.records) if asked else ():
        if _counts_as_done(facts, entry, step):
            return False
        if entry["kind"] == RecordKind.ANSWER and entry["question"] in asked:
            return entry["option"] == ACCEPT
    return False


def _digests_of(entry: Record) -> Mapping[str, str]:
    files = entry["files"] if isinstance(entry["files"], list) else []
    return {str(each["path"]): str(each["digest"]) for each in files}
