"""A root and its runs, read from disk: what the command line needs. Every look is a new, frozen view."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...orchestration.definition.root_config import PATH as CONFIG_PATH
from ...orchestration.definition.root_config import Config, Guard, config_in, read_config
from ...orchestration.evaluation.trace import EvaluationTrace
from ...orchestration.evidence.check_state import CheckState, check_findings
from ...orchestration.findings import Finding
from ...orchestration.result.values import Evaluation
from ...orchestration.snapshot.discovery import (
    DefinitionSet,
    Discovery,
    Match,
    PassedFolder,
    candidates,
    discover,
    fallback_candidates,
    finished_work,
    has_runs,
    judge,
)
from ...orchestration.snapshot.read_log import ParseResults, RunReader
from ...orchestration.snapshot.snapshot import Snapshot
from ...orchestration.vfs.files import Files, RecordingFiles, name_in, parent
from ...orchestration.vfs.overlay import OverlayFiles
from ..disk.decision_keys import load_repository_key
from ..disk.disk_files import DiskFiles
from .definitions import DefinitionLibrary, root_findings
from .head_files import HeadFiles
from .roots import (
    BareFolder,
    UsageError,
    bare_folders,
    find_root,
    folders_above,
    path_in_root,
    project_folders,
    real_path,
)
from .run_reader import RunEnvironment, evaluate_match, read_match

if TYPE_CHECKING:
    from ..checks.present import PresentChecks


@dataclass
class Workspace:
    """One root at one moment. Runs are evaluated when they are asked for."""

    root: Path
    overlay: Mapping[str, str] = field(default_factory=dict)
    parsed: dict[tuple[str, str], Any] = field(default_factory=ParseResults)
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)

    @cached_property
    def files(self) -> Files:
        disk = DiskFiles(self.root, grace=True)
        return OverlayFiles(disk, self.overlay) if self.overlay else disk

    @cached_property
    def library(self) -> DefinitionLibrary:
        return DefinitionLibrary.of(self.files)

    @cached_property
    def config(self) -> Config:
        return config_in(self.files.read(CONFIG_PATH))

    @cached_property
    def guard(self) -> Guard:
        """The runs that are guarded, by the configuration as it is and as the commit HEAD has it: taking a
        guard away counts once it is committed."""
        committed = self._head_files.read(CONFIG_PATH)
        before = read_config(committed.decode("utf-8", "replace")).guard if committed else Guard()
        return self.config.guard.with_other(before)

    @cached_property
    def _head_files(self) -> HeadFiles:
        return HeadFiles(self.root)

    def head_file(self, path: str) -> bytes | None:
        """The bytes of a file in the commit HEAD; None where it is not there."""
        return self._head_files.read(path)

    @cached_property
    def _definitions(self) -> DefinitionSet:
        return DefinitionSet(self.library.definitions())

    @cached_property
    def discovery(self) -> Discovery:
        """All runs of the root, and what else was seen on the look for them."""
        return discover(self._definitions, self.files, self.config, self.parsed)

    def match(self, run: str) -> Match | None:
        """The run in that folder, found without a look at any other; None when it is none."""
        claims = candidates(self._definitions, self.files, run).get(run)
        looked = RunReader(self.files, self.parsed)
        return judge(run, claims, self._definitions, looked, self.config).match if claims else None

    def home(self, run: str) -> str:
        """The folder whose `.phasekeeper/` holds the records of a run; its own of what is none any more."""
        match = self.match(run)
        return match.home if match else run

    def home_of(self, folder: str) -> str | None:
        """The home of the run in a folder; None where there is no run."""
        match = self.match(folder)
        return match.home if match else None

    @cached_property
    def has_runs(self) -> bool:
        """True when there is a run here, or a definition that is broken and may have some."""
        return has_runs(self._definitions, self.files, self.config, self.parsed)

    @cached_property
    def has_only_fallbacks(self) -> bool:
        """True if all that may be a run here is one because no other definition may have any."""
        return bool(fallback_candidates(self._definitions, self.files))

    def discover_named(self, name: str) -> Discovery:
        """The runs whose folders have that name, found without a look at any other."""
        return self._discover(candidates(self._definitions, self.files, name=name))

    def discover_around(self, path: str) -> Discovery:
        """The runs that a path of the root lies in, outermost first, found without a look at any other."""
        claims: dict[str, list[str]] = {}
        while path:
            inside = candidates(self._definitions, self.files, path, name_in(path))
            claims |= {run: names for run, names in inside.items() if run == path}
            path = parent(path)
        return self._discover(claims)

    def _discover(self, claims: Mapping[str, list[str]]) -> Discovery:
        return discover(self._definitions, self.files, self.config, self.parsed, claims)

    @property
    def matches(self) -> list[Match]:
        """The runs of the root that definitions claim which can be used; `broken` has the others."""
        return self.discovery.matches

    @property
    def broken(self) -> Mapping[str, tuple[Finding, ...]]:
        """The errors of definitions that may have runs here and cannot be used, by their names."""
        return self.discovery.broken

    @property
    def finished_work(self) -> Mapping[str, int]:
        """The number of folders of finished work, by workflow."""
        return finished_work(self._definitions, self.files)

    @property
    def bare_folders(self) -> list[BareFolder]:
        """Folders of workflows that are there, whether there is a run in them or not."""
        return bare_folders(self._definitions, self.files)

    @property
    def passed_folders(self) -> list[PassedFolder]:
        """Folders that look like runs by their place and are none."""
        return self.discovery.passed

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings about the root itself: its configuration and its own definitions."""
        return self.findings_with(self.discovery)

    def findings_with(self, discovery: Discovery) -> tuple[Finding, ...]:
        """The findings about the root itself, as far as the look for some of its runs shows them."""
        broken = (found for findings in discovery.broken.values() for found in findings)
        return (*root_findings(self.config, self.library), *broken, *discovery.findings)

    def snapshot(self, match: Match) -> Snapshot:
        now = self.clock().isoformat()
        around = RunEnvironment(
            self.root,
            self.config,
            now,
            lambda: load_repository_key(self.root).secret,
            self._head_files.read,
            measured=self.check_state,
        )
        return read_match(match, RecordingFiles(self.files), around, self.parsed)

    @property
    def run_places(self) -> tuple[str, ...]:
        """The patterns of the folders in which the root's workflows have their runs."""
        return tuple(place for each in self.library.definitions() for place in each.at)

    @cached_property
    def _present_checks(self) -> PresentChecks:
        from ..checks.present import PresentChecks  # late: most roots declare none

        return PresentChecks(self.root)

    @cached_property
    def _check_states(self) -> dict[str, CheckState]:
        return {}

    def check_state(self, name: str) -> CheckState | None:
        """What a check says; None for one that is not declared."""
        known, checks = self._check_states, self.config.checks
        if name not in known and name in checks:
            known[name] = self._present_checks.look(checks, self.run_places, name).state
        return known.get(name)

    def check_findings(self) -> list[Finding]:
        """What is to be said of the root's checks; each is looked at for it."""
        return [
            found
            for name, check in self.config.checks.items()
            if (state := self.check_state(name))
            for found in check_findings(check, state, CONFIG_PATH)
        ]

    def look(self, match: Match) -> EvaluationTrace:
        return evaluate_match(match, self.snapshot(match))

    def evaluate(self, match: Match) -> Evaluation:
        return self.look(match).evaluation


@dataclass(frozen=True)
class OpenWorkspaces:
    """The workspaces for a path: its root and the projects in it; `run` is the run that the path lies in."""

    workspaces: tuple[Workspace, ...]
    run: str | None
    findings: tuple[Finding, ...] = ()


def open_path(
    path: Path, root: Path | None = None, is_claimed: Callable[[Workspace], bool] = lambda _: False
) -> OpenWorkspaces:
    """The workspace that a path belongs to. Raises UsageError for a path that does not exist.

    `is_claimed` tells of a workspace that a run is found in it, where that is seen without a look at all.
    """
    if root is not None and not root.is_dir():
        raise UsageError(f"{root} is no folder")
    looked: dict[Path, Workspace] = {}

    def claims(folder: Path) -> bool:
        workspace = looked.setdefault(folder, Workspace(folder))
        has_any = is_claimed(workspace) or workspace.has_runs
        return has_any and not (workspace.has_only_fallbacks and lies_in_run(folder))

    def lies_in_run(folder: Path) -> bool:
        """True of a folder in a run of a root above: its plan is that run's, and no plain plan file."""
        for above in folders_above(folder):
            workspace = looked.setdefault(above, Workspace(above))
            inside = path_in_root(above, folder)
            if inside and workspace.discover_around(inside).matches:
                return True
        return False

    found = root.resolve() if root else find_root(path, claims)
    workspace = looked.get(found) or Workspace(found)
    folders, problems = project_folders(DiskFiles(found), workspace.config.projects)
    findings = tuple(Finding(p.code, CONFIG_PATH, p.message, p.span) for p in problems)
    workspaces = (workspace, *(Workspace(found / folder) for folder in folders))
    return OpenWorkspaces(workspaces, path_in_root(found, real_path(path)), findings)
