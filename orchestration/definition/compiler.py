"""From the plain values of a definition to the model: expressions compiled, names looked up.

Every map becomes the class that `model.MODELS` says, each key the field that holds it, by its shape. Only
what means more than one key is written out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from ..expressions.context import Context, UnknownFact
from ..expressions.language import Expression, Language
from ..expressions.syntax import MOST_TEMPLATE, InvalidExpression, template_parts
from ..findings import NO_DATA
from ..journal.report_forms import ReportForm
from ..suggestions import did_you_mean, misspelling
from .model import DEFAULT_OUTCOMES, MODELS, STRUCTS, ExpressionOrigin, Workflow, Write
from .names import check_name, check_names, check_references, facts, variables
from .reader import (
    DefinitionDigest,
    DefinitionErrors,
    DefinitionNode,
    DefinitionPlace,
    LocatedMap,
    LocatedText,
)
from .schema import read
from .shapes import TEXT, Shape, struct

# More expressions than this are no definition that people wrote.
MOST_EXPRESSIONS = 500
REQUIRED_TYPES = ("any", "bool", "int", "number", "string", "list", "map")
# Whole numbers of expressions have 64 bits.
LEAST_INT, MOST_INT = -(2**63), 2**63 - 1
_Path = tuple[str | int, ...]
_VOCABULARY = re.compile(r"\{([a-z]\w*)\}")
# The fields of each kind of map that are known without a key.
_OWN = {
    kind: [each.name for each in fields(model) if "key" not in each.metadata or each.name == "title"]
    for kind, model in MODELS.items()
}


def compile_definition(root: DefinitionNode, digest: DefinitionDigest, trusted: bool = False) -> Workflow:
    """The workflow of a definition's nodes, without the checks of `lint`. Raises InvalidWorkflow with all
    that is wrong.

    The expressions of a trusted definition, one whose tests showed it right, are compiled when first used.
    """
    errors = DefinitionErrors()
    raw = read(root, struct("definition"), errors)
    errors.check()
    check_names(raw, errors)
    workflow = _Compiler(raw, errors, trusted).workflow(digest)
    errors.check()
    return workflow


class _Compiler:
    """Turns the plain values of one definition into the model; it exists while one definition is compiled."""

    def __init__(self, raw: LocatedMap, errors: DefinitionErrors, trusted: bool):
        self.raw = raw
        self.errors = errors
        self.order = {name: position for position, name in enumerate(raw["phases"])}
        self.language = Language(variables(raw), facts(raw), trusted=trusted)
        self.places: dict[int, ExpressionOrigin] = {}
        self.count = 0
        self._values(raw.get("values", {}))
        self.effects = self.language.with_edits({"step": "string", "now": "timestamp"})

    def workflow(self, digest: DefinitionDigest) -> Workflow:
        check_references(self.raw, self.errors)
        effects = {
            str(event): tuple(write for group in groups for write in self._writes(group))
            for event, groups in self.raw.get("effects", {}).items()
        }
        others = {name: value for name, value in self.raw.items() if name not in ("values", "effects")}
        return Workflow(
            digest=digest.current,
            released=digest.released,
            language=self.language,
            effects_language=self.effects,
            values=self.language.values,
            effects=effects,
            places=self.places,
            keys=_keys(self.raw),
            **self.fields("definition", {"title": self.raw["workflow"], **others}, ()),
        )

    # -- by the grammar

    def fields(self, kind: str, entry: Mapping[str, Any], path: _Path) -> dict[str, Any]:
        """The fields of the model for the keys of a struct."""
        return {
            key.field or name: self.value(entry[name], key.shape, (*path, name))
            for name, key in STRUCTS[kind].items()
            if entry.get(name) is not None
        }

    def struct(self, kind: str, entry: LocatedMap, path: _Path) -> Any:
        """An instance of the class of a struct; its name is its title where none is given."""
        if kind in _CHECKS:
            _CHECKS[kind](entry, path[-1], self.errors)
        if kind == "report form":
            return self._form(path[-1], entry)
        steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
        own = {
            "id": str(path[-1]),
            "title": str(path[-1]),
            "where": "".join(steps)[1:],
            "place": entry.node.place,
            "order": self.order.get(path[-1]),
        }
        given = {name: own[name] for name in _OWN[kind]}
        return MODELS[kind](**given | self.fields(kind, entry, path))

    def value(self, value: Any, shape: Shape, path: _Path) -> Any:
        """A plain value as the model has it, by the shape of its key."""
        inner = shape.of or shape
        match shape.kind:
            case "cel":
                return self.expression(value, next(iter(shape.words)), self.effects if shape.name else None)
            case "template":
                return self.template(value)
            case "struct":
                return self.struct(shape.name, value, path)
            case "either":
                chosen = inner if isinstance(value, LocatedText) else shape.other or shape
                return self.value(value, chosen, path)
            case "list" | "some" if shape.of == TEXT:
                return tuple(word for item in value for word in self._words(item))
            case "list" | "some":
                return tuple(self.value(item, inner, (*path, index)) for index, item in enumerate(value))
            case "map" if shape.other:
                return tuple(
                    (self.value(key, shape.other, path), self.value(item, inner, path))
                    for key, item in value.items()
                )
            case "map":
                return {str(key): self.value(item, inner, (*path, key)) for key, item in value.items()}
            case "alternatives":
                return tuple(part.strip() for part in value.split("|"))
            case "id" if shape.name:
                groups = ("phases", "actions") if shape.name == "step" else (f"{shape.name}s",)
                names = [name for group in groups for name in self.raw.get(group, {})]
                return check_name(value, names, shape.name, self.errors)
            case "bool" | "typed":
                return value
        return str(value)

    def _words(self, text: LocatedText) -> Iterable[str]:
        """One text of a list; for "{NAME}" the words of that value, which must be told without a run."""
        name = _VOCABULARY.fullmatch(text)
        if name is None:
            return (str(text),)
        values = self.language.values
        if name[1] not in values:
            hint = did_you_mean(name[1], list(values))
            self.errors.add(text, f"unknown value {name[1]!r}{hint}", data=misspelling(name[1], list(values)))
            return ()

        def resolve(name: str) -> object:
            if name not in values:
                raise UnknownFact(name)
            return context.value(values[name]).value_or_raise()

        context = Context(self.language, {}, resolve)
        words = context.value(values[name[1]]).value
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            self.errors.add(text, f"{name[1]} is no list of words that are the same in every run")
            return ()
        return words

    def _form(self, phase: Any, entry: LocatedMap) -> ReportForm:
        heading = entry.get("heading", {})
        if not isinstance(heading, Mapping):
            heading = dict.fromkeys([heading] if isinstance(heading, LocatedText) else heading, "")
        phases = self.raw["phases"]
        outcomes = phases.get(phase, {}).get("outcomes", DEFAULT_OUTCOMES)
        others = {name: value for name, value in entry.items() if name != "heading"}
        return ReportForm(
            phase=check_name(phase, phases, "phase", self.errors),
            headings={str(key): str(value) for key, value in heading.items()},
            outcomes=tuple(map(str, outcomes)),
            **self.fields("report form", others, ()),
        )

    # -- expressions

    def expression(self, text: LocatedText, want: str, language: Language | None) -> Any:
        """The compiled expression of a scalar, None if it is wrong (which is noted)."""
        self._count(text, 1)
        try:
            expression = (language or self.language).compile(str(text), want)
        except InvalidExpression as error:
            self._note(text, error)
            return None
        self.places[id(expression)] = ExpressionOrigin(expression, text, 0)
        return expression

    def template(self, text: LocatedText, language: Language | None = None) -> Any:
        """The template of a scalar or key, None if it is wrong (which is noted)."""
        parts = template_parts(text) if len(text) <= MOST_TEMPLATE else []
        self._count(text, len(parts) // 2)
        try:
            template = (language or self.language).template(str(text))
        except InvalidExpression as error:
            self._note(text, error)
            return None
        for part, (_, offset) in zip(template.parts, parts, strict=True):
            if isinstance(part, Expression):
                self.places[id(part)] = ExpressionOrigin(part, text, offset)
        return template

    def _count(self, text: LocatedText, more: int) -> None:
        """Refuse a definition with too many expressions before time is spent on them."""
        self.count += more
        if self.count > MOST_EXPRESSIONS:
            self.errors.add(text, f"this is expression {self.count}, at most {MOST_EXPRESSIONS} are allowed")
            self.errors.check()

    def _note(self, text: LocatedText, error: InvalidExpression) -> None:
        for offset, message in error.errors:
            data = error.data.get((offset, message), NO_DATA)
            place = text.span(offset, len(data.get("word", " ")))
            node, end = text.node.yaml, text.node.yaml.span
            line = text.node.source.text.split("\n", end.end_line + 1)[end.end_line]
            if not node.style and line[end.end_column :].startswith(" #"):
                message += "; YAML reads what follows # as a comment: put quotes around all of it"
            self.errors.add(text, message, place, data)

    def _values(self, raw: Mapping[LocatedText, LocatedText]) -> None:
        for text in raw.values():
            self._count(text, 1)
        errors = self.language.infer({str(name): str(text) for name, text in raw.items()})
        for name, text in raw.items():
            if name in errors:
                self._note(text, errors[name])
            else:
                value = self.language.values[name]
                self.places[id(value)] = ExpressionOrigin(value, text, 0)

    def _writes(self, group: Mapping[LocatedText, LocatedText]) -> Iterator[Write]:
        by_name = {str(key): value for key, value in group.items()}
        if "file" in by_name:
            kind = next((k for k in ("create", "append", "replace") if by_name.keys() == {"file", k}), None)
            if kind is None:
                message = "a file is written by create, append or replace, and by nothing beside it"
                self.errors.add(by_name["file"], message)
                return
            yield self._write(by_name["file"], by_name[kind], kind)
        elif by_name.keys() == {"include", "create"}:
            yield self._write(by_name["include"], by_name["create"], "include")
        else:
            yield from (self._write(path, value, "set") for path, value in group.items())

    def _write(self, path: LocatedText, value: LocatedText, kind: str) -> Write:
        return Write(self.template(path, self.effects), self.expression(value, "any", self.effects), kind)


def _keys(raw: dict[str, Any]) -> dict[str, DefinitionPlace]:
    """Places by "GROUP.NAME"; of options by "questions.NAME.OPTION", of a run's first files by "new.PATH", of
    the state's defaults by "state.defaults", of the whole's name by "workflow"."""
    groups = ("artifacts", "limits", "questions", "gates", "actions", "effects", "phases")
    named: dict[str, Mapping[LocatedText, Any]] = {group: raw.get(group, {}) for group in groups}
    named["reports"] = raw.get("reports", {}).get("read", {})
    named |= {f"questions.{name}": entry.get("options", {}) for name, entry in named["questions"].items()}
    named["new"] = (raw.get("new") or {}).get("files", {})
    places = {f"{group}.{name}": name.node.place for group, names in named.items() for name in names}
    if "defaults" in raw.get("state", {}):
        places["state.defaults"] = raw["state"].node.key("defaults")
    return {"workflow": raw["workflow"].node.place, **places}


# -- checks of a map by itself


def _check_rule(entry: LocatedMap, name: Any, errors: DefinitionErrors) -> None:
    outcomes = [key for key in ("to", "act", "wait", "stop") if key in entry]
    if not outcomes and "ask" not in entry and "warn" not in entry:
        errors.add(entry.node, "a rule needs one of to, act, wait, stop, ask or warn")
    if len(outcomes) > 1 and outcomes != ["to", "act"]:
        errors.add(entry.node, f"a rule has one outcome, this one has {' and '.join(outcomes)}")


def _check_artifact(entry: LocatedMap, name: Any, errors: DefinitionErrors) -> None:
    if ("paths" in entry) == ("listed" in entry):
        errors.add(name, "an artifact has either paths or listed")
    if entry.get("thresholds") and entry.get("kind") != "coverage":
        errors.add(name, "thresholds are for an artifact of the kind coverage")
    for want in entry.get("require", {}).values():
        if isinstance(want, LocatedText) and want not in REQUIRED_TYPES:
            message = f"{str(want)!r} is no type{did_you_mean(want, REQUIRED_TYPES)}"
            errors.add(want, message, data=misspelling(want, REQUIRED_TYPES))


def _check_marker(entry: LocatedMap, name: Any, errors: DefinitionErrors) -> None:
    beside = [key for key in entry if key != "any"]
    if "any" in entry and beside:
        errors.add(entry.node, f"a marker with `any` has its tests in there, not {beside[0]!r} beside it")
    if entry.get("any"):
        return
    if ("has" in entry or "where" in entry) and not str(entry.get("file", "")).endswith(".json"):
        errors.add(entry.node, "has and where look into JSON; the file of this marker is none")
    if not entry.get("file") and not entry.get("journal"):
        errors.add(entry.node, "a marker needs a file or a journal")


_RATCHETS = ("order", "limit", "count", "members", "constant")
_RATCHET_WORDS = f"{', '.join(_RATCHETS[:-1])} and {_RATCHETS[-1]}"


def _check_ratchet(entry: LocatedMap, name: Any, errors: DefinitionErrors) -> None:
    given = [way for way in _RATCHETS if entry.get(way)]
    if len(given) != 1 and given != ["limit", "count"]:
        errors.add(entry.node, f"a ratchet has one of {_RATCHET_WORDS}, or limit and count")


def _check_thresholds(entry: LocatedMap, name: Any, errors: DefinitionErrors) -> None:
    for key, least in entry.items():
        if isinstance(least, bool) or not isinstance(least, (int, float)) or not 0 <= least <= 1:
            at = entry.node.child(key) or entry.node
            errors.add(at, f"a threshold of {key} is a number from 0 to 1, as 0.8")


def _check_parameter(entry: LocatedMap, name: Any, errors: DefinitionErrors) -> None:
    bounds = entry.get("min"), entry.get("max"), entry.get("one_of")
    if entry.get("names") or isinstance(entry["default"], list):
        why = _bad_names(entry["default"], entry.get("names"), bounds)
    else:
        why = _bad_parameter(entry["default"], *bounds)
    if why:
        errors.add(name, f"parameter {name}: {why}")


def _bad_names(default: Any, names: Any, bounds: Sequence[Any]) -> str:
    """The reason why a parameter that is a list of names is not written as one has to be, "" if it is."""
    if not names:
        return "a list is of names: say `names: checks`"
    if not isinstance(default, list) or not all(isinstance(each, str) for each in default):
        return "the default is a list of names, as []"
    return "" if all(bound is None for bound in bounds) else "names have neither min, max nor one_of"


def _bad_parameter(default: Any, least: Any, most: Any, words: Any) -> str:
    """The reason why a parameter's own bounds and default do not go together, "" if they do."""
    if words is not None and not (isinstance(words, list) and words):
        return "one_of is a list of words"
    if not isinstance(default, (bool, int, float, str)):
        return "the default is a number, a word, true or false"
    if isinstance(default, int) and not LEAST_INT <= default <= MOST_INT:
        return "the default has more digits than a whole number can have here"
    bounds = [bound for bound in (least, most) if bound is not None]
    if any(isinstance(part, (bool, str)) or not isinstance(part, (int, float)) for part in bounds):
        return "min and max are numbers"
    if bounds and isinstance(default, (bool, str)):
        return "min and max are for numbers"
    if words and default not in words:
        return f"the default {default!r} is none of one_of"
    low, high = least is not None and default < least, most is not None and default > most
    return "the default is outside min and max" if low or high else ""


_CHECKS: dict[str, Callable[[LocatedMap, Any, DefinitionErrors], None]] = {
    "rule": _check_rule,
    "artifact": _check_artifact,
    "thresholds": _check_thresholds,
    "parameter": _check_parameter,
    "ratchet": _check_ratchet,
    "marker": _check_marker,
    "marker test": _check_marker,
}
