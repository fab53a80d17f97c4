"""The origins of a workflow's values: all that an expression may come from, through the values it names.

Told from the definition alone, once: for most expressions that is their basis already.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from itertools import product
from typing import NamedTuple

from ..expressions.language import Expression, Language
from ..expressions.sources import Sources
from ..expressions.syntax import Kind, walk
from ..journal.journal import DECISIONS
from ..states import Basis, RecordKind


class Origins(NamedTuple):
    """`bases` are all that are possible, `facts` the names that look at records on the way.

    `written` are "state" and the artifacts among them that reports write.
    """

    bases: tuple[Basis, ...] = ()
    facts: tuple[str, ...] = ()
    written: tuple[str, ...] = ()


_NOTHING = Origins()
_DECIDED, _REPORTED = Origins((Basis.DECIDED,)), Origins((Basis.REPORTED,))
_RECORDED, _MEASURED = Origins((Basis.RECORDED,)), Origins((Basis.MEASURED,))


class ValueOrigins:
    """The origins of the expressions of one language, each looked for once.

    `limits` have their expressions by "count" and "max". `artifacts` are their names, `plan` the one that is
    a plan; `written` are those that reports write, and "state", `decided` those that a person proves.
    """

    def __init__(
        self,
        language: Language,
        limits: Mapping[str, Mapping[str, Expression]],
        artifacts: Container[str],
        plan: str,
        written: Container[str],
        decided: Container[str],
    ):
        self.language, self.limits = language, limits
        self.artifacts, self.plan, self.written, self.decided = artifacts, plan, written, decided
        # By id(): the workflow keeps its expressions, so that no other can come to stand at their place.
        self._expressions: dict[int, Origins] = {}
        self._names: dict[str, Origins] = {}

    def of(self, expression: Expression) -> Origins:
        """The origins of an expression."""
        known = self._expressions.get(id(expression))
        if known is None:
            known = self._expressions[id(expression)] = self.of_sources(expression.sources)
        return known

    def of_sources(self, sources: Sources) -> Origins:
        """The origins of all that may carry a value, whichever parts of it do."""
        return _together((
            *map(_of_kind, sources.kinds),
            *map(self.of_path, sources.paths),
            *([self.of_content(self.plan)] if sources.plan else []),
            *(self.of_sources(part.sources) for choice in sources.choices for part in choice.all),
        ))  # fmt: skip

    def of_path(self, path: tuple[str, ...]) -> Origins:
        """The origins of a fact or variable."""
        name = self.language.name_in(path)
        if name not in self._names:
            self._names[name] = self._of_name(name)
        return self._names[name]

    def _of_name(self, name: str) -> Origins:
        """Parameters and the phase at hand are settings of a rule, and carry nothing."""
        group, _, rest = name.partition(".")
        if name in self.language.values:
            origins = self.of(self.language.values[name])
            return origins._replace(facts=(*origins.facts, name))
        if group == "limits":
            return _together(map(self.of, self.parts_of_limit(rest)))
        if group == "checks":
            return _MEASURED
        if group in ("report", "answers"):
            return (_REPORTED if group == "report" else _DECIDED)._replace(facts=(name,))
        if group == "valid" and rest in self.decided:
            return _DECIDED
        return _RECORDED if group in ("valid", "exists") else self.of_content(group)

    def parts_of_limit(self, name: str) -> tuple[Expression, ...]:
        """The expressions that NAME.count, NAME.max or NAME.reached is computed from."""
        limit, _, part = name.partition(".")
        parts = self.limits[limit]
        return (parts[part],) if part in parts else (*parts.values(),)

    def of_content(self, name: str) -> Origins:
        """The origins of the state file or an artifact: where reports write it, it is their word."""
        if name in self.decided:
            return _DECIDED
        if name in self.written:
            return _REPORTED._replace(written=(name,))
        return _RECORDED if name == "state" or name in self.artifacts else _NOTHING


def answers_read(guard: Expression) -> frozenset[tuple[str, str]]:
    """(question, option) of each answer that a guard may compare with: its questions with its texts."""
    questions = {path[1] for path in guard.paths if path[0] == "answers" and path[1:]}
    texts = {str(node.value) for node in walk(guard.tree) if node.kind is Kind.LITERAL} if questions else ()
    return frozenset(product(questions, texts))


def _of_kind(kind: str) -> Origins:
    """The origins of what records of a kind say."""
    if kind == RecordKind.VERIFIED:
        return _MEASURED
    return _DECIDED if kind in DECISIONS else _REPORTED


def _together(origins: Iterable[Origins]) -> Origins:
    known = [*origins]
    return Origins(
        tuple(dict.fromkeys(basis for each in known for basis in each.bases)),
        tuple(dict.fromkeys(name for each in known for name in each.facts)),
        tuple(dict.fromkeys(name for each in known for name in each.written)),
    )
