"""What evaluating one run gives: values, and their JSON (design, section 5).

Names in JSON are camelCase as in the seeds; lines and columns are one-based there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from enum import StrEnum
from functools import cache
from typing import Any

from ..findings import Evidence, Finding, Span
from ..journal.journal import Claim
from ..plans.schedule import StageState, TaskBoard, TaskState
from ..states import ArtifactStatus, GateStatus, PhaseStatus, QuestionKind, RunStatus, SuggestionKind
from .phrases import step_phrase


@dataclass(frozen=True, slots=True)
class Produced:
    """An artifact that a phase must deliver, and how it stands."""

    artifact: str
    path: str
    state: ArtifactStatus

    @property
    def valid(self) -> bool:
        return self.state is ArtifactStatus.VALID


@dataclass(frozen=True, slots=True)
class PhaseState:
    """A phase of the workflow, and how it stands in the run."""

    id: str
    title: str
    agents: tuple[str, ...]
    order: int
    state: PhaseStatus
    produces: tuple[Produced, ...] = ()
    checks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Forbidden:
    action: str
    because: str


@dataclass(frozen=True, slots=True)
class Produce:
    """A file that the suggested step must leave: its path from the root, its schema and an example."""

    path: str
    schema: str | None = None
    example: str | None = None


@dataclass(frozen=True, slots=True)
class Reportable:
    """A phase or action that may be reported now: what a report of it may say, the good outcome first.

    `data` is an example of what it carries, made of how the run stands; None where it carries nothing.
    """

    step: str
    outcomes: tuple[str, ...]
    data: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Suggestion:
    """The next step.

    `waiting_for` is "person: what" or "job: what". `parallel` are batches of `tasks`: those of one batch
    may run at the same time, the batches follow each other. `reports` begins with the step itself.
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

    @property
    def phrase(self) -> str:
        """The step as a short imperative in one line: "Go on to codegen"."""
        return step_phrase(self.kind, self.suggested_next or "", self.action, self.waiting_for or "")


@dataclass(frozen=True, slots=True)
class CriterionState:
    """`met` is None when the evidence for it is missing; then the gate cannot pass."""

    text: str
    met: bool | None
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class GateState:
    """A gate after a phase. `in_force`: the run is in that phase, so it allows and forbids."""

    id: str
    after: str
    title: str
    status: GateStatus
    in_force: bool
    allowed: tuple[str, ...]
    forbidden: tuple[Forbidden, ...]
    criteria: tuple[CriterionState, ...]

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
        """What the option is, where there is room for no more: on a button."""
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
class Evaluation:
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
    limits: tuple[LimitState, ...]
    questions: tuple[QuestionState, ...]
    claims: tuple[Claim, ...]
    notes: tuple[NoteText, ...]
    parameters: Mapping[str, Any]
    findings: tuple[Finding, ...]
    reads: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def escalations(self) -> tuple[QuestionState, ...]:
        return tuple(question for question in self.questions if question.kind is QuestionKind.ESCALATION)


def as_json(evaluation: Evaluation) -> dict[str, Any]:
    """The evaluation as JSON data, whole."""
    return _json(evaluation)


# What is computed from a value stands in JSON behind one of its fields; what is read has no place there.
_COMPUTED: Mapping[type, Mapping[str, str]] = {
    Evaluation: {"questions": "escalations"},
    Suggestion: {"kind": "phrase"},
}
_INTERNAL = ((Evaluation, "reads"),)


@cache
def json_fields(kind: type) -> Mapping[str, str]:
    """The attributes of a dataclass that its JSON has, in order, with their keys there."""
    computed = _COMPUTED.get(kind, {})
    names = (name for entry in fields(kind) for name in (entry.name, computed.get(entry.name)) if name)
    return {name: _camel(name) for name in names if (kind, name) not in _INTERNAL}


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


def _json(value: Any) -> Any:
    if isinstance(value, Finding):
        return finding_json(value)
    if isinstance(value, Evidence):
        return evidence_json(value)
    if isinstance(value, Claim):
        return value._asdict()
    if isinstance(value, TaskBoard):
        return {"path": value.path, "stages": _json(value.stages)}
    if isinstance(value, StrEnum):
        return value.value
    if is_dataclass(value):
        data = {key: _json(getattr(value, name)) for name, key in json_fields(type(value)).items()}
        return data | {"line": value.line + 1} if isinstance(value, (StageState, TaskState)) else data
    if isinstance(value, Mapping):
        return {str(key): _json(item) for key, item in value.items()}
    return [_json(item) for item in value] if isinstance(value, (tuple, list)) else value


def evidence_json(evidence: Evidence) -> dict[str, Any]:
    line, column = _start(evidence.span)
    return {
        "path": evidence.path,
        "line": line,
        "column": column,
        "expression": evidence.expression,
        "value": list(evidence.value) if isinstance(evidence.value, tuple) else evidence.value,
    }


def finding_json(found: Finding) -> dict[str, Any]:
    line, column = _start(found.span)
    end = (found.span.end_line + 1, found.span.end_column + 1) if found.span else (None, None)
    return {
        "code": found.code,
        "severity": str(found.severity),
        "path": found.path,
        "line": line,
        "column": column,
        "endLine": end[0],
        "endColumn": end[1],
        "message": found.message,
        "fixes": [{"title": fix.title, "command": list(fix.command)} for fix in found.fixes],
        "overridden": found.overridden,
    }


def _start(span: Span | None) -> tuple[int | None, int | None]:
    return (span.line + 1, span.column + 1) if span else (None, None)
