"""The basis of criteria, gates and phases: the weakest of what carries the values of their expressions.

What may carry them is told by the definition (`origins`); only where that is of several kinds the parts of
an expression are looked into, to find those that decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from ..definition.model import Phase
from ..expressions.language import Expression
from ..expressions.sources import Choice, Sources, Subexpression
from ..journal.journal import DECISIONS, Record
from ..result.values import GateState
from ..states import Basis, GateStatus, RecordKind, RunStatus
from .facts import RunFacts


class Grounds(NamedTuple):
    """A basis; where that is a report's word, the actors who gave it and the report files that hold it.

    `written` are files that the reports write; they are named where no report is known.
    """

    basis: Basis | None = None
    actors: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    written: tuple[str, ...] = ()


_ORDER = tuple(Basis)
_NOTHING = Grounds()
_DECIDED, _RECORDED, _REPORTED = map(Grounds, (Basis.DECIDED, Basis.RECORDED, Basis.REPORTED))


EXIT = "exit"
"""The outcome of a report that the user wants the run to end (seed 003, user_exit)."""
_ENDS: Mapping[str, str] = {
    RunStatus.COMPLETE: "complete",
    RunStatus.FAILED: "failed",
    RunStatus.EXITED: "ended by its user, as its files say",
    RunStatus.BLOCKED: "blocked",
}


def end_phrase(facts: RunFacts, status: RunStatus, phase: str) -> str:
    """How the run ended in a phase; that its user wanted so is nobody's word but that of who recorded it."""
    newest = facts.newest_record((RecordKind.REPORT, RecordKind.OVERRIDE, RecordKind.ANSWER))
    if status is RunStatus.EXITED and newest is not None:
        if newest["kind"] == RecordKind.OVERRIDE and newest["next"] == phase:
            return "the run was ended by a person"
        if newest["kind"] == RecordKind.REPORT and newest["outcome"] == EXIT:
            return f"the run is ended: {newest['actor'] or 'an agent'} reported that its user wants so"
    return f"the run is {_ENDS[status]}"


class BasisCollector:
    """The grounds of one evaluation; each fact is looked into once."""

    def __init__(self, facts: RunFacts):
        self.facts, self.workflow = facts, facts.workflow
        self._facts: dict[str, Grounds] = {}

    # ---- gates and phases

    def of_gate(self, gate: GateState, criteria: Sequence[Grounds]) -> Grounds:
        """The weakest ground of the criteria of a gate; a person's where it is waived."""
        if gate.status is GateStatus.WAIVED:
            return _DECIDED
        grounds = self._with_names(weakest(criteria), gate.after)
        shown_by = self.workflow.gates[gate.id].shown_by
        if shown_by and grounds.basis is Basis.REPORTED and gate.status is GateStatus.PASSED:
            # Whoever reported wrote them, in words that nothing here reads.
            grounds = grounds._replace(files=self._files_there(shown_by) or grounds.files)
        return grounds

    def _files_there(self, wanted: Expression) -> tuple[str, ...]:
        """The files that an expression names, if each of them is there and holds something; else none."""
        value, snapshot = self.facts.context.value(wanted).value, self.facts.snapshot
        names = value if isinstance(value, list) else []
        paths = [snapshot.place.join(name) for name in names if isinstance(name, str)]
        there = [path for path in paths if path and snapshot.reader.content_of(path) == "filled"]
        return tuple(there) if len(there) == len(names) else ()

    def of_ended_phase(self, phase: Phase, gates: Sequence[Grounds]) -> Grounds:
        """The weakest ground of a phase's gates and of what it produced; else the report that ended it."""
        if phase.id in self.facts.override.phases:
            return _DECIDED
        decided = self.workflow.origins.decided
        delivered = (name for name in phase.produces if self.facts.artifact(name).valid)
        produced = [_DECIDED if name in decided else _RECORDED for name in delivered]
        grounds = weakest((*gates, *produced)) if gates or produced else _NOTHING
        if grounds.basis:
            return self._with_names(grounds, phase.id)
        if ended := self._newest_report(phase.id):
            return _report_grounds(ended)
        asked = [rule.ask for rule in phase.rules if rule.ask]
        if asked and self.facts.context.records.pick({"kind": RecordKind.ANSWER.value, "question": asked}):
            return _DECIDED
        # Nobody reported it here: it is over because the state file names a later one.
        return self._phase_grounds._replace(files=self._phase_grounds.written)

    @cached_property
    def _phase_grounds(self) -> Grounds:
        """The ground of the run's phase."""
        told = self.workflow.phase
        return self.of(told) if isinstance(told, Expression) else _NOTHING

    def _with_names(self, grounds: Grounds, phase: str) -> Grounds:
        """The grounds with what they name. Tasks and state files come of no record in particular: then it is
        the newest report of the phase, or else the files that reports write."""
        if grounds.basis is not Basis.REPORTED or grounds.actors or grounds.files:
            return grounds
        newest = _report_grounds(self._newest_report(phase))
        return newest if newest.actors or newest.files else grounds._replace(files=grounds.written)

    def _newest_report(self, phase: str) -> list[Record]:
        if not self.facts.records:
            return []
        return self.facts.context.records.pick({"kind": "report", "phase": phase})[-1:]

    # ---- expressions

    def of(self, expression: Expression) -> Grounds:
        """The weakest ground of what carries the value of an expression."""
        origins, behind = self.workflow.origins.of(expression), self.facts.context.records_behind
        only = origins.bases[0] if len(origins.bases) == 1 else None
        if only is Basis.RECORDED or not origins.bases:
            return _RECORDED if origins.bases else _NOTHING
        if only is not Basis.REPORTED:
            return self._of(expression.sources, behind(expression))
        looked_at = [record for each in (expression, *origins.facts) for record in behind(each)]
        files = tuple(file for name in origins.written for file in self._of_content(name).written)
        return _report_grounds(looked_at)._replace(written=files)

    def _of(self, sources: Sources, records: Sequence[Record]) -> Grounds:
        return weakest((
            *map(self._of_path, sources.paths),
            *(self._of_records(kind, records) for kind in sources.kinds),
            *([self._of_content(self.workflow.origins.plan)] if sources.plan else []),
            *(self._of(each.sources, records) for one in sources.choices for each in self._carriers(one)),
        ))  # fmt: skip

    def _carriers(self, choice: Choice) -> tuple[Subexpression, ...]:
        """The parts of a choice that carry its value."""
        value = self.facts.context.part
        if choice.test is None:
            holding = next((part for part in choice.parts if value(part.program) is True), None)
            return (holding,) if holding else choice.parts
        is_true = value(choice.test.program)
        chosen = choice.parts if is_true is None else (choice.parts[0 if is_true else 1],)
        return (choice.test, *chosen)

    def _of_path(self, path: tuple[str, ...]) -> Grounds:
        name = self.workflow.language.name_in(path)
        if name not in self._facts:
            self._facts[name] = self._of_name(name)
        return self._facts[name]

    def _of_name(self, name: str) -> Grounds:
        """The ground of a fact or variable, as `origins` tells them apart."""
        group, _, rest = name.partition(".")
        context = self.facts.context
        if group == "checks":
            # What nothing that was evaluated looked at carries nothing.
            return Grounds(self.facts.basis_of_checks()) if self.facts.asks_checks else _NOTHING
        if name in self.workflow.language.facts:
            context.fact(name)
        if name in self.workflow.values:
            return self._of(self.workflow.values[name].sources, context.records_behind(name))
        if group == "limits":
            return weakest(map(self.of, self.workflow.origins.parts_of_limit(rest)))
        if group in ("report", "answers"):
            kind = RecordKind.REPORT if group == "report" else RecordKind.ANSWER
            return self._of_records(kind, context.records_behind(name))
        if group == "valid" and rest in self.workflow.origins.decided:
            return _DECIDED
        return _RECORDED if group in ("valid", "exists") else self._of_content(group)

    def _of_records(self, kind: str, records: Sequence[Record]) -> Grounds:
        """The ground of records of a kind. That nobody reported something is the reports' word, too."""
        if kind == RecordKind.VERIFIED:
            return Grounds(self.facts.basis_of_records([each for each in records if each["kind"] == kind]))
        if kind in DECISIONS:
            return _DECIDED if any(record["kind"] == kind for record in records) else _NOTHING
        return _report_grounds(records)

    def _of_content(self, name: str) -> Grounds:
        """The ground of what the state file, or an artifact, says."""
        bases, _, written = self.workflow.origins.of_content(name)
        if not written:
            return Grounds(bases[0]) if bases else _NOTHING
        state = self.facts.snapshot.state if name == "state" else self.facts.artifact(name)
        return Grounds(Basis.REPORTED, written=(state.path,) if state else ())


def weakest(grounds: Iterable[Grounds]) -> Grounds:
    """The weakest of some grounds with a basis; of several of that basis, all who and what they name."""
    known = [each for each in grounds if each.basis]
    if not known:
        return _NOTHING
    if len(known) == 1:
        return known[0]
    basis = max((each.basis for each in known if each.basis), key=_ORDER.index)
    alike = [each for each in known if each.basis is basis]
    named = zip(*(each[1:] for each in alike), strict=True)
    return Grounds(basis, *(tuple(dict.fromkeys(chain.from_iterable(names))) for names in named))


def _report_grounds(records: Iterable[Record]) -> Grounds:
    """The ground of the reports among some records."""
    reports = [record for record in records if record["kind"] == RecordKind.REPORT]
    if not reports:
        return _REPORTED
    named = (dict.fromkeys(str(each[field]) for each in reports) for field in ("actor", "path"))
    return Grounds(Basis.REPORTED, *(tuple(filter(None, names)) for names in named))
