"""The inputs of a check: which files they are, and the manifest whose digest names them all.

A manifest has a line for each file, sorted by path, as `sha256sum` writes and checks them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, KeysView, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from ...orchestration.evidence.checks import Check
from ...orchestration.journal.lines import FOLDER
from ...orchestration.vfs.files import is_below_root, parent
from ...orchestration.vfs.glob import PathMatcher, TooManyFolders, glob, is_glob
from ..disk.disk_files import DiskFiles
from .input_table import MOST_INPUTS, UNREADABLE, InputTable

_MADE = frozenset((".git", "node_modules", "__pycache__", ".venv", "venv"))
"""Folders that no pattern looks into where git does not say what is ignored."""
_PAPERS = (".md", ".json", ".jsonl", ".yaml", ".yml", ".patch")


class InputsUnknown(Exception):  # noqa: N818 - said to people as it is
    """Why it cannot be told what a check would run on, as a sentence."""


class Manifest(NamedTuple):
    """The inputs of a check, `files` in number. `subject` is SHA-256 over the text, a line for each."""

    subject: str
    text: bytes
    files: int


class RunPapers:
    """A test for the files of runs: state, plan, task and report files, which a tick changes.

    They lie below the folders that fit `places`, the `at:` of the root's workflows. In folders that are not
    hidden source may lie beside them, so there only files of data and text count as such.
    """

    def __init__(self, places: Iterable[str]) -> None:
        names = [place.strip("/").removeprefix("./") for place in places]
        self._is_root = any(place in ("", ".") for place in names)
        named = [place for place in names if place not in ("", ".")]
        self._hidden = PathMatcher(f"{place}/**" for place in named if place.startswith("."))
        self._open = PathMatcher(f"{place}/**" for place in named if not place.startswith("."))

    def __contains__(self, path: object) -> bool:
        assert isinstance(path, str)
        if self._hidden.fits(path):
            return True
        if not path.endswith(_PAPERS):
            return False
        is_of_root = self._is_root and path.endswith(".md") and parent(path) in ("", "reports")
        return is_of_root or self._open.fits(path)


def input_paths(
    check: Check, table: InputTable, papers: RunPapers, reports: Sequence[str] = ()
) -> tuple[str, ...]:
    """The paths of a check's inputs, sorted. `reports` are those of all checks.

    A pattern chooses among the files that git knows; a path without wildcards names a file that git may
    ignore. Raises InputsUnknown.
    """
    known, exact = table.files(), {path for path in check.inputs if not is_glob(path)}
    if known is not None:
        matcher = PathMatcher(check.inputs)
        found = {path for path in known if matcher.fits(path)} if check.inputs else {*known}
        found |= exact
    elif check.inputs:
        found = _found_without_git(check.inputs, table.root)
    else:
        raise InputsUnknown("no git says which files there are; name its inputs")
    own = frozenset(check.reports.values())
    others = frozenset(reports) - exact
    wanted = (path for path in found if path not in own and path not in others)
    paths = sorted(path for path in wanted if FOLDER not in path.split("/") and path not in papers)
    if len(paths) > MOST_INPUTS:
        raise InputsUnknown(f"it has {len(paths)} inputs, at most {MOST_INPUTS} are looked at")
    return tuple(paths)


def _found_without_git(patterns: Iterable[str], root: str) -> set[str]:
    files = DiskFiles(root)
    try:
        found = {path for each in patterns for path, entry in glob(files, each) if entry.kind != "folder"}
    except TooManyFolders as error:
        raise InputsUnknown(f"{error}; name its inputs more closely") from error
    return {path for path in found if _MADE.isdisjoint(path.split("/")) and is_below_root(path)}


def manifest_of(paths: Sequence[str], table: InputTable) -> Manifest:
    """The manifest of some files as they are now. Raises InputsUnknown where one cannot be read."""
    digests = table.digests(paths)
    if UNREADABLE in digests.values():
        unreadable = next(path for path, digest in digests.items() if digest == UNREADABLE)
        raise InputsUnknown(f"its input {unreadable} cannot be read")
    if not digests:
        raise InputsUnknown("it has no inputs: no file fits")
    text = b"".join(table.lines(digests, _line))
    return Manifest(sha256(text).hexdigest(), text, len(digests))


def _line(path: str, digest: str) -> bytes:
    name = os.fsencode(path)
    if b"\\" in name or b"\n" in name:
        # As sha256sum does.
        return b"\\%b  %b\n" % (digest.encode(), name.replace(b"\\", b"\\\\").replace(b"\n", b"\\n"))
    return b"%b  %b\n" % (digest.encode(), name)


def changed_paths(before: bytes, after: bytes) -> tuple[str, ...]:
    """The paths whose lines differ between two manifests, in order."""
    lines = set(before.split(b"\n")) ^ set(after.split(b"\n"))
    return tuple(sorted({os.fsdecode(line.partition(b"  ")[2]) for line in lines if line}))


class WatchedManifest:
    """The manifest of files whose changes are told: only the lines of those are made anew.

    Cost: what changed, and one pass over the text for its digest.
    """

    def __init__(self, paths: Sequence[str], table: InputTable) -> None:
        self._table = table
        self._unreadable: set[str] = set()
        # A file that is gone keeps its place, with an empty line.
        self._lines = dict.fromkeys(paths, b"")
        self._kept: tuple[str, Mapping[str, bytes]] = "", {}
        self._changed: set[str] = set()
        self.refresh(paths)

    @property
    def paths(self) -> KeysView[str]:
        return self._lines.keys()

    def refresh(self, paths: Iterable[str]) -> None:
        """Look again at those of these files that are inputs."""
        due = sorted(path for path in paths if path in self._lines)
        digests = self._table.digests(due)
        for path in due:
            digest = digests.get(path)
            self._unreadable.discard(path)
            if digest == UNREADABLE:
                self._unreadable.add(path)
            line = self._lines[path] = _line(path, digest) if digest else b""
            if line == self._kept[1].get(path, b""):
                self._changed.discard(path)
            else:
                self._changed.add(path)

    def manifest(self) -> Manifest:
        """As it is now. Raises InputsUnknown as `manifest_of` does."""
        if self._unreadable:
            raise InputsUnknown(f"its input {min(self._unreadable)} cannot be read")
        text = b"".join(self._lines.values())
        if not text:
            raise InputsUnknown("it has no inputs: no file fits")
        return Manifest(sha256(text).hexdigest(), text, sum(map(bool, self._lines.values())))

    def changes_since(self, subject: str, read: Callable[[], bytes]) -> tuple[str, ...]:
        """The paths whose lines are not those of an earlier manifest, which `read` gives."""
        if self._kept[0] != subject:
            lines = read().splitlines(keepends=True)
            kept = {os.fsdecode(line.rstrip(b"\n").partition(b"  ")[2]): line for line in lines}
            self._kept = subject, kept
            now = self._lines
            self._changed = {path for path in {*kept, *now} if kept.get(path, b"") != now.get(path, b"")}
        return tuple(sorted(self._changed))


def definition_files(check: Check, table: InputTable) -> Mapping[str, str]:
    """path → digest of the files that say what a check runs, as far as they are there."""
    named = sorted(path for path in check.definition_files if is_below_root(path))
    files = (path for path in named if Path(table.root, path).is_file())
    return table.digests([*files])
