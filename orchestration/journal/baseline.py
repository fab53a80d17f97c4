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
    """The values of the newest records; each record keeps only what differs from those before it."""
    state: dict[_Names, Any] = {}
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
                known = (*names[:-1], str(item.get("before")))
                state = _insert(state, known, names, item.get("value"))
            elif isinstance(parameter, str):
                parameters[parameter] = item.get("value")
            elif isinstance(item.get("head"), str):
                head = item["head"]
    return RatchetBaseline(state, parameters, head)


def _insert(state: dict[_Names, Any], before: _Names, names: _Names, value: Any) -> dict[_Names, Any]:
    """Set a value: a new one before the element that it stands before in its list, else at the end."""
    if names in state or before not in state:
        state[names] = value
        return state
    entries = [*state.items()]
    entries.insert([*state].index(before), (names, value))
    return dict(entries)
