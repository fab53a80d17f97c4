"""A journal in the words of the seeds: the lifecycle events of seed 001, and each workflow's own term.

Seed 001 names session.started, loop.iteration.start, loop.phase.start, .complete, .error and .skipped,
loop.iteration.complete, loop.complete and session.ended ("Loop Algorithm", "Event Flow"). What it has no
event for keeps the kind of its record: decision.answer, decision.override, task.claim.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from .journal import FAILURES, Record
from .workflow import Workflow

_NAMES = {
    "question": "question.raised",
    "answer": "decision.answer",
    "override": "decision.override",
    "claim": "task.claim",
    "release": "task.release",
    "violation": "gate.violation",
    "relink": "journal.relink",
}
_PAYLOAD = {
    "question.raised": ("message",),
    "decision.answer": ("question", "scope", "option", "why"),
    "decision.override": ("phase", "next", "gates", "phases", "why"),
    "task.claim": ("task", "actor"),
    "task.release": ("task", "actor"),
    "gate.violation": ("phase", "message", "path"),
    "journal.relink": ("about", "message", "why"),
    "loop.phase.start": ("phase", "stage", "why"),
    "loop.phase.complete": ("phase", "stage", "tasks", "outcome", "next", "message", "path"),
    "loop.phase.error": ("phase", "stage", "tasks", "outcome", "next", "message", "path"),
}


class Event(NamedTuple):
    """`term` is what the workflow itself calls it ("PHASE GATE STATUS: FAIL", "action verify"), or ""."""

    name: str
    payload: Mapping[str, Any]
    term: str = ""


def events(workflow: Workflow, run: str, records: Sequence[Record]) -> list[tuple[Event, ...]]:
    """The events of each record, in order: those that it implies first, its own last."""
    before: Record | None = None
    found: list[tuple[Event, ...]] = []
    for entry in records:
        implied = (*_iterations(before, entry), *_skipped(workflow, before, entry))
        found.append((*implied, _event(workflow, run, entry)))
        before = entry if entry["kind"] == "report" else before
    return found


def closing(run: str, status: str, metrics: object) -> tuple[Event, ...]:
    """What follows the last record of a run that has ended; () while it goes on."""
    ended = Event("session.ended", {"sessionId": run, "status": status, "metrics": metrics})
    if status == "complete":
        return Event("loop.complete", {"metrics": metrics}), ended
    return (ended,) if status in ("failed", "exited") else ()


def _event(workflow: Workflow, run: str, entry: Record) -> Event:
    name = _name(entry)
    if name == "session.started":
        return Event(name, {"sessionId": run, "workflow": entry["workflow"] or workflow.name})
    payload = {key: entry[key] for key in _PAYLOAD[name] if entry[key]}
    if entry["kind"] == "transition":
        return Event(name, {**payload, "phase": entry["next"]}, f"redo {entry['next']}")
    return Event(name, payload, _term(workflow, entry))


def _name(entry: Record) -> str:
    kind = str(entry["kind"])
    if kind == "report":
        return "loop.phase.error" if entry["outcome"] in FAILURES else "loop.phase.complete"
    if kind == "start" and not entry["phase"]:
        return "session.started"
    return _NAMES.get(kind, "loop.phase.start")


def _term(workflow: Workflow, entry: Record) -> str:
    """How reports of the phase are headed in files (seed 004), or the action it is (seed 003)."""
    phase, outcome = str(entry["phase"]), str(entry["outcome"])
    if entry["kind"] != "report":
        return ""
    form = next((form for form in workflow.report_forms if form.phase == phase), None)
    if form is not None:
        words = (*form.outcome, *form.headings)
        # A plain "Status" names no phase; the heading above it does.
        named = next((word for word in words if " " in word), phase)
        return f"{named}: {outcome.upper()}"
    return f"action {phase}: {outcome}" if phase not in workflow.phases else ""


def _iterations(before: Record | None, entry: Record) -> Iterator[Event]:
    """Seed 001 counts passes; a report of another one ends the pass before it."""
    if entry["kind"] != "report" or not entry["iteration"]:
        return
    last = before["iteration"] if before else 0
    if entry["iteration"] != last:
        if last:
            yield Event("loop.iteration.complete", {"iteration": last})
        yield Event("loop.iteration.start", {"iteration": entry["iteration"]})


def _skipped(workflow: Workflow, before: Record | None, entry: Record) -> Iterator[Event]:
    """The phases between two reports of one pass that nobody reported: they were passed over (canSkip).

    Only where passes are counted, and not where a phase jumped.
    """
    if before is None or entry["kind"] != "report" or not entry["iteration"]:
        return
    if before["iteration"] != entry["iteration"] or before["next"] or before["outcome"] in FAILURES:
        return
    names = list(workflow.phases)
    if before["phase"] not in names or entry["phase"] not in names:
        return
    start, end = names.index(str(before["phase"])) + 1, names.index(str(entry["phase"]))
    for name in names[start:end]:
        if not workflow.phases[name].detour:
            yield Event("loop.phase.skipped", {"phase": name})
