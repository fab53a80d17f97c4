"""Compiler of guard expressions: from a syntax tree to a Python closure, made once per definition.

Errors are `EvaluationError`s: `||`, `&&`, `all` and `exists` absorb one where another part decides, as in
CEL. What loops go through and what is made is charged to the evaluation's budget, which nothing absorbs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import values
from .functions import EDITS, FALLBACKS, FUNCTIONS, METHODS, Function
from .syntax import Kind, KnownNames, SyntaxNode, chain_of, path_of, walk
from .tokens import TYPE_NAMES
from .values import ABSENT, OPERATORS, EvaluationError, ExpressionRun, Optional, TaskSet, TypeName

Program = Callable[[ExpressionRun], Any]
_CONSTANT = (Kind.LITERAL, Kind.LIST, Kind.MAP)
# Who evaluates constants reads no names.
_NO_NAMES: Any = None


def compile_tree(tree: SyntaxNode, names: KnownNames) -> Program:
    """The program of a tree. Unknown names and functions become errors where they are evaluated."""
    return _Compiler(names).program(tree)


class _Compiler:
    def __init__(self, names: KnownNames):
        self.names = names
        self.bound: list[str] = []

    def program(self, node: SyntaxNode) -> Program:
        program = getattr(self, f"_{node.kind}")(node)
        if node.kind not in (Kind.LIST, Kind.MAP) or any(part.kind not in _CONSTANT for part in walk(node)):
            return program
        # A pattern, mostly: made once, and never changed by whom it is given to.
        try:
            made_once = program(ExpressionRun(_NO_NAMES))
        except EvaluationError:
            return program
        return lambda run: made_once

    def programs(self, nodes: Sequence[SyntaxNode]) -> list[Program]:
        return [self.program(node) for node in nodes]

    def elements(self, nodes: Sequence[SyntaxNode]) -> list[Program]:
        """The programs of what is put into a list or map: a set of tasks becomes a list there."""
        kinds = (Kind.NAME, Kind.CALL, Kind.CHOICE, Kind.METHOD)
        programs = zip(nodes, self.programs(nodes), strict=True)
        return [
            _list_elements(program) if node.kind in kinds and node.text not in self.bound else program
            for node, program in programs
        ]

    # ---- literals and names

    def _literal(self, node: SyntaxNode) -> Program:
        value = node.value
        return lambda run: value

    def _name(self, node: SyntaxNode) -> Program:
        return self.path(node) or _fails(f"unknown name {node.text!r}")

    def path(self, node: SyntaxNode) -> Program | None:
        """A variable that a loop binds, a fact or a variable, with its fields; None for other chains."""
        path = path_of(node)
        if not path:
            return None
        parts = chain_of(node)
        if path[0] in self.bound:
            depth = len(self.bound) - 1 - self.bound[::-1].index(path[0])
            return _with_fields(lambda run: run.bound[depth], parts[1:])
        name = self.names.name_in(path)
        if name:
            named = _fact(name) if name in self.names.facts else _variable(name)
            return _with_fields(named, parts[name.count(".") + 1 :])
        type_name = TypeName(path[0])
        return (lambda run: type_name) if node.kind is Kind.NAME and path[0] in TYPE_NAMES else None

    def _field(self, node: SyntaxNode) -> Program:
        return self.path(node) or _with_fields(self.program(node.children[0]), (node,))

    def _has(self, node: SyntaxNode) -> Program:
        (field,) = node.children
        of, name = self.program(field.children[0]), field.text

        def has(run: ExpressionRun) -> bool:
            value = of(run)
            if isinstance(value, dict):
                return name in value
            return values.optional_item(value, name).present

        return has

    def _item(self, node: SyntaxNode) -> Program:
        of, key = self.programs(node.children)
        element = values.optional_item if node.value else values.item
        return lambda run: element(of(run), key(run))

    # ---- operators

    def _unary(self, node: SyntaxNode) -> Program:
        of = self.program(node.children[0])
        if node.text == "-":
            return lambda run: values.negative(of(run))

        def negation(run: ExpressionRun) -> bool:
            value = of(run)
            return not value if value is True or value is False else values.no_overload("!", value)

        return negation

    def _binary(self, node: SyntaxNode) -> Program:
        left, right = self.programs(node.children)
        operate, other = OPERATORS[node.text].run, node.children[1]
        wanted = node.text == "=="
        if node.text == "in" and other.kind is Kind.LIST and all(map(_is_text, other.children)):
            words = frozenset(child.value for child in other.children)

            def among(run: ExpressionRun) -> bool:
                value = left(run)
                return isinstance(value, str) and value in words

            return among
        if node.text in ("==", "!=") and _is_text(other):
            text = other.value
            return lambda run: (left(run) == text) is wanted
        if node.text in ("==", "!=") and other.kind is Kind.LIST and not other.children:

            def is_empty(run: ExpressionRun) -> bool:
                value = left(run)
                return (values.type_of(value) == "list" and not values.size(value)) is wanted

            return is_empty
        return lambda run: operate(run, left(run), right(run))

    def _logic(self, node: SyntaxNode) -> Program:
        parts, decides, sign = self.programs(node.children), node.text == "||", node.text

        def logic(run: ExpressionRun) -> bool:
            error = None
            for part in parts:
                try:
                    value = part(run)
                except EvaluationError as raised:
                    error = error or raised
                    continue
                if value is decides:
                    return decides
                if value is not True and value is not False:
                    error = error or EvaluationError(f"{sign} does not take a {values.type_of(value)}")
            if error:
                raise error
            return not decides

        return logic

    def _choice(self, node: SyntaxNode) -> Program:
        test, then, other = self.programs(node.children)

        def choice(run: ExpressionRun) -> Any:
            value = test(run)
            if value is True:
                return then(run)
            return other(run) if value is False else values.no_overload("?", value)

        return choice

    # ---- lists and maps

    def _list(self, node: SyntaxNode) -> Program:
        entries = list(zip(self.elements(node.children), node.flags, strict=True))

        def list_of(run: ExpressionRun) -> list[Any]:
            run.take(len(entries))
            return [
                value.value if optional else value
                for part, optional in entries
                if _is_there(value := part(run), optional)
            ]

        return list_of

    def _map(self, node: SyntaxNode) -> Program:
        keys, parts = self.programs(node.children[::2]), self.elements(node.children[1::2])
        entries = list(zip(keys, parts, node.flags, strict=True))

        def map_of(run: ExpressionRun) -> dict[str, Any]:
            run.take(len(entries))
            made: dict[str, Any] = {}
            for key, part, optional in entries:
                name, value = key(run), part(run)
                if type(name) is not str:
                    raise EvaluationError(f"a key of a map is text, this is {values.type_of(name)}")
                if name in made:
                    raise EvaluationError(f"the key {name!r} stands twice in a map")
                if _is_there(value, optional):
                    made[name] = value.value if optional else value
            return made

        return map_of

    # ---- calls

    def _call(self, node: SyntaxNode) -> Program:
        function = FUNCTIONS.get(node.text) or (EDITS.get(node.text) if self.names.edits else None)
        return self.call(node, function)

    def _method(self, node: SyntaxNode) -> Program:
        if node.text not in FALLBACKS:
            return self.call(node, METHODS.get(node.text))
        if len(node.children) != 2:
            return _fails(f"{node.text} takes one other value")
        whole, unwraps = node.children[0], node.text == "orValue"
        other = self.program(node.children[1])
        if unwraps and whole.kind is Kind.FIELD and whole.value:
            holder, name = self.program(whole.children[0]), whole.text

            def field_or(run: ExpressionRun) -> Any:
                """`a.?b.orValue(c)`, without an optional value in between."""
                value = holder(run)
                if isinstance(value, dict):
                    return value[name] if name in value else other(run)
                found = values.optional_item(value, name)
                return found.value if found.present else other(run)

            return field_or
        of = self.program(whole)

        def fallback(run: ExpressionRun) -> Any:
            value = of(run)
            if type(value) is not Optional:
                return values.no_overload(node.text, value)
            if value.present:
                return value.value if unwraps else value
            return other(run)

        return fallback

    def call(self, node: SyntaxNode, function: Function | None) -> Program:
        """The call of a function, whose list counts against the budget; a set of tasks costs nothing yet."""
        if function is None:
            return _fails(f"unknown function {node.text!r}")
        if not function.least <= len(node.children) <= len(function.takes):
            return _fails(f"{node.text} does not take {len(node.children)} values")
        checks = [_argument(kind.rstrip("?")) for kind in function.takes]
        pairs = list(zip(self.programs(node.children), checks, strict=False))
        run_function, name = function.run, node.text

        def call(run: ExpressionRun) -> Any:
            made = run_function(run, *[check(part(run), name) for part, check in pairs])
            if type(made) is list:
                run.take(len(made))
            return made

        if len(pairs) != 1:
            return call
        ((only, check),) = pairs

        def call_with_one(run: ExpressionRun) -> Any:
            made = run_function(run, check(only(run), name))
            if type(made) is list:
                run.take(len(made))
            return made

        return call_with_one

    def _loop(self, node: SyntaxNode) -> Program:
        of, depth = self.program(node.children[0]), len(self.bound)
        self.bound.append(str(node.value))
        parts = self.elements(node.children[1:])
        self.bound.pop()
        if node.text in ("optMap", "optFlatMap"):
            part, wraps = parts[0], node.text == "optMap"

            def map_optional(run: ExpressionRun) -> Any:
                value = of(run)
                if type(value) is not Optional:
                    return values.no_overload("optMap", value)
                if not value.present:
                    return ABSENT
                run.bound[depth] = value.value
                made = part(run)
                return Optional(made) if wraps else made

            return map_optional
        loop = _LOOPS[node.text]

        def run_loop(run: ExpressionRun) -> Any:
            whole = of(run)
            items = list(whole) if isinstance(whole, dict) else values.as_list(whole, node.text)
            run.go_round(len(items))
            return loop(run, items, depth, parts)

        return run_loop


# ---- names ------------------------------------------------------------------------------------


def _list_elements(program: Program) -> Program:
    def elements(run: ExpressionRun) -> Any:
        value = program(run)
        return value.elements() if type(value) is TaskSet else value

    return elements


def _fails(message: str) -> Program:
    def fails(run: ExpressionRun) -> Any:
        raise EvaluationError(message)

    return fails


def _variable(name: str) -> Program:
    def variable(run: ExpressionRun) -> Any:
        try:
            return run.names.variables[name]
        except KeyError:
            raise EvaluationError(f"{name} is not there, or not valid") from None

    return variable


def _fact(name: str) -> Program:
    def fact(run: ExpressionRun) -> Any:
        names = run.names
        value, error = names.facts.get(name) or names.fact(name)
        if error is not None:
            raise EvaluationError(f"{name}: {error}")
        return value

    return fact


def _with_fields(of: Program, nodes: Sequence[SyntaxNode]) -> Program:
    fields = [(node.text, node.value) for node in nodes]

    def select(run: ExpressionRun) -> Any:
        value: Any = of(run)
        for name, optional in fields:
            if optional:
                value = values.optional_item(value, name)
            elif type(value) is dict and name in value:
                value = value[name]
            else:
                value = values.field(value, name)
        return value

    return select if fields else of


# ---- operators --------------------------------------------------------------------------------


def _is_text(node: SyntaxNode) -> bool:
    return node.kind is Kind.LITERAL and type(node.value) is str


def _is_there(value: Any, optional: bool) -> bool:
    if not optional:
        return True
    return value.present if type(value) is Optional else values.no_overload("?", value)


# ---- calls ------------------------------------------------------------------------------------


_ARGUMENTS: dict[str, tuple[type, ...]] = {
    "map": (dict,), "string": (str,), "optional": (Optional,), "pattern": (str, dict), "sized": (object,),
    "items": (list, TaskSet),
}  # fmt: skip


def _argument(kind: str) -> Callable[[Any, str], Any]:
    """Give the conversion of (a value, the function's name) to an argument of a type."""
    if kind == "any":
        return lambda value, name: value.elements() if type(value) is TaskSet else value
    if kind == "list":
        return values.as_list
    if kind == "int":
        return lambda value, name: (
            values.whole(value) if type(value) is int else values.no_overload(name, value)
        )
    types = _ARGUMENTS[kind]
    return lambda value, name: value if isinstance(value, types) else values.no_overload(name, value)


# ---- loops ------------------------------------------------------------------------------------


def _filter(run: ExpressionRun, items: list[Any], depth: int, parts: Sequence[Program]) -> list[Any]:
    run.take(len(items))
    bound, (fits,) = run.bound, parts
    found = []
    for item in items:
        bound[depth] = item
        holds = fits(run)
        if holds is True or (holds is not False and values.as_bool(holds)):
            found.append(item)
    return found


def _map(run: ExpressionRun, items: list[Any], depth: int, parts: Sequence[Program]) -> list[Any]:
    if len(parts) == 2:
        items = _filter(run, items, depth, parts[:1])
    run.take(len(items))
    bound, make = run.bound, parts[-1]
    made = []
    for item in items:
        bound[depth] = item
        made.append(make(run))
    return made


def _quantifier(decides: bool) -> Callable[..., bool]:
    """`exists` is decided by an element that is true, `all` by one that is false, whatever fails."""

    def loop(run: ExpressionRun, items: list[Any], depth: int, parts: Sequence[Program]) -> bool:
        bound, (fits,) = run.bound, parts
        error = None
        for item in items:
            bound[depth] = item
            try:
                if values.as_bool(fits(run)) is decides:
                    return decides
            except EvaluationError as raised:
                error = error or raised
        if error:
            raise error
        return not decides

    return loop


_LOOPS: dict[str, Callable[..., Any]] = {
    "filter": _filter,
    "map": _map,
    "all": _quantifier(False),
    "exists": _quantifier(True),
    "exists_one": lambda run, items, depth, parts: len(_filter(run, items, depth, parts)) == 1,
}
