"""Which phase a run is in: as its state file, its evidence or a person's override names it (format, A.15)."""

from __future__ import annotations

import re
from typing import NamedTuple

from ..definition.model import Phase, PhaseRule, Workflow
from ..expressions.language import Expression
from ..findings import Span
from ..journal.journal import Record
from .facts import RunFacts, TraceEntry

# What is said of a name that is no phase; a state file could hold a megabyte there.
MOST_SHOWN = 100


class CurrentPhase(NamedTuple):
    """`phase` is None when it cannot be told; `because` then says what is wrong.

    `raw` is the name before aliases. `inferred` says that evidence told the phase, and no record.
    """

    phase: Phase | None
    because: str
    raw: str | None = None
    inferred: bool = False
    overridden: bool = False


def current_phase(facts: RunFacts) -> CurrentPhase:
    """The phase that the run is in. Never raises; an unknown one is told to the sight."""
    named = _named(facts)
    if named.raw is None:
        return named
    workflow = facts.workflow
    name = _alias(workflow, named.raw)
    moved = _moved_to(facts, name)
    if moved:
        because = f"a person moved the run here: {moved['why']}"
        return named._replace(phase=workflow.phases[str(moved["next"])], because=because, overridden=True)
    if name in workflow.phases:
        return named._replace(phase=workflow.phases[name])
    shown = repr(named.raw if len(named.raw) <= MOST_SHOWN else f"{named.raw[:MOST_SHOWN]}…")
    _tell_unknown(facts, f"{shown} is no phase of {workflow.name}")
    return named._replace(because=f"unknown phase {shown}")


def _moved_to(facts: RunFacts, name: str) -> Record | None:
    """The override that names the phase now, if there is one."""
    record = facts.override.record
    if record is None or not facts.override.names_phase or record["next"] not in facts.workflow.phases:
        return None
    # A state file that has moved on since is followed; one that still says what it said is not.
    written = isinstance(facts.workflow.phase, Expression)
    return None if written and name not in (record["phase"], record["next"]) else record


def _named(facts: RunFacts) -> CurrentPhase:
    """The name that the workflow's `phase` gives, still without its phase."""
    source = facts.workflow.phase
    if isinstance(source, Expression):
        outcome = facts.context.value(source)
        facts.trace.append(TraceEntry("phase", source, outcome))
        if outcome.error is None:
            return CurrentPhase(None, "", str(outcome.value))
        _tell_unknown(facts, "no phase is named")
        return CurrentPhase(None, f"the phase cannot be told: {outcome.error}")
    rule = next((rule for rule in source if facts.holds(rule.where, rule.when)), None)
    return _inferred(facts, rule) if rule else CurrentPhase(None, "no rule tells the phase from the files")


def _inferred(facts: RunFacts, rule: PhaseRule) -> CurrentPhase:
    name = facts.context.text(rule.phase)
    if name is None:
        _tell_unknown(facts, "no phase is named")
        return CurrentPhase(None, "the phase cannot be told from the files", inferred=True)
    return CurrentPhase(None, facts.text(rule.because), name, not _recorded(facts, name))


def _recorded(facts: RunFacts, name: str) -> bool:
    kinds = ("start", "report", "transition")
    newest = next((entry for entry in reversed(facts.records) if entry["kind"] in kinds), None)
    return newest is not None and name in (newest["phase"], newest["next"])


def _alias(workflow: Workflow, raw: str) -> str:
    """The phase that a spelling stands for; a spelling nobody knows stays as it is."""
    if raw in workflow.phases or raw in workflow.aliases:
        return raw if raw in workflow.phases else workflow.aliases[raw]
    for spelling, name in workflow.aliases.items():
        fits = "*" in spelling and re.fullmatch(re.escape(spelling).replace(r"\*", "(.*)"), raw)
        if fits:
            found = name.replace("*", fits[1])
            # An alias may lead to another spelling: code_review_done is code_review is review.
            return found if found in workflow.phases else workflow.aliases.get(found, found)
    return raw


def _tell_unknown(facts: RunFacts, said: str) -> None:
    path, span = phase_place(facts)
    known = ", ".join(facts.workflow.phases)
    facts.tell("unknown-phase", path, f"{said}; its phases are {known}", span)


def phase_place(facts: RunFacts) -> tuple[str, Span | None]:
    """The file and range where the run's phase is written, or what comes nearest to it."""
    source, snapshot = facts.workflow.phase, facts.snapshot
    if isinstance(source, Expression) and source.reads:
        path, span = facts.place(source.reads[0].path)
        if path:
            return path, span or Span(0, 0, 0, 1)
    if snapshot.state:
        return snapshot.state.path, Span(0, 0, 0, 1)
    return snapshot.plan_path, Span(0, 0, 0, 1) if snapshot.plan else None
