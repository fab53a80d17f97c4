"""What evaluating one run gives: values, and their JSON (design, section 5).

Names in JSON are camelCase as in the seeds; lines and columns are one-based there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from ..findings import Evidence, Finding, Fix, Span
from ..journal.journal import Claim
from ..plans.schedule import Board, StageState, TaskState


@dataclass(frozen=True, slots=True)
class Produced:
    """An artifact that a phase must deliver, and how it stands."""

    artifact: str
    path: str
    state: str


@dataclass(frozen=True, slots=True)
class PhaseState:
    """`state`: done, current, ahead (still to come), skipped or detour."""

    id: str
    title: str
    agents: tuple[str, ...]
    order: int
    state: str
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
    """The next step. `kind`: advance, regress, stay, act, wait, escalate, stop or none.

    `waiting_for` is "person: what" or "job: what". `parallel` are batches of `tasks`: those of one batch
    may run at the same time, the batches follow each other. `reports` begins with the step itself.
    """

    kind: str
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


@dataclass(frozen=True, slots=True)
class CriterionState:
    """`met` is None when the evidence for it is missing; then the gate cannot pass."""

    text: str
    met: bool | None
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class GateState:
    """`status`: passed, failed, open, waived or not-reached."""

    id: str
    after: str
    title: str
    status: str
    in_force: bool
    allowed: tuple[str, ...]
    forbidden: tuple[Forbidden, ...]
    criteria: tuple[CriterionState, ...]

    @property
    def shut(self) -> bool:
        return self.status in ("failed", "open")


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
    """An open question. `kind`: approval, escalation, or clarification (answered in words)."""

    id: str
    kind: str
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
class Definition:
    name: str
    digest: str


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All that can be said of one run at one revision."""

    root: str
    run: str
    title: str
    workflow: str
    definition: Definition
    revision: str
    current_phase: str | None
    raw_phase: str | None
    inferred: bool
    overridden: bool
    status: str
    status_reason: str
    phases: tuple[PhaseState, ...]
    suggestion: Suggestion
    gates: tuple[GateState, ...]
    plan: Board | None
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
        return tuple(question for question in self.questions if question.kind == "escalation")


def as_json(evaluation: Evaluation) -> dict[str, Any]:
    """The evaluation as JSON data, whole."""
    out: dict[str, Any] = {}
    for entry in fields(evaluation):
        if entry.name != "reads":
            out[_camel(entry.name)] = _json(getattr(evaluation, entry.name))
        if entry.name == "questions":
            out["escalations"] = _json(evaluation.escalations)
    return out


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
    if isinstance(value, Board):
        return {"path": value.path, "stages": _json(value.stages)}
    if isinstance(value, (StageState, TaskState)):
        return {_camel(entry.name): _json(getattr(value, entry.name)) for entry in fields(value)} | {
            "line": value.line + 1
        }
    if is_dataclass(value) and not isinstance(value, type):
        return {_camel(entry.name): _json(getattr(value, entry.name)) for entry in fields(value)}
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
    end_line, end_column = (
        (found.span.end_line + 1, found.span.end_column + 1) if found.span else (None, None)
    )
    return {
        "code": found.code,
        "severity": str(found.severity),
        "path": found.path,
        "line": line,
        "column": column,
        "endLine": end_line,
        "endColumn": end_column,
        "message": found.message,
        "fixes": [_fix(fix) for fix in found.fixes],
        "overridden": found.overridden,
    }


def _fix(fix: Fix) -> dict[str, Any]:
    return {"title": fix.title, "command": list(fix.command)}


def _start(span: Span | None) -> tuple[int | None, int | None]:
    return (span.line + 1, span.column + 1) if span else (None, None)
