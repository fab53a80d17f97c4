"""The names of a workflow's expressions, and its expressions and templates, compiled when first evaluated."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from .checker import check_types, fits, type_in_words
from .evaluator import Program, compile_tree
from .functions import EDITS, FUNCTIONS
from .sources import Sources, sources_of
from .syntax import (
    MOST_TEMPLATE,
    ErrorData,
    InvalidExpression,
    Kind,
    Read,
    SyntaxNode,
    parse,
    reads,
    template_parts,
    walk,
)

# The longest dotted name of a fact has so many parts: limits.NAME.count.
MOST_PARTS = 3
_MAKERS = (Kind.LIST, Kind.MAP)
_BRACE = re.compile(r"[{}]")


@dataclass(frozen=True)
class Expression:
    """An expression as it was written; `want` is the type that it must have, `is_value` marks a value."""

    source: str
    language: Language = field(repr=False, compare=False)
    want: str = "any"
    is_value: bool = False

    @cached_property
    def tree(self) -> SyntaxNode:
        """Its syntax tree. Raises InvalidExpression."""
        return parse(self.source)

    @cached_property
    def type(self) -> str:
        """Its static type, as `checker` has them. Raises InvalidExpression with all errors of it."""
        kind, errors, data = check_types(self.tree, self.language)
        if kind == "optional" and not errors:
            errors = [(0, "may have no value; end it with .orValue(..)")]
        elif not errors and not fits(kind, self.want):
            errors = [(0, f"must be {type_in_words(self.want)}, is {type_in_words(kind)}")]
        if errors:
            raise InvalidExpression(errors, data)
        return kind

    @cached_property
    def program(self) -> Program:
        """The closure that evaluates it. Raises InvalidExpression only for a text that is no expression."""
        return compile_tree(self.tree, self.language)

    @cached_property
    def can_multiply(self) -> bool:
        """True if one part may stand in its value many times: written out that is more than was made."""
        return any(part.kind in _MAKERS or part.text in ("map", "as_keys", "+") for part in walk(self.tree))

    @cached_property
    def reads(self) -> tuple[Read, ...]:
        """The dotted paths it looks at, in the order of the text; names that it binds itself left out."""
        return tuple(reads(self.tree))

    @cached_property
    def paths(self) -> tuple[tuple[str, ...], ...]:
        """The paths of `reads`, each once."""
        return tuple(dict.fromkeys(read.path for read in self.reads))

    @cached_property
    def sources(self) -> Sources:
        """The part of `reads`, and the records, that carry its value."""
        return sources_of(self.tree, lambda node: compile_tree(node, self.language))


class Template(NamedTuple):
    """Plain text with `{expression}` in it; `parts` are text and expressions in turn."""

    source: str
    parts: tuple[str | Expression, ...]

    @property
    def expressions(self) -> list[Expression]:
        return [part for part in self.parts if isinstance(part, Expression)]


class Language:
    """The names a workflow's expressions may use.

    `variables` are bound at evaluation; `facts` are computed on demand; both map a name (dotted ones too) to
    its type. `edits` adds the functions that describe edits of a plan. The expressions of a `trusted`
    definition are known to be right: they are neither parsed nor checked before they are evaluated.
    """

    def __init__(
        self,
        variables: Mapping[str, str],
        facts: Mapping[str, str],
        edits: bool = False,
        trusted: bool = False,
    ):
        self.variables = dict(variables)
        self.facts = dict(facts)
        self.values: dict[str, Expression] = {}
        # By path, what `name_in` says of it: the same for every run.
        self._names: dict[tuple[str, ...], str] = {}
        self.edits = edits
        self.trusted = trusted

    def with_edits(self, variables: Mapping[str, str]) -> Language:
        """The language of effects: more variables, and the edits of a plan."""
        language = Language(self.variables | dict(variables), self.facts, True, self.trusted)
        language.values = self.values
        return language

    @property
    def names(self) -> list[str]:
        return [*self.variables, *self.facts, *FUNCTIONS, *(EDITS if self.edits else ())]

    def name_in(self, path: tuple[str, ...]) -> str:
        """The longest fact or variable that a path begins with, "" when it begins with none."""
        name = self._names.get(path)
        if name is None:
            known = (name for name in _prefixes(path) if name in self.facts or name in self.variables)
            name = self._names[path] = next(known, "")
        return name

    def type_of(self, name: str) -> str:
        """The type of a fact or variable; of a trusted value it is told when it is asked for."""
        kind = self.facts.get(name) or self.variables.get(name)
        return kind or self.values[name].type

    # ---- compiling

    def compile(self, source: str, want: str = "any", is_value: bool = False) -> Expression:
        """The expression. Raises InvalidExpression, if not trusted."""
        expression = Expression(source, self, want, is_value)
        if not self.trusted:
            _ = expression.type
        return expression

    def template(self, source: str) -> Template:
        """The template, each `{…}` compiled. Raises InvalidExpression with offsets into the template."""
        if len(source) > MOST_TEMPLATE:
            message = f"has {len(source)} characters, at most {MOST_TEMPLATE} are allowed"
            raise InvalidExpression([(0, message)])
        parts: list[str | Expression] = []
        errors: list[tuple[int, str]] = []
        data: ErrorData = {}
        for position, (text, start) in enumerate(template_parts(source)):
            try:
                parts.append(self.compile(text) if position % 2 else text)
            except InvalidExpression as error:
                errors += [(start + offset, message) for offset, message in error.errors]
                data |= {(start + at, message): each for (at, message), each in error.data.items()}
            # It would be no expression and no text.
            if stray := None if position % 2 else _BRACE.search(text):
                message = f"a single {stray[0]!r}; braces of maps cannot stand inside a template"
                errors.append((start + stray.start(), message))
        if errors:
            raise InvalidExpression(errors, data)
        return Template(source, tuple(parts))

    def infer(self, sources: Mapping[str, str]) -> dict[str, InvalidExpression]:
        """Make named values, which may use each other in any order, facts of this language (`values`).

        What comes back are the errors, by name; a value that has one is of any type for the others.
        """
        self.values = {name: Expression(source, self, is_value=True) for name, source in sources.items()}
        if self.trusted:
            self.facts |= dict.fromkeys(sources, "")
            return {}
        errors: dict[str, InvalidExpression] = {}
        waiting: dict[str, set[str]] = {}
        for name, value in self.values.items():
            try:
                used = {prefix for path in value.paths for prefix in _prefixes(path)}
            except InvalidExpression:
                used = set()
            waiting[name] = used & self.values.keys()
        checked: dict[str, Expression] = {}
        # Each value behind those it uses; of a circle first the one that its error is reported at.
        while waiting:
            level = [name for name, needs in waiting.items() if not needs & waiting.keys()]
            cycle = [] if level else _cycle(waiting)
            for name in level or cycle[:1]:
                del waiting[name]
                try:
                    if cycle:
                        raise InvalidExpression([(0, "uses itself: " + " -> ".join(cycle))])
                    self.facts[name] = self.values[name].type
                    checked[name] = self.values[name]
                except InvalidExpression as error:
                    errors[name] = error
                    self.facts[name] = "any"
        self.values = checked
        return errors


def _prefixes(path: tuple[str, ...]) -> list[str]:
    """Dotted names that a path may stand for, the longest first."""
    return [".".join(path[:length]) for length in range(min(len(path), MOST_PARTS), 0, -1)]


def _cycle(waiting: Mapping[str, set[str]]) -> list[str]:
    """Names that wait for each other, the first one again at the end."""
    path = [next(iter(waiting))]
    while True:
        step = min(name for name in waiting[path[-1]] if name in waiting)
        if step in path:
            return [*path[path.index(step) :], step]
        path.append(step)
