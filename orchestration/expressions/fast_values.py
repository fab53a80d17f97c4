"""What plain expressions do with values: as CEL does, or not at all.

Each function takes values of any kind and raises `Doubt` where CEL would give an error, or where the kinds of
the values leave room for doubt: 1 and 1.0, true and 1, a missing key.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

MOST_INT = 2**63
# One character of a pattern: itself, or one of some.
_ONE = r"(?:[A-Za-z0-9_ /]|\[(?:a-z|A-Z|0-9|[A-Za-z0-9_])+\])"


class Doubt(ValueError):  # noqa: N818 - nothing is wrong
    """CEL has to tell."""


class Absent(ValueError):  # noqa: N818 - so it is
    """A value is missing, and the expression has none; says which, as CEL does."""


def flag(value: object) -> bool:
    if value is True or value is False:
        return value
    raise Doubt


def whole(value: object) -> int:
    if type(value) is int and -MOST_INT <= value < MOST_INT:
        return value
    raise Doubt


def sure(value: object) -> object:
    return whole(value) if type(value) is int else value


def as_list(value: object) -> list:
    if type(value) is list:
        return value
    raise Doubt


def as_text(value: object) -> str:
    if type(value) is str:
        return value
    raise Doubt


def as_map(value: object) -> dict:
    if type(value) is dict:
        return value
    raise Doubt


_SCALARS = (str, bool, int)


def _equal(left: object, right: object) -> bool:
    if type(left) is type(right) and type(left) in _SCALARS:
        return left == right
    raise Doubt


def _is_in(left: object, right: object) -> bool:
    # A text equals texts only; numbers and truth values would have to be told apart.
    return as_text(left) in (right if type(right) is dict else as_list(right))


def _comparable(left: Any, right: Any) -> tuple[Any, Any]:
    return (left, right) if type(left) is type(right) is str else (whole(left), whole(right))


def _less(left: Any, right: Any) -> bool:
    left, right = _comparable(left, right)
    return left < right


def _add(left: Any, right: Any) -> object:
    if type(left) is type(right) and type(left) in (str, list):
        return left + right
    return whole(whole(left) + whole(right))


def times(left: object, right: object) -> int:
    return whole(whole(left) * whole(right))


RELATIONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": _equal,
    "!=": lambda left, right: not _equal(left, right),
    "in": _is_in,
    "<": _less,
    "<=": lambda left, right: not _less(right, left),
    ">": lambda left, right: _less(right, left),
    ">=": lambda left, right: not _less(left, right),
}
SUMS: dict[str, Callable[[Any, Any], object]] = {
    "+": _add,
    "-": lambda left, right: whole(whole(left) - whole(right)),
}


def field(value: Any, name: str) -> object:
    try:
        return as_map(value)[name]
    except KeyError:
        raise Doubt from None


def item(value: Any, place: object) -> object:
    if type(value) is dict:
        return field(value, as_text(place))
    if 0 <= whole(place) < len(as_list(value)):
        return value[place]
    raise Doubt


def size_of(value: object) -> int:
    if type(value) in (list, dict, str):
        return len(value)  # type: ignore[arg-type]
    raise Doubt


def size_of_list(value: object) -> int:
    return len(as_list(value))


def string_of(value: object) -> str:
    return value if type(value) is str else str(whole(value))


def _split(value: object, separator: object) -> list[str]:
    if value and separator:
        return as_text(value).split(as_text(separator))
    raise Doubt


def _lower(value: object) -> str:
    if as_text(value).isascii():
        return as_text(value).lower()
    raise Doubt


def _replaced(value: object, old: object, new: object) -> str:
    if old:
        return as_text(value).replace(as_text(old), as_text(new))
    raise Doubt


# Patterns that mean the same to CEL and here, and repeat but one part: more could take too long.
_PATTERN = re.compile(rf"\^?(?:{_ONE})*(?:{_ONE}[+*?](?:{_ONE})*)?\$?")
_LONGEST_MATCHED = 1000


def matcher(pattern: object) -> Callable[[object], bool] | None:
    """What tells whether a text has a match of a pattern; None for a pattern that is left to CEL."""
    if not isinstance(pattern, str) or not _PATTERN.fullmatch(pattern):
        return None
    whole_text = f"{pattern[:-1]}\\Z" if pattern.endswith("$") else pattern
    search = re.compile(whole_text).search

    def matches(value: object) -> bool:
        if len(as_text(value)) > _LONGEST_MATCHED:
            raise Doubt
        return search(as_text(value)) is not None

    return matches


KINDS: dict[str, Callable[[object], object]] = {
    "items": as_list,
    "fields": as_map,
    "text": as_text,
    "int": whole,
    "pattern": lambda value: value if type(value) is str else as_map(value),
}
# Methods of texts, with the number of what they take.
OF_TEXT: dict[tuple[str, int], Callable[..., object]] = {
    ("split", 1): _split,
    ("startsWith", 1): lambda value, start: as_text(value).startswith(as_text(start)),
    ("endsWith", 1): lambda value, end: as_text(value).endswith(as_text(end)),
    ("contains", 1): lambda value, part: as_text(part) in as_text(value),
    ("lowerAscii", 0): _lower,
    ("replace", 2): _replaced,
}
TYPES = {"list": list, "map": dict, "string": str, "bool": bool, "int": int}


# ---- loops ------------------------------------------------------------------------------------


def _filter(items: list, fits: Callable[[object], object]) -> list:
    return [item for item in items if flag(fits(item))]


def _map_each(items: list, made: Callable[[object], object]) -> list:
    return [made(item) for item in items]


def _all(items: list, fits: Callable[[object], object]) -> bool:
    return all(flag(fits(item)) for item in items)


def _exists(items: list, fits: Callable[[object], object]) -> bool:
    return any(flag(fits(item)) for item in items)


LOOPS = {"filter": _filter, "map": _map_each, "all": _all, "exists": _exists}
