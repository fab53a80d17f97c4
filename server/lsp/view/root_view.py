"""A root as one editor sees it: the engine's board, with evaluations of its own unsaved texts over it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ....orchestration.findings import Finding
from ....orchestration.result.values import Evaluation
from ...live.boards import RootBoard
from ...live.dependencies import DependencyIndex
from ...workspace.roots import UsageError
from .annotations import Annotation, annotations_of

BATCH = 200
"""So many runs are annotated before other messages get their turn."""


@dataclass
class RootView:
    """One root as a connection sees it. `board` and `unsaved` are replaced as a whole.

    `linted` are definitions that are open, checked as the editor holds them; they stand in for what the
    board says of those files. Nothing here reaches another connection.
    """

    root: Path
    board: RootBoard
    unsaved: Mapping[str, Evaluation] = field(default_factory=dict)
    linted: Mapping[str, tuple[Finding, ...]] = field(default_factory=dict)
    # By run and path.
    _annotations: dict[str, dict[str, list[Annotation]]] = field(default_factory=dict)
    # Which runs have annotations, or as they are on disk findings, at which paths.
    _runs_at: DependencyIndex = field(default_factory=DependencyIndex)

    def run(self, run: str) -> Evaluation | None:
        """A run as this editor's texts have it."""
        return self.unsaved.get(run) or self.board.runs.get(run)

    def run_on_disk(self, run: str) -> Evaluation:
        """A run as its files on disk have it. Raises UsageError when there is none."""
        if run not in self.board.runs:
            raise UsageError(f"{run} is no run of {self.root}")
        return self.board.runs[run]

    def run_at(self, path: str) -> Evaluation | None:
        """The run that a file belongs to: the innermost folder that is one, else one that reads the file."""
        folder = path
        while folder:
            folder = folder.rpartition("/")[0]
            evaluation = self.run(folder)
            if evaluation is not None:
                return evaluation
        return next((self.run(run) for run in self.runs_reading(path)), None)

    def runs_reading(self, path: str) -> Iterator[str]:
        """The runs whose evaluation read a path."""
        return (run for run, evaluation in self.board.runs.items() if path in evaluation.reads)

    def refresh(self, runs: Iterable[str]) -> set[str]:
        """Annotate some runs again. Returns the paths where annotations were or are."""
        touched: set[str] = set()
        for run in runs:
            on_disk, evaluation = self.board.runs.get(run), self.run(run)
            by_path: dict[str, list[Annotation]] = {}
            for annotation in annotations_of(evaluation) if evaluation else ():
                by_path.setdefault(annotation.finding.path, []).append(annotation)
            touched.update(self._annotations.pop(run, ()), by_path)
            if by_path:
                self._annotations[run] = by_path
            findings = on_disk.findings if on_disk else ()
            self._runs_at.replace(run, {*by_path, *(each.path for each in findings)})
        return touched

    def at(self, path: str) -> tuple[Annotation, ...]:
        """The annotations of a file: the root's own findings, then those of its runs, each once."""
        runs = sorted(self._runs_at.dependants([path]))
        of_runs = [each for run in runs for each in self._annotations.get(run, {}).get(path, ())]
        own = self.linted.get(path)
        if own is None:
            # What the board says of the path that is no finding of a run as it is on disk.
            boards = (self.board.runs[run] for run in runs if run in self.board.runs)
            on_disk = {each for run in boards for each in run.findings if each.path == path}
            own = [each for each in self.board.findings.get(path, ()) if each not in on_disk]
        known = {(each.finding.code, each.finding.span, each.finding.message) for each in of_runs}
        return (*(Annotation(f) for f in own if (f.code, f.span, f.message) not in known), *of_runs)

    @property
    def paths(self) -> set[str]:
        """Every path that has annotations."""
        return {*self.board.findings, *self.linted, *self._runs_at.keys()}


async def annotate_all(view: RootView) -> None:
    """Annotate all runs, some at a time: there may be thousands, and other messages wait."""
    runs = list(view.board.runs)
    for start in range(0, len(runs), BATCH):
        view.refresh(runs[start : start + BATCH])
        await asyncio.sleep(0)
