"""One evaluation of a run: names bound to values, expressions evaluated once, and what they read.

Invariants:

- An error is never handed on as a value: it becomes `Outcome.error`, and a guard holds only if its
  outcome is exactly `True`.
- A fact is computed at most once in a Context, and only when an expression needs it.
- Large collections (`tasks`, `records`) select through an index; to look at more than `MOST_ITEMS` one by one
  is an error instead of a silent cut.
- A Context belongs to one thread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from .functions import as_text
from .language import Expression, Language, Template
from .queries import Index, Tasks
from .syntax import InvalidExpression
from .values import BudgetExceededError, EvaluationError, ExpressionRun, Optional, TaskSet, whole


class Outcome(NamedTuple):
    """What an expression came to: a value, or the reason why there is none."""

    value: Any
    error: str | None = None

    def value_or_raise(self) -> Any:
        """The value. Raises UnknownFact, with the reason, where there is none."""
        if self.error is not None:
            raise UnknownFact(self.error)
        return self.value


class UnknownFact(Exception):  # noqa: N818 - nothing went wrong in the program
    """A name whose value cannot be told; the text says why. It becomes an error value where it is used."""


class Context:
    """Names bound to values, facts computed once when asked for.

    `resolve(name)` gives a fact's value or raises UnknownFact; expressions it needs come back through
    `value`. With `traces_reads`, each evaluation also notes the names that it reads.
    """

    def __init__(
        self,
        language: Language,
        variables: Mapping[str, object],
        resolve: Callable[[str], object],
        records: Index | None = None,
        tasks: Tasks | None = None,
        traces_reads: bool = False,
    ):
        self.language = language
        self.variables = variables
        self.records = records or Index(())
        self.tasks = tasks or Tasks()
        self.facts: dict[str, Outcome] = {}
        self.traces_reads = traces_reads
        # What is looked at: the newest of the records, and, where somebody asked for them, the names that are
        # read ("state.phase", "limits.rounds.count", "newest()"). Each fact has a trace of its own.
        self._trace: list[Any] = []
        self._fact_traces: dict[str, list[Any]] = {}
        # By id(): the expression is kept, so that no other can come to stand at its place in memory.
        self._outcomes: dict[int, tuple[Expression, Outcome, list[Any]]] = {}
        self._resolve = resolve

    # ---- evaluating

    def value(self, expression: Expression) -> Outcome:
        """What the expression comes to, computed once. Never raises."""
        known = self._outcomes.get(id(expression))
        if known is None:
            outer, self._trace = self._trace, []
            try:
                value = expression.program(ExpressionRun(self, self._trace if self.traces_reads else None))
                kind = type(value)
                if kind is int:
                    whole(value)
                elif kind is Optional:
                    raise EvaluationError("an optional value needs .orValue(..)")
                elif kind is TaskSet and not expression.is_value:
                    value = value.elements()
                outcome = Outcome(value)
            except (EvaluationError, BudgetExceededError, InvalidExpression) as error:
                outcome = Outcome(None, str(error))
            except RecursionError:
                outcome = Outcome(None, "facts need each other through too many others")
            known = self._outcomes[id(expression)] = expression, outcome, self._trace
            self._trace = outer
        if known[2]:
            self._trace += known[2]
        return known[1]

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
        return None if outcome.error is not None else as_text(outcome.value)

    def items(self, expression: Expression) -> Outcome:
        """Like `value` for a list; the bare name of a set of tasks gives them all, however many there are."""
        name = expression.source.strip()
        if name not in self.language.values:
            return self.value(expression)
        value, error = self.known(name)
        return _with_all_items(Outcome(value) if error is None else Outcome(None, f"{name}: {error}"))

    # ---- what evaluations ask for

    def touch(self, records: list[Any]) -> list[Any]:
        """Note the newest of the records that a fact or guard looked at, for its evidence."""
        self._trace += records[-3:]
        return records

    # ---- facts and evidence

    def known(self, name: str) -> Outcome:
        """A fact as an outcome, computed once."""
        outcome = self.facts.get(name)
        if outcome is None:
            # A value that needs itself finds this; definitions with cycles are refused at load.
            self.facts[name] = Outcome(None, "is being computed")
            outer, self._trace = self._trace, []
            try:
                outcome = Outcome(_as_fact(name, self._resolve(name)))
            except UnknownFact as error:
                outcome = Outcome(None, str(error))
            self.facts[name] = outcome
            self._fact_traces[name], self._trace = self._trace, outer
        return outcome

    def records_behind(self, looked_into: Expression | str) -> list[Any]:
        """The newest records that an expression itself, or a fact by its name, looked at."""
        trace = self._traced(looked_into)
        return [entry for entry in trace if not isinstance(entry, str)] if self.traces_reads else trace

    def reads_of(self, looked_into: Expression | str) -> tuple[str, ...]:
        """The names that an expression or a fact read: paths of variables, facts, functions.

        Known only with `traces_reads`. What a fact itself reads is asked for by its name.
        """
        return tuple(dict.fromkeys(e for e in self._traced(looked_into) if isinstance(e, str)))

    def _traced(self, looked_into: Expression | str) -> list[Any]:
        if isinstance(looked_into, str):
            return self._fact_traces.get(looked_into, [])
        self.value(looked_into)
        return self._outcomes[id(looked_into)][2]

    def fact_in(self, path: tuple[str, ...]) -> str:
        """The longest fact that a path begins with, "" when it begins with none."""
        name = self.language.name_in(path)
        return name if name in self.language.facts else ""

    def seen(self, path: tuple[str, ...]) -> Outcome:
        """What stands at a path that an expression reads."""
        name = self.language.name_in(path)
        rest = path[name.count(".") + 1 :]
        if name in self.language.facts:
            return _below(_with_all_items(self.known(name)), rest)
        if name in self.variables:
            return _below(Outcome(self.variables[name]), rest)
        return Outcome(None, "there is no value")


def _as_fact(name: str, value: Any) -> Any:
    """A fact's value for expressions: a word of an enumeration is text, tasks bear the fact's name."""
    if type(value) is TaskSet:
        return value.named(name)
    return str(value) if isinstance(value, str) else value


def _with_all_items(outcome: Outcome) -> Outcome:
    is_set = type(outcome.value) is TaskSet
    return Outcome(list(outcome.value.items)) if is_set else outcome


def _below(outcome: Outcome, path: Sequence[str]) -> Outcome:
    value = outcome.value
    for key in path if outcome.error is None else ():
        if not isinstance(value, Mapping) or key not in value:
            return Outcome(None, f"{key} is missing")
        value = value[key]
    return Outcome(value, outcome.error)
