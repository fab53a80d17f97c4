"""A run's records as a timeline: what each says in a sentence, and what each attempt changed.

Attempts are reports of one phase in one stage; where a phase hands out tasks, those that share one. What an
attempt changed is told from the digests that its record holds, and from the texts of the two report files.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from difflib import unified_diff
from itertools import islice
from typing import Any, NamedTuple

from ..journal.journal import FAILURES, Record, files_of
from ..snapshot.snapshot import RecordOrigin
from ..states import RecordKind

MOST_ENTRIES = 200
"""Records on a timeline, the newest; how many came before them is said."""
MOST_DIFFERENCES = 20
"""Attempts whose report is compared with the one before it, the newest."""
MOST_CHANGES = 30
"""Files that an attempt changed; how many more there are is said."""
_LINES_COMPARED = 400
_LINES_SHOWN = 120
_CONTEXT = 2


class Difference(NamedTuple):
    """Lines of a unified diff without its head; `more` are left out, `partial`: a text was cut."""

    lines: tuple[str, ...]
    more: int
    partial: bool


def difference(before: str, after: str) -> Difference:
    """The difference between two texts, of their first lines where they are long.

    Bounded: comparing takes quadratic time.
    """
    old, new = before.splitlines(), after.splitlines()
    partial = max(len(old), len(new)) > _LINES_COMPARED
    compared = unified_diff(old[:_LINES_COMPARED], new[:_LINES_COMPARED], lineterm="", n=_CONTEXT)
    lines = [line for line in compared if not line.startswith(("--- ", "+++ "))]
    return Difference(tuple(lines[:_LINES_SHOWN]), max(len(lines) - _LINES_SHOWN, 0), partial)


def compared_paths(records: Sequence[Record], by_task: Collection[str]) -> tuple[str, ...]:
    """The report files that a timeline compares: those of the newest attempts and of the ones before."""
    paths: dict[str, None] = {}
    for before, after in _compared_attempts(records, _attempts_before(records, by_task)):
        paths |= dict.fromkeys((str(before["path"]), str(after["path"])))
    return tuple(paths)


def timeline(
    records: Sequence[Record],
    origins: Mapping[int, RecordOrigin],
    texts: Mapping[str, str],
    by_task: Collection[str] = (),
) -> dict[str, Any]:
    """JSON of the newest records, the newest first, with `earlier`, the number of those left out.

    `origins` has the place of each record by its id(); `texts` those of `compared_paths`, as far as they
    can be read; `by_task` are the phases that hand out tasks. A report that somebody wrote as a file has the
    time of that. Lines are one-based.
    """
    before_of = _attempts_before(records, by_task)
    compared = {id(after) for _, after in _compared_attempts(records, before_of)}
    entries: list[dict[str, Any]] = []
    for entry in records[-MOST_ENTRIES:]:
        number, before = before_of.get(id(entry), (0, None))
        origin = origins.get(id(entry))
        data = _entry(entry, number) | _place(origin)
        if not entry["at"] and entry["written"]:
            data["recorded"] = False
        if before is not None:
            data["since"] = _since(before, entry, number - 1, texts if id(entry) in compared else {})
        entries.append(data)
    return {"earlier": max(len(records) - MOST_ENTRIES, 0), "entries": entries[::-1]}


def _place(origin: RecordOrigin | None) -> dict[str, Any]:
    if origin is None:
        return {"path": None, "line": None}
    return {"path": origin.path, "line": origin.span.line + 1 if origin.span else None}


def _entry(entry: Record, attempt: int) -> dict[str, Any]:
    return {
        "at": entry["written"] or entry["at"] or None,
        "recorded": True,
        "kind": entry["kind"],
        "sentence": sentence_of(entry),
        "failed": entry["outcome"] in FAILURES or entry["kind"] in _AGAINST,
        "decided": entry["kind"] in (RecordKind.ANSWER, RecordKind.OVERRIDE),
        "who": entry["actor"],
        "channel": entry["channel"],
        "asked": entry["asked"],
        "why": entry["why"],
        "message": "" if entry["kind"] == RecordKind.QUESTION else entry["message"],
        "phase": entry["phase"],
        "stage": entry["stage"],
        "outcome": entry["outcome"],
        "tasks": _tasks(entry),
        "report": entry["path"],
        "attempt": attempt,
        "since": None,
    }


_AGAINST = (RecordKind.VIOLATION, RecordKind.REFUSED)


def sentence_of(entry: Record) -> str:
    """A record in a short sentence: "4b reported: fail"."""
    saying = _SENTENCES.get(str(entry["kind"]))
    return saying(entry) if saying else f"{entry['kind']} {entry['phase']}".strip()


def _answer_sentence(entry: Record) -> str:
    options = entry["options"] if isinstance(entry["options"], list) else []
    texts = [
        each.get("text", "")
        for each in options
        if isinstance(each, dict) and each.get("id") == entry["option"]
    ]
    said = str(texts[0]).partition(": ")[0] if texts else ""
    return f"Answered {entry['question']}: {entry['option']}" + (f" ({said})" if said else "")


def _start_sentence(entry: Record) -> str:
    if entry["phase"]:
        return f"{entry['phase']} started"
    return f"Started as {entry['workflow'] or 'a run'}"


_SENTENCES: Mapping[str, Callable[[Record], str]] = {
    RecordKind.START: _start_sentence,
    RecordKind.REPORT: lambda e: f"{e['phase']} reported: {e['outcome']}",
    RecordKind.TRANSITION: lambda e: (
        f"{e['phase']} skipped"
        if e["outcome"] == "skipped"
        else f"{e['next'] or e['phase']} is to be done again"
    ),
    RecordKind.QUESTION: lambda e: f"Asked a person: {e['message'] or e['question']}",
    RecordKind.ANSWER: _answer_sentence,
    RecordKind.OVERRIDE: lambda e: f"Moved on to {e['next'] or e['phase']} against what the files said",
    RecordKind.CLAIM: lambda e: f"{e['task']} claimed",
    RecordKind.RELEASE: lambda e: f"{e['task']} given back",
    RecordKind.VIOLATION: lambda e: f"Gate violated in {e['phase']}",
    RecordKind.REFUSED: lambda e: f"{e['phase']} reported {e['outcome']}, refused",
    RecordKind.VERIFIED: lambda e: f"Check {e['check']}: {e['outcome']}",
    RecordKind.RELINK: lambda _: "Journal linked together again",
}


def _tasks(entry: Record) -> list[str]:
    tasks = entry["tasks"]
    named = [str(task) for task in tasks] if isinstance(tasks, list) else []
    return named or ([str(entry["task"])] if entry["task"] else [])


# ---- attempts ---------------------------------------------------------------------------------


_Attempts = Mapping[int, tuple[int, Record | None]]
"""By the id() of each report: the number of the attempt, from 1, and the attempt before it."""


def _attempts_before(records: Sequence[Record], by_task: Collection[str]) -> _Attempts:
    last: dict[tuple[str, ...], tuple[int, Record]] = {}
    attempts: dict[int, tuple[int, Record | None]] = {}
    for entry in (entry for entry in records if entry["kind"] == RecordKind.REPORT):
        place = (str(entry["phase"]), str(entry["stage"]))
        tasks = _tasks(entry) if entry["phase"] in by_task else []
        keys = [(*place, task) for task in tasks] or [place]
        number, before = max((last[key] for key in keys if key in last), key=_number, default=(0, None))
        attempts[id(entry)] = (number + 1, before)
        last |= dict.fromkeys(keys, (number + 1, entry))
    return attempts


def _number(attempt: tuple[int, Record]) -> int:
    return attempt[0]


def _compared_attempts(records: Sequence[Record], before_of: _Attempts) -> list[tuple[Record, Record]]:
    """(attempt before, attempt) of the newest that have a report file of their own."""
    pairs = (
        (before, entry)
        for entry in reversed(records[-MOST_ENTRIES:])
        if (before := before_of.get(id(entry), (0, None))[1]) is not None
        and before["path"]
        and entry["path"]
        and before["path"] != entry["path"]
    )
    return list(islice(pairs, MOST_DIFFERENCES))


def _since(before: Record, after: Record, number: int, texts: Mapping[str, str]) -> dict[str, Any]:
    """The difference that an attempt makes to the one before it, whose number is given."""
    old, new = files_of(before), files_of(after)
    # Only where both records hold digests can they be compared.
    changes = [
        {"path": path, "how": "new" if path not in old else "gone" if path not in new else "changed"}
        for path in sorted(old.keys() | new.keys())
        if old and new and old.get(path) != new.get(path)
    ]
    then, now = texts.get(str(before["path"])), texts.get(str(after["path"]))
    compared = difference(then, now) if then is not None and now is not None else None
    return {
        "attempt": number,
        "outcome": before["outcome"],
        "tasks": _tasks(before),
        "message": before["message"],
        "report": before["path"],
        "changes": changes[:MOST_CHANGES],
        "moreChanges": max(len(changes) - MOST_CHANGES, 0),
        "lines": list(compared.lines) if compared else None,
        "moreLines": compared.more if compared else 0,
        "partial": compared.partial if compared else False,
    }
