"""Regular expressions whose time is linear in the text: an automaton that is simulated, without backtracking.

The syntax is RE2's as far as guards need it: characters, `.`, classes, `\\d \\w \\s` and their denials,
groups, `|`, `* + ? {m,n}`, `^ $`, and `(?i)` at the start. Python's `re` backtracks: `(a+)+$` can take
minutes there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

# The longest pattern, its deepest groups, and the most states once `{m,n}` is written out.
MOST_PATTERN, MOST_GROUPS, MOST_STATES = 1000, 20, 1000
# So many steps of a pattern are remembered; a hostile text must not fill the memory.
MOST_REMEMBERED = 2000

_Accepts = Callable[[str], bool]
_CLASSES: dict[str, _Accepts] = {
    "d": "0123456789".__contains__,
    "w": lambda c: c == "_" or (c.isascii() and c.isalnum()),
    "s": "\t\n\f\r ".__contains__,
}
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "a": "\a"}
_TIMES = re.compile(r"\{(\d{1,4})(?:(,)(\d{0,4}))?\}")


class InvalidPattern(ValueError):  # noqa: N818 - said to people as it is
    """A pattern that is none, or that needs what these do not have; the text says what and where."""


class _Parser:
    """Reads a pattern into a tree of tuples, their kind first."""

    def __init__(self, pattern: str):
        if len(pattern) > MOST_PATTERN:
            raise InvalidPattern(f"has {len(pattern)} characters, at most {MOST_PATTERN} are allowed")
        self.pattern = pattern
        self.folds = pattern.startswith("(?i)")
        self.at = 4 * self.folds
        self.groups = 0

    def whole(self) -> tuple[Any, ...]:
        tree = self.alternatives()
        if self.at < len(self.pattern):
            raise self.wrong("nothing opens this )")
        return tree

    def wrong(self, message: str) -> InvalidPattern:
        return InvalidPattern(f"{message} (at its character {self.at + 1})")

    def peek(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def next(self) -> str:
        if self.at == len(self.pattern):
            raise self.wrong("the pattern ends too early")
        self.at += 1
        return self.pattern[self.at - 1]

    def alternatives(self) -> tuple[Any, ...]:
        parts = [self.sequence()]
        while self.peek() == "|":
            self.at += 1
            parts.append(self.sequence())
        return ("any of", parts) if len(parts) > 1 else parts[0]

    def sequence(self) -> tuple[Any, ...]:
        parts: list[tuple[Any, ...]] = []
        while self.peek() not in ("", "|", ")"):
            part = self.one()
            while self.peek() in ("*", "+", "?", "{"):
                part = ("repeat", part, *self.times())
                if self.peek() == "?":
                    self.at += 1
            parts.append(part)
        return ("sequence", parts)

    def times(self) -> tuple[int, int | None]:
        """How often the part before is repeated: (least, most); None is any number."""
        if match := _TIMES.match(self.pattern, self.at):
            self.at = match.end()
            least = int(match[1])
            most = least if not match[2] else int(match[3]) if match[3] else None
            if most is not None and most < least:
                raise self.wrong("the first number is larger than the second")
            return least, most
        sign = self.next()
        if sign == "{":
            raise self.wrong("numbers are expected, as in {2,3}; a brace is written \\{")
        return (1 if sign == "+" else 0), (1 if sign == "?" else None)

    def one(self) -> tuple[Any, ...]:
        sign = self.next()
        if sign == "(":
            return self.group()
        if sign == "[":
            return ("take", self.folded(self.character_class()))
        if sign in "^$":
            return ("assert", sign)
        if sign in "*+?{":
            raise self.wrong(f"there is nothing before this {sign} to repeat")
        if sign == ".":
            return ("take", lambda c: c != "\n")
        accepts = self.escaped() if sign == "\\" else sign
        return ("take", self.folded(accepts.__eq__ if isinstance(accepts, str) else accepts))

    def group(self) -> tuple[Any, ...]:
        self.groups += 1
        if self.groups > MOST_GROUPS:
            raise self.wrong(f"groups are nested too deep, at most {MOST_GROUPS} levels are allowed")
        if self.peek() == "?" and self.pattern[self.at : self.at + 2] != "?:":
            raise self.wrong("of groups with ? there is (?:..), and (?i) at the start")
        self.at += 2 * (self.peek() == "?")
        inner = self.alternatives()
        self.next()
        self.groups -= 1
        return inner

    def escaped(self) -> str | _Accepts:
        """A character, or what accepts one of a class."""
        name = self.next()
        if name in _CLASSES:
            return _CLASSES[name]
        if name.lower() in _CLASSES:
            inner = _CLASSES[name.lower()]
            return lambda c: not inner(c)
        if name in _ESCAPED or not name.isalnum():
            return _ESCAPED.get(name, name)
        raise self.wrong(f"\\{name} is not known here")

    def character_class(self) -> _Accepts:
        denied = self.peek() == "^"
        self.at += denied
        tests: list[_Accepts] = []
        singles = ""
        while self.peek() != "]" or not (tests or singles):
            low = self.next()
            low = self.escaped() if low == "\\" else low
            if not isinstance(low, str):
                tests.append(low)
            elif self.peek() == "-" and self.pattern[self.at + 1 : self.at + 2] != "]":
                self.at += 1
                tests.append(self.range_from(low))
            else:
                singles += low
        self.at += 1
        accepts: _Accepts = lambda c: c in singles or any(test(c) for test in tests)  # noqa: E731
        return (lambda c: not accepts(c)) if denied else accepts

    def range_from(self, low: str) -> _Accepts:
        high = self.next()
        high = self.escaped() if high == "\\" else high
        if not isinstance(high, str) or high < low:
            raise self.wrong("this range of characters has no end behind its start")
        return lambda c: low <= c <= high

    def folded(self, accepts: _Accepts) -> _Accepts:
        return (lambda c: accepts(c.lower()) or accepts(c.upper())) if self.folds else accepts


class Pattern:
    """The automaton of a pattern. State n takes a character that `tests[n]` accepts, or is passed without:
    at the start ("^") or the end ("$") of the text only, or anywhere (""); then come the states
    `following[n]`.
    """

    def __init__(self, pattern: str):
        tree = _Parser(pattern).whole()
        self.tests: list[_Accepts | str] = []
        self.following: list[list[int]] = []
        self.final = self._state("", [])
        self.first = self._build(tree, self.final)
        self._steps: dict[tuple[frozenset[int], str], frozenset[int]] = {}

    def _state(self, test: _Accepts | str, following: list[int]) -> int:
        if len(self.tests) >= MOST_STATES:
            raise InvalidPattern(f"the pattern is too large, at most {MOST_STATES} states are allowed")
        self.tests.append(test)
        self.following.append(following)
        return len(self.tests) - 1

    def _build(self, node: tuple[Any, ...], target: int) -> int:
        """The first of the states for a part of the pattern, behind which `target` comes."""
        kind, of, *times = node
        if kind in ("take", "assert"):
            return self._state(of, [target])
        if kind == "any of":
            return self._state("", [self._build(part, target) for part in of])
        if kind == "sequence":
            for part in reversed(of):
                target = self._build(part, target)
            return target
        least, most = times
        if most is None:
            start = self._state("", [target])
            self.following[start].insert(0, self._build(of, start))
        else:
            start = target
            for _ in range(most - least):
                start = self._state("", [self._build(of, start), target])
        for _ in range(least):
            start = self._build(of, start)
        return start

    def found_in(self, text: str, charge: Callable[[int], None]) -> bool:
        """Whether some part of the text matches. `charge` is told of the work before it is done."""
        charge(len(text))
        states = self._closed({self.first}, "^" if text else "^$")
        for character in text[:-1]:
            if self.final in states:
                return True
            after = self._steps.get((states, character))
            if after is None:
                charge(len(self.tests))
                if len(self._steps) >= MOST_REMEMBERED:
                    self._steps.clear()
                after = self._steps[states, character] = self._closed(self._after(states, character), "")
            states = after
        if text and self.final not in states:
            states = self._closed(self._after(states, text[-1]), "$")
        return self.final in states

    def _after(self, states: frozenset[int], character: str) -> set[int]:
        """The states behind one more character; a match may also begin there."""
        stepped = {self.first}
        for state in states:
            test = self.tests[state]
            if not isinstance(test, str) and test(character):
                stepped.update(self.following[state])
        return stepped

    def _closed(self, states: set[int], edges: str) -> frozenset[int]:
        """The states, and all that are reached from them without a character."""
        waiting = list(states)
        while waiting:
            state = waiting.pop()
            test = self.tests[state]
            if isinstance(test, str) and test in edges:
                fresh = [target for target in self.following[state] if target not in states]
                states.update(fresh)
                waiting += fresh
        return frozenset(states)


@lru_cache(maxsize=200)
def compile_pattern(pattern: str) -> Pattern:
    """The automaton of a pattern. Raises InvalidPattern."""
    return Pattern(pattern)
