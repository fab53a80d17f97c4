"""What decided: the values that guards read, each with the file and range where it stands."""

from __future__ import annotations

from collections.abc import Iterable

from ..decision.facts import RunFacts
from ..expressions.language import Expression
from ..findings import Evidence
from ..journal.journal import Record
from ..result.phrases import value_summary
from ..snapshot.snapshot import RecordOrigin


class EvidenceCollector:
    """The evidence of one evaluation. Gates and rules share most facts, so each is looked into once."""

    def __init__(self, facts: RunFacts):
        self.facts = facts
        self._facts: dict[str, tuple[Evidence, ...]] = {}
        self._paths: dict[tuple[str, ...], tuple[Evidence, ...]] = {}

    def of(self, *expressions: Expression | None) -> tuple[Evidence, ...]:
        """The evidence of some expressions, in the order of their text, each value once."""
        found = [entry for expression in expressions if expression for entry in self._expression(expression)]
        return tuple(dict.fromkeys(found))

    def _expression(self, expression: Expression) -> list[Evidence]:
        found = self._records(self.facts.context.records_behind(expression))
        for path in expression.paths:
            found += self._path(path)
        return found

    def _path(self, path: tuple[str, ...]) -> tuple[Evidence, ...]:
        if path not in self._paths:
            self._paths[path] = self._looked_up(path)
        return self._paths[path]

    def _looked_up(self, path: tuple[str, ...]) -> tuple[Evidence, ...]:
        """A fact gives way to what it was computed from, where that has a place in a file."""
        name = self.facts.context.fact_in(path)
        located = tuple(entry for entry in self._fact(name) if entry.path) if name else ()
        if located:
            return located
        outcome = self.facts.context.seen(path)
        if outcome.error is not None:
            return ()
        where, span = self.facts.place(path)
        return (Evidence(".".join(path), value_summary(outcome.value), where, span),)

    def _fact(self, name: str) -> tuple[Evidence, ...]:
        if name not in self._facts:
            found = self._records(self.facts.context.records_behind(name))
            for part in self._behind(name):
                found += self._expression(part)
            self._facts[name] = tuple(found)
        return self._facts[name]

    def _behind(self, name: str) -> list[Expression]:
        """The expressions a fact is computed from, where they say more than the fact itself."""
        workflow = self.facts.workflow
        if name in workflow.values:
            return [workflow.values[name]]
        group, _, rest = name.partition(".")
        if group in ("valid", "exists"):
            listed = workflow.artifacts[rest].listed
            return [listed] if listed and self.facts.snapshot.plan is None else []
        return []

    def _records(self, records: Iterable[Record]) -> list[Evidence]:
        return [_of_record(entry, self.facts.origins.get(id(entry))) for entry in records]


def _of_record(entry: Record, origin: RecordOrigin | None) -> Evidence:
    path, span = origin or (None, None)
    where = f"{entry['kind']} {entry['phase'] or entry['question']}".strip()
    stage = f" of stage {entry['stage']}" if entry["stage"] else ""
    return Evidence(where + stage, entry["outcome"] or entry["option"], path, span)
