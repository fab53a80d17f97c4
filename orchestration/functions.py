"""The functions that expressions may call, declared for CEL.

They see one evaluation through `EVALUATION`, which `guards.Context` sets around every call: CEL gives
its functions no other way to know who asks. Whatever raises in a function becomes an error value.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Protocol

from cel_expr_python import cel
from cel_expr_python.ext import ext_optional, ext_strings

from .circles import circles
from .expressions import ELEMENTS, HANDLE, SIZE, internal
from .indexes import Index, Tasks, dig, matcher

# The most items that an expression may see at once: CEL's filter and map are quadratic in their result.
MOST_ITEMS = 500

_ITEMS = cel.Type.List(cel.Type.DYN)
_FIELDS = cel.Type.Map(cel.Type.STRING, cel.Type.DYN)
# A handle stands for a set of tasks on CEL's side. A map has no operators that could mix two of them up.
_HANDLE = cel.Type.Map(cel.Type.STRING, cel.Type.INT)
HANDLE_TYPE = _HANDLE.name()
TYPES = {
    "bool": cel.Type.BOOL,
    "int": cel.Type.INT,
    "double": cel.Type.DOUBLE,
    "string": cel.Type.STRING,
    "timestamp": cel.Type.TIMESTAMP,
    "list": _ITEMS,
    "strings": cel.Type.List(cel.Type.STRING),
    "map": _FIELDS,
    "any": cel.Type.DYN,
}
# The types that a fact can have; others are any.
FACT_TYPES = ("bool", "int", "double", "string", "timestamp", "list", "map", "any")


class Evaluation(Protocol):
    """What functions need of the evaluation that calls them."""

    records: Index
    tasks: Tasks

    def fact(self, name: str) -> object: ...

    def members(self, name: str) -> Sequence[Mapping[str, object]]: ...

    def keep(self, tasks: list) -> dict[str, int]: ...

    def kept(self, name: str) -> object: ...

    def touch(self, records: list) -> list: ...


EVALUATION: ContextVar[Evaluation] = ContextVar("phasekeeper_evaluation")


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
    return sorted(items, key=lambda item: _rank(dig(item, path)))


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


def _picked(pattern: dict) -> list:
    evaluation = EVALUATION.get()
    return evaluation.touch(evaluation.records.pick(pattern))


def _picked_since(mark: dict, pattern: dict) -> list:
    evaluation = EVALUATION.get()
    return evaluation.touch(evaluation.records.since(mark, pattern))


def _records(pattern: dict) -> list:
    return few(_picked(pattern), "records(..)")


def _records_since(mark: dict, pattern: dict) -> list:
    return few(_picked_since(mark, pattern), "records_since(..)")


def _newest_record(pattern: dict) -> object:
    evaluation = EVALUATION.get()
    found = evaluation.touch(evaluation.records.pick(pattern)[-1:])
    return found[0] if found else evaluation.records.empty


def _count(pattern: dict) -> int:
    return len(_picked(pattern))


def _count_since(mark: dict, pattern: dict) -> int:
    return len(_picked_since(mark, pattern))


# ---- tasks ------------------------------------------------------------------------------------


def _tasks(pattern: dict) -> list:
    return EVALUATION.get().tasks.pick(pattern)


def _unreported(pattern: dict, reports: dict) -> list:
    evaluation = EVALUATION.get()
    return _without(evaluation.tasks.pick(pattern), evaluation.records.pick(reports))


def _unreported_since(mark: dict, pattern: dict, reports: dict) -> list:
    evaluation = EVALUATION.get()
    return _without(evaluation.tasks.pick(pattern), evaluation.records.since(mark, reports))


def _without(tasks: list, records: list) -> list:
    named = {record["task"] for record in records}.union(*(record["tasks"] for record in records))
    return [task for task in tasks if task["id"] not in named]


def _stage_ids(pattern: dict) -> list:
    fits = matcher(pattern)
    return [stage["id"] for stage in EVALUATION.get().tasks.stages if fits(stage)]


def _verdicts(pattern: dict, outcomes: list) -> list:
    """The stages whose newest matching record has one of the outcomes (any, where none is given)."""
    newest = {record["stage"]: record for record in _picked(pattern) if record["stage"]}
    return [stage for stage, record in newest.items() if not outcomes or record["outcome"] in outcomes]


def _open_stage(reopened: list, skipped: list) -> object:
    return EVALUATION.get().tasks.open_stage(frozenset(map(str, reopened)), frozenset(map(str, skipped)))


# ---- declarations -----------------------------------------------------------------------------

_PYTHON = {
    "items": _ITEMS,
    "fields": _FIELDS,
    "any": cel.Type.DYN,
    "text": cel.Type.STRING,
    "int": cel.Type.INT,
}


def _overload(name: str, gives: str, takes: str, run: Callable[..., object], member: bool) -> cel.Overload:
    kinds = takes.split()
    return cel.Overload(
        "_".join([name, *kinds]), _PYTHON[gives], [_PYTHON[kind] for kind in kinds], member, run
    )


def _function(name: str, gives: str, takes: str, run: Callable[..., object]) -> cel.FunctionDecl:
    return cel.FunctionDecl(name, [_overload(name, gives, takes, run, False)])


def _method(name: str, gives: str, run: Callable[..., object], *takes: str) -> cel.FunctionDecl:
    return cel.FunctionDecl(name, [_overload(name, gives, kinds, run, True) for kinds in takes])


def _shown(run: Callable[..., list], name: str) -> Callable[..., list]:
    """Tasks as CEL sees them: few, and with what their own files say."""
    return lambda *patterns: EVALUATION.get().tasks.whole(few(run(*patterns), f"{name}(..)"))


def _set_function(name: str, takes: int, run: Callable[..., list]) -> list:
    """A function that gives tasks, and its twins that give their number or a handle."""
    parameters = [_FIELDS] * takes
    twins = (
        (ELEMENTS, _ITEMS, _shown(run, name)),
        (SIZE, cel.Type.INT, lambda *patterns: len(run(*patterns))),
        (HANDLE, _HANDLE, lambda *patterns: EVALUATION.get().keep(run(*patterns))),
    )
    return [
        cel.FunctionDecl(internal(name, use), [cel.Overload(f"{name}_{use}", gives, parameters, False, one)])
        for use, gives, one in twins
    ]


def fact_call(name: str, kind: str) -> str:
    """The call that stands for a fact in what is evaluated; `kind` is its type, or SIZE or HANDLE."""
    return f"__fact_{kind}('{name}')"


def _fact_functions() -> list:
    """One function a type, not one a fact: what is declared does not depend on the definition."""
    kinds = [(kind, TYPES[kind], lambda name: EVALUATION.get().fact(name)) for kind in FACT_TYPES]
    kinds += [
        (SIZE, cel.Type.INT, lambda name: len(EVALUATION.get().members(name))),
        (HANDLE, _HANDLE, lambda name: EVALUATION.get().kept(name)),
    ]
    return [
        cel.FunctionDecl(
            f"__fact_{kind}", [cel.Overload(f"fact_{kind}", gives, [cel.Type.STRING], False, run)]
        )
        for kind, gives, run in kinds
    ]


_PUBLIC = [
    _method("where", "items", _where, "items fields", "items text"),
    _method("after", "items", _after, "items fields", "items text"),
    cel.FunctionDecl(
        "newest",
        [
            _overload("newest", "any", "items", _newest, True),
            _overload("newest", "fields", "fields", _newest_record, False),
        ],
    ),
    _method("keep", "items", _keep, "items int"),
    _method("by", "items", _by, "items text"),
    _method("reversed", "items", _reversed, "items"),
    _method("joined", "text", _joined, "items text"),
    _method("minus", "items", _minus, "items items"),
    _method("circles", "items", _circles, "items text text"),
    _function("records", "items", "fields", _records),
    _function("records_since", "items", "fields fields", _records_since),
    _function("count", "int", "fields", _count),
    _function("count_since", "int", "fields fields", _count_since),
    _function("open_stage", "fields", "items items", _open_stage),
    _function("stage_ids", "items", "fields", _stage_ids),
    _function("verdicts", "items", "fields items", _verdicts),
    *_set_function("tasks", 1, _tasks),
    *_set_function("unreported", 2, _unreported),
    *_set_function("unreported_since", 3, _unreported_since),
]
FUNCTION_NAMES = (
    "where", "after", "newest", "keep", "by", "reversed", "joined", "minus", "circles", "records",
    "records_since", "count", "count_since", "open_stage", "stage_ids", "verdicts", "tasks", "unreported",
    "unreported_since",
)  # fmt: skip


def _edit(name: str, takes: str) -> cel.FunctionDecl:
    """A function of effects: it describes an edit of a plan as a map, and edits nothing."""
    return _function(name, "fields", takes, lambda *values: {"edit": name, "with": list(values)})


# Edits of a plan (seed 004, steps 4c and "Create fix tasks"), carried out by the plan's dialect.
_EDITS = [_edit("check_tasks", "text"), _edit("append_stage", "text items"), _edit("set_status", "text text")]
_EXTENSIONS = [ext_optional.ExtOptional(), ext_strings.ExtStrings()]
_DECLARED = [*_PUBLIC, *_fact_functions()]


def environment(variables: Mapping[str, str], edits: bool = False) -> cel.Env:
    """What expressions are compiled against: `variables` maps names to TYPES."""
    names = {name: TYPES[kind] for name, kind in variables.items()}
    functions = _DECLARED + (_EDITS if edits else [])
    return cel.NewEnv(variables=names, functions=functions, extensions=_EXTENSIONS)
