"""The functions that expressions may call. Whatever raises in one becomes an error value.

Those that look at a run take the evaluation that asks first; methods of lists take the list.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, Protocol

from ..graphs import circles
from .queries import Index, Tasks, dig, matcher

# The most items that an expression may see at once: CEL's filter and map are quadratic in their result.
MOST_ITEMS = 500


class Evaluation(Protocol):
    """What functions need of the evaluation that calls them."""

    records: Index
    tasks: Tasks

    def fact(self, name: str) -> object: ...

    def members(self, name: str) -> Sequence[Mapping[str, object]]: ...

    def keep(self, tasks: list) -> dict[str, int]: ...

    def kept(self, name: str) -> object: ...

    def touch(self, records: list) -> list: ...


def few(items: list, name: str) -> list:
    """The items, if they are few enough to be looked at. Raises ValueError: a silent cut would hide work."""
    if len(items) > MOST_ITEMS:
        raise ValueError(
            f"{name} has {len(items)} items, at most {MOST_ITEMS} can be looked at one by one; "
            "size() and == [] work for any number"
        )
    return items


def said(value: object) -> str:
    """A value as people read it: true, false and null as CEL writes them, lists and maps as JSON."""
    if value is None or isinstance(value, (bool, list, dict)):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


# ---- methods of lists -------------------------------------------------------------------------


def _where(items: list, pattern: object) -> list:
    return list(filter(matcher(pattern), items))


def _after(items: list, pattern: object) -> list:
    fits = matcher(pattern)
    last = next((position for position in range(len(items) - 1, -1, -1) if fits(items[position])), -1)
    return items[last + 1 :]


def _newest(items: list) -> object:
    return items[-1] if items else {}


def _keep(items: list, most: int) -> list:
    return items[-most:] if most > 0 else []


def _by(items: list, path: str) -> list:
    return sorted(items, key=lambda item: _rank(dig(item, path) if path else item))


def _rank(value: object) -> tuple[int, float, str]:
    """A sort key: absent first, then numbers, then moments (whatever their zone and precision), then text."""
    if value is None:
        return 0, 0.0, ""
    if isinstance(value, (int, float)):
        return 1, float(value), ""
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        return 3, 0.0, str(value)
    return 2, (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp(), ""


def _minus(items: list, others: list) -> list:
    gone = set(map(str, others))
    return [item for item in items if str(item) not in gone]


def _reversed(items: list) -> list:
    return items[::-1]


def _joined(items: list, separator: str) -> str:
    return separator.join(map(said, items))


def _circles(items: list, name: str, needs: str) -> list:
    """Items that need each other in a circle, as "A -> B -> A"; `name` and `needs` are their fields."""
    maps = [item for item in items if isinstance(item, dict) and name in item]
    edges = {
        str(item[name]): list(map(str, item[needs])) if isinstance(item.get(needs), list) else []
        for item in maps
    }
    return [" -> ".join([*group, group[0]]) for group in circles(edges)]


# ---- records ----------------------------------------------------------------------------------


def _picked(run: Evaluation, pattern: dict) -> list:
    return run.touch(run.records.pick(pattern))


def _picked_since(run: Evaluation, mark: dict, pattern: dict) -> list:
    return run.touch(run.records.since(mark, pattern))


def _records(run: Evaluation, pattern: dict) -> list:
    return few(_picked(run, pattern), "records(..)")


def _records_since(run: Evaluation, mark: dict, pattern: dict) -> list:
    return few(_picked_since(run, mark, pattern), "records_since(..)")


def newest_record(run: Evaluation, pattern: dict) -> object:
    """The newest record that fits, the empty one where none does."""
    found = run.touch(run.records.pick(pattern)[-1:])
    return found[0] if found else run.records.empty


def _count(run: Evaluation, pattern: dict) -> int:
    return len(_picked(run, pattern))


def _count_since(run: Evaluation, mark: dict, pattern: dict) -> int:
    return len(_picked_since(run, mark, pattern))


# ---- tasks ------------------------------------------------------------------------------------


def _tasks(run: Evaluation, pattern: dict) -> list:
    return run.tasks.pick(pattern)


def _unreported(run: Evaluation, pattern: dict, reports: dict) -> list:
    return _without(run.tasks.pick(pattern), run.records.pick(reports))


def _unreported_since(run: Evaluation, mark: dict, pattern: dict, reports: dict) -> list:
    return _without(run.tasks.pick(pattern), run.records.since(mark, reports))


def _without(tasks: list, records: list) -> list:
    named = {record["task"] for record in records}.union(*(record["tasks"] for record in records))
    return [task for task in tasks if task["id"] not in named]


def _stage_ids(run: Evaluation, pattern: dict) -> list:
    fits = matcher(pattern)
    return [stage["id"] for stage in run.tasks.stages if fits(stage)]


def _verdicts(run: Evaluation, pattern: dict, outcomes: list) -> list:
    """The stages whose newest matching record has one of the outcomes (any, where none is given)."""
    newest = {record["stage"]: record for record in _picked(run, pattern) if record["stage"]}
    return [stage for stage, record in newest.items() if not outcomes or record["outcome"] in outcomes]


def _open_stage(run: Evaluation, reopened: list, skipped: list) -> object:
    return run.tasks.open_stage(frozenset(map(str, reopened)), frozenset(map(str, skipped)))


# ---- tables -----------------------------------------------------------------------------------


class Call(NamedTuple):
    """A function, the kinds of what it takes (a method's list left out), and the kind of what it gives."""

    run: Callable[..., Any]
    gives: str
    takes: tuple[str, ...]


# Methods of lists. A pattern is a map, or the item itself where the items are text.
METHODS = {
    "where": Call(_where, "items", ("pattern",)),
    "after": Call(_after, "items", ("pattern",)),
    "newest": Call(_newest, "any", ()),
    "keep": Call(_keep, "items", ("int",)),
    "by": Call(_by, "items", ("text",)),
    "reversed": Call(_reversed, "items", ()),
    "joined": Call(_joined, "text", ("text",)),
    "minus": Call(_minus, "items", ("items",)),
    "circles": Call(_circles, "items", ("text", "text")),
}
# Functions that look at the run.
QUERIES = {
    "records": Call(_records, "items", ("fields",)),
    "records_since": Call(_records_since, "items", ("fields", "fields")),
    "newest": Call(newest_record, "fields", ("fields",)),
    "count": Call(_count, "int", ("fields",)),
    "count_since": Call(_count_since, "int", ("fields", "fields")),
    "open_stage": Call(_open_stage, "fields", ("items", "items")),
    "stage_ids": Call(_stage_ids, "items", ("fields",)),
    "verdicts": Call(_verdicts, "items", ("fields", "items")),
}
# Functions that give tasks: there may be many, so that often only their number is wanted, or a handle.
TASK_SETS = {
    "tasks": Call(_tasks, "items", ("fields",)),
    "unreported": Call(_unreported, "items", ("fields", "fields")),
    "unreported_since": Call(_unreported_since, "items", ("fields", "fields", "fields")),
}
FUNCTION_NAMES = tuple(dict.fromkeys([*METHODS, *QUERIES, *TASK_SETS]))


def elements(run: Evaluation, tasks: list, name: str) -> list:
    """Tasks as expressions see them: few, and with what their own files say. Raises ValueError."""
    return run.tasks.whole(few(tasks, name))
