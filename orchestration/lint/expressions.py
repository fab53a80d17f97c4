"""The expressions of a definition, and checks of what they compare and select.

That is: fields, patterns, null, and what can only be true.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, NamedTuple

from ..definition.model import Workflow
from ..definition.reader import DefinitionPlace
from ..expressions.language import Expression, Template
from ..expressions.syntax import Kind, SyntaxNode, walk
from ..findings import NO_DATA, Severity
from ..journal.journal import FIELDS
from ..suggestions import did_you_mean, misspelling

# The fields of a task and of a stage, and what they mean.
TASK_FIELDS: Mapping[str, str] = {
    "id": "its id",
    "number": "the short number in its id",
    "title": "what it is",
    "type": "the kind of work",
    "stage": "its stage's id",
    "status": "todo, in_progress, done, blocked, attention or unknown",
    "done": "whether it is done",
    "file": "its task file",
    "depends_on": "the tasks that it waits for",
    "parallel_with": "the tasks beside which it may be done",
    "files": "the files that it changes",
    "requires_ux_dx_review": "whether a review of its use is asked for",
}
STAGE_FIELDS: Mapping[str, str] = {
    "id": "its number",
    "title": "its heading",
    "line": "its line in the plan; the first is 0",
    "done": "how many of its tasks are done",
    "total": "how many tasks it has",
    "complete": "whether it has tasks and all are done",
}
_LISTS = ("tasks", "gates", "phases", "files", "manual_criteria", "depends_on", "parallel_with")
# Functions whose patterns are of records, or of stages; of those of tasks the position of the tasks' pattern.
OF_RECORDS = ("records", "records_since", "count", "count_since", "newest", "verdicts")
OF_TASKS = {"tasks": 0, "unreported": 0, "unreported_since": 1}


class Fault(NamedTuple):
    """Something a check found: at an expression (and an offset in it), or at a place."""

    at: Expression | DefinitionPlace
    message: str
    severity: Severity = Severity.ERROR
    offset: int = 0
    data: Mapping[str, Any] = NO_DATA


def expressions(workflow: Workflow) -> list[Expression]:
    """The expressions of guards and templates.

    Those of effects and of `set` have names of their own; samples of reports and markers guard no run.
    """
    others = (*workflow.phases.values(), *workflow.actions.values())
    apart = {id(other.data) for other in others} | {id(test.where) for test in workflow.marker}
    written = (origin.expression for origin in workflow.places.values())
    return [each for each in written if each.language is workflow.language and id(each) not in apart]


def constant(template: Template | None) -> str:
    """The text of a template without any expression, else ""."""
    return template.source if template and not template.expressions else ""


def behind(workflow: Workflow, *starts: Expression | None) -> Iterator[Expression]:
    """The expressions, and all that the facts in them are computed from, each once."""
    waiting = [start for start in starts if start is not None]
    seen: set[int] = set()
    while waiting:
        current = waiting.pop()
        if id(current) not in seen:
            seen.add(id(current))
            yield current
            for read in current.reads:
                waiting += _definitions(workflow, read.path)


def _definitions(workflow: Workflow, path: tuple[str, ...]) -> list[Expression]:
    head, name = path[0], path[1] if len(path) > 1 else ""
    if head in workflow.values:
        return [workflow.values[head]]
    if head == "limits" and name in workflow.limits:
        return [workflow.limits[name].count, workflow.limits[name].max]
    scope = workflow.questions[name].scope if head == "answers" and name in workflow.questions else None
    return [scope] if scope else []


class Thing(NamedTuple):
    """What an expression is known to give: one thing of a kind, or a list of such."""

    name: str
    fields: Collection[str]
    listed: bool = False


_RECORD = Thing("a record", FIELDS)
_TASK = Thing("a task", TASK_FIELDS)
_STAGE = Thing("a stage", STAGE_FIELDS)


def _calls(workflow: Workflow) -> Iterator[tuple[Expression, SyntaxNode]]:
    for expression in expressions(workflow):
        for node in walk(expression.tree):
            if node.kind in (Kind.CALL, Kind.METHOD, Kind.BINARY):
                yield expression, node


# ---- null, has, size --------------------------------------------------------------------------


def _null_tests(workflow: Workflow) -> Iterator[Fault]:
    for expression, node in _calls(workflow):
        if node.text in ("==", "!=") and any(_is_null(child) for child in node.children):
            said = "null is absent before guards see it: use has(x), or x == [] and the like"
            yield Fault(expression, said, Severity.ERROR, node.at)


def _is_null(node: SyntaxNode) -> bool:
    return node.kind is Kind.LITERAL and node.value is None


def _sizes(workflow: Workflow) -> Iterator[Fault]:
    said = (
        "counting a filter looks at every item twice: write x.exists(..), !x.exists(..) or x.filter(..) == []"
    )
    for expression, node in _calls(workflow):
        compares = node.text in ("==", ">", "!=", "<")
        if compares and any(map(_is_filtered_size, node.children)) and any(map(_is_zero, node.children)):
            yield Fault(expression, said, Severity.WARNING, node.at)


def _is_zero(node: SyntaxNode) -> bool:
    return node.kind is Kind.LITERAL and node.value == 0 and node.value is not False


def _is_filtered_size(node: SyntaxNode) -> bool:
    return node.text == "size" and bool(node.children) and node.children[0].kind is Kind.LOOP


# ---- patterns ---------------------------------------------------------------------------------


def _patterns(workflow: Workflow) -> Iterator[Fault]:
    for expression, node in _calls(workflow):
        if node.text == "stage_ids" and node.children:
            yield from _fields(expression, node.children[0], _STAGE)
        # As a method `newest` has no pattern: its child is the list.
        if node.text in OF_RECORDS and node.kind is Kind.CALL:
            for pattern in node.children:
                yield from _record_pattern(expression, pattern)
        for position, pattern in enumerate(node.children if node.text in OF_TASKS else ()):
            if position == OF_TASKS[node.text]:
                yield from _fields(expression, pattern, _TASK)
            else:
                yield from _record_pattern(expression, pattern)


def _record_pattern(expression: Expression, pattern: SyntaxNode) -> Iterator[Fault]:
    yield from _fields(expression, pattern, _RECORD)
    for node in _maps(pattern):
        keys = {child.value for child in node.children[::2]}
        if "phase" in keys and not keys & {"kind", "outcome"}:
            said = "also matches starts and answers: a pattern that means a result says 'kind': 'report'"
            yield Fault(expression, said, Severity.WARNING, node.at)


def _fields(expression: Expression, pattern: SyntaxNode, thing: Thing) -> Iterator[Fault]:
    for key in (child for node in _maps(pattern) for child in node.children[::2]):
        name = str(key.value)
        if name not in thing.fields:
            yield _no_field(expression, thing, name, key.at)
        elif name in _LISTS:
            said = f"{name!r} is a list, and a pattern compares single values: use .filter(x, y in x.{name})"
            yield Fault(expression, said, offset=key.at)


def _no_field(expression: Expression, thing: Thing, name: str, offset: int) -> Fault:
    fields = list(thing.fields)
    said = f"{thing.name} has no field {name!r}{did_you_mean(name, fields)}"
    return Fault(expression, said, offset=offset, data=misspelling(name, fields))


def _maps(pattern: SyntaxNode) -> list[SyntaxNode]:
    """The maps that a pattern can be: itself, or the branches of a condition."""
    return [node for node in _branches(pattern) if node.kind is Kind.MAP]


def _branches(node: SyntaxNode) -> list[SyntaxNode]:
    if node.kind is Kind.CHOICE:
        return [leaf for child in node.children[1:] for leaf in _branches(child)]
    return [node]


# ---- fields of records and tasks --------------------------------------------------------------

# Methods that give a part of their list, or the same elements in another order.
_SAME = ("where", "after", "keep", "by", "reversed", "minus")


def _selected(workflow: Workflow) -> Iterator[Fault]:
    """Fields that a record, a task or a stage never has, and `has` of one that a record always has."""
    values = _known_values(workflow)
    for expression in expressions(workflow):
        tested = {id(node.children[0]) for node in walk(expression.tree) if node.kind is Kind.HAS}
        for node, names in _scoped(expression.tree, values):
            is_tested = id(node) in tested
            thing = _thing(node.children[0], names) if node.kind is Kind.FIELD else None
            if thing is None or thing.listed:
                continue
            if node.text not in thing.fields:
                yield _no_field(expression, thing, node.text, node.at)
            elif is_tested and thing is _RECORD:
                said = (
                    f"a record has every field: has(..{node.text}) is always true, compare it with '' or []"
                )
                yield Fault(expression, said, offset=node.at)


def _known_values(workflow: Workflow) -> dict[str, Thing | None]:
    """What values give, as far as it can be told; `report` is a record."""
    known: dict[str, Thing | None] = {"report": _RECORD}
    for name, value in workflow.values.items():
        # They stand in the order in which they use each other.
        known[name] = _thing(value.tree, known)
    return known


def _scoped(
    tree: SyntaxNode, names: Mapping[str, Thing | None]
) -> Iterator[tuple[SyntaxNode, Mapping[str, Thing | None]]]:
    """Every node with what the names in it are: a comprehension binds a name to the elements of its list."""
    yield tree, names
    inside = names
    if tree.kind is Kind.LOOP:
        listed = _thing(tree.children[0], names)
        element = listed._replace(listed=False) if listed else None
        inside = {**names, str(tree.value): _same(element)}
    for position, child in enumerate(tree.children):
        yield from _scoped(child, inside if position else names)


def _same(thing: Thing | None) -> Thing | None:
    return next((known for known in (_RECORD, _TASK, _STAGE) if thing == known), None)


def _thing(node: SyntaxNode, names: Mapping[str, Thing | None]) -> Thing | None:
    """What a node gives, None if that cannot be told."""
    if node.kind is Kind.NAME:
        return names.get(node.text)
    if node.kind is Kind.LOOP:
        return _thing(node.children[0], names) if node.text == "filter" else None
    if node.kind is Kind.CHOICE:
        first, second = (_thing(child, names) for child in node.children[1:])
        return first if first == second else None
    if node.kind is Kind.CALL:
        return _GIVES.get(node.text)
    if node.kind is Kind.METHOD and node.text in _SAME:
        return _thing(node.children[0], names)
    of = _thing(node.children[0], names) if node.kind is Kind.ITEM or node.text == "newest" else None
    return of and _same(of._replace(listed=False))


_GIVES: dict[str, Thing] = {
    "records": _RECORD._replace(listed=True),
    "records_since": _RECORD._replace(listed=True),
    "newest": _RECORD,
    "open_stage": _STAGE,
    **dict.fromkeys(OF_TASKS, _TASK._replace(listed=True)),
}


FIELD_CHECKS: tuple[Callable[[Workflow], Iterator[Fault]], ...] = (
    _null_tests,
    _sizes,
    _patterns,
    _selected,
)
