"""The language of a workflow's expressions: which names it has, and how a text is compiled.

With `cel_environment.py`, imported when CEL is needed first, the only module that knows CEL. Facts (values,
limits, answers, `phase` ...) are calls in the text that CEL evaluates, so that each is computed at most
once and only when it is needed; for messages the text is compiled once more as it was written, with the
facts as variables.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from .cel_errors import complaints, reason
from .cel_tree import Tree, decode
from .fast_nodes import Plain
from .fast_parser import plain
from .functions import FUNCTION_NAMES, Evaluation
from .source import (
    ELEMENTS,
    HANDLE,
    SET_FUNCTIONS,
    Read,
    masked,
    prefixes,
    reads,
    rewritten,
    stray_brace,
    template_parts,
)  # fmt: skip

if TYPE_CHECKING:
    from cel_expr_python import cel

# The types that a fact can have; others are any.
FACT_TYPES = ("bool", "int", "double", "string", "timestamp", "list", "map", "any")
# The types of values in general.
TYPES = (*FACT_TYPES, "strings", "null")
# The most characters of one expression, and of a text with expressions in it.
MOST_CHARACTERS, MOST_TEMPLATE = 2000, 10_000


class BadExpression(Exception):  # noqa: N818 - the expression is bad; no program error
    """An expression that does not compile; `errors` holds (offset, message), offsets in code points."""

    def __init__(self, errors: Sequence[tuple[int, str]]):
        super().__init__("; ".join(message for _, message in errors))
        self.errors = tuple(errors)


class Outcome(NamedTuple):
    """What an expression came to: a value, or the reason why there is none."""

    value: Any
    error: str | None = None


class Compiled(NamedTuple):
    """`type` is one of TYPES. `is_set`: the program gives a handle of a set of tasks, not the list itself."""

    type: str
    program: cel.Expression
    is_set: bool = False


@dataclass(frozen=True)
class Expression:
    """An expression as it was written, compiled when first needed or before (`Language.compile`)."""

    source: str
    language: Language = field(repr=False, compare=False)
    want: str | None = None
    is_value: bool = False

    @cached_property
    def compiled(self) -> Compiled:
        """Raises BadExpression, unless it was compiled before."""
        return self.language.program(self)

    @property
    def type(self) -> str:
        return self.compiled.type

    @cached_property
    def plain(self) -> Plain | None:
        """What tells its value without CEL, where the expression is so plain: most are."""
        return plain(self.source, self.language)

    @property
    def is_set(self) -> bool:
        """Whether its value is a handle of a set of tasks."""
        if self.plain is not None:
            return self.is_value and self.plain.handle is not None
        return self.compiled.is_set

    @cached_property
    def reads(self) -> tuple[Read, ...]:
        """The dotted paths it looks at, in the order of the text; names that it binds itself left out."""
        return tuple(reads(self.source))

    @cached_property
    def paths(self) -> tuple[tuple[str, ...], ...]:
        """The paths of `reads`, each once."""
        return tuple(dict.fromkeys(read.path for read in self.reads))

    @cached_property
    def tree(self) -> Tree:
        """Its syntax tree, for checks of definitions; evaluation does not need one."""
        return decode(_bare().compile(self.source, disable_check=True).serialize())

    def run(self, activation: cel.Activation, evaluation: Evaluation) -> Outcome:
        """What it comes to, as CEL tells it."""
        from .cel_environment import evaluated

        try:
            value, error = evaluated(self.compiled.program, activation, evaluation)
        except (RuntimeError, TypeError, ValueError, SystemError) as raised:
            value, error = None, str(raised)
        return Outcome(None, reason(error)) if error else Outcome(value)


class Template(NamedTuple):
    """Plain text with `{expression}` in it; `parts` are text and expressions in turn."""

    source: str
    parts: tuple[str | Expression, ...]

    @property
    def expressions(self) -> list[Expression]:
        return [part for part in self.parts if isinstance(part, Expression)]


@cache
def _bare() -> cel.Env:
    """The environment for parsing alone. Made late: runs of built-in workflows need none."""
    return _environment({})


def _environment(variables: Mapping[str, str], edits: bool = False) -> cel.Env:
    from .cel_environment import environment

    return environment(variables, edits)


class Language:
    """The names a workflow's expressions may use.

    `variables` are bound at evaluation and converted when first touched; `facts` are computed on demand;
    both map a name (dotted ones too) to one of TYPES. `edits` adds the functions that describe edits of a
    plan. The expressions of a `trusted` definition are known to be right and compiled when first used.
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
        return [*self.variables, *self.facts, *FUNCTION_NAMES]

    @cached_property
    def environment(self) -> cel.Env:
        return _environment(self.variables, self.edits)

    # ---- compiling

    def compile(self, source: str, want: str | None = None, is_value: bool = False) -> Expression:
        """The expression; `want` is one of TYPES that it must have. Raises BadExpression, if not trusted."""
        expression = Expression(source, self, want, is_value)
        if not self.trusted:
            _ = expression.compiled
        return expression

    def template(self, source: str) -> Template:
        """The template, each `{…}` compiled. Raises BadExpression with offsets into the template."""
        if len(source) > MOST_TEMPLATE:
            raise BadExpression([(0, f"has {len(source)} characters, at most {MOST_TEMPLATE} are allowed")])
        parts: list[str | Expression] = []
        errors: list[tuple[int, str]] = []
        for position, (text, start) in enumerate(template_parts(source)):
            try:
                parts.append(self.compile(text) if position % 2 else text)
            except BadExpression as error:
                errors += [(start + offset, message) for offset, message in error.errors]
            stray = None if position % 2 else stray_brace(text)
            if stray is not None:
                errors.append((start + stray, _STRAY.format(text[stray])))
        if errors:
            raise BadExpression(errors)
        return Template(source, tuple(parts))

    def infer(self, sources: Mapping[str, str]) -> dict[str, BadExpression]:
        """Make named values, which may use each other in any order, facts of this language (`values`).

        What comes back are the errors, by name; a value that has one is of any type for the others.
        """
        if self.trusted:
            self.facts |= dict.fromkeys(sources, "")
            self.values = {name: self.compile(source, is_value=True) for name, source in sources.items()}
            return {}
        errors: dict[str, BadExpression] = {}
        for name, circle in _in_order(sources):
            try:
                if circle:
                    raise BadExpression([(0, "uses itself: " + " -> ".join(circle))])
                self.values[name] = self.compile(sources[name], is_value=True)
            except BadExpression as error:
                errors[name] = error
            self.facts[name] = "any" if name in errors else self.values[name].type
        return errors

    def name_in(self, path: tuple[str, ...]) -> str:
        """The longest fact or variable that a path begins with, "" when it begins with none."""
        name = self._names.get(path)
        if name is None:
            known = (name for name in prefixes(path) if name in self.facts or name in self.variables)
            name = self._names[path] = next(known, "")
        return name

    def is_set(self, name: str) -> bool:
        """Whether a name is a value that holds a set of tasks."""
        return name in self.values and self.values[name].is_set

    def program(self, expression: Expression) -> Compiled:
        """Compile an expression. Raises BadExpression."""
        source = expression.source
        if len(source) > MOST_CHARACTERS:
            raise BadExpression([(0, f"has {len(source)} characters, at most {MOST_CHARACTERS} are allowed")])
        private = _PRIVATE.search(masked(source))
        if private:
            raise BadExpression([(private.start(), f"unknown name {private[0]!r}")])
        self._refuse_has(source)
        sets = {name for read in reads(source) for name in prefixes(read.path) if self.is_set(name)}
        program = self._checked(source, self._rewritten(source, sets))
        kind = _type_word(program.return_type())
        _require(kind, expression.want)
        if expression.is_value and kind == "list" and (sets or _SETS.search(source)):
            as_set = self._as_set(source, sets)
            return Compiled(kind, as_set or program, as_set is not None)
        return Compiled(kind, program)

    def _refuse_has(self, source: str) -> None:
        """has(valid.A) and the like would be true whatever `valid.A` is."""
        for read in reads(source) if "has" in source else ():
            name = ".".join(read.path)
            known = name in self.facts or name in self.variables
            if known and len(read.path) > 1 and _HAS.search(source[: read.offset]):
                raise BadExpression([(read.offset, f"has({name}) is always true; use {name}")])

    def _rewritten(self, source: str, sets: Collection[str], use: str = ELEMENTS) -> str:
        return rewritten(source, self._call, self.facts, sets, use)

    def _call(self, name: str, use: str) -> str:
        return f"__fact_{self._fact_type(name) if use == ELEMENTS else use}('{name}')"

    def _fact_type(self, name: str) -> str:
        kind = self.facts[name] or self.values[name].type
        return kind if kind in FACT_TYPES else "any"

    def _as_set(self, source: str, sets: Collection[str]) -> cel.Expression | None:
        """The program that gives a handle, if every list that the value can be is a set of tasks."""
        try:
            program = self.environment.compile(self._rewritten(source, sets, HANDLE))
        except RuntimeError:
            return None
        from .cel_environment import HANDLE_TYPE

        return program if program.return_type().name() == HANDLE_TYPE else None

    def _checked(self, source: str, text: str) -> cel.Expression:
        try:
            return self.environment.compile(text)
        except RuntimeError as error:
            raise BadExpression(self._errors(source, str(error))) from None

    # ---- messages

    @cached_property
    def _written(self) -> cel.Env:
        """The environment in which facts are variables: it takes expressions as they were written."""
        facts = {name: self._fact_type(name) for name in self.facts}
        return _environment(self.variables | facts, self.edits)

    def _errors(self, source: str, report: str) -> list[tuple[int, str]]:
        try:
            self._written.compile(source)
        except RuntimeError as error:
            report = str(error)
        return complaints(source, report, self.names)


# Names of the calls that stand for facts and sets; nobody writes them.
_PRIVATE = re.compile(r"(?<![\w.])__\w+(?=\s*\()")
_HAS = re.compile(r"(?<![\w.])has\s*\(\s*\Z")
_SETS = re.compile(rf"\b(?:{'|'.join(SET_FUNCTIONS)})\b")
_STRAY = "a single {0!r}; braces of maps cannot stand inside a template"


def _require(kind: str, want: str | None) -> None:
    if kind == "optional":
        raise BadExpression([(0, "may have no value; end it with .orValue(..)")])
    if want and kind not in (want, "any") and (want, kind) != ("strings", "list"):
        raise BadExpression([(0, f"must be {_A[want]}, is {_A.get(kind, kind)}")])


_A = {
    "bool": "true or false",
    "int": "a whole number",
    "string": "text",
    "list": "a list",
    "strings": "a list of text",
    "map": "a map",
}


def _type_word(kind: cel.Type) -> str:
    name = kind.name()
    for start, word in (("LIST", "list"), ("MAP", "map"), ("optional", "optional")):
        if name.startswith(start):
            return word
    word = {"NULL_TYPE": "null"}.get(name, name.lower())
    return word if word in TYPES else "any"


def _in_order(sources: Mapping[str, str]) -> Iterator[tuple[str, list[str]]]:
    """(name, []) of each value behind those it uses; of a circle first (name, the names of the circle)."""
    waiting = {
        name: {prefix for read in _short_reads(source) for prefix in prefixes(read.path) if prefix in sources}
        for name, source in sources.items()
    }
    while waiting:
        level = [name for name, needs in waiting.items() if not needs & waiting.keys()]
        circle = [] if level else _circle(waiting)
        for name in level or circle[:1]:
            yield name, circle
            del waiting[name]


def _short_reads(source: str) -> list[Read]:
    """What an expression reads; nothing where it is refused for its length."""
    return reads(source) if len(source) <= MOST_CHARACTERS else []


def _circle(waiting: Mapping[str, set[str]]) -> list[str]:
    """Names that wait for each other, the first one again at the end."""
    path = [next(iter(waiting))]
    while True:
        step = min(name for name in waiting[path[-1]] if name in waiting)
        if step in path:
            return [*path[path.index(step) :], step]
        path.append(step)
