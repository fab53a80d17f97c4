"""The static types of expressions: what is wrong with one before it is ever evaluated.

Types are the words of `_A`, and "null". "any" is data whose type shows only at evaluation; "strings" is a
list of texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..suggestions import did_you_mean, misspelling
from .functions import EDITS, FALLBACKS, FUNCTIONS, METHODS, OUTSIDE, Function
from .syntax import ErrorData, Kind, KnownNames, SyntaxNode, chain_of, path_of
from .text_functions import InvalidPattern, compile_pattern
from .tokens import MACROS, TYPE_NAMES
from .values import NUMBERS, OPERATORS, type_of


def check_types(tree: SyntaxNode, names: KnownNames) -> tuple[str, list[tuple[int, str]], ErrorData]:
    """The type of the expression, the errors in it as (offset, message), in the order of the text, and the
    data of those that have any."""
    checker = _Checker(names)
    kind = checker.type(tree)
    return kind, sorted(set(checker.errors)), checker.data


def fits(kind: str, wanted: str) -> bool:
    """Assignability: may a value of a type stand where another type is wanted?"""
    if "any" in (kind, wanted) or kind == wanted:
        return True
    if wanted in ("list", "strings", "items"):
        return kind in ("list", "strings")
    wide = {"pattern": ("map", "string"), "sized": ("list", "strings", "map", "string")}
    return kind in wide.get(wanted, ())


class _Checker:
    def __init__(self, names: KnownNames):
        self.names = names
        self.bound: list[str] = []
        self.errors: list[tuple[int, str]] = []
        self.data: ErrorData = {}

    def unknown(self, at: int, name: str, known: Sequence[str]) -> str:
        """Note a name that is not known, with the known ones that are near."""
        message = f"unknown name {name!r}{did_you_mean(name, known)}"
        self.data[at, message] = misspelling(name, known)
        return self.wrong(at, message)

    def wrong(self, at: int, message: str) -> str:
        """Note an error. What has one is of any type, so that nothing follows from it."""
        self.errors.append((at, message))
        return "any"

    def types(self, nodes: Sequence[SyntaxNode]) -> list[str]:
        return [self.type(node) for node in nodes]

    def type(self, node: SyntaxNode) -> str:
        return getattr(self, f"_{node.kind}")(node)

    # ---- literals and names

    def _literal(self, node: SyntaxNode) -> str:
        return type_of(node.value)

    def elements(self, node: SyntaxNode, parts: Sequence[SyntaxNode]) -> list[str]:
        """The types of what is put into a list or map; an optional value is needed behind a `?`."""
        kinds = self.types(parts)
        for part, kind, flag in zip(parts, kinds, node.flags, strict=True):
            if flag and not fits(kind, "optional"):
                self.wrong(part.at, f"behind the ? an optional value is needed, this is {_A.get(kind, kind)}")
        return kinds

    def _list(self, node: SyntaxNode) -> str:
        return "strings" if set(self.elements(node, node.children)) == {"string"} else "list"

    def _map(self, node: SyntaxNode) -> str:
        for key in node.children[::2]:
            kind = self.type(key)
            if not fits(kind, "string"):
                self.wrong(key.at, f"a key of a map is text, this is {_A.get(kind, kind)}")
        self.elements(node, node.children[1::2])
        return "map"

    def _field(self, node: SyntaxNode) -> str:
        path = path_of(node)
        if not path:
            return self._select(self.type(node.children[0]), node)
        if path[0] in self.bound:
            return "any"
        chain, name = chain_of(node), self.names.name_in(path)
        if name:
            kind = self.names.type_of(name)
            for field in chain[name.count(".") + 1 :]:
                kind = self._select(kind, field)
            return kind
        if len(path) == 1 and path[0] in TYPE_NAMES:
            return "type"
        known = next((name for name in self.names.names if name.startswith(f"{path[0]}.")), "")
        name = ".".join(path[: known.count(".") + 1 if known else None])
        return self.unknown(chain[0].at, name, self.names.names)

    _name = _field

    def _select(self, kind: str, field: SyntaxNode) -> str:
        if not (fits(kind, "map") or kind == "optional"):
            return self.wrong(field.at, f"{field.text} is asked of {_A.get(kind, kind)}, which has no fields")
        return "optional" if field.value or kind == "optional" else "any"

    def _has(self, node: SyntaxNode) -> str:
        (field,) = node.children
        path = path_of(field)
        name = self.names.name_in(path) if path and path[0] not in self.bound else ""
        if name and len(path) > 1 and name == ".".join(path):
            return self.wrong(chain_of(field)[0].at, f"has({name}) is always true; use {name}")
        self.type(field)
        return "bool"

    def _item(self, node: SyntaxNode) -> str:
        of, key = self.types(node.children)
        is_list = (fits(of, "list") and fits(key, "int")) or key == "double"
        if not (is_list or (fits(of, "map") and fits(key, "string")) or of == "optional"):
            return self.wrong(node.at, f"[ ] does not take ({of}, {key})")
        if node.value or of == "optional":
            return "optional"
        return "string" if of == "strings" else "any"

    # ---- operators

    def _unary(self, node: SyntaxNode) -> str:
        kind = self.type(node.children[0])
        if kind == "any" or kind in (("bool",) if node.text == "!" else NUMBERS):
            return "bool" if node.text == "!" else kind
        return self.wrong(node.at, f"{node.text} does not take ({kind})")

    def _binary(self, node: SyntaxNode) -> str:
        left, right = self.types(node.children)
        kind = _result(node.text, left, right)
        return kind or self.wrong(node.at, f"{node.text} does not take ({left}, {right})")

    def _logic(self, node: SyntaxNode) -> str:
        kinds = self.types(node.children)
        for place, kind in enumerate(kinds):
            if not fits(kind, "bool"):
                both = (kinds[0], kinds[1]) if place == 0 else ("bool", kind)
                self.wrong(node.flags[max(place - 1, 0)], f"{node.text} does not take ({', '.join(both)})")
        return "bool"

    def _choice(self, node: SyntaxNode) -> str:
        test, then, other = self.types(node.children)
        if not fits(test, "bool"):
            message = f"what stands before the ? must be true or false, this is {_A.get(test, test)}"
            self.wrong(node.at, message)
        if fits(then, other) or fits(other, then):
            return then if then == other else "list" if {then, other} == {"list", "strings"} else "any"
        said = "what stands before and behind the : must have one type"
        return self.wrong(node.at, f"{said}, these are {then}, {other}")

    # ---- calls

    def _call(self, node: SyntaxNode) -> str:
        kinds, is_method, name = self.types(node.children), node.kind is Kind.METHOD, node.text
        given = f"{name} does not take ({', '.join(kinds)})"
        if is_method and name in FALLBACKS:
            if len(kinds) != 2 or not fits(kinds[0], "optional"):
                return self.wrong(node.at, f"{given}; write a.?b.{name}(c)")
            return "optional" if name == "or" else "any"
        known = METHODS if is_method else FUNCTIONS | (EDITS if self.names.edits else {})
        function = known.get(name)
        if function is None:
            return self._no_function(node, known)
        pattern = node.children[1] if is_method and name == "matches" and node.children[1:] else None
        if pattern and isinstance(pattern.value, str):
            try:
                compile_pattern(pattern.value)
            except InvalidPattern as error:
                self.wrong(pattern.at, f"this regular expression cannot be used: {error}")
        wanted = [kind.rstrip("?") for kind in function.takes[: len(kinds)]]
        enough = function.least <= len(kinds) <= len(function.takes)
        if not enough or not all(map(fits, kinds, wanted)):
            return self.wrong(node.at, f"{given}; it takes ({', '.join(function.takes)})")
        return function.gives

    _method = _call

    def _no_function(self, node: SyntaxNode, known: Mapping[str, Function]) -> str:
        name, is_method = node.text, node.kind is Kind.METHOD
        if name in OUTSIDE:
            return self.wrong(node.at, f"{name}: CEL has it, the guard language has not")
        if name in MACROS:
            return self.wrong(node.at, f"{name} takes a name and an expression: x.{name}(y, ..)")
        if name in (FUNCTIONS if is_method else METHODS):
            how = f"{name}(x)" if is_method else f"x.{name}(..)"
            return self.wrong(node.at, f"{name!r} is called in another way: {how}")
        others = (*MACROS, *FALLBACKS) if is_method else self.names.names
        return self.unknown(node.at, name, list(dict.fromkeys((*known, *others))))

    def _loop(self, node: SyntaxNode) -> str:
        of, *parts = node.children
        kind, is_optional = self.type(of), node.text.startswith("opt")
        if not any(fits(kind, one) for one in (("optional",) if is_optional else ("list", "map"))):
            self.wrong(node.at, f"{node.text} does not take ({kind})")
        self.bound.append(str(node.value))
        kinds = self.types(parts)
        self.bound.pop()
        # The last part of `map` and of those of optional values is no guard.
        guards = kinds[:-1] if is_optional or node.text == "map" else kinds
        for part, one in zip(parts, guards, strict=False):
            if not fits(one, "bool"):
                message = f"{node.text} needs true or false for each element, this is {_A.get(one, one)}"
                self.wrong(part.at, message)
        if node.text in ("map", "filter"):
            return "strings" if kind == "strings" and node.text == "filter" else "list"
        return "optional" if is_optional else "bool"


def _result(sign: str, left: str, right: str) -> str:
    """The type that an operator gives for two types, "" if it does not take them."""
    operator, alike = OPERATORS[sign], fits(left, right) or fits(right, left)
    if sign == "in":
        return "bool" if fits(right, "list") or (fits(right, "map") and fits(left, "string")) else ""
    if operator.takes and not {left, right} <= {"any", *operator.takes}:
        return ""
    if operator.gives:
        mixed = {left, right} == set(NUMBERS) or (not operator.takes and "null" in (left, right))
        return operator.gives if alike or mixed else ""
    if not alike:
        return ""
    if {left, right} == {"list", "strings"}:
        return "list"
    return left if right == "any" else right


# Types in the words of messages.
_A = {
    "bool": "true or false",
    "int": "a whole number",
    "double": "a number with a fraction",
    "string": "text",
    "timestamp": "a time",
    "list": "a list",
    "strings": "a list of text",
    "map": "a map",
    "optional": "an optional value",
    "type": "a type",
}


def type_in_words(kind: str) -> str:
    """A type as messages name it."""
    return _A.get(kind, kind)
