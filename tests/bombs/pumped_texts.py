"""Texts that make a pattern look at the same characters again and again, made from the pattern itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from re import _constants as codes  # type: ignore[attr-defined]  # Python offers the parts of a pattern nowhere else
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

LENGTH = 100_000
"""Characters of a text."""
_REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)
_OF_CATEGORY = {codes.CATEGORY_DIGIT: "1", codes.CATEGORY_SPACE: " ", codes.CATEGORY_WORD: "a"}
_LONG = 200
"""What may be repeated less often costs nothing worth a test."""


def pumped_texts(pattern: re.Pattern[Any]) -> Iterator[str]:
    """For each part that may be repeated: what leads to it, and the part over and over, and no way to end."""
    for lead, unit in sorted(set(_pumps(parser.parse(pattern.pattern, pattern.flags), ""))):
        yield _cut(lead + unit * LENGTH)
        yield _cut((lead + unit * 3) * LENGTH)
        yield _cut(unit * LENGTH)


def _cut(text: str) -> str:
    return text[:LENGTH] + "\0"


def _pumps(parts: Any, lead: str) -> Iterator[tuple[str, str]]:
    for number, (code, value) in enumerate(parts):
        before = lead + _example(parts[:number])
        if code in _REPEATS:
            _, most, inner = value
            if most is codes.MAXREPEAT or most > _LONG:
                yield from ((before, unit) for unit in _units(inner) if unit)
            yield from _pumps(inner, before)
        else:
            for inner in _inner(code, value):
                yield from _pumps(inner, before)


def _inner(code: Any, value: Any) -> list[Any]:
    if code is codes.BRANCH:
        return list(value[1])
    if code is codes.SUBPATTERN:
        return [value[3]]
    if code is codes.ATOMIC_GROUP:
        return [value]
    return [value[1]] if code in (codes.ASSERT, codes.ASSERT_NOT) else []


def _units(parts: Any) -> set[str]:
    units = {_example(parts)}
    for code, value in parts:
        if code is codes.IN:
            units.update(_characters(value))
        elif code is codes.ANY:
            units.update("a *[(")
    return units


def _example(parts: Any) -> str:
    """A text that the parts match, in most cases."""
    shown = ""
    for code, value in parts:
        if code is codes.LITERAL:
            shown += chr(value)
        elif code is codes.NOT_LITERAL:
            shown += "b" if value == ord("a") else "a"
        elif code is codes.ANY:
            shown += "a"
        elif code is codes.IN:
            shown += _characters(value)[0]
        elif code in _REPEATS:
            shown += _example(value[2]) * min(value[0], 3)
        elif code not in (codes.ASSERT, codes.ASSERT_NOT):
            shown += "".join(map(_example, _inner(code, value)[:1]))
    return shown


def _characters(items: Any) -> list[str]:
    """A few characters of a class."""
    found: list[str] = []
    for code, value in items:
        if code is codes.LITERAL:
            found.append(chr(value))
        elif code is codes.RANGE:
            found.append(chr(value[0]))
        elif code is codes.CATEGORY:
            found.append(_OF_CATEGORY.get(value, "!"))
    if items[0][0] is codes.NEGATE:
        return [next(each for each in "a 1!-*~" if each not in found)]
    return found[:4]
