"""The grammar and the compiled model of a workflow in one: a class for each kind of map in a definition.

A field made by `key` is a key of that map: its type is what the key's value is compiled to, and the key says
what may stand there and what it means. The other fields tell where something stands. To add a key: one field.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from ..expressions.language import Expression, Language, Template
from ..journal.lines import HOMES
from ..journal.report_forms import ReportForm
from ..plans.dialects import DIALECTS
from ..plans.model import Dialect
from ..states import RunStatus
from ..vfs.places import RunPlace, unit_place
from .inputs import (
    Artifact,
    Brings,
    Criterion,
    Include,
    Limit,
    MarkerTest,
    Parameter,
    PhaseRule,
    Reports,
    Runs,
    StateFile,
    Step,
    Thresholds,
)
from .names import PROPOSED
from .origins import ValueOrigins, answers_read
from .reader import DefinitionPlace, LocatedText
from .shapes import (
    BOOL,
    ID,
    TEMPLATE,
    TEXT,
    TEXTS,
    Key,
    Shape,
    cel,
    id_of,
    key,
    keys_of,
    list_of,
    map_of,
    struct,
    word,
)  # fmt: skip
from .state_changes import Ratchet, StateChange

DEFAULT_OUTCOMES = ("ok", "error")
UNFINISHED = (RunStatus.FAILED, RunStatus.BLOCKED)
"""How a rule may end a run that is not complete; where a person's answer had it do so an override goes on."""
_WRITES = map_of(cel(name="effects"))
_RULES = list_of(struct("rule"))
_ARTIFACTS = list_of(id_of("artifact"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """`when` holds: do what the outcome says. `where` names its place in words, for `explain`."""

    where: str
    place: DefinitionPlace
    when: Expression | None = key(cel("bool"), "the guard; without it the rule always fits")
    because: Template | None = key(TEMPLATE, "the reason shown")
    to: Template | None = key(TEMPLATE, "go to that phase; `next` is the next in order")
    act: Template | None = key(TEMPLATE, "do that action")
    wait: str = key(word("person", "job"), "wait for it")
    stop: str = key(word("complete", "failed", "exited", "blocked", "invalid"), "the run is over")
    ask: str = key(id_of("question"), "open that question")
    warn: str = key(TEXT, "give a finding of that code")
    at: Expression | None = key(
        cel("list"),
        "with `warn`: places in the state or an artifact, each a list of names and numbers; else the phase's",
    )
    set: Mapping[str, Expression] = key(_WRITES, "written when the rule wins after a report")


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase(Step):
    id: str
    order: int
    place: DefinitionPlace
    produces: tuple[str, ...] = key(_ARTIFACTS, "artifacts that must be valid when the phase is over")
    outcomes: tuple[str, ...] = key(
        list_of(TEXT), "what a report of it may say; ok and error without it", DEFAULT_OUTCOMES
    )
    rules: tuple[Rule, ...] = key(_RULES, "the first whose guard holds decides")
    tasks: Expression | None = key(cel("list"), "tasks that can be handed out")
    checks: tuple[str, ...] = key(list_of(TEXT), "what its agent validates")
    terminal: str = key(word("complete", "failed", "exited", "blocked"), "the run is over")
    attested: Expression | None = key(cel("bool"), "other proof that an end was reached, a detour done")
    because: Template | None = key(TEMPLATE, "of an end: what became of the run, where that is not plain")
    detour: bool = key(BOOL, "no part of the ordinary order")
    leads_to: tuple[str, ...] = key(
        list_of(id_of("phase")), "where new files lead from it without a rule; shown in graphs"
    )
    follow_up: bool = key(BOOL, "may be reported once the run is complete")
    skip: Expression | None = key(cel("bool"), "`to: next` passes over it")
    skip_because: Template | None = key(TEMPLATE, "why it is passed over")
    read_only: Expression | None = key(cel("strings"), "paths of files that nobody edits while it is at hand")
    revises: Expression | None = key(cel("list"), "tasks whose approved files hold as its report leaves them")


@dataclass(frozen=True, slots=True, kw_only=True)
class Action(Step):
    id: str
    when: Expression | None = key(cel("bool"), "its precondition")
    person: str = key(TEXT, "what a person confirms in it")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    id: str
    kind: str = key(word("escalation", "approval"), "what it is; escalation without it", "escalation")
    ask: Template = key(TEMPLATE, "the question", required=True)
    options: Mapping[str, str] = key(map_of(TEXT), "id to text (what it is: what it brings); none: in words")
    scope: Expression | None = key(cel("string"), "an answer holds for this only")
    about: tuple[str, ...] = key(_ARTIFACTS, "an answer holds while these stay as they are")
    substance: Expression | None = key(cel("list"), "an answer holds while these values stay as they are")
    offered: Expression | None = key(cel("bool"), "while this holds a person may answer it unasked")
    decides: tuple[str, ...] = key(
        _ARTIFACTS, "decisions in files that it asks about; an unsigned one is shown and can be signed"
    )
    tasks: Expression | None = key(cel("list"), "the tasks concerned")
    stages: Expression | None = key(
        cel("list"), "ids of the plan's stages that an answer takes as they are; its record keeps their sizes"
    )
    history: Expression | None = key(cel("list"), "the records that led here")

    @property
    def answers(self) -> tuple[str, ...]:
        """What an answer's record may say: an option, or that the file was signed which it asks about."""
        return (*self.options, *((PROPOSED,) if self.decides else ()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    id: str
    title: str = key(TEXT, "what people see")
    after: str = key(id_of("phase"), "the phase it guards", required=True)
    when: Expression | None = key(cel("bool"), "only in this case there is such a gate")
    criteria: tuple[Criterion, ...] = key(list_of(struct("criterion")), "all must hold", required=True)
    shown_by: Expression | None = key(
        cel("strings"), "files in which whoever reports writes down what was seen; it names them"
    )
    judged: Expression | None = key(cel("bool"), "until this holds an unmet criterion leaves the gate open")
    allowed: tuple[Template, ...] = key(list_of(TEMPLATE), "phases and actions allowed now")
    forbidden: tuple[tuple[Template, Template], ...] = key(
        map_of(TEMPLATE, TEMPLATE), "phase or action to the reason; * is everything else"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressCounts:
    done: Expression = key(cel("int"), "how much is done", required=True)
    total: Expression = key(cel("int"), "of how much", required=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    id: str
    title: str = key(TEXT, "its heading")
    when: Expression | None = key(cel("bool"), "when it is shown")
    text: Template = key(TEMPLATE, "what it says", required=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRun:
    """The beginning of a run: its folder and first files' texts, with {name}, {title} and {now} in them."""

    folder: str = key(TEXT, "where it lies; {name} is the name somebody gives it", required=True)
    files: Mapping[str, str] = key(
        map_of(TEXT), "path in it to text; {name}, {title} and {now} are filled in"
    )


class Write(NamedTuple):
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


@dataclass(frozen=True, kw_only=True)
class Workflow:
    """A definition, read and compiled. `digest` names its text (and that of what it extends), `released` the
    texts that earlier releases of the product had for it.

    `places` tells where an expression stands, by its id(); `keys` where "GROUP.NAME" does. `values` and
    `effects` are made by the compiler.
    """

    digest: str
    language: Language
    effects_language: Language
    places: Mapping[int, ExpressionOrigin] = field(default_factory=dict, repr=False)
    keys: Mapping[str, DefinitionPlace] = field(default_factory=dict, repr=False)
    released: tuple[str, ...] = ()
    name: str = key(
        ID, "the name; a user's file is .phasekeeper/workflows/NAME.yaml", name="workflow", required=True
    )
    title: str = key(TEXT, "what people see")
    source: str = key(TEXT, "where the rules come from")
    extend: str = key(ID, "start from that definition: maps merge, lists are replaced, null removes a key")
    runs: Runs = key(struct("runs"), "which folders are runs", required=True)
    state: StateFile | None = key(struct("state"), "the run's own state file")
    phase: Expression | tuple[PhaseRule, ...] = key(
        Shape("either", cel("string"), other=list_of(struct("phase rule"))),
        "which phase the run is in",
        required=True,
    )
    aliases: Mapping[str, str] = key(
        map_of(TEXT), "other spellings of phases; one * is allowed on both sides"
    )
    parameters: Mapping[str, Parameter] = key(
        map_of(struct("parameter")), "numbers and words that a root may override"
    )
    artifacts: Mapping[str, Artifact] = key(map_of(struct("artifact")), "files of the run")
    reports: Reports = key(struct("reports"), "Markdown files that count as reports", Reports())
    report_stage: Expression | None = key(
        cel("string"), "the stage of a report that names neither task nor stage"
    )
    skipped_stages: Expression | None = key(cel("list"), "ids of the stages that a person let be skipped")
    checked_stages: Expression | None = key(
        cel("list"), "ids of the stages whose work passed its check: what was reported of it is done"
    )
    conflicts: tuple[Mapping[str, tuple[str, ...]], ...] = key(
        list_of(map_of(TEXTS)),
        "paths of the state and of files, to words that cannot all stand there at once",
    )
    values: Mapping[str, Expression] = key(map_of(cel()), "named facts; they may use each other in any order")
    limits: Mapping[str, Limit] = key(
        map_of(struct("limit")), "counters with a maximum; rules say what happens when one is reached"
    )
    before: tuple[Rule, ...] = key(_RULES, "rules tried before the phase's own, in every phase")
    phases: Mapping[str, Phase] = key(map_of(struct("phase")), "the phases, in order", required=True)
    otherwise: tuple[Rule, ...] = key(_RULES, "rules tried after the phase's own")
    actions: Mapping[str, Action] = key(map_of(struct("action")), "what is done inside a phase and is none")
    action_aliases: Mapping[str, str] = key(map_of(TEXT), "other spellings of actions")
    questions: Mapping[str, Question] = key(map_of(struct("question")), "what only a person can answer")
    gates: Mapping[str, Gate] = key(map_of(struct("gate")), "criteria that must hold after a phase")
    progress: ProgressCounts | None = key(struct("progress"), "how much is done; else the plan's tasks")
    notes: Mapping[str, Note] = key(map_of(struct("note")), "text shown with the next step")
    new: NewRun | None = key(struct("new"), "how a run begins: its folder and first files")
    effects: Mapping[str, tuple[Write, ...]] = key(
        map_of(Shape("some", _WRITES)), "what an event writes: EVENT or PHASE.EVENT to path to value"
    )

    def home(self, run: str) -> str:
        """The folder whose `.phasekeeper/` holds the journal, claims and lock of a run.

        Nothing of ours lies in a folder that belongs to another tool: the home of such a run is the root's.
        """
        return f"{HOMES}/{self.name}/{run}" if self.runs.records == "root" else run

    def place(self, run: str) -> RunPlace:
        """The folder that the paths of a run are from, and the file that it is a part of."""
        return unit_place(run) if self.runs.unit == "file" else RunPlace(run)

    @cached_property
    def limiting(self) -> frozenset[str]:
        """The parameters, and the paths of the state ("state.a"), that set how often something may happen."""
        read = {path for limit in self.limits.values() for path in limit.max.paths}
        parameters = {path[1] for path in read if path[0] == "parameters"}
        return frozenset(parameters | {".".join(path) for path in read if path[0] == "state"})

    @cached_property
    def stop_answers(self) -> frozenset[tuple[str, str]]:
        """(question, option) of the answers by which rules leave a run failed or blocked."""
        guards = (rule.when for _, rule in self.all_rules() if rule.stop in UNFINISHED and rule.when)
        read = (pair for guard in guards for pair in answers_read(guard))
        return frozenset((name, option) for name, option in read if option in self.questions[name].options)

    @cached_property
    def configured_gates(self) -> frozenset[str]:
        """The gates that there are, or are not, by what parameters say alone."""
        heads = {g.id: {path[0] for path in self.paths_behind(g.when)} for g in self.gates.values() if g.when}
        return frozenset(gate for gate, read in heads.items() if read == {"parameters"})

    @cached_property
    def plan(self) -> Artifact | None:
        """The artifact that is the run's plan, if the workflow has one."""
        return next((artifact for artifact in self.artifacts.values() if artifact.kind in DIALECTS), None)

    @cached_property
    def task_lists(self) -> frozenset[str]:
        """The artifacts that stand for the files that the plan's tasks name."""
        named, listed = f"{self.plan.id}.files" if self.plan else None, self.artifacts.values()
        return frozenset(a.id for a in listed if a.listed and a.listed.source.strip() == named)

    @cached_property
    def limits_writes(self) -> bool:
        """True if any step says what its reports may write: then the others' reports write nothing."""
        return any(step.writes for step in (*self.phases.values(), *self.actions.values()))

    @property
    def dialect(self) -> Dialect | None:
        """The way in which the run's plan is written, if the workflow has one."""
        return DIALECTS.get(self.plan.kind) if self.plan else None

    def dialect_of(self, run: str) -> Dialect | None:
        """The way in which the plan of a run is written; of a part of a file that part's."""
        dialect = self.dialect
        return dialect.for_unit(self.place(run).unit) if dialect else None

    @cached_property
    def origins(self) -> ValueOrigins:
        """All that the values of its expressions may come from."""
        limits = {name: {"count": each.count, "max": each.max} for name, each in self.limits.items()}
        plan = self.plan.id if self.plan else ""
        decided = frozenset(artifact.id for artifact in self.artifacts.values() if artifact.decided_by)
        return ValueOrigins(self.language, limits, self.artifacts, plan, self.written_by_reports, decided)

    def has_redo(self, step: str) -> bool:
        """True if a command has a phase done again."""
        return bool({"redo", f"{step}.redo"} & self.effects.keys())

    @property
    def written_by_reports(self) -> frozenset[str]:
        """The artifacts that effects write after a report or a start, and "state" if they write the state."""
        own = {path: artifact.id for artifact in self.artifacts.values() for path in artifact.paths}
        written = {"state"} if any(rule.set for _, rule in self.all_rules()) else set[str]()
        for event, writes in self.effects.items():
            # What follows a person's decision is no report's word.
            for write in writes if not {"answer", "override"} & {*event.split(".")} else ():
                place = write.path.source
                if write.kind in ("set", "include"):
                    written.add(place if place in self.artifacts else "state")
                elif place in own:
                    written.add(own[place])
        return frozenset(written)

    def paths_behind(self, expression: Expression) -> set[tuple[str, ...]]:
        """The paths of content that an expression looks at, itself and through values and limits."""
        found: set[tuple[str, ...]] = set()
        waiting, seen = [expression], {""}
        while waiting:
            for path in waiting.pop().paths:
                name = self.language.name_in(path)
                group, _, rest = name.partition(".")
                if name not in self.values and group != "limits":
                    found.add(path)
                elif name not in seen:
                    seen.add(name)
                    behind = self.values.get(name)
                    waiting += [behind] if behind else self.origins.parts_of_limit(rest)
        return found

    def rules_of(self, phase: str) -> tuple[Rule, ...]:
        """The rules tried in a phase, in order."""
        return self.before + self.phases[phase].rules + self.otherwise

    def all_rules(self) -> Iterator[tuple[str, Rule]]:
        """(phase or "", rule) of every rule; those before and after all phases under ""."""
        yield from (("", rule) for rule in self.before + self.otherwise)
        yield from ((phase.id, rule) for phase in self.phases.values() for rule in phase.rules)

    def phase_spelt(self, raw: str) -> str:
        """The phase that a spelling stands for, by the aliases; a spelling nobody knows stays as it is."""
        if raw in self.phases or raw in self.aliases:
            return raw if raw in self.phases else self.aliases[raw]
        for spelling, name in self.aliases.items():
            head, star, tail = spelling.partition("*")
            if star and len(raw) >= len(head + tail) and raw.startswith(head) and raw.endswith(tail):
                named = name.replace("*", raw[len(head) : len(raw) - len(tail)])
                # An alias may lead to another spelling: code_review_done is code_review is review.
                return named if named in self.phases else self.aliases.get(named, named)
        return raw

    def order(self, phase: str) -> int:
        return self.phases[phase].order


MODELS: dict[str, type] = {
    "definition": Workflow,
    "runs": Runs,
    "marker": MarkerTest,
    "state": StateFile,
    "include": Include,
    "ratchet": Ratchet,
    "phase rule": PhaseRule,
    "parameter": Parameter,
    "artifact": Artifact,
    "thresholds": Thresholds,
    "reports": Reports,
    "report form": ReportForm,
    "limit": Limit,
    "brings": Brings,
    "phase": Phase,
    "change": StateChange,
    "rule": Rule,
    "action": Action,
    "question": Question,
    "gate": Gate,
    "criterion": Criterion,
    "progress": ProgressCounts,
    "new": NewRun,
    "note": Note,
    "marker test": MarkerTest,
}
"""The class that each kind of map becomes, by the name it has in messages."""

STRUCTS: dict[str, dict[str, Key]] = {name: keys_of(model) for name, model in MODELS.items()}
"""The grammar: every kind of map, its keys, and what they hold."""
# Forms of reports are read by the journal, which knows nothing of definitions.
STRUCTS["report form"] = {
    "heading": Key(
        Shape("either", TEXT, other=map_of(TEXT)), "how its heading begins; a map gives the outcome it means"
    ),
    "outcome": Key(TEXTS, "fields that hold the verdict"),
    "stage": Key(TEXT, "the field that names the stage"),
    "task": Key(TEXT, "the field that names the task"),
    "tasks": Key(TEXT, "the heading before the list of [tasks]"),
    "where": Key(map_of(TEXT), "fields that must have this word"),
    "words": Key(map_of(map_of(TEXT)), "field to word to the outcome it means"),
    "criteria": Key(TEXTS, "columns of tables, and fields, that say whether a criterion is met"),
}
del STRUCTS["marker test"]["any"]
