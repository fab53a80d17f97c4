"""Inputs of runs that are no files of their root: the commit HEAD, the key of decisions, and the clock.

HEAD and the key are looked at only while a run has asked for them; each counts like a file that it read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path

from ...orchestration.vfs.files import RecordingFiles, digest_of
from ..disk.decision_keys import key_path, load_repository_key, repository_path
from ..disk.disk_files import StatKey, stat_key
from ..disk.repository import Head, head_of
from ..workspace import decision_proof
from ..workspace.head_files import HeadFiles
from .dependencies import HEAD_FILE, DependencyIndex

_DAY_MS = 86_400_000.0
# Keys that are no files; no path has such a name.
_HEAD, _KEY = "\0head", "\0key"


class ExternalInputs:
    """The commit HEAD and the keys, as they were last seen. Used by one thread."""

    def __init__(self, root: Path, dependencies: DependencyIndex) -> None:
        self._root, self._dependencies = root, dependencies
        self._head = Head()
        self._keys: tuple[StatKey | None, ...] = ()
        self._committed: dict[str, frozenset[str]] = {}
        """Journal -> its lines in the commit HEAD."""
        self._head_files = HeadFiles(root)
        self._head_paths: set[str] = set()
        """The files of HEAD that runs have asked for: a commit concerns those alone whose file it changed."""
        self._restored_blobs: dict[str, str] = {}
        """Path -> the content's name that a run of the cache on disk was judged by, until HEAD differs."""

    @property
    def paths(self) -> frozenset[Path]:
        """The files outside of the root whose changes matter now."""
        head = self._head.places if self._uses_head else frozenset()
        return head.union(self._key_paths) if self._is_used(_KEY) else head

    @property
    def _key_paths(self) -> tuple[Path, Path]:
        return key_path(), repository_path(self._root)

    def read_key(self, files: RecordingFiles) -> bytes | None:
        """The repository's key, for an evaluation over `files`, which depends on it from now on."""
        if not self._is_used(_KEY):
            self._keys = self._key_states()
        files.used.add(_KEY)
        return load_repository_key(self._root).secret

    def _key_states(self) -> tuple[StatKey | None, ...]:
        return tuple(map(stat_key, self._key_paths))

    def read_committed(self, files: RecordingFiles, root: Path, journal: str) -> frozenset[str]:
        """Likewise the lines of a journal in the commit HEAD."""
        self._use_head(files)
        if journal not in self._committed:
            self._committed[journal] = decision_proof.head_lines(root, journal)
        return self._committed[journal]

    def read_head_file(self, files: RecordingFiles, path: str) -> bytes | None:
        """Likewise the bytes of a file in the commit HEAD."""
        if not self._uses_head:
            self._forget_head(head_of(self._root))
        files.used.add(f"{HEAD_FILE}{path}")
        self._head_paths.add(path)
        return self._head_files.read(path)

    def _use_head(self, files: RecordingFiles) -> None:
        if not self._uses_head:
            # Nobody looked after it since the last one that needed it was gone.
            self._forget_head(head_of(self._root))
        files.used.add(_HEAD)

    def _forget_head(self, head: Head) -> None:
        self._head, self._committed, self._head_files = head, {}, HeadFiles(self._root)

    def refresh(self) -> set[str]:
        """Look again; the keys of those inputs that differ. Costs a few stats at most."""
        changed: set[str] = set()
        if self._uses_head:
            before, now = self._head, head_of(self._root)
            if before.state != now.state:
                files = self._head_files
                self._forget_head(now)
                changed.add(_HEAD)
                self._head_paths = {path for path in self._head_paths if self._is_used(HEAD_FILE + path)}
                blobs, self._restored_blobs = self._restored_blobs, {}
                for path in self._head_paths:
                    before = blobs[path] if path in blobs else files.blob(path)
                    if before != self._head_files.blob(path):
                        changed.add(f"{HEAD_FILE}{path}")
            self._head = now
        if self._is_used(_KEY):
            was, self._keys = self._keys, self._key_states()
            if was != self._keys:
                changed.add(_KEY)
        return changed

    # ---- what the cache on disk knows of HEAD

    def head_digest(self) -> str:
        """What tells one state of HEAD from another, as it was last seen; it is looked at if it never was."""
        if not self._uses_head:
            self._forget_head(head_of(self._root))
        return digest_of(repr(self._head.state))

    def head_blob(self, path: str) -> str:
        """The name of a file's content in HEAD, as runs were judged by it."""
        restored = self._restored_blobs.get(path)
        return self._head_files.blob(path) if restored is None else restored

    def has_head_files(self, blobs: Mapping[str, str]) -> bool:
        """True if HEAD has these contents."""
        return all(self._head_files.blob(path) == blob for path, blob in blobs.items())

    def restore_head_file(self, path: str, blob: str) -> None:
        """A run of the cache, which was judged by that content, depends on the file from now on."""
        self._head_paths.add(path)
        self._restored_blobs[path] = blob

    @property
    def _uses_head(self) -> bool:
        return bool(self._head_paths) or self._is_used(_HEAD)

    def _is_used(self, key: str) -> bool:
        return bool(self._dependencies.dependants((key,)))


class Deadlines:
    """When runs are due although no file changes: a claim ends."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._claim_ends: dict[str, str] = {}
        self._latest = ""

    def now(self) -> str:
        """The time as claims have it: ISO 8601."""
        return self._clock().isoformat()

    def is_set_back(self) -> bool:
        """True if the clock was set back since somebody last asked: claims that had ended may hold again."""
        before, self._latest = self._latest, self.now()
        return self._latest < before

    def set_claim_end(self, run: str, until: str) -> None:
        """The run stands otherwise from this moment on."""
        self._claim_ends[run] = until

    def drop(self, run: str) -> None:
        """Nothing is due for the run any more."""
        self._claim_ends.pop(run, None)

    def take_due(self) -> list[str]:
        """The runs whose time has come since somebody last asked."""
        now = self.now()
        ended = [run for run, until in self._claim_ends.items() if until <= now]
        for run in ended:
            del self._claim_ends[run]
        return ended

    def wait_ms(self) -> float:
        """Milliseconds until the first run is due; infinite when none will be."""
        now = self._clock()
        # Times are compared as they are written, which may say that one is over a little later.
        waits: list[float] = []
        for until in self._claim_ends.values():
            try:
                wait = (datetime.fromisoformat(until) - now).total_seconds() * 1000
            except (ValueError, TypeError):
                wait = _DAY_MS
            waits.append(max(wait, 0 if until <= now.isoformat() else 50))
        return max(0.0, min(waits, default=float("inf")))
