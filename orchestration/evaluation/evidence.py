"""Evidence of a decision: the values that guards read, each with the file and range where it stands."""

from __future__ import annotations

from collections.abc import Iterable

from ..decision.facts import RunFacts
from ..expressions.language import Expression
from ..findings import Evidence
from ..journal.journal import Record
from ..result.phrases import tells_size_alone, value_summary


class EvidenceCollector:
    """The evidence of one evaluation. Gates and rules share most facts, so each is looked into once."""

    def __init__(self, facts: RunFacts):
        self.facts = facts
        self._facts: dict[str, tuple[Evidence, ...]] = {}
        self._paths: dict[tuple[str, ...], tuple[Evidence, ...]] = {}
        # Of maps: how large they are, which says nothing of what is wrong in them.
        self._sizes: set[Evidence] = set()

    def of(self, *expressions: Expression | None) -> tuple[Evidence, ...]:
        """The evidence of some expressions, in the order of their text, each value once.

        The size of a map is left out where something else is said of it.
        """
        found = [entry for expression in expressions if expression for entry in self._expression(expression)]
        said = {(entry.path, entry.span) for entry in found if entry not in self._sizes}
        return tuple(
            entry
            for entry in dict.fromkeys(found)
            if entry not in self._sizes or (entry.path, entry.span) not in said
        )

    def _expression(self, expression: Expression) -> list[Evidence]:
        evidence = self._records(self.facts.context.records_behind(expression))
        for path in expression.paths:
            if path not in self._paths:
                self._paths[path] = self._of_path(path)
            evidence += self._paths[path]
        return evidence

    def _of_path(self, path: tuple[str, ...]) -> tuple[Evidence, ...]:
        """A fact gives way to what it was computed from, where that has a place in a file."""
        if path == ("checks",):
            return self._of_named_checks()
        name = self.facts.context.fact_in(path)
        located = tuple(entry for entry in self._fact(name) if entry.path) if name else ()
        if name and located:
            return self._said_of_maps(name, located) or located
        outcome = self.facts.context.read_path(path)
        if outcome.error is not None:
            return ()
        entry = Evidence(".".join(path), value_summary(outcome.value), *self.facts.place(path))
        if tells_size_alone(outcome.value):
            self._sizes.add(entry)
        return (entry,)

    def _said_of_maps(self, name: str, located: tuple[Evidence, ...]) -> tuple[Evidence, ...]:
        """The names that a fact picks out of maps of which only the size could be told, at the first one."""
        if not self._sizes.issuperset(located):
            return ()
        value = self.facts.context.fact(name).value
        if not isinstance(value, list) or not value or not all(isinstance(item, str) for item in value):
            return ()
        return (Evidence(name, value_summary(value), located[0].path, located[0].span),)

    def _of_named_checks(self) -> tuple[Evidence, ...]:
        """The results of the checks that parameters name, where anything asked for them."""
        facts = self.facts
        if not facts.asks_checks:
            return ()
        named = (p.id for p in facts.workflow.parameters.values() if p.names)
        wanted = dict.fromkeys(name for each in named for name in facts.parameter(each).value)
        checks = facts.context.fact("checks").value
        # Not by an expression's way: what evidence shows was not looked up by a guard.
        seen = {name: checks.get(name) for name in wanted} if isinstance(checks, dict) else {}
        return tuple(
            Evidence(f"checks.{name}.result", each["result"], *facts.place(("checks", name)))
            for name, each in seen.items()
            if each is not None
        )

    def _fact(self, name: str) -> tuple[Evidence, ...]:
        """The sources of a fact: records, and expressions that say more than the fact itself."""
        if name not in self._facts:
            workflow, evidence = self.facts.workflow, self._records(self.facts.context.records_behind(name))
            group, _, rest = name.partition(".")
            behind = workflow.values.get(name)
            if behind is None and group in ("valid", "exists") and self.facts.snapshot.plan is None:
                behind = workflow.artifacts[rest].listed
            self._facts[name] = (*evidence, *(self._expression(behind) if behind else ()))
        return self._facts[name]

    def _records(self, records: Iterable[Record]) -> list[Evidence]:
        """The evidence of records; of those about the same the newest first, which a reader is led to."""
        groups: dict[str, list[Evidence]] = {}
        for entry in map(self.of_record, records):
            groups.setdefault(entry.expression, []).insert(0, entry)
        return [entry for group in groups.values() for entry in group]

    def of_record(self, record: Record) -> Evidence:
        where = f"{record['kind']} {record['phase'] or record['question']}".strip()
        stage = f" of stage {record['stage']}" if record["stage"] else ""
        place = self.facts.origins.get(id(record)) or (None, None)
        return Evidence(where + stage, record["outcome"] or record["option"], *place)
