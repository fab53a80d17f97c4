"""`phasekeeper history`: what a run's journal holds, record by record or as lifecycle events."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator

from ....orchestration.journal.journal import Record
from ....orchestration.rendering.lifecycle_events import Event
from ....orchestration.sanitize import plain, shown
from ...terminal.lines import PATH_LIMIT, Line, Part, print_errors, print_lines
from ...workspace.history import RunHistory, history_json, history_of
from ..output import OK, REFUSED, print_json
from ..selection import SelectedRun, select_runs

_ADVICE = {
    "journal-invalid": "`phasekeeper repair {run} --drop-bad-lines` takes such lines out and keeps a copy",
    "journal-forked": "`phasekeeper repair {run}` links the branches together",
    "journal-torn": "the next write cuts it off",
}


def history(options: Namespace) -> int:
    """`history`: every record that counts, oldest first; on stderr what does not count or cannot be read.

    Refused (1) for a journal that cannot be trusted.
    """
    [run] = select_runs(options).runs
    found = history_of(run.workspace, run.match)
    if options.json:
        print_json(history_json(run.workspace, run.match, found, options.events))
    else:
        print_errors(_problem_lines(run, found))
        print_lines(_lines(found, options.events))
    return REFUSED if found.journal.broken else OK


def _problem_lines(run: SelectedRun, found: RunHistory) -> Iterator[str]:
    for problem in found.journal.problems:
        where = f"{plain(found.path, PATH_LIMIT)}:{problem.span.line + 1}" if problem.span else found.path
        advice = _ADVICE.get(problem.code, "").replace("{run}", plain(run.name))
        yield f"phasekeeper: {where}: {problem.code}: {plain(problem.message)}{advice and '; ' + advice}"
    if not found.journal.records:
        yield f"phasekeeper: {plain(run.name)} has no records that count"


def _lines(found: RunHistory, with_events: bool) -> Iterator[Line]:
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


def _event_line(entry: Record, event: Event) -> list[Part]:
    said = ", ".join(f"{name} {shown(value)}" for name, value in event.payload.items())
    parts = [Part(_when(entry), "dim"), Part(f"  {event.name}", "run"), Part(f"  {said}")]
    return parts + ([Part(f"  [{plain(event.term)}]", "phase")] if event.term else [])
