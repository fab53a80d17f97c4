"""Which phase a run is in: as its state file, its evidence or a person's override names it (format, A.15)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..definition.inputs import PhaseRule
from ..definition.model import Phase, Workflow
from ..expressions.language import Expression
from ..findings import Finding, Fix, Span
from ..states import ArtifactStatus, RecordKind
from .facts import RunFacts, TraceEntry, make_finding

# Characters shown of a name that is no phase's; a state file could hold a megabyte there.
MOST_SHOWN = 100
_NAMES_A_PHASE = (RecordKind.START, RecordKind.REPORT, RecordKind.TRANSITION)


class CurrentPhase(NamedTuple):
    """`phase` is None when it is not known; `because` and `findings` then say what is wrong.

    `raw` is the name before aliases. `inferred` says that evidence told the phase, and no record.
    """

    phase: Phase | None
    because: str
    raw: str | None = None
    inferred: bool = False
    overridden: bool = False
    findings: tuple[Finding, ...] = ()


def current_phase(facts: RunFacts) -> CurrentPhase:
    """The phase that the run is in. Never raises."""
    source = facts.workflow.phase
    named = (
        _phase_of_state(facts, source)
        if isinstance(source, Expression)
        else _phase_of_evidence(facts, source)
    )
    if named.raw is None:
        return named
    workflow = facts.workflow
    name = workflow.phase_spelt(named.raw)
    record = facts.override.record
    if record and facts.override.names_phase and record["next"] in workflow.phases:
        override = workflow.phases[str(record["next"])]
        # A state file that has moved on since is followed; one that still says what it said is not.
        if not isinstance(source, Expression) or name in (record["phase"], override.id):
            because = f"a person moved the run here: {record['why']}"
            return named._replace(phase=override, because=because, overridden=True)
    if name in workflow.phases:
        return named._replace(phase=workflow.phases[name])
    shown = repr(named.raw if len(named.raw) <= MOST_SHOWN else f"{named.raw[:MOST_SHOWN]}…")
    findings = _unknown_phase(facts, f"{shown} is no phase of {workflow.name}")
    return named._replace(because=f"unknown phase {shown}", findings=findings)


def _phase_of_state(facts: RunFacts, source: Expression) -> CurrentPhase:
    """The name that an expression over the run's files gives, still without its phase."""
    outcome = facts.context.value(source)
    facts.trace.append(TraceEntry("phase", source, outcome))
    if outcome.error is None:
        return CurrentPhase(None, "", str(outcome.value))
    because = f"the phase cannot be told: {outcome.error}"
    return CurrentPhase(None, because, findings=_unknown_phase(facts, "no phase is named"))


def _phase_of_evidence(facts: RunFacts, rules: tuple[PhaseRule, ...]) -> CurrentPhase:
    """The name that the first rule over the run's evidence gives, still without its phase."""
    tried = next((n for n, rule in enumerate(rules, 1) if facts.holds(rule.where, rule.when)), None)
    if unread := _unreadable_evidence(facts, rules[:tried]):
        return CurrentPhase(None, f"{unread} is unreadable; nobody can tell the phase without it")
    rule = rules[tried - 1] if tried else None
    if rule is None:
        return CurrentPhase(None, "no rule tells the phase from the files")
    name = facts.context.text(rule.phase)
    if name is None:
        because = "the phase cannot be told from the files"
        findings = _unknown_phase(facts, "no phase is named")
        return CurrentPhase(None, because, inferred=True, findings=findings)
    newest = facts.newest_record(_NAMES_A_PHASE)
    is_recorded = newest is not None and name in (newest["phase"], newest["next"])
    return CurrentPhase(None, facts.text(rule.because), name, not is_recorded)


def _unreadable_evidence(facts: RunFacts, rules: Sequence[PhaseRule]) -> str:
    """The path of the first artifact that one of the rules asked about, and that cannot be read; else "".

    Such a file is the run's state: it is there, and may say anything. What a guard did not come to look at
    has no part in the phase.
    """
    waiting = [rule.when for rule in reversed(rules) if rule.when]
    seen: set[str] = set()
    while waiting:
        for path in waiting.pop().paths:
            name = facts.context.fact_in(path)
            if name and (name in seen or name not in facts.context.facts):
                continue
            seen.add(name)
            if value := facts.workflow.values.get(name):
                waiting.append(value)
            artifact = name.partition(".")[2] if name.startswith(("valid.", "exists.")) else path[0]
            if artifact in facts.workflow.artifacts:
                state = facts.artifact(artifact)
                if state.state is ArtifactStatus.UNREADABLE:
                    return state.path
    return ""


def _unknown_phase(facts: RunFacts, said: str) -> tuple[Finding, ...]:
    path, span = phase_place(facts)
    message = f"{said}; its phases are {', '.join(facts.workflow.phases)}"
    return (make_finding("unknown-phase", path, message, span),)


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


def ways_back(
    workflow: Workflow, run: str, place: str, phases: Mapping[str, str], owed: Sequence[str] = ()
) -> tuple[Fix, ...]:
    """A fix for each phase, by its title. Where no command does it: make the files that are `owed`, or have
    the file at `place`, which tells the phase, name that one."""
    files = [*dict.fromkeys(filter(None, owed))]
    made = [Fix(f"make {', '.join(files)}")] if files and not all(map(workflow.has_redo, phases)) else []
    named = (
        Fix(title, ("redo", run, phase))
        if workflow.has_redo(phase)
        else Fix(f"{title}: {place} has to say that the run is in {phase}")
        for phase, title in phases.items()
    )
    return (*made, *named)
