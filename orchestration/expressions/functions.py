"""The functions and methods of expressions.

To add one, write a function and name it in a table below: it gets the evaluation that asks, then the values
(of a method the receiver first), of the types that the table says. Its docstring is what an editor shows, the
names of its parameters are its signature. What it makes or looks through it tells `run.take` and `run.write`
before.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any, NamedTuple

from ..graphs import find_cycles
from . import text_functions as texts
from . import values
from .queries import dig, matcher
from .values import ABSENT, EvaluationError, ExpressionRun, Optional, TaskSet, TypeName, few

# Maps of the run; what `where` takes: a map, or an element; what has a size.
Record = Mapping[str, object]
Pattern = object
Sized = object
# A list, or tasks of the plan as a set whose number costs nothing.
Items = object


def as_text(value: object) -> str:
    """A value as people read it: true, false and null as CEL writes them, lists and maps as JSON."""
    if value is None or isinstance(value, (bool, list, dict)):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


# ---- of lists ---------------------------------------------------------------------------------


def _where(run: ExpressionRun, items: list, pattern: Pattern) -> list:
    """the elements that fit a pattern, or equal a text"""
    run.take(len(items))
    values.weigh(run, pattern)
    return list(filter(matcher(pattern), items))


def _after(run: ExpressionRun, items: list, pattern: Pattern) -> list:
    """the elements behind the last one that fits a pattern"""
    run.take(len(items))
    fits = matcher(pattern)
    last = next((position for position in range(len(items) - 1, -1, -1) if fits(items[position])), -1)
    return items[last + 1 :]


def _newest(run: ExpressionRun, items: list) -> object:
    """the last element; {} if there is none"""
    return items[-1] if items else {}


def _keep(run: ExpressionRun, items: list, n: int) -> list:
    """the last n elements"""
    return items[-n:] if n > 0 else []


def _by(run: ExpressionRun, items: Items, path: str) -> list | TaskSet:
    """the elements in the order of what stands at a path like 'a.b'; '' orders plain values"""
    if type(items) is TaskSet and (not items.items or path in items.items[0]):
        # What the plan itself says of its tasks orders any number of them.
        run.take(len(items.items) * len(path))
        return items.with_items(sorted(items.items, key=_field_rank(items.items, path)))
    items = values.as_list(items, "by")
    values.weigh(run, items)
    run.take(len(items) * len(path))
    return sorted(items, key=lambda item: _rank(dig(item, path) if path else item))


def _field_rank(items: Sequence[Mapping[str, Any]], name: str) -> Callable[[Mapping[str, Any]], Any]:
    """The sort key of maps by a field that all of them have; numbers are their own."""
    field = itemgetter(name)
    return field if {*map(type, map(field, items))} == {int} else lambda item: _rank(item[name])


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


def _minus(run: ExpressionRun, items: list, other: list) -> list:
    """the elements that are not in the other list"""
    values.weigh(run, items)
    values.weigh(run, other)
    gone = set(map(str, other))
    return [item for item in items if str(item) not in gone]


def _flatten(run: ExpressionRun, items: list) -> list:
    """the elements of its elements that are lists, one level deep, and the others"""
    # One list can stand in the other many times: what it comes to is counted before it is made.
    run.take(len(items) + sum(len(item) for item in items if type(item) is list))
    return [each for item in items for each in (item if type(item) is list else [item])]


def _reverse(run: ExpressionRun, items: list) -> list:
    """the elements the other way round"""
    return items[::-1]


def _join_elements(run: ExpressionRun, items: list, separator: str) -> str:
    """one text of the elements"""
    values.weigh(run, items)
    texts = list(map(as_text, items))
    run.write(sum(map(len, texts)) + len(separator) * len(texts))
    return separator.join(texts)


def _join(run: ExpressionRun, texts: list, separator: str = "") -> str:
    """one text of texts; joined(..) takes any elements"""
    if not all(type(text) is str for text in texts):
        values.no_overload("join", texts)
    return _join_elements(run, texts, separator)


def _as_keys(run: ExpressionRun, items: list, value: dict) -> dict:
    """a map with the elements, which are texts, as its keys; at each stands the map that is given"""
    run.take(len(items))
    if not all(type(item) is str for item in items):
        values.no_overload("as_keys", items)
    return dict.fromkeys(items, value)


def _circles(run: ExpressionRun, items: list, name: str, needs: str) -> list:
    """elements that need each other in a circle, as texts "A -> B -> A"; both are names of fields"""
    values.weigh(run, items)
    maps = [item for item in items if isinstance(item, dict) and name in item]
    edges = {
        str(item[name]): list(map(str, item[needs])) if isinstance(item.get(needs), list) else []
        for item in maps
    }
    return [" -> ".join([*group, group[0]]) for group in find_cycles(edges)]


# ---- of records -------------------------------------------------------------------------------


def _records(run: ExpressionRun, pattern: dict) -> list:
    """the records that fit, oldest first"""
    return few(run.names.touch(run.names.records.pick(pattern)), "records(..)")


def _records_since(run: ExpressionRun, mark: dict, pattern: dict) -> list:
    """the records that fit, behind the newest one that fits the mark; all, if none does"""
    return few(run.names.touch(run.names.records.since(mark, pattern)), "records_since(..)")


def _newest_record(run: ExpressionRun, pattern: dict) -> Record:
    """the newest record that fits, or an empty one"""
    fitting = run.names.touch(run.names.records.pick(pattern)[-1:])
    return fitting[0] if fitting else run.names.records.empty


def _count(run: ExpressionRun, pattern: dict) -> int:
    """how many records fit"""
    return len(run.names.touch(run.names.records.pick(pattern)))


def _count_since(run: ExpressionRun, mark: dict, pattern: dict) -> int:
    """how many records fit, behind the newest one that fits the mark"""
    return len(run.names.touch(run.names.records.since(mark, pattern)))


def _verdicts(run: ExpressionRun, pattern: dict, outcomes: list) -> list:
    """ids of the stages whose newest such record has one of the outcomes; of all that have one, for []"""
    newest = {
        record["stage"]: record
        for record in run.names.touch(run.names.records.pick(pattern))
        if record["stage"]
    }
    return [stage for stage, record in newest.items() if not outcomes or record["outcome"] in outcomes]


# ---- of tasks ---------------------------------------------------------------------------------


def _tasks(run: ExpressionRun, pattern: dict) -> TaskSet:
    """the plan's tasks that fit"""
    return TaskSet(run.names.tasks.pick(pattern), run.names.tasks.whole, "tasks(..)")


def _unreported_tasks(run: ExpressionRun, tasks: dict, records: dict) -> TaskSet:
    """the tasks that no such record names"""
    return _without(run, tasks, run.names.records.pick(records), "unreported(..)")


def _unreported_since(run: ExpressionRun, mark: dict, tasks: dict, records: dict) -> TaskSet:
    """the tasks that no such record behind the mark names"""
    return _without(run, tasks, run.names.records.since(mark, records), "unreported_since(..)")


def _without(run: ExpressionRun, pattern: dict, records: list, name: str) -> TaskSet:
    tasks = run.names.tasks.pick(pattern)
    run.take(len(tasks) + len(records))
    named = {record["task"] for record in records}.union(*(record["tasks"] for record in records))
    return TaskSet([task for task in tasks if task["id"] not in named], run.names.tasks.whole, name)


def _stage_ids(run: ExpressionRun, pattern: dict) -> list:
    """ids of the plan's stages that fit"""
    return [stage["id"] for stage in filter(matcher(pattern), run.names.tasks.stages)]


def _open_stage(run: ExpressionRun, reopened: list, skipped: list) -> Record:
    """the plan's first stage that is open or in the first list, unless in the second; {} if there is none"""
    return run.names.tasks.open_stage(frozenset(map(str, reopened)), frozenset(map(str, skipped)))


# ---- CEL's own --------------------------------------------------------------------------------


def _size(run: ExpressionRun, value: Sized) -> int:
    """the number of elements of a list or map, or of characters of a text"""
    return values.size(value)


def _string(run: ExpressionRun, value: Any) -> str:
    """a number, text, time or truth value as text"""
    kind = type(value)
    if isinstance(value, str):
        return str(value)
    if kind is bool:
        return "true" if value else "false"
    if kind is int:
        return str(values.whole(value))
    if kind is float:
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if kind is datetime:
        moment = value.astimezone(UTC).replace(tzinfo=None).isoformat()
        return f"{moment.rstrip('0') if '.' in moment else moment}Z"
    return values.no_overload("string", value)


def _int(run: ExpressionRun, value: Any) -> int:
    """a number, a text of digits, or the seconds of a time since 1970, as a whole number"""
    kind = type(value)
    if kind is int or kind is bool:
        return values.whole(int(value))
    if kind is float and -values.MOST_INT < value < values.MOST_INT:
        return int(value)
    if kind is str and value.isascii() and value.removeprefix("-").isdigit() and len(value) < 25:
        return values.whole(int(value))
    if kind is datetime:
        return int(value.timestamp() // 1)
    raise EvaluationError(f"int: {str(value)[:40]!r} is no whole number of 64 bits")


def _double(run: ExpressionRun, value: Any) -> float:
    """a number or text as a number with a fraction"""
    try:
        if type(value) in (int, float, str) and "_" not in str(value):
            return float(value)
    except (ValueError, OverflowError):
        pass
    raise EvaluationError(f"double: {str(value)[:40]!r} is no number")


def _timestamp(run: ExpressionRun, value: Any) -> datetime:
    """the moment that a text like '2026-01-31T12:00:00Z' says, or so many seconds since 1970"""
    if type(value) is datetime:
        return value
    try:
        is_time = type(value) is str and "T" in value
        moment = datetime.fromisoformat(value) if is_time else None
        moment = datetime.fromtimestamp(value, UTC) if type(value) is int else moment
    except (ValueError, OverflowError, OSError):
        moment = None
    if moment is None or moment.tzinfo is None:
        raise EvaluationError(f"timestamp: {str(value)[:40]!r} is no time like 2026-01-31T12:00:00Z")
    return moment


_CEL_TYPES = {"null": "null_type", "timestamp": "google.protobuf.Timestamp"}


def _type(run: ExpressionRun, value: object) -> TypeName:
    """its type, to be compared with list, map, string, int, double, bool"""
    return TypeName(_CEL_TYPES.get(kind := values.type_of(value), kind))


def _dyn(run: ExpressionRun, value: object) -> object:
    """the value itself, of any type"""
    return value


def _of(run: ExpressionRun, value: object) -> Optional:
    """an optional value that is there"""
    return Optional(value)


def _none(run: ExpressionRun) -> Optional:
    """an optional value that is absent"""
    return ABSENT


def _has_value(run: ExpressionRun, value: Optional) -> bool:
    """whether anything stands there"""
    return value.present


def _value(run: ExpressionRun, value: Optional) -> object:
    """what stands there; an error if nothing does"""
    if not value.present:
        raise EvaluationError("an optional value is absent")
    return value.value


# ---- edits of plans ---------------------------------------------------------------------------


def _check_tasks(run: ExpressionRun, stage: str) -> dict:
    """marks the tasks of a stage as done"""
    return {"edit": "check_tasks", "with": [stage]}


def _tick_tasks(run: ExpressionRun, tasks: list) -> dict:
    """marks tasks as done"""
    return {"edit": "tick_tasks", "with": [tasks]} if tasks else {}


def _append_stage(run: ExpressionRun, title: str, tasks: list) -> dict:
    """a new stage with tasks"""
    return {"edit": "append_stage", "with": [title, tasks]}


def _complete_plan(run: ExpressionRun) -> dict:
    """an edit of the plan: its header says that it is complete, if all of its tasks are"""
    return {"edit": "complete_plan", "with": []}


def _set_status(run: ExpressionRun, task: str, status: str) -> dict:
    """another status of a task"""
    return {"edit": "set_status", "with": [task, status]}


# ---- tables -----------------------------------------------------------------------------------


class Function(NamedTuple):
    """`run`; the types it takes, those that may be left out with "?"; the type it gives.

    A "pattern" is a map, or the element itself where the elements are texts.
    """

    run: Callable[..., Any]
    takes: tuple[str, ...]
    gives: str

    @property
    def least(self) -> int:
        return sum(not kind.endswith("?") for kind in self.takes)

    @property
    def about(self) -> str:
        return self.run.__doc__ or ""

    def signature(self, name: str, of: str = "") -> str:
        """The form of a call, as an editor shows it."""
        code = self.run.__code__
        parameters = code.co_varnames[2 if of else 1 : code.co_argcount]
        return f"{of}{'.' if of else ''}{name}({', '.join(parameters)})"


# The types of expressions by the annotations of functions.
_TYPES = {
    "object": "any", "Any": "any", "bool": "bool", "int": "int", "float": "double", "str": "string",
    "datetime": "timestamp",
    "list": "list", "TaskSet": "list", "list[str]": "strings", "dict": "map", "Record": "map",
    "Optional": "optional", "TypeName": "type", "Pattern": "pattern", "Sized": "sized", "Items": "items",
}  # fmt: skip


def _table(**functions: Callable[..., Any]) -> dict[str, Function]:
    """Functions by their names in expressions; "__" stands for the dot in a name."""
    table = {}
    for name, run in functions.items():
        # Of `int | None` the first is the type of the values that are given.
        *takes, gives = (_TYPES[kind.split(" |")[0]] for kind in list(run.__annotations__.values())[1:])
        needed = len(takes) - len(run.__defaults__ or ())
        takes[needed:] = [f"{kind}?" for kind in takes[needed:]]
        table[name.replace("__", ".")] = Function(run, tuple(takes), gives)
    return table


# Functions that look at the run, and methods of lists that only these expressions have; the others are CEL's.
OWN_FUNCTIONS = _table(
    records=_records, records_since=_records_since, newest=_newest_record, count=_count,
    count_since=_count_since, verdicts=_verdicts, tasks=_tasks, unreported=_unreported_tasks,
    unreported_since=_unreported_since, stage_ids=_stage_ids, open_stage=_open_stage,
)  # fmt: skip
OWN_METHODS = _table(
    where=_where, after=_after, newest=_newest, keep=_keep, by=_by, reversed=_reverse, joined=_join_elements,
    minus=_minus, flatten=_flatten, as_keys=_as_keys, circles=_circles,
)  # fmt: skip
FUNCTIONS = OWN_FUNCTIONS | _table(
    size=_size, string=_string, int=_int, double=_double, timestamp=_timestamp, type=_type, dyn=_dyn,
    matches=texts.matches, optional__of=_of, optional__none=_none,
)  # fmt: skip
METHODS = OWN_METHODS | _table(
    size=_size, contains=texts.contains, startsWith=texts.starts_with, endsWith=texts.ends_with,
    matches=texts.matches, split=texts.split, join=_join, replace=texts.replace, lowerAscii=texts.lower,
    upperAscii=texts.upper, trim=texts.trim, substring=texts.substring, charAt=texts.char_at,
    indexOf=texts.index_of, lastIndexOf=texts.last_index_of, hasValue=_has_value, value=_value,
)  # fmt: skip
# Functions of effects: they describe an edit of a plan as a map (seed 004), for the plan's dialect.
EDITS = _table(
    check_tasks=_check_tasks, tick_tasks=_tick_tasks, append_stage=_append_stage, set_status=_set_status,
    complete_plan=_complete_plan,
)  # fmt: skip
# What an optional value gives where it is absent; the compiler evaluates the other value only then.
FALLBACKS: Mapping[str, str] = {
    "orValue": "what stands there, else another value",
    "or": "the optional value, else another one",
}
# What CEL has and the guard language has not, by the word it is called with.
OUTSIDE = frozenset(
    """
    bool bytes uint duration getDate getDayOfMonth getDayOfWeek getDayOfYear getFullYear getHours
    getMilliseconds getMinutes getMonth getSeconds format quote reverse optional.ofNonZeroValue
    """.split()  # noqa: SIM905 - words in a row are easier to read
)
