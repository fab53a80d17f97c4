"""A root as one editor sees it: what all see of its files on disk, with its own unsaved texts over it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping

from ....orchestration.findings import Finding
from ....orchestration.result.values import Evaluation
from ...live.boards import RootBoard
from ...workspace.roots import UsageError
from .annotations import Annotation, annotations_of
from .shared_root import SharedRoot, by_path_of


class RootView:
    """One root as a connection sees it: the shared one, and what its own unsaved texts make of it.

    `linted` are definitions that are open, checked as the editor holds them; they stand in for what the
    board says of those files. Nothing of `unsaved` and `linted` reaches another connection.
    """

    def __init__(self, shared: SharedRoot) -> None:
        self.root, self.shared = shared.root, shared
        self.unsaved: Mapping[str, Evaluation] = {}
        self.linted: Mapping[str, tuple[Finding, ...]] = {}
        # Of the unsaved evaluations, by run and path.
        self._unsaved_annotations: dict[str, dict[str, list[Annotation]]] = {}

    @property
    def board(self) -> RootBoard:
        """The newest board that the connection was told of."""
        return self.shared.board

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

    def set_unsaved(
        self, unsaved: Mapping[str, Evaluation], linted: Mapping[str, tuple[Finding, ...]]
    ) -> set[str]:
        """Take in what unsaved texts come to now. Returns the paths where other annotations may stand."""
        runs, paths = {*self.unsaved, *unsaved}, {*self.linted, *linted}
        paths.update(*(self._annotations(run) for run in runs))
        self.unsaved, self.linted = unsaved, linted
        self._unsaved_annotations = {run: by_path_of(annotations_of(each)) for run, each in unsaved.items()}
        return paths.union(*(self._annotations(run) for run in runs))

    def _annotations(self, run: str) -> Mapping[str, list[Annotation]]:
        unsaved = self._unsaved_annotations.get(run)
        return self.shared.annotations(run) if unsaved is None else unsaved

    def is_shared(self, path: str) -> bool:
        """True where no unsaved text is a reason for what is said of a file."""
        if path in self.linted:
            return False
        runs = self.shared.runs_at(path) if self.unsaved else ()
        return self.unsaved.keys().isdisjoint(runs) and not any(
            path in by_path for by_path in self._unsaved_annotations.values()
        )

    def at(self, path: str) -> tuple[Annotation, ...]:
        """The annotations of a file: the root's own findings, then those of its runs, each once."""
        unsaved = (run for run, by_path in self._unsaved_annotations.items() if path in by_path)
        runs = sorted(self.shared.runs_at(path).union(unsaved))
        of_runs = [each for run in runs for each in self._annotations(run).get(path, ())]
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
        return self.shared.paths.union(self.linted, *self._unsaved_annotations.values())


async def annotate_all(view: RootView) -> None:
    """Annotate all runs, some at a time: there may be thousands, and other messages wait.

    Connections that open the root at the same time share the work.
    """
    while view.shared.annotate_some():
        await asyncio.sleep(0)
