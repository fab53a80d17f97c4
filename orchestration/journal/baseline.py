"""Baseline of ratchets, from records: what nothing but a report, a person or a commit may loosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .journal import Record

MOST_VALUES = 2000
"""Of the values that differ from the ones known before, a record keeps so many; the next keeps the others."""
_Names = tuple[str, ...]


class RatchetBaseline(NamedTuple):
    """The values to compare with. `head` is the digest of the state in HEAD as it was then, "" for none.

    `head` is None where no record keeps values of the state.
    """

    state: Mapping[_Names, Any] = {}
    parameters: Mapping[str, Any] = {}
    head: str | None = None


def read_baseline(records: Sequence[Record]) -> RatchetBaseline:
    """The values of the newest records; each record keeps only what differs from those before it.

    Elements of a list come in its order, as far as records tell it. Cost: linear in what the records keep.
    """
    state: dict[_Names, Any] = {}
    inserted: dict[_Names, list[_Names]] = {}
    parameters: dict[str, Any] = {}
    head: str | None = None
    for entry in records:
        values: Any = entry["held"]
        for item in values or ():
            if not isinstance(item, dict):
                continue
            path, parameter = item.get("path"), item.get("parameter")
            if isinstance(path, list):
                names = tuple(map(str, path))
                following = (*names[:-1], str(item.get("before")))
                if names not in state and following in state:
                    inserted.setdefault(following, []).append(names)
                state[names] = item.get("value")
            elif isinstance(parameter, str):
                parameters[parameter] = item.get("value")
            elif isinstance(item.get("head"), str):
                head = item["head"]
    return RatchetBaseline(_in_order(state, inserted) if inserted else state, parameters, head)


def _in_order(state: Mapping[_Names, Any], inserted: Mapping[_Names, Sequence[_Names]]) -> dict[_Names, Any]:
    """The values, each behind those that were inserted before it; `inserted` has no circle."""
    moved = {names for several in inserted.values() for names in several}
    ordered: dict[_Names, Any] = {}
    # What is on top comes next: first all that was inserted before it, then itself.
    waiting = [(names, False) for names in reversed([*state]) if names not in moved]
    while waiting:
        names, is_due = waiting.pop()
        if is_due or names not in inserted:
            ordered[names] = state[names]
        else:
            waiting.append((names, True))
            waiting += [(each, False) for each in reversed(inserted[names])]
    return ordered
