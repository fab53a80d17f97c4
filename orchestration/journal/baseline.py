"""Baseline of ratchets, from records: what nothing but a report, a person or a commit may loosen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    order: _Order | None = None
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
                if "before" in item:
                    order = order or _Order(state)
                if order:
                    order.put(names, (*names[:-1], str(item["before"])) if "before" in item else None)
                state[names] = item.get("value")
            elif isinstance(parameter, str):
                parameters[parameter] = item.get("value")
            elif isinstance(item.get("head"), str):
                head = item["head"]
    if order:
        state = {names: state[names] for names in order.names()}
    return RatchetBaseline(state, parameters, head)


class _Order:
    """A linked list of names: one is put at its end, or before another, in constant time."""

    def __init__(self, first: Iterable[_Names]) -> None:
        self._behind: dict[_Names, _Names] = {_END: _END}
        self._ahead: dict[_Names, _Names] = {_END: _END}
        for names in first:
            self.put(names, None)

    def put(self, names: _Names, before: _Names | None) -> None:
        """Put a name before another one, one that is known already too; at the end where there is none."""
        is_known = names in self._behind
        if before == names or before not in self._behind:
            before = None
        if is_known and before is None:
            return
        if is_known:
            self._join(self._ahead[names], self._behind[names])
        following = before or _END
        self._join(self._ahead[following], names)
        self._join(names, following)

    def names(self) -> Iterator[_Names]:
        """The names in their order."""
        names = self._behind[_END]
        while names != _END:
            yield names
            names = self._behind[names]

    def _join(self, ahead: _Names, behind: _Names) -> None:
        self._behind[ahead], self._ahead[behind] = behind, ahead


_END: _Names = ()
"""What is before the first and behind the last of an order; a path has a name at least."""
