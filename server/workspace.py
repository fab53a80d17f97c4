"""A root and its runs, read from disk: what the command line needs. Every look is a new, frozen view."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from ..orchestration.config import PATH as CONFIG_PATH
from ..orchestration.config import Config, read_config
from ..orchestration.discovery import Found, Match, Passed, discover
from ..orchestration.evaluate import Steps, look
from ..orchestration.evaluation import Evaluation
from ..orchestration.files import join
from ..orchestration.findings import Finding
from ..orchestration.guards import did_you_mean
from ..orchestration.journal import Claim, read_claims
from ..orchestration.snapshot import Snapshot, read_run
from . import decide
from .files import DiskFiles
from .library import Library
from .roots import UsageError, find_root, projects, select

CLAIMS = ".phasekeeper/claims.jsonl"


@dataclass
class Workspace:
    """One root at one moment. Runs are evaluated when they are asked for."""

    root: Path
    overlay: Mapping[str, str] = field(default_factory=dict)
    parsed: dict[tuple[str, str], Any] = field(default_factory=dict)

    @cached_property
    def files(self) -> DiskFiles:
        return DiskFiles(self.root, self.overlay)

    @cached_property
    def library(self) -> Library:
        return Library.of(self.files)

    @cached_property
    def config(self) -> Config:
        file = self.files.read(CONFIG_PATH)
        return read_config(file.text or "")

    @cached_property
    def _found(self) -> Found:
        return discover(list(self.library.definitions()), self.files, self.config, self.parsed)

    @property
    def matches(self) -> list[Match]:
        """The runs of the root that definitions claim which can be used; `broken` has the others."""
        return self._found.matches

    @property
    def broken(self) -> Mapping[str, tuple[Finding, ...]]:
        """What is wrong with definitions that may have runs here and cannot be used, by their names."""
        return self._found.broken

    @property
    def passed(self) -> list[Passed]:
        """Folders that look like runs by their place and are none."""
        return self._found.passed

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is wrong with the root itself: its configuration and its own definitions."""
        broken = (found for findings in self.broken.values() for found in findings)
        return (*self.config.findings, *self.library.shadowing(), *self._assigned_to_none(), *broken)

    def _assigned_to_none(self) -> list[Finding]:
        """Names under `workflows:` of the configuration that no definition has."""
        names = self.library.names
        unknown = [name for name in self.config.workflows.values() if name not in names]
        said = (f"workflows: no workflow is called {name!r}{did_you_mean(name, names)}" for name in unknown)
        return [Finding("parameter-invalid", CONFIG_PATH, message) for message in said]

    def snapshot(self, match: Match) -> Snapshot:
        journal = join(match.run, ".phasekeeper/journal.jsonl") or ""
        return read_run(
            match.workflow,
            self._committed(match.run, journal),
            match.run,
            root=str(self.root),
            config=self.config,
            claims=self._claims(match.run),
            verify=lambda lines: decide.verified_lines(self.root, journal, lines, decide.load_key().secret),
            parsed=self.parsed,
        )

    def _committed(self, run: str, journal: str) -> DiskFiles:
        """The files as the run's journal has them: what a crash kept from its place lies over the disk."""
        if not (self.root / journal).exists():
            return self.files
        from .store import pending

        left = pending(self.root, run).texts
        return DiskFiles(self.root, {**left, **self.overlay}) if left else self.files

    def _claims(self, run: str) -> tuple[Claim, ...]:
        file = self.files.read(join(run, CLAIMS) or CLAIMS)
        return read_claims(file.text, datetime.now(UTC).isoformat()) if file.text else ()

    def look(self, match: Match) -> Steps:
        steps = look(match.workflow, self.snapshot(match))
        return _ambiguous(steps, match) if match.rivals else steps

    def evaluate(self, match: Match) -> Evaluation:
        return self.look(match).evaluation


def _ambiguous(steps: Steps, match: Match) -> Steps:
    """Two definitions claim the run: nothing is guessed."""
    found = match.findings()
    suggestion = replace(
        steps.evaluation.suggestion, kind="none", suggested_next=None, action=None, reason=found[0].message
    )
    evaluation = replace(
        steps.evaluation,
        status="invalid",
        status_reason=found[0].message,
        suggestion=suggestion,
        findings=(*steps.evaluation.findings, *found),
    )
    return steps._replace(evaluation=evaluation)


@dataclass(frozen=True)
class Opened:
    """The workspaces for a path: its root and the projects in it; `run` is the run that the path lies in."""

    workspaces: tuple[Workspace, ...]
    run: str | None
    findings: tuple[Finding, ...] = ()


def open_path(path: Path, root: Path | None = None) -> Opened:
    """The workspace that a path belongs to. Raises UsageError for a path that does not exist."""
    if root is not None and not root.is_dir():
        raise UsageError(f"{root} is no folder")
    found = root.resolve() if root else find_root(path, _has_runs)
    workspace = Workspace(found)
    more = projects(found, workspace.config.projects)
    problems = tuple(Finding(p.code, CONFIG_PATH, p.message, p.span) for p in more.problems)
    workspaces = (workspace, *(Workspace(found / folder) for folder in more.folders))
    return Opened(workspaces, select(found, path.resolve()), problems)


def _has_runs(folder: Path) -> bool:
    """Whether a folder holds runs of any definition: what makes it a root."""
    workspace = Workspace(folder)
    return bool(workspace.matches or workspace.broken)
