"""Guards that no data can make true, or none can make false.

A guard is brought into its disjunctive normal form: alternatives, each a list of conditions that must all
hold. It is never true when every alternative wants two things of one value that exclude each other.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import NamedTuple

from ..definition.model import Workflow
from ..expressions.syntax import Kind, SyntaxNode, path_of, walk
from ..findings import Severity
from .expressions import Fault, written_expressions

# A guard with more alternatives than this is not looked at: its form grows with their product.
MOST_ALTERNATIVES = 64
_ORDER = {"<": ("<", ">="), "<=": ("<=", ">"), ">": (">", "<="), ">=": (">=", "<")}
_MIRRORED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


class Condition(NamedTuple):
    """A condition of one alternative on a subject: `is` true, `in` some constants, a bound, or none of it."""

    subject: Hashable
    name: str
    sign: str
    values: tuple[object, ...]
    holds: bool


_Alternative = tuple[Condition, ...]


def contradictions(workflow: Workflow) -> Iterator[Fault]:
    """The innermost conjunctions that can never be true, and disjunctions that can never be false."""
    forms = _Forms(workflow)
    for expression in written_expressions(workflow):
        found: set[int] = set()
        for node in reversed(list(walk(expression.tree))):
            if any(id(child) in found for child in node.children):
                found.add(id(node))
            elif node.kind is Kind.LOGIC:
                conflict = forms.conflict(node, node.text == "&&")
                if conflict is not None:
                    found.add(id(node))
                    never = "true" if node.text == "&&" else "false"
                    of = f": what it asks of {conflict} excludes itself" if conflict else ""
                    yield Fault(expression, f"this can never be {never}{of}", Severity.WARNING, node.at)


class _Forms:
    """The normal forms of a workflow's expressions; those of its values are made once."""

    def __init__(self, workflow: Workflow):
        # A name that some loop binds as well may mean an element there.
        trees = [expression.tree for expression in written_expressions(workflow)]
        bound = {node.value for tree in trees for node in walk(tree) if node.kind is Kind.LOOP}
        self.values = {
            name: value.tree
            for name, value in workflow.values.items()
            if value.type == "bool" and name not in bound
        }
        self.known: dict[tuple[str, bool], list[_Alternative]] = {}

    def conflict(self, node: SyntaxNode, holds: bool) -> str | None:
        """The name of what an expression contradicts itself about, "" if it has none; None if sound."""
        alternatives = self.alternatives(node, holds)
        conflicts = [_conflict(alternative) for alternative in alternatives]
        return next((name for name in conflicts if name is not None), "") if None not in conflicts else None

    def alternatives(self, node: SyntaxNode, holds: bool) -> list[_Alternative]:
        """The disjunctive normal form of an expression, or of its denial."""
        if node.kind is Kind.UNARY and node.text == "!":
            return self.alternatives(node.children[0], not holds)
        if node.kind is Kind.LOGIC:
            parts = [self.alternatives(child, holds) for child in node.children]
            return (
                _all_of(parts, node, holds) if (node.text == "&&") is holds else _any_of(parts, node, holds)
            )
        if node.kind is Kind.CHOICE:
            test, then, other = node.children
            first = _all_of([self.alternatives(test, True), self.alternatives(then, holds)], then, holds)
            second = _all_of([self.alternatives(test, False), self.alternatives(other, holds)], other, holds)
            return _any_of([first, second], node, holds)
        if isinstance(node.value, bool) and node.kind is Kind.LITERAL:
            return [()] if node.value is holds else []
        if node.kind is Kind.NAME and node.text in self.values:
            return self.of_value(node, holds)
        return [(_condition(node, holds),)]

    def of_value(self, node: SyntaxNode, holds: bool) -> list[_Alternative]:
        """The form of a value. One that contradicts itself is told where it stands, not where it is used."""
        key = (node.text, holds)
        if key not in self.known:
            own = _condition(node, holds)
            inside = self.alternatives(self.values[node.text], holds)
            sound = any(_conflict(alternative) is None for alternative in inside)
            self.known[key] = [(own, *alternative) for alternative in inside] if sound else [(own,)]
        return self.known[key]


def _any_of(parts: Iterable[list[_Alternative]], node: SyntaxNode, holds: bool) -> list[_Alternative]:
    alternatives = [alternative for part in parts for alternative in part]
    return alternatives if len(alternatives) <= MOST_ALTERNATIVES else [(_condition(node, holds),)]


def _all_of(parts: Iterable[list[_Alternative]], node: SyntaxNode, holds: bool) -> list[_Alternative]:
    alternatives: list[_Alternative] = [()]
    for part in parts:
        alternatives = [(*first, *second) for first in alternatives for second in part]
        if len(alternatives) > MOST_ALTERNATIVES:
            return [(_condition(node, holds),)]
    return alternatives


def _condition(node: SyntaxNode, holds: bool) -> Condition:
    """The condition that an expression without `&&` and `||` puts on the side it compares with constants."""
    if node.kind is Kind.BINARY:
        left, right = node.children
        sign, subject, constant = node.text, left, right
        if left.kind is Kind.LITERAL and sign in _MIRRORED:
            sign, subject, constant = _MIRRORED[sign], right, left
        plain = constant.kind is Kind.LIST and all(one.kind is Kind.LITERAL for one in constant.children)
        if sign == "in" and plain and not any(constant.flags):
            values = tuple(child.value for child in constant.children)
            return Condition(_form(subject), _name(subject), "in", values, holds)
        if sign in ("==", "!=") and constant.kind is Kind.LITERAL:
            return Condition(_form(subject), _name(subject), "in", (constant.value,), holds is (sign == "=="))
        if sign in _ORDER and type(constant.value) in (int, float):
            bound = _ORDER[sign][0 if holds else 1]
            return Condition(_form(subject), _name(subject), bound, (constant.value,), True)
        if sign == "!=":
            return Condition(_form(node._replace(text="==")), _name(left), "is", (), not holds)
    return Condition(_form(node), _name(node), "is", (), holds)


def _form(node: SyntaxNode) -> Hashable:
    """An expression without its places: two that read alike are the same."""
    value = None if node.kind is Kind.LOGIC else (type(node.value).__name__, node.value)
    return (node.kind, node.text, value, tuple(_form(child) for child in node.children))


def _name(node: SyntaxNode) -> str:
    return ".".join(path_of(node))


def _conflict(alternative: _Alternative) -> str | None:
    """The name of the first subject of which an alternative wants what excludes itself."""
    by_subject: dict[Hashable, list[Condition]] = {}
    for condition in alternative:
        by_subject.setdefault(condition.subject, []).append(condition)
    return next((group[0].name for group in by_subject.values() if not _agree(group)), None)


def _agree(conditions: list[Condition]) -> bool:
    """Satisfiability of the conditions on one subject."""
    if len({condition.holds for condition in conditions if condition.sign == "is"}) > 1:
        return False
    bounds = [(condition.sign, condition.values[0]) for condition in conditions if condition.sign in _ORDER]
    listed = [(_keys(one.values), one.holds) for one in conditions if one.sign == "in"]
    wanted = [keys for keys, holds in listed if holds]
    if wanted:
        left = set.intersection(*wanted).difference(*(keys for keys, holds in listed if not holds))
        return any(all(_within(value, sign, bound) for sign, bound in bounds) for _, value in left)
    return all(_room(low, high) for low in bounds for high in bounds)


def _keys(values: Iterable[object]) -> set[tuple[bool, object]]:
    """Constants as members of a set: `true` is not 1."""
    return {(isinstance(value, bool), value) for value in values}


def _within(value: object, sign: str, bound: object) -> bool:
    if type(value) not in (int, float):
        return False
    return {"<": value < bound, "<=": value <= bound, ">": value > bound, ">=": value >= bound}[sign]  # type: ignore[operator]


def _room(low: tuple[str, object], high: tuple[str, object]) -> bool:
    """False of a lower bound that is above an upper one."""
    if low[0][0] != ">" or high[0][0] != "<":
        return True
    strict = "=" not in low[0] or "=" not in high[0]
    return low[1] < high[1] or (low[1] == high[1] and not strict)  # type: ignore[operator]
