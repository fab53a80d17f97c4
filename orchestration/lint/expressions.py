"""The expressions of a definition, and checks of what they compare and select.

That is: fields, patterns, null, and what can only be true.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, NamedTuple

from ..definition.artifact_kinds import KINDS
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
    "status": "todo, in_progress, done, blocked, attention, cancelled or unknown",
    "done": "whether it is done or cancelled",
    "optional": "whether it holds nothing back",
    "word": "its status as the plan says it, where that is a word",
    "rank": "its turn among those that can start, the lowest first",
    "file": "its task file",
    "depends_on": "the tasks that it waits for",
    "parallel_with": "the tasks beside which it may be done",
    "files": "the files that it changes",
    "deletes": "those of its files that it takes away",
    "empty": "those of its files that may be empty",
    "unticked": "how many of its own criteria are not ticked",
    "ticked": "none of its own criteria is open",
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
_LISTS = (
    "tasks",
    "gates",
    "phases",
    "files",
    "deletes",
    "empty",
    "manual_criteria",
    "depends_on",
    "parallel_with",
)
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
    """The expressions of guards and templates; those of effects and of `set` have names of their own."""
    return [each for each in written_expressions(workflow) if each.language is workflow.language]


def written_expressions(workflow: Workflow) -> list[Expression]:
    """The expressions of guards, templates and effects: all but samples of reports and markers."""
    others = (*workflow.phases.values(), *workflow.actions.values())
    tests = workflow.runs.marker.tests
    apart = {id(other.data) for other in others} | {id(test.where) for test in tests}
    return [origin.expression for origin in workflow.places.values() if id(origin.expression) not in apart]


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
            for head, *rest in (read.path for read in current.reads):
                name = rest[0] if rest else ""
                scope = workflow.questions[name].scope if name in workflow.questions else None
                if head in workflow.values:
                    waiting.append(workflow.values[head])
                elif head == "limits" and name in workflow.limits:
                    waiting += (workflow.limits[name].count, workflow.limits[name].max)
                elif head == "answers" and scope:
                    waiting.append(scope)


class Thing(NamedTuple):
    """The known value of an expression: one thing of a kind, or a list of such."""

    name: str
    fields: Collection[str]
    listed: bool = False


RECORD = Thing("a record", FIELDS)
_HANDED_IN = Thing("a report", {*FIELDS, "data", "text", "stateUpdates"})
TASK = Thing("a task", TASK_FIELDS)
_STAGE = Thing("a stage", STAGE_FIELDS)


def _calls(workflow: Workflow) -> Iterator[tuple[Expression, SyntaxNode]]:
    for expression in expressions(workflow):
        for node in walk(expression.tree):
            if node.kind in (Kind.CALL, Kind.METHOD, Kind.BINARY):
                yield expression, node


# ---- keys of artifacts ------------------------------------------------------------------------


def _artifact_keys(workflow: Workflow) -> Iterator[Fault]:
    """Keys that the data of an artifact's kind never has, however its file is written."""
    for expression in expressions(workflow):
        for (head, *rest), offset in expression.reads:
            artifact = workflow.artifacts.get(head)
            kind = KINDS.get(artifact.kind) if artifact and not artifact.listed else None
            if artifact is None or kind is None or not kind.fields or not rest:
                continue
            name, known = rest[0], [*kind.fields, *artifact.defaults]
            if name not in known:
                said = f"{head} is of the kind {artifact.kind}, which has no {name!r}"
                said += did_you_mean(name, known)
                yield Fault(expression, said, offset=offset, data=misspelling(name, known))


# ---- null, has, size --------------------------------------------------------------------------


def _comparisons(workflow: Workflow) -> Iterator[Fault]:
    """Comparisons with null, and of the size of a filter with 0."""
    for expression, node in _calls(workflow):
        literals = [child.value for child in node.children if child.kind is Kind.LITERAL]
        if node.text in ("==", "!=") and None in literals:
            said = "null is absent before guards see it: use has(x), or x == [] and the like"
            yield Fault(expression, said, Severity.ERROR, node.at)
        counts = any(
            child.text == "size" and child.children and child.children[0].kind is Kind.LOOP
            for child in node.children
        )
        is_zero = any(value == 0 and value is not False for value in literals)
        if counts and is_zero and node.text in ("==", ">", "!=", "<"):
            said = "counting a filter looks at every item twice: "
            said += "write x.exists(..), !x.exists(..) or x.filter(..) == []"
            yield Fault(expression, said, Severity.WARNING, node.at)


# ---- patterns ---------------------------------------------------------------------------------


def _patterns(workflow: Workflow) -> Iterator[Fault]:
    for expression, node in _calls(workflow):
        if node.text == "stage_ids" and node.children:
            yield from _fields(expression, node.children[0], _STAGE)
        # As a method `newest` has no pattern: its child is the list.
        of_records = node.text in OF_RECORDS and node.kind is Kind.CALL
        for position, pattern in enumerate(node.children if of_records or node.text in OF_TASKS else ()):
            if position == OF_TASKS.get(node.text):
                yield from _fields(expression, pattern, TASK)
            else:
                yield from _record_pattern(expression, pattern)


def _record_pattern(expression: Expression, pattern: SyntaxNode) -> Iterator[Fault]:
    yield from _fields(expression, pattern, RECORD)
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
    if pattern.kind is Kind.CHOICE:
        return [leaf for child in pattern.children[1:] for leaf in _maps(child)]
    return [pattern] if pattern.kind is Kind.MAP else []


# ---- fields of records and tasks --------------------------------------------------------------

# Methods that give a part of their list, or the same elements in another order.
_SAME = ("where", "after", "keep", "by", "reversed", "minus")


def _unknown_fields(workflow: Workflow) -> Iterator[Fault]:
    """Fields that a record, a task or a stage never has, and `has` of one that a record always has."""
    values = things(workflow)
    of_reports = set(map(id, _handout_expressions(workflow)))
    for expression in expressions(workflow):
        known = values | {"report": _HANDED_IN} if id(expression) in of_reports else values
        tested = {id(node.children[0]) for node in walk(expression.tree) if node.kind is Kind.HAS}
        for node, names in walk_scopes(expression.tree, known):
            thing = thing_of(node.children[0], names) if node.kind is Kind.FIELD else None
            if thing is None or thing.listed:
                continue
            if node.text not in thing.fields:
                yield _no_field(expression, thing, node.text, node.at)
            elif id(node) in tested and thing == RECORD:
                said = "a record has every field: "
                said += f"has(..{node.text}) is always true, compare it with '' or []"
                yield Fault(expression, said, offset=node.at)


def _handout_expressions(workflow: Workflow) -> Iterator[Expression]:
    """The expressions in which `report` is the report at hand, with its data and text."""
    for step in (*workflow.phases.values(), *workflow.actions.values()):
        if brings := step.brings:
            yield from brings.expressions


def things(workflow: Workflow) -> dict[str, Thing | None]:
    """The things that the names of a workflow's expressions stand for."""
    names: dict[str, Thing | None] = {"report": RECORD}
    for name, value in workflow.values.items():
        # They stand in the order in which they use each other.
        names[name] = thing_of(value.tree, names)
    return names


def walk_scopes(
    tree: SyntaxNode, names: Mapping[str, Thing | None]
) -> Iterator[tuple[SyntaxNode, Mapping[str, Thing | None]]]:
    """Every node with what the names in it are: a comprehension binds a name to the elements of its list."""
    yield tree, names
    inside = names
    if tree.kind is Kind.LOOP:
        listed = thing_of(tree.children[0], names)
        inside = {**names, str(tree.value): listed and listed._replace(listed=False)}
    for position, child in enumerate(tree.children):
        yield from walk_scopes(child, inside if position else names)


def thing_of(node: SyntaxNode, names: Mapping[str, Thing | None]) -> Thing | None:
    """The thing that a node gives, None if that cannot be told."""
    if node.kind is Kind.NAME:
        return names.get(node.text)
    if node.kind is Kind.LOOP:
        return thing_of(node.children[0], names) if node.text == "filter" else None
    if node.kind is Kind.CHOICE:
        first, second = (thing_of(child, names) for child in node.children[1:])
        return first if first == second else None
    if node.kind is Kind.CALL:
        return _GIVES.get(node.text)
    if node.kind is Kind.METHOD and node.text in _SAME:
        return thing_of(node.children[0], names)
    of = thing_of(node.children[0], names) if node.kind is Kind.ITEM or node.text == "newest" else None
    return of and of._replace(listed=False)


_GIVES: dict[str, Thing] = {
    "records": RECORD._replace(listed=True),
    "records_since": RECORD._replace(listed=True),
    "newest": RECORD,
    "open_stage": _STAGE,
    **dict.fromkeys(OF_TASKS, TASK._replace(listed=True)),
}


FIELD_CHECKS: tuple[Callable[[Workflow], Iterator[Fault]], ...] = (
    _comparisons, _patterns, _unknown_fields, _artifact_keys,
)  # fmt: skip
