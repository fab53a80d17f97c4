"""The compiled model of a workflow: immutable dataclasses, one for each kind of map in a definition.

What the keys of a definition mean is written in `schema.STRUCTS` and in the README of the workflows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from ..expressions.language import Expression, Language, Template
from ..journal.report_files import ReportForm
from ..plans.dialects import DIALECTS
from ..plans.model import Dialect
from .reader import DefinitionPlace, LocatedText, Source

DEFAULT_OUTCOMES = ("ok", "error")


@dataclass(frozen=True, slots=True)
class Rule:
    """`when` holds: do what the outcome says. `where` names its place in words, for `explain`."""

    where: str
    place: DefinitionPlace
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
    """A guess at the phase from evidence. `where` names its place in words."""

    where: str
    phase: Template
    when: Expression | None = None
    because: Template | None = None


@dataclass(frozen=True, slots=True)
class Phase:
    id: str
    title: str
    order: int
    place: DefinitionPlace
    agents: tuple[str, ...] = ()
    produces: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = DEFAULT_OUTCOMES
    rules: tuple[Rule, ...] = ()
    tasks: Expression | None = None
    data: Expression | None = None
    checks: tuple[str, ...] = ()
    terminal: str = ""
    attested: Expression | None = None
    detour: bool = False
    follow_up: bool = False
    leads_to: tuple[str, ...] = ()
    skip: Expression | None = None
    skip_because: Template | None = None


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
    ask: Template
    kind: str = "escalation"
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
    data: Expression | None = None


@dataclass(frozen=True, slots=True)
class Parameter:
    """A number or word that a root may override. `default` has the parameter's type."""

    id: str
    default: Any
    min: Any = None
    max: Any = None
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
class NewRun:
    """How a run begins: its folder and its first files' texts, with {name}, {title} and {now} in them."""

    folder: str
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Write:
    """One write of an effect: `path` in the state file (or "*", or a plan artifact), or a whole `file`.

    `create`, `append` and `replace` writes name a file, `include` a list of the state kept in files;
    the others a path.
    """

    path: Template
    value: Expression
    kind: str = "set"


class ExpressionOrigin(NamedTuple):
    """Where an expression was written: in which scalar or key, and from which character of it."""

    expression: Expression
    text: LocatedText
    offset: int


@dataclass(frozen=True)
class Workflow:
    """A definition, read and compiled. `digest` names its text (and that of what it extends).

    `places` tells where an expression stands, by its id(); `keys` where "GROUP.NAME" does.
    """

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
    new: NewRun | None = None
    notes: tuple[Note, ...] = ()
    effects: Mapping[str, tuple[Write, ...]] = field(default_factory=dict)
    places: Mapping[int, ExpressionOrigin] = field(default_factory=dict, repr=False)
    keys: Mapping[str, DefinitionPlace] = field(default_factory=dict, repr=False)

    @cached_property
    def plan(self) -> Artifact | None:
        """The artifact that is the run's plan, if the workflow has one."""
        return next((artifact for artifact in self.artifacts.values() if artifact.kind in DIALECTS), None)

    @property
    def dialect(self) -> Dialect | None:
        """How the run's plan is written, if the workflow has one."""
        return DIALECTS.get(self.plan.kind) if self.plan else None

    def rules_of(self, phase: str) -> tuple[Rule, ...]:
        """The rules tried in a phase, in order."""
        return self.before + self.phases[phase].rules + self.otherwise

    def all_rules(self) -> Iterator[tuple[str, Rule]]:
        """(phase or "", rule) of every rule; those before and after all phases under ""."""
        yield from (("", rule) for rule in self.before + self.otherwise)
        yield from ((phase.id, rule) for phase in self.phases.values() for rule in phase.rules)

    def order(self, phase: str) -> int:
        return self.phases[phase].order
