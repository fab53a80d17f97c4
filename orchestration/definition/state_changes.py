"""Permitted changes of the state: the grammar and model of what a step's reports may write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .shapes import BOOL, TEXT, TEXTS, Shape, key, map_of, struct, word

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
