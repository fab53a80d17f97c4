"""The runs of a shared board in the order of pages, kept current a row at a time.

Not a value: a board has thousands of rows, of which some change each second, and who follows it wants to know
which runs those touch, and to have the first of them without sorting all anew. It belongs to one thread.

Who follows a board has all of it in memory and looks at little of it. So a row is a tuple of values, most of
which it shares with other rows, and has no key of its own; summaries, lines and sort keys are made when they
are asked for.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Hashable, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

from ..states import RunStatus
from ..vfs.files import natural
from .messages import key_token
from .shared_board import (
    MAX_BOARD_BYTES,
    MAX_ROWS,
    RunSummary,
    SharedBoard,
    SharedRun,
    merge_summaries,
    parse_summary,
)

MOST_RUNS = 500
"""On one page."""
MAX_CLONES = 1000
"""Clones of one run that are read; each change of a run is compared with them."""
_MOST_SHARED = 20_000
_KEPT_FROM = 8
"""The line of a run of so many clones is kept: it takes a look at each of them."""
_OVER = frozenset(status for status in RunStatus if status.is_over)
_REPEATED = ("workflow", "member", "clone", "status", "phase", "next", "commit", "questions")
"""What thousands of rows say with few different values."""
_NEEDED = len(RunSummary._fields) - len(RunSummary._field_defaults)


class SharedRunLine(NamedTuple):
    """What is shown of a run in all clones before one looks into it.

    `machines` and `clones` are counted, `questions` are the different ones, `newest` is the clone that was
    told last, `version` that of the index when the run changed.
    """

    run: str
    title: str
    machines: int
    clones: int
    questions: int
    differs: bool
    is_over: bool
    newest: RunSummary
    version: int

    @property
    def rank(self) -> int:
        """Where a run stands among all: 0 a person is asked, 1 it goes on in a clone, 2 it is over in all."""
        if self.questions:
            return 0
        return 2 if self.is_over else 1


class SharedRunCounts(NamedTuple):
    """How many runs there are, how many are not over in every clone, the questions open in all, and the runs
    of which clones differ."""

    runs: int = 0
    going: int = 0
    questions: int = 0
    differing: int = 0

    def plus(self, line: SharedRunLine, sign: int = 1) -> SharedRunCounts:
        """The counts with a run, or with `sign` -1 without it."""
        of_line = (1, line.rank < 2, line.questions, line.differs)
        return SharedRunCounts(*(one + sign * two for one, two in zip(self, of_line, strict=True)))


_Row = tuple[Any, ...]
"""(`member.clone`, the bytes of the message, then the values of the summary as far as they are not empty)."""
_HEAD = 2
_REVISION = _HEAD + RunSummary._fields.index("revision")


class _Run(NamedTuple):
    """The rows of a run, at least one. `version` is that of the index when one of them changed."""

    run: str
    version: int
    rows: tuple[_Row, ...]


class BoardIndex:
    """A board by key, by run, and in the order of pages. `version` grows with every row that changes."""

    def __init__(self, version: int = 0) -> None:
        self.version = version
        self.counts = SharedRunCounts()
        self._runs: dict[str, _Run] = {}
        """By the token of a run in keys."""
        self._rows, self._size = 0, 0
        self._unread: set[str] = set()
        self._shared: dict[Hashable, Any] = {}
        self._lines: dict[str, SharedRunLine] = {}
        """Those of runs of many clones, by token."""
        self._order: tuple[list[str], list[str], list[str]] = ([], [], [])
        """The runs of each rank."""
        self._is_sorted = False

    @property
    def unread(self) -> int:
        """The rows that are no summary, or more than can be read; of very many such rows at least as many."""
        return len(self._unread)

    def put(self, key: str, raw: bytes) -> str:
        """Take in what stands at a key now, b"" where nothing does; the run that is touched, "" for none."""
        self.version += 1
        self._unread.discard(key)
        where, _, token = key.rpartition(".")
        before = self._runs.get(token)
        line = self._line(token) if self._is_sorted else None
        rows = tuple(row for row in before.rows if row[0] != where) if before else ()
        is_removed = before is not None and len(rows) < len(before.rows)
        if before and is_removed:
            self._rows -= 1
            self._size -= next(row[1] for row in before.rows if row[0] == where)
        summary = self._read(key, raw, len(rows)) if raw else None
        if summary:
            rows = (*rows, self._row(where, len(raw), summary, before))
            self._rows += 1
            self._size += len(raw)
        elif not is_removed:
            return ""
        run = before.run if before else summary.run if summary else ""
        self._lines.pop(token, None)
        if rows:
            self._runs[token] = _Run(run, self.version, rows)
        else:
            del self._runs[token]
        if self._is_sorted:
            self._place(run, line, self._line(token))
        return run

    def _read(self, key: str, raw: bytes, clones: int) -> RunSummary | None:
        """The summary in a value; None where it is none, or has no room: then its key is counted."""
        has_room = self._size + len(raw) <= MAX_BOARD_BYTES and self._rows < MAX_ROWS and clones < MAX_CLONES
        summary = parse_summary(key, raw) if has_room else None
        if summary is None and len(self._unread) < MAX_ROWS:
            self._unread.add(key)
        return summary

    def _row(self, where: str, size: int, summary: RunSummary, of: _Run | None) -> _Row:
        """The row of a summary. `of` is its run as it was before."""
        shared = {name: self._share(getattr(summary, name)) for name in _REPEATED}
        if of:
            # Most clones of a run stand alike.
            first = of.rows[0][_REVISION]
            shared |= {"run": of.run, "revision": first if first == summary.revision else summary.revision}
        values = tuple(summary._replace(**shared))
        while len(values) > _NEEDED and not values[-1]:
            values = values[:-1]
        return (self._share(where), self._share(size), *values)

    def _share(self, value: Hashable) -> Any:
        if len(self._shared) > _MOST_SHARED:
            self._shared.clear()
        return self._shared.setdefault(value, value)

    def sort(self) -> None:
        """Make the order of pages, which every later change keeps."""
        if self._is_sorted:
            return
        self._is_sorted = True
        for line in filter(None, map(self._line, self._runs)):
            self.counts = self.counts.plus(line)
            self._order[line.rank].append(line.run)
        for runs in self._order:
            runs.sort(key=_name_order)

    def _place(self, run: str, before: SharedRunLine | None, after: SharedRunLine | None) -> None:
        """Count a run that has changed anew, and put it in its place."""
        if before:
            self.counts = self.counts.plus(before, -1)
        if after:
            self.counts = self.counts.plus(after)
        old, new = before and before.rank, after and after.rank
        if old != new:
            if old is not None:
                del self._order[old][bisect_left(self._order[old], _name_order(run), key=_name_order)]
            if new is not None:
                insort(self._order[new], run, key=_name_order)

    def _line(self, token: str) -> SharedRunLine | None:
        """The line of a run as it is now; None where no clone has it."""
        line, run = self._lines.get(token), self._runs.get(token)
        if line is None and run is not None:
            line = _line_of(run)
            if len(run.rows) >= _KEPT_FROM:
                self._lines[token] = line
        return line

    def line(self, run: str) -> SharedRunLine | None:
        """The line of a run; None where no clone has it."""
        self.sort()
        return self._line(key_token(run))

    def page(self, limit: int, after: str = "") -> tuple[list[SharedRunLine], str | None]:
        """(the first lines behind a cursor, the cursor behind them, None at the end).

        A cursor is a rank, a space, and the path of a run, which may be gone meanwhile. Raises ValueError for
        what is none.
        """
        self.sort()
        rank, begin = 0, 0
        if after:
            digit, space, last = after.partition(" ")
            if not space or digit not in ("0", "1", "2"):
                raise ValueError(f"{after!r} is no cursor of a page")
            rank = int(digit)
            begin = bisect_right(self._order[rank], _name_order(last), key=_name_order)
        most = max(1, min(limit, MOST_RUNS))
        rest = chain(islice(self._order[rank], begin, begin + most + 1), *self._order[rank + 1 :])
        runs = list(islice(rest, most + 1))
        lines = [line for run in runs[:most] if (line := self.line(run))]
        return lines, f"{lines[-1].rank} {lines[-1].run}" if len(runs) > most else None

    def shared_run(self, run: str) -> SharedRun:
        """A run in all clones that have it, which may be none."""
        there = self._runs.get(key_token(run))
        return merge_summaries(_summaries(there))[0] if there else SharedRun(run, ())

    def board(self) -> SharedBoard:
        """The whole board as a value."""
        rows = (row for run in self._runs.values() for row in _summaries(run))
        return SharedBoard(merge_summaries(rows), self.unread)


def _summaries(run: _Run) -> Sequence[RunSummary]:
    return [RunSummary(*row[_HEAD:]) for row in run.rows]


def _line_of(run: _Run) -> SharedRunLine:
    clones = _summaries(run)
    newest = max(clones, key=lambda clone: (clone.at, clone.member, clone.clone))
    return SharedRunLine(
        run.run,
        newest.title or next((clone.title for clone in clones if clone.title), ""),
        len({clone.member for clone in clones}),
        len(clones),
        len({question for clone in clones for question in clone.questions}),
        SharedRun(run.run, tuple(clones)).differs,
        all(clone.status in _OVER for clone in clones),
        newest,
        run.version,
    )


def _name_order(run: str) -> tuple[tuple[tuple[int, int | str], ...], str]:
    return natural(run), run
