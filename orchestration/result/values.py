"""Values of an evaluation, and their JSON (design, section 5).

Names in JSON are camelCase as in the seeds; lines and columns are one-based there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import StrEnum
from functools import cache
from typing import Any

from ..findings import Evidence, Finding, Span
from ..journal.journal import Claim
from ..plans.schedule import TaskBoard
from ..states import (
    ArtifactStatus,
    Basis,
    CheckResult,
    GateStatus,
    PhaseStatus,
    QuestionKind,
    RequirementKind,
    RunStatus,
    SuggestionKind,
)
from .deferred_fields import DeferredFields
from .phrases import basis_phrase, shell_word, step_phrase

# Of the files that a report has to come with, so many are named in a line.
_PATHS_NAMED = 5


@dataclass(frozen=True, slots=True)
class DeliverableState:
    """An artifact that a phase must deliver, and how it stands."""

    artifact: str
    path: str
    state: ArtifactStatus

    @property
    def valid(self) -> bool:
        return self.state is ArtifactStatus.VALID


@dataclass(frozen=True, slots=True)
class PhaseState:
    """A phase of the workflow, and how it stands in the run.

    `basis` is what its end rests on, None where it has not ended or nothing shows it. `reported_by` are those
    who reported it, `reported_in` the files that hold the reports.
    """

    id: str
    title: str
    agents: tuple[str, ...]
    order: int
    state: PhaseStatus
    produces: tuple[DeliverableState, ...] = ()
    checks: tuple[str, ...] = ()
    basis: Basis | None = None
    reported_by: tuple[str, ...] = ()
    reported_in: tuple[str, ...] = ()

    @property
    def rests_on(self) -> str:
        """The ground of its end in words, "" where there is none: "as codex reported; no file shows it"."""
        return basis_phrase(self.basis, self.reported_by, self.reported_in) if self.basis else ""


@dataclass(frozen=True, slots=True)
class Forbidden:
    action: str
    because: str


@dataclass(frozen=True, slots=True)
class Produce:
    """A file that the suggested step must leave: its path from the root, its schema and an example.

    `revise` says that the file is there and is to be worked over; then there is no example.
    """

    path: str
    schema: str | None = None
    example: str | None = None
    revise: bool = False


@dataclass(frozen=True, slots=True)
class Requirement:
    """A thing that a report has to come with: what it is in words, and the files that it is about.

    `met` says whether it is there; None where only the report itself, or a comparison with it, shows that.
    `outcomes` are those of a report that is refused without it.
    """

    kind: RequirementKind
    text: str
    paths: tuple[str, ...] = ()
    met: bool | None = None
    outcomes: tuple[str, ...] = ()

    @property
    def phrase(self) -> str:
        """It in a line: "these files exist: src/a.py, src/b.py"."""
        more = len(self.paths) - _PATHS_NAMED
        named = ", ".join(self.paths[:_PATHS_NAMED]) + (f" and {more} more" if more > 0 else "")
        return f"{self.text}: {named}" if named else self.text


@dataclass(frozen=True, slots=True)
class Reportable:
    """A phase or action that may be reported now: what a report of it may say, the good outcome first.

    `data` is an example of what it carries, made of how the run stands; None where it carries nothing. `form`
    is the text that it has to come with, with blanks to fill in; None where it needs none. `brings` is all
    that a report with the good outcome is refused without. `instructions` say what to read, decide and write
    in the step, `list_changes` what becomes of the lists of the state that its data has; "" where there is
    nothing to be said.
    """

    step: str
    outcomes: tuple[str, ...]
    data: Mapping[str, Any] | None = None
    form: str | None = None
    brings: tuple[Requirement, ...] = ()
    instructions: str = ""
    list_changes: str = ""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """The next step.

    `waiting_for` is "person: what" or "job: what". `parallel` are batches of `tasks`: those of one batch
    may run at the same time, the batches follow each other. `reports` begins with the step itself.
    `override_to` is the phase at which a person's override takes up a run that a person has stopped.
    """

    kind: SuggestionKind
    suggested_next: str | None = None
    action: str | None = None
    agents: tuple[str, ...] = ()
    reason: str = ""
    evidence: tuple[Evidence, ...] = ()
    allowed: tuple[str, ...] = ()
    forbidden: tuple[Forbidden, ...] = ()
    produce: tuple[Produce, ...] = ()
    tasks: tuple[str, ...] = ()
    parallel: tuple[tuple[str, ...], ...] = ()
    reports: tuple[Reportable, ...] = ()
    waiting_for: str | None = None
    override_to: str | None = None

    @property
    def phrase(self) -> str:
        """The step as a short imperative in one line: "Go on to codegen"."""
        return step_phrase(self.kind, self.suggested_next or "", self.action, self.waiting_for or "")


@dataclass(frozen=True, slots=True)
class CriterionState:
    """`met` is None when the evidence for it is missing; then the gate cannot pass.

    `basis` is the weakest of what carries `met`, None where nothing does.
    """

    text: str
    met: bool | None
    evidence: tuple[Evidence, ...] = ()
    basis: Basis | None = None


@dataclass(frozen=True, slots=True)
class InputChange:
    """An input of a check that is not as the check had it. `span` is its first other line, if known."""

    path: str
    span: Span | None = None

    @property
    def place(self) -> str:
        """PATH:LINE as far as it is known."""
        return f"{self.path}:{self.span.line + 1}" if self.span else self.path


@dataclass(frozen=True, slots=True)
class CheckSummary:
    """A declared check that something rests on, as it stands there.

    `measured_at` is when its last result was made, None where there is none. `changed` are the inputs that
    made it stale. `path` and `span` are where it is declared.
    """

    name: str
    result: CheckResult
    reason: str
    measured_at: str | None = None
    changed: tuple[InputChange, ...] = ()
    path: str | None = None
    span: Span | None = None

    @property
    def phrase(self) -> str:
        """It in a line: "tests stale: src/a.py:3 changed since it ran"."""
        return f"{self.name} {self.result}: {self.reason}"


@dataclass(frozen=True, slots=True)
class GateState:
    """A gate after a phase. `in_force`: the run is in that phase, so it allows and forbids.

    `basis` is the weakest of its criteria's, DECIDED where it is waived. `reported_by` are those who reported
    what it rests on, `reported_in` the files that hold the reports or show it. `checks` are those that its
    criteria ask.
    """

    id: str
    after: str
    title: str
    status: GateStatus
    in_force: bool
    allowed: tuple[str, ...]
    forbidden: tuple[Forbidden, ...]
    criteria: tuple[CriterionState, ...]
    basis: Basis | None = None
    reported_by: tuple[str, ...] = ()
    reported_in: tuple[str, ...] = ()
    checks: tuple[CheckSummary, ...] = ()

    @property
    def rests_on(self) -> str:
        """The ground of its verdict in words, "" without one: "as codex reported; no file shows it"."""
        if self.status in (GateStatus.OPEN, GateStatus.NOT_REACHED):
            return ""
        partly = any(each.basis not in (None, Basis.REPORTED) for each in self.criteria)
        return basis_phrase(self.basis, self.reported_by, self.reported_in, partly)

    @property
    def shut(self) -> bool:
        return self.status in (GateStatus.FAILED, GateStatus.OPEN)


@dataclass(frozen=True, slots=True)
class LimitState:
    """A counter. `count` and `reached` are None when it cannot be told."""

    id: str
    count: int | None
    max: int | None
    reached: bool | None


@dataclass(frozen=True, slots=True)
class Option:
    """An answer that may be given. `text` says what it is and, behind a colon, what that brings."""

    id: str
    text: str

    @property
    def label(self) -> str:
        """The short name of the option, where there is room for no more: on a button."""
        return self.text.partition(": ")[0]


@dataclass(frozen=True, slots=True)
class QuestionState:
    """An open question; one without options is answered in words."""

    id: str
    kind: QuestionKind
    question: str
    options: tuple[Option, ...] = ()
    tasks: tuple[str, ...] = ()
    history: tuple[Mapping[str, Any], ...] = ()
    since: str | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class NoteText:
    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class DefinitionRef:
    name: str
    digest: str


@dataclass(frozen=True, slots=True)
class Evaluation(DeferredFields):
    """All that can be said of one run at one revision."""

    root: str
    run: str
    title: str
    workflow: str
    definition: DefinitionRef
    revision: str
    current_phase: str | None
    raw_phase: str | None
    inferred: bool
    overridden: bool
    status: RunStatus
    status_reason: str
    phases: tuple[PhaseState, ...]
    suggestion: Suggestion
    gates: tuple[GateState, ...]
    plan: TaskBoard | None
    progress: Progress | None
    unknown_marks: int
    limits: tuple[LimitState, ...]
    questions: tuple[QuestionState, ...]
    claims: tuple[Claim, ...]
    notes: tuple[NoteText, ...]
    parameters: Mapping[str, Any]
    findings: tuple[Finding, ...]
    reads: Mapping[str, str] = field(default_factory=dict, repr=False)
    home: str = field(default="", repr=False)

    @property
    def has_failed_gate(self) -> bool:
        """True where a gate in force has failed; gates that are not made yet are not made for it."""
        known = self.known_property("has_failed_gate")
        if known is not None:
            return known
        return any(gate.in_force and gate.status is GateStatus.FAILED for gate in self.gates)

    @property
    def progress_phrase(self) -> str:
        """The progress with the marks that nobody understands: "2 of 6 done, 1 mark unknown"."""
        done = f"{self.progress.done} of {self.progress.total} done" if self.progress else ""
        unknown = self.unknown_marks
        return done + (f", {unknown} {'mark' if unknown == 1 else 'marks'} unknown" if unknown else "")

    @property
    def without_tasks(self) -> Evaluation:
        """The evaluation whose plan lists the tasks that the suggestion, a question or a claim names."""
        if self.plan is None:
            return self
        asked = (task for question in self.questions for task in question.tasks)
        claimed = (claim.task for claim in self.claims)
        parallel = (task for batch in self.suggestion.parallel for task in batch)
        named = frozenset((*self.suggestion.tasks, *parallel, *asked, *claimed))
        return replace(self, plan=replace(self.plan, listed=named))

    @property
    def holding_question(self) -> QuestionState | None:
        """The question whose answer the run waits for now; None where it waits for none."""
        if self.status is not RunStatus.WAITING_HUMAN or not self.questions:
            return None
        asked = (self.suggestion.waiting_for or "").partition(": ")[2]
        held = (each for each in self.questions if asked and each.question.startswith(asked))
        return next(held, self.questions[0])

    @property
    def answer_command(self) -> str:
        """The command with which a person answers that question, in backticks; "" where none is awaited."""
        asked = self.holding_question
        return f"`phasekeeper answer {shell_word(self.run or '.')} {shell_word(asked.id)}`" if asked else ""

    @property
    def escalations(self) -> tuple[QuestionState, ...]:
        return tuple(question for question in self.questions if question.kind is QuestionKind.ESCALATION)


def as_json(value: object) -> dict[str, Any]:
    """An evaluation, or another dataclass made of such values, whole as JSON data."""
    return _json(value)


# What JSON has of values that hold more than that, in its order there.
_FIELDS: Mapping[type, tuple[str, ...]] = {
    Finding: ("code", "severity", "path", "span", "message", "fixes", "overridden"),
    Evidence: ("path", "span", "expression", "value"),
    TaskBoard: ("path", "whole", "stages"),
    Claim: ("task", "actor", "until", "seq"),
}
# What is computed from a value stands in JSON behind one of its fields.
_COMPUTED: Mapping[type, Mapping[str, str]] = {
    CheckSummary: {"reason": "phrase"},
    Evaluation: {"questions": "escalations"},
    GateState: {"reported_in": "rests_on"},
    PhaseState: {"reported_in": "rests_on"},
    Requirement: {"text": "phrase"},
    Suggestion: {"kind": "phrase"},
}
# A span gives these keys, one-based; null where there is none.
PLACE_KEYS: Mapping[type, tuple[str, ...]] = {
    Finding: ("line", "column", "endLine", "endColumn"),
    Evidence: ("line", "column"),
    CheckSummary: ("line", "column"),
    InputChange: ("line",),
}


@cache
def json_fields(kind: type) -> Mapping[str, str]:
    """The attributes of a kind of value that its JSON has, in order, with their keys there."""
    names: Iterable[str] | None = _FIELDS.get(kind) or getattr(kind, "_fields", None)
    if names is None:
        computed = _COMPUTED.get(kind, {})
        # What has no place in a repr (`reads`) has none in JSON.
        declared = (entry.name for entry in fields(kind) if entry.repr)
        names = (name for each in declared for name in (each, computed.get(each)) if name)
    return {name: re.sub("_(.)", lambda match: match[1].upper(), name) for name in names}


_PLAIN = frozenset({str, int, float, bool, type(None)})


def _json(value: Any) -> Any:
    # Most values are of these, and what else one may be is costly to ask.
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is tuple or kind is list:
        return [_json(item) for item in value]
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): _json(item) for key, item in value.items()}
    if not is_dataclass(value) and not hasattr(value, "_fields"):
        return [*map(_json, value)] if isinstance(value, (tuple, list)) else value
    data: dict[str, Any] = {}
    for name, key in json_fields(type(value)).items():
        item = getattr(value, name)
        if name == "span":
            at = [number + 1 for number in item] if item else [None] * 4
            data |= zip(PLACE_KEYS[type(value)], at, strict=False)
        else:
            data[key] = item + 1 if name == "line" else _json(item)
    return data
