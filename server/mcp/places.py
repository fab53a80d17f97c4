"""A root with its projects as assistants see it, put together anew only where a board differs."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from ...orchestration.result.values import Evaluation
from ...orchestration.sanitize import plain
from ...orchestration.vfs.files import parent
from ...tools.assistant.access import RootRuns
from ...tools.assistant.totals import RunningTotals
from ...tools.project_paths import rebase_path
from ..live.boards import RootBoard

_WHY_RUNS_ARE_MISSING = {
    "workflow-invalid": "a definition cannot be used",
    "artifact-unreadable": "runs may be missing",
}
"""Findings outside of runs, by their codes."""


class KeptPlace:
    """The place that some boards come to, and the boards that it was made of."""

    def __init__(self) -> None:
        self._boards: tuple[RootBoard, ...] = ()
        self._totals = RunningTotals()
        self._place: RootRuns | None = None

    def current(self, boards: Sequence[RootBoard]) -> RootRuns:
        """The boards as one place; the paths of runs begin at the first. The same while none differs."""
        is_same = len(boards) == len(self._boards) and all(
            one.runs is other.runs and one.findings is other.findings
            for one, other in zip(boards, self._boards, strict=True)
        )
        if self._place is None or not is_same:
            self._boards = tuple(boards)
            runs = _runs_of(boards)
            self._place = RootRuns(str(boards[0].root), runs, self._totals.of(runs), _note_of(boards))
        return self._place


def _runs_of(boards: Sequence[RootBoard]) -> Mapping[str, Evaluation]:
    main = boards[0].root
    if len(boards) == 1:
        return boards[0].runs
    runs: dict[str, Evaluation] = {}
    for board in boards:
        folder = board.root.relative_to(main).as_posix() if board.root != main else ""
        runs |= {rebase_path(name, folder): e for name, e in board.runs.items()}
    return dict(sorted(runs.items()))


def _note_of(boards: Sequence[RootBoard]) -> str:
    """Why runs may be missing, "" mostly."""
    notes = (
        f"{said}, {plain(path or '.', 160)}: {plain(finding.message, 200)}"
        for board in boards
        for path, findings in board.findings.items()
        for finding in findings
        if (said := _WHY_RUNS_ARE_MISSING.get(finding.code)) and not _is_in_run(path, board.runs)
    )
    return next(notes, "")


def _is_in_run(path: str, runs: Container[str]) -> bool:
    while path and path not in runs:
        path = parent(path)
    return path in runs
