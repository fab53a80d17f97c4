"""CEL itself, by cel-expr-python, as the oracle of the guard language."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any

from cel_expr_python import cel
from cel_expr_python.ext import ext_optional, ext_strings
from phasekeeper.orchestration.expressions.context import Context, Outcome
from phasekeeper.orchestration.expressions.functions import (
    EDITS,
    FUNCTIONS,
    METHODS,
    OWN_FUNCTIONS,
    OWN_METHODS,
    Function,
)
from phasekeeper.orchestration.expressions.language import Expression, Language
from phasekeeper.orchestration.expressions.values import ExpressionRun, Optional, TaskSet

_LIST, _MAP = cel.Type.List(cel.Type.DYN), cel.Type.Map(cel.Type.STRING, cel.Type.DYN)
TYPES = {
    "bool": cel.Type.BOOL, "int": cel.Type.INT, "double": cel.Type.DOUBLE, "string": cel.Type.STRING,
    "timestamp": cel.Type.TIMESTAMP, "list": _LIST, "items": _LIST, "map": _MAP,
    "strings": cel.Type.List(cel.Type.STRING), "any": cel.Type.DYN, "null": cel.Type.DYN,
}  # fmt: skip
# The context whose records and tasks the functions see; CEL gives its functions no other way to know.
_asking: list[Context] = []


def _declared(name: str, function: Function, is_method: bool) -> list[cel.Overload]:
    """The overloads of one function of ours: a pattern is a map or a text."""

    def run(*arguments: object) -> object:
        value = function.run(ExpressionRun(_asking[-1]), *arguments)
        return value.elements() if isinstance(value, TaskSet) else value

    patterns = ("map", "string") if "pattern" in function.takes else ("map",)
    overloads = []
    for pattern in patterns:
        kinds = [pattern if kind == "pattern" else kind for kind in function.takes]
        takes = [TYPES[kind] for kind in kinds]
        overloads.append(cel.Overload("_".join([name, *kinds]), TYPES[function.gives], takes, is_method, run))
    return overloads


def _functions(edits: bool) -> list[cel.FunctionDecl]:
    declared: dict[str, list[cel.Overload]] = {}
    for name in OWN_METHODS:
        declared.setdefault(name, []).extend(_declared(name, METHODS[name], True))
    for name in OWN_FUNCTIONS:
        declared.setdefault(name, []).extend(_declared(name, FUNCTIONS[name], False))
    for name, function in EDITS.items() if edits else ():
        declared[name] = _declared(name, function, False)
    return [cel.FunctionDecl(name, overloads) for name, overloads in declared.items()]


@cache
def _environment(language: Language) -> cel.Env:
    names = language.variables | {name: language.type_of(name) for name in language.facts}
    types = {name: TYPES.get(kind, cel.Type.DYN) for name, kind in names.items()}
    extensions = [ext_optional.ExtOptional(), ext_strings.ExtStrings()]
    return cel.NewEnv(variables=types, functions=_functions(language.edits), extensions=extensions)


def by_cel(context: Context, expression: Expression) -> Outcome:
    """What CEL makes of an expression. Facts without a value are names without a value there."""
    names = dict(context.variables)
    for path in expression.paths:
        name = context.fact_in(path)
        outcome = context.fact(name) if name else Outcome(None, "")
        if outcome.error is None:
            names[name] = _plain(outcome.value)
    _asking.append(context)
    try:
        environment = _environment(context.language)
        program = environment.compile(expression.source)
        result = program.eval(environment.Activation(names))
        if result.type() == cel.Type.ERROR:
            return Outcome(None, str(result.value()))
        return Outcome(_plain(result.plain_value()))
    except Exception as error:  # CEL raises whatever it cannot do or convert
        return Outcome(None, str(error))
    finally:
        _asking.pop()


def _plain(value: object) -> object:
    return value.elements() if isinstance(value, TaskSet) else value


def has_optional(value: object) -> bool:
    """Whether an optional value is in a value: CEL's Python binding crashes when it has to give one."""
    if isinstance(value, list):
        return any(map(has_optional, value))
    return has_optional(list(value.values())) if isinstance(value, dict) else isinstance(value, Optional)


def agree(ours: Outcome, cel_s: Outcome) -> bool:
    """Whether two outcomes are the same; of errors only that they are errors."""
    if ours.error is not None or cel_s.error is not None:
        return ours.error is not None and cel_s.error is not None
    return _same(_plain(ours.value), cel_s.value)


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        if all(isinstance(item, str) for item in [*left, *right]):
            # Keys of a map come in any order from CEL.
            return sorted(left) == sorted(right)
        return len(left) == len(right) and all(map(_same, left, right))
    if isinstance(left, float) and isinstance(right, float):
        return left == right or (math.isnan(left) and math.isnan(right))
    return type(left) is type(right) and left == right


def disagreements(context: Context) -> list[tuple[str, Outcome, Outcome]]:
    """(source, our outcome, CEL's outcome) of the expressions that were evaluated and differ."""
    evaluated = [(expression, outcome) for expression, outcome, _ in list(context._outcomes.values())]
    pairs = [(each, outcome, by_cel(context, each)) for each, outcome in evaluated]
    return [(each.source, ours, cel_s) for each, ours, cel_s in pairs if not agree(ours, cel_s)]
