"""Checks of what expressions compare and select: fields, patterns, null, and what can only be true."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from ..definition.model import Workflow
from ..expressions.cel_tree import Tree, walk
from ..expressions.context import Expression
from ..expressions.source import SET_FUNCTIONS
from ..findings import Severity
from ..journal.journal import FIELDS
from ..suggestions import did_you_mean, misspelling
from .expressions import Fault, expressions

TASK_FIELDS = (
    "id", "number", "title", "stage", "done", "status", "file", "type",
    "depends_on", "parallel_with", "files", "requires_ux_dx_review",
)  # fmt: skip
STAGE_FIELDS = ("id", "title", "done", "total", "complete", "line")
_LISTS = ("tasks", "gates", "phases", "files", "manual_criteria", "depends_on", "parallel_with")
# Functions whose patterns are of records, or of stages; of those of tasks the position of the tasks' pattern.
OF_RECORDS = ("records", "records_since", "count", "count_since", "newest", "verdicts")
OF_TASKS = {"tasks": 0, "unreported": 0, "unreported_since": 1}


class Thing(NamedTuple):
    """What an expression is known to give: one thing of a kind, or a list of such."""

    name: str
    fields: tuple[str, ...]
    listed: bool = False


_RECORD = Thing("a record", FIELDS)
_TASK = Thing("a task", TASK_FIELDS)
_STAGE = Thing("a stage", STAGE_FIELDS)


def _calls(workflow: Workflow) -> Iterator[tuple[Expression, Tree]]:
    for expression in expressions(workflow):
        for node in walk(expression.tree):
            if node.kind == "call":
                yield expression, node


# ---- null, has, size --------------------------------------------------------------------------


def _null_tests(workflow: Workflow) -> Iterator[Fault]:
    for expression, node in _calls(workflow):
        if node.text in ("_==_", "_!=_") and any(_is_null(child) for child in node.children):
            said = "null is absent before guards see it: use has(x), or x == [] and the like"
            yield Fault(expression, said, Severity.ERROR, node.offset)


def _is_null(node: Tree) -> bool:
    return node.kind == "constant" and node.value is None


def _sizes(workflow: Workflow) -> Iterator[Fault]:
    said = (
        "counting a filter looks at every item twice: write x.exists(..), !x.exists(..) or x.filter(..) == []"
    )
    for expression, node in _calls(workflow):
        compares = node.text in ("_==_", "_>_", "_!=_", "_<_")
        if compares and any(map(_is_filtered_size, node.children)) and any(map(_is_zero, node.children)):
            yield Fault(expression, said, Severity.WARNING, node.offset)


def _is_zero(node: Tree) -> bool:
    return node.kind == "constant" and node.value == 0


def _is_filtered_size(node: Tree) -> bool:
    return node.kind == "call" and node.text == "size" and node.children[0].kind == "loop"


# ---- patterns ---------------------------------------------------------------------------------


def _patterns(workflow: Workflow) -> Iterator[Fault]:
    for expression, node in _calls(workflow):
        if node.text == "stage_ids":
            yield from _fields(expression, node.children[0], _STAGE)
        # As a method `newest` has no pattern: its child is the list.
        if node.text in OF_RECORDS and node.value is not True:
            for pattern in node.children:
                yield from _record_pattern(expression, pattern)
        for position, pattern in enumerate(node.children if node.text in OF_TASKS else ()):
            if position == OF_TASKS[node.text]:
                yield from _fields(expression, pattern, _TASK)
            else:
                yield from _record_pattern(expression, pattern)


def _record_pattern(expression: Expression, pattern: Tree) -> Iterator[Fault]:
    yield from _fields(expression, pattern, _RECORD)
    for node in _maps(pattern):
        keys = {child.value for child in node.children[::2]}
        if "phase" in keys and not keys & {"kind", "outcome"}:
            said = "also matches starts and answers: a pattern that means a result says 'kind': 'report'"
            yield Fault(expression, said, Severity.WARNING, node.offset)


def _fields(expression: Expression, pattern: Tree, thing: Thing) -> Iterator[Fault]:
    for key in (child for node in _maps(pattern) for child in node.children[::2]):
        name = str(key.value)
        if name not in thing.fields:
            yield _no_field(expression, thing, name, key.offset)
        elif name in _LISTS:
            said = f"{name!r} is a list, and a pattern compares single values: use .filter(x, y in x.{name})"
            yield Fault(expression, said, offset=key.offset)


def _no_field(expression: Expression, thing: Thing, name: str, offset: int) -> Fault:
    said = f"{thing.name} has no field {name!r}{did_you_mean(name, thing.fields)}"
    return Fault(expression, said, offset=offset, data=misspelling(name, thing.fields))


def _maps(pattern: Tree) -> list[Tree]:
    """The maps that a pattern can be: itself, or the branches of a condition."""
    return [node for node in _branches(pattern) if node.kind == "map"]


def _branches(node: Tree) -> list[Tree]:
    if node.kind == "call" and node.text == "_?_:_":
        return [leaf for child in node.children[1:] for leaf in _branches(child)]
    return [node]


# ---- fields of records and tasks --------------------------------------------------------------

# Methods that give a part of their list, or the same elements in another order.
_SAME = ("where", "after", "keep", "by", "reversed", "minus")


def _selected(workflow: Workflow) -> Iterator[Fault]:
    """Fields that a record, a task or a stage never has, and `has` of one that a record always has."""
    values = _known_values(workflow)
    for expression in expressions(workflow):
        for node, names in _scoped(expression.tree, values):
            thing = _thing(node.children[0], names) if node.kind == "select" else None
            if thing is None or thing.listed:
                continue
            if node.text not in thing.fields:
                yield _no_field(expression, thing, node.text, node.offset)
            elif node.value is True and thing is _RECORD:
                said = (
                    f"a record has every field: has(..{node.text}) is always true, compare it with '' or []"
                )
                yield Fault(expression, said, offset=node.offset)


def _known_values(workflow: Workflow) -> dict[str, Thing | None]:
    """What values give, as far as it can be told; `report` is a record."""
    known: dict[str, Thing | None] = {"report": _RECORD}
    for name, value in workflow.values.items():
        # They stand in the order in which they use each other.
        known[name] = _thing(value.tree, known)
    return known


def _scoped(
    tree: Tree, names: Mapping[str, Thing | None]
) -> Iterator[tuple[Tree, Mapping[str, Thing | None]]]:
    """Every node with what the names in it are: a comprehension binds a name to the elements of its list."""
    yield tree, names
    inside = names
    if tree.kind == "loop":
        listed = _thing(tree.children[0], names)
        element = listed._replace(listed=False) if listed else None
        inside = {**names, tree.text.split(" ")[0]: _same(element)}
    for position, child in enumerate(tree.children):
        yield from _scoped(child, inside if position else names)


def _same(thing: Thing | None) -> Thing | None:
    return next((known for known in (_RECORD, _TASK, _STAGE) if thing == known), None)


def _thing(node: Tree, names: Mapping[str, Thing | None]) -> Thing | None:
    """What a node gives, None if that cannot be told."""
    if node.kind == "name":
        return names.get(node.text)
    if node.kind == "loop":
        return _thing(node.children[0], names) if _is_filter(node) else None
    if node.kind != "call":
        return None
    found = _GIVES.get((node.text, node.value is True))
    if found:
        return found
    if node.text == "_?_:_":
        first, second = (_thing(child, names) for child in node.children[1:])
        return first if first == second else None
    of = _thing(node.children[0], names) if node.text in (*_SAME, "newest", "_[_]") else None
    return of if of is None or node.text in _SAME else _same(of._replace(listed=False))


_GIVES: dict[tuple[str, bool], Thing] = {
    ("records", False): _RECORD._replace(listed=True),
    ("records_since", False): _RECORD._replace(listed=True),
    ("newest", False): _RECORD,
    ("open_stage", False): _STAGE,
    **{(name, False): _TASK._replace(listed=True) for name in SET_FUNCTIONS},
}


def _is_filter(loop: Tree) -> bool:
    """Whether a comprehension gives elements of its list: what it appends is the variable alone."""
    bound = loop.text.split(" ")[0]
    appended = [node.children[0] for node in walk(loop.children[3]) if node.kind == "list" and node.children]
    return bool(appended) and all(node.kind == "name" and node.text == bound for node in appended)


CHECKS: tuple[Callable[[Workflow], Iterator[Fault]], ...] = (
    _null_tests,
    _sizes,
    _patterns,
    _selected,
)
