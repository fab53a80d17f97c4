"""Permitted changes of the state: what a step's reports may write, and ratchets, which are for everybody.

A ratchet is the way in which anybody may change a value of the state or a parameter; any other loosens it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from .shapes import BOOL, TEXT, TEXTS, Shape, key, list_of, map_of, struct, word

ANY = "any"
"""Beside words that a report may write: every value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChange:
    """The permitted change of one path of the state; the elements of a list are told apart by `by`."""

    set: tuple[str, ...] = key(TEXTS, "set to one of these words; `any` is every value")
    append: str | Mapping[str, tuple[str, ...]] | None = key(
        Shape("either", word(ANY), other=map_of(TEXTS)),
        "new elements behind those that are there: any, or fields with the words that they may have",
    )
    remove: str = key(word("first", ANY), "elements may go: the first, or any")
    update: Mapping[str, tuple[str, ...]] = key(
        map_of(TEXTS), "fields of elements that may change, with their words or `any`"
    )
    increment: bool = key(BOOL, "by one")
    by: str = key(TEXT, "the field that tells elements apart; id without it", "id")


_SHORT = {
    "set": StateChange(set=(ANY,)),
    "append": StateChange(append=ANY),
    "remove": StateChange(remove=ANY),
    "remove-first": StateChange(remove="first"),
    "increment": StateChange(increment=True),
}

PERMITS = map_of(Shape("either", word(*_SHORT), other=struct("change")))
PERMITS_ABOUT = "paths of the state that a report of it may change, and how; a * is any key"


def changes_of(writes: Mapping[str, str | StateChange]) -> dict[tuple[str, ...], StateChange]:
    """The parts of each path that a report may change, to how."""
    found = {path: _SHORT[how] if isinstance(how, str) else how for path, how in writes.items()}
    return {tuple(path.split(".")): how for path, how in found.items()}


# ---- ratchets

ABSENT = "absent"
"""Among the words of an order: no value at all."""
_MOST_KEPT = 2048


def normal_word(word: str) -> str:
    """A word as vocabularies compare it: trimmed, without case, `-`, `_` and blanks alike."""
    return "-".join(word.casefold().replace("-", " ").replace("_", " ").split())


@lru_cache(_MOST_KEPT)
def normal_words(words: tuple[str, ...]) -> frozenset[str]:
    """The words of a vocabulary, each as `normal_word` has it. Definitions have few of them."""
    return frozenset(map(normal_word, words))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratchet:
    """One of `order`, `limit`, `count`, `members` and `constant`; elements of a list are told apart by `by`.

    A number that is both `limit` and `count` is looser with any other value.
    """

    order: tuple[str, ...] = key(
        list_of(TEXT), "its words from the strictest to the loosest; a | b are alike"
    )
    limit: bool = key(BOOL, "a greater number is looser")
    count: bool = key(BOOL, "a smaller number is looser")
    members: bool = key(BOOL, "an element that is gone is looser")
    constant: bool = key(BOOL, "any other value, and none, is looser")
    by: str = key(TEXT, "the field that tells the elements of a list apart; id without it", "id")

    def loosens(self, before: Any, now: Any) -> bool:
        """True if `now` is not at least as strict as `before`; None is no value.

        What follows a word or value that the ratchet does not know is never looser.
        """
        if self.constant:
            return before is not None and not is_same_value(before, now)
        if self.members:
            return before is not None and now is None
        if self.order:
            rank = self._rank(before)
            following = self._rank(now)
            return rank is not None and (following is None or following > rank)
        if not _is_number(before):
            return False
        return not _is_number(now) or (self.limit and now > before) or (self.count and now < before)

    @property
    def ranks_absence(self) -> bool:
        """True if no value is as strict as some word."""
        return self._rank(None) is not None

    def _rank(self, value: Any) -> int | None:
        word = ABSENT if value is None else value if isinstance(value, str) else json.dumps(value)
        normal = normal_word(word)
        for rank, entry in enumerate(self.order):
            if normal in map(normal_word, entry.split("|")):
                return rank
        return None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


SHORT: Mapping[str, Ratchet] = {
    "limit": Ratchet(limit=True),
    "count": Ratchet(count=True),
    "members": Ratchet(members=True),
    "constant": Ratchet(constant=True),
}
RATCHET = Shape("either", word(*SHORT), other=struct("ratchet"))
RATCHETS = map_of(RATCHET)


def is_same_value(one: Any, other: Any) -> bool:
    """True if two values of JSON are the same; to Python true is 1."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def ratchet_of(said: str | Ratchet) -> Ratchet:
    """A ratchet, as itself or by its short name."""
    return SHORT[said] if isinstance(said, str) else said


@lru_cache(_MOST_KEPT)
def parts_of(declared: str) -> tuple[str, ...]:
    """The parts of a declared path; "[]" is each element of a list, "*" each value of a map."""
    return tuple(declared.replace("[]", ".[]").split("."))


def fits(parts: Sequence[str], path: Sequence[str]) -> bool:
    """True if a path of names is one that declared parts stand for."""
    pairs = zip(parts, path, strict=False)
    return len(parts) == len(path) and all(part in ("[]", "*", name) for part, name in pairs)
