"""Functions and methods of expressions on texts, for the tables of `functions`; regular expressions."""

from __future__ import annotations

from functools import lru_cache
from string import ascii_lowercase, ascii_uppercase
from typing import Any

from .values import EvaluationError, ExpressionRun

# The longest regular expression, and the most instructions that it may be compiled to.
MOST_PATTERN, MOST_INSTRUCTIONS = 1000, 1000
_SMALL = str.maketrans(ascii_uppercase, ascii_lowercase)
_LARGE = str.maketrans(ascii_lowercase, ascii_uppercase)
# What Unicode calls white space; Python's own `strip` takes control characters, too.
_BLANKS = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))


class InvalidPattern(ValueError):  # noqa: N818 - said to people as it is
    """A regular expression that is none, or is too large; the text says what and where."""


@lru_cache(maxsize=200)
def compile_pattern(pattern: str) -> Any:
    """The automaton of a regular expression, by RE2: its time is linear in the text. Raises InvalidPattern.

    Python's own `re` backtracks: `(a+)+$` can take minutes there. Half a surrogate pair, which JSON can hold,
    is a character of its own.
    """
    import re2

    if len(pattern) > MOST_PATTERN:
        raise InvalidPattern(f"has {len(pattern)} characters, at most {MOST_PATTERN} are allowed")
    options = re2.Options()
    options.max_mem, options.log_errors = 8 << 20, False
    try:
        compiled = re2.compile(pattern.encode("utf-8", "surrogatepass"), options)
    except re2.error as error:
        what, _, part = error.args[0].decode("utf-8", "replace").partition(": ")
        place = f": {part!r} (at its character {pattern.find(part) + 1})" if part in pattern and part else ""
        raise InvalidPattern(f"{what}{place}") from None
    if compiled.programsize > MOST_INSTRUCTIONS:
        raise InvalidPattern(f"is too large: at most {MOST_INSTRUCTIONS} instructions are allowed")
    return compiled


def contains(run: ExpressionRun, text: str, part: str) -> bool:
    """whether a part of the text is this"""
    run.write(len(text))
    return part in text


def starts_with(run: ExpressionRun, text: str, start: str) -> bool:
    """whether the text begins with this"""
    return text.startswith(start)


def ends_with(run: ExpressionRun, text: str, end: str) -> bool:
    """whether the text ends with this"""
    return text.endswith(end)


def matches(run: ExpressionRun, text: str, pattern: str) -> bool:
    """whether a part of the text fits a regular expression; ^ and $ are its start and end"""
    try:
        compiled = compile_pattern(pattern)
    except InvalidPattern as error:
        raise EvaluationError(f"matches: {error}") from None
    # RE2 takes about as long as the text is long, for some patterns times their own length.
    run.write(len(text) * (1 + compiled.programsize // 100))
    return compiled.search(text.encode("utf-8", "surrogatepass")) is not None


def split(run: ExpressionRun, text: str, separator: str, most: int = -1) -> list[str]:
    """the parts between separators; at most so many"""
    run.take(len(text))
    if most == 0:
        return []
    if separator:
        return text.split(separator, most - 1 if most > 0 else -1)
    if most < 0 or 1 < most >= len(text):
        return list(text) or [""] * (most > 0)
    return [*text[: most - 1], text[most - 1 :]]


def replace(run: ExpressionRun, text: str, old: str, new: str, most: int = -1) -> str:
    """the text with `new` for every `old`, or for the first ones only"""
    times = text.count(old) if most < 0 else min(text.count(old), most)
    run.write(len(text) + times * len(new))
    return text.replace(old, new, most)


def lower(run: ExpressionRun, text: str) -> str:
    """with small letters for the large ones of A-Z"""
    run.write(len(text))
    return text.translate(_SMALL)


def upper(run: ExpressionRun, text: str) -> str:
    """with large letters for the small ones of a-z"""
    run.write(len(text))
    return text.translate(_LARGE)


def trim(run: ExpressionRun, text: str) -> str:
    """without the blanks at its start and end"""
    run.write(len(text))
    return text.strip(_BLANKS)


def substring(run: ExpressionRun, text: str, start: int, end: int | None = None) -> str:
    """the characters from a place on, up to another one; the first is 0"""
    end = len(text) if end is None else end
    if not 0 <= start <= end <= len(text):
        raise EvaluationError(f"substring: there is no {start} to {end} in a text of {len(text)} characters")
    run.write(end - start)
    return text[start:end]


def char_at(run: ExpressionRun, text: str, place: int) -> str:
    """the character at a place; the first is 0, behind the last there is ''"""
    if not 0 <= place <= len(text):
        raise EvaluationError(f"charAt: there is no {place} in a text of {len(text)} characters")
    return text[place : place + 1]


def index_of(run: ExpressionRun, text: str, part: str, start: int = 0) -> int:
    """where a part is first, from a place on; -1 if nowhere"""
    run.write(len(text))
    if not 0 <= start <= len(text):
        raise EvaluationError(f"indexOf: there is no {start} in a text of {len(text)} characters")
    return text.find(part, start)


def last_index_of(run: ExpressionRun, text: str, part: str, start: int | None = None) -> int:
    """where a part is last, up to a place; -1 if nowhere"""
    run.write(len(text))
    if start is not None and not 0 <= start <= len(text):
        raise EvaluationError(f"lastIndexOf: there is no {start} in a text of {len(text)} characters")
    return text.rfind(part) if start is None else text.rfind(part, 0, start + len(part))
