"""What all editors of a root are told alike, made once: annotations by run, and encoded diagnostics by file.

A save costs the same whatever number of editors shows the root; each of them only sends the bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from pathlib import Path
from typing import Any, NamedTuple

from ....orchestration.result.values import Evaluation
from ...live.boards import RootBoard, RootChange
from ...live.dependencies import DependencyIndex
from .annotations import Annotation, annotations_of
from .pages import RunCounts, counts_of

BATCH = 200
"""So many runs are annotated before other messages get their turn."""
_COUNTS: dict[RunCounts, RunCounts] = {}
NOTHING: Mapping[str, list[Annotation]] = {}


class Spelling(NamedTuple):
    """In what an editor's messages about a root differ: what columns count, and folders by their URIs."""

    encoding: str
    folders: tuple[tuple[str, Path], ...]


class EncodedDiagnostics(NamedTuple):
    """A file's diagnostics as a JSON array; `paths` are those whose texts it has places of."""

    uri: str
    array: bytes
    paths: frozenset[str]


class SharedRoot:
    """One root as its files on disk have it, for all connections of a process. All of it belongs to the loop.

    `board` is replaced with every change. `generation` counts changes: what was made in an earlier one is not
    kept for others.
    """

    def __init__(self, root: Path, board: RootBoard) -> None:
        self.root, self.board, self.generation = root, board, 0
        self._last: tuple[RootChange | None, Set[str]] = (None, frozenset())
        self._encoded_change: tuple[RootChange | None, Any] = (None, None)
        self._unannotated: dict[str, None] = dict.fromkeys(board.runs)
        # By run and path.
        self._annotations: dict[str, dict[str, list[Annotation]]] = {}
        # Which runs have annotations or findings at which paths.
        self._runs_at = DependencyIndex()
        self._diagnostics: dict[str, dict[Spelling, EncodedDiagnostics]] = {}
        # Of the runs that are annotated: each, and in all.
        self._counts: dict[str, RunCounts] = {}
        self._all_counts = RunCounts()

    def apply(self, change: RootChange, board: RootBoard) -> Set[str]:
        """Take in a change, the first time that a connection hears of it. Returns the paths it concerns."""
        if self._last[0] is not change:
            self.board = board
            paths = self._annotate((*change.changed, *change.removed)) | change.findings.keys()
            self.generation += 1
            for path in (*paths, *change.texts):
                self._diagnostics.pop(path, None)
            self._last = change, paths
        return self._last[1]

    def annotate_some(self) -> bool:
        """Annotate some of the runs that nobody has annotated yet; False once none is left."""
        self._annotate(list(self._unannotated)[:BATCH])
        return bool(self._unannotated)

    def _annotate(self, runs: Iterable[str]) -> set[str]:
        """Annotate some runs again. Returns the paths where annotations were or are."""
        touched: set[str] = set()
        for run in runs:
            evaluation = self.board.runs.get(run)
            by_path = by_path_of(annotations_of(evaluation) if evaluation else ())
            touched.update(self._annotations.pop(run, ()), by_path)
            if by_path:
                self._annotations[run] = by_path
            if evaluation:
                # Of a packed run this was all that is shown unless somebody asks for it.
                evaluation.let_go()
            self._count(run, evaluation)
            findings = evaluation.findings if evaluation else ()
            self._runs_at.replace(run, {*by_path, *(each.path for each in findings)})
            self._unannotated.pop(run, None)
        return touched

    def _count(self, run: str, evaluation: Evaluation | None) -> None:
        before, after = self._counts.pop(run, RunCounts()), counts_of((evaluation,) if evaluation else ())
        if evaluation:
            # Nearly all runs have the same ones.
            self._counts[run] = before if before == after else _COUNTS.setdefault(after, after)
        self._all_counts = self._all_counts.plus(before, -1).plus(after)

    @property
    def counts(self) -> RunCounts:
        """The counts of all runs."""
        return counts_of(self.board.runs.values()) if self._unannotated else self._all_counts

    def annotations(self, run: str) -> Mapping[str, list[Annotation]]:
        """The annotations of a run by path."""
        return self._annotations.get(run, NOTHING)

    def runs_at(self, path: str) -> set[str]:
        """The runs that have annotations or findings at a path."""
        return self._runs_at.dependants([path])

    @property
    def paths(self) -> set[str]:
        """Every path that has annotations."""
        return {*self.board.findings, *self._runs_at.keys()}

    # ---- bytes

    def diagnostics(self, path: str, spelling: Spelling) -> EncodedDiagnostics | None:
        """What some connection has encoded of a file that has not changed since; None where none has."""
        return self._diagnostics.get(path, {}).get(spelling)

    def keep_diagnostics(self, path: str, spelling: Spelling, made: EncodedDiagnostics) -> None:
        """Have the other connections send this too."""
        self._diagnostics.setdefault(path, {})[spelling] = made

    def encoded_change(self, change: RootChange, encode: Callable[[RootChange], Any]) -> Any:
        """`encode(change)`, which may be a future, made once for those who are told of the same change."""
        if self._encoded_change[0] is not change:
            self._encoded_change = change, encode(change)
        return self._encoded_change[1]


def by_path_of(annotations: Iterable[Annotation]) -> dict[str, list[Annotation]]:
    """Annotations by the path that they are about."""
    by_path: dict[str, list[Annotation]] = {}
    for annotation in annotations:
        by_path.setdefault(annotation.finding.path, []).append(annotation)
    return by_path
