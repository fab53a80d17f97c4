"""What one connection sees of a root: the engine's board, and its own unsaved texts laid over it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ....orchestration.findings import Finding, Span
from ....orchestration.result.values import Evaluation
from ...live.boards import Board
from .annotations import Mark, main_file, marks_of

Findings = Mapping[str, tuple[Finding, ...]]
AT_ONCE = 200
"""So many runs are marked before other messages get their turn."""
_TOP = Span(0, 0, 0, 1)


@dataclass
class View:
    """One root as a connection sees it. `board` and `unsaved` are replaced as a whole.

    `linted` are definitions that are open, judged as the editor holds them; they stand in for what the
    board says of those files. Nothing here reaches another connection.
    """

    root: Path
    board: Board
    unsaved: Mapping[str, Evaluation] = field(default_factory=dict)
    linted: Findings = field(default_factory=dict)
    _marks: dict[str, tuple[Mark, ...]] = field(default_factory=dict)
    _placed: dict[str, dict[str, tuple[Mark, ...]]] = field(default_factory=dict)
    # Which runs on disk say something of a path: what is left of a path's findings is the root's own.
    _said: dict[str, frozenset[str]] = field(default_factory=dict)
    _sayers: dict[str, set[str]] = field(default_factory=dict)

    def run(self, run: str) -> Evaluation | None:
        """A run as this editor's texts have it."""
        return self.unsaved.get(run) or self.board.runs.get(run)

    def run_at(self, path: str) -> Evaluation | None:
        """The run that a file belongs to: the innermost folder that is one, else one that reads the file."""
        folder = path
        while folder:
            folder = folder.rpartition("/")[0]
            found = self.run(folder)
            if found is not None:
                return found
        return next((self.run(run) for run in self.reading(path)), None)

    def reading(self, path: str) -> Iterable[str]:
        """The runs that looked at a path."""
        return (run for run, evaluation in self.board.runs.items() if path in evaluation.reads)

    def refresh(self, runs: Iterable[str]) -> set[str]:
        """Make the marks of some runs again; the paths where they were or are."""
        touched: set[str] = set()
        for run in runs:
            self._note_sayer(run)
            evaluation = self.run(run)
            old = self._marks.pop(run, ())
            new = _all_marks(evaluation) if evaluation else ()
            for mark in old:
                self._placed.get(mark.finding.path, {}).pop(run, None)
            for mark in new:
                here = self._placed.setdefault(mark.finding.path, {})
                here[run] = (*here.get(run, ()), mark)
            if new:
                self._marks[run] = new
            touched.update(mark.finding.path for mark in (*old, *new))
        return touched

    def _note_sayer(self, run: str) -> None:
        """Note which paths a run, as it is on disk, says something of."""
        on_disk = self.board.runs.get(run)
        for path in self._said.pop(run, ()):
            self._sayers[path].discard(run)
        if on_disk is not None and on_disk.findings:
            self._said[run] = frozenset(found.path for found in on_disk.findings)
            for path in self._said[run]:
                self._sayers.setdefault(path, set()).add(run)

    def at(self, path: str) -> tuple[Mark, ...]:
        """What is said of a file: the root's own findings, then those of its runs, each once."""
        of_runs = [mark for marks in self._placed.get(path, {}).values() for mark in marks]
        own = self.linted.get(path)
        if own is None:
            own = self._own(path)
        seen = {(m.finding.code, m.finding.span, m.finding.message) for m in of_runs}
        return (*(Mark(f) for f in own if (f.code, f.span, f.message) not in seen), *of_runs)

    def _own(self, path: str) -> tuple[Finding, ...]:
        """What the board says of a path that is no finding of a run as it is on disk."""
        found = self.board.findings.get(path, ())
        if not found:
            return ()
        sayers = (self.board.runs.get(run) for run in self._sayers.get(path, ()))
        of_runs = {each for run in sayers if run for each in run.findings if each.path == path}
        return tuple(each for each in found if each not in of_runs)

    @property
    def paths(self) -> set[str]:
        """Every path that something is said of."""
        return {*self.board.findings, *self.linted, *(path for path, marks in self._placed.items() if marks)}


async def mark_all(view: View) -> None:
    """Make the marks of all runs, some at a time: there may be thousands, and others wait."""
    runs = list(view.board.runs)
    for start in range(0, len(runs), AT_ONCE):
        view.refresh(runs[start : start + AT_ONCE])
        await asyncio.sleep(0)


def _all_marks(evaluation: Evaluation) -> tuple[Mark, ...]:
    """A run's findings where an editor can show them, its shut gates and its questions."""
    found = (_settled(found, evaluation) for found in evaluation.findings)
    return (*(Mark(finding, evaluation.run) for finding in found), *marks_of(evaluation))


def _settled(finding: Finding, evaluation: Evaluation) -> Finding:
    """A finding where an editor can show it: one of a folder, or of a file that is not there, moves to the
    file that stands for the run."""
    missing = evaluation.reads.get(finding.path) == "missing"
    if finding.path != evaluation.run and not missing:
        return finding
    said = f"{finding.path}: {finding.message}" if missing else finding.message
    return replace(finding, path=main_file(evaluation), span=_TOP, message=said)
