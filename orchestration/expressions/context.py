"""Guards: expressions evaluated once per run, and the evidence they give.

Invariants:

- An error is never handed on as a value: it becomes `Outcome.error`, and a guard holds only if its
  outcome is exactly `True`.
- A fact is computed at most once in a Context, and only when an expression needs it.
- Large collections (`tasks`, `records`) select in Python; only what they return is converted, and more
  than `MOST_ITEMS` is an error instead of a silent cut.
- One Context serves one evaluation on one thread: an Activation with Python functions cannot be shared.

This is the door to expressions: the other modules import from here what they need of
`language.py`, `functions.py` and `queries.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from ..suggestions import did_you_mean
from .fast_nodes import Plain
from .fast_values import Absent
from .functions import MOST_ITEMS, few, said
from .language import MOST_TEMPLATE, BadExpression, Expression, Language, Outcome, Template
from .queries import Index, Tasks, dig

__all__ = [
    "MOST_ITEMS",
    "MOST_TEMPLATE",
    "BadExpression",
    "Context",
    "Expression",
    "Index",
    "Language",
    "Outcome",
    "Tasks",
    "Template",
    "Unknown",
    "did_you_mean",
    "dig",
]


class Unknown(Exception):  # noqa: N818 - nothing went wrong in the program
    """A name whose value cannot be told; the text says why. It becomes an error value where it is used."""


class Context:
    """One evaluation: names bound to values, facts computed once when asked for.

    `resolve(name)` gives a fact's value or raises Unknown; expressions it needs come back through
    `value`. Not to be shared between threads.
    """

    def __init__(
        self,
        language: Language,
        variables: Mapping[str, object],
        resolve: Callable[[str], object],
        records: Index | None = None,
        tasks: Tasks | None = None,
    ):
        self.language = language
        self.variables = variables
        self.records = records or Index(())
        self.tasks = tasks or Tasks()
        self.facts: dict[str, Outcome] = {}
        # The newest records that each fact looked at, for its evidence.
        self.touched: dict[str, list] = {}
        self._touching: list = []
        # By id(): the expression is kept, so that no other can come to stand at its place in memory.
        self._seen: dict[int, tuple[Expression, Outcome, list]] = {}
        self._resolve = resolve
        self._sets: list[list] = []

    # ---- evaluating

    @cached_property
    def _activation(self) -> Any:
        return self.language.environment.Activation(dict(self.variables))

    def value(self, expression: Expression) -> Outcome:
        """What the expression comes to, computed once. Never raises."""
        seen = self._seen.get(id(expression))
        if seen is None:
            outer, self._touching = self._touching, []
            outcome = self._plainly(expression.plain, expression.is_value) if expression.plain else None
            if outcome is None:
                # What was touched on the way to a doubt is touched again.
                self._touching = []
                outcome = expression.run(self._activation, self)
            seen = self._seen[id(expression)] = (expression, outcome, self._touching)
            self._touching = outer
        self._touching += seen[2]
        return seen[1]

    def _plainly(self, plain: Plain, is_value: bool) -> Outcome | None:
        """What a plain expression comes to, None where only CEL can tell."""
        run = plain.handle if is_value and plain.handle else plain.run
        try:
            return Outcome(run(self, {}))
        except Absent as absent:
            return Outcome(None, str(absent))
        except (ValueError, RecursionError):
            error = self.known(plain.fact).error if plain.fact else None
            return None if error is None else Outcome(None, f"{plain.fact}: {error}")

    def holds(self, guard: Expression | None) -> bool:
        """Whether a guard is exactly true; no guard at all holds."""
        return guard is None or self.value(guard).value is True

    def text(self, template: Template) -> str | None:
        """The template with its values. A part without a value is "?"; one that is all of it gives None."""
        values = [part if isinstance(part, str) else self._part(part) for part in template.parts]
        if len(values) == 3 and values[0] == values[2] == "":
            return values[1]
        return "".join("?" if value is None else value for value in values)

    def _part(self, expression: Expression) -> str | None:
        outcome = self.value(expression)
        return None if outcome.error is not None else said(outcome.value)

    def items(self, expression: Expression) -> Outcome:
        """Like `value` for a list, but the bare name of a set of tasks is given whole and unconverted."""
        name = expression.source.strip()
        return self._whole(name) if self.language.is_set(name) else self.value(expression)

    # ---- what the functions of expressions ask for

    def fact(self, name: str) -> object:
        """The value of a fact for an expression. Raises ValueError, which CEL turns into an error value."""
        if self.language.is_set(name):
            return self.tasks.whole(few(self.members(name), name))
        return self.kept(name)

    def kept(self, name: str) -> object:
        """Like `fact`, but a set of tasks stays the handle that it is. Raises ValueError."""
        outcome = self.known(name)
        if outcome.error is not None:
            raise ValueError(f"{name}: {outcome.error}")
        return outcome.value

    def members(self, name: str) -> list:
        """The tasks of a value that is a set of tasks, however many. Raises ValueError if it has no value."""
        handle = self.kept(name)
        assert isinstance(handle, dict)
        return self._sets[handle["set"]]

    def keep(self, tasks: list) -> dict[str, int]:
        """A handle for a set of tasks: it stays here, and only what is needed of it is ever converted."""
        self._sets.append(tasks)
        return {"set": len(self._sets) - 1}

    def touch(self, records: list) -> list:
        """Note the newest of the records that a fact or guard looked at, for its evidence."""
        self._touching += records[-3:]
        return records

    # ---- facts and evidence

    def known(self, name: str) -> Outcome:
        """A fact as an outcome, computed once."""
        outcome = self.facts.get(name)
        if outcome is None:
            # A value that needs itself finds this; definitions with circles are refused at load.
            self.facts[name] = Outcome(None, "is being computed")
            outer, self._touching = self._touching, []
            try:
                outcome = Outcome(self._resolve(name))
            except Unknown as error:
                outcome = Outcome(None, str(error))
            self.facts[name] = outcome
            self.touched[name], self._touching = self._touching, outer
        return outcome

    def touching(self, expression: Expression) -> list:
        """The records that the expression itself looks at, the facts in it left out."""
        self.value(expression)
        return self._seen[id(expression)][2]

    def fact_in(self, path: tuple[str, ...]) -> str:
        """The longest fact that a path begins with, "" when it begins with none."""
        name = self.language.name_in(path)
        return name if name in self.language.facts else ""

    def seen(self, path: tuple[str, ...]) -> Outcome:
        """What stands at a path that an expression reads."""
        name = self.language.name_in(path)
        rest = path[name.count(".") + 1 :]
        if self.language.is_set(name):
            return self._whole(name)
        if name in self.language.facts:
            return _below(self.known(name), rest)
        if name in self.variables:
            return _below(Outcome(self.variables[name]), rest)
        return Outcome(None, "there is no value")

    def _whole(self, name: str) -> Outcome:
        try:
            return Outcome(self.members(name))
        except ValueError as error:
            return Outcome(None, str(error))


def _below(outcome: Outcome, path: Sequence[str]) -> Outcome:
    value = outcome.value
    for key in path if outcome.error is None else ():
        if not isinstance(value, Mapping) or key not in value:
            return Outcome(None, f"{key} is missing")
        value = value[key]
    return Outcome(value, outcome.error)
