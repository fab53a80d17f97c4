"""What CEL is told of the language: types, functions, the calls that stand for facts.

The functions see the evaluation that asks through `EVALUATION`, which `context.Context` sets around every
call: CEL gives its functions no other way to know. This module is imported when CEL is needed first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar

from cel_expr_python import cel
from cel_expr_python.ext import ext_optional, ext_strings

from .functions import METHODS, QUERIES, TASK_SETS, Call, Evaluation, elements
from .source import ELEMENTS, HANDLE, SIZE, internal

_ITEMS = cel.Type.List(cel.Type.DYN)
_FIELDS = cel.Type.Map(cel.Type.STRING, cel.Type.DYN)
# A handle stands for a set of tasks on CEL's side. A map has no operators that could mix two of them up.
_HANDLE = cel.Type.Map(cel.Type.STRING, cel.Type.INT)
HANDLE_TYPE = _HANDLE.name()
TYPES = {
    "bool": cel.Type.BOOL,
    "int": cel.Type.INT,
    "double": cel.Type.DOUBLE,
    "string": cel.Type.STRING,
    "timestamp": cel.Type.TIMESTAMP,
    "list": _ITEMS,
    "strings": cel.Type.List(cel.Type.STRING),
    "map": _FIELDS,
    "any": cel.Type.DYN,
}
_KINDS = {
    "items": _ITEMS,
    "fields": _FIELDS,
    "any": cel.Type.DYN,
    "text": cel.Type.STRING,
    "int": cel.Type.INT,
}

EVALUATION: ContextVar[Evaluation] = ContextVar("phasekeeper_evaluation")


def evaluated(program: cel.Expression, activation: cel.Activation, run: Evaluation) -> tuple[object, str]:
    """(value, "") or (None, CEL's error). An error of CEL is a value there, and a text at that.

    Raises what CEL raises: the iteration budget does, and so do values that Python has no type for.
    """
    token = EVALUATION.set(run)
    try:
        result = program.eval(activation)
        if result.type() == cel.Type.ERROR:
            return None, str(result.value())
        return result.plain_value(), ""
    finally:
        EVALUATION.reset(token)


def _overload(name: str, call: Call, kinds: tuple[str, ...], run: Callable[..., object], member: bool):
    takes = [_KINDS[kind] for kind in kinds]
    return cel.Overload("_".join([name, *kinds]), _KINDS[call.gives], takes, member, run)


def _method(name: str, call: Call) -> list[cel.Overload]:
    written = [tuple(kind if one == "pattern" else one for one in call.takes) for kind in ("fields", "text")]
    return [_overload(name, call, ("items", *kinds), call.run, True) for kinds in dict.fromkeys(written)]


def _query(name: str, call: Call) -> cel.Overload:
    return _overload(name, call, call.takes, lambda *values: call.run(EVALUATION.get(), *values), False)


def _public() -> list[cel.FunctionDecl]:
    names = dict.fromkeys([*METHODS, *QUERIES])
    methods = {name: _method(name, call) for name, call in METHODS.items()}
    queries = {name: [_query(name, call)] for name, call in QUERIES.items()}
    return [cel.FunctionDecl(name, [*methods.get(name, []), *queries.get(name, [])]) for name in names]


def _set_function(name: str, call: Call) -> list[cel.FunctionDecl]:
    """A function that gives tasks, and its twins that give their number or a handle."""

    def picked(values: tuple) -> list:
        return call.run(EVALUATION.get(), *values)

    takes = [_KINDS[kind] for kind in call.takes]
    twins = (
        (ELEMENTS, _ITEMS, lambda *values: elements(EVALUATION.get(), picked(values), f"{name}(..)")),
        (SIZE, cel.Type.INT, lambda *values: len(picked(values))),
        (HANDLE, _HANDLE, lambda *values: EVALUATION.get().keep(picked(values))),
    )
    return [
        cel.FunctionDecl(internal(name, use), [cel.Overload(f"{name}_{use}", gives, takes, False, one)])
        for use, gives, one in twins
    ]


def _fact_functions() -> list:
    """One function a type, not one a fact: what is declared does not depend on the definition."""
    kinds = [(kind, gives, lambda name: EVALUATION.get().fact(name)) for kind, gives in TYPES.items()]
    kinds += [
        (SIZE, cel.Type.INT, lambda name: len(EVALUATION.get().members(name))),
        (HANDLE, _HANDLE, lambda name: EVALUATION.get().kept(name)),
    ]
    return [
        cel.FunctionDecl(
            f"__fact_{kind}", [cel.Overload(f"fact_{kind}", gives, [cel.Type.STRING], False, run)]
        )
        for kind, gives, run in kinds
    ]


def _edit(name: str, takes: str) -> cel.FunctionDecl:
    """A function of effects: it describes an edit of a plan as a map, and edits nothing."""
    run = lambda *values: {"edit": name, "with": list(values)}  # noqa: E731
    kinds = tuple(takes.split())
    return cel.FunctionDecl(name, [_overload(name, Call(run, "fields", kinds), kinds, run, False)])


# Edits of a plan (seed 004, steps 4c and "Create fix tasks"), carried out by the plan's dialect.
_EDITS = [_edit("check_tasks", "text"), _edit("append_stage", "text items"), _edit("set_status", "text text")]
_EXTENSIONS = [ext_optional.ExtOptional(), ext_strings.ExtStrings()]
_SETS = [made for name, call in TASK_SETS.items() for made in _set_function(name, call)]
_DECLARED = [*_public(), *_SETS, *_fact_functions()]


def environment(variables: Mapping[str, str], edits: bool = False) -> cel.Env:
    """What expressions are compiled against: `variables` maps names to TYPES."""
    names = {name: TYPES[kind] for name, kind in variables.items()}
    functions = _DECLARED + (_EDITS if edits else [])
    return cel.NewEnv(variables=names, functions=functions, extensions=_EXTENSIONS)
