"""`phasekeeper history`: what a run's journal holds, line by line or in the words of the seeds."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...orchestration.findings import Problem
from ...orchestration.journal.journal import Journal, Record, read_journal
from ...orchestration.rendering import lifecycle_events
from ...orchestration.sanitize import plain, shown
from ...orchestration.vfs.files import join
from ..cli.commands.read import OK, REFUSED, print_json
from ..cli.selection import PATH_LIMIT, Chosen, chosen
from ..store.lock import FOLDER, JOURNAL
from ..terminal.lines import Line, Part, emit
from ..terminal.lines import tell as complain
from . import decision_proof as decide

_ADVICE = {
    "journal-invalid": "`phasekeeper repair {run} --drop-bad-lines` takes such lines out and keeps a copy",
    "journal-forked": "`phasekeeper repair {run}` links the branches together",
    "journal-torn": "the next write cuts it off",
}


class History(NamedTuple):
    path: str
    journal: Journal
    events: Sequence[tuple[lifecycle_events.Event, ...]]
    closing: tuple[lifecycle_events.Event, ...]


def history(options: Namespace) -> int:
    """`history`: every record that counts, oldest first; what does not count or cannot be read is told.

    Refused (1) for a journal that cannot be trusted.
    """
    [run] = chosen(options).runs
    found = history_of(run)
    if options.json:
        print_json(as_data(run, found, options.events))
    else:
        complain(_told(run, found))
        emit(_lines(found, options.events))
    return REFUSED if found.journal.broken else OK


def history_of(run: Chosen) -> History:
    root = run.workspace.root
    path = join(run.match.run, f"{FOLDER}/{JOURNAL}") or JOURNAL
    file = run.workspace.files.read(path)
    journal = read_journal(
        file.text or "", lambda lines: decide.verified_lines(root, path, lines, decide.load_key().secret)
    )
    if file.problem is not None:
        journal = journal._replace(problems=(*journal.problems, file.problem), broken=True)
    steps = run.look()
    state = steps.sight.snapshot.state
    data = state.data if state is not None and state.valid else {}
    session = lifecycle_events.session_of(run.match.run, data)
    made = lifecycle_events.events(run.match.workflow, session, journal.records)
    metrics = data.get("metrics") or {}
    closing = lifecycle_events.closing(session, steps.evaluation.status, metrics, journal.records)
    return History(path, journal, made, closing)


def _told(run: Chosen, found: History) -> Iterator[str]:
    for problem in found.journal.problems:
        where = f"{plain(found.path, PATH_LIMIT)}:{problem.span.line + 1}" if problem.span else found.path
        advice = _ADVICE.get(problem.code, "").replace("{run}", plain(run.name))
        yield f"phasekeeper: {where}: {problem.code}: {plain(problem.message)}{advice and '; ' + advice}"
    if not found.journal.records:
        yield f"phasekeeper: {plain(run.name)} has no records that count"


# ---- as lines ---------------------------------------------------------------------------------


def _lines(found: History, with_events: bool) -> Iterator[Line]:
    for entry, made in zip(found.journal.records, found.events, strict=True):
        if with_events:
            yield from (_event_line(entry, event) for event in made)
        else:
            yield _record_line(entry)
    if with_events and found.journal.records:
        yield from (_event_line(found.journal.records[-1], event) for event in found.closing)


def _record_line(entry: Record) -> list[Part]:
    """When, what, who, why, result."""
    what = " ".join(plain(str(word)) for word in _what(entry) if word)
    who = plain(str(entry["actor"])) + (f" ({plain(str(entry['channel']))})" if entry["channel"] else "")
    why = plain(str(entry["why"] or entry["message"]), 400)
    result = plain(str(entry["option"] or entry["outcome"] or entry["next"]))
    parts = [Part(_when(entry), "dim"), Part(f"  {entry['kind']} ", "run"), Part(what)]
    parts += [Part(f"  {who}", "dim")] if who else []
    parts += [Part(f"  {why}")] if why else []
    return parts + ([Part(f"  -> {result}", "phase")] if result else [])


def _when(entry: Record) -> str:
    return plain(str(entry["at"])) or "at an unknown time"


def _what(entry: Record) -> Iterator[object]:
    scope = f":{entry['scope']}" if entry["scope"] else ""
    yield f"{entry['question']}{scope}" if entry["question"] else ""
    yield entry["phase"]
    yield entry["workflow"]
    tasks = entry["tasks"]
    yield ", ".join(map(str, tasks)) if isinstance(tasks, list) and tasks else entry["task"]
    yield f"in stage {entry['stage']}" if entry["stage"] else ""


def _event_line(entry: Record, event: lifecycle_events.Event) -> list[Part]:
    said = ", ".join(f"{name} {shown(value)}" for name, value in event.payload.items())
    parts = [Part(_when(entry), "dim"), Part(f"  {event.name}", "run"), Part(f"  {said}")]
    return parts + ([Part(f"  [{plain(event.term)}]", "phase")] if event.term else [])


# ---- as JSON ----------------------------------------------------------------------------------


def as_data(run: Chosen, found: History, with_events: bool) -> Mapping[str, Any]:
    journal = found.journal
    data: dict[str, Any] = {
        "root": str(run.workspace.root),
        "run": run.match.run,
        "workflow": run.match.workflow.name,
        "journal": found.path,
        "head": journal.head,
        "broken": journal.broken,
        "forked": journal.forked,
        "problems": [_problem(problem) for problem in journal.problems],
        "records": [
            record_json(line, entry) | ({"events": [_event(event) for event in made]} if with_events else {})
            for line, entry, made in zip(journal.lines, journal.records, found.events, strict=True)
        ],
    }
    return data | ({"closing": [_event(event) for event in found.closing]} if with_events else {})


def record_json(line: int, entry: Record) -> dict[str, Any]:
    """A record and its one-based line in the journal (`line` is zero-based). Empty fields are left out."""
    return {"line": line + 1, **{name: value for name, value in entry.items() if value}}


def _event(event: lifecycle_events.Event) -> dict[str, Any]:
    return {"event": event.name, "payload": event.payload} | ({"term": event.term} if event.term else {})


def _problem(problem: Problem) -> dict[str, Any]:
    line = problem.span.line + 1 if problem.span else None
    return {"code": problem.code, "message": problem.message, "line": line}
