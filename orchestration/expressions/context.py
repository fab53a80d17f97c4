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

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from .functions import as_text
from .language import Expression, Language, Template
from .queries import Index, Tasks
from .syntax import InvalidExpression
from .values import (
    Budget,
    BudgetExceededError,
    EvaluationError,
    ExpressionRun,
    Optional,
    TaskSet,
    weigh,
    whole,
)


class Outcome(NamedTuple):
    """The result of an expression: a value, or the reason why there is none."""

    value: Any
    error: str | None = None

    def value_or_raise(self) -> Any:
        """The value. Raises UnknownFact, with the reason, where there is none."""
        if self.error is not None:
            raise UnknownFact(self.error)
        return self.value


# Most outcomes are one of these: made once, because making one costs as much as evaluating a comparison.
_TRUTH = {True: Outcome(True), False: Outcome(False)}
_COLLECTIONS = (list, dict)
_COMPUTING = Outcome(None, "is being computed")


class UnknownFact(Exception):  # noqa: N818 - nothing went wrong in the program
    """A name whose value cannot be told; the text says why. It becomes an error value where it is used."""


class Context:
    """Names bound to values, facts computed once when asked for.

    `resolve(name)` gives a fact's value or raises UnknownFact; expressions it needs come back through
    `value`.
    """

    def __init__(
        self,
        language: Language,
        variables: Mapping[str, object],
        resolve: Callable[[str], object],
        records: Index | None = None,
        tasks: Tasks | None = None,
        budget: Budget | None = None,
    ):
        self.budget = budget or Budget()
        self.language = language
        self.variables = variables
        self.records = records or Index(())
        self.tasks = tasks or Tasks()
        self.facts: dict[str, Outcome] = {}
        # The newest of the records that are looked at. Each fact has a trace of its own.
        self._trace: list[Any] = []
        self._fact_traces: dict[str, list[Any]] = {}
        # By id(): the expression is kept, so that no other can come to stand at its place in memory.
        self._outcomes: dict[int, tuple[Expression, Outcome, list[Any]]] = {}
        self._resolve = resolve

    # ---- evaluating

    def value(self, expression: Expression) -> Outcome:
        """The outcome of the expression, computed once. Never raises."""
        known = self._outcomes.get(id(expression))
        if known is None:
            outer, self._trace = self._trace, []
            try:
                value = expression.program(ExpressionRun(self))
                kind = type(value)
                if kind is int:
                    whole(value)
                elif kind is Optional:
                    raise EvaluationError("an optional value needs .orValue(..)")
                elif kind in _COLLECTIONS and expression.can_multiply:
                    weigh(ExpressionRun(self), value)
                elif kind is TaskSet and not expression.is_value:
                    value = value.elements()
                outcome = _TRUTH[value] if kind is bool else Outcome(value)
            except (EvaluationError, BudgetExceededError, InvalidExpression) as error:
                if isinstance(error, BudgetExceededError):
                    self._note_exceeded(expression, error)
                outcome = Outcome(None, str(error))
            except RecursionError:
                outcome = Outcome(None, "facts need each other through too many others")
            known = self._outcomes[id(expression)] = expression, outcome, self._trace
            self._trace = outer
        if known[2]:
            self._trace += known[2]
        return known[1]

    def holds(self, guard: Expression | None) -> bool:
        """True where a guard is exactly true; no guard at all holds."""
        return guard is None or self.value(guard).value is True

    def text(self, template: Template) -> str | None:
        """The template with its values. A part without a value is "?"; one that is all of it gives None."""
        values: list[str | None] = []
        run = ExpressionRun(self)
        for part in template.parts:
            value, error = (part, None) if isinstance(part, str) else self.value(part)
            if error is None and isinstance(part, Expression):
                try:
                    weigh(run, value)
                except BudgetExceededError as exceeded:
                    self._note_exceeded(part, exceeded)
                    error = str(exceeded)
            values.append(as_text(value) if error is None else None)
        if len(values) == 3 and values[0] == values[2] == "":
            return values[1]
        return "".join("?" if value is None else value for value in values)

    def _note_exceeded(self, expression: Expression, error: BudgetExceededError) -> None:
        if not self.budget.exceeded:
            self.budget.exceeded = f"{expression.source.strip()!r}: {error}"

    def items(self, expression: Expression) -> Outcome:
        """The outcome of a list; the bare name of a set of tasks gives them all, however many there are."""
        name = expression.source.strip()
        if name not in self.language.values:
            return self.value(expression)
        value, error = self.fact(name)
        return _with_all_items(Outcome(value) if error is None else Outcome(None, f"{name}: {error}"))

    # ---- what evaluations ask for

    def touch(self, records: list[Any]) -> list[Any]:
        """Note the newest of the records that a fact or guard looked at, for its evidence."""
        self._trace += records[-3:]
        return records

    # ---- facts and evidence

    def fact(self, name: str) -> Outcome:
        """A fact as an outcome, computed once."""
        outcome = self.facts.get(name)
        if outcome is None:
            # A value that needs itself finds this; definitions with cycles are refused at load.
            self.facts[name] = _COMPUTING
            outer, self._trace = self._trace, []
            try:
                value = self._resolve(name)
                if type(value) is TaskSet:
                    value = TaskSet(value.items, value.whole, name)
                elif isinstance(value, str):
                    # A word of an enumeration is text to expressions.
                    value = str(value)
                outcome = _TRUTH[value] if type(value) is bool else Outcome(value)
            except UnknownFact as error:
                outcome = Outcome(None, str(error))
            self.facts[name] = outcome
            self._fact_traces[name], self._trace = self._trace, outer
        return outcome

    def records_behind(self, looked_into: Expression | str) -> list[Any]:
        """The newest records that an expression itself, or a fact by its name, looked at."""
        if isinstance(looked_into, str):
            return self._fact_traces.get(looked_into, [])
        if id(looked_into) not in self._outcomes:
            self.value(looked_into)
        return self._outcomes[id(looked_into)][2]

    def part(self, program: Callable[[ExpressionRun], object]) -> object:
        """The value of a part of an expression, None for an error. No trace is kept of what it looks at."""
        outer, self._trace = self._trace, []
        try:
            return program(ExpressionRun(self))
        except (EvaluationError, BudgetExceededError, InvalidExpression, RecursionError):
            return None
        finally:
            self._trace = outer

    def fact_in(self, path: tuple[str, ...]) -> str:
        """The longest fact that a path begins with, "" when it begins with none."""
        name = self.language.name_in(path)
        return name if name in self.language.facts else ""

    def read_path(self, path: tuple[str, ...]) -> Outcome:
        """The value at a path that an expression reads."""
        name = self.language.name_in(path)
        if name in self.language.facts:
            value, error = _with_all_items(self.fact(name))
        elif name in self.variables:
            value, error = self.variables[name], None
        else:
            return Outcome(None, "there is no value")
        for key in path[name.count(".") + 1 :] if error is None else ():
            if not isinstance(value, dict) or key not in value:
                return Outcome(None, f"{key} is missing")
            value = value[key]
        return Outcome(value, error)


def _with_all_items(outcome: Outcome) -> Outcome:
    return Outcome(list(outcome.value.items)) if type(outcome.value) is TaskSet else outcome
