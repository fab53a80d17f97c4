"""The dialect of Task Master's tasks.json: tags, each with tasks and their subtasks.

A tag is one plan. Subtask 2 of task 5 is 5.2; a dependency without a dot means a subtask beside it, else a
task. Who has open subtasks waits for them. The order is that of its `next` (find-next-task.js, April 2026).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import cache, cached_property, lru_cache
from itertools import chain, repeat
from operator import attrgetter, is_
from types import MappingProxyType
from typing import Any, NamedTuple

from ...findings import Problem
from ...formats.json_edits import set_values
from ...formats.json_lists import ListText
from ...suggestions import nearest
from ...vfs.files import natural
from ..model import Dialect, MarkStatus, Plan, PlanEdit
from ..numbering import FreeIds
from .located_json import LineIndex, LocatedObject, located_elements, located_object
from .tags import FIRST_TAG, fault, find_tag, read_text, tags
from .task_records import OPEN, TaskRecord, move_down, plan_of_records

STATUSES: Mapping[str, MarkStatus] = MappingProxyType({
    "pending": MarkStatus.TODO, "in-progress": MarkStatus.IN_PROGRESS, "done": MarkStatus.DONE,
    "completed": MarkStatus.DONE, "cancelled": MarkStatus.CANCELLED, "review": MarkStatus.BLOCKED,
    "deferred": MarkStatus.BLOCKED, "blocked": MarkStatus.BLOCKED,
})  # fmt: skip
"""Its words; what is `review`, `deferred` or `blocked` waits for somebody."""
_PRIORITIES = {"critical": 0, "high": 1, "medium": 2, "low": 3}
_MOST_NESTED = 8
_LOCATED = ("id", "status", "dependencies", "subtasks")
_MOST_NAMED = 8
_CANCELLED = "task-master next passes over it, and its core takes that as met"


# ---- tasks


class _Item(NamedTuple):
    """A task or subtask, its id with those above it, and the path to its object."""

    id: str
    object: LocatedObject
    path: tuple[str | int, ...]
    above: _Item | None
    is_named: bool


class _Block(NamedTuple):
    """A task with its parts, as they are read from the list, and what is told from it alone. All places are
    counted from its first line: a task that moves down stays as it is.

    `turns` has the turn of each item, `records` are those of the items once the whole list was seen.
    """

    items: tuple[_Item, ...] = ()
    turns: tuple[Any, ...] = ()
    problems: tuple[Problem, ...] = ()
    records: tuple[TaskRecord, ...] = ()


_NO_BLOCK = _Block()


class _ReadTasks(NamedTuple):
    """A list of tasks as it was read, by which a like text is read; `known` are the ids of its items, and
    `is_unique` says that each is that of one."""

    tasks: ListText
    blocks: Sequence[_Block]
    known: Set[str]
    is_unique: bool


_READ = "read"
"""Under this word a plan keeps what was read."""
_RECORDS, _PROBLEMS, _ITEMS = attrgetter("records"), attrgetter("problems"), attrgetter("items")


def read_tag(text: str, unit: str, before: Plan | None = None) -> Plan | None:
    """The plan of one tag; None where it holds no list of tasks.

    A task that stood in the text `before`, by its number, is not read again.
    """
    tag = find_tag(text, unit)
    if tag is None or tag.tasks is None:
        return None
    tasks = tag.tasks
    read = _read_tasks(text, tasks, before.memory.get(_READ) if before else None)
    blocks = read.blocks
    records = [*chain.from_iterable(map(_RECORDS, blocks))]
    each_is_one = {*map(len, map(_RECORDS, blocks))} == {1}
    counts = zip(map(_RECORDS, blocks), tasks.lines, strict=True)
    lines = tasks.lines if each_is_one else [line for found, line in counts for _ in found]
    faulty = (number for number, found in enumerate(map(_PROBLEMS, blocks)) if found)
    problems = [
        *read_text(text).document.problems,
        *(move_down(each, tasks.lines[number]) for number in faulty for each in blocks[number].problems),
    ]
    span = LineIndex(text, *tasks.key, text.count("\n", 0, tasks.key[0])).span(*tasks.key)
    plan = plan_of_records(
        records, span, problems, "task-master next passes over it", _CANCELLED,
        mend=_Mending(blocks, records).replacements, before=before, lines=lines,
    )  # fmt: skip
    return replace(plan, memory=plan.memory | {_READ: read})


def _read_tasks(text: str, tasks: ListText, last: _ReadTasks | None) -> _ReadTasks:
    """The tasks of a list with their records.

    A record is told from its block, the ids that there are and its rank. With the same ids and turns as
    before, those of a block that is the same are the same where each id is that of one task.
    """
    changed = _changed_numbers(tasks, last.tasks) if last else range(len(tasks.values))
    blocks = _blocks(text, tasks, last.blocks if last else (), changed)
    if last and last.is_unique and len(blocks) == len(last.blocks) and _is_like(blocks, last.blocks, changed):
        ranks = {record.id: record.rank for number in changed for record in last.blocks[number].records}
        parts = _parts(item for number in changed for item in blocks[number].items)
        for number in changed:
            blocks[number] = _add_records(blocks[number], last.known, parts, ranks)
        return _ReadTasks(tasks, blocks, last.known, is_unique=True)
    items = [*chain.from_iterable(map(_ITEMS, blocks))]
    known = {item.id for item in items}
    turns = [(turn, item.id) for block in blocks for turn, item in zip(block.turns, block.items, strict=True)]
    turns.sort(key=lambda each: each[0])
    ranks = {name: number for number, (_, name) in enumerate(turns)}
    parts = _parts(items)
    blocks = [_add_records(block, known, parts, ranks) for block in blocks]
    return _ReadTasks(tasks, blocks, known, len(known) == len(items))


def _changed_numbers(tasks: ListText, last: ListText) -> Sequence[int]:
    """The numbers of the tasks that are not as those of these numbers were, in their text and its column."""
    is_same = [*map(is_, tasks.values, last.values)]
    numbers = {number for number, same in enumerate(is_same) if not same}
    if {*map(type, tasks.values)} != {dict}:
        # A word or number may be the same object, however it was written.
        numbers |= {number for number, value in enumerate(tasks.values) if type(value) is not dict}
    if tasks.columns != last.columns:
        pairs = enumerate(zip(tasks.columns, last.columns, strict=False))
        numbers |= {number for number, (one, other) in pairs if one != other}
    return sorted(numbers | {*range(len(is_same), len(tasks.values))})


def _is_like(blocks: Sequence[_Block], last: Sequence[_Block], changed: Iterable[int]) -> bool:
    """True if the items of changed blocks have the ids and turns that they had."""
    return all(
        [item.id for item in blocks[number].items] == [item.id for item in last[number].items]
        and blocks[number].turns == last[number].turns
        for number in changed
    )


def _blocks(text: str, tasks: ListText, last: Sequence[_Block], changed: Collection[int]) -> list[_Block]:
    """A block for each task; those that are not `changed` are the `last` ones. Nulls are no tasks."""
    found = [*last[: len(tasks.values)], *repeat(_NO_BLOCK, len(tasks.values) - len(last))]
    lines = None if last else LineIndex(text)
    for number in changed:
        value, (start, end) = tasks.values[number], tasks.places[number]
        own = lines.below(tasks.lines[number]) if lines else LineIndex(text, start, end)
        item = located_object(text, (start, end), value, own, _LOCATED)
        items = tuple(_items(text, item, number, own, tasks.path, None)) if value is not None else ()
        turns = tuple(map(_turn, items))
        problems = tuple(each for item in items for each in _item_problems(item))
        found[number] = _Block(items, turns, problems)
    return found


def _parts(items: Iterable[_Item]) -> Mapping[str, Sequence[_Item]]:
    """The parts of each task that has some."""
    parts: dict[str, list[_Item]] = {}
    for item in items:
        if item.above:
            parts.setdefault(item.above.id, []).append(item)
    return parts


def _add_records(
    block: _Block, known: Set[str], parts: Mapping[str, Sequence[_Item]], ranks: Mapping[str, int]
) -> _Block:
    records = tuple(_record(item, known, parts, ranks[item.id]) for item in block.items)
    return block._replace(records=records)


class _Mending:
    """What may take the place of a mistake; the tasks are looked through when there is one."""

    def __init__(self, blocks: Sequence[_Block], records: Sequence[TaskRecord]) -> None:
        self._blocks, self._records = blocks, records

    @cached_property
    def _items(self) -> Sequence[_Item]:
        return [*chain.from_iterable(map(_ITEMS, self._blocks))]

    @cached_property
    def _own(self) -> Mapping[int, _Item]:
        """The item of each record, by its id()."""
        return {id(record): item for record, item in zip(self._records, self._items, strict=True)}

    @cached_property
    def _ids(self) -> FreeIds:
        return FreeIds([each.id for each in self._items])

    @cached_property
    def _parts(self) -> Mapping[str, Sequence[_Item]]:
        return _parts(self._items)

    def replacements(self, code: str, record: TaskRecord) -> Sequence[tuple[str, str]]:
        """(title, text) of what mends a finding about a task."""
        if code == "duplicate-task":
            return _next_id(self._own[id(record)], self._ids)
        return _status_of_parts(record, self._parts[record.id]) if code == "status-drift" else ()


def _next_id(item: _Item, ids: FreeIds) -> Sequence[tuple[str, str]]:
    """The next free id, as a number or a text as it was; none for a task without an id."""
    beside = f"{item.above.id}." if item.above else ""
    free = ids.behind(item.id) if item.is_named else ""
    said = item.object.get("id")
    short = free.removeprefix(beside) if isinstance(said, (int, float)) or "." not in str(said) else free
    text = short if isinstance(said, (int, float)) else f'"{short}"'
    return ((f"Give this task the next free id, {short}", text),) if short else ()


def _status_of_parts(record: TaskRecord, parts: Sequence[_Item]) -> Sequence[tuple[str, str]]:
    """The status that Task Master gives to a task with such parts."""
    is_begun = any(_status(part) is not MarkStatus.TODO for part in parts)
    word = "in-progress" if is_begun else "pending"
    return ((f"Set {record.id} to {word}, as its parts are", f'"{word}"'),) if record.mark else ()


def _items(
    text: str,
    each: LocatedObject,
    number: int,
    lines: LineIndex,
    path: tuple[str | int, ...],
    above: _Item | None,
) -> Iterator[_Item]:
    """A task of a list by its number there, and its parts."""
    name = _id_text(each.get("id"))
    own = name or f"item-{number + 1}"
    # Some write the whole id into a subtask.
    own = own if above is None or own.startswith(f"{above.id}.") else f"{above.id}.{own}"
    item = _Item(own, each, (*path, number), above, bool(name))
    yield item
    parts = each.get("subtasks")
    if parts and isinstance(parts, list) and item.id.count(".") < _MOST_NESTED:
        at = each.places["subtasks"][0]
        for n, part in enumerate(located_elements(text, at, parts, lines, _LOCATED)):
            if part.value is not None:
                yield from _items(text, part, n, lines, (*item.path, "subtasks"), item)


def _id_text(value: object) -> str:
    """An id as people write it; "" for what is none."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    is_id = isinstance(value, (int, float, str)) and not isinstance(value, bool)
    return str(value).strip() if is_id else ""


def _status(item: _Item) -> MarkStatus:
    """The status of a task; nothing is left to do in what was cancelled."""
    word, above = item.object.get("status"), item.above
    known = STATUSES.get(word.strip().lower()) if isinstance(word, str) else None
    status = MarkStatus.TODO if word is None else known or MarkStatus.UNKNOWN
    if above and status is not MarkStatus.DONE and _status(above) is MarkStatus.CANCELLED:
        return MarkStatus.CANCELLED
    return status


def _record(item: _Item, known: Set[str], parts: Mapping[str, Sequence[_Item]], rank: int) -> TaskRecord:
    found, status, word = item.object, _status(item), item.object.get("status")
    title = found.get("title") if isinstance(found.value, dict) else found.value
    named = _dependencies(item, known)
    waits = [
        part.id
        for part in parts.get(item.id, ())
        if _status(part) not in (MarkStatus.DONE, MarkStatus.CANCELLED)
    ]
    above = item.above
    if above and _status(above) is not MarkStatus.IN_PROGRESS:
        # What somebody began goes on, whatever it should have waited for.
        waits += [name for name in _dependencies(above, known) if name in known and name != item.id]
    blockers = [f"a person ({word})"] if status is MarkStatus.BLOCKED else []
    while above and status in OPEN:
        blockers += (
            [f"{above.id} ({above.object.get('status')})"] if _status(above) is MarkStatus.BLOCKED else []
        )
        above = above.above
    if not isinstance(found.get("dependencies"), (list, type(None))):
        blockers.append("dependencies that are no list")
    return TaskRecord(
        id=item.id, title=str(title) if isinstance(title, str) else "", status=status,
        place=found.span_of("id") or found.span, word=str(word or "pending"), mark=found.span_of("status"),
        depends_on=named, depends_span=found.span_of("dependencies"), waits=tuple(waits),
        blockers=tuple(blockers), parent=item.above.id if item.above else "",
        type=str(found.get("priority") or ""), rank=rank,
    )  # fmt: skip


def _dependencies(item: _Item, known: Set[str]) -> tuple[str, ...]:
    """The ids that it names. In a subtask "2" is the subtask beside it, else the task of that id."""
    listed = item.object.get("dependencies")
    names = (
        [_id_text(each) or str(each) for each in listed if each is not None]
        if isinstance(listed, list)
        else []
    )
    beside = item.above.id if item.above else ""
    return tuple(
        dict.fromkeys(
            f"{beside}.{name}" if beside and (f"{beside}.{name}" in known or name not in known) else name
            for name in names
        )
    )


def _turn(item: _Item) -> tuple[Any, ...]:
    """The turn of a task among those that can start: parts of what is under way, then tasks with theirs, then
    what its own tool passes over: parts of what is done."""
    above = item.above
    if above and _status(above) is MarkStatus.IN_PROGRESS:
        return 0, _priority(item, above), _count(item), natural(above.id), natural(item.id)
    first = item
    while first.above:
        first = first.above
    is_passed_over = first is not item and _status(first) is MarkStatus.DONE
    # A task comes behind its own parts.
    own = (1 if item is first else 0, natural(item.id))
    return (2 if is_passed_over else 1), _priority(first, None), _count(first), natural(first.id), own


def _priority(item: _Item, above: _Item | None) -> int:
    word = item.object.get("priority") or (above.object.get("priority") if above else None)
    return _PRIORITIES.get(str(word).lower(), 2)


def _count(item: _Item) -> int:
    listed = item.object.get("dependencies")
    return len(listed) if isinstance(listed, list) else 0


def _item_problems(item: _Item) -> Iterator[Problem]:
    found, word = item.object, item.object.get("status")
    if not isinstance(found.value, dict):
        yield Problem("task-malformed", f"{item.id} is no object; Task Master stops at it", found.span)
        return
    if not item.is_named:
        message = f"this task has no id and is called {item.id} here; Task Master cannot name it"
        yield Problem("task-malformed", message, found.span_of("id") or found.span)
    if _status(item) is MarkStatus.UNKNOWN:
        message = f"{item.id}: {str(word)[:40]!r} is no status of Task Master; the task counts as not done"
        said = str(word).strip().lower()
        data = {"replacements": tuple((f"Say {each}", f'"{each}"') for each in _likely_words(said))}
        yield Problem("marker-unknown", message, found.span_of("status"), data=data)
    for key in ("dependencies", "subtasks"):
        if not isinstance(found.get(key), (list, type(None))):
            message = f"{item.id}: {key} must be a list; Task Master cannot read this one"
            yield Problem("task-malformed", message, found.span_of(key))


@lru_cache(maxsize=100)
def _likely_words(said: str) -> Sequence[str]:
    """The statuses that a word may stand for."""
    return [each for each in nearest(said, [*STATUSES]) or STATUSES if each != "completed"]


# ---- edits


def set_statuses(text: str, unit: str, names: Iterable[str], word: str) -> str:
    """The text with the status of tasks set; where all parts of a task are done by it, that is done, too.

    What is done already stays as it is. Raises ValueError for a task that is not there, or is there twice.
    """
    tag = find_tag(text, unit)
    tasks = tag.tasks if tag else None
    blocks = _blocks(text, tasks, (), range(len(tasks.values))) if tasks else ()
    items = [*chain.from_iterable(map(_ITEMS, blocks))]
    chosen = {item.id: item for item in (_item(items, name) for name in names)}
    is_done = STATUSES[word] is MarkStatus.DONE
    waiting = [item.above for item in chosen.values() if is_done and item.above]
    while waiting:
        above = waiting.pop()
        parts = [item for item in items if item.above is above]
        if above.id not in chosen and all(part.id in chosen or _status(part) in _CLOSED for part in parts):
            chosen[above.id] = above
            waiting += [above.above] if above.above else []
    left = [item for item in chosen.values() if not (is_done and _status(item) is MarkStatus.DONE)]
    return set_values(text, [((*item.path, "status"), word) for item in left])


_CLOSED = frozenset((MarkStatus.DONE, MarkStatus.CANCELLED))


def _item(items: Sequence[_Item], name: str) -> _Item:
    found = [item for item in items if item.id == str(name)]
    if len(found) == 1 and isinstance(found[0].object.value, dict):
        return found[0]
    if found:
        why = "stands there more than once" if len(found) > 1 else "is no object"
        raise ValueError(f"{name} {why}; which is meant, nobody can tell")
    has = ", ".join(item.id for item in items[:_MOST_NAMED])
    raise ValueError(f"the tag has no task {name}; it has {has or 'none'}")


def _word(mark: str) -> str:
    word = mark.strip("[] ").lower()
    if word not in STATUSES:
        raise ValueError(f"`{mark}` is none of {', '.join(STATUSES)}")
    return word


@cache
def tag_dialect(unit: str) -> Dialect:
    """The dialect of one tag."""
    return Dialect(
        about="a tasks.json of Task Master: tags with tasks and subtasks",
        lacks="list of tasks",
        read=lambda text: read_tag(text, unit),
        read_again=lambda text, before: read_tag(text, unit, before),
        marks={},
        mark_place=re.compile(r"(?!)"),
        edits={
            PlanEdit.TICK_TASKS: lambda text, names: set_statuses(text, unit, map(str, names), "done"),
            PlanEdit.SET_STATUS: lambda text, name, mark: set_statuses(text, unit, (str(name),), _word(mark)),
        },
        form="json",
        fault=lambda text: fault(text, unit),
        units=tags,
        of_unit=tag_dialect,
    )


DIALECT = tag_dialect(FIRST_TAG)
