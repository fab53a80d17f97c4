"""The model of a workflow definition, and how a definition becomes one.

`parse_workflow(text) -> Workflow` reads, compiles and checks. A Workflow is immutable, and every
expression in it is compiled; what its keys mean is told in `definition.STRUCTS` and README.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from .definition import Branch, InvalidWorkflow, Reading, Source, Text, merge, read, read_branch, struct
from .files import digest_of
from .findings import Finding, Severity, Span
from .guards import RESERVED, BadExpression, Expression, Language, Template, did_you_mean
from .plans import dialects
from .reports import ReportForm

DEFAULT_OUTCOMES = ("ok", "error")


@dataclass(frozen=True, slots=True)
class Rule:
    """`when` holds: do what the outcome says. `where` names its place in words, for `explain`."""

    where: str
    span: Span
    when: Expression | None = None
    because: Template | None = None
    to: Template | None = None
    act: Template | None = None
    wait: str = ""
    stop: str = ""
    ask: str = ""
    warn: str = ""
    set: Mapping[str, Expression] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PhaseRule:
    """A guess at the phase from evidence."""

    where: str
    when: Expression | None
    phase: Template
    because: Template | None


@dataclass(frozen=True, slots=True)
class Phase:
    id: str
    title: str
    order: int
    agents: tuple[str, ...] = ()
    produces: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = DEFAULT_OUTCOMES
    rules: tuple[Rule, ...] = ()
    tasks: Expression | None = None
    checks: tuple[str, ...] = ()
    terminal: str = ""
    attested: Expression | None = None
    detour: bool = False
    follow_up: bool = False
    leads_to: tuple[str, ...] = ()
    skip: Expression | None = None
    skip_because: Template | None = None
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Artifact:
    id: str
    kind: str
    paths: tuple[str, ...] = ()
    listed: Expression | None = None
    require: tuple[tuple[tuple[str, ...], str | tuple[str, ...]], ...] = ()
    schema: str = ""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    optional: bool = False
    of: tuple[str, ...] = ()
    tasks: str = ""
    example: str = ""


@dataclass(frozen=True, slots=True)
class Limit:
    id: str
    count: Expression
    max: Expression


@dataclass(frozen=True, slots=True)
class Question:
    id: str
    kind: str
    ask: Template
    options: Mapping[str, str] = field(default_factory=dict)
    scope: Expression | None = None
    about: tuple[str, ...] = ()
    tasks: Expression | None = None
    history: Expression | None = None


@dataclass(frozen=True, slots=True)
class Criterion:
    text: str
    when: Expression
    artifact: str = ""


@dataclass(frozen=True, slots=True)
class Gate:
    id: str
    title: str
    after: str
    criteria: tuple[Criterion, ...]
    when: Expression | None = None
    judged: Expression | None = None
    allowed: tuple[Template, ...] = ()
    forbidden: tuple[tuple[Template, Template], ...] = ()


@dataclass(frozen=True, slots=True)
class Action:
    id: str
    title: str
    when: Expression | None = None
    person: str = ""
    agents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Parameter:
    """A number or word that a root may override. `default` has the parameter's type."""

    id: str
    default: Any
    least: Any = None
    most: Any = None
    one_of: tuple[Any, ...] = ()
    source: Expression | None = None


@dataclass(frozen=True, slots=True)
class Note:
    id: str
    title: str
    text: Template
    when: Expression | None = None


@dataclass(frozen=True, slots=True)
class MarkerTest:
    file: str = ""
    has: tuple[str, ...] = ()
    text: str = ""
    table: tuple[str, ...] = ()
    where: Expression | None = None
    journal: str = ""


@dataclass(frozen=True, slots=True)
class StateFile:
    file: str
    defaults: Mapping[str, Any] = field(default_factory=dict)
    fold_dotted: bool = False
    include: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Write:
    """One write of an effect: `path` in the state file (or "*", or a plan artifact), or a whole `file`.

    `create` and `append` writes name a file; the others a path.
    """

    path: Template
    value: Expression
    kind: str = "set"


@dataclass(frozen=True)
class Workflow:
    """A definition, read and compiled. `digest` names its text (and that of what it extends)."""

    name: str
    title: str
    digest: str
    source: Source
    language: Language
    effects_language: Language
    at: tuple[str, ...]
    marker: tuple[MarkerTest, ...]
    phases: Mapping[str, Phase]
    phase: Expression | tuple[PhaseRule, ...]
    state: StateFile | None = None
    aliases: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    artifacts: Mapping[str, Artifact] = field(default_factory=dict)
    report_files: tuple[str, ...] = ()
    report_forms: tuple[ReportForm, ...] = ()
    report_stage: Expression | None = None
    skipped_stages: Expression | None = None
    values: Mapping[str, Expression] = field(default_factory=dict)
    limits: Mapping[str, Limit] = field(default_factory=dict)
    before: tuple[Rule, ...] = ()
    otherwise: tuple[Rule, ...] = ()
    actions: Mapping[str, Action] = field(default_factory=dict)
    action_aliases: Mapping[str, str] = field(default_factory=dict)
    questions: Mapping[str, Question] = field(default_factory=dict)
    gates: tuple[Gate, ...] = ()
    progress: tuple[Expression, Expression] | None = None
    notes: tuple[Note, ...] = ()
    effects: Mapping[str, tuple[Write, ...]] = field(default_factory=dict)
    places: Mapping[int, Text] = field(default_factory=dict, repr=False)
    spans: Mapping[str, Span] = field(default_factory=dict, repr=False)

    @cached_property
    def plan(self) -> Artifact | None:
        """The artifact that is the run's plan, if the workflow has one."""
        kinds = dialects()
        return next((artifact for artifact in self.artifacts.values() if artifact.kind in kinds), None)

    def rules_of(self, phase: str) -> tuple[Rule, ...]:
        """The rules tried in a phase, in order."""
        return self.before + self.phases[phase].rules + self.otherwise

    def all_rules(self) -> Iterator[tuple[str, Rule]]:
        """(phase or "", rule) of every rule; those before and after all phases under ""."""
        yield from (("", rule) for rule in self.before + self.otherwise)
        yield from ((phase.id, rule) for phase in self.phases.values() for rule in phase.rules)

    def order(self, phase: str) -> int:
        return self.phases[phase].order


Extend = Callable[[str], Source | None]


def load_branch(source: Source, extend: Extend = lambda name: None) -> tuple[Branch, str]:
    """The definition's nodes with what it extends laid under, and the digest of all texts.

    Raises InvalidWorkflow for broken YAML, an unknown definition or a circle.
    """
    branch = read_branch(source)
    digests = [digest_of(source.text)]
    seen = {_name_in(branch)}
    while (named := _child(branch, "extend")) is not None:
        under_source = None if named.text in seen else extend(named.text)
        if under_source is None:
            reading = Reading()
            why = "extends itself" if named.text in seen else f"unknown workflow {named.text!r} to extend"
            reading.wrong(named, why)
            raise InvalidWorkflow(reading.findings)
        seen.add(named.text)
        digests.append(digest_of(under_source.text))
        branch = _extended(branch, read_branch(under_source))
    return branch, digests[0] if len(digests) == 1 else digest_of("\n".join(digests))


def _extended(branch: Branch, under: Branch) -> Branch:
    assert isinstance(branch.children, Mapping)
    own = Branch(branch.node, branch.source, {k: v for k, v in branch.children.items() if k != "extend"})
    return merge(under, own)


def _child(branch: Branch, key: str) -> Branch | None:
    return branch.children.get(key) if isinstance(branch.children, Mapping) else None


def _name_in(branch: Branch) -> str:
    named = _child(branch, "workflow")
    return named.text if named else ""


def folders_of(branch: Branch) -> tuple[str, ...]:
    """The `runs.at` globs of a definition that is not compiled yet."""
    runs = _child(branch, "runs")
    at = _child(runs, "at") if runs else None
    return tuple(child.text for child in at.children if isinstance(child, Branch)) if at else ()


def parse_workflow(text: str, path: str = "workflow.yaml", extend: Extend = lambda name: None) -> Workflow:
    """The workflow that a definition's text describes, every expression compiled and every check made.

    `extend` gives the source of another definition by name. Raises InvalidWorkflow with all errors,
    each at its line and column. Warnings of the checks are in `lint.check`.
    """
    from .lint import check

    branch, digest = load_branch(Source(path, text), extend)
    workflow = build(branch, digest)
    errors = [found for found in check(workflow) if found.severity is Severity.ERROR]
    if errors:
        raise InvalidWorkflow(errors)
    return workflow


def build(branch: Branch, digest: str) -> Workflow:
    """Compile a definition, without the checks of `lint`. Raises InvalidWorkflow."""
    reading = Reading()
    raw = read(branch, struct("definition"), reading)
    if reading.errors or not isinstance(raw, dict):
        raise InvalidWorkflow(reading.findings)
    compiler = Compiler(reading)
    workflow = compiler.workflow(raw, branch, digest)
    if reading.errors:
        raise InvalidWorkflow(_in_order(reading.errors))
    return workflow


def _in_order(findings: list[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda found: (found.path, found.span or Span(0, 0, 0, 0)))


class Compiler:
    """Turns the plain values of one definition into the model; it exists while one `build` runs."""

    def __init__(self, reading: Reading):
        self.reading = reading
        self.language = Language({}, {})
        self.places: dict[int, Text] = {}

    # -- expressions

    def expression(self, text: Text | None, want: str | None = None, language: Language | None = None) -> Any:
        """The compiled expression of a scalar, None if there is none or it is wrong (and told)."""
        if text is None:
            return None
        try:
            expression = (language or self.language).compile(str(text), want)
        except BadExpression as error:
            self._told(text, error)
            return None
        self.places[id(expression)] = text
        return expression

    def template(self, text: Text | None, language: Language | None = None) -> Any:
        if text is None:
            return None
        try:
            template = (language or self.language).template(str(text))
        except BadExpression as error:
            self._told(text, error)
            return None
        for part in template.parts:
            if isinstance(part, Expression):
                self.places[id(part)] = text
        return template

    def _told(self, text: Text, error: BadExpression) -> None:
        for offset, message in error.errors:
            self.reading.wrong(text, message, text.span(offset))

    def known(self, text: Text, names: Mapping[str, Any], what: str) -> str:
        if text not in names:
            self.reading.wrong(text, f"unknown {what} {str(text)!r}{did_you_mean(text, list(names))}")
        return str(text)

    # -- the whole

    def workflow(self, raw: dict, branch: Branch, digest: str) -> Workflow:
        raw = {key: value for key, value in raw.items() if value is not None}
        self.language = Language(self._variables(raw), self._facts(raw))
        values = self._values(raw.get("values", {}))
        artifacts = {name: self._artifact(name, entry) for name, entry in raw.get("artifacts", {}).items()}
        phases = {
            str(name): self._phase(str(name), order, entry)
            for order, (name, entry) in enumerate(raw["phases"].items())
        }
        self._references(raw)
        effects_language = Language(
            self.language.variables | {"step": "string", "now": "timestamp"}, self.language.facts, effects=True
        )
        effects_language.sets = self.language.sets
        runs = raw["runs"]
        return Workflow(
            name=str(raw["workflow"]),
            title=str(raw.get("title", raw["workflow"])),
            digest=digest,
            source=branch.source,
            language=self.language,
            effects_language=effects_language,
            at=tuple(map(str, runs["at"])),
            marker=tuple(map(self._marker_test, runs["marker"].get("any") or [runs["marker"]])),
            phases=phases,
            phase=self._phase_source(raw["phase"]),
            state=self._state(raw.get("state")),
            aliases=_texts(raw.get("aliases", {})),
            parameters={str(n): self._parameter(n, e) for n, e in raw.get("parameters", {}).items()},
            artifacts=artifacts,
            report_files=tuple(map(str, raw.get("reports", {}).get("files", ()))),
            report_forms=tuple(self._form(n, e, phases) for n, e in raw.get("reports", {}).get("read", {}).items()),
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
            notes=tuple(self._note(str(n), e) for n, e in raw.get("notes", {}).items()),
            effects=self._effects(raw.get("effects", {}), effects_language),
            places=self.places,
            spans=dict(_key_spans(raw)),
        )

    # -- names

    def _variables(self, raw: dict) -> dict[str, str]:
        names = {"state": "map"}
        plans = dialects()
        for name, entry in raw.get("artifacts", {}).items():
            if entry.get("kind") in plans:
                kinds = {"stages": "list", "files": "strings", "done": "int", "total": "int", "status": "string"}
                names |= {f"{name}.{key}": kind for key, kind in kinds.items()}
            elif "listed" not in entry:
                names[str(name)] = "map"
        return names

    def _facts(self, raw: dict) -> dict[str, str]:
        facts = {"phase": "string", "report": "map", "next_step": "string"}
        for name in raw.get("artifacts", {}):
            facts |= {f"valid.{name}": "bool", f"exists.{name}": "bool"}
        for name, entry in raw.get("parameters", {}).items():
            facts[f"parameters.{name}"] = _type_of(entry.get("default"))
        for name in raw.get("limits", {}):
            facts |= {f"limits.{name}.count": "int", f"limits.{name}.max": "int", f"limits.{name}.reached": "bool"}
        facts |= {f"answers.{name}": "string" for name in raw.get("questions", {})}
        for group in ("artifacts", "values", "parameters", "limits", "questions"):
            for name in raw.get(group, {}):
                self._name(name, group)
        for name in raw.get("values", {}):
            if name in raw.get("artifacts", {}):
                self.reading.wrong(name, f"{str(name)!r} is an artifact's name already")
        return facts

    def _name(self, name: Text, group: str) -> None:
        shaped = name.isascii() and name.isidentifier() and name[0].islower()
        taken = group in ("artifacts", "values") and name in TAKEN
        if not shaped or name in RESERVED or taken:
            why = "is a name of the language" if shaped else "must begin with a small letter, then letters, digits, _"
            self.reading.wrong(name, f"{str(name)!r} {why}")

    def _values(self, raw: Mapping[Text, Text]) -> dict[str, Expression]:
        sources = {str(name): str(text) for name, text in raw.items()}
        texts = {str(name): text for name, text in raw.items()}
        try:
            values = self.language.infer(sources)
        except BadExpression as error:
            self._told(texts[error.__notes__[0]], error)
            raise InvalidWorkflow(_in_order(self.reading.errors)) from None
        for name, expression in values.items():
            self.places[id(expression)] = texts[name]
        return values

    # -- parts

    def _state(self, entry: dict | None) -> StateFile | None:
        if entry is None:
            return None
        include = {str(path): str(part["at"]) for path, part in (entry.get("include") or {}).items()}
        return StateFile(str(entry["file"]), entry.get("defaults") or {}, "dotted_keys" in entry, include)

    def _phase_source(self, raw: Text | list) -> Expression | tuple[PhaseRule, ...]:
        if isinstance(raw, Text):
            return self.expression(raw, "string")
        return tuple(
            PhaseRule(f"phase[{i}]", self.expression(e.get("when"), "bool"), self.template(e["is"]), self.template(e.get("because")))
            for i, e in enumerate(raw)
        )

    def _rules(self, raw: list[dict], where: str) -> tuple[Rule, ...]:
        return tuple(self._rule(entry, f"{where}[{i}]") for i, entry in enumerate(raw))

    def _rule(self, entry: dict, where: str) -> Rule:
        outcomes = [key for key in ("to", "act", "wait", "stop") if key in entry]
        if not outcomes and "ask" not in entry and "warn" not in entry:
            self.reading.wrong(entry["at"], "a rule needs one of to, act, wait, stop, ask or warn")
        if len(outcomes) > 1 and outcomes != ["to", "act"]:
            self.reading.wrong(entry["at"], f"a rule has one outcome, this one has {' and '.join(outcomes)}")
        return Rule(
            where=where,
            span=entry["at"].node.span,
            when=self.expression(entry.get("when"), "bool"),
            because=self.template(entry.get("because")),
            to=self.template(entry.get("to")),
            act=self.template(entry.get("act")),
            wait=str(entry.get("wait", "")),
            stop=str(entry.get("stop", "")),
            ask=str(entry.get("ask", "")),
            warn=str(entry.get("warn", "")),
            set={str(path): self.expression(value) for path, value in entry.get("set", {}).items()},
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
            checks=tuple(map(str, entry.get("checks", ()))),
            terminal=str(entry.get("terminal", "")),
            attested=self.expression(entry.get("attested"), "bool"),
            detour=bool(entry.get("detour")),
            follow_up=bool(entry.get("follow_up")),
            leads_to=tuple(map(str, entry.get("leads_to", ()))),
            skip=self.expression(entry.get("skip"), "bool"),
            skip_because=self.template(entry.get("skip_because")),
            span=entry["at"].node.span,
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
            self.reading.wrong(want, f"{str(want)!r} is no type{did_you_mean(want, REQUIRED_TYPES)}")
        alternatives = tuple(part.strip() for part in key.split("|"))
        return alternatives, str(want) if isinstance(want, Text) else tuple(map(str, want))

    def _limit(self, name: str, entry: dict) -> Limit:
        return Limit(name, self.expression(entry.get("count"), "int"), self.expression(entry.get("max"), "int"))

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
            for c in entry.get("criteria", ())
            if c.get("text") is not None and c.get("when") is not None
        )
        if not criteria:
            self.reading.wrong(entry["at"], "a gate needs at least one criterion, each with text and when")
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
        )

    def _parameter(self, name: Text, entry: dict) -> Parameter:
        default = entry.get("default")
        if not isinstance(default, (bool, int, float, str)):
            self.reading.wrong(name, "the default of a parameter is a number, a word, true or false")
        one_of = entry.get("one_of")
        return Parameter(
            id=str(name),
            default=default,
            least=entry.get("min"),
            most=entry.get("max"),
            one_of=tuple(one_of) if isinstance(one_of, list) else (),
            source=self.expression(entry.get("from")),
        )

    def _form(self, phase: Text, entry: dict, phases: Mapping[str, Phase]) -> ReportForm:
        heading = entry.get("heading", {})
        if isinstance(heading, Text):
            heading = {heading: ""}
        elif isinstance(heading, list):
            heading = dict.fromkeys(heading, "")
        name = self.known(phase, phases, "phase")
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

    def _marker_test(self, entry: dict) -> MarkerTest:
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

    def _effects(self, raw: Mapping[Text, list[dict]], language: Language) -> dict[str, tuple[Write, ...]]:
        return {
            str(event): tuple(write for group in groups for write in self._writes(group, language))
            for event, groups in raw.items()
        }

    def _writes(self, group: Mapping[Text, Text], language: Language) -> Iterator[Write]:
        by_name = {str(key): (key, value) for key, value in group.items()}
        if "file" in by_name:
            kind = "append" if "append" in by_name else "create"
            if kind not in by_name:
                self.reading.wrong(by_name["file"][1], "a file is written by create or append")
                return
            yield Write(self.template(by_name["file"][1], language), self.expression(by_name[kind][1], None, language), kind)
            return
        for path, value in group.items():
            yield Write(self.template(path, language), self.expression(value, None, language))

    # -- names that must exist

    def _references(self, raw: dict) -> None:
        phases, artifacts, questions = raw["phases"], raw.get("artifacts", {}), raw.get("questions", {})
        for entry in phases.values():
            for name in entry.get("produces", ()):
                self.known(name, artifacts, "artifact")
            for name in entry.get("leads_to", ()):
                self.known(name, phases, "phase")
        for entry in [*artifacts.values(), *({"of": q.get("about", ())} for q in questions.values())]:
            for name in entry.get("of", ()):
                self.known(name, artifacts, "artifact")
        for entry in raw.get("gates", {}).values():
            if "after" in entry:
                self.known(entry["after"], phases, "phase")
            for criterion in entry.get("criteria", ()):
                if "artifact" in criterion:
                    self.known(criterion["artifact"], artifacts, "artifact")
        for rule in _all_rules(raw):
            if "ask" in rule:
                self.known(rule["ask"], questions, "question")
        for target in raw.get("aliases", {}).values():
            if target != "*":
                self.known(target, phases, "phase")
        for target in raw.get("action_aliases", {}).values():
            self._known_action(target, raw.get("actions", {}))

    def _known_action(self, text: Text, actions: Mapping[str, Any]) -> None:
        if not any(text == name or (name.endswith("*") and text.startswith(name[:-1])) for name in actions):
            self.known(text, actions, "action")


# Names of the language that an artifact or a value may not take.
TAKEN = frozenset("next_step state valid exists parameters limits answers phase report tasks records newest count now step".split())
REQUIRED_TYPES = ("any", "bool", "int", "number", "string", "list", "map")


def _all_rules(raw: dict) -> Iterator[dict]:
    yield from raw.get("before", [])
    yield from raw.get("otherwise", [])
    for entry in raw["phases"].values():
        yield from entry.get("rules", [])


def _key_spans(raw: dict) -> Iterator[tuple[str, Span]]:
    """("GROUP.NAME", where the name stands), options of questions as "questions.NAME.OPTION"."""
    for group in ("artifacts", "limits", "questions", "gates", "actions", "effects", "phases"):
        for name, entry in raw.get(group, {}).items():
            yield f"{group}.{name}", name.span()
            for option in entry.get("options", {}) if group == "questions" else ():
                yield f"{group}.{name}.{option}", option.span()


def _texts(raw: Mapping) -> dict[str, str]:
    return {str(key): str(value) for key, value in raw.items()}


def _type_of(default: object) -> str:
    kinds: list[tuple[type, str]] = [(bool, "bool"), (int, "int"), (float, "double")]
    return next((kind for python, kind in kinds if isinstance(default, python)), "string")
