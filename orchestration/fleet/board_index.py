"""The runs of a shared board in the order of pages, kept current a row at a time.

Not a value: a board has thousands of rows, of which some change each second, and who follows it wants to know
which runs those touch, and to have the first of them without sorting all anew. It belongs to one thread.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Collection
from typing import NamedTuple

from ..states import RunStatus
from ..vfs.files import natural
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
_MOST_TEXTS = 20_000
_OVER = frozenset(status for status in RunStatus if status.is_over)
_REPEATED = ("run", "workflow", "member", "clone", "status", "phase", "next", "revision", "commit", "at")


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


_Place = tuple[int, tuple[tuple[int, int | str], ...], str]


class BoardIndex:
    """A board by key, by run, and in the order of pages. `version` grows with every row that changes."""

    def __init__(self, version: int = 0) -> None:
        self.version = version
        self.counts = SharedRunCounts()
        self._clones: dict[str, dict[str, RunSummary]] = {}
        """The summaries of each run, by key."""
        self._runs: dict[str, str] = {}
        self._sizes: dict[str, int] = {}
        self._size = 0
        self._unread: set[str] = set()
        self._texts: dict[str, str] = {}
        self._lines: dict[str, SharedRunLine] = {}
        self._order: list[_Place] = []
        self._is_sorted = False

    @property
    def unread(self) -> int:
        """The rows that are no summary, or more than can be read; of very many such rows at least as many."""
        return len(self._unread)

    def put(self, key: str, raw: bytes) -> str:
        """Take in what stands at a key now, b"" where nothing does; the run that is touched, "" for none."""
        self.version += 1
        before = self._remove(key)
        run = self._add(key, raw) if raw else ""
        touched = run or before
        if touched and self._is_sorted:
            self._place(touched)
        return touched

    def _remove(self, key: str) -> str:
        self._unread.discard(key)
        self._size -= self._sizes.pop(key, 0)
        run = self._runs.pop(key, "")
        if run:
            del self._clones[run][key]
        return run

    def _add(self, key: str, raw: bytes) -> str:
        has_room = self._size + len(raw) <= MAX_BOARD_BYTES and len(self._runs) < MAX_ROWS
        summary = parse_summary(key, raw) if has_room else None
        if summary is None or len(self._clones.get(summary.run, ())) >= MAX_CLONES:
            if len(self._unread) < MAX_ROWS:
                self._unread.add(key)
            return ""
        summary = self._with_shared_texts(summary)
        self._clones.setdefault(summary.run, {})[key] = summary
        self._runs[key], self._sizes[key] = summary.run, len(raw)
        self._size += len(raw)
        return summary.run

    def _with_shared_texts(self, summary: RunSummary) -> RunSummary:
        """The same, its texts those that stand in other rows: thousands name the same few machines."""
        if len(self._texts) > _MOST_TEXTS:
            self._texts.clear()
        texts = ((name, getattr(summary, name)) for name in _REPEATED)
        return summary._replace(**{name: self._texts.setdefault(text, text) for name, text in texts})

    def sort(self) -> None:
        """Make the order of pages, which every later change keeps."""
        if not self._is_sorted:
            self._is_sorted = True
            for run in tuple(self._clones):
                self._count(run)
            self._order = sorted(map(_place_of, self._lines.values()))

    def _place(self, run: str) -> None:
        """Put a run that has changed in its place."""
        before = self._lines.get(run)
        after = self._count(run)
        old, new = before and _place_of(before), after and _place_of(after)
        if old != new:
            if old:
                del self._order[bisect_left(self._order, old)]
            if new:
                insort(self._order, new)

    def _count(self, run: str) -> SharedRunLine | None:
        """The line of a run as it is now, counted in place of the one before; None where no clone has it."""
        before = self._lines.pop(run, None)
        if before:
            self.counts = self.counts.plus(before, -1)
        clones = self._clones[run].values()
        if not clones:
            del self._clones[run]
            return None
        line = self._lines[run] = _line_of(run, clones, self.version)
        self.counts = self.counts.plus(line)
        return line

    def line(self, run: str) -> SharedRunLine | None:
        """The line of a run; None where no clone has it."""
        self.sort()
        return self._lines.get(run)

    def page(self, limit: int, after: str = "") -> tuple[list[SharedRunLine], str | None]:
        """(the first lines behind a cursor, the cursor behind them, None at the end).

        A cursor is a rank, a space, and the path of a run, which may be gone meanwhile. Raises ValueError for
        what is none.
        """
        self.sort()
        begin = 0
        if after:
            rank, space, last = after.partition(" ")
            if not space or rank not in ("0", "1", "2"):
                raise ValueError(f"{after!r} is no cursor of a page")
            begin = bisect_right(self._order, (int(rank), natural(last), last))
        end = begin + max(1, min(limit, MOST_RUNS))
        lines = [self._lines[run] for *_, run in self._order[begin:end]]
        return lines, f"{lines[-1].rank} {lines[-1].run}" if end < len(self._order) else None

    def shared_run(self, run: str) -> SharedRun:
        """A run in all clones that have it, which may be none."""
        runs = merge_summaries(self._clones.get(run, {}).values())
        return runs[0] if runs else SharedRun(run, ())

    def board(self) -> SharedBoard:
        """The whole board as a value."""
        rows = (row for clones in self._clones.values() for row in clones.values())
        return SharedBoard(merge_summaries(rows), self.unread)


def _line_of(run: str, clones: Collection[RunSummary], version: int) -> SharedRunLine:
    newest = max(clones, key=lambda clone: (clone.at, clone.member, clone.clone))
    return SharedRunLine(
        run,
        newest.title or next((clone.title for clone in clones if clone.title), ""),
        len({clone.member for clone in clones}),
        len(clones),
        len({question for clone in clones for question in clone.questions}),
        SharedRun(run, tuple(clones)).differs,
        all(clone.status in _OVER for clone in clones),
        newest,
        version,
    )


def _place_of(line: SharedRunLine) -> _Place:
    return line.rank, natural(line.run), line.run
