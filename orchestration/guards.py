"""Guards: CEL expressions, compiled once per workflow and evaluated once per run.

The only module that knows CEL. Four verbs: `Language.compile`, `Language.infer` (types of named
values), `Context.value` (evaluate) and `Context.evidence` (explain). Invariants:

- An error in CEL is a *value*, and a non-empty string at that. Nothing here hands it on as one: it
  becomes `Outcome.error`, and a guard holds only if its outcome is exactly `True`.
- Names that are computed (values, limits, answers, `phase` …) are zero-argument functions of the
  evaluated text, so that each is computed at most once and only when it is needed.
- Large collections (`tasks`, `records`) are functions that select in Python; only what they return
  is converted, and more than `MOST_ITEMS` is an error instead of a silent cut.
- One Activation serves one evaluation on one thread: Python functions in a shared one fail.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from cel_expr_python import cel
from cel_expr_python.ext import ext_optional, ext_strings

from .expression_tree import Tree, decode

# The most list items that a guard may see at once: CEL's filter and map are quadratic in their result.
MOST_ITEMS = 500
# The most characters of one expression.
MOST_CHARACTERS = 2000

_LIST = cel.Type.List(cel.Type.DYN)
_MAP = cel.Type.Map(cel.Type.STRING, cel.Type.DYN)
TYPES = {
    "bool": cel.Type.BOOL,
    "int": cel.Type.INT,
    "double": cel.Type.DOUBLE,
    "string": cel.Type.STRING,
    "timestamp": cel.Type.TIMESTAMP,
    "list": _LIST,
    "strings": cel.Type.List(cel.Type.STRING),
    "map": _MAP,
    "any": cel.Type.DYN,
    "null": cel.Type.NULL,
}
# The words CEL keeps for itself, and those the engine binds.
RESERVED = frozenset(
    "as break const continue else false for function if import in let loop namespace null package return true "
    "var void while has size type matches contains startsWith endsWith timestamp duration".split()
)


class BadExpression(Exception):
    """An expression that does not compile; `errors` holds (offset, message), offsets in code points."""

    def __init__(self, errors: Sequence[tuple[int, str]]):
        super().__init__("; ".join(message for _, message in errors))
        self.errors = tuple(errors)


class Unknown(Exception):
    """A name whose value cannot be told; the text says why. It becomes an error value where it is used."""


class Outcome(NamedTuple):
    """What an expression came to: a value, or the reason why there is none."""

    value: object
    error: str | None = None


class Read(NamedTuple):
    """A dotted path that an expression reads, and the offset where it starts."""

    path: tuple[str, ...]
    offset: int


@dataclass(frozen=True)
class Expression:
    """A compiled expression. `type` is one of TYPES; `text` is what is evaluated: facts are calls in it."""

    source: str
    type: str
    text: str = field(repr=False, default="")

    @cached_property
    def reads(self) -> tuple[Read, ...]:
        """The dotted paths it looks at, in the order of the text; names that it binds itself left out."""
        return tuple(reads(self.source))

    @cached_property
    def tree(self) -> Tree:
        """Its syntax tree, for checks of definitions; evaluation does not need one."""
        return decode(_BARE.compile(self.source, disable_check=True).serialize())


class Template(NamedTuple):
    """Plain text with `{expression}` in it; `parts` are text and expressions in turn."""

    source: str
    parts: tuple[str | Expression, ...]


_BRACES = re.compile(r"\{((?:[^{}']|'[^']*')+)\}")


def template_parts(source: str) -> list[str]:
    """Text, expression, text, … of a template: expressions at the odd places."""
    return _BRACES.split(source)


def template_offsets(source: str) -> list[int]:
    """Where each `{…}` expression of a template begins."""
    return [match.start(1) for match in _BRACES.finditer(source)]


# ---- the functions of guards ------------------------------------------------------------------

_CONTEXT: ContextVar[Context] = ContextVar("phasekeeper_guard_context")


def _equals(item: object, pattern: object) -> bool:
    if isinstance(pattern, dict):
        return isinstance(item, dict) and all(key in item and item[key] == pattern[key] for key in pattern)
    return item == pattern


def _where(items: list, pattern: object) -> list:
    return [item for item in items if _equals(item, pattern)]


def _after(items: list, pattern: object) -> list:
    for position in range(len(items) - 1, -1, -1):
        if _equals(items[position], pattern):
            return items[position + 1 :]
    return items


def _newest(items: list) -> object:
    return items[-1] if items else {}


def _keep(items: list, most: int) -> list:
    return items[-most:] if most > 0 else []


def dig(value: object, path: str) -> object:
    """The value at a dotted path, None where there is none."""
    for key in path.split("."):
        if not isinstance(value, dict) or key not in value:
            return None
        value = value[key]
    return value


def _by(items: list, path: str) -> list:
    return sorted(items, key=lambda item: str(dig(item, path) or ""))


def _reversed(items: list) -> list:
    return items[::-1]


def _joined(items: list, separator: str) -> str:
    return separator.join(_said(item) for item in items)


def _said(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _few(items: list, name: str) -> list:
    if len(items) > MOST_ITEMS:
        raise ValueError(f"{name}(..) matches {len(items)} items, at most {MOST_ITEMS} can be looked at one by one")
    return items


def _records(pattern: dict) -> list:
    context = _CONTEXT.get()
    return _few(context.touch(context.records.pick(pattern)), "records")


def _records_since(mark: dict, pattern: dict) -> list:
    context = _CONTEXT.get()
    return _few(context.touch(context.records.since(mark, pattern)), "records_since")


def _newest_record(pattern: dict) -> object:
    context = _CONTEXT.get()
    found = context.records.pick(pattern)
    return context.touch(found[-1:])[0] if found else context.records.empty


def _count(pattern: dict) -> int:
    context = _CONTEXT.get()
    return len(context.touch(context.records.pick(pattern)))


def _count_since(mark: dict, pattern: dict) -> int:
    context = _CONTEXT.get()
    return len(context.touch(context.records.since(mark, pattern)))


def _shown(tasks: list, name: str) -> list:
    """Tasks as CEL sees them: few, and with what their own files say."""
    return _CONTEXT.get().tasks.whole(_few(tasks, name))


def _tasks(pattern: dict) -> list:
    return _CONTEXT.get().tasks.pick(pattern)


def _unreported(pattern: dict, reports: dict) -> list:
    context = _CONTEXT.get()
    return _without(context.tasks.pick(pattern), context.records.pick(reports))


def _unreported_since(mark: dict, pattern: dict, reports: dict) -> list:
    context = _CONTEXT.get()
    return _without(context.tasks.pick(pattern), context.records.since(mark, reports))


def _without(tasks: list, records: list) -> list:
    named = {record["task"] for record in records}.union(*(record["tasks"] for record in records))
    return [task for task in tasks if task["id"] not in named]


def _open_stage(reopened: list, skipped: list) -> object:
    return _CONTEXT.get().tasks.open_stage(frozenset(map(str, reopened)), frozenset(map(str, skipped)))


def _kept(items: list) -> int:
    """Keep a list of tasks on this side; its handle is what CEL sees of it."""
    context = _CONTEXT.get()
    context.sets.append(items)
    return len(context.sets) - 1


_D, _O = cel.FunctionDecl, cel.Overload
# Functions that give tasks; each has a twin that gives the size and one that gives a handle.
_TASK_FUNCTIONS: dict[str, tuple[list, Callable[..., list]]] = {
    "tasks": ([_MAP], _tasks),
    "unreported": ([_MAP, _MAP], _unreported),
    "unreported_since": ([_MAP, _MAP, _MAP], _unreported_since),
}


def _task_functions() -> list:
    out = []
    for name, (parameters, select) in _TASK_FUNCTIONS.items():
        out += [
            _D(name, [_O(f"{name}_list", _LIST, parameters, False, lambda *p, n=name, s=select: _shown(s(*p), n))]),
            _D(f"{name}__size", [_O(f"{name}_size", TYPES["int"], parameters, False, lambda *p, s=select: len(s(*p)))]),
            _D(f"{name}__set", [_O(f"{name}_set", TYPES["int"], parameters, False, lambda *p, s=select: _kept(s(*p)))]),
        ]
    return out


_FUNCTIONS = [
    _D("where", [_O("where_m", _LIST, [_LIST, _MAP], True, _where), _O("where_s", _LIST, [_LIST, TYPES["string"]], True, _where)]),
    _D("after", [_O("after_m", _LIST, [_LIST, _MAP], True, _after), _O("after_s", _LIST, [_LIST, TYPES["string"]], True, _after)]),
    _D("newest", [_O("newest_l", TYPES["any"], [_LIST], True, _newest), _O("newest_m", _MAP, [_MAP], False, _newest_record)]),
    _D("keep", [_O("keep_l", _LIST, [_LIST, TYPES["int"]], True, _keep)]),
    _D("by", [_O("by_l", _LIST, [_LIST, TYPES["string"]], True, _by)]),
    _D("reversed", [_O("reversed_l", _LIST, [_LIST], True, _reversed)]),
    _D("joined", [_O("joined_l", TYPES["string"], [_LIST, TYPES["string"]], True, _joined)]),
    _D("records", [_O("records_m", _LIST, [_MAP], False, _records)]),
    _D("records_since", [_O("records_since_mm", _LIST, [_MAP, _MAP], False, _records_since)]),
    _D("count", [_O("count_m", TYPES["int"], [_MAP], False, _count)]),
    _D("count_since", [_O("count_since_mm", TYPES["int"], [_MAP, _MAP], False, _count_since)]),
    _D("open_stage", [_O("open_stage_ll", _MAP, [_LIST, _LIST], False, _open_stage)]),
    *_task_functions(),
]
FUNCTION_NAMES = tuple(
    "where after newest keep by reversed joined records records_since count count_since open_stage".split()
) + tuple(_TASK_FUNCTIONS)
def _edit(name: str, *parameters: str) -> object:
    """A function of effects: it describes an edit of a plan as a map, and edits nothing."""
    kinds = [TYPES[kind] for kind in parameters]
    return _D(name, [_O(f"{name}_edit", _MAP, kinds, False, lambda *values: {"edit": name, "with": list(values)})])


# Edits of a plan (seed 004, steps 4c and "Create fix tasks"), carried out by the plan's dialect.
_EDITS = [_edit("check_tasks", "string"), _edit("append_stage", "string", "list"), _edit("set_status", "string", "string")]
_EXTENSIONS = [ext_optional.ExtOptional(), ext_strings.ExtStrings()]


# ---- collections ------------------------------------------------------------------------------


class Index:
    """Items (dicts with the same keys) that can be picked by a pattern, through an index per set of keys.

    A pattern's list value stands for any of its members. Results keep the order of the items.
    """

    def __init__(self, items: Sequence[Mapping[str, object]], empty: Mapping[str, object] | None = None):
        self.items = items
        self.empty = empty or {}
        self._by_keys: dict[tuple[str, ...], dict[tuple, list[int]]] = {}

    def positions(self, pattern: Mapping[str, object]) -> list[int]:
        if not pattern:
            return list(range(len(self.items)))
        table = self._table(tuple(pattern))
        choices = [value if isinstance(value, list) else [value] for value in pattern.values()]
        keys: list[tuple] = [()]
        for choice in choices:
            keys = [(*key, value) for key in keys for value in dict.fromkeys(map(_hashable, choice))]
        found = [position for key in keys for position in table.get(key, ())]
        return sorted(found) if len(keys) > 1 else found

    def _table(self, keys: tuple[str, ...]) -> dict[tuple, list[int]]:
        table = self._by_keys.get(keys)
        if table is None:
            table = {}
            for position, item in enumerate(self.items):
                table.setdefault(tuple(_hashable(item.get(key)) for key in keys), []).append(position)
            self._by_keys[keys] = table
        return table

    def pick(self, pattern: Mapping[str, object]) -> list:
        return [self.items[position] for position in self.positions(pattern)]

    def since(self, mark: Mapping[str, object], pattern: Mapping[str, object]) -> list:
        """Items that match `pattern` and stand behind the newest match of `mark` (all, if none matches)."""
        marks = self.positions(mark)
        last = marks[-1] if marks else -1
        return [self.items[position] for position in self.positions(pattern) if position > last]


def _hashable(value: object) -> object:
    # True and 1 are one dict key in Python; a pattern must not mix them up.
    if isinstance(value, bool):
        return ("bool", value)
    return value if isinstance(value, (str, int, float)) else str(value)


class Tasks:
    """The tasks of a run's plan, with its stages.

    `index` holds what the plan itself says and lives as long as the parsed plan. What a task's own
    file adds (`details`, a function from the task's item) is read only for the tasks that are looked
    at, or for all when a pattern names such a field.
    """

    DETAILS = ("depends_on", "parallel_with", "files", "requires_ux_dx_review")

    def __init__(
        self,
        index: Index | None = None,
        stages: Sequence[Mapping[str, object]] = (),
        details: Callable[[Mapping[str, object]], Mapping[str, object]] = dict,
    ):
        self.index = index or Index(())
        self.stages = stages
        self._details = details
        self._whole: Index | None = None

    def pick(self, pattern: Mapping[str, object]) -> list:
        if not pattern.keys() & set(self.DETAILS):
            return self.index.pick(pattern)
        if self._whole is None:
            self._whole = Index(self.whole(self.index.items))
        return self._whole.pick(pattern)

    def whole(self, items: Sequence[Mapping[str, object]]) -> list:
        """The items with the fields that their own files hold."""
        return [dict(item) | self._details(item) for item in items]

    def open_stage(self, reopened: frozenset[str], skipped: frozenset[str]) -> Mapping[str, object]:
        """The first stage with an open task or in `reopened`, unless in `skipped`; {} if there is none."""
        for stage in self.stages:
            unfinished = stage["done"] != stage["total"] or stage["id"] in reopened
            if unfinished and stage["id"] not in skipped:
                return stage
        return {}


# ---- compiling --------------------------------------------------------------------------------

_ERROR = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*)")
_SET_CALL = re.compile(r"(?<![\w.])(" + "|".join(_TASK_FUNCTIONS) + r")\s*\(")
_EMPTY = re.compile(r"\s*([=!]=)\s*\[\s*\]")
_SIZE = re.compile(r"\s*\.\s*size\s*\(\s*\)")
_BARE = cel.NewEnv(functions=_FUNCTIONS, extensions=_EXTENSIONS)


def _masked(source: str) -> str:
    """The source with the contents of string literals blanked, so that patterns see code only."""
    return re.sub(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", lambda m: m[0][0] + "_" * (len(m[0]) - 2) + m[0][0], source)


_CHAIN = re.compile(r"(?<![\w.?])([A-Za-z_]\w*)\b((?:\s*\.\s*\??\s*[A-Za-z_]\w*\b(?!\s*\())*)(?!\s*\()")
_BOUND = re.compile(r"\.\s*(?:all|exists|exists_one|filter|map)\s*\(\s*([A-Za-z_]\w*)\s*,")
_WORDS = frozenset({"true", "false", "null", "in"})


def reads(source: str) -> list[Read]:
    """Every longest chain NAME.field.field in the source. Cheaper than its tree, and enough for names."""
    masked = _masked(source)
    bound = {match[1] for match in _BOUND.finditer(masked)} | _WORDS
    found = []
    for match in _CHAIN.finditer(masked):
        if match[1] not in bound:
            rest = (part.strip(" ?\n\t") for part in match[2].split(".")[1:])
            found.append(Read((match[1], *rest), match.start()))
    return found


def _closing(masked: str, opening: int) -> int:
    depth = 0
    for position in range(opening, len(masked)):
        depth += {"(": 1, ")": -1}.get(masked[position], 0)
        if depth == 0:
            return position
    return -1


def _sizes_only(source: str) -> str:
    """`tasks(..).size()`, `tasks(..) == []` and `!= []` rewritten so that no task is converted."""
    masked = _masked(source)
    for call in reversed(list(_SET_CALL.finditer(masked))):
        end = _closing(masked, call.end() - 1)
        rest = _uses_size_only(masked, end + 1) if end >= 0 else None
        if rest:
            inner = source[call.start() + len(call[1]) : end + 1]
            source = f"{source[: call.start()]}{call[1]}__size{inner}{rest[0]}{source[rest[1] :]}"
            masked = _masked(source)
    return source


def _uses_size_only(masked: str, at: int) -> tuple[str, int] | None:
    """What stands for the use behind a list (from `at`) if only its size matters, and where that use ends."""
    if size := _SIZE.match(masked, at):
        return "", size.end()
    if empty := _EMPTY.match(masked, at):
        return f" {empty[1]} 0", empty.end()
    return None


class Language:
    """The names a workflow's expressions may use.

    `variables` are bound at evaluation and converted when first touched; `facts` are computed on
    demand; both map a name (dotted ones too) to one of TYPES. `effects` adds the functions that describe
    edits of a plan.
    """

    def __init__(self, variables: Mapping[str, str], facts: Mapping[str, str], effects: bool = False):
        self.functions = _FUNCTIONS + (_EDITS if effects else [])
        self.variables = dict(variables)
        self.facts = dict(facts)
        self.sets: set[str] = set()
        self._checking: cel.Env | None = None
        self._running: cel.Env | None = None
        self._programs: dict[str, cel.Expression] = {}

    @property
    def names(self) -> list[str]:
        return [*self.variables, *self.facts, *FUNCTION_NAMES]

    def compile(self, source: str, want: str | None = None) -> Expression:
        """The expression, its type checked; `want` is one of TYPES that it must have. Raises BadExpression."""
        if len(source) > MOST_CHARACTERS:
            raise BadExpression([(0, f"has {len(source)} characters, at most {MOST_CHARACTERS} are allowed")])
        kind = self._type(source)
        if want and not _has_type(kind, want):
            raise BadExpression([(0, f"must be {want}, is {kind}")])
        return Expression(source, kind, self._rewritten(source))

    def template(self, source: str) -> Template:
        """The template, each `{…}` compiled. Raises BadExpression with offsets into the template."""
        parts: list[str | Expression] = list(template_parts(source))
        errors = []
        for position, start in enumerate(template_offsets(source)):
            try:
                parts[2 * position + 1] = self.compile(str(parts[2 * position + 1]))
            except BadExpression as error:
                errors += [(start + offset, message) for offset, message in error.errors]
        outside = _BRACES.sub(lambda match: " " * len(match[0]), source)
        stray = re.search(r"[{}]", outside)
        if stray:
            errors.append((stray.start(), f"a single {stray[0]!r}; braces of maps cannot stand inside a template"))
        if errors:
            raise BadExpression(errors)
        return Template(source, tuple(parts))

    def infer(self, sources: Mapping[str, str]) -> dict[str, Expression]:
        """Compile named values that may use each other in any order, and make them facts of this language.

        Raises BadExpression for the first that is wrong, with `name` set, or whose names form a cycle.
        """
        done: dict[str, Expression] = {}
        waiting = {name: _needs(source, sources) for name, source in sources.items()}
        while waiting:
            level = [name for name, needs in waiting.items() if not needs & waiting.keys()]
            if not level:
                raise _named(next(iter(waiting)), [(0, "uses itself: " + " -> ".join(_cycle(waiting)))])
            compiled = {name: self._value(name, sources[name]) for name in level}
            for name, expression in compiled.items():
                self.facts[name] = _fact_type(expression.type)
                del waiting[name]
            self._checking = self._running = None
            done |= compiled
        return done

    def _value(self, name: str, source: str) -> Expression:
        try:
            expression = self.compile(source)
        except BadExpression as error:
            raise _named(name, error.errors) from None
        handle = self._as_set(source) if expression.type == "list" else None
        if handle is None:
            return expression
        self.sets.add(name)
        return Expression(source, "list", self._rewritten(handle))

    def _as_set(self, source: str) -> str | None:
        """The source with its task functions giving handles, if its value then is one handle."""
        masked, handle = _masked(source), source
        for call in reversed(list(_SET_CALL.finditer(masked))):
            handle = f"{handle[: call.start()]}{call[1]}__set{handle[call.end(1) :]}"
        try:
            return handle if handle != source and self._type(handle) == "int" else None
        except BadExpression:
            return None

    def _type(self, source: str) -> str:
        if self._checking is None:
            names = {name: TYPES[kind] for name, kind in (self.variables | self.facts).items()}
            self._checking = cel.NewEnv(variables=names, functions=self.functions, extensions=_EXTENSIONS)
        try:
            return _type_word(self._checking.compile(source).return_type())
        except RuntimeError as error:
            raise BadExpression(self._errors(source, str(error))) from None

    def _errors(self, source: str, report: str) -> list[tuple[int, str]]:
        lines = source.split("\n")
        errors = []
        for line, column, message in _ERROR.findall(report):
            offset = sum(len(text) + 1 for text in lines[: int(line) - 1]) + max(int(column) - 1, 0)
            errors.append((min(offset, max(len(source) - 1, 0)), self._clearer(message)))
        return errors or [(0, report.splitlines()[0])]

    def _clearer(self, message: str) -> str:
        message = re.sub(r" \(in container ''\)| \[INVALID_ARGUMENT\]", "", message)
        unknown = re.match(r"undeclared reference to '([^']*)'", message)
        if not unknown:
            return re.sub(r" expecting \{.*", "", message)
        close = did_you_mean(unknown[1], self.names)
        return f"unknown name {unknown[1]!r}{close}"

    def _rewritten(self, source: str) -> str:
        """The text that is evaluated: each fact becomes a call at its offset."""
        for read in reversed(reads(source)):
            name = next((prefix for prefix in _prefixes(read.path) if prefix in self.facts), None)
            match = name and re.compile(re.escape(name).replace(r"\.", r"\s*\.\s*")).match(source, read.offset)
            if not name or not match:
                continue
            size = _uses_size_only(_masked(source), match.end()) if name in self.sets else None
            use, end = (f"{_function(name)}__size(){size[0]}", size[1]) if size else (f"{_function(name)}()", match.end())
            source = source[: read.offset] + use + source[end:]
        return _sizes_only(source)

    def program(self, expression: Expression) -> cel.Expression:
        program = self._programs.get(expression.text)
        if program is None:
            program = self.environment.compile(expression.text)
            self._programs[expression.text] = program
        return program

    @property
    def environment(self) -> cel.Env:
        if self._running is None:
            names = {name: TYPES[kind] for name, kind in self.variables.items()}
            functions = self.functions + [f for name, kind in self.facts.items() for f in self._fact_functions(name, kind)]
            self._running = cel.NewEnv(variables=names, functions=functions, extensions=_EXTENSIONS)
            self._programs = {}
        return self._running

    def _fact_functions(self, name: str, kind: str) -> list:
        one = _function(name)
        out = [_D(one, [_O(f"{one}_0", TYPES[kind], [], False, lambda: _CONTEXT.get().fact(name))])]
        if name in self.sets:
            size = f"{one}__size"
            out.append(_D(size, [_O(f"{size}_0", TYPES["int"], [], False, lambda: len(_CONTEXT.get().members(name)))]))
        return out


def _needs(source: str, names: Collection[str]) -> set[str]:
    return {prefix for read in reads(source) for prefix in _prefixes(read.path) if prefix in names}


def _named(name: str, errors: Sequence[tuple[int, str]]) -> BadExpression:
    error = BadExpression(errors)
    error.add_note(name)
    return error


def _cycle(waiting: Mapping[str, set[str]]) -> list[str]:
    """Names that wait for each other, the first one again at the end."""
    path = [next(name for name in waiting)]
    while True:
        step = next(name for name in waiting[path[-1]] if name in waiting)
        if step in path:
            return [*path[path.index(step) :], step]
        path.append(step)


def _prefixes(path: Sequence[str]) -> list[str]:
    """Dotted names that a path may stand for, the longest first."""
    return [".".join(path[:length]) for length in range(min(len(path), 3), 0, -1)]


def _function(name: str) -> str:
    return "fact_" + name.replace(".", "__")


def _type_word(kind: cel.Type) -> str:
    name = kind.name()
    if name.startswith("LIST"):
        return "list"
    if name.startswith("MAP"):
        return "map"
    word = {"DYN": "any", "NULL_TYPE": "null"}.get(name, name.lower())
    return word if word in TYPES else "any"


def _fact_type(kind: str) -> str:
    return kind if kind in ("bool", "int", "string", "double", "list", "map", "timestamp") else "any"


def _has_type(kind: str, want: str) -> bool:
    return kind in (want, "any") or (want == "strings" and kind == "list")


def did_you_mean(word: str, known: Sequence[str]) -> str:
    """"; did you mean 'x'?" for the nearest known words, or the known ones when they are few, or ""."""
    close = difflib.get_close_matches(word, known, n=2, cutoff=0.6)
    if close:
        return "; did you mean " + " or ".join(repr(name) for name in close) + "?"
    return f"; known: {', '.join(known)}" if 0 < len(known) <= 12 else ""


# ---- evaluating -------------------------------------------------------------------------------


class Context:
    """One evaluation: names bound to values, facts computed once when asked for.

    `resolve(name)` gives a fact's value or raises Unknown; expressions it needs come back through
    `value`. Not to be shared between threads.
    """

    def __init__(
        self,
        language: Language,
        variables: Mapping[str, object],
        resolve: Callable[[str], object],
        records: Index | None = None,
        tasks: Tasks | None = None,
    ):
        self.language = language
        self.variables = variables
        self.records = records or Index(())
        self.tasks = tasks or Tasks()
        self.sets: list[list] = []
        self.facts: dict[str, Outcome] = {}
        self._resolve = resolve
        self._members: dict[str, list] = {}
        self.touched: dict[str, list] = {}
        self._touching: list = []
        self._activation = language.environment.Activation(dict(variables))

    def value(self, expression: Expression) -> Outcome:
        """What the expression comes to. Never raises."""
        token = _CONTEXT.set(self)
        try:
            result = self.language.program(expression).eval(self._activation)
            if result.type() == cel.Type.ERROR:
                return Outcome(None, _reason(str(result.value())))
            return Outcome(result.plain_value())
        except RuntimeError as error:
            # The iteration budget and text that is no UTF-8 raise instead of giving an error value.
            return Outcome(None, _reason(str(error)))
        finally:
            _CONTEXT.reset(token)

    def holds(self, guard: Expression | None) -> bool:
        """Whether a guard is exactly true; no guard at all holds."""
        return guard is None or self.value(guard).value is True

    def text(self, template: Template) -> str | None:
        """The template with its values. A part without a value is "?", or None if it is the whole template."""
        out = []
        for part in template.parts:
            if isinstance(part, str):
                out.append(part)
                continue
            outcome = self.value(part)
            if outcome.error is not None and len(template.parts) == 3 and template.parts[0] == template.parts[2] == "":
                return None
            out.append("?" if outcome.error is not None else _said(outcome.value))
        return "".join(out)

    def fact(self, name: str) -> object:
        """The value of a fact for an expression. Raises ValueError, which CEL turns into an error value."""
        if name in self.language.sets:
            return _shown(self.members(name), name)
        outcome = self.known(name)
        if outcome.error is not None:
            raise ValueError(f"{name}: {outcome.error}")
        return outcome.value

    def known(self, name: str) -> Outcome:
        """A fact as an outcome, computed once."""
        outcome = self.facts.get(name)
        if outcome is None:
            # A value in the making that needs itself finds this; definitions with cycles are refused at load.
            self.facts[name] = Outcome(None, "is being computed")
            outer, self._touching = self._touching, []
            try:
                outcome = Outcome(self._resolve(name))
            except Unknown as error:
                outcome = Outcome(None, str(error))
            self.facts[name] = outcome
            self.touched[name], self._touching = self._touching, outer
        return outcome

    def touch(self, records: list) -> list:
        """Note the newest of the records that a fact or guard looked at, for its evidence."""
        self._touching += records[-3:]
        return records

    def touching(self, expression: Expression) -> list:
        """The records that the expression itself looks at, the facts in it left out."""
        outer, self._touching = self._touching, []
        self.value(expression)
        found, self._touching = self._touching, outer
        return found

    def members(self, name: str) -> list:
        """The tasks of a value that is a set of tasks, however many. Raises ValueError if it has no value."""
        if name not in self._members:
            outcome = self.known(name)
            if outcome.error is not None or not isinstance(outcome.value, int):
                raise ValueError(f"{name}: {outcome.error}")
            self._members[name] = self.sets[outcome.value]
        return self._members[name]

    def items(self, expression: Expression) -> Outcome:
        """Like `value` for a list, but the bare name of a set of tasks is given whole and unconverted."""
        if expression.source.strip() in self.language.sets:
            try:
                return Outcome(self.members(expression.source.strip()))
            except ValueError as error:
                return Outcome(None, str(error))
        return self.value(expression)

    def evidence(self, expression: Expression) -> list[tuple[tuple[str, ...], Outcome]]:
        """(path, outcome) of what the expression read, each path once, in the order of the text."""
        seen = dict.fromkeys(read.path for read in expression.reads)
        return [(path, self.seen(path)) for path in seen]

    def seen(self, path: tuple[str, ...]) -> Outcome:
        """What stands at a path that an expression reads."""
        for length in range(min(len(path), 3), 0, -1):
            name = ".".join(path[:length])
            if name in self.language.sets:
                try:
                    return Outcome(self.members(name))
                except ValueError as error:
                    return Outcome(None, str(error))
            if name in self.language.facts:
                return _below(self.known(name), path[length:])
            if name in self.variables:
                return _below(Outcome(self.variables[name]), path[length:])
        return Outcome(None, "there is no value")


def _below(outcome: Outcome, path: Sequence[str]) -> Outcome:
    value = outcome.value
    for key in path if outcome.error is None else ():
        if not isinstance(value, Mapping) or key not in value:
            return Outcome(None, f"{key} is missing")
        value = value[key]
    return Outcome(value, outcome.error)


def _reason(text: str) -> str:
    """CEL's error text without its codes, in the words of a person."""
    text = re.sub(r"^[A-Z_]+: ", "", text)
    text = re.sub(r"\s*\[[A-Z_]+\]\s*$", "", text)
    missing = re.search(r'Key not found in map : "?([^"]*)"?', text)
    if missing:
        return f"{missing[1]} is missing"
    return re.sub(r"^.*?ValueError: ", "", text).strip().splitlines()[0] if text.strip() else "no value"
