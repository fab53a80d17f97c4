"""The parts that plain expressions are made of: each gives its value from the context of an evaluation."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple, Protocol

from .fast_values import KINDS, MOST_INT, Absent, Doubt, as_list, as_map, field, flag
from .functions import MOST_ITEMS, Call, elements

# Loops within loops are told here up to so many steps.
MOST_STEPS = 10_000


class Names(Protocol):
    """The names of a language."""

    variables: dict[str, str]
    facts: dict[str, str]

    def is_set(self, name: str) -> bool: ...


# Gives a value from the context of an evaluation and the variables that a loop binds. Raises ValueError.
Run = Callable[[Any, dict[str, Any]], Any]


class Plain(NamedTuple):
    """What an expression comes to. A set of tasks has two more uses: its size, and a handle of it.

    `optional`: the value may be absent, which is `_ABSENT`. `selected` is (what it is a field of, the field).
    `fact` is the only thing that can go wrong: without a value for it, there is none for the expression.
    `variable` is the one that it is.
    """

    run: Run
    size: Run | None = None
    handle: Run | None = None
    optional: bool = False
    selected: tuple[Plain, str] | None = None
    constant: Any = None
    fact: str = ""
    variable: str = ""


_ABSENT = object()


class NotPlainError(Exception):
    """Something that only CEL knows."""


def constant(value: object) -> Plain:
    return Plain(lambda context, bound: value, constant=value)


def literal(digits: str) -> int:
    value = int(digits) if len(digits) < 20 else MOST_INT
    if value >= MOST_INT:
        raise NotPlainError
    return value


def of_values(told: Callable[..., Any], *parts: Run) -> Run:
    """A function of the values of parts."""
    if len(parts) == 1:
        only = parts[0]
        return lambda context, bound: told(only(context, bound))
    if len(parts) == 2:
        first, second = parts
        return lambda context, bound: told(first(context, bound), second(context, bound))
    return lambda context, bound: told(*(part(context, bound) for part in parts))


def any_of(parts: Sequence[Run]) -> Run:
    return lambda context, bound: any(flag(part(context, bound)) for part in parts)


def all_of(parts: Sequence[Run]) -> Run:
    return lambda context, bound: all(flag(part(context, bound)) for part in parts)


def chosen(test: Run, yes: Run | None, no: Run | None) -> Any:
    if yes is None or no is None:
        return None
    return lambda context, bound: (yes if flag(test(context, bound)) else no)(context, bound)


def list_of(parts: Sequence[Run]) -> Plain:
    if not parts:
        return constant([])
    return Plain(lambda context, bound: [part(context, bound) for part in parts])


def map_of(entries: Sequence[tuple[str, Run]]) -> Plain:
    if len({name for name, _ in entries}) < len(entries):
        raise NotPlainError
    return Plain(lambda context, bound: {name: part(context, bound) for name, part in entries})


def variable(name: str) -> Plain:
    def run(context: Any, bound: dict[str, Any]) -> object:
        if name in context.variables:
            return context.variables[name]
        raise Doubt

    return Plain(run, variable=name)


def looked_up(whole: Plain) -> Run | None:
    """A field of a field of a variable, with an error where one is missing; None if an expression is more."""
    of, fields = whole, []
    while of.selected is not None and not of.optional:
        of, name = of.selected
        fields.insert(0, name)
    variable = of.variable
    if not variable or "." in variable:
        return None

    def run(context: Any, bound: dict[str, Any]) -> object:
        if variable not in context.variables:
            raise Absent(f"{variable} is not there, or not valid")
        value = context.variables[variable]
        for name in fields:
            if name not in as_map(value):
                raise Absent(f"{name} is missing")
            value = value[name]
        return value

    return run


def fact(name: str, names: Names) -> Plain:
    if not names.is_set(name):
        return Plain(lambda context, bound: context.kept(name), fact=name)
    return Plain(
        lambda context, bound: context.fact(name),
        lambda context, bound: len(context.members(name)),
        lambda context, bound: context.kept(name),
    )


def selected(of: Plain, name: str, optional: bool) -> Plain:
    inner = of.run
    if not optional and not of.optional:
        return Plain(of_values(lambda value: field(value, name), inner), selected=(of, name))

    def run(context: Any, bound: dict[str, Any]) -> object:
        value = inner(context, bound)
        if value is _ABSENT:
            return value
        return as_map(value).get(name, _ABSENT) if optional else field(value, name)

    return Plain(run, optional=True, selected=(of, name))


def of_optional(inner: Run, name: str, arguments: Sequence[Run]) -> Run:
    if name == "hasValue" and not arguments:
        return of_values(lambda value: value is not _ABSENT, inner)
    if name != "orValue" or len(arguments) != 1:
        raise NotPlainError
    (other,) = arguments

    def run(context: Any, bound: dict[str, Any]) -> object:
        value = inner(context, bound)
        return other(context, bound) if value is _ABSENT else value

    return run


def _taken(call: Call, arguments: Collection[Run]) -> list[tuple[Run, Callable[[object], object]]]:
    """The arguments of a call, each with what makes sure of its kind."""
    if len(arguments) != len(call.takes):
        raise NotPlainError
    return list(zip(arguments, (KINDS[kind] for kind in call.takes), strict=True))


def query(call: Call, arguments: Sequence[Run]) -> Run:
    taken = _taken(call, arguments)
    return lambda context, bound: call.run(context, *(sure(part(context, bound)) for part, sure in taken))


def called(call: Call, of: Run, arguments: Sequence[Run]) -> Run:
    taken = _taken(call, arguments)
    return lambda context, bound: call.run(
        as_list(of(context, bound)), *(sure(part(context, bound)) for part, sure in taken)
    )


def task_set(name: str, call: Call, arguments: Sequence[Run]) -> Plain:
    picked = query(call, arguments)
    return Plain(
        lambda context, bound: elements(context, picked(context, bound), f"{name}(..)"),
        lambda context, bound: len(picked(context, bound)),
        lambda context, bound: context.keep(picked(context, bound)),
    )


def looped(loop: Callable[[list, Any], object], of: Run, variable: str, each: Run) -> Run:
    def run(context: Any, bound: dict[str, Any]) -> object:
        value = of(context, bound)
        # Of a map its keys are looked at, in the order of its file; CEL has them in an order of its own.
        items = list(value) if type(value) is dict else as_list(value)
        # No variable has an empty name: there stands how often the loops around this one go round.
        steps = len(items) * bound.get("", 1)
        if len(items) > MOST_ITEMS or steps > MOST_STEPS:
            raise Doubt
        inner = {**bound, "": steps}

        def one(item: object) -> object:
            inner[variable] = item
            return each(context, inner)

        return loop(items, one)

    return run
