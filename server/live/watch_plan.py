"""Which folders have to be watched, so that every change that can matter to a root is heard.

Watched whole are the folders that runs are looked for in (the fixed part of each `at:`). Of those above them,
and of the folders of other files that were looked for, only the names right in them matter. A folder that
does not exist yet stands for its nearest ancestor that does.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from ...orchestration.snapshot.discovery import DefinitionSet
from ...orchestration.vfs.files import parent
from ...orchestration.vfs.glob import is_glob
from ..disk.file_cache import FileCache


class Watches:
    """The watched folders of one root, worked out again when something may have changed them."""

    def __init__(self, kept: FileCache) -> None:
        self._kept = kept
        self._root = Path(kept.root)
        self._known: DefinitionSet | None = None
        self._whole: frozenset[str] = frozenset()
        self._single: set[str] = set()
        self._ways = 0
        self._outside: frozenset[Path] = frozenset()
        self._answer: Mapping[Path, bool] | None = None

    def forget(self, folders: Iterable[str]) -> None:
        """Folders came or went. Unless all that is around them is watched, it may be other folders now."""
        if self._kept.linked() or not all(self._is_whole(parent(folder)) for folder in folders):
            self._answer = None

    def of(self, known: DefinitionSet, outside: frozenset[Path]) -> Mapping[Path, bool]:
        """Folder -> whether all below it matters, for these definitions and files `outside` the root."""
        fresh = self._kept.take_folders()
        if known is not self._known:
            self._known = known
            self._whole = frozenset(_fixed(at) for each in known.definitions.values() for at in each.at)
            self._single = set()
            fresh = list(self._kept.folders())
        single = {folder for folder in fresh if not self._is_whole(folder)} - self._single
        self._single |= single
        if single or self._ways != self._kept.ways or self._outside != outside:
            self._answer = None
        self._ways, self._outside = self._kept.ways, outside
        if self._answer is None:
            self._answer = self._work_out()
        return self._answer

    def _is_whole(self, folder: str) -> bool:
        at = folder
        while at not in self._whole:
            if not at:
                return False
            at = parent(at)
        return True

    def _work_out(self) -> dict[Path, bool]:
        whole = {real for place in self._whole if (real := self._real(place))}
        whole |= {real for place in self._kept.linked() if (real := self._real(place))}
        single = {nearest(each) for each in self._above()} | {nearest(path.parent) for path in self._outside}
        whole -= {folder for folder in whole if any(above in whole for above in folder.parents)}
        found = dict.fromkeys(whole, True)
        for folder in single:
            if folder not in found and not any(above in whole for above in folder.parents):
                found[folder] = False
        return found

    def _real(self, place: str) -> Path | None:
        """The real folder at a place of the root; None where there is none, or it lies elsewhere."""
        real = Path(os.path.realpath(self._root / place))
        return real if real.is_dir() and real.is_relative_to(self._root) else None

    def _above(self) -> Iterator[Path]:
        """Folders of which only the names right in them matter."""
        yield self._root.parent
        yield self._root
        linked = map(parent, self._kept.linked())
        for folder in {*self._single, *self._whole, *linked}:
            full = self._root / folder
            yield full
            yield from (above for above in full.parents if above.is_relative_to(self._root))


def nearest(folder: Path) -> Path:
    """The folder, or the nearest one above it that exists."""
    return next((each for each in (folder, *folder.parents) if each.is_dir()), folder)


def _fixed(at: str) -> str:
    """The folders of a glob pattern that have one name only."""
    names: list[str] = []
    for name in at.strip("/").split("/"):
        if is_glob(name):
            break
        names.append(name)
    return "/".join(names)
