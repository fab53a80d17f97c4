"""What runs depend on that is no file of their root: the commit HEAD and the key of decisions.

Either is looked at only while a run has asked for it; it counts like a file that such a run looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ...orchestration.vfs.files import RecordingFiles
from ..disk.repository import Head, head_of
from ..workspace import decision_proof as decide
from .dependencies import Readers

# Keys that are no files; no path has such a name.
_HEAD, _KEY = "\0head", "\0key"


class Outside:
    """The commit HEAD and the key, as they were last seen. It belongs to one thread."""

    def __init__(self, root: Path, readers: Readers) -> None:
        self._root, self._readers = root, readers
        self._head = Head()
        self._key: object = None
        self._proven: dict[str, frozenset[str]] = {}

    @property
    def places(self) -> frozenset[Path]:
        """The files outside of the root whose changes matter now."""
        head = self._head.places if self._readers.of((_HEAD,)) else frozenset()
        return head | {decide.key_path()} if self._readers.of((_KEY,)) else head

    def key_for(self, files: RecordingFiles) -> Callable[[], bytes | None]:
        """What gives the key to an evaluation over `files`, which then depends on it."""

        def key() -> bytes | None:
            if not self._readers.of((_KEY,)):
                self._key = _state_of(decide.key_path())
            files.used.add(_KEY)
            return decide.load_key().secret

        return key

    def committed_for(self, files: RecordingFiles) -> Callable[[Path, str], frozenset[str]]:
        """What gives the committed lines of a journal to an evaluation, which then depends on HEAD."""

        def committed(root: Path, journal: str) -> frozenset[str]:
            if not self._readers.of((_HEAD,)):
                # Nobody looked after it since the last one that needed it was gone.
                self._head, self._proven = head_of(self._root), {}
            files.used.add(_HEAD)
            if journal not in self._proven:
                self._proven[journal] = decide.head_lines(root, journal)
            return self._proven[journal]

        return committed

    def changed(self) -> set[str]:
        """The keys of what is another now than it was."""
        found: set[str] = set()
        if self._readers.of((_HEAD,)):
            before, self._head = self._head, head_of(self._root)
            if before.state != self._head.state:
                self._proven = {}
                found.add(_HEAD)
        if self._readers.of((_KEY,)):
            was, self._key = self._key, _state_of(decide.key_path())
            if was != self._key:
                found.add(_KEY)
        return found


def _state_of(path: Path) -> object:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_mode, status.st_uid
