"""The dialect of Task Master's tasks.json: tags, each with tasks and their subtasks.

A tag is one plan. Subtask 2 of task 5 is 5.2; a dependency without a dot means a subtask beside it, else a
task. Who has open subtasks waits for them. The order is that of its `next` (find-next-task.js, April 2026).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

from ...findings import Problem, Span
from ...formats.json_edits import set_values
from ...formats.json_text import ParsedText, members, read_json, skip_space
from ...suggestions import nearest
from ...vfs.files import natural
from ...vfs.places import unit_name
from ..model import Dialect, MarkStatus, Plan, PlanEdit
from ..numbering import free_id
from .located_json import LineIndex, LocatedObject, located_elements, located_object
from .task_records import OPEN, TaskRecord, plan_of_records

FIRST_TAG = "master"
"""The tag of a file that has none, and of the first one."""
MOST_TAGS = 500
"""Each tag is read and judged like a folder; a file with more is a mistake, and is one run with a finding."""
STATUSES: Mapping[str, MarkStatus] = MappingProxyType({
    "pending": MarkStatus.TODO, "in-progress": MarkStatus.IN_PROGRESS, "done": MarkStatus.DONE,
    "completed": MarkStatus.DONE, "cancelled": MarkStatus.CANCELLED, "review": MarkStatus.BLOCKED,
    "deferred": MarkStatus.BLOCKED, "blocked": MarkStatus.BLOCKED,
})  # fmt: skip
"""Its words; what is `review`, `deferred` or `blocked` waits for somebody."""
_PRIORITIES = {"critical": 0, "high": 1, "medium": 2, "low": 3}
_KEY = re.compile(r'"((?:[^"\\\n]|\\.)*+)"[ \t\r\n]*+:[ \t\r\n]*+\{|"(?:[^"\\\n]|\\.)*+"?|[{}\[\]]')
_MOST_NESTED = 8
_MOST_NAMED = 8
_CANCELLED = "task-master next passes over it, and its core takes that as met"


# ---- tags


def tags(text: str) -> Sequence[str]:
    """The tags of a file; of one that is damaged those that can be made out. Of too many one: see `fault`."""
    document = _read(text)
    if document.readable and isinstance(document.data, dict):
        found = _tags_of(document.data)
    else:
        found = _legible_tags(text) or (FIRST_TAG,)
    return found if len(found) <= MOST_TAGS else (FIRST_TAG,)


def _tags_of(data: Mapping[str, Any]) -> Sequence[str]:
    named = [key for key, value in data.items() if isinstance(value, dict) and "tasks" in value]
    return [*named, *([_own_tag(named)] if _is_untagged(data) else [])]


@lru_cache(maxsize=1)
def _read(text: str) -> ParsedText:
    """The value of a text, which is asked for its tags, its faults and each tag in a row."""
    return read_json(text)


def _is_untagged(data: Mapping[str, Any]) -> bool:
    """True if the file has a list of tasks itself, as before there were tags; other tools have such, too."""
    tasks = data.get("tasks")
    return isinstance(tasks, list) and (
        not tasks or any(isinstance(each, dict) and "id" in each and "title" in each for each in tasks)
    )


def _own_tag(named: Sequence[str]) -> str:
    return "tasks" if FIRST_TAG in named else FIRST_TAG


def _legible_tags(text: str) -> list[str]:
    """The keys right in the outermost object that hold an object."""
    found: dict[str, None] = {}
    depth = 0
    for token in _KEY.finditer(text):
        last = token[0][-1]
        if depth == 1 and token[1] is not None and token[1] not in ("meta", "metadata"):
            found[token[1]] = None
        depth += 1 if last in "{[" else -1 if token[0] in ("}", "]") else 0
    return [*found]


class _Tag(NamedTuple):
    """The tasks of a tag: the path to their list, that list, its place, and the lines of the text."""

    path: tuple[str, ...]
    tasks: Any
    at: int
    span: Span
    lines: LineIndex


def _find(text: str, document: ParsedText, unit: str) -> _Tag | None:
    """The tag that is called so in names of runs."""
    if not isinstance(document.data, dict):
        return None
    lines = LineIndex(text)
    top = {each.key: each for each in members(text, skip_space(text, 0))}
    for key, value in document.data.items():
        if isinstance(value, dict) and "tasks" in value and unit_name(key) == unit:
            inside = located_object(text, top[key], value, lines)
            member = inside.fields["tasks"]
            span = lines.span(top[key].start, top[key].key_end)
            return _Tag((key, "tasks"), value["tasks"], member.value, span, lines)
    if _is_untagged(document.data):
        member = top["tasks"]
        span = lines.span(member.start, member.key_end)
        return _Tag(("tasks",), document.data["tasks"], member.value, span, lines)
    return None


def fault(text: str, unit: str) -> Problem | None:
    """Why nothing of a tag can be read: the text is damaged, or what the tag has for tasks is no list."""
    document = _read(text)
    if not document.readable:
        return document.problems[0] if document.problems else None
    if not isinstance(document.data, dict):
        said = "an object with a tag in it is expected here"
        return Problem("artifact-unreadable", said, Span(0, 0, 0, 1))
    if (count := len(_tags_of(document.data))) > MOST_TAGS:
        said = f"the file has {count} tags; of more than {MOST_TAGS} none is read"
        return Problem("budget-exceeded", said, Span(0, 0, 0, 1))
    tag = _find(text, document, unit)
    if tag is not None and not isinstance(tag.tasks, list):
        return Problem(
            "artifact-unreadable", "tasks must be a list; nobody can tell what these are", tag.span
        )
    return None


# ---- tasks


class _Item(NamedTuple):
    """A task or subtask, its id with those above it, and the path to its object."""

    id: str
    object: LocatedObject
    path: tuple[str | int, ...]
    above: _Item | None
    is_named: bool


def read_tag(text: str, unit: str) -> Plan | None:
    """The plan of one tag; None where it holds no list of tasks."""
    document = _read(text)
    tag = _find(text, document, unit)
    if tag is None or not isinstance(tag.tasks, list):
        return None
    items = list(_items(text, tag.at, tag.tasks, tag.lines, tag.path, None))
    known = {item.id for item in items}
    parts: dict[str, list[_Item]] = {}
    for item in items:
        if item.above:
            parts.setdefault(item.above.id, []).append(item)
    ranks = {item.id: number for number, item in enumerate(sorted(items, key=_turn))}
    records = [_record(item, known, parts, ranks[item.id]) for item in items]
    problems = [*document.problems, *(found for item in items for found in _item_problems(item))]
    own = {record.place: item for record, item in zip(records, items, strict=True)}

    def mend(code: str, record: TaskRecord) -> Sequence[tuple[str, str]]:
        if code == "duplicate-task":
            return _next_id(own[record.place], items)
        return _status_of_parts(record, parts[record.id]) if code == "status-drift" else ()

    return plan_of_records(
        records, tag.span, problems, "task-master next passes over it", _CANCELLED, mend=mend
    )


def _next_id(item: _Item, items: Sequence[_Item]) -> Sequence[tuple[str, str]]:
    """The next free id, as a number or a text as it was; none for a task without an id."""
    beside = f"{item.above.id}." if item.above else ""
    free = free_id(item.id, [each.id for each in items]) if item.is_named else ""
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
    text: str, at: int, values: Any, lines: LineIndex, path: tuple[str | int, ...], above: _Item | None
) -> Iterator[_Item]:
    for number, each in enumerate(located_elements(text, at, values, lines)):
        if each.value is None:
            continue
        name = _id_text(each.get("id"))
        own = name or f"item-{number + 1}"
        # Some write the whole id into a subtask.
        is_whole = above is None or own.startswith(f"{above.id}.")
        item = _Item(own if is_whole else f"{above.id}.{own}", each, (*path, number), above, bool(name))  # pyright: ignore[reportOptionalMemberAccess]
        yield item
        below = each.fields.get("subtasks")
        if below and isinstance(each.get("subtasks"), list) and item.id.count(".") < _MOST_NESTED:
            yield from _items(text, below.value, each.get("subtasks"), lines, (*item.path, "subtasks"), item)


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


def _record(item: _Item, known: set[str], parts: Mapping[str, Sequence[_Item]], rank: int) -> TaskRecord:
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


def _dependencies(item: _Item, known: set[str]) -> tuple[str, ...]:
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
        words = [each for each in nearest(said, [*STATUSES]) or STATUSES if each != "completed"]
        data = {"replacements": tuple((f"Say {each}", f'"{each}"') for each in words)}
        yield Problem("marker-unknown", message, found.span_of("status"), data=data)
    for key in ("dependencies", "subtasks"):
        if not isinstance(found.get(key), (list, type(None))):
            message = f"{item.id}: {key} must be a list; Task Master cannot read this one"
            yield Problem("task-malformed", message, found.span_of(key))


# ---- edits


def set_statuses(text: str, unit: str, names: Iterable[str], word: str) -> str:
    """The text with the status of tasks set; where all parts of a task are done by it, that is done, too.

    What is done already stays as it is. Raises ValueError for a task that is not there, or is there twice.
    """
    tag = _find(text, _read(text), unit)
    items = list(_items(text, tag.at, tag.tasks, tag.lines, tag.path, None)) if tag else []
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
