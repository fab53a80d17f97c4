"""Grammar and model of what a definition reads of a run and asks of a report: markers, files, parameters, and
what phases and actions have in common."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..expressions.language import Expression, Template
from ..journal.report_forms import ReportForm
from .artifact_kinds import KINDS_AND_DIALECTS
from .reader import DefinitionPlace
from .shapes import (
    ALTERNATIVES,
    BOOL,
    ID,
    MAPPING,
    TEMPLATE,
    TEXT,
    TEXTS,
    TYPED,
    Shape,
    cel,
    id_of,
    key,
    list_of,
    map_of,
    struct,
    word,
)
from .state_changes import PERMITS, PERMITS_ABOUT, RATCHET, RATCHETS, Ratchet, StateChange, changes_of

_ARTIFACTS = list_of(id_of("artifact"))
# A gap of a form that no other text holds, of more than one word: `<true or false>`. `<number>` may be code.
_GAP = re.compile(r"<[^<>\n]*\w \w[^<>\n]*>")
_WORDS = "path to all words that may stand there; a[].b is in each element of a list, a.*.b in each of a map"


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkerTest:
    any: tuple[MarkerTest, ...] = key(list_of(struct("marker test")), "one of these is enough")
    file: str = key(TEXT, "a file of the run that must exist, or a glob of files one of which must")
    has: tuple[str, ...] = key(list_of(TEXT), "dotted keys that its JSON must have")
    text: str = key(TEXT, "text that it must hold")
    table: tuple[str, ...] = key(list_of(TEXT), "columns that one of its Markdown tables must have")
    where: Expression | None = key(cel("bool"), "a guard over `state`")
    journal: str = key(ID, "the journal's start record names this workflow")

    @property
    def tests(self) -> tuple[MarkerTest, ...]:
        """The tests one of which is enough."""
        return self.any or (self,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    at: tuple[str, ...] = key(
        list_of(TEXT), "globs of folders, or of files with `unit: file`, relative to the root", required=True
    )
    marker: MarkerTest = key(struct("marker"), "the content that makes such a folder a run", required=True)
    history: tuple[str, ...] = key(
        list_of(TEXT), "globs of folders of finished work: they are counted; where they lie is no run"
    )
    records: str = key(
        word("run", "root"),
        "where records lie: in the run's folder, or in .phasekeeper/runs of the root",
        "run",
    )
    unit: str = key(
        word("folder", "file"),
        "what a run is: a folder, or FILE#UNIT, a part of a file as the kind of its plan tells them",
        "folder",
    )
    alone: bool = key(BOOL, "only where no other definition may have a run in the root")
    shared: bool = key(BOOL, "such folders hold other things too: one that is no run says nothing")
    title_from: str = key(
        word("plan", "folder"), "what a run is called: as its plan or state says, or as its folder", "plan"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Include:
    at: str = key(TEXT, "path of the file; {id} is the element", required=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class StateFile:
    file: str = key(TEXT, "path from the run", required=True)
    kind: str = key(word("json"), "its format")
    defaults: Mapping[str, Any] = key(MAPPING, "laid under the data")
    decided: Mapping[str, tuple[str, ...]] = key(
        map_of(list_of(TEXT)), "path to the words there that only a person sets: they count from HEAD"
    )
    words: Mapping[str, tuple[str, ...]] = key(map_of(list_of(TEXT)), _WORDS)
    ratchet: Mapping[str, str | Ratchet] = key(
        RATCHETS, "path to which way its value loosens; only a report, a person or a commit may do that"
    )
    dotted_keys: str = key(word("fold"), "keys with dots are read as paths")
    include: Mapping[str, Include] = key(
        map_of(struct("include")), "lists whose text elements are ids of other files"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseRule:
    """A guess at the phase from evidence. `where` names its place in words."""

    where: str
    place: DefinitionPlace
    when: Expression | None = key(cel("bool"), "the guard")
    phase: Template = key(TEMPLATE, "the phase", name="is", required=True)
    because: Template | None = key(TEMPLATE, "the reason")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A number, a word or names that a root may override. `default` has the parameter's type."""

    id: str
    default: Any = key(TYPED, "used where nothing else is said; its type is the parameter's", required=True)
    min: Any = key(TYPED, "the least allowed")
    max: Any = key(TYPED, "the most allowed")
    one_of: list[Any] | None = key(TYPED, "the words allowed")
    names: str = key(word("checks"), "it is a list of names, of checks that the root declares")
    source: Expression | None = key(cel(), "where a file of the project sets it", name="from")
    ratchet: str | Ratchet | None = key(
        RATCHET, "which way its value loosens; only a person or a commit may do that under a run"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """The least that tests must cover, from 0 to 1; None asks for nothing."""

    lines: float | None = key(TYPED, "of the lines, from 0 to 1")
    branches: float | None = key(TYPED, "of the branches, from 0 to 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    id: str
    paths: tuple[str, ...] = key(list_of(TEXT), "the first that exists counts; /x is from the root")
    listed: Expression | None = key(cel("strings"), "instead of paths: files named by data")
    checks: Expression | None = key(
        cel("list"), "names of checks that take its place where there are some: it is valid once they passed"
    )
    kind: str = key(Shape("word", words=KINDS_AND_DIALECTS), "how it is read", required=True)
    require: tuple[tuple[tuple[str, ...], str | tuple[str, ...]], ...] = key(
        map_of(Shape("either", TEXT, other=list_of(TEXT)), ALTERNATIVES),
        "paths that must be there, with their types",
    )
    words: Mapping[str, tuple[str, ...]] = key(map_of(list_of(TEXT)), _WORDS)
    thresholds: Thresholds | None = key(
        struct("thresholds"), "coverage only: what must at least be covered; below it the artifact is invalid"
    )
    schema: str = key(TEXT, "path of a JSON Schema, from the definition's root")
    defaults: Mapping[str, Any] = key(MAPPING, "laid under the data")
    optional: bool = key(BOOL, "missing is no finding")
    of: tuple[str, ...] = key(_ARTIFACTS, "the artifacts it judges; it is stale once they change")
    decided_by: str = key(word("person"), "it is a decision: valid once a person signed it, or from HEAD")
    tasks: str = key(TEXT, "plans only: the glob of task files")
    placeholders: tuple[str, ...] = key(
        list_of(TEXT), "Markdown only: texts that stand where something is still to be said"
    )
    example: str = key(TEXT, "a form of it with gaps to fill in, shown to whoever has to make it")

    def unfilled_gap(self, text: str) -> str:
        """A gap `<.. ..>` of the example that stands in the text as it was; "" where there is none."""
        gaps = _GAP.findall(self.example) if "<" in text and "<" in self.example else ()
        return next((gap for gap in gaps if gap in text), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reports:
    """`read` has the forms of the struct "report form", which are made by the compiler."""

    files: tuple[str, ...] = key(list_of(TEXT), "globs from the run", required=True)
    read: Mapping[str, ReportForm] = key(
        map_of(struct("report form")), "phase to what its report looks like", required=True
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    id: str
    count: Expression = key(cel("int"), "how often so far", required=True)
    max: Expression = key(cel("int"), "how often at most", required=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    text: str = key(TEXT, "what must hold, in words", required=True)
    when: Expression = key(cel("bool"), "the guard", required=True)
    artifact: str = key(id_of("artifact"), "the file it is about")


@dataclass(frozen=True, slots=True, kw_only=True)
class Brings:
    """The things a report must come with. All but its text are asked for by the first outcome of the step."""

    report: bool = key(BOOL, "its text in the form of the phase's reports, whatever the outcome; it is filed")
    criteria: Expression | None = key(
        cel("list"), "tasks of each of which its text says whether a criterion is met"
    )
    mentions: Expression | None = key(cel("list"), "tasks that its text names")
    data: tuple[Mapping[str, str], ...] = key(
        list_of(map_of(word("text", "number", "list", "map", "address", "pull-request", "commit"))),
        "data: of each entry one of its dotted keys, of that type",
    )
    files: Expression | None = key(cel("list"), "files that exist and hold something")
    empty: Expression | None = key(cel("list"), "those of the files that may be empty")
    absent: Expression | None = key(cel("list"), "files that do not exist")
    missing: Expression | None = key(
        cel("list"), "files of which its text says why, for each one that is not there"
    )
    named: Expression | None = key(cel("bool"), "where these are none, the report names files that exist")
    changed: Expression | None = key(cel("map"), "a record; one of the files is not as it was then")
    differs: tuple[Criterion, ...] = key(
        list_of(struct("criterion")), "criteria that something is not as it was when it was sent back"
    )
    holds: tuple[Criterion, ...] = key(list_of(struct("criterion")), "what else must hold")
    checks: Expression | None = key(
        cel("list"), "names of checks of the root that passed on the files as they are; recorded with it"
    )

    @property
    def expressions(self) -> list[Expression]:
        """Its expressions, in which `report` is the report at hand."""
        tasks = (self.criteria, self.mentions)
        files = (self.files, self.empty, self.absent, self.missing)
        asked = (*tasks, *files, self.named, self.changed, self.checks)
        return [*filter(None, asked), *(each.when for each in (*self.differs, *self.holds))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A phase or an action. Its reports write into the state as far as `writes` permits."""

    title: str = key(TEXT, "what people see")
    instructions: str = key(TEXT, "what to read, decide and write in it, for whoever does it")
    agents: tuple[str, ...] = key(TEXTS, "who does it; `person` waits for one", name="agent")
    data: Expression | None = key(
        cel("map"), "an example of what a report of it carries, made of how the run stands"
    )
    writes: Mapping[str, str | StateChange] = key(PERMITS, PERMITS_ABOUT)
    brings: Brings | None = key(struct("brings"), "what a report of it must come with")
    judges: tuple[str, ...] = key(
        list_of(id_of("step")), "the phases and actions whose work its report judges"
    )

    @property
    def changes(self) -> dict[tuple[str, ...], StateChange]:
        """The parts of each path that a report may change, to how."""
        return changes_of(self.writes)
