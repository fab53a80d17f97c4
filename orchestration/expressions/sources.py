"""The sources of an expression's value: what carries it, told from the text, apart from what only selects.

A pattern selects records and tasks: what is read for it is no source. Of `a || b` that is true, and of
`a ? b : c`, only the part that decided is one; which it was, an evaluation says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from .syntax import Kind, SyntaxNode, path_of
from .tokens import TYPE_NAMES

# By function, which of its arguments is the pattern of the records that it looks at.
_RECORD_PATTERNS: Mapping[str, int] = {
    "records": 0, "records_since": 1, "newest": 0, "count": 0, "count_since": 1, "verdicts": 0,
    "unreported": 1, "unreported_since": 2,
}  # fmt: skip
_OF_PLAN = ("tasks", "stage_ids", "open_stage", "unreported", "unreported_since")
Compile = Callable[[SyntaxNode], Callable[..., Any]]
# A pattern that does not say so in words may fit records of any kind.
ANY_KIND = "any"


@dataclass(frozen=True)
class Subexpression:
    """A part of an expression that can be evaluated by itself, and its sources."""

    node: SyntaxNode
    program_of: Compile
    sources: Sources

    @cached_property
    def program(self) -> Callable[..., Any]:
        """The closure that evaluates it."""
        return self.program_of(self.node)


class Choice(NamedTuple):
    """Parts of which one carries the value: of alternatives the first that is true (`test` is None; all of
    them where none is), else the test and the part that it chooses."""

    test: Subexpression | None
    parts: tuple[Subexpression, ...]

    @property
    def all(self) -> tuple[Subexpression, ...]:
        return (self.test, *self.parts) if self.test else self.parts


class Sources(NamedTuple):
    """`paths` are the names read, `kinds` those of the records looked at, `plan`: tasks or stages of it."""

    paths: tuple[tuple[str, ...], ...] = ()
    kinds: tuple[str, ...] = ()
    plan: bool = False
    choices: tuple[Choice, ...] = ()


def sources_of(tree: SyntaxNode, program_of: Compile) -> Sources:
    """The sources of a tree's value; `program_of` makes the programs of its parts."""
    return _Collector(program_of).collect(tree)


class _Collector:
    def __init__(self, program_of: Compile):
        self.program_of = program_of

    def collect(self, node: SyntaxNode, bound: frozenset[str] = frozenset()) -> Sources:
        """The sources of a node; inside of loops, which bind names, all parts of a choice are."""
        if path := path_of(node):
            return Sources() if path[0] in bound or path[0] in TYPE_NAMES else Sources((path,))
        if node.kind is Kind.CALL and (node.text in _RECORD_PATTERNS or node.text in _OF_PLAN):
            return self.of_call(node, bound)
        is_choice = node.kind is Kind.CHOICE
        if not bound and (is_choice or (node.kind is Kind.LOGIC and node.text == "||")):
            test, *parts = map(self.part, node.children)
            return Sources(choices=(Choice(test, (*parts,)) if is_choice else Choice(None, (test, *parts)),))
        inside = bound | {str(node.value)} if node.kind is Kind.LOOP else bound
        return _together(
            self.collect(child, inside if position else bound) for position, child in enumerate(node.children)
        )

    def part(self, node: SyntaxNode) -> Subexpression:
        return Subexpression(node, self.program_of, self.collect(node))

    def of_call(self, node: SyntaxNode, bound: frozenset[str]) -> Sources:
        """The records and tasks that a function selects. The stages that `open_stage` is given are data."""
        position = _RECORD_PATTERNS.get(node.text)
        kinds = _kinds(node.children[position]) if position is not None else ()
        given = node.children if node.text == "open_stage" else ()
        own = Sources(kinds=kinds, plan=node.text in _OF_PLAN)
        return _together([own, *(self.collect(child, bound) for child in given)])


def _kinds(pattern: SyntaxNode) -> tuple[str, ...]:
    """The kinds of records that a pattern names in words."""
    entries = (
        zip(pattern.children[::2], pattern.children[1::2], strict=True) if pattern.kind is Kind.MAP else ()
    )
    kind = next((value for key, value in entries if key.value == "kind"), None)
    words = () if kind is None else kind.children if kind.kind is Kind.LIST else (kind,)
    named = tuple(word.value for word in words if isinstance(word.value, str))
    return named if named and len(named) == len(words) else (ANY_KIND,)


def _together(sources: Iterable[Sources]) -> Sources:
    known = [*sources]
    return Sources(
        tuple(dict.fromkeys(path for each in known for path in each.paths)),
        tuple(dict.fromkeys(kind for each in known for kind in each.kinds)),
        any(each.plan for each in known),
        tuple(choice for each in known for choice in each.choices),
    )
