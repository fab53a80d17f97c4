"""From the plain values of a definition to the model: expressions compiled, names looked up.

Most keys are taken over as the grammar says (`schema.STRUCTS`): a field of the model has the name of its key
or the one in `_FIELDS`, and its value by the key's shape. Only what means more than one key is written out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..expressions.language import Expression, Language
from ..expressions.syntax import MOST_TEMPLATE, InvalidExpression, template_parts
from ..findings import NO_DATA
from ..journal.report_files import ReportForm
from ..suggestions import did_you_mean, misspelling
from .expression_names import facts, variables
from .model import (
    DEFAULT_OUTCOMES,
    Action,
    Artifact,
    Criterion,
    ExpressionOrigin,
    Gate,
    Limit,
    MarkerTest,
    NewRun,
    Note,
    Parameter,
    Phase,
    PhaseRule,
    Question,
    Rule,
    StateFile,
    Workflow,
    Write,
)  # fmt: skip
from .names import check_names, check_references, known
from .reader import DefinitionErrors, DefinitionNode, DefinitionPlace, LocatedText, read
from .schema import STRUCTS, Shape, struct

# More expressions than this are no definition that people wrote.
MOST_EXPRESSIONS = 500
REQUIRED_TYPES = ("any", "bool", "int", "number", "string", "list", "map")
# Whole numbers of expressions have 64 bits.
LEAST_INT, MOST_INT = -(2**63), 2**63 - 1
_FIELDS = {"agent": "agents", "from": "source", "is": "phase"}
"""Fields of the model whose keys are called otherwise."""


def compile_definition(root: DefinitionNode, digest: str, trusted: bool = False) -> Workflow:
    """The workflow of a definition's nodes, without the checks of `lint`. Raises InvalidWorkflow with all
    that is wrong.

    The expressions of a trusted definition, one whose tests showed it right, are compiled when first used.
    """
    errors = DefinitionErrors()
    raw = read(root, struct("definition"), errors)
    errors.check()
    assert isinstance(raw, dict)
    workflow = _Compiler(errors, trusted).workflow(raw, root, digest)
    errors.check()
    return workflow


class _Compiler:
    """Turns the plain values of one definition into the model; it exists while one definition is compiled."""

    def __init__(self, errors: DefinitionErrors, trusted: bool):
        self.errors = errors
        self.trusted = trusted
        self.language = self.effects = Language({}, {})
        self.places: dict[int, ExpressionOrigin] = {}
        self.count = 0

    # -- expressions

    def expression(self, text: LocatedText, want: str = "any", language: Language | None = None) -> Any:
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
            self.errors.add(text, message + self._cut_off(text), place, data)

    def _cut_off(self, text: LocatedText) -> str:
        """A hint where YAML took the rest of an unquoted expression for a comment."""
        node, source = text.node.yaml, text.node.source.text
        if node.style:
            return ""
        line = source.split("\n", node.span.end_line + 1)[node.span.end_line]
        hint = "; YAML reads what follows # as a comment: put quotes around all of it"
        return hint if line[node.span.end_column :].startswith(" #") else ""

    # -- by the grammar

    def fields(self, name: str, entry: Mapping[str, Any], *without: str) -> dict[str, Any]:
        """The fields of the model for the keys of a struct, those left out that the caller makes itself."""
        shapes = STRUCTS[name]
        return {
            _FIELDS.get(key, key): self.value(value, shapes[key].shape)
            for key, value in entry.items()
            if key != "at" and key not in without
        }

    def value(self, value: Any, shape: Shape) -> Any:
        """A plain value as the model has it, by the shape of its key."""
        match shape.kind:
            case "cel":
                return self.expression(value, next(iter(shape.words)))
            case "template":
                return self.template(value)
            case "list" | "some" if shape.of:
                return tuple(self.value(item, shape.of) for item in value)
            case "map" if shape.of:
                return {str(key): self.value(item, shape.of) for key, item in value.items()}
            case "bool" | "typed":
                return value
        return str(value)

    # -- the whole

    def workflow(self, raw: dict[str, Any], root: DefinitionNode, digest: str) -> Workflow:
        check_names(raw, self.errors)
        self.language = Language(variables(raw), facts(raw), trusted=self.trusted)
        self._values(raw.get("values", {}))
        self.effects = self.language.with_edits({"step": "string", "now": "timestamp"})
        artifacts = {str(n): self._artifact(n, e) for n, e in raw.get("artifacts", {}).items()}
        phases = {
            str(name): self._phase(str(name), order, entry)
            for order, (name, entry) in enumerate(raw["phases"].items())
        }
        check_references(raw, self.errors)
        runs, reports, progress = raw["runs"], raw.get("reports", {}), raw.get("progress")

        def each(group: str) -> Iterator[tuple[str, dict[str, Any]]]:
            return ((str(name), entry) for name, entry in raw.get(group, {}).items())

        scalars = ("aliases", "action_aliases", "report_stage", "skipped_stages")
        return Workflow(
            name=str(raw["workflow"]),
            title=str(raw.get("title", raw["workflow"])),
            digest=digest,
            source=root.source,
            language=self.language,
            effects_language=self.effects,
            at=tuple(map(str, runs["at"])),
            marker=self._marker(runs["marker"]),
            phases=phases,
            phase=self._phase_source(raw["phase"]),
            state=self._state(raw["state"]) if "state" in raw else None,
            parameters={str(n): self._parameter(n, e) for n, e in raw.get("parameters", {}).items()},
            artifacts=artifacts,
            report_files=tuple(map(str, reports.get("files", ()))),
            report_forms=tuple(self._form(n, e, phases) for n, e in reports.get("read", {}).items()),
            values=self.language.values,
            limits={n: Limit(n, **self.fields("limit", e)) for n, e in each("limits")},
            before=self._rules(raw.get("before", []), "before"),
            otherwise=self._rules(raw.get("otherwise", []), "otherwise"),
            actions={n: Action(**self._titled("action", n, e)) for n, e in each("actions")},
            questions={n: Question(n, **self.fields("question", e)) for n, e in each("questions")},
            gates=tuple(self._gate(n, e) for n, e in each("gates")),
            progress=tuple(self.fields("progress", progress).values()) if progress else None,
            new=NewRun(**self.fields("new", raw["new"])) if raw.get("new") else None,
            notes=tuple(Note(**self._titled("note", n, e)) for n, e in each("notes")),
            effects={
                str(event): tuple(write for group in groups for write in self._writes(group))
                for event, groups in raw.get("effects", {}).items()
            },
            places=self.places,
            keys=dict(_keys(raw)),
            **self.fields("definition", {key: raw[key] for key in scalars if key in raw}),
        )

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

    # -- parts

    def _titled(self, struct_name: str, name: str, entry: dict[str, Any], *without: str) -> dict[str, Any]:
        """The fields of something with an id, which is its title too where none is given."""
        return {"id": str(name), "title": str(name), **self.fields(struct_name, entry, *without)}

    def _state(self, entry: dict[str, Any]) -> StateFile:
        include = {str(path): str(part["at"]) for path, part in (entry.get("include") or {}).items()}
        defaults, folds = entry.get("defaults") or {}, "dotted_keys" in entry
        return StateFile(str(entry["file"]), defaults, folds, include)

    def _phase_source(self, raw: LocatedText | list[dict[str, Any]]) -> Expression | tuple[PhaseRule, ...]:
        if isinstance(raw, LocatedText):
            return self.expression(raw, "string")
        rules = enumerate(raw)
        return tuple(PhaseRule(f"phase[{i}]", **self.fields("phase rule", entry)) for i, entry in rules)

    def _rules(self, raw: list[dict[str, Any]], where: str) -> tuple[Rule, ...]:
        return tuple(self._rule(entry, f"{where}[{i}]") for i, entry in enumerate(raw))

    def _rule(self, entry: dict[str, Any], where: str) -> Rule:
        outcomes = [key for key in ("to", "act", "wait", "stop") if key in entry]
        if not outcomes and "ask" not in entry and "warn" not in entry:
            self.errors.add(entry["at"], "a rule needs one of to, act, wait, stop, ask or warn")
        if len(outcomes) > 1 and outcomes != ["to", "act"]:
            self.errors.add(entry["at"], f"a rule has one outcome, this one has {' and '.join(outcomes)}")
        writes = entry.get("set", {}).items()
        return Rule(
            where=where,
            place=entry["at"].place,
            set={str(path): self.expression(value, "any", self.effects) for path, value in writes},
            **self.fields("rule", entry, "set"),
        )

    def _phase(self, name: str, order: int, entry: dict[str, Any]) -> Phase:
        rules = self._rules(entry.get("rules", []), f"phases.{name}.rules")
        fields = self._titled("phase", name, entry, "rules")
        return Phase(order=order, place=entry["at"].place, rules=rules, **fields)

    def _artifact(self, name: LocatedText, entry: dict[str, Any]) -> Artifact:
        if ("paths" in entry) == ("listed" in entry):
            self.errors.add(name, "an artifact has either paths or listed")
        fields = self.fields("artifact", entry, "require", "defaults")
        require = tuple(self._require(key, want) for key, want in entry.get("require", {}).items())
        return Artifact(str(name), require=require, defaults=entry.get("defaults") or {}, **fields)

    def _require(
        self, key: LocatedText, want: LocatedText | list[LocatedText]
    ) -> tuple[tuple[str, ...], str | tuple[str, ...]]:
        if isinstance(want, LocatedText) and want not in REQUIRED_TYPES:
            message = f"{str(want)!r} is no type{did_you_mean(want, REQUIRED_TYPES)}"
            self.errors.add(want, message, data=misspelling(want, REQUIRED_TYPES))
        alternatives = tuple(part.strip() for part in key.split("|"))
        return alternatives, str(want) if isinstance(want, LocatedText) else tuple(map(str, want))

    def _gate(self, name: str, entry: dict[str, Any]) -> Gate:
        forbidden = entry.get("forbidden", {}).items()
        return Gate(
            criteria=tuple(Criterion(**self.fields("criterion", each)) for each in entry["criteria"]),
            forbidden=tuple((self.template(action), self.template(why)) for action, why in forbidden),
            **self._titled("gate", name, entry, "criteria", "forbidden"),
        )

    def _parameter(self, name: LocatedText, entry: dict[str, Any]) -> Parameter:
        one_of = entry.get("one_of")
        words = tuple(one_of) if isinstance(one_of, list) else ()
        parameter = Parameter(str(name), one_of=words, **self.fields("parameter", entry, "one_of"))
        empty = one_of is not None and not words
        why = "one_of is a list of words" if empty else _bad_parameter(parameter)
        if why:
            self.errors.add(name, f"parameter {name}: {why}")
        return parameter

    def _form(self, phase: LocatedText, entry: dict[str, Any], phases: Mapping[str, Phase]) -> ReportForm:
        heading = entry.get("heading", {})
        if not isinstance(heading, Mapping):
            heading = dict.fromkeys([heading] if isinstance(heading, LocatedText) else heading, "")
        name = known(phase, phases, "phase", self.errors)
        return ReportForm(
            phase=name,
            headings={str(key): str(value) for key, value in heading.items()},
            outcomes=phases[name].outcomes if name in phases else DEFAULT_OUTCOMES,
            **self.fields("report form", entry, "heading"),
        )

    def _marker(self, entry: dict[str, Any]) -> tuple[MarkerTest, ...]:
        beside = [key for key in entry if key not in ("any", "at")]
        if "any" in entry and beside:
            self.errors.add(
                entry["at"], f"a marker with `any` has its tests in there, not {beside[0]!r} beside it"
            )
        return tuple(map(self._marker_test, entry.get("any") or [entry]))

    def _marker_test(self, entry: dict[str, Any]) -> MarkerTest:
        if ("has" in entry or "where" in entry) and not str(entry.get("file", "")).endswith(".json"):
            self.errors.add(entry["at"], "has and where look into JSON; the file of this marker is none")
        if not entry.get("file") and not entry.get("journal"):
            self.errors.add(entry["at"], "a marker needs a file or a journal")
        return MarkerTest(**self.fields("marker", entry, "any"))

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


def _keys(raw: dict[str, Any]) -> Iterator[tuple[str, DefinitionPlace]]:
    """("GROUP.NAME", where it stands); options as "questions.NAME.OPTION", the whole's name as "workflow"."""
    yield "workflow", raw["workflow"].node.place
    for name in raw.get("reports", {}).get("read", {}):
        yield f"reports.{name}", name.node.place
    for group in ("artifacts", "limits", "questions", "gates", "actions", "effects", "phases"):
        for name, entry in raw.get(group, {}).items():
            yield f"{group}.{name}", name.node.place
            for option in entry.get("options", {}) if group == "questions" else ():
                yield f"{group}.{name}.{option}", option.node.place


def _bad_parameter(parameter: Parameter) -> str:
    """Why a parameter's own bounds and default do not go together, "" if they do."""
    default = parameter.default
    if not isinstance(default, (bool, int, float, str)):
        return "the default is a number, a word, true or false"
    if isinstance(default, int) and not LEAST_INT <= default <= MOST_INT:
        return "the default has more digits than a whole number can have here"
    bounds = [bound for bound in (parameter.min, parameter.max) if bound is not None]
    if any(isinstance(part, (bool, str)) or not isinstance(part, (int, float)) for part in bounds):
        return "min and max are numbers"
    if bounds and isinstance(default, (bool, str)):
        return "min and max are for numbers"
    if parameter.one_of and default not in parameter.one_of:
        return f"the default {default!r} is none of one_of"
    low = parameter.min is not None and default < parameter.min
    high = parameter.max is not None and default > parameter.max
    return "the default is outside min and max" if low or high else ""
