"""What was recorded of late in all runs of some roots, without reading every journal."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from heapq import heapify, heappop, heappush
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

from ....orchestration.journal.journal import read_journal
from ....orchestration.journal.lines import JOURNAL
from ....orchestration.vfs.files import below
from ...disk.disk_files import DiskFiles
from ...live.boards import RootBoard
from ...workspace import decision_proof as decide
from ...workspace.history import record_json

GRAIN_S = 2.0
"""No file system tells the time of a write more coarsely (FAT: two seconds)."""

_AT = re.compile(r'"at"\s*:\s*"([^"]*)"')

_Record = Mapping[str, Any]


class _Journal(NamedTuple):
    root: Path
    run: str
    path: str


def newest(boards: Sequence[RootBoard], limit: int) -> list[_Record]:
    """The newest `limit` records of all runs, the newest first, as `history` has them, with `root` and `run`.

    Records without a time come last. What does not count, and a journal that cannot be trusted, is left out,
    as in `history`.
    """
    found: list[_Record] = []
    # The journals by the youngest record that each may hold: as far as the file's time says, until a look at
    # its text says more. All of a checkout are files of one moment.
    waiting = [(-_written(journal), False, journal) for journal in _journals(boards)]
    heapify(waiting)
    while waiting:
        bound, looked_at, journal = heappop(waiting)
        if len(found) == limit and -bound < _order(found[-1])[0]:
            break
        if looked_at:
            found = sorted([*found, *_records(journal)], key=_order, reverse=True)[:limit]
        else:
            heappush(waiting, (max(bound, -_youngest(journal)), True, journal))
    return found


def _journals(boards: Sequence[RootBoard]) -> Iterator[_Journal]:
    """The journals that evaluations found."""
    for board in boards:
        for run, evaluation in board.runs.items():
            path = below(run, JOURNAL)
            if evaluation.reads.get(path, "missing") != "missing":
                yield _Journal(board.root, run, path)


def _written(journal: _Journal) -> float:
    """When the file was written at the latest: a record is no younger than the file that it stands in."""
    try:
        return (journal.root / journal.path).stat().st_mtime + GRAIN_S
    except OSError:
        return inf


def _youngest(journal: _Journal) -> float:
    """The latest time that the text names, whether its records count or not."""
    text = _text(journal)
    return max(map(_moment, _AT.findall(text)), default=0.0)


def _text(journal: _Journal) -> str:
    return DiskFiles(journal.root).read(journal.path).text or ""


def _records(journal: _Journal) -> list[_Record]:
    root, run, path = journal
    key = decide.load_key().secret
    read = read_journal(_text(journal), lambda lines: decide.verified_lines(root, path, lines, key))
    named = {"root": str(root), "run": run}
    return [named | record_json(line, entry) for line, entry in zip(read.lines, read.records, strict=True)]


def _order(record: _Record) -> tuple[float, str, str, int]:
    return _moment(str(record.get("at", ""))), record["root"], record["run"], record["line"]


def _moment(at: str) -> float:
    """A time in seconds, 0 for one that cannot be read."""
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        return 0.0
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
