"""Records of what checks measured, written with the reports that rest on them."""

from __future__ import annotations

from collections.abc import Iterator

from ..decision.brings import Delivery, checks_behind
from ..decision.check_facts import is_recorded, lapsed_record, verified_record
from ..decision.decision import outcomes_of, step_of
from ..decision.facts import RunFacts
from ..journal.journal import Record


def unrecorded_reports(facts: RunFacts) -> tuple[Record, ...]:
    """The records of report files that no record in the journal holds, as they were judged.

    Before each that rests on checks stands what these measured: it was taken because they passed.
    """
    taken = facts.records[len(facts.snapshot.records) :]
    return tuple(each for report in taken for each in (*_measurements_of(facts, report), report))


def measurements(facts: RunFacts, report: Record) -> list[Record]:
    """What checks that the run asks for have measured on the files as they are, for a report at hand.

    Those that the report rests on are recorded with it, the others where no record says so yet; and that one
    has no result any more.
    """
    names = facts.snapshot.config.checks
    own = [*_measurements_of(facts, report)]
    recorded = {str(each["check"]) for each in own}
    asked = [name for name in names if name not in recorded] if facts.asks_checks else []
    states = [state for name in asked if (state := facts.snapshot.reader.read_check(name))]
    step = step_of(facts.workflow, str(report["phase"]))
    is_own = bool(step and step.brings and step.brings.checks)
    fresh = (s for s in states if s.is_fresh and (is_own or not is_recorded(s, facts.records)))
    lapsed = (lapsed_record(state, facts.stage, facts.records) for state in states)
    return [*own, *(verified_record(state, facts.stage) for state in fresh), *filter(None, lapsed)]


def _measurements_of(facts: RunFacts, report: Record) -> Iterator[Record]:
    """The records of the checks that a report rests on, if it says that its step is done."""
    step = str(report["phase"])
    declared = step_of(facts.workflow, step)
    if not declared or not declared.brings or report["outcome"] != outcomes_of(declared)[0]:
        return
    for name, why in checks_behind(facts, declared.brings, Delivery(report)).items():
        state = facts.snapshot.reader.read_check(name)
        if not why and state and state.is_fresh:
            yield verified_record(state, str(report["stage"]) or facts.stage, step)
