"""From the plain values of a definition to the model: expressions compiled, names looked up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..expressions.language import Expression, Language
from ..expressions.syntax import MOST_TEMPLATE, InvalidExpression, template_parts
from ..journal.report_files import ReportForm
from ..suggestions import did_you_mean, misspelling
from .expression_names import facts, variables
from .model import (
    DEFAULT_OUTCOMES,
    Action,
    Artifact,
    Criterion,
    Gate,
    Limit,
    MarkerTest,
    NewRun,
    Note,
    Parameter,
    Phase,
    PhaseRule,
    Placed,
    Question,
    Rule,
    StateFile,
    Workflow,
    Write,
)  # fmt: skip
from .names import check_names, check_references, known
from .reader import Branch, Place, Reading, Text, read
from .schema import struct

# More expressions than this are no definition that people wrote.
MOST_EXPRESSIONS = 500


def compile_definition(branch: Branch, digest: str, trusted: bool = False) -> Workflow:
    """The workflow of a definition's nodes, not checked by `lint`. Raises InvalidWorkflow with all errors.

    The expressions of a trusted definition, one whose tests showed it right, are compiled when first used.
    """
    reading = Reading()
    raw = read(branch, struct("definition"), reading)
    reading.check()
    assert isinstance(raw, dict)
    workflow = Compiler(reading, trusted).workflow(raw, branch, digest)
    reading.check()
    return workflow


class Compiler:
    """Turns the plain values of one definition into the model; it exists while one definition is compiled."""

    def __init__(self, reading: Reading, trusted: bool):
        self.reading = reading
        self.trusted = trusted
        self.language = self.effects = Language({}, {})
        self.places: dict[int, Placed] = {}
        self.count = 0

    # -- expressions

    def expression(self, text: Text | None, want: str | None = None, language: Language | None = None) -> Any:
        """The compiled expression of a scalar, None if there is none or it is wrong (and told)."""
        if text is None:
            return None
        self._counted(text, 1)
        try:
            expression = (language or self.language).compile(str(text), want or "any")
        except InvalidExpression as error:
            self._told(text, error)
            return None
        self.places[id(expression)] = Placed(text, 0)
        return expression

    def template(self, text: Text | None, language: Language | None = None) -> Any:
        """The template of a scalar or key, None if there is none or it is wrong (and told)."""
        if text is None:
            return None
        parts = template_parts(text) if len(text) <= MOST_TEMPLATE else []
        self._counted(text, len(parts) // 2)
        try:
            template = (language or self.language).template(str(text))
        except InvalidExpression as error:
            self._told(text, error)
            return None
        for part, (_, offset) in zip(template.parts, parts, strict=True):
            if isinstance(part, Expression):
                self.places[id(part)] = Placed(text, offset)
        return template

    def _counted(self, text: Text, more: int) -> None:
        """Refuse a definition with too many expressions before time is spent on them."""
        self.count += more
        if self.count > MOST_EXPRESSIONS:
            self.reading.wrong(
                text, f"this is expression {self.count}, at most {MOST_EXPRESSIONS} are allowed"
            )
            self.reading.check()

    def _told(self, text: Text, error: InvalidExpression) -> None:
        for offset, message in error.errors:
            self.reading.wrong(text, message + self._cut_off(text), text.span(offset))

    def _cut_off(self, text: Text) -> str:
        """A hint where YAML took the rest of an unquoted expression for a comment."""
        node, source = text.branch.node, text.branch.source.text
        if node.style:
            return ""
        line = source.split("\n", node.span.end_line + 1)[node.span.end_line]
        rest = line[node.span.end_column :]
        return (
            "; YAML reads what follows # as a comment: put quotes around all of it"
            if rest[:2] == " #"
            else ""
        )

    # -- the whole

    def workflow(self, raw: dict, branch: Branch, digest: str) -> Workflow:
        check_names(raw, self.reading)
        self.language = Language(variables(raw), facts(raw), trusted=self.trusted)
        values = self._values(raw.get("values", {}))
        self.effects = self.language.with_edits({"step": "string", "now": "timestamp"})
        artifacts = {name: self._artifact(name, entry) for name, entry in raw.get("artifacts", {}).items()}
        phases = {
            str(name): self._phase(str(name), order, entry)
            for order, (name, entry) in enumerate(raw["phases"].items())
        }
        check_references(raw, self.reading)
        runs = raw["runs"]
        return Workflow(
            name=str(raw["workflow"]),
            title=str(raw.get("title", raw["workflow"])),
            digest=digest,
            source=branch.source,
            language=self.language,
            effects_language=self.effects,
            at=tuple(map(str, runs["at"])),
            marker=self._marker(runs["marker"]),
            phases=phases,
            phase=self._phase_source(raw["phase"]),
            state=self._state(raw.get("state")),
            aliases=_texts(raw.get("aliases", {})),
            parameters={str(n): self._parameter(n, e) for n, e in raw.get("parameters", {}).items()},
            artifacts=artifacts,
            report_files=tuple(map(str, raw.get("reports", {}).get("files", ()))),
            report_forms=tuple(
                self._form(n, e, phases) for n, e in raw.get("reports", {}).get("read", {}).items()
            ),
            report_stage=self.expression(raw.get("report_stage"), "string"),
            skipped_stages=self.expression(raw.get("skipped_stages"), "list"),
            values=values,
            limits={str(n): self._limit(str(n), e) for n, e in raw.get("limits", {}).items()},
            before=self._rules(raw.get("before", []), "before"),
            otherwise=self._rules(raw.get("otherwise", []), "otherwise"),
            actions={str(n): self._action(str(n), e) for n, e in raw.get("actions", {}).items()},
            action_aliases=_texts(raw.get("action_aliases", {})),
            questions={str(n): self._question(str(n), e) for n, e in raw.get("questions", {}).items()},
            gates=tuple(self._gate(str(n), e) for n, e in raw.get("gates", {}).items()),
            progress=self._progress(raw.get("progress")),
            new=_new(raw.get("new")),
            notes=tuple(self._note(str(n), e) for n, e in raw.get("notes", {}).items()),
            effects=self._effects(raw.get("effects", {})),
            places=self.places,
            keys=dict(_keys(raw)),
        )

    def _values(self, raw: Mapping[Text, Text]) -> dict[str, Expression]:
        for text in raw.values():
            self._counted(text, 1)
        errors = self.language.infer({str(name): str(text) for name, text in raw.items()})
        for name, text in raw.items():
            if name in errors:
                self._told(text, errors[name])
            else:
                self.places[id(self.language.values[name])] = Placed(text, 0)
        return self.language.values

    # -- parts

    def _state(self, entry: dict | None) -> StateFile | None:
        if entry is None:
            return None
        include = {str(path): str(part["at"]) for path, part in (entry.get("include") or {}).items()}
        return StateFile(str(entry["file"]), entry.get("defaults") or {}, "dotted_keys" in entry, include)

    def _phase_source(self, raw: Text | list[dict]) -> Expression | tuple[PhaseRule, ...]:
        if isinstance(raw, Text):
            return self.expression(raw, "string")
        return tuple(self._phase_rule(entry, f"phase[{i}]") for i, entry in enumerate(raw))

    def _phase_rule(self, entry: dict, where: str) -> PhaseRule:
        return PhaseRule(
            where=where,
            when=self.expression(entry.get("when"), "bool"),
            phase=self.template(entry["is"]),
            because=self.template(entry.get("because")),
        )

    def _rules(self, raw: list[dict], where: str) -> tuple[Rule, ...]:
        return tuple(self._rule(entry, f"{where}[{i}]") for i, entry in enumerate(raw))

    def _rule(self, entry: dict, where: str) -> Rule:
        outcomes = [key for key in ("to", "act", "wait", "stop") if key in entry]
        if not outcomes and "ask" not in entry and "warn" not in entry:
            self.reading.wrong(entry["at"], "a rule needs one of to, act, wait, stop, ask or warn")
        if len(outcomes) > 1 and outcomes != ["to", "act"]:
            self.reading.wrong(entry["at"], f"a rule has one outcome, this one has {' and '.join(outcomes)}")
        writes = entry.get("set", {})
        return Rule(
            where=where,
            place=entry["at"].place,
            when=self.expression(entry.get("when"), "bool"),
            because=self.template(entry.get("because")),
            to=self.template(entry.get("to")),
            act=self.template(entry.get("act")),
            wait=str(entry.get("wait", "")),
            stop=str(entry.get("stop", "")),
            ask=str(entry.get("ask", "")),
            warn=str(entry.get("warn", "")),
            set={str(path): self.expression(value, None, self.effects) for path, value in writes.items()},
        )

    def _phase(self, name: str, order: int, entry: dict) -> Phase:
        return Phase(
            id=name,
            title=str(entry.get("title", name)),
            order=order,
            agents=tuple(map(str, entry.get("agent", ()))),
            produces=tuple(map(str, entry.get("produces", ()))),
            outcomes=tuple(map(str, entry.get("outcomes", DEFAULT_OUTCOMES))),
            rules=self._rules(entry.get("rules", []), f"phases.{name}.rules"),
            tasks=self.expression(entry.get("tasks"), "list"),
            data=self.expression(entry.get("data"), "map"),
            checks=tuple(map(str, entry.get("checks", ()))),
            terminal=str(entry.get("terminal", "")),
            attested=self.expression(entry.get("attested"), "bool"),
            detour=bool(entry.get("detour")),
            follow_up=bool(entry.get("follow_up")),
            leads_to=tuple(map(str, entry.get("leads_to", ()))),
            skip=self.expression(entry.get("skip"), "bool"),
            skip_because=self.template(entry.get("skip_because")),
            place=entry["at"].place,
        )

    def _artifact(self, name: Text, entry: dict) -> Artifact:
        if ("paths" in entry) == ("listed" in entry):
            self.reading.wrong(name, "an artifact has either paths or listed")
        return Artifact(
            id=str(name),
            kind=str(entry.get("kind", "")),
            paths=tuple(map(str, entry.get("paths", ()))),
            listed=self.expression(entry.get("listed"), "strings"),
            require=tuple(self._require(key, want) for key, want in entry.get("require", {}).items()),
            schema=str(entry.get("schema", "")),
            defaults=entry.get("defaults") or {},
            optional=bool(entry.get("optional")),
            of=tuple(map(str, entry.get("of", ()))),
            tasks=str(entry.get("tasks", "")),
            example=str(entry.get("example", "")),
        )

    def _require(self, key: Text, want: Text | list[Text]) -> tuple[tuple[str, ...], str | tuple[str, ...]]:
        if isinstance(want, Text) and want not in REQUIRED_TYPES:
            said = f"{str(want)!r} is no type{did_you_mean(want, REQUIRED_TYPES)}"
            self.reading.wrong(want, said, data=misspelling(want, REQUIRED_TYPES))
        alternatives = tuple(part.strip() for part in key.split("|"))
        return alternatives, str(want) if isinstance(want, Text) else tuple(map(str, want))

    def _limit(self, name: str, entry: dict) -> Limit:
        return Limit(
            name, self.expression(entry.get("count"), "int"), self.expression(entry.get("max"), "int")
        )

    def _question(self, name: str, entry: dict) -> Question:
        return Question(
            id=name,
            kind=str(entry.get("kind", "escalation")),
            ask=self.template(entry.get("ask")),
            options=_texts(entry.get("options", {})),
            scope=self.expression(entry.get("scope"), "string"),
            about=tuple(map(str, entry.get("about", ()))),
            tasks=self.expression(entry.get("tasks"), "list"),
            history=self.expression(entry.get("history"), "list"),
        )

    def _gate(self, name: str, entry: dict) -> Gate:
        criteria = tuple(
            Criterion(str(c["text"]), self.expression(c["when"], "bool"), str(c.get("artifact", "")))
            for c in entry["criteria"]
        )
        forbidden = entry.get("forbidden", {}).items()
        return Gate(
            id=name,
            title=str(entry.get("title", name)),
            after=str(entry.get("after", "")),
            criteria=criteria,
            when=self.expression(entry.get("when"), "bool"),
            judged=self.expression(entry.get("judged"), "bool"),
            allowed=tuple(self.template(text) for text in entry.get("allowed", ())),
            forbidden=tuple((self.template(action), self.template(why)) for action, why in forbidden),
        )

    def _action(self, name: str, entry: dict) -> Action:
        return Action(
            id=name,
            title=str(entry.get("title", name)),
            when=self.expression(entry.get("when"), "bool"),
            person=str(entry.get("person", "")),
            agents=tuple(map(str, entry.get("agent", ()))),
            data=self.expression(entry.get("data"), "map"),
        )

    def _parameter(self, name: Text, entry: dict) -> Parameter:
        one_of = entry.get("one_of")
        parameter = Parameter(
            id=str(name),
            default=entry["default"],
            least=entry.get("min"),
            most=entry.get("max"),
            one_of=tuple(one_of) if isinstance(one_of, list) else (),
            source=self.expression(entry.get("from")),
        )
        empty = one_of is not None and not parameter.one_of
        why = "one_of is a list of words" if empty else _bad_parameter(parameter)
        if why:
            self.reading.wrong(name, f"parameter {name}: {why}")
        return parameter

    def _form(self, phase: Text, entry: dict, phases: Mapping[str, Phase]) -> ReportForm:
        heading = entry.get("heading", {})
        if isinstance(heading, Text):
            heading = {heading: ""}
        elif isinstance(heading, list):
            heading = dict.fromkeys(heading, "")
        name = known(phase, phases, "phase", self.reading)
        return ReportForm(
            phase=name,
            headings=_texts(heading),
            outcome=tuple(map(str, entry.get("outcome", ()))),
            stage=str(entry.get("stage", "")),
            task=str(entry.get("task", "")),
            tasks=str(entry.get("tasks", "")),
            where=_texts(entry.get("where", {})),
            words={str(key): _texts(words) for key, words in entry.get("words", {}).items()},
            outcomes=phases[name].outcomes if name in phases else DEFAULT_OUTCOMES,
        )

    def _progress(self, entry: dict | None) -> tuple[Expression, Expression] | None:
        if entry is None:
            return None
        return self.expression(entry.get("done"), "int"), self.expression(entry.get("total"), "int")

    def _note(self, name: str, entry: dict) -> Note:
        when = self.expression(entry.get("when"), "bool")
        return Note(name, str(entry.get("title", name)), self.template(entry.get("text")), when)

    def _marker(self, entry: dict) -> tuple[MarkerTest, ...]:
        beside = [key for key in entry if key not in ("any", "at")]
        if "any" in entry and beside:
            self.reading.wrong(
                entry["at"], f"a marker with `any` has its tests in there, not {beside[0]!r} beside it"
            )
        return tuple(map(self._marker_test, entry.get("any") or [entry]))

    def _marker_test(self, entry: dict) -> MarkerTest:
        if ("has" in entry or "where" in entry) and not str(entry.get("file", "")).endswith(".json"):
            self.reading.wrong(entry["at"], "has and where look into JSON; the file of this marker is none")
        if not entry.get("file") and not entry.get("journal"):
            self.reading.wrong(entry["at"], "a marker needs a file or a journal")
        return MarkerTest(
            file=str(entry.get("file", "")),
            has=tuple(map(str, entry.get("has", ()))),
            text=str(entry.get("text", "")),
            table=tuple(map(str, entry.get("table", ()))),
            where=self.expression(entry.get("where"), "bool"),
            journal=str(entry.get("journal", "")),
        )

    def _effects(self, raw: Mapping[Text, list[dict]]) -> dict[str, tuple[Write, ...]]:
        return {
            str(event): tuple(write for group in groups for write in self._writes(group))
            for event, groups in raw.items()
        }

    def _writes(self, group: Mapping[Text, Text]) -> Iterator[Write]:
        by_name = {str(key): value for key, value in group.items()}
        if "file" in by_name:
            verbs = ("create", "append", "replace")
            kind = next((verb for verb in verbs if by_name.keys() == {"file", verb}), None)
            if kind is None:
                said = "a file is written by create, append or replace, and by nothing beside it"
                self.reading.wrong(by_name["file"], said)
                return
            path = self.template(by_name["file"], self.effects)
            yield Write(path, self.expression(by_name[kind], None, self.effects), kind)
            return
        if by_name.keys() == {"include", "create"}:
            path = self.template(by_name["include"], self.effects)
            yield Write(path, self.expression(by_name["create"], None, self.effects), "include")
            return
        for path, value in group.items():
            yield Write(self.template(path, self.effects), self.expression(value, None, self.effects))


REQUIRED_TYPES = ("any", "bool", "int", "number", "string", "list", "map")


def _keys(raw: dict) -> Iterator[tuple[str, Place]]:
    """("GROUP.NAME", where it stands); options as "questions.NAME.OPTION", the whole's name as "workflow"."""
    yield "workflow", raw["workflow"].branch.place
    for name in raw.get("reports", {}).get("read", {}):
        yield f"reports.{name}", name.branch.place
    for group in ("artifacts", "limits", "questions", "gates", "actions", "effects", "phases"):
        for name, entry in raw.get(group, {}).items():
            yield f"{group}.{name}", name.branch.place
            for option in entry.get("options", {}) if group == "questions" else ():
                yield f"{group}.{name}.{option}", option.branch.place


def _new(entry: dict | None) -> NewRun | None:
    return NewRun(str(entry["folder"]), _texts(entry.get("files") or {})) if entry else None


def _texts(raw: Mapping) -> dict[str, str]:
    return {str(key): str(value) for key, value in raw.items()}


def _bad_parameter(parameter: Parameter) -> str:
    """Why a parameter's own bounds and default do not go together, "" if they do."""
    default = parameter.default
    if not isinstance(default, (bool, int, float, str)):
        return "the default is a number, a word, true or false"
    if isinstance(default, int) and not LEAST_INT <= default <= MOST_INT:
        return "the default has more digits than a whole number can have here"
    bounds = [bound for bound in (parameter.least, parameter.most) if bound is not None]
    if any(isinstance(part, (bool, str)) or not isinstance(part, (int, float)) for part in bounds):
        return "min and max are numbers"
    if bounds and isinstance(default, (bool, str)):
        return "min and max are for numbers"
    if parameter.one_of and default not in parameter.one_of:
        return f"the default {default!r} is none of one_of"
    low = parameter.least is not None and default < parameter.least
    high = parameter.most is not None and default > parameter.most
    return "the default is outside min and max" if low or high else ""


# Whole numbers of expressions have 64 bits.
LEAST_INT, MOST_INT = -(2**63), 2**63 - 1
