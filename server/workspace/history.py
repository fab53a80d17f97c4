"""The contents of a run's journal: its records, what does not count, the lifecycle events that they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...orchestration.journal.journal import Journal, Record
from ...orchestration.journal.lines import JOURNAL
from ...orchestration.rendering import lifecycle_events
from ...orchestration.rendering.lifecycle_events import Event
from ...orchestration.snapshot.discovery import Match
from ...orchestration.vfs.files import below
from .decision_proof import verified_journal
from .workspace import Workspace


class RunHistory(NamedTuple):
    """A journal as read from `path`, which counts from the root.

    `events` has the lifecycle events of each record, in the order of the records; `closing` are those that
    follow from how the run stands now.
    """

    path: str
    journal: Journal
    events: Sequence[tuple[Event, ...]]
    closing: tuple[Event, ...]


def history_of(workspace: Workspace, match: Match) -> RunHistory:
    """The journal of a run with its events. A journal that cannot be read is a broken one."""
    path = below(match.home, JOURNAL)
    file = workspace.files.read(path)
    journal = verified_journal(workspace.root, path, file.text or "")
    if file.problem is not None:
        journal = journal._replace(problems=(*journal.problems, file.problem), broken=True)
    steps = workspace.look(match)
    state = steps.facts.snapshot.state
    data = state.data if state is not None and state.valid else {}
    session = lifecycle_events.session_of(match.run, data)
    events = lifecycle_events.events(match.workflow, session, journal.records)
    status, metrics = steps.evaluation.status, data.get("metrics") or {}
    closing = lifecycle_events.closing(session, status, metrics, journal.records)
    return RunHistory(path, journal, events, closing)


def history_json(
    workspace: Workspace, match: Match, history: RunHistory, with_events: bool
) -> Mapping[str, Any]:
    """A history as JSON, the same for the command line and for editors; lines are one-based."""
    journal = history.journal
    data: dict[str, Any] = {
        "root": str(workspace.root),
        "run": match.run,
        "workflow": match.workflow.name,
        "journal": history.path,
        "head": journal.head,
        "broken": journal.broken,
        "forked": journal.forked,
        "problems": [
            {"code": each.code, "message": each.message, "line": each.span.line + 1 if each.span else None}
            for each in journal.problems
        ],
        "records": [
            record_json(line, entry) | ({"events": list(map(_event_json, events))} if with_events else {})
            for line, entry, events in zip(journal.lines, journal.records, history.events, strict=True)
        ],
    }
    return data | ({"closing": list(map(_event_json, history.closing))} if with_events else {})


def record_json(line: int, entry: Record) -> dict[str, Any]:
    """A record and its one-based line in the journal (`line` is zero-based). Empty fields are left out."""
    return {"line": line + 1, **{name: value for name, value in entry.items() if value}}


def _event_json(event: Event) -> dict[str, Any]:
    return {"event": event.name, "payload": event.payload} | ({"term": event.term} if event.term else {})
