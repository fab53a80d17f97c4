"""Values of expressions: types, equality, order and arithmetic as CEL defines them, and the budget of a run.

Values are those of JSON, moments (`datetime`), optional values, types, and sets of tasks. Whole numbers have
64 bits; true is not 1, and 1 equals 1.0.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, NamedTuple, NoReturn, Protocol

from .queries import Index, Tasks

# The most elements that all loops of one expression go through: CEL's usual bound, about 10 ms.
MOST_ROUNDS = 10_000
# The most elements that one expression compares or puts into new lists, about 50 ms and 8 MB.
MOST_ELEMENTS = 1_000_000
# The most characters of all texts that one expression makes or searches, about 4 MB.
MOST_CHARACTERS_MADE = 1_000_000
# The most steps of all expressions that tell where a run stands, about 0.3 s: a step is an element or a
# character, a round of a loop takes about as long as 20.
MOST_STEPS = 3_000_000
_STEPS_OF_ROUND = 20
# The most tasks or records that an expression may look at one by one.
MOST_ITEMS = 500
MOST_INT = 2**63


class EvaluationError(ValueError):
    """An expression that has no value, and why: an error value of CEL, which `||` and `&&` may absorb."""


class BudgetExceededError(Exception):
    """An evaluation that works too long or makes too much. Nothing absorbs it: it is never true."""


class Budget:
    """The steps that all expressions of an evaluation may spend together; `exceeded` is the first refusal."""

    __slots__ = ("exceeded", "left", "steps")

    def __init__(self, steps: int = MOST_STEPS):
        self.steps, self.left, self.exceeded = steps, steps, ""

    @property
    def spent(self) -> int:
        """The steps that were done; those that were refused cost nothing."""
        return min(self.steps, self.steps - self.left)

    def spend(self, steps: int) -> None:
        """Raises BudgetExceededError before more is done than is left."""
        self.left -= steps
        if self.left < 0:
            raise BudgetExceededError(f"all expressions together take more than {self.steps} steps")


class Names(Protocol):
    """Gives the values of names, the records and tasks of a run, and what its expressions have left."""

    variables: Any
    facts: Any
    records: Index
    tasks: Tasks
    budget: Budget

    def fact(self, name: str) -> tuple[Any, str | None]: ...

    def touch(self, records: list[Any]) -> list[Any]: ...


class ExpressionRun:
    """One evaluation of one expression: its names, what its loops bind, by their depth, and what it spent.

    The methods raise BudgetExceededError before more is done than is allowed.
    """

    # Most evaluations spend nothing: a counter becomes the instance's own with its first charge.
    rounds = elements = characters = 0

    def __init__(self, names: Names):
        self.names = names
        self.bound: dict[int, Any] = {}

    def go_round(self, times: int) -> None:
        """A loop begins that goes round so often."""
        self.rounds += times
        if self.rounds > MOST_ROUNDS:
            raise BudgetExceededError(f"its loops take more than {MOST_ROUNDS} iterations together")
        self._spend(times * _STEPS_OF_ROUND)

    def take(self, elements: int) -> None:
        """So many elements are compared or put into a list."""
        self.elements += elements
        if self.elements > MOST_ELEMENTS:
            raise BudgetExceededError(f"it looks at more than {MOST_ELEMENTS} elements")
        self._spend(elements)

    def write(self, characters: int) -> None:
        """So many characters are put into a text, or searched."""
        self.characters += characters
        if self.characters > MOST_CHARACTERS_MADE:
            raise BudgetExceededError(f"it makes texts of more than {MOST_CHARACTERS_MADE} characters")
        self._spend(characters)

    @property
    def remaining_steps(self) -> int:
        """The steps that all expressions together may still do."""
        return self.names.budget.left if self.names is not None else MOST_STEPS

    def _spend(self, steps: int) -> None:
        # Constants are made once, without names, when an expression is compiled.
        if self.names is not None:
            self.names.budget.spend(steps)


def weigh(run: ExpressionRun, value: object) -> None:
    """Charge for a value as it is written out, where a part that stands in it twice costs twice."""
    if type(value) is str:
        run.write(len(value))
        return
    waiting, elements, characters = [value], 0, 0
    # Of what is refused no more is looked at: a part may stand in a value many times over.
    most = min(MOST_ELEMENTS + MOST_CHARACTERS_MADE, run.remaining_steps)
    while waiting and elements + characters <= most:
        part = waiting.pop()
        if isinstance(part, str):
            characters += len(part)
        elif isinstance(part, (list, dict)):
            elements += len(part)
            waiting += part.values() if isinstance(part, dict) else part
    if elements:
        run.take(elements)
    if characters:
        run.write(characters)


class Optional:
    """A value that may be absent: `a.?b`."""

    __slots__ = ("present", "value")

    def __init__(self, value: object = None, present: bool = True):
        self.value, self.present = value, present


ABSENT = Optional(present=False)


class TypeName(NamedTuple):
    """The type of a value as a value: `type(x)`."""

    name: str


class TaskSet:
    """Tasks of the plan. Their number costs nothing; their elements come with what their own files say."""

    __slots__ = ("_elements", "items", "name", "whole")

    def __init__(self, items: Sequence[Any], whole: Callable[[Sequence[Any]], list[Any]], name: str):
        self.items, self.whole, self.name = items, whole, name
        self._elements: list[Any] | None = None

    def with_items(self, items: Sequence[Any]) -> TaskSet:
        """Other tasks of the same plan, or the same in another order."""
        return TaskSet(items, self.whole, self.name)

    def elements(self) -> list[Any]:
        """Raises EvaluationError where there are too many."""
        if self._elements is None:
            self._elements = self.whole(few(self.items, self.name))
        return self._elements


def few(items: Any, name: str) -> Any:
    """The items, if they are few enough to be looked at. Raises EvaluationError: a cut would hide work."""
    if len(items) > MOST_ITEMS:
        raise EvaluationError(
            f"{name} has {len(items)} items, at most {MOST_ITEMS} can be looked at one by one; "
            "size() and == [] work for any number"
        )
    return items


# ---- types ------------------------------------------------------------------------------------

_TYPES: dict[type, str] = {
    bool: "bool", int: "int", float: "double", str: "string", list: "list", dict: "map", type(None): "null",
    datetime: "timestamp", TypeName: "type", Optional: "optional", TaskSet: "list",
}  # fmt: skip


def type_of(value: object) -> str:
    """The type of a value, in the words of the type checker."""
    kind = type(value)
    return _TYPES.get(kind) or next((_TYPES[one] for one in kind.__mro__ if one in _TYPES), kind.__name__)


def no_overload(what: str, *values: object) -> NoReturn:
    """Raise the error for values that an operator or function does not take."""
    raise EvaluationError(f"{what} does not take ({', '.join(map(type_of, values))})")


def as_bool(value: object) -> bool:
    if value is True or value is False:
        return value
    raise EvaluationError(f"true or false is needed, this is {type_of(value)}")


def as_list(value: object, what: str = "") -> list[Any]:
    if type(value) is list:
        return value
    if type(value) is TaskSet:
        return value.elements()
    return no_overload(what, value)


def whole(number: Any) -> Any:
    """A number of 64 bits. Raises EvaluationError for larger ones."""
    if type(number) is int and not -MOST_INT <= number < MOST_INT:
        raise EvaluationError("a whole number is too large: it has more than 64 bits")
    return number


# ---- equality and order -----------------------------------------------------------------------

_NUMBERS = frozenset((int, float))
_ORDERED = frozenset((bool, int, float, str, datetime))
_PLAIN = _ORDERED | {TypeName}


def equal(run: ExpressionRun, left: Any, right: Any) -> bool:
    """CEL's `==`: values of different types are not equal, but numbers."""
    kind, other = type(left), type(right)
    if (kind is other and kind in _PLAIN) or (kind in _NUMBERS and other in _NUMBERS):
        return left == right
    if isinstance(left, str) and isinstance(right, str):
        # One is a word of an enumeration.
        return str(left) == str(right)
    if isinstance(left, dict) and isinstance(right, dict):
        run.take(len(left))
        return left.keys() == right.keys() and all(equal(run, left[key], right[key]) for key in left)
    if type_of(left) == "list" == type_of(right):
        if size(left) != size(right):
            return False
        first, second = as_list(left), as_list(right)
        run.take(len(first))
        return all(equal(run, *pair) for pair in zip(first, second, strict=True))
    if isinstance(left, Optional) and isinstance(right, Optional):
        return left.present is right.present and equal(run, left.value, right.value)
    return kind is other and left == right


def size(value: Any) -> int:
    """The number of elements of a list or map, or of characters of a text."""
    if type(value) is TaskSet:
        return len(value.items)
    if isinstance(value, (list, dict, str)):
        return len(value)
    return no_overload("size", value)


def contains(run: ExpressionRun, value: Any, whole: Any) -> bool:
    """CEL's `in`: a list has an element that equals the value, or a map the key."""
    if isinstance(whole, dict):
        if isinstance(value, str):
            return value in whole
        return False if type(value) in (bool, int, float) else no_overload("in", value)
    items = as_list(whole, "in")
    run.take(len(items))
    # Python finds a text in a list quickly; whatever equals a text is one.
    return value in items if isinstance(value, str) else any(equal(run, value, item) for item in items)


def _ordering(sign: str, compare: Callable[[Any, Any], bool]) -> Callable[..., bool]:
    def order(run: ExpressionRun, left: Any, right: Any) -> bool:
        kind, other = type(left), type(right)
        if (kind is other and kind in _ORDERED) or (kind in _NUMBERS and other in _NUMBERS):
            return compare(left, right)
        if isinstance(left, str) and isinstance(right, str):
            return compare(str(left), str(right))
        return no_overload(sign, left, right)

    return order


# ---- arithmetic -------------------------------------------------------------------------------


def add(run: ExpressionRun, left: Any, right: Any) -> Any:
    kind = type(left)
    if kind is type(right) and kind in _NUMBERS:
        return whole(left + right)
    if isinstance(left, str) and isinstance(right, str):
        run.write(len(left) + len(right))
        return left + right
    if type_of(left) == "list" == type_of(right):
        run.take(size(left) + size(right))
        if isinstance(left, TaskSet) and isinstance(right, TaskSet):
            return left.with_items([*left.items, *right.items])
        return as_list(left) + as_list(right)
    return no_overload("+", left, right)


def _divide(left: Any, right: Any) -> Any:
    """Whole numbers are divided toward zero; by a zero with a fraction the result is infinite."""
    if type(left) is int:
        if right == 0:
            raise EvaluationError("divide by zero")
        return abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
    if right:
        return left / right
    return math.copysign(math.inf, right) * left if left else math.nan


def _remain(left: Any, right: Any) -> Any:
    if right == 0:
        raise EvaluationError("modulus by zero")
    return left - _divide(left, right) * right


def _arithmetic(
    sign: str, calculate: Callable[[Any, Any], Any], kinds: frozenset[type] = _NUMBERS
) -> Callable[..., Any]:
    def calculate_whole(run: ExpressionRun, left: Any, right: Any) -> Any:
        if type(left) is not type(right) or type(left) not in kinds:
            return no_overload(sign, left, right)
        return whole(calculate(left, right))

    return calculate_whole


def negative(value: Any) -> Any:
    return whole(-value) if type(value) in _NUMBERS else no_overload("-", value)


class Operator(NamedTuple):
    """`run`; the types that it takes on both sides, () for its own rule; the type it gives, "" for theirs."""

    run: Callable[[ExpressionRun, Any, Any], Any]
    takes: tuple[str, ...] = ()
    gives: str = ""


NUMBERS = ("int", "double")
_COMPARABLE = ("bool", *NUMBERS, "string", "timestamp")
OPERATORS = {
    "==": Operator(equal, (), "bool"),
    "!=": Operator(lambda run, left, right: not equal(run, left, right), (), "bool"),
    "in": Operator(contains, (), "bool"),
    "<": Operator(_ordering("<", operator.lt), _COMPARABLE, "bool"),
    "<=": Operator(_ordering("<=", operator.le), _COMPARABLE, "bool"),
    ">": Operator(_ordering(">", operator.gt), _COMPARABLE, "bool"),
    ">=": Operator(_ordering(">=", operator.ge), _COMPARABLE, "bool"),
    "+": Operator(add, (*NUMBERS, "string", "list", "strings")),
    "-": Operator(_arithmetic("-", operator.sub), NUMBERS),
    "*": Operator(_arithmetic("*", operator.mul), NUMBERS),
    "/": Operator(_arithmetic("/", _divide), NUMBERS),
    "%": Operator(_arithmetic("%", _remain, frozenset((int,))), ("int",)),
}


# ---- fields and elements ----------------------------------------------------------------------


def field(value: Any, name: str) -> Any:
    """A field of a map; of an optional map the field is optional, too."""
    if isinstance(value, dict):
        if name in value:
            return value[name]
        raise EvaluationError(f"{name} is missing")
    if isinstance(value, Optional):
        return optional_item(value, name)
    raise EvaluationError(f"{name} is asked of a {type_of(value)}, which has no fields")


def item(value: Any, key: Any) -> Any:
    """An element of a list by its place, or a value of a map by its key."""
    if isinstance(value, dict):
        return field(value, key) if isinstance(key, str) else no_overload("[ ]", value, key)
    if isinstance(value, Optional):
        return optional_item(value, key)
    if type_of(value) != "list" or type(key) not in _NUMBERS or key != int(key):
        return no_overload("[ ]", value, key)
    items = as_list(value)
    if not 0 <= key < len(items):
        raise EvaluationError(f"there is no element {int(key)} in a list of {len(items)}")
    return items[int(key)]


def optional_item(value: Any, key: Any) -> Optional:
    """A field or element as an optional value. Raises EvaluationError for a value that has no parts."""
    if isinstance(value, Optional):
        return optional_item(value.value, key) if value.present else value
    if isinstance(value, dict):
        return Optional(value[key]) if key in value else ABSENT
    if type_of(value) == "list" and type(key) is int:
        return Optional(item(value, key)) if 0 <= key < size(value) else ABSENT
    return no_overload("[? ]" if type(key) is int else f".?{key}", value)
