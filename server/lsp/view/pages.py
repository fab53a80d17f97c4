"""The board in pages: what a sidebar shows first (runs that wait for a person, that go on, that are over)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import chain, islice
from typing import NamedTuple

from ....orchestration.result.values import Evaluation
from ....orchestration.vfs.files import natural, parent
from ...live.boards import RootBoard

MOST_RUNS = 500
"""On one page, and in one `phasekeeper/changed` to a client that reads pages."""


class Page(NamedTuple):
    """Some runs of a root in the order of pages; `next` is the cursor behind them, None at the end."""

    runs: list[Evaluation]
    next: str | None


def rank(evaluation: Evaluation) -> int:
    """Where a run stands among all: 0 it waits for a person, 1 it goes on, 2 it is over."""
    if evaluation.status.is_over:
        return 2
    return 0 if evaluation.questions else 1


def page_of(board: RootBoard, limit: int, after: str = "") -> Page:
    """The first `limit` runs behind a cursor: a rank and the path of a run, which may be gone meanwhile.

    Raises ValueError for what is no cursor. Cost: linear in the runs of the board, to part them by rank.
    """
    by_rank: tuple[list[str], ...] = ([], [], [])
    for run, evaluation in board.runs.items():
        by_rank[rank(evaluation)].append(run)
    if after:
        number, space, last = after.partition(" ")
        if not space or number not in ("0", "1", "2"):
            raise ValueError(f"{after!r} is no cursor of a page")
        seen = by_rank[int(number)]
        behind = bisect_right(seen, natural(last), key=natural)
        by_rank = (seen[behind:], *by_rank[int(number) + 1 :])
    rest = chain(*by_rank)
    runs = [board.runs[run] for run in islice(rest, max(1, min(limit, MOST_RUNS)))]
    has_more = next(rest, None) is not None
    return Page(runs, f"{rank(runs[-1])} {runs[-1].run}" if has_more else None)


def run_around(board: RootBoard, path: str) -> Evaluation | None:
    """The innermost run that a path of the root is, or lies in."""
    while path not in board.runs and path:
        path = parent(path)
    return board.runs.get(path)


class RunCounts(NamedTuple):
    """How many runs there are, how many of them are not over, and the questions open in all."""

    runs: int = 0
    going: int = 0
    questions: int = 0

    def plus(self, other: RunCounts, sign: int = 1) -> RunCounts:
        """The counts with those of other runs, or with `sign` -1 without them."""
        return RunCounts(*(one + sign * two for one, two in zip(self, other, strict=True)))


def counts_of(evaluations: Iterable[Evaluation]) -> RunCounts:
    """The counts of all these runs."""
    runs = going = questions = 0
    for each in evaluations:
        runs, going, questions = runs + 1, going + (rank(each) < 2), questions + len(each.questions)
    return RunCounts(runs, going, questions)
