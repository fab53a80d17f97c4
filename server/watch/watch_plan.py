"""Which folders have to be watched, so that every change that can matter to a root is heard.

Watched whole are the folders that runs are looked for in (the fixed part of each `at:`). Of those above them,
and of the folders of other files that were looked for, only the names right in them matter. A folder that
does not exist yet stands for its nearest ancestor that does.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, takewhile
from pathlib import Path

from ...orchestration.snapshot.discovery import DefinitionSet
from ...orchestration.vfs.files import parent
from ...orchestration.vfs.glob import is_glob
from ..disk.file_cache import FileCache


class WatchPlan:
    """The watched folders of one root, worked out again when something may have changed them."""

    def __init__(self, files: FileCache) -> None:
        self._files = files
        self._root = Path(files.root)
        self._known: DefinitionSet | None = None
        self._whole: frozenset[str] = frozenset()
        self._single: set[str] = set()
        """Folders of files outside of those watched whole."""
        self._links_seen = 0
        self._external: frozenset[Path] = frozenset()
        self._inputs: frozenset[str] = frozenset()
        self._plan: Mapping[Path, bool] | None = None
        self._around_missing: frozenset[str] = frozenset()
        """Folders that the plan does without because they are not there, and all above them."""

    def recheck(self, paths: Iterable[str]) -> None:
        """Ask the disk anew where a folder that the plan misses may have come at one of these absolute paths.

        The file cache does not note a folder that went and came again before it looked.
        """
        if not self._around_missing.isdisjoint(paths):
            self._plan = None

    def invalidate(self, folders: Iterable[str]) -> None:
        """Folders came or went. Unless all that is around them is watched, the plan may be another now."""
        if self._files.links.places() or not all(self._is_in_whole(parent(folder)) for folder in folders):
            self._plan = None

    def folders(
        self, known: DefinitionSet, external: frozenset[Path], inputs: frozenset[str] = frozenset()
    ) -> Mapping[Path, bool]:
        """Folder -> whether all below it matters, for these definitions and files outside of the root.

        `inputs` are further folders in which the names and contents of files matter.

        The same mapping as before when nothing that it depends on has changed.
        """
        appeared: Iterable[str] = self._files.take_folders()
        if known is not self._known:
            self._known = known
            patterns = [at.strip("/").split("/") for each in known.definitions.values() for at in each.at]
            # Of each pattern the folders that have one name only.
            fixed = (takewhile(lambda name: not is_glob(name), pattern) for pattern in patterns)
            self._whole = frozenset(map("/".join, fixed))
            self._single = set()
            appeared = self._files.folders()
        single = {folder for folder in appeared if not self._is_in_whole(folder)} - self._single
        self._single |= single
        differs = self._external != external or self._inputs != inputs
        if single or self._links_seen != self._files.links.ways or differs:
            self._plan = None
        self._links_seen, self._external, self._inputs = self._files.links.ways, external, inputs
        if self._plan is None:
            self._plan = self._work_out()
        return self._plan

    def _is_in_whole(self, folder: str) -> bool:
        at = folder
        while at not in self._whole:
            if not at:
                return False
            at = parent(at)
        return True

    def _work_out(self) -> dict[Path, bool]:
        links = self._files.links.places()
        # The real folders of the root; a link may lead to nothing, or elsewhere.
        places = [Path(os.path.realpath(self._root / place)) for place in self._whole | links]
        whole = {place for place in places if place.is_dir() and place.is_relative_to(self._root)}
        whole -= {folder for folder in whole if any(above in whole for above in folder.parents)}
        single = {self._root.parent, self._root, *(path.parent for path in self._external)}
        for folder in {*self._single, *self._whole, *self._inputs, *map(parent, links)}:
            full = self._root / folder
            single |= {full, *(above for above in full.parents if above.is_relative_to(self._root))}
        missing = {folder for folder in (*single, *places) if not folder.is_dir()}
        self._around_missing = frozenset(map(str, chain(missing, *(folder.parents for folder in missing))))
        existing = {
            next((each for each in (folder, *folder.parents) if each.is_dir()), folder) for folder in single
        }
        return dict.fromkeys(whole, True) | {
            folder: False for folder in existing if whole.isdisjoint((folder, *folder.parents))
        }


def paths_in_root(roots: Sequence[str], paths: Iterable[Path | str]) -> set[str]:
    """Absolute paths as they read from a root of several names; "" for one above it, none elsewhere."""
    relative: set[str] = set()
    for full in map(str, paths):
        for root in roots:
            prefix = root.rstrip(os.sep) + os.sep
            if prefix.startswith(full.rstrip(os.sep) + os.sep):
                relative.add("")
            elif full.startswith(prefix):
                relative.add(full[len(prefix) :].replace(os.sep, "/"))
    return relative
