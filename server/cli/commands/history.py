"""`phasekeeper history`: what a run's journal holds, record by record or as lifecycle events."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator

from ....orchestration.journal.journal import Record
from ....orchestration.sanitize import plain, value_text
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
    if not (found.journal.records or found.journal.broken):
        yield f"phasekeeper: {plain(run.name)} has no records that count"


def _lines(found: RunHistory, with_events: bool) -> Iterator[Line]:
    records = found.journal.records
    if not with_events:
        yield from map(_record_line, records)
        return
    pairs = [
        (record, event) for record, events in zip(records, found.events, strict=True) for event in events
    ]
    for record, event in [*pairs, *((records[-1], event) for event in found.closing if records)]:
        payload = ", ".join(f"{name} {value_text(value)}" for name, value in event.payload.items())
        term = [Part(f"  [{plain(event.term)}]", "phase")] if event.term else []
        yield [_when(record), Part(f"  {event.name}", "run"), Part(f"  {payload}"), *term]


def _record_line(record: Record) -> list[Part]:
    """When, what, who, why, result."""
    scope = f":{record['scope']}" if record["scope"] else ""
    tasks = record["tasks"]
    what = (
        f"{record['question']}{scope}" if record["question"] else "",
        record["phase"],
        record["check"],
        record["workflow"],
        ", ".join(map(str, tasks)) if isinstance(tasks, list) and tasks else record["task"],
        f"in stage {record['stage']}" if record["stage"] else "",
    )
    who = plain(str(record["actor"])) + (f" ({plain(str(record['channel']))})" if record["channel"] else "")
    why = plain(str(record["why"] or record["message"]), 400)
    result = plain(str(record["option"] or record["outcome"] or record["next"]))
    words = " ".join(plain(str(word)) for word in what if word)
    parts = [_when(record), Part(f"  {record['kind']} ", "run"), Part(words)]
    parts += [Part(f"  {who}", "dim")] if who else []
    parts += [Part(f"  {why}")] if why else []
    return parts + ([Part(f"  -> {result}", "phase")] if result else [])


def _when(record: Record) -> Part:
    return Part(plain(str(record["at"])) or "at an unknown time", "dim")
