"""Large collections that guards select from: journal records and the tasks of a plan.

Selecting happens here, through an index per set of keys, so that only what was selected is ever
converted for an expression. A pattern is a map from field to value; a list as value stands for any
of its members, and true is not 1.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, product
from math import prod
from operator import contains, is_

Pattern = Mapping[str, object]


def key_of(value: object) -> object:
    """The value as a key that is equal for equal values only: in Python True and 1 are one key."""
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return "number", value
    return type(value).__name__, str(value)


def choices(value: object) -> dict[object, None]:
    """The keys that a pattern's value stands for, in order, each once."""
    return dict.fromkeys(map(key_of, value if isinstance(value, list) else [value]))


def matcher(pattern: object) -> Callable[[object], bool]:
    """The test of items by a pattern; one that is no map is the item itself."""
    if not isinstance(pattern, dict):
        wanted = key_of(pattern)
        return lambda item: key_of(item) == wanted
    fields = [(name, choices(value)) for name, value in pattern.items()]
    return lambda item: (
        isinstance(item, dict) and all(name in item and key_of(item[name]) in keys for name, keys in fields)
    )


class Tables:
    """Items (maps with the same keys), and by sets of keys where those with the same values stand."""

    def __init__(self, items: Sequence[Mapping[str, object]]):
        self.items = [*items]
        self._tables: dict[tuple[str, ...], dict[tuple, list[int]]] = {}

    def positions(self, pattern: Pattern) -> list[int]:
        """Where the matching items stand."""
        names = tuple(pattern)
        table = self._tables.get(names)
        if table is None:
            table = self._tables[names] = {}
            for position, keys in enumerate(_keys(self.items, names)):
                table.setdefault(keys, []).append(position)
        values = tuple(pattern.values())
        if all(type(value) is str for value in values):
            return table.get(values, [])
        wanted = [(value,) if type(value) is str else choices(value) for value in values]
        # Never more work than the table is long.
        if prod(map(len, wanted)) > len(table):
            keys = [key for key in table if all(map(contains, wanted, key))]
        else:
            keys = [key for key in product(*wanted) if key in table]
        return sorted(chain.from_iterable(map(table.__getitem__, keys))) if len(keys) != 1 else table[keys[0]]

    def add(self, item: Mapping[str, object]) -> None:
        """One more item behind the others; the tables made so far grow with it."""
        for names, table in self._tables.items():
            table.setdefault(next(_keys([item], names)), []).append(len(self.items))
        self.items.append(item)


class Index:
    """Items to be picked by a pattern. Results keep the order of the items.

    `empty` is what stands for an item where none matches. An index may be the beginning of a longer one: both
    look into the same tables, and this one does not see what was put behind it.
    """

    def __init__(self, items: Sequence[Mapping[str, object]], empty: Mapping[str, object] | None = None):
        self.empty = empty or {}
        self._tables, self._size = Tables(items), len(items)

    @classmethod
    def after(cls, items: Sequence[Mapping[str, object]], before: Index) -> Index:
        """The index of some items, in the tables of the one `before` as far as both begin the same."""
        start = cls((), before.empty)
        start._tables = before._tables
        now = start.with_items(items)
        return before if (now._tables, now._size) == (before._tables, before._size) else now

    @property
    def items(self) -> Sequence[Mapping[str, object]]:
        items = self._tables.items
        return items if len(items) == self._size else items[: self._size]

    def with_items(self, added: Sequence[Mapping[str, object]]) -> Index:
        """The index with more items behind its own; in tables of its own where others are known there."""
        size, longer = self._size, Index((), self.empty)
        known = self._tables.items[size : size + len(added)]
        if all(map(is_, known, added)):
            longer._tables = self._tables
            for item in added[len(known) :]:
                longer._tables.add(item)
        else:
            longer._tables = Tables([*self.items, *added])
        longer._size = size + len(added)
        return longer

    def positions(self, pattern: Pattern) -> list[int]:
        """Where the matching items stand."""
        if not pattern:
            return list(range(self._size))
        found = self._tables.positions(pattern)
        is_whole = not found or found[-1] < self._size
        return found if is_whole else found[: bisect_left(found, self._size)]

    def pick(self, pattern: Pattern) -> list:
        """The items that match, in order."""
        items = self._tables.items
        return [items[position] for position in self.positions(pattern)]

    def since(self, mark: Pattern, pattern: Pattern) -> list:
        """Items that match `pattern` and stand behind the newest match of `mark` (all, if none matches)."""
        marks = self.positions(mark)
        last = marks[-1] if marks else -1
        items = self._tables.items
        return [items[position] for position in self.positions(pattern) if position > last]


class PartitionedIndex:
    """An index of the items of several, in their order; each of them may be part of others, too."""

    def __init__(self, parts: Sequence[Index]):
        self.parts = parts

    @property
    def items(self) -> list[Mapping[str, object]]:
        return [*chain.from_iterable(part.items for part in self.parts)]

    def pick(self, pattern: Pattern) -> list:
        """The items that match, in order."""
        return [*chain.from_iterable(part.pick(pattern) for part in self.parts)]


def _keys(items: Sequence[Mapping[str, object]], names: tuple[str, ...]) -> Iterator[tuple]:
    """The keys of each item at some names: one column of values after the other, for most are text."""
    columns = ([item.get(name) for item in items] for name in names)
    return zip(*([v if type(v) is str else key_of(v) for v in column] for column in columns), strict=True)


class Tasks:
    """The tasks of a run's plan, with its stages.

    `index` holds what the plan itself says and lives as long as the parsed plan; `by_stage` has the same by
    stages, in order, which live as long as their rows stay as they are. `stage_of` tells the stage of an id,
    where no two tasks share one. What a task's own file adds (`details`, a function from the task's item) is
    read only for the tasks that are looked at, or for all when a pattern names such a field.
    """

    DETAILS = (
        "depends_on", "parallel_with", "files", "deletes", "empty", "requires_ux_dx_review", "unticked",
        "ticked",
    )  # fmt: skip

    def __init__(
        self,
        index: Index | PartitionedIndex | None = None,
        stages: Sequence[Mapping[str, object]] = (),
        details: Callable[[Mapping[str, object]], Mapping[str, object]] = dict,
        by_stage: Mapping[str, Index | PartitionedIndex] | None = None,
        stage_of: Callable[[str], str | None] | None = None,
    ):
        self.index = index or Index(())
        self.stages = stages
        self._by_stage = by_stage or {}
        self._stage_of = stage_of
        self._details = details
        self._whole: Index | None = None

    def pick(self, pattern: Pattern) -> list:
        """The tasks that match, in the order of the plan."""
        if not pattern.keys() & set(self.DETAILS):
            stages = self._stages_of(pattern)
            if stages is None:
                return self.index.pick(pattern)
            return [item for stage in stages for item in self._by_stage[stage].pick(pattern)]
        if self._whole is None:
            self._whole = Index(self.whole(self.index.items))
        return self._whole.pick(pattern)

    def _stages_of(self, pattern: Pattern) -> list[str] | None:
        """The stages that alone can hold what matches, in order; None where any may."""
        stage, name = pattern.get("stage"), pattern.get("id")
        if not self._by_stage:
            return None
        if isinstance(stage, str):
            return [stage] if stage in self._by_stage else []
        if name is None or self._stage_of is None:
            return None
        names = name if isinstance(name, list) else [name]
        wanted = {self._stage_of(each) for each in names if isinstance(each, str)}
        return [stage for stage in self._by_stage if stage in wanted]

    def whole(self, items: Iterable[Mapping[str, object]]) -> list[dict[str, object]]:
        """The items with the fields that their own files hold."""
        return [{**item, **self._details(item)} for item in items]

    def open_stage(self, reopened: frozenset[str], skipped: frozenset[str]) -> Mapping[str, object]:
        """The first stage with an open task or in `reopened`, unless in `skipped`; {} if there is none."""
        for stage in self.stages:
            unfinished = stage["done"] != stage["total"] or stage["id"] in reopened
            if unfinished and stage["id"] not in skipped:
                return stage
        return {}


def dig(value: object, path: str) -> object:
    """The value at a dotted path, None where there is none."""
    for key in path.split("."):
        if not isinstance(value, dict) or key not in value:
            return None
        value = value[key]
    return value
