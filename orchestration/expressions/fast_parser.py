"""Plain expressions, told without CEL: facts, literals, patterns, logic, and a little about lists.

Most expressions are plain, and to hand their values to CEL and back costs more than to tell them here. What
is told is what CEL tells, or nothing: an expression with anything else in it is not plain, and wherever
types or a missing value could matter `Doubt` is raised and CEL is asked. No loop takes more than
`MOST_ITEMS` steps, and loops within loops no more than `MOST_STEPS` together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from . import fast_nodes as parts
from . import fast_values as values
from .fast_nodes import Names, NotPlainError, Plain, Run
from .functions import METHODS, QUERIES, TASK_SETS
from .source import RESERVED, prefixes


def plain(source: str, names: Names) -> Plain | None:
    """The expression, None if it is not plain. `source` is one that CEL accepts."""
    try:
        reader = _Reader(_tokens(source), names)
        found = reader.choice()
    except NotPlainError:
        return None
    if reader.at < len(reader.tokens):
        return None
    run = parts.looked_up(found) or found.run
    return found._replace(run=parts.of_values(values.sure, run))


_TOKEN = re.compile(
    r"\s*(?:('[^'\\\n]*'|\"[^\"\\\n]*\")|(\d+)(?![\w.])|([A-Za-z_]\w*)|(\|\||&&|[=!<>]=|[-+*!?:.,<>(){}\[\]]))"
)


_LEFT_TO_CEL = RESERVED - {"has"}


class _Token(NamedTuple):
    kind: str
    text: str


def _tokens(source: str) -> list[_Token]:
    found, at, source = [], 0, source.rstrip()
    while at < len(source):
        match = _TOKEN.match(source, at)
        if match is None:
            raise NotPlainError
        kind = ("text", "number", "name", "sign")[(match.lastindex or 1) - 1]
        found.append(_Token(kind, match[match.lastindex or 1]))
        at = match.end()
    return found


class _Reader:
    """One walk over the tokens, one method a level of binding; each gives what its part comes to."""

    def __init__(self, tokens: Sequence[_Token], names: Names):
        self.tokens, self.names, self.at = tokens, names, 0
        # Signs and words by their places; a literal text is none, and behind the end there is none.
        self.signs = ["" if token.kind == "text" else token.text for token in tokens] + [""] * 3
        self.bound: tuple[str, ...] = ()

    # ---- tokens

    def take(self, sign: str) -> bool:
        found = self.signs[self.at] == sign
        self.at += found
        return found

    def need(self, sign: str) -> None:
        if not self.take(sign):
            raise NotPlainError

    def next(self, kind: str) -> str:
        """The text of the next token, which must be of a kind."""
        if self.at >= len(self.tokens) or self.tokens[self.at].kind != kind:
            raise NotPlainError
        self.at += 1
        return self.tokens[self.at - 1].text

    def several(self, end: str, one: Callable[[], Any]) -> list[Any]:
        """What stands between commas up to a closing sign."""
        found = []
        while not self.take(end):
            if found:
                self.need(",")
            found.append(one())
        return found

    # ---- levels

    def choice(self) -> Plain:
        test = self.either()
        if not self.take("?"):
            return test
        yes = self.either()
        self.need(":")
        no = self.choice()
        return Plain(
            parts.chosen(test.run, yes.run, no.run),
            parts.chosen(test.run, yes.size, no.size),
            parts.chosen(test.run, yes.handle, no.handle),
        )

    def either(self) -> Plain:
        found = [self.both()]
        while self.take("||"):
            found.append(self.both())
        return found[0] if len(found) == 1 else Plain(parts.any_of([part.run for part in found]))

    def both(self) -> Plain:
        found = [self.relation()]
        while self.take("&&"):
            found.append(self.relation())
        return found[0] if len(found) == 1 else Plain(parts.all_of([part.run for part in found]))

    def relation(self) -> Plain:
        left, sign = self.sum(), self.signs[self.at]
        if sign not in values.RELATIONS:
            return left
        self.at += 1
        return self._related(left, sign, values.RELATIONS[sign], self.sum())

    def _related(self, left: Plain, sign: str, told: Callable[[Any, Any], bool], right: Plain) -> Plain:
        if right.constant == [] and sign in ("==", "!="):
            size, wanted = left.size or parts.of_values(values.size_of_list, left.run), sign == "=="
            return Plain(lambda context, bound: (size(context, bound) == 0) is wanted)
        fact = "" if right.constant is None else left.fact
        return Plain(parts.of_values(told, left.run, right.run), fact=fact)

    def sum(self) -> Plain:
        left = self.product()
        while self.signs[self.at] in values.SUMS:
            told = values.SUMS[self.next("sign")]
            left = Plain(parts.of_values(told, left.run, self.product().run))
        return left

    def product(self) -> Plain:
        left = self.unary()
        while self.take("*"):
            left = Plain(parts.of_values(values.times, left.run, self.unary().run))
        return left

    def unary(self) -> Plain:
        if not self.take("!"):
            return self.member()
        of = self.unary()
        inner = of.run
        return Plain(lambda context, bound: not values.flag(inner(context, bound)), fact=of.fact)

    def member(self) -> Plain:
        found = self.primary()
        while self.signs[self.at] in (".", "["):
            if self.take("["):
                found = Plain(parts.of_values(values.item, found.run, self._index()))
                continue
            self.at += 1
            optional = self.take("?")
            name = self.next("name")
            if self.take("("):
                found = self._method(found, name) if not optional else self._no()
            else:
                found = parts.selected(found, name, optional)
        return self._no() if found.optional else found

    def _index(self) -> Run:
        found = self.choice().run
        self.need("]")
        return found

    def _no(self) -> Plain:
        raise NotPlainError

    def primary(self) -> Plain:
        if self.take("("):
            inner = self.choice()
            self.need(")")
            return inner
        if self.take("["):
            return parts.list_of([part.run for part in self.several("]", self.choice)])
        if self.take("{"):
            return parts.map_of(self.several("}", self._entry))
        kind = self.tokens[self.at].kind if self.at < len(self.tokens) else ""
        if kind == "text":
            return parts.constant(self.next("text")[1:-1])
        if kind == "number":
            return parts.constant(parts.literal(self.next("number")))
        return self._word(self.next("name"))

    def _entry(self) -> tuple[str, Run]:
        name = self.next("text")[1:-1]
        self.need(":")
        return name, self.choice().run

    def _word(self, name: str) -> Plain:
        if name in ("true", "false"):
            return parts.constant(name == "true")
        if name in _LEFT_TO_CEL:
            raise NotPlainError
        if self.take("("):
            return self._has() if name == "has" else self._function(name)
        if name in self.bound:
            return Plain(lambda context, bound: bound[name])
        return self._named(name)

    def _named(self, name: str) -> Plain:
        """A fact or variable: the longest name that the dotted words make."""
        words = [name]
        at = self.at
        while self.signs[at] == "." and self.signs[at + 1].isidentifier() and self.signs[at + 2] != "(":
            words.append(self.signs[at + 1])
            at += 2
        for known in prefixes(words):
            if known in self.names.facts or known in self.names.variables:
                self.at += 2 * known.count(".")
                return parts.fact(known, self.names) if known in self.names.facts else parts.variable(known)
        raise NotPlainError

    # ---- calls

    def _has(self) -> Plain:
        inner = self.member()
        self.need(")")
        if inner.selected is None:
            raise NotPlainError
        base, name = inner.selected
        return Plain(parts.of_values(lambda value: name in values.as_map(value), base.run))

    def _function(self, name: str) -> Plain:
        arguments = [part.run for part in self.several(")", self.choice)]
        if name == "type" and len(arguments) == 1:
            return self._type(arguments[0])
        if name in TASK_SETS:
            return parts.task_set(name, TASK_SETS[name], arguments)
        if name in QUERIES:
            return Plain(parts.query(QUERIES[name], arguments))
        if name in ("size", "string") and len(arguments) == 1:
            return Plain(parts.of_values(values.size_of if name == "size" else values.string_of, *arguments))
        raise NotPlainError

    def _type(self, of: Run) -> Plain:
        """type(..) == list and the like; a type as a value of its own is left to CEL."""
        sign = self.next("sign")
        wanted, same = values.TYPES.get(self.next("name")), sign == "=="
        if wanted is None or sign not in ("==", "!="):
            raise NotPlainError
        return Plain(lambda context, bound: (type(of(context, bound)) is wanted) is same)

    def _method(self, of: Plain, name: str) -> Plain:
        if name in values.LOOPS and not of.optional:
            return self._loop(of, name)
        given = self.several(")", self.choice)
        arguments = [part.run for part in given]
        if of.optional:
            return Plain(parts.of_optional(of.run, name, arguments))
        matches = values.matcher(given[0].constant) if name == "matches" and len(given) == 1 else None
        if matches is not None:
            return Plain(parts.of_values(matches, of.run))
        if name == "size" and not arguments:
            return Plain(of.size or parts.of_values(values.size_of, of.run))
        if (name, len(arguments)) in values.OF_TEXT:
            return Plain(parts.of_values(values.OF_TEXT[name, len(arguments)], of.run, *arguments))
        if name in METHODS and len(arguments) == len(METHODS[name].takes):
            return Plain(parts.called(METHODS[name], of.run, arguments))
        raise NotPlainError

    def _loop(self, of: Plain, name: str) -> Plain:
        variable = self.next("name")
        self.need(",")
        outer, self.bound = self.bound, (*self.bound, variable)
        each = self.choice()
        self.need(")")
        self.bound = outer
        return Plain(parts.looped(values.LOOPS[name], of.run, variable, each.run))
