"""The checks of a root, kept current: looked at again where something that they depend on may have changed.

That is an input or a file of the definition (told by the watcher), the result, the note of a run under way,
and what a person allowed (a stat each). Each state counts like a file that an evaluation read.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path

from ...orchestration.definition.root_config import PATH as CONFIG_PATH
from ...orchestration.evidence.check_state import CheckState, check_findings
from ...orchestration.evidence.checks import Check
from ...orchestration.findings import Finding, Problem, Severity, finding
from ...orchestration.vfs.files import RecordingFiles, parent
from ..disk.decision_keys import key_path, repository_path
from ..disk.disk_files import StatKey, stat_key
from .evidence_store import attestation_path
from .input_table import InputTable
from .inputs import InputsUnknown, WatchedManifest
from .present import PresentChecks, running_path

_KEY = "\0check:"
MOST_FOLDERS = 5_000
"""Inputs in more folders are not watched: systems have as few as 8,192 watches for all programs of a user."""
_PART = 500
"""Files that are looked at before others have their turn."""


class RootChecks:
    """The checks that a root declares. Used by one thread."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._checks: Mapping[str, Check] = {}
        self._places: tuple[str, ...] = ()
        self._table = InputTable(root)
        self._states: dict[str, CheckState] = {}
        self._manifests: dict[str, WatchedManifest] = {}
        self._definition_files: dict[str, tuple[str, ...]] = {}
        self._due: set[str] = set()
        self._stats: tuple[StatKey, ...] = ()
        self._looks: PresentChecks | None = None
        """What is kept and allowed, as of `_stats`."""
        self._is_ready = False
        self._folders: frozenset[str] = frozenset()
        self.is_watched = False
        """True while every change of an input is told."""

    # ---- what is declared

    def declare(self, checks: Mapping[str, Check], places: Sequence[str]) -> None:
        """From now on these are the checks, and the places of runs."""
        if (checks, tuple(places)) != (self._checks, self._places):
            self._checks, self._places = checks, tuple(places)
            self._due = set(checks)
            self._manifests.clear()
            self._is_ready = self._is_ready and not checks

    @property
    def are_declared(self) -> bool:
        """True if there are checks, so that a change of any input may matter."""
        return bool(self._checks)

    def preparing(self) -> Generator[None, None, None]:
        """Look at all inputs for the first time, in parts."""
        if not self._checks or self._is_ready:
            return
        files = self._table.files() or ()
        for start in range(0, len(files), _PART):
            self._table.digests(files[start : start + _PART])
            yield
        self._is_ready = True
        self._stats = tuple(map(stat_key, self._watched_files))
        self._looks = PresentChecks(self._root, self._table)
        self._look(self._looks)

    def rescanning(self) -> Generator[None, None, None]:
        """Look at all inputs again, in parts: changes may not have been heard."""
        if not self._checks:
            return
        self._table.forget_files()
        self._table.rely_on_changes(False)
        files = self._table.files() or ()
        for start in range(0, len(files), _PART):
            self._table.digests(files[start : start + _PART])
            yield
        self._table.rely_on_changes(self.is_watched)
        self._manifests.clear()
        self._due = set(self._checks)

    # ---- what changes

    def note(self, paths: Iterable[str]) -> None:
        """These files, or all below these folders (from the root), may have changed."""
        if not self._checks:
            return
        noted = set(paths)
        if any(path.rpartition("/")[2] == ".gitignore" for path in noted):
            self._table.forget_files()
            self._manifests.clear()
            self._due = set(self._checks)
        if self._table.note_changes(noted):
            self._manifests.clear()
        for name, check in self._checks.items():
            manifest = self._manifests.get(name)
            inputs = {path for path in noted if manifest is not None and path in manifest.paths}
            if manifest is not None and inputs:
                manifest.refresh(inputs)
            if manifest is None or inputs or not noted.isdisjoint(check.definition_files):
                self._due.add(name)

    def refresh(self) -> set[str]:
        """Look again at what is due; the keys of the checks whose state differs."""
        if not self._checks and not self._states:
            return set()
        stats = tuple(map(stat_key, self._watched_files))
        if stats != self._stats or self._looks is None:
            self._stats, self._due = stats, set(self._checks)
            self._looks = PresentChecks(self._root, self._table)
        if not self._is_ready and self._checks:
            for _ in self.preparing():
                pass
            return {f"{_KEY}{name}" for name in self._states}
        before = {name: state.digest for name, state in self._states.items()}
        if self._due or self._states.keys() - self._checks.keys():
            self._look(self._looks)
        names = {*before, *self._states}
        after = self._states
        return {f"{_KEY}{n}" for n in names if n not in after or before.get(n) != after[n].digest}

    def _look(self, looks: PresentChecks) -> None:
        other_folders = False
        for name in self._due & self._checks.keys():
            before = self._manifests.get(name)
            if before is None:
                with suppress(InputsUnknown):
                    paths = looks.paths(self._checks, self._places, name)
                    self._manifests[name] = WatchedManifest(paths, self._table)
            manifest = self._manifests.get(name)
            present = looks.look(self._checks, self._places, name, manifest)
            self._states[name], files = present.state, tuple(present.definition.files)
            other_folders |= before is None or files != self._definition_files.get(name)
            self._definition_files[name] = files
        for name in self._states.keys() - self._checks.keys():
            other_folders = True
            del self._states[name], self._definition_files[name]
        self._due.clear()
        if other_folders:
            self._note_folders()

    def _note_folders(self) -> None:
        inputs = (each.paths for each in self._manifests.values())
        paths = chain(*inputs, *self._definition_files.values())
        self._folders = frozenset(map(parent, paths))
        self.is_watched = len(self._folders) <= MOST_FOLDERS
        self._table.rely_on_changes(self.is_watched)

    # ---- what is asked

    def read(self, files: RecordingFiles, name: str) -> CheckState | None:
        """The state of a check, for an evaluation over `files`, which depends on it from now on."""
        files.used.add(f"{_KEY}{name}")
        if name in self._checks and name not in self._states:
            self.refresh()
        return self._states.get(name)

    def findings(self) -> list[Finding]:
        """What is to be said of the checks."""
        found = [
            each
            for name, state in self._states.items()
            if name in self._checks
            for each in check_findings(self._checks[name], state, CONFIG_PATH)
        ]
        if self._checks and not self.is_watched and self._states:
            where = f"the inputs of checks lie in {len(self._folders)} folders"
            said = f"{where}, at most {MOST_FOLDERS} are watched; their changes are seen when somebody asks"
            found.append(finding(Problem("inputs-unwatched", said, severity=Severity.INFO), CONFIG_PATH))
        return found

    def ask_again(self) -> None:
        """Somebody asks: what is not watched is looked at."""
        if self._checks and not self.is_watched:
            self._table.forget_files()
            self._manifests.clear()
            self._due = set(self._checks)

    @property
    def folders(self) -> frozenset[str]:
        """The folders (from the root) whose changes have to be told; none where there would be too many."""
        return self._folders if self.is_watched else frozenset()

    @property
    def paths(self) -> frozenset[Path]:
        """Other files whose changes matter."""
        return frozenset(self._watched_files)

    @property
    def _watched_files(self) -> list[Path]:
        if not self._checks:
            return []
        kept = [path for name in self._checks for path in (attestation_path(name), running_path(name))]
        identity = repository_path(self._root)
        own = (key_path(), identity, identity.with_suffix(".checks"))
        return [*own, *(self._root / path for path in kept)]
