"""A journal in the words of the seeds: the lifecycle events of seed 001, and each workflow's own term.

Seed 001 names session.started, loop.iteration.start, loop.phase.start, .complete, .error and .skipped,
loop.iteration.complete, loop.complete and session.ended ("Loop Algorithm", "Event Flow"); what they carry is
told by it and by its source (reference: workflows, "Events"). What it has no event for keeps the kind of its
record: decision.answer, decision.override, task.claim, check.verified.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..definition.model import Workflow
from ..journal.branches import FAILURES
from ..journal.journal import SKIPPED, Record

_NAMES = {
    "question": "question.raised",
    "answer": "decision.answer",
    "override": "decision.override",
    "claim": "task.claim",
    "release": "task.release",
    "violation": "gate.violation",
    "refused": "report.refused",
    "relink": "journal.relink",
    "verified": "check.verified",
}
_WORK = {"phase": "phase", "iteration": "iteration", "stage": "stage", "tasks": "tasks", "outcome": "result"}
# Per event: the fields of its record, and what they are called in the event.
_PAYLOAD: Mapping[str, Mapping[str, str]] = {
    "question.raised": {"seq": "question", "message": "message", "phase": "phase", "tasks": "tasks"},
    "decision.answer": {"question": "question", "scope": "scope", "option": "option", "why": "why"},
    "decision.override": {
        "phase": "phase", "next": "next", "gates": "gates", "phases": "phases", "why": "why",
    },
    "task.claim": {"task": "task", "actor": "actor"},
    "task.release": {"task": "task", "actor": "actor"},
    "gate.violation": {"phase": "phase", "message": "message", "path": "path"},
    "report.refused": {**_WORK, "why": "why"},
    "check.verified": {"check": "check", "outcome": "result", "about": "subject", "message": "message"},
    "journal.relink": {"about": "about", "message": "message", "why": "why"},
    "loop.phase.start": {"phase": "phase", "iteration": "iteration", "stage": "stage", "why": "why"},
    "loop.phase.skipped": {"phase": "phase", "iteration": "iteration", "why": "reason"},
    "loop.phase.complete": {**_WORK, "next": "next", "message": "message", "path": "path"},
    "loop.phase.error": {**_WORK, "message": "error", "next": "next", "path": "path"},
}  # fmt: skip
_ENDED = {"complete": "complete", "failed": "failed", "exited": "cancelled"}


class Event(NamedTuple):
    """`term` is what the workflow itself calls it ("PHASE GATE STATUS: FAIL", "action verify"), or ""."""

    name: str
    payload: Mapping[str, Any]
    term: str = ""


def session_of(run: str, state: Mapping[str, Any]) -> str:
    """The name of the session in events: its own id where the state file has one (seed 001), else the run."""
    own = state.get("sessionId")
    return own if isinstance(own, str) and own else run


def events(workflow: Workflow, session: str, records: Sequence[Record]) -> list[tuple[Event, ...]]:
    """The events of each record, in order: those that it implies first, its own last."""
    last: object = 0
    all_events: list[tuple[Event, ...]] = []
    for entry in records:
        implied: list[Event] = []
        iteration = entry["iteration"]
        if iteration and iteration != last:
            # Seed 001 counts passes; the first record of another one ends the pass before it.
            if last:
                implied.append(Event("loop.iteration.complete", {"iteration": last}))
            fields = {"iteration": iteration, "phase": entry["phase"], "timestamp": entry["at"]}
            payload = {name: value for name, value in fields.items() if value}
            implied.append(Event("loop.iteration.start", payload))
            last = iteration
        all_events.append((*implied, _event(workflow, session, entry)))
    return all_events


def closing(session: str, status: str, metrics: object, records: Sequence[Record]) -> tuple[Event, ...]:
    """Events that follow the last record of a run that has ended; () while it goes on."""
    if status not in _ENDED:
        return ()
    at = {"endedAt": records[-1]["at"]} if records and records[-1]["at"] else {}
    ended = Event("session.ended", {"sessionId": session, **at, "status": _ENDED[status], "metrics": metrics})
    if status != "complete":
        return (ended,)
    last = next((entry["iteration"] for entry in reversed(records) if entry["iteration"]), 0)
    iterations = Event("loop.iteration.complete", {"iteration": last})
    done = Event("loop.complete", {**({"iterations": last} if last else {}), "metrics": metrics})
    return (*((iterations,) if last else ()), done, ended)


def _event(workflow: Workflow, session: str, entry: Record) -> Event:
    kind = str(entry["kind"])
    if kind == "start" and not entry["phase"]:
        fields = {"startedAt": entry["at"], "task": entry["message"]}
        more = {key: value for key, value in fields.items() if value}
        payload = {"sessionId": session, "workflow": entry["workflow"] or workflow.name, **more}
        return Event("session.started", payload)
    if kind == "report":
        name = "loop.phase.error" if entry["outcome"] in FAILURES else "loop.phase.complete"
    elif kind == "transition" and entry["outcome"] == SKIPPED:
        name = "loop.phase.skipped"
    else:
        name = _NAMES.get(kind, "loop.phase.start")
    payload = {called: entry[field] for field, called in _PAYLOAD[name].items() if entry[field]}
    if name == "loop.phase.error":
        payload.setdefault("error", entry["outcome"])
    if name == "loop.phase.start" and kind == "transition":
        return Event(name, {**payload, "phase": entry["next"]}, f"redo {entry['next']}")
    return Event(name, payload, _term(workflow, entry) if kind == "report" else "")


def _term(workflow: Workflow, report: Record) -> str:
    """The heading of the phase's reports in files (seed 004), or the action it is (seed 003)."""
    phase, outcome = str(report["phase"]), str(report["outcome"])
    form = workflow.reports.read.get(phase)
    if form is not None:
        words = (*form.outcome, *form.headings)
        # A plain "Status" names no phase; the heading above it does.
        named = next((word for word in words if " " in word), phase)
        return f"{named}: {outcome.upper()}"
    return f"action {phase}: {outcome}" if phase not in workflow.phases else ""
