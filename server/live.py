"""One root kept current: its runs and findings as its files show them, looked at again where they changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ..orchestration.definition import InvalidWorkflow
from ..orchestration.evaluate import Steps
from ..orchestration.evaluation import Evaluation
from ..orchestration.findings import Finding
from .roots import UsageError
from .workspace import Workspace

Progress = Callable[[int, int], None]


class Change(NamedTuple):
    """What is different at one version of a root.

    `version` counts the changes of the root up by one. `changed` has runs that are new or stand otherwise
    now, `removed` those that are gone; `findings` the paths whose list differs now, () where none is left.
    """

    root: Path
    version: int
    changed: Mapping[str, Evaluation]
    removed: tuple[str, ...]
    findings: Mapping[str, tuple[Finding, ...]]


class Live:
    """One root. Used from one thread only; `runs` and `findings` are replaced, never changed."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.version = 0
        self.runs: Mapping[str, Evaluation] = {}
        self.findings: Mapping[str, tuple[Finding, ...]] = {}
        self._parsed: dict[tuple[str, str], Any] = {}

    def scan(self, progress: Progress | None = None) -> Change:
        """The first look at everything; `progress` hears of (runs judged, runs in all)."""
        return self._became(*self._look(progress)) or Change(self.root, self.version, {}, (), {})

    def touch(self, paths: Iterable[Path]) -> Change | None:
        """Look again where `paths` (absolute) may have changed. None when nothing differs."""
        return self.rescan() if list(paths) else None

    def rescan(self) -> Change | None:
        """Look again without knowing what changed. None when nothing differs."""
        return self._became(*self._look(None))

    def steps(self, run: str) -> Steps:
        """How a run's evaluation comes about. Raises UsageError when it is no run."""
        workspace = Workspace(self.root, parsed=self._parsed)
        for match in workspace.matches:
            if match.run == run:
                return workspace.look(match)
        raise UsageError(f"{run} is no run any more")

    def unsaved(self, overlay: Mapping[str, str]) -> Mapping[str, Evaluation]:
        """The runs that unsaved texts (root-relative path to text) have a part in, judged on them."""
        workspace = Workspace(self.root, overlay, self._parsed)
        found = {match.run: workspace.evaluate(match) for match in workspace.matches}
        return {run: _unsaved(e) for run, e in found.items() if any(path in e.reads for path in overlay)}

    def watched(self) -> frozenset[Path]:
        """The folders whose changes can matter."""
        return frozenset({self.root})

    def _look(self, progress: Progress | None) -> tuple[dict[str, Evaluation], list[Finding]]:
        workspace = Workspace(self.root, parsed=self._parsed)
        try:
            matches = workspace.matches
        except InvalidWorkflow as error:
            return {}, list(error.findings)
        runs = {}
        for number, match in enumerate(matches, 1):
            runs[match.run] = workspace.evaluate(match)
            if progress:
                progress(number, len(matches))
        return runs, list(workspace.findings)

    def _became(self, runs: dict[str, Evaluation], own: Iterable[Finding]) -> Change | None:
        found: dict[str, dict[Finding, None]] = {}
        for each in (*own, *(each for e in runs.values() for each in e.findings)):
            found.setdefault(each.path, {})[each] = None
        findings = {path: tuple(each) for path, each in sorted(found.items())}
        before, told = self.runs, self.findings
        changed = {run: e for run, e in runs.items() if before.get(run) != e}
        removed = tuple(run for run in before if run not in runs)
        differing = {
            path: findings.get(path, ())
            for path in (*findings, *(path for path in told if path not in findings))
            if findings.get(path) != told.get(path)
        }
        if not (changed or removed or differing):
            return None
        self.version += 1
        self.runs, self.findings = runs, findings
        return Change(self.root, self.version, changed, removed, differing)


def _unsaved(evaluation: Evaluation) -> Evaluation:
    return replace(evaluation, revision=f"{evaluation.revision}+unsaved")
